//! Notes counted by kind: one text for what happens to many rows.

use std::collections::BTreeMap;

use traceloom_model::{Level, Note};

/// Notes that many records share: the first place and how many there were.
///
/// A profile whose ids are all wrong has a note per table row otherwise, each with a text of its own.
#[derive(Debug, Default)]
pub(crate) struct CountedNotes {
    notes: BTreeMap<&'static str, Note>,
}

impl CountedNotes {
    pub(crate) fn add(
        &mut self,
        level: Level,
        kind: &'static str,
        offset: u64,
        text: impl FnOnce() -> String,
    ) {
        self.add_many(level, kind, offset, 1, text);
    }

    pub(crate) fn add_many(
        &mut self,
        level: Level,
        kind: &'static str,
        offset: u64,
        count: u64,
        text: impl FnOnce() -> String,
    ) {
        self.notes
            .entry(kind)
            .and_modify(|note| note.count += count)
            .or_insert_with(|| Note::new(level, kind, offset, text()).counting(count));
    }

    pub(crate) fn into_notes(self) -> impl Iterator<Item = Note> {
        self.notes.into_values()
    }
}
