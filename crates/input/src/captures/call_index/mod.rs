//! Indexes of calls: what a list shows of the calls of a sealed capture, without its call trees.
//!
//! A list of calls is read from the index of each capture, in chunks of which the first and the last time and the longest call are
//! known, so that a page reads the chunks it needs. A row has the place of its call in the capture, where the rest is.
//!
//! An index is made when a capture is decoded for the catalog, and belongs to one manifest: where it is missing, damaged or of another
//! manifest, the capture is decoded instead. No index is needed for anything. `CAPTURES.md` has the bytes.

pub(super) mod fields;
mod read;
#[cfg(test)]
mod tests;
mod write;

use traceloom_model::{Clock, Definitions, EventTypeId, Order};

use super::index_file::IndexFormat;
use fields::{Stored, StoredFields, stored_rows};
pub use read::{CallIndex, IndexedCalls};
pub use write::{CallIndexWriter, RecordingIndexer, tidy_call_indexes};
pub(super) use write::{remove, tidy};

const FORMAT: IndexFormat = IndexFormat {
    magic: b"tracecls",
    version: 1,
    largest: 256 << 20,
};

/// The calls of one recording in an index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexedRecording {
    /// The order in which its spans come.
    pub order: Order,
    /// Where its time zero lies.
    pub clock: Clock,
    /// Samples that it has beside calls.
    pub n_samples: u64,
    /// When its process stood still: kinds of pauses, starts and ends.
    pub(crate) pauses: Vec<(EventTypeId, (i64, i64))>,
    /// The kinds of pauses.
    pub(crate) early: Definitions,
    /// Its calls, in the order in which they are read.
    pub chunks: Vec<CallChunk>,
    /// What was defined after the chunks that refer to it.
    pub(crate) late: Definitions,
}

/// Some calls that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallChunk {
    offset: u64,
    n_stored: u32,
    n_decoded: u32,
    checksum: u64,
    /// Calls in it.
    pub n_calls: u32,
    /// Those on async tracks and lanes.
    pub n_async: u32,
    /// Nanoseconds of its calls on thread tracks that are inside no other call.
    pub total_ns: i64,
    /// Nanoseconds of its calls on async tracks and lanes that are inside no other call.
    pub async_total_ns: i64,
    /// Earliest and latest start.
    pub starts: (i64, i64),
    /// Earliest and latest end.
    pub ends: (i64, i64),
    /// Nanoseconds of the shortest and the longest call.
    pub durations: (u64, u64),
}

impl CallChunk {
    /// Returns the bytes that it takes in the file.
    #[must_use]
    pub const fn n_stored(&self) -> u64 {
        self.n_stored as u64
    }
}

stored_rows! {
    CallChunk {
        offset, n_stored, n_decoded, checksum, n_calls, n_async, total_ns, async_total_ns, starts, ends, durations
    };
    IndexedRecording { order, clock, n_samples, pauses, early, chunks, late };
}
