//! Indexes of profiles: the samples of a sealed capture as trees and strips over time add them up.
//!
//! Of a recording that has samples and no calls, an index holds what a reader pushes for a view of its samples: their values, stacks,
//! threads and times, with what these refer to. Labels and events are not in it. Replaying it takes a fraction of the time in which the
//! capture is decoded, and gives a view the same batches.
//!
//! It has the formats of the parts, too, because finding one means decompressing the beginning of a part and asking every format about it.
//!
//! An index is made when a capture is decoded for the catalog, and belongs to one manifest: where it is missing, damaged or of another
//! manifest, the capture is decoded instead. No index is needed for anything. `CAPTURES.md` has the bytes.

mod fields;
mod read;
#[cfg(test)]
mod tests;
mod write;

use traceloom_model::{Clock, Level, Order};

use super::call_index::fields::{Stored, StoredFields, stored_rows};
use super::index_file::IndexFormat;
use super::{CaptureId, ContentHash, DataFolder};
pub use read::{DecodedProfiles, ProfileIndex};
pub use write::{ProfileIndexWriter, RecordingProfiler, tidy_profile_indexes};

/// Larger recordings have no index.
const FORMAT: IndexFormat = IndexFormat {
    magic: b"traceprf",
    version: 2,
    largest: 32 << 20,
};
/// The version of this program.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");
/// Notes of a recording: one with more has no index.
const MOST_NOTES: usize = 1000;

/// A capture that is sealed as a whole, and its manifest.
#[derive(Clone, Debug)]
pub struct SealedAt {
    /// The data folder.
    pub folder: DataFolder,
    /// The capture.
    pub id: CaptureId,
    /// The hash of its manifest.
    pub manifest: ContentHash,
}

impl SealedAt {
    /// Returns what an index of its profiles is of: the manifest, and the `schema` that a reader goes by.
    #[must_use]
    pub fn read_with(&self, schema: Option<&[u8]>) -> ContentHash {
        match schema {
            None => self.manifest,
            Some(schema) => ContentHash::of(&[&self.manifest.0, schema].concat()),
        }
    }
}

/// What a part of a capture was recognised as, so that opening it again need not look at its beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecognisedPart {
    /// Its name, without the suffix of its compression.
    pub(crate) name: String,
    /// The name of its format.
    pub(crate) format: String,
    /// The names of the compression around it, outermost first.
    pub(crate) wrappers: Vec<String>,
}

/// The directory of an index.
#[derive(Debug, Default)]
struct ProfileDirectory {
    /// The version of the program that wrote it: another one may recognise other formats.
    program: String,
    /// The parts, where all of them could be recognised for good.
    parts: Vec<RecognisedPart>,
    recordings: Vec<IndexedProfiles>,
}

/// A recording in an index of profiles.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexedProfiles {
    /// Names of its parts, those of the capture.
    pub parts: Vec<String>,
    /// The order in which its spans would come.
    pub order: Order,
    /// Where its time zero lies.
    pub clock: Clock,
    /// First and last time of everything in it, of what is not in the index too.
    pub times: Option<(i64, i64)>,
    /// It has events or counters, which are not in the index.
    pub has_more: bool,
    /// What is doubtful or damaged.
    notes: Vec<IndexedNote>,
    offset: u64,
    n_stored: u32,
    n_decoded: u32,
    checksum: u64,
}

/// A note, without the word for its kind.
#[derive(Clone, Debug, PartialEq)]
struct IndexedNote {
    is_damage: bool,
    offset: u64,
    count: u64,
    text: String,
}

impl IndexedNote {
    const fn level(&self) -> Level {
        match self.is_damage {
            true => Level::Damage,
            false => Level::Warn,
        }
    }
}

stored_rows! {
    RecognisedPart { name, format, wrappers };
    ProfileDirectory { program, parts, recordings };
    IndexedNote { is_damage, offset, count, text };
    IndexedProfiles { parts, order, clock, times, has_more, notes, offset, n_stored, n_decoded, checksum };
}

impl Stored for String {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn take(from: &mut StoredFields<'_>) -> Option<Self> {
        Self::from_utf8(from.slice()?.to_vec()).ok()
    }
}
