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

use fields::{Stored, StoredFields};
pub use read::{CallIndex, IndexedCalls};
pub use write::{CallIndexWriter, RecordingIndexer, tidy_call_indexes};
pub(super) use write::{remove, tidy};

const MAGIC: &[u8; 8] = b"tracecls";
/// The version that this program writes, and the only one that it reads: an index can be made again.
const VERSION: u32 = 1;
/// Bytes before the first chunk: magic, version, hash of the manifest.
const HEAD: usize = 8 + 4 + 32;
/// Bytes behind the directory: where it begins, its bytes stored and decoded, its hash.
const TRAILER: usize = 8 + 4 + 4 + 32;
/// Decoded bytes of a chunk or a directory.
const LARGEST: usize = 256 << 20;

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

impl Stored for CallChunk {
    fn put(&self, out: &mut Vec<u8>) {
        self.offset.put(out);
        self.n_stored.put(out);
        self.n_decoded.put(out);
        self.checksum.put(out);
        self.n_calls.put(out);
        self.n_async.put(out);
        self.total_ns.put(out);
        self.async_total_ns.put(out);
        self.starts.put(out);
        self.ends.put(out);
        self.durations.put(out);
    }

    fn take(from: &mut StoredFields<'_>) -> Option<Self> {
        Some(Self {
            offset: Stored::take(from)?,
            n_stored: Stored::take(from)?,
            n_decoded: Stored::take(from)?,
            checksum: Stored::take(from)?,
            n_calls: Stored::take(from)?,
            n_async: Stored::take(from)?,
            total_ns: Stored::take(from)?,
            async_total_ns: Stored::take(from)?,
            starts: Stored::take(from)?,
            ends: Stored::take(from)?,
            durations: Stored::take(from)?,
        })
    }
}

impl Stored for IndexedRecording {
    fn put(&self, out: &mut Vec<u8>) {
        self.order.put(out);
        self.clock.put(out);
        self.n_samples.put(out);
        self.pauses.put(out);
        self.early.put(out);
        self.chunks.put(out);
        self.late.put(out);
    }

    fn take(from: &mut StoredFields<'_>) -> Option<Self> {
        Some(Self {
            order: Stored::take(from)?,
            clock: Stored::take(from)?,
            n_samples: Stored::take(from)?,
            pauses: Stored::take(from)?,
            early: Stored::take(from)?,
            chunks: Stored::take(from)?,
            late: Stored::take(from)?,
        })
    }
}

/// Returns the first bytes of the hash of a chunk.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    let hash = super::ContentHash::of(bytes).0;
    hash.first_chunk()
        .map_or(0, |first| u64::from_le_bytes(*first))
}
