//! Writing the index of a capture's profiles.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use foldhash::{HashSet, HashSetExt as _};
use traceloom_model::bounds::row_number;
use traceloom_model::{
    Asks, Clock, CounterBatch, Definitions, EventBatch, Flow, Level, Note, ObjectBatch, Order,
    PathBatch, Recording, SampleBatch, Sink, SpanBatch, StepBatch, StringId, Wants,
};

use super::super::call_index::fields::Stored;
use super::fields::{each_name, kept, put_definitions, put_samples};
use super::{
    FORMAT, IndexedNote, IndexedProfiles, MOST_NOTES, PROGRAM, ProfileDirectory, RecognisedPart,
};
use crate::captures::call_index::{remove, tidy};
use crate::captures::index_file::checksum;
use crate::captures::{CaptureId, ContentHash, DataFolder};

const LEVEL: i32 = 3;
/// The label of samples that are subtracted, which an index does not hold.
const BASE_LABEL: &[u8] = b"pprof::base";

/// Writes the index of one capture. What is not finished leaves nothing.
#[derive(Debug)]
pub struct ProfileIndexWriter {
    path: PathBuf,
    of: ContentHash,
    /// The file so far.
    bytes: Vec<u8>,
    directory: ProfileDirectory,
}

impl ProfileIndexWriter {
    /// Begins the index of a capture, made of what `of` is the hash of.
    #[must_use]
    pub fn new(folder: &DataFolder, id: CaptureId, of: ContentHash) -> Self {
        let bytes = [
            FORMAT.magic.as_slice(),
            &FORMAT.version.to_le_bytes(),
            &of.0,
        ]
        .concat();
        Self {
            path: folder.profile_index(id),
            of,
            bytes,
            directory: ProfileDirectory {
                program: PROGRAM.to_owned(),
                ..ProfileDirectory::default()
            },
        }
    }

    /// Keeps what all parts of the capture were recognised as.
    pub fn recognised(&mut self, parts: Vec<RecognisedPart>) {
        self.directory.parts = parts;
    }

    /// Returns a sink for the recording of these parts.
    #[must_use]
    pub fn recording(&mut self, parts: Vec<String>) -> RecordingProfiler<'_> {
        RecordingProfiler {
            to: self,
            parts,
            order: Order::default(),
            clock: Clock::default(),
            tables: Recording::default(),
            names: HashSet::new(),
            batches: Vec::new(),
            notes: Vec::new(),
            times: None,
            has_samples: false,
            has_more: false,
            lacks: false,
        }
    }

    /// Writes what the index has, in place of one that was there. A capture without profiles has none.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        if self.directory.recordings.is_empty() {
            return remove(&self.path);
        }
        let mut directory = Vec::new();
        self.directory.put(&mut directory);
        let stored = zstd::bulk::compress(&directory, LEVEL)?;
        let offset = self.bytes.len() as u64;
        self.bytes.extend_from_slice(&stored);
        self.bytes.extend_from_slice(&offset.to_le_bytes());
        for length in [stored.len(), directory.len()] {
            self.bytes
                .extend_from_slice(&row_number(length).to_le_bytes());
        }
        let hash = ContentHash::of(&[&self.of.0, stored.as_slice()].concat());
        self.bytes.extend_from_slice(&hash.0);
        if let Some(parent) = self.path.parent() {
            fs::create_dir_all(parent)?;
        }
        let new = self.path.with_extension("new");
        let written = fs::File::create(&new).and_then(|mut file| file.write_all(&self.bytes));
        written
            .and_then(|()| fs::rename(&new, &self.path))
            .inspect_err(|_| {
                let _ = fs::remove_file(&new);
            })
    }
}

/// Takes the samples of a recording into an index.
#[derive(Debug)]
pub struct RecordingProfiler<'w> {
    to: &'w mut ProfileIndexWriter,
    parts: Vec<String>,
    order: Order,
    clock: Clock,
    /// Strings.
    tables: Recording,
    /// Strings that rows of the index name.
    names: HashSet<StringId>,
    batches: Vec<u8>,
    notes: Vec<IndexedNote>,
    times: Option<(i64, i64)>,
    has_samples: bool,
    has_more: bool,
    /// The recording has what an index cannot hold.
    lacks: bool,
}

