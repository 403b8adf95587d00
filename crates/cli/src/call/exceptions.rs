//! What a span ended with: the exception, its causes and where they were thrown.

use serde_json::{Value, json};
use traceloom_analysis::exceptions::{self, chain};
use traceloom_model::{ExceptionId, Recording};

pub(super) use traceloom_analysis::exceptions::heading;

/// Frames of a stack that are printed unless all are asked for.
const SHOWN: usize = 8;

/// The lines of an exception with its causes.
pub(super) fn lines(recording: &Recording, id: ExceptionId, whole: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, id) in chain(recording, id).into_iter().enumerate() {
        let cause = if at > 0 { "caused by " } else { "" };
        lines.push(format!("! {cause}{}", heading(recording, id)));
        let thrown = recording.exception(id).and_then(|row| row.stack);
        let frames = thrown.map_or_else(Vec::new, |stack| exceptions::stack(recording, stack));
        let shown = if whole || frames.len() <= SHOWN + 1 {
            frames.len()
        } else {
            SHOWN
        };
        for frame in frames.iter().take(shown) {
            lines.push(format!("    at {frame}"));
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
        let frames = thrown.map_or_else(Vec::new, |stack| exceptions::stack(recording, stack));
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
