//! Writing the index of a capture's calls.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use foldhash::{HashSet, HashSetExt as _};
use traceloom_model::bounds::{row_number, saturated_i64};
use traceloom_model::{
    Asks, AttrKeyId, Attribute, Clock, Definitions, EventBatch, EventTypeId, ExceptionId, Flow,
    FunctionId, Note, Order, Origin, PartId, Recording, ResourceId, SampleBatch, Sink, SpanBatch,
    SpanRow, StringId, Text, TrackId, TrackKind, Unit, Value, ValueTypeId, Wants,
};

use super::fields::{Stored, is_shallow, put_row};
use super::{CallChunk, FORMAT, IndexedRecording};
use crate::captures::index_file::{HEAD, checksum};
use crate::captures::{CaptureId, ContentHash, DataFolder};

/// Calls of a chunk at most.
const MOST_CALLS: u32 = 1024;
/// Decoded bytes after which a chunk ends.
const ENOUGH: usize = 256 << 10;
const LEVEL: i32 = 3;

/// Writes the index of one capture. What is not finished leaves nothing.
pub struct CallIndexWriter {
    file: BufWriter<File>,
    path: PathBuf,
    new: PathBuf,
    manifest: ContentHash,
    offset: u64,
    encoder: zstd::bulk::Compressor<'static>,
    recordings: Vec<IndexedRecording>,
    /// There are calls that the index cannot hold.
    lacks: bool,
    finished: bool,
}

impl CallIndexWriter {
    /// Begins the index of a capture.
    ///
    /// # Errors
    /// When its file cannot be made.
    pub fn new(folder: &DataFolder, id: CaptureId, manifest: ContentHash) -> io::Result<Self> {
        let path = folder.call_index(id);
        let new = path.with_extension("new");
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut file = BufWriter::new(File::create(&new)?);
        file.write_all(FORMAT.magic)?;
        file.write_all(&FORMAT.version.to_le_bytes())?;
        file.write_all(&manifest.0)?;
        Ok(Self {
            file,
            path,
            new,
            manifest,
            offset: HEAD as u64,
            encoder: zstd::bulk::Compressor::new(LEVEL)?,
            recordings: Vec::new(),
            lacks: false,
            finished: false,
        })
    }

    /// Returns a sink for the next recording. `part` says which part of the capture a part of the recording is; `is_whole`, that calls
    /// without a place are known by their numbers; `is_pause`, whether the process stands still during events of a name.
    pub fn recording<'w>(
        &'w mut self,
        part: impl Fn(PartId) -> Option<u32> + 'w,
        is_whole: bool,
        is_pause: fn(&str) -> bool,
    ) -> RecordingIndexer<'w> {
        RecordingIndexer {
            to: self,
            part: Box::new(part),
            is_whole,
            is_pause,
            tables: Recording::default(),
            chunk: OpenChunk::default(),
            written: UsedIds::default(),
            late: UsedIds::default(),
            pauses: Vec::new(),
            n_samples: 0,
            chunks: Vec::new(),
            failed: None,
        }
    }

    /// Writes what the index has, in place of one that was there.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        let mut directory = Vec::new();
        self.lacks.put(&mut directory);
        let recordings = std::mem::take(&mut self.recordings);
        match self.lacks {
            true => Vec::new(),
            false => recordings,
        }
        .put(&mut directory);
        let stored = self.encoder.compress(&directory)?;
        self.file.write_all(&stored)?;
        self.file.write_all(&self.offset.to_le_bytes())?;
        for length in [stored.len(), directory.len()] {
            self.file.write_all(&row_number(length).to_le_bytes())?;
        }
        let hash = ContentHash::of(&[&self.manifest.0, stored.as_slice()].concat());
        self.file.write_all(&hash.0)?;
        self.file.flush()?;
        fs::rename(&self.new, &self.path)?;
        self.finished = true;
        Ok(())
    }

    /// Writes a chunk and returns where it is: its offset, bytes stored and decoded, checksum.
    fn chunk(&mut self, decoded: &[u8]) -> io::Result<(u64, u32, u32, u64)> {
        let stored = self.encoder.compress(decoded)?;
        self.file.write_all(&stored)?;
        let offset = self.offset;
        self.offset += stored.len() as u64;
        let lengths = (row_number(stored.len()), row_number(decoded.len()));
        Ok((offset, lengths.0, lengths.1, checksum(&stored)))
    }
}