impl RecordingProfiler<'_> {
    /// Ends the recording.
    ///
    /// # Errors
    /// When it cannot be compressed.
    pub fn finish(mut self) -> io::Result<()> {
        if let Clock::Unknown(Some(name)) = self.clock {
            self.names.insert(name);
        }
        let mut ids: Vec<StringId> = self.names.into_iter().collect();
        ids.sort_unstable();
        let text = |id: StringId| Some((id, self.tables.string(id)?.clone()));
        let strings = Definitions {
            strings: ids.into_iter().filter_map(text).collect(),
            ..Definitions::default()
        };
        let mut decoded = Vec::new();
        put_definitions(&strings, &mut decoded);
        decoded.append(&mut self.batches);
        let is_known = self
            .to
            .directory
            .recordings
            .iter()
            .any(|one| one.parts == self.parts);
        if self.lacks || !self.has_samples || is_known || decoded.len() > FORMAT.largest {
            return Ok(());
        }
        let stored = zstd::bulk::compress(&decoded, LEVEL)?;
        self.to.directory.recordings.push(IndexedProfiles {
            parts: self.parts,
            order: self.order,
            clock: self.clock,
            times: self.times,
            has_more: self.has_more,
            notes: self.notes,
            offset: self.to.bytes.len() as u64,
            n_stored: row_number(stored.len()),
            n_decoded: row_number(decoded.len()),
            checksum: checksum(&stored),
        });
        self.to.bytes.extend_from_slice(&stored);
        Ok(())
    }

    fn see<'t>(&mut self, times: impl IntoIterator<Item = &'t i64>) {
        for &time in times {
            let (first, last) = self.times.get_or_insert((time, time));
            (*first, *last) = (time.min(*first), time.max(*last));
        }
    }

    /// Gives the recording up: it has what an index cannot hold.
    fn give_up(&mut self) -> Flow {
        self.lacks = true;
        self.batches = Vec::new();
        Flow::Break(())
    }

    fn go_on(&mut self) -> Flow {
        match self.batches.len() > FORMAT.largest {
            true => self.give_up(),
            false => Flow::Continue(()),
        }
    }
}

impl Sink for RecordingProfiler<'_> {
    fn asks(&self) -> Asks {
        Asks {
            wants: Wants::Steps { calls: false },
            sampled_events: false,
            derived_samples: false,
            ..Asks::default()
        }
    }

    fn begin(&mut self, order: Order, clock: Clock) {
        // A second recording of the same kind may have another clock.
        self.lacks |= self.has_samples && (self.order, self.clock) != (order, clock);
        (self.order, self.clock) = (order, clock);
    }

    fn define(&mut self, mut new: Definitions) -> Flow {
        let strings = std::mem::take(&mut new.strings);
        // Signs of samples hang on this label.
        if strings
            .iter()
            .any(|(_, text)| text.as_bytes() == BASE_LABEL)
        {
            return self.give_up();
        }
        let strings = Definitions {
            strings,
            ..Definitions::default()
        };
        let _ = self.tables.define(strings);
        let new = kept(new);
        if !new.is_empty() {
            each_name(&new, |id| {
                self.names.insert(id);
            });
            put_definitions(&new, &mut self.batches);
        }
        self.go_on()
    }

    fn spans(&mut self, _batch: SpanBatch) -> Flow {
        self.give_up()
    }

    fn steps(&mut self, _batch: StepBatch) -> Flow {
        self.give_up()
    }

    fn paths(&mut self, _batch: PathBatch) -> Flow {
        self.give_up()
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        self.has_samples = true;
        self.see(batch.time.iter().flatten());
        put_samples(&batch, &mut self.batches);
        self.go_on()
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        self.has_more |= !batch.time.is_empty();
        self.see(&batch.time);
        self.see(batch.end.iter().flatten());
        Flow::Continue(())
    }

    fn counters(&mut self, batch: CounterBatch) -> Flow {
        self.has_more |= !batch.time.is_empty();
        self.see(&batch.time);
        Flow::Continue(())
    }

    fn objects(&mut self, batch: ObjectBatch) -> Flow {
        match batch.rows.iter().any(|row| row.time.is_some()) {
            true => self.give_up(),
            false => Flow::Continue(()),
        }
    }

    fn forget(&mut self, strings: &[StringId]) {
        self.tables.drop_strings(strings);
    }

    fn note(&mut self, note: Note) -> Flow {
        if note.level == Level::Info {
            return Flow::Continue(());
        }
        // What the system did not give may be there next time.
        if note.kind == "unreadable" || self.notes.len() >= MOST_NOTES {
            return self.give_up();
        }
        self.notes.push(IndexedNote {
            is_damage: note.level == Level::Damage,
            offset: note.offset,
            count: note.count,
            text: note.text,
        });
        Flow::Continue(())
    }
}

/// Removes the indexes of captures that `keep` refuses, and what a process left that was ended.
///
/// # Errors
/// When the folder cannot be read, or a file not removed.
pub fn tidy_profile_indexes(
    folder: &DataFolder,
    keep: impl Fn(CaptureId) -> bool,
) -> io::Result<()> {
    tidy(&folder.profile_indexes(), keep)
}
