//! What a span ended with: the exception, its causes and where they were thrown.

use std::collections::HashSet;

use serde_json::{Value, json};
use traceloom_model::{ExceptionId, Recording, StackId};

/// Frames of a stack that are printed unless all are asked for.
const SHOWN: usize = 8;

/// An exception and its causes, the outermost first.
pub(super) fn chain(recording: &Recording, id: ExceptionId) -> Vec<ExceptionId> {
    let mut chain = Vec::new();
    let mut seen = HashSet::new();
    let mut next = Some(id);
    while let Some(id) = next.filter(|&id| seen.insert(id)) {
        chain.push(id);
        next = recording.exception(id).and_then(|row| row.cause);
    }
    chain
}

/// `class: message`, as Java prints it.
pub(super) fn heading(recording: &Recording, id: ExceptionId) -> String {
    let row = recording.exception(id);
    let text = |id| recording.text(id).into_owned();
    let class = row.and_then(|row| row.class).map(text);
    let message = row.and_then(|row| row.message).map(text);
    match (class, message.filter(|message| !message.is_empty())) {
        (Some(class), Some(message)) => format!("{class}: {message}"),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => format!("#{}", id.raw()),
    }
}

struct At {
    function: String,
    file: Option<String>,
    line: u32,
}

/// Frames from where it was thrown outwards.
fn stack(recording: &Recording, id: StackId) -> Vec<At> {
    let mut frames = Vec::new();
    let mut next = recording.stack(id);
    while let Some(stack) = next {
        let frame = recording.frame(stack.frame);
        let function = frame.and_then(|frame| frame.function);
        let row = function.and_then(|id| recording.function(id));
        frames.push(At {
            function: function.map_or_else(
                || "(unknown)".to_owned(),
                |id| recording.function_name(id).into_owned(),
            ),
            file: row
                .and_then(|row| row.file)
                .map(|file| recording.text(file).into_owned()),
            line: frame.map_or(0, |frame| frame.line),
        });
        // Rows are made before those that name them, so that parents lead to an end.
        next = stack
            .parent
            .filter(|&parent| parent.raw() < u32::MAX && frames.len() < recording.stacks.len())
            .and_then(|parent| recording.stack(parent));
    }
    frames
}

/// The lines of an exception with its causes.
pub(super) fn lines(recording: &Recording, id: ExceptionId, whole: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, id) in chain(recording, id).into_iter().enumerate() {
        let cause = if at > 0 { "caused by " } else { "" };
        lines.push(format!("! {cause}{}", heading(recording, id)));
        let thrown = recording.exception(id).and_then(|row| row.stack);
        let frames = thrown.map_or_else(Vec::new, |stack| self::stack(recording, stack));
        let shown = if whole || frames.len() <= SHOWN + 1 {
            frames.len()
        } else {
            SHOWN
        };
        for frame in frames.iter().take(shown) {
            let place = match (&frame.file, frame.line) {
                (Some(file), 0) => format!(" ({file})"),
                (Some(file), line) => format!(" ({file}:{line})"),
                (None, 0) => String::new(),
                (None, line) => format!(" (line {line})"),
            };
            lines.push(format!("    at {}{place}", frame.function));
        }
        if shown < frames.len() {
            let rest = frames.len() - shown;
            lines.push(format!("    … {rest} more frames, --wide prints them"));
        }
    }
    lines
}

/// The exception and its causes as a list.
pub(super) fn as_json(recording: &Recording, id: ExceptionId) -> Value {
    let one = |id| {
        let row = recording.exception(id);
        let text = |id| recording.text(id).into_owned();
        let thrown = row.and_then(|row| row.stack);
        let frames = thrown.map_or_else(Vec::new, |stack| self::stack(recording, stack));
        let frames: Vec<_> = frames
            .into_iter()
            .map(|at| json!({"function": at.function, "file": at.file, "line": at.line}))
            .collect();
        json!({
            "class": row.and_then(|row| row.class).map(text),
            "message": row.and_then(|row| row.message).map(text),
            "stack": frames,
        })
    };
    chain(recording, id).into_iter().map(one).collect()
}
