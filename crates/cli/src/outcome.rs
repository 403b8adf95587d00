//! How a command ends.

use crate::streams::message;
use std::sync::atomic::{AtomicBool, Ordering};
use traceloom_model::Note;

/// Every input was read and nothing is wrong with it, or something is and the reason was printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Done,
    Failed,
}

/// Something that was asked for was left out, and the reason was printed.
///
/// A process ends once, and what leaves things out, such as opening a folder, is far below what returns the outcome.
static INCOMPLETE: AtomicBool = AtomicBool::new(false);

/// Prints why something that was asked for is left out: the command goes on, and ends with exit 1.
pub(crate) fn incomplete(reason: &str) {
    message!("{reason}");
    INCOMPLETE.store(true, Ordering::Relaxed);
}

/// Ends the command with exit 1 where a note says that the rest of a part cannot be read; the note itself is told as any
/// other.
pub(crate) fn heed(note: &Note) {
    if note.kind == "unreadable" {
        INCOMPLETE.store(true, Ordering::Relaxed);
    }
}

impl Outcome {
    /// Returns how the command ends, given what was left out on the way.
    pub(crate) fn of_everything(self) -> Self {
        match INCOMPLETE.load(Ordering::Relaxed) {
            true => Self::Failed,
            false => self,
        }
    }
}
