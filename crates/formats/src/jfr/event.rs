//! Events with their values, for readers that want more than what every format's records have in common.

use std::borrow::Cow;

use traceloom_model::{Flow, Note};

use super::record::{ChunkPart, ChunkRecord, ChunkRecordKind};
use super::scan::Str;
use super::schema::STRING;
use crate::{Opaque, Record as _};

/// Takes the records of a recording with their types; breaking ends the reading.
pub trait Visit {
    /// Takes the header that a chunk begins with.
    fn chunk(&mut self, _chunk: &ChunkRecord) -> Flow {
        Flow::Continue(())
    }

    /// Takes an event, metadata or constant pools: [`ChunkPart::event`] tells them apart.
    fn part(&mut self, part: &ChunkPart<'_, '_>) -> Flow;

    /// Takes bytes that are none of them.
    fn opaque(&mut self, _bytes: &Opaque<'_>) -> Flow {
        Flow::Continue(())
    }

    /// Takes a note.
    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

/// An event of a type that the recording's metadata describes.
#[derive(Clone, Copy)]
pub struct Event<'p, 'a> {
    part: &'p ChunkPart<'a, 'p>,
    type_index: usize,
}

impl<'a> ChunkPart<'a, '_> {
    /// Returns the event that the record is, if its type is described.
    #[must_use]
    pub fn event(&self) -> Option<Event<'_, 'a>> {
        match self.what {
            ChunkRecordKind::Event { type_index, .. } => Some(Event {
                part: self,
                type_index,
            }),
            _ => None,
        }
    }
}

impl<'a> Event<'_, 'a> {
    /// Returns the name of its type: `jdk.ExecutionSample`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.part.kind()
    }

    /// Returns the offset of its first byte in the part.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.part.offset()
    }

    /// Returns when it began and ended, in nanoseconds since 1970; `None` for types without a start time.
    #[must_use]
    pub fn time(&self) -> Option<(i64, i64)> {
        self.part.time()
    }

    /// Returns the values of its fields by name, in the order of the metadata; `None` where one does not decode.
    #[must_use]
    pub fn values(&self) -> Option<Vec<(&'a str, Value<'a>)>> {
        let place = self.part.place;
        let mut body = place.body(&self.part.head);
        place.rules.values(&mut body, self.type_index, 0).ok()
    }

    /// Returns a constant as text: a symbol, a method, a thread.
    #[must_use]
    pub fn constant(&self, table: &str, key: u64) -> Option<String> {
        self.part.resolve(table, key)
    }
}

/// The value of a field.
#[derive(Clone, PartialEq, Debug)]
pub enum Value<'a> {
    /// A string that is null.
    Null,
    /// `boolean`.
    Bool(bool),
    /// `byte`, `short`, `int` or `long`.
    Int(i64),
    /// `char`, or an integer that its annotations call unsigned or an address.
    Unsigned(u64),
    /// `float` or `double`.
    Float(f64),
    /// A string: UTF-8, unless the recording's bytes are not.
    Text(Cow<'a, [u8]>),
    /// A row of a constant pool of the chunk.
    Constant {
        /// The type whose pool it is.
        table: &'a str,
        /// The key in it.
        key: u64,
    },
    /// A structure in place.
    Struct(Vec<(&'a str, Value<'a>)>),
    /// An array.
    Array(Vec<Value<'a>>),
}

impl<'a> Value<'a> {
    /// Takes a string; a reference to a string is a constant.
    pub(super) fn of(string: Str<'a>) -> Self {
        match string {
            Str::Pool(key) => Self::Constant { table: STRING, key },
            _ => string.text().map_or(Self::Null, Self::Text),
        }
    }
}
