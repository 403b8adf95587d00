//! What the two readers hand out: records with their types, for lowering and conversion.

use traceloom_model::{Flow, Level, Note};

use std::collections::BTreeMap;

use super::binary::{Data, Descriptor, Encoding, Frequency, Unknown};
use super::call::Call;
use super::xml::{Element, Piece};
use crate::{Opaque, Record, RecordSink};

/// One record of either form.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "each variant is the record its type names")]
pub enum Item<'r, 'a> {
    Descriptor(&'r Descriptor),
    Encoding(&'r Encoding<'a>),
    Frequency(&'r Frequency),
    Data(&'r Data<'a>),
    Unknown(&'r Unknown<'a>),
    Element(&'r Element<'a>),
    Piece(&'r Piece<'a>),
    Opaque(&'r Opaque<'a>),
}

impl<'r> Item<'r, '_> {
    /// Returns the record behind its common face.
    #[must_use]
    pub fn record(&self) -> &'r dyn Record {
        match *self {
            Self::Descriptor(record) => record,
            Self::Encoding(record) => record,
            Self::Frequency(record) => record,
            Self::Data(record) => record,
            Self::Unknown(record) => record,
            Self::Element(record) => record,
            Self::Piece(record) => record,
            Self::Opaque(record) => record,
        }
    }
}

/// Takes records with their types.
///
/// Each visitor that is no `&mut dyn Visit` has a reader of its own, which is faster and takes longer to build.
pub trait Visit {
    /// Returns true if entries and exits are taken by [`Visit::call`], unless there is something unusual about them.
    fn takes_calls(&self) -> bool {
        false
    }

    /// Takes an entry or an exit of a binary trace as its numbers; breaking ends the reading.
    fn call(&mut self, _call: &Call, _offset: u64) -> Flow {
        Flow::Continue(())
    }

    /// Takes a record; breaking ends the reading.
    fn item(&mut self, item: Item<'_, '_>) -> Flow;

    /// Takes a note; breaking ends the reading.
    fn note(&mut self, note: Note) -> Flow;
}

impl Visit for &mut (dyn Visit + '_) {
    fn takes_calls(&self) -> bool {
        (**self).takes_calls()
    }

    fn call(&mut self, call: &Call, offset: u64) -> Flow {
        (**self).call(call, offset)
    }

    fn item(&mut self, item: Item<'_, '_>) -> Flow {
        (**self).item(item)
    }

    fn note(&mut self, note: Note) -> Flow {
        (**self).note(note)
    }
}

/// Hands records on to a sink that takes any format's.
pub(super) struct RecordAdapter<'s>(pub &'s mut dyn RecordSink);

impl Visit for RecordAdapter<'_> {
    #[inline]
    fn item(&mut self, item: Item<'_, '_>) -> Flow {
        self.0.record(item.record())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.0.note(note)
    }
}

/// Notes that stand for many records: one of each kind and id, told at the end of the input.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedNotes(BTreeMap<(Level, &'static str, u16), (u64, u64)>);

impl SharedNotes {
    /// Counts one occurrence at `offset`.
    #[cold]
    pub fn count(&mut self, level: Level, kind: &'static str, id: u16, offset: u64) {
        let entry = self.0.entry((level, kind, id)).or_insert((offset, 0));
        entry.1 += 1;
    }

    /// Tells what was counted, at the offset of the first occurrence each; `text` words it.
    pub fn tell(
        &mut self,
        text: impl Fn(&'static str, u16) -> String,
        out: &mut impl Visit,
    ) -> Flow {
        for ((level, kind, id), (offset, count)) in std::mem::take(&mut self.0) {
            out.note(Note::new(level, kind, offset, text(kind, id)).counting(count))?;
        }
        Flow::Continue(())
    }
}
