//! Where the events are that have to be looked at before others, as a survey of the recording met them.

use std::ops::Range;
use std::sync::Arc;

use super::super::event_head::{CHECKPOINT, EventHead, METADATA};
use super::super::schema::{KnownTypes, TypeSchemas};
use super::context::ChunkLookahead;
use crate::Surveyed;

/// Stretches that so few bytes are between are one: opening a part in another place takes as long as looking through them.
const APART: u64 = 128 << 10;

/// Which types of events are met in a chunk, and where those are that have to be looked at before others.
#[derive(Clone, Debug)]
pub(in crate::jfr) struct ChunkPlaces {
    /// Offset of the chunk in its part.
    pub(super) offset: u64,
    /// Whether events of a type are met, by its index.
    pub(super) met: Vec<bool>,
    /// Stretches of the part that have all checkpoints, and all events that say something about others.
    pub(super) stretches: Vec<Range<u64>>,
    /// Every event is of a type that is described.
    pub(super) is_described: bool,
}

/// Returns whether events of a type say something about others, by its index.
pub(super) fn early_types(schema: &TypeSchemas) -> Vec<bool> {
    let names = schema.types.iter().map(|found| &found.name);
    names.map(|name| ChunkLookahead::reads(name)).collect()
}

impl ChunkPlaces {
    pub(super) fn new(offset: u64, n_types: usize) -> Self {
        Self {
            offset,
            met: vec![false; n_types],
            stretches: Vec::new(),
            is_described: true,
        }
    }

    /// Takes an event, whose window begins at `window` of the part; returns true if those of its type right behind it need not be
    /// taken. The types come with those that are [early](early_types).
    pub(super) fn meet(
        &mut self,
        window: u64,
        head: &EventHead,
        (schema, early): (&TypeSchemas, &[bool]),
    ) -> bool {
        let is_early = match head.type_id {
            METADATA => return true,
            CHECKPOINT => true,
            id => match schema.index(id) {
                Some(index) => {
                    if let Some(met) = self.met.get_mut(index) {
                        *met = true;
                    }
                    early.get(index) == Some(&true)
                }
                None => {
                    self.is_described = false;
                    false
                }
            },
        };
        if is_early {
            let (start, end) = (window + head.at as u64, window + head.end as u64);
            match self.stretches.last_mut() {
                Some(last) if start - last.end < APART => last.end = end,
                _ => self.stretches.push(start..end),
            }
        }
        !is_early
    }
}

/// The chunks of a recording in their order, as far as nothing is out of order in them, and the types of the last one.
#[derive(Clone, Debug, Default)]
pub(in crate::jfr) struct SurveyedChunks {
    chunks: Arc<Vec<ChunkPlaces>>,
    pub(super) types: KnownTypes,
}

impl SurveyedChunks {
    pub(super) fn new(chunks: Vec<ChunkPlaces>, types: KnownTypes) -> Self {
        Self {
            chunks: Arc::new(chunks),
            types,
        }
    }

    /// Returns what was found of the chunk at an offset of its part.
    pub(super) fn at(&self, offset: u64) -> Option<&ChunkPlaces> {
        let found = self
            .chunks
            .binary_search_by_key(&offset, |chunk| chunk.offset);
        self.chunks.get(found.ok()?)
    }

    pub(in crate::jfr) fn say(self) -> Surveyed {
        Surveyed::new(self)
    }

    pub(super) fn of(surveyed: Option<&Surveyed>) -> Option<Self> {
        surveyed?.get::<Self>().cloned()
    }
}
