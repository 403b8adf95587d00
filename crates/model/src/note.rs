//! Notes: what a reader chose, doubted or lost, and where.

use std::collections::BTreeMap;
use std::fmt;

use crate::bounds::row_number;

/// A part of the input: a file, a member of an archive, a stream inside a dump. Counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PartId(pub u32);

impl PartId {
    /// The part at a place in a list of parts; those beyond four billion share the last number.
    #[must_use]
    pub fn nth(place: usize) -> Self {
        Self(row_number(place))
    }
}

/// How bad a note is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// A choice was taken; nothing is wrong.
    Info,
    /// Doubtful data was kept.
    Warn,
    /// Bytes or meaning were lost.
    Damage,
}

impl Level {
    /// Returns the word `check` prints.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Damage => "damage",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One note.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// The part it is about.
    pub part: PartId,
    /// A short identifier, snake_case, stable across versions.
    pub kind: &'static str,
    /// How bad it is.
    pub level: Level,
    /// Offset in the decoded bytes of the part.
    pub offset: u64,
    /// How many things it stands for: bytes skipped, records lost.
    pub count: u64,
    /// One sentence without full stop.
    pub text: String,
}

impl Note {
    /// A note about one thing at `offset` of part 0; [`Notes::part`] places it.
    #[must_use]
    pub fn new(level: Level, kind: &'static str, offset: u64, text: impl Into<String>) -> Self {
        Self {
            part: PartId::default(),
            kind,
            level,
            offset,
            count: 1,
            text: text.into(),
        }
    }

    /// The same note standing for `count` things.
    #[must_use]
    pub fn counting(self, count: u64) -> Self {
        Self { count, ..self }
    }
}

/// The notes of one input: the first [`Notes::KEPT`] in full, all of them counted by kind and level.
///
/// A damaged file can produce a note per record. Keeping the first ones tells a person what happened
/// and where; the counts tell how much of it, in memory that depends on the kinds alone.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    part: PartId,
    kept: Vec<Note>,
    counts: BTreeMap<(Level, &'static str), u64>,
}

impl Notes {
    /// Notes kept in full.
    pub const KEPT: usize = 10_000;

    /// Says which part the notes from here on are about.
    pub fn part(&mut self, part: PartId) {
        self.part = part;
    }

    /// Adds a note about the current part.
    pub fn push(&mut self, note: Note) {
        self.push_placed(Note {
            part: self.part,
            ..note
        });
    }

    /// Adds a note that already names its part.
    pub fn push_placed(&mut self, note: Note) {
        *self.counts.entry((note.level, note.kind)).or_default() += 1;
        if self.kept.len() < Self::KEPT {
            self.kept.push(note);
        }
    }

    /// Returns the notes kept in full, in the order they came.
    #[must_use]
    pub fn kept(&self) -> &[Note] {
        &self.kept
    }

    /// Returns how many notes of each level and kind there were.
    pub fn counts(&self) -> impl Iterator<Item = (Level, &'static str, u64)> {
        self.counts
            .iter()
            .map(|(&(level, kind), &count)| (level, kind, count))
    }

    /// Returns how many notes there were.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Returns how many notes were counted without being kept.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.total().saturating_sub(self.kept.len() as u64)
    }

    /// Returns the worst level seen.
    #[must_use]
    pub fn worst(&self) -> Option<Level> {
        self.counts.keys().map(|&(level, _)| level).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_million_notes_keep_ten_thousand() {
        let mut notes = Notes::default();
        for offset in 0..10_000_000 {
            notes.push(Note {
                text: String::new(),
                ..Note::new(Level::Damage, "lost", offset, "")
            });
        }
        assert_eq!(notes.kept().len(), Notes::KEPT);
        assert_eq!(
            notes.counts().collect::<Vec<_>>(),
            [(Level::Damage, "lost", 10_000_000)]
        );
        assert_eq!(notes.dropped(), 9_990_000);
    }
}
