//! What spans ended with: exceptions, their causes and where they were thrown.

use std::collections::HashSet;

use traceloom_model::{ExceptionId, Recording, StackId};

/// Returns an exception and its causes, the outermost first.
#[must_use]
pub fn chain(recording: &Recording, id: ExceptionId) -> Vec<ExceptionId> {
    let mut chain = Vec::new();
    let mut seen = HashSet::new();
    let mut next = Some(id);
    while let Some(id) = next.filter(|&id| seen.insert(id)) {
        chain.push(id);
        next = recording.exception(id).and_then(|row| row.cause);
    }
    chain
}

/// Writes `class: message`, as Java prints it.
#[must_use]
pub fn heading(recording: &Recording, id: ExceptionId) -> String {
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

/// A frame of the stack of an exception.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThrownAt {
    /// Full name of the function.
    pub function: String,
    /// Source file.
    pub file: Option<String>,
    /// Line, 0 where unknown.
    pub line: u32,
}

impl std::fmt::Display for ThrownAt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.function)?;
        match (&self.file, self.line) {
            (Some(file), 0) => write!(f, " ({file})"),
            (Some(file), line) => write!(f, " ({file}:{line})"),
            (None, 0) => Ok(()),
            (None, line) => write!(f, " (line {line})"),
        }
    }
}

/// Returns the frames from where it was thrown outwards.
#[must_use]
pub fn stack(recording: &Recording, id: StackId) -> Vec<ThrownAt> {
    let mut frames = Vec::new();
    let mut next = recording.stack(id);
    while let Some(stack) = next {
        let frame = recording.frame(stack.frame);
        let function = frame.and_then(|frame| frame.function);
        let row = function.and_then(|id| recording.function(id));
        frames.push(ThrownAt {
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