impl Drop for CallIndexWriter {
    fn drop(&mut self) {
        if !self.finished {
            let _ = fs::remove_file(&self.new);
        }
    }
}

/// Ids that rows refer to.
#[derive(Default)]
struct UsedIds {
    strings: HashSet<StringId>,
    resources: HashSet<ResourceId>,
    tracks: HashSet<TrackId>,
    functions: HashSet<FunctionId>,
    value_types: HashSet<ValueTypeId>,
    exceptions: HashSet<ExceptionId>,
    keys: HashSet<AttrKeyId>,
}

impl UsedIds {
    /// Takes what is defined of `new`, and returns `true` if there is something.
    fn meet(&self, new: &Definitions, into: &mut Self) -> bool {
        let mut met = false;
        macro_rules! meet {
            ($($table:ident $ids:ident)*) => {$(
                for (id, _) in &new.$table {
                    if self.$ids.contains(id) {
                        into.$ids.insert(*id);
                        met = true;
                    }
                }
            )*};
        }
        meet! {
            strings strings resources resources tracks tracks functions functions value_types value_types
            exceptions exceptions attribute_keys keys
        }
        met
    }

    fn add(&mut self, other: Self) {
        self.strings.extend(other.strings);
        self.resources.extend(other.resources);
        self.tracks.extend(other.tracks);
        self.functions.extend(other.functions);
        self.value_types.extend(other.value_types);
        self.exceptions.extend(other.exceptions);
        self.keys.extend(other.keys);
    }

    /// Returns what these ids stand for, with the names in it. Names that are not known yet are added to `missing`.
    fn definitions(&self, tables: &Recording, missing: &mut HashSet<StringId>) -> Definitions {
        let mut found = Definitions::default();
        let mut names = self.strings.clone();
        let unit = |unit: Unit| match unit {
            Unit::Other(name) => Some(name),
            _ => None,
        };
        for &id in &self.tracks {
            if let Some(row) = tables.track(id) {
                names.extend(row.name);
                found.tracks.push((id, row.clone()));
            }
        }
        for &id in &self.resources {
            if let Some(row) = tables.resource(id) {
                names.extend(row.texts().into_iter().filter_map(|(_, text)| text));
                found.resources.push((id, row.clone()));
            }
        }
        for &id in &self.functions {
            if let Some(row) = tables.function(id) {
                names.insert(row.name);
                found.functions.push((id, row.clone()));
            }
        }
        for &id in &self.value_types {
            if let Some(row) = tables.value_type(id) {
                names.insert(row.name);
                names.extend(unit(row.unit));
                found.value_types.push((id, *row));
            }
        }
        for &id in &self.exceptions {
            if let Some(row) = tables.exception(id) {
                names.extend(row.class);
                names.extend(row.message);
                found.exceptions.push((id, row.clone()));
            }
        }
        for &id in &self.keys {
            if let Some(row) = tables.attribute_key(id) {
                names.insert(row.name);
                names.extend(unit(row.unit));
                found.attribute_keys.push((id, *row));
            }
        }
        for id in names {
            match tables.string(id) {
                Some(text) => found.strings.push((id, text.clone())),
                None => {
                    missing.insert(id);
                }
            }
        }
        found.strings.sort_unstable_by_key(|(id, _)| *id);
        found
    }
}

/// The chunk that rows are added to.
#[derive(Default)]
struct OpenChunk {
    rows: Vec<u8>,
    /// Start and id of the last row.
    before: (i64, u64),
    used: UsedIds,
    /// Texts in values, copied before the reader has them forgotten.
    texts: Vec<(StringId, Text)>,
    known_texts: HashSet<StringId>,
    n_text_bytes: usize,
    zone: Option<CallChunk>,
}

impl OpenChunk {
    /// Takes the ids and texts of a value.
    fn value(&mut self, value: &Value, tables: &Recording) {
        let mut left = vec![value];
        while let Some(value) = left.pop() {
            match value {
                Value::Text(id) => {
                    if !self.known_texts.insert(*id) {
                        continue;
                    }
                    match tables.string(*id) {
                        Some(text) => {
                            self.n_text_bytes += text.as_bytes().len();
                            self.texts.push((*id, text.clone()));
                        }
                        None => {
                            self.used.strings.insert(*id);
                        }
                    }
                }
                Value::Exception(id) => {
                    self.used.exceptions.insert(*id);
                }
                Value::List(_, items) => left.extend(items.iter()),
                Value::Map(pairs) => {
                    left.extend(pairs.iter().flat_map(|(key, value)| [key, value]))
                }
                _ => {}
            }
        }
    }

