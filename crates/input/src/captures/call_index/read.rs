//! Reading the index of a capture's calls.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::{HashSet, HashSetExt as _};
use traceloom_log::disk::PlacedFile as _;
use traceloom_model::{
    BATCH_ROWS, Definitions, EventBatch, EventRow, Flow, Sink, SpanBatch, StringId, Text,
};

use super::fields::{Stored, StoredFields, take_rows};
use super::{CallChunk, FORMAT, IndexedRecording};
use crate::captures::index_file::{HEAD, TRAILER, checksum};
use crate::captures::{CaptureId, ContentHash, DataFolder};

/// The index of the calls of one capture.
#[derive(Debug)]
pub struct CallIndex {
    file: File,
    recordings: Vec<IndexedRecording>,
    n_bytes: u64,
    n_read: AtomicU64,
}

impl CallIndex {
    /// Opens the index of a capture. There is none where it was not made yet, is of another manifest, is damaged, or does not hold all
    /// calls.
    #[must_use]
    pub fn open(folder: &DataFolder, id: CaptureId, manifest: ContentHash) -> Option<Self> {
        let file = File::open(folder.call_index(id)).ok()?;
        let n_bytes = file.metadata().ok()?.len();
        let (directory, n_stored) = FORMAT.directory(&file, manifest)?;
        let mut fields = StoredFields::new(&directory);
        let lacks = bool::take(&mut fields)?;
        let recordings = Vec::take(&mut fields)?;
        let n_read = HEAD as u64 + TRAILER as u64 + u64::from(n_stored);
        (!lacks).then(|| Self {
            file,
            recordings,
            n_bytes,
            n_read: AtomicU64::new(n_read),
        })
    }

    /// Returns `true` if an index was made for this manifest, whether or not it holds the calls.
    #[must_use]
    pub fn is_made(folder: &DataFolder, id: CaptureId, manifest: ContentHash) -> bool {
        let mut head = [0; HEAD];
        let read = File::open(folder.call_index(id));
        let read = read.and_then(|file| file.read_exact_at(&mut head, 0));
        read.is_ok() && head.ends_with(&manifest.0)
    }

    /// Returns its recordings.
    #[must_use]
    pub fn recordings(&self) -> &[IndexedRecording] {
        &self.recordings
    }

    /// Returns the bytes of its file.
    #[must_use]
    pub const fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// Returns the bytes of its file that were read.
    #[must_use]
    pub fn n_read(&self) -> u64 {
        self.n_read.load(Ordering::Relaxed)
    }

    /// Returns a reader of one of its recordings.
    #[must_use]
    pub fn reader<'i>(&'i self, recording: &'i IndexedRecording) -> IndexedCalls<'i> {
        IndexedCalls {
            index: self,
            recording,
            names: HashSet::new(),
        }
    }

    /// Reads a chunk: names, texts in values, rows.
    fn chunk(&self, chunk: &CallChunk) -> io::Result<DecodedChunk> {
        let mut stored = vec![0; chunk.n_stored as usize];
        self.file.read_exact_at(&mut stored, chunk.offset)?;
        self.n_read.fetch_add(chunk.n_stored(), Ordering::Relaxed);
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "an index of calls is damaged");
        if checksum(&stored) != chunk.checksum {
            return Err(damaged());
        }
        let bytes = FORMAT
            .decoded(&stored, chunk.n_decoded)
            .ok_or_else(damaged)?;
        let mut fields = StoredFields::new(&bytes);
        let mut take = || {
            let names = Definitions::take(&mut fields)?;
            let texts = Vec::<(StringId, Text)>::take(&mut fields)?;
            let rows = take_rows(&mut fields, chunk.n_calls as usize)?;
            Some(DecodedChunk { names, texts, rows })
        };
        take().ok_or_else(damaged)
    }
}

struct DecodedChunk {
    names: Definitions,
    texts: Vec<(StringId, Text)>,
    rows: SpanBatch,
}

/// Pushes the calls of a recording, a chunk at a time.
pub struct IndexedCalls<'i> {
    index: &'i CallIndex,
    recording: &'i IndexedRecording,
    /// Strings that are names of something: they stay when the texts of values are forgotten.
    names: HashSet<StringId>,
}

impl IndexedCalls<'_> {
    /// Says what the recording is, and when its process stood still.
    pub fn begin(&self, sink: &mut dyn Sink) -> Flow {
        let recording = self.recording;
        sink.begin(recording.order, recording.clock);
        sink.define(recording.early.clone())?;
        for pauses in recording.pauses.chunks(BATCH_ROWS) {
            let mut batch = EventBatch::default();
            for &(kind, (start, end)) in pauses {
                batch.push(&EventRow::of_process(kind, start, Some(end)));
            }
            sink.events(batch)?;
        }
        Flow::Continue(())
    }

    /// Pushes the calls of a chunk.
    ///
    /// # Errors
    /// When it cannot be read, or is damaged.
    pub fn chunk(&mut self, chunk: &CallChunk, sink: &mut dyn Sink) -> io::Result<Flow> {
        let DecodedChunk { names, texts, rows } = self.index.chunk(chunk)?;
        self.names.extend(names.strings.iter().map(|(id, _)| *id));
        let ids = texts.iter().map(|(id, _)| *id);
        let passing: Vec<StringId> = ids.filter(|id| !self.names.contains(id)).collect();
        let mut new = names;
        new.strings.extend(texts);
        if sink.define(new).is_break() || sink.spans(rows).is_break() {
            return Ok(Flow::Break(()));
        }
        sink.forget(&passing);
        Ok(Flow::Continue(()))
    }

    /// Pushes what was defined after the calls that refer to it.
    pub fn end(self, sink: &mut dyn Sink) -> Flow {
        sink.define(self.recording.late.clone())
    }
}
