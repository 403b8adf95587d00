//! Short constructors for notes.

use traceloom_model::{Level, Note};

/// A choice taken; nothing is wrong.
pub fn info(kind: &'static str, offset: u64, text: impl Into<String>) -> Note {
    Note::new(Level::Info, kind, offset, text)
}

/// Doubtful data was kept.
pub fn warn(kind: &'static str, offset: u64, text: impl Into<String>) -> Note {
    Note::new(Level::Warn, kind, offset, text)
}

/// Bytes or meaning were lost.
pub fn damage(kind: &'static str, offset: u64, text: impl Into<String>) -> Note {
    Note::new(Level::Damage, kind, offset, text)
}
