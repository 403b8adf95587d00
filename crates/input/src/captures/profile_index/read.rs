//! Reading the index of a capture's profiles.

use std::fs::File;

use traceloom_log::disk::PlacedFile as _;
use traceloom_model::{Clock, Note, Sink};

use super::super::call_index::fields::{Stored, StoredFields};
use super::fields::{IndexedBatch, take_batches};
use super::{FORMAT, IndexedProfiles, PROGRAM, ProfileDirectory, RecognisedPart};
use crate::captures::index_file::checksum;
use crate::captures::{CaptureId, ContentHash, DataFolder};

/// The index of the profiles of one capture.
#[derive(Debug)]
pub struct ProfileIndex {
    file: File,
    directory: ProfileDirectory,
}

impl ProfileIndex {
    /// Opens the index of a capture. There is none where it was not made, is of something else than `of`, or is damaged.
    #[must_use]
    pub fn open(folder: &DataFolder, id: CaptureId, of: ContentHash) -> Option<Self> {
        let file = File::open(folder.profile_index(id)).ok()?;
        let (directory, _) = FORMAT.directory(&file, of)?;
        let directory = ProfileDirectory::take(&mut StoredFields::new(&directory))?;
        Some(Self { file, directory })
    }

    /// Returns what this program recognised the parts of the capture as; nothing where some are not known.
    pub(crate) fn parts(&self) -> &[RecognisedPart] {
        match self.directory.program == PROGRAM {
            true => &self.directory.parts,
            false => &[],
        }
    }

    /// Returns the recording of these parts.
    #[must_use]
    pub fn recording<'n>(
        &self,
        parts: impl Iterator<Item = &'n str> + Clone,
    ) -> Option<&IndexedProfiles> {
        let is_of = |one: &&IndexedProfiles| one.parts.iter().eq(parts.clone());
        self.directory.recordings.iter().find(is_of)
    }

    /// Reads what the index has of a recording; `None` where it is damaged.
    #[must_use]
    pub fn decode(&self, recording: &IndexedProfiles) -> Option<DecodedProfiles> {
        let stored = bytes(&self.file, recording.offset, recording.n_stored)?;
        if checksum(&stored) != recording.checksum {
            return None;
        }
        let bytes = FORMAT.decoded(&stored, recording.n_decoded)?;
        Some(DecodedProfiles {
            batches: take_batches(&mut StoredFields::new(&bytes))?,
            recording: recording.clone(),
        })
    }
}

/// Reads bytes of the file, no more than there are.
fn bytes(file: &File, offset: u64, n_stored: u32) -> Option<Vec<u8>> {
    let n_bytes = file.metadata().ok()?.len();
    if offset.checked_add(u64::from(n_stored))? > n_bytes {
        return None;
    }
    let mut stored = vec![0; n_stored as usize];
    file.read_exact_at(&mut stored, offset).ok()?;
    Some(stored)
}

/// What an index has of a recording, whole and ready to be pushed.
#[derive(Debug)]
pub struct DecodedProfiles {
    batches: Vec<IndexedBatch>,
    recording: IndexedProfiles,
}

impl DecodedProfiles {
    /// Returns where time zero of the recording lies.
    #[must_use]
    pub const fn clock(&self) -> Clock {
        self.recording.clock
    }

    /// Returns the first and last time of everything in the recording.
    #[must_use]
    pub const fn times(&self) -> Option<(i64, i64)> {
        self.recording.times
    }

    /// Pushes what the recording's own reader would push for a view of samples.
    pub fn push(self, sink: &mut dyn Sink) {
        sink.begin(self.recording.order, self.recording.clock);
        for batch in self.batches {
            let flow = match batch {
                IndexedBatch::Define(new) => sink.define(new),
                IndexedBatch::Samples(samples) => sink.samples(samples),
            };
            if flow.is_break() {
                return;
            }
        }
        for note in &self.recording.notes {
            let flow = sink.note(Note {
                count: note.count,
                ..Note::new(note.level(), "indexed", note.offset, note.text.as_str())
            });
            if flow.is_break() {
                return;
            }
        }
    }

    /// Returns `true` if a sample has a time that `is_inside` takes.
    pub fn has_inside(&self, is_inside: impl Fn(i64) -> bool) -> bool {
        self.batches.iter().any(|batch| match batch {
            IndexedBatch::Samples(samples) => {
                samples.time.iter().flatten().any(|time| is_inside(*time))
            }
            IndexedBatch::Define(_) => false,
        })
    }
}