    /// Takes the ids of a row.
    fn ids(&mut self, row: &SpanRow<'_>, tables: &Recording) {
        /// More resources within each other than anybody runs is a circle.
        const DEEPEST: usize = 64;
        if self.used.tracks.insert(row.track) {
            let mut resource = tables.track(row.track).and_then(|track| track.resource);
            for _ in 0..DEEPEST {
                let Some(id) = resource else { break };
                self.used.resources.insert(id);
                resource = tables.resource(id).and_then(|row| row.parent);
            }
        }
        self.used.functions.extend(row.function);
        self.used.strings.extend(row.kind);
        self.used.exceptions.extend(row.exception);
        let counted = row.counters.iter().map(|(id, _)| *id);
        self.used.value_types.extend(counted);
        for Attribute { key, value, .. } in row.attributes {
            self.used.keys.insert(*key);
            self.value(value, tables);
        }
    }

    fn add(&mut self, row: &SpanRow<'_>, tables: &Recording) {
        self.ids(row, tables);
        put_row(row, self.before, &mut self.rows);
        self.before = (row.start, row.id.0);
        let track = tables.track(row.track);
        let is_async =
            track.is_some_and(|track| matches!(track.kind, TrackKind::Async | TrackKind::Lane));
        let duration = row.duration();
        let counted = match row.parent {
            None => saturated_i64(duration),
            Some(_) => 0,
        };
        let zone = self.zone.get_or_insert(CallChunk {
            offset: 0,
            n_stored: 0,
            n_decoded: 0,
            checksum: 0,
            n_calls: 0,
            n_async: 0,
            total_ns: 0,
            async_total_ns: 0,
            starts: (row.start, row.start),
            ends: (row.end, row.end),
            durations: (duration, duration),
        });
        zone.n_calls += 1;
        zone.n_async += u32::from(is_async);
        let total = match is_async {
            true => &mut zone.async_total_ns,
            false => &mut zone.total_ns,
        };
        *total = total.saturating_add(counted);
        widen(&mut zone.starts, row.start);
        widen(&mut zone.ends, row.end);
        widen(&mut zone.durations, duration);
    }

    fn is_full(&self) -> bool {
        let n_calls = self.zone.map_or(0, |zone| zone.n_calls);
        n_calls >= MOST_CALLS || self.rows.len() + self.n_text_bytes >= ENOUGH
    }
}

fn widen<T: Ord + Copy>(range: &mut (T, T), value: T) {
    range.0 = range.0.min(value);
    range.1 = range.1.max(value);
}

/// Takes the calls of a recording into an index.
pub struct RecordingIndexer<'w> {
    to: &'w mut CallIndexWriter,
    part: Box<dyn Fn(PartId) -> Option<u32> + 'w>,
    is_whole: bool,
    is_pause: fn(&str) -> bool,
    tables: Recording,
    chunk: OpenChunk,
    /// What chunks that are written refer to.
    written: UsedIds,
    /// What of it was defined since.
    late: UsedIds,
    pauses: Vec<(EventTypeId, (i64, i64))>,
    n_samples: u64,
    chunks: Vec<CallChunk>,
    failed: Option<io::Error>,
}

impl RecordingIndexer<'_> {
    /// Ends the recording. Returns `true` if it has samples and no calls.
    ///
    /// # Errors
    /// When the file could not be written.
    pub fn finish(mut self) -> io::Result<bool> {
        self.close();
        if let Some(error) = self.failed {
            return Err(error);
        }
        let mut names = UsedIds::default();
        let mut early = Definitions::default();
        for (id, _) in &self.pauses {
            let is_new = early.event_types.iter().all(|(known, _)| known != id);
            let row = self.tables.event_type(*id).filter(|_| is_new);
            if let Some(row) = row {
                names.strings.insert(row.name);
                early.event_types.push((*id, row.clone()));
            }
        }
        if let Clock::Unknown(Some(name)) = self.tables.clock {
            names.strings.insert(name);
        }
        let is_sampled = self.n_samples > 0 && self.chunks.is_empty();
        let unknown = &mut HashSet::new();
        early.strings = names.definitions(&self.tables, unknown).strings;
        self.to.recordings.push(IndexedRecording {
            order: self.tables.order,
            clock: self.tables.clock,
            n_samples: self.n_samples,
            pauses: self.pauses,
            early,
            chunks: self.chunks,
            late: self.late.definitions(&self.tables, unknown),
        });
        Ok(is_sampled)
    }

    /// Returns the row with its place in the capture; `None` where nothing would tell the call from others.
    fn placed<'r>(&self, row: &SpanRow<'r>) -> Option<SpanRow<'r>> {
        let is_held = row.attributes.iter().all(|one| is_shallow(&one.value));
        let origin = match row.origin {
            None if self.is_whole => None,
            None => return None,
            Some(origin) => Some(Origin {
                part: PartId((self.part)(origin.part)?),
                ..origin
            }),
        };
        is_held.then(|| SpanRow {
            origin,
            ..row.clone()
        })
    }

    fn take(&mut self, row: &SpanRow<'_>) {
        let Some(row) = self.placed(row) else {
            self.to.lacks = true;
            return;
        };
        self.chunk.add(&row, &self.tables);
        if self.chunk.is_full() {
            self.close();
        }
    }

    /// Writes the chunk that is open.
    fn close(&mut self) {
        let chunk = std::mem::take(&mut self.chunk);
        let Some(zone) = chunk.zone else { return };
        let mut missing = HashSet::new();
        let names = chunk.used.definitions(&self.tables, &mut missing);
        let mut decoded = Vec::with_capacity(chunk.rows.len() + chunk.n_text_bytes);
        names.put(&mut decoded);
        chunk.texts.put(&mut decoded);
        decoded.extend_from_slice(&chunk.rows);
        if decoded.len() > FORMAT.largest {
            self.to.lacks = true;
            return;
        }
        // A string has one text: only those without one can come later.
        self.written.add(UsedIds {
            strings: missing,
            ..chunk.used
        });
        match self.to.chunk(&decoded) {
            Ok((offset, n_stored, n_decoded, checksum)) => self.chunks.push(CallChunk {
                offset,
                n_stored,
                n_decoded,
                checksum,
                ..zone
            }),
            Err(error) => self.failed = Some(error),
        }
    }
}

impl Sink for RecordingIndexer<'_> {
    fn asks(&self) -> Asks {
        Asks {
            wants: Wants::Calls,
            ..Asks::default()
        }
    }

    fn begin(&mut self, order: Order, clock: Clock) {
        self.tables.begin(order, clock);
    }

    fn define(&mut self, new: Definitions) -> Flow {
        // A call is chosen by what was known of it when it was read.
        if self.chunk.used.meet(&new, &mut UsedIds::default()) {
            self.close();
        }
        self.written.meet(&new, &mut self.late);
        self.tables.define(new)
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        for row in batch.calls() {
            self.take(&row);
        }
        match self.failed.is_some() || self.to.lacks {
            true => Flow::Break(()),
            false => Flow::Continue(()),
        }
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        let columns = batch.event_type.iter().zip(&batch.time).zip(&batch.end);
        for ((&kind, &start), &end) in columns {
            let Some(end) = end.filter(|end| *end > start) else {
                continue;
            };
            let row = self.tables.event_type(kind);
            let name = row.map(|row| self.tables.text(row.name));
            if name.is_some_and(|name| (self.is_pause)(&name)) {
                self.pauses.push((kind, (start, end)));
            }
        }
        Flow::Continue(())
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        self.n_samples += batch.len() as u64;
        Flow::Continue(())
    }

    fn forget(&mut self, strings: &[StringId]) {
        self.tables.drop_strings(strings);
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

/// Removes the indexes of captures that `keep` refuses, and what a process left that was ended.
///
/// # Errors
/// When the folder cannot be read, or a file not removed.
pub fn tidy_call_indexes(folder: &DataFolder, keep: impl Fn(CaptureId) -> bool) -> io::Result<()> {
    tidy(&folder.call_indexes(), keep)
}

/// Removes the files of a folder of indexes that `keep` refuses.
pub(in crate::captures) fn tidy(folder: &Path, keep: impl Fn(CaptureId) -> bool) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        let id = path
            .file_name()
            .and_then(|name| name.to_str()?.parse().ok());
        if !id.is_some_and(&keep) {
            remove(&path)?;
        }
    }
    Ok(())
}

/// Removes a file that may be gone.
pub(in crate::captures) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
