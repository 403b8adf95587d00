//! The laws over one input: shared by the tests, the property tests and the fuzz targets.

mod beside;
mod counts;
mod summary;
mod sums;

use std::hash::{Hash, Hasher};

use traceloom_formats::{
    Chunk, ErrorKind, Field, Fork, Format, LowerOptions, Piece, Record, RecordSink, SliceSource,
    Step, read_chunked, read_slice,
};
use traceloom_model::{
    Asks, Definitions, Flow, Join, Level, Limits, Note, Recording, SampleBatch, Sink, Stack,
    StackId, Wants,
};

#[allow(
    unused_imports,
    reason = "not every user of the laws needs all of them at once"
)]
pub use beside::tells_beside;
#[allow(
    unused_imports,
    reason = "not every user of the laws needs all of them at once"
)]
pub use counts::counts;
#[allow(
    unused_imports,
    reason = "not every user of the laws needs all of them at once"
)]
pub use summary::sums_up;
#[allow(
    unused_imports,
    reason = "not every user of the laws needs all of them at once"
)]
pub use sums::adds_up;

/// Reads the input at once and in the pieces that `cuts` make, and lowers it.
///
/// # Errors
/// The law that is broken, in a sentence.
#[allow(
    dead_code,
    reason = "not every user of the laws needs all of them at once"
)]
pub fn obeys(format: &'static Format, input: &[u8], cuts: &[usize]) -> Result<(), String> {
    let (expected, _) = whole(format, input)?;
    cut(format, input, cuts, expected)?;
    lowers(format, input)
}

/// A digest that costs less than reading: equal runs give equal digests, different ones hardly ever.
struct Digest(u64);

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            let mixed = self.0.rotate_left(5) ^ u64::from_le_bytes(word);
            self.0 = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Checks records against the input as they come, and folds all they show into a digest.
struct Check<'a> {
    input: &'a [u8],
    at: usize,
    fault: Option<String>,
    digest: Digest,
    boundaries: Vec<usize>,
    written: Vec<u8>,
}

impl<'a> Check<'a> {
    fn new(input: &'a [u8]) -> Self {
        Self {
            input,
            at: 0,
            fault: None,
            digest: Digest(0),
            boundaries: Vec::new(),
            written: Vec::new(),
        }
    }

    fn fault(&mut self, text: String) {
        self.fault.get_or_insert(text);
    }

    /// Returns the digest and the record boundaries, or what is wrong.
    fn verdict(mut self) -> Result<(u64, Vec<usize>), String> {
        if self.at != self.input.len() {
            let text = format!("records end at {:#x} of {:#x}", self.at, self.input.len());
            self.fault(text);
        }
        match self.fault {
            Some(fault) => Err(fault),
            None => Ok((self.digest.finish(), self.boundaries)),
        }
    }
}

fn digest(field: &Field<'_>, into: &mut Digest) {
    std::mem::discriminant(field).hash(into);
    match field {
        Field::Null => {}
        Field::Bool(value) => value.hash(into),
        Field::U64(value) => value.hash(into),
        Field::I64(value) => value.hash(into),
        Field::F64(value) => value.to_bits().hash(into),
        Field::Str(value) => value.hash(into),
        Field::Text(value) | Field::Utf16(value) | Field::Bytes(value) => value.hash(into),
        Field::Id(table, value) => (table, value).hash(into),
        Field::List(values) => {
            values.len().hash(into);
            values.iter().for_each(|value| digest(value, into));
        }
        Field::Map(rows) => {
            rows.len().hash(into);
            for (key, value) in *rows {
                digest(key, into);
                digest(value, into);
            }
        }
    }
}

impl RecordSink for Check<'_> {
    fn record(&mut self, record: &dyn Record) -> Flow {
        let kind = record.kind();
        if record.offset() != self.at as u64 {
            let text = format!("{kind} at {:#x}, not {:#x}", record.offset(), self.at);
            self.fault(text);
        }
        self.written.clear();
        record.write(&mut self.written);
        if record.len() != self.written.len() as u64 {
            let text = format!("{kind} at {:#x} writes another length", self.at);
            self.fault(text);
        }
        let end = self.at + self.written.len();
        if self.input.get(self.at..end) != Some(&self.written) {
            let text = format!("{kind} at {:#x} writes other bytes", self.at);
            self.fault(text);
        }
        self.boundaries.push(self.at);
        self.at = end;
        (kind, record.offset(), record.len(), record.time()).hash(&mut self.digest);
        record.fields(&mut |name, field| {
            name.hash(&mut self.digest);
            digest(&field, &mut self.digest);
        });
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        let Note {
            kind,
            level,
            offset,
            count,
            text,
            ..
        } = note;
        (kind, level, offset, count, text).hash(&mut self.digest);
        Flow::Continue(())
    }
}

/// Reads the input at once; returns digest and boundaries.
pub fn whole(format: &Format, input: &[u8]) -> Result<(u64, Vec<usize>), String> {
    let mut check = Check::new(input);
    read_slice(
        format.reader(&Limits::default()).as_mut(),
        input,
        &mut check,
    );
    check.verdict()
}

/// Reads the input in pieces and compares with reading it at once.
pub fn cut(format: &Format, input: &[u8], cuts: &[usize], expected: u64) -> Result<(), String> {
    let mut check = Check::new(input);
    let mut reader = format.reader(&Limits::default());
    read_chunked(reader.as_mut(), input, cuts.iter().copied(), &mut check);
    let (found, _) = check.verdict().map_err(|fault| format!("cut: {fault}"))?;
    if found == expected {
        Ok(())
    } else {
        Err("cutting changes records or notes".to_owned())
    }
}

/// A place at which an input is tried with an end and with a damage.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(
    dead_code,
    reason = "not every user of the laws needs all of them at once"
)]
pub struct Place {
    pub at: usize,
    /// Where the chunk is cut, as a share of 256; the bit that is flipped.
    pub seed: u8,
    /// Bytes shown after the damage.
    pub after: usize,
    /// How far back of the place the reader may want to begin; what lies further is left out.
    pub reach: usize,
}

/// Ends the input, and flips a bit of it, at each of `places` (sorted), in one pass: a copy of the reader in the state
/// before the place reads on, so that a place costs what lies around it and not what lies before.
///
/// Returns how many places were left out because the reader keeps more than their reach.
///
/// # Errors
/// The law that is broken, in a sentence.
#[allow(
    dead_code,
    reason = "not every user of the laws needs all of them at once"
)]
pub fn along(format: &Format, input: &[u8], places: &[Place]) -> Result<usize, String> {
    let mut reader = format.reader(&Limits::default());
    let mut so_far = Check::new(input);
    let mut damaged = input.to_vec();
    let (mut start, mut need, mut left_out) = (0, 0, 0);
    for place in places {
        let at = place.at;
        if at >= start + need && at < input.len() {
            let chunk = chunk(input, start, at, false);
            let Step::More {
                consumed,
                need: more,
            } = reader.read(chunk, &mut so_far)
            else {
                return Err(so_far.fault.unwrap_or_default());
            };
            start += consumed;
            need = more;
        }
        if at - start > place.reach {
            left_out += 1;
            continue;
        }
        let from = (start, so_far.at);
        // No chunk but the last is shorter than what the reader asked for.
        let least = start + need;
        let cut = least.max(start + (at - start) * usize::from(place.seed) / 256);
        reads_on(reader.as_ref(), &input[..at], from, cut)
            .map_err(|fault| format!("truncated at {at}: {fault}"))?;
        if at < input.len() {
            let bit = 1 << (place.seed & 7);
            damaged[at] ^= bit;
            let end = at.saturating_add(place.after).min(input.len());
            let result = reads_on(reader.as_ref(), &damaged[..end], from, at.max(least));
            damaged[at] ^= bit;
            result.map_err(|fault| format!("flipped {bit:#04x} at {at}: {fault}"))?;
        }
    }
    Ok(left_out)
}

/// Reads on to the end of `input` from a state, at once and in two pieces.
fn reads_on(
    reader: &dyn Fork,
    input: &[u8],
    (start, record): (usize, usize),
    cut: usize,
) -> Result<(), String> {
    let check = || Check {
        at: record,
        ..Check::new(input)
    };
    let mut whole = check();
    reader
        .fork()
        .read(chunk(input, start, input.len(), true), &mut whole);
    if cut >= input.len() {
        return whole.verdict().map(|_| ());
    }
    let mut pieces = check();
    let mut fork = reader.fork();
    let step = fork.read(chunk(input, start, cut, false), &mut pieces);
    if let Step::More { consumed, .. } = step {
        fork.read(
            chunk(input, start + consumed, input.len(), true),
            &mut pieces,
        );
    }
    let (whole, _) = whole.verdict()?;
    let (pieces, _) = pieces.verdict().map_err(|fault| format!("cut: {fault}"))?;
    if whole == pieces {
        Ok(())
    } else {
        Err(format!("cutting at {cut} changes records or notes"))
    }
}

fn chunk(input: &[u8], start: usize, end: usize, eof: bool) -> Chunk<'_> {
    Chunk {
        bytes: &input[start..end],
        offset: start as u64,
        eof,
    }
}

/// Lowers the input alone, which must not panic or fail; a format that cuts parts into pieces gives the same
/// piece by piece.
pub fn lowers(format: &'static Format, input: &[u8]) -> Result<(), String> {
    let Some(lower) = format.lower else {
        return Ok(());
    };
    let source = SliceSource::default().with("part", format, input);
    let mut recording = Recording::default();
    match lower(&source, &LowerOptions::default(), &mut recording) {
        // A version that is not read is said so, not lowered to nothing.
        Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(()),
        result => result.map_err(|error| error.to_string())?,
    }
    let Some(split) = format.split else {
        return Ok(());
    };
    let pieces = split(&source, 0, &Limits::default()).map_err(|error| error.to_string())?;
    let Some(pieces) = pieces.filter(|pieces| pieces.ranges.len() > 1) else {
        return Ok(());
    };
    let options = LowerOptions {
        whole: Some(pieces.whole),
        surveyed: pieces.surveyed,
        ..LowerOptions::default()
    };
    let mut joined = Recording::default();
    let mut join = Join::new(&mut joined);
    for range in pieces.ranges {
        let piece = Piece::new(&source, 0, range);
        lower(&piece, &options, &mut join).map_err(|error| error.to_string())?;
        join.next_piece();
    }
    match difference(&recording, &joined) {
        None => Ok(()),
        Some(what) => Err(format!("lowered in pieces, {what} are others")),
    }
}

/// Compares what a lowering notes with what it notes where nothing else is wanted, and, where the format says that it notes
/// all that its reader does, with what the reader notes.
pub fn lowers_notes(format: &'static Format, input: &[u8]) -> Result<(), String> {
    let Some(lower) = format.lower else {
        return Ok(());
    };
    let source = SliceSource::default().with("part", format, input);
    let lowered = |notes_only: bool| {
        let mut notes = NoteList {
            notes_only,
            ..NoteList::default()
        };
        match lower(&source, &LowerOptions::default(), &mut notes) {
            Err(error) if error.kind() == ErrorKind::Unsupported => Ok(None),
            Err(error) => Err(error.to_string()),
            Ok(()) => Ok(Some(notes.notes)),
        }
    };
    let (Some(notes), Some(all)) = (lowered(true)?, lowered(false)?) else {
        return Ok(());
    };
    if notes != all {
        let other = notes.iter().zip(&all).find(|(one, other)| one != other);
        return Err(format!("asked for notes alone, it has others: {other:?}"));
    }
    if !format.lowers_notes {
        return Ok(());
    }
    let mut read = NoteList::default();
    read_slice(format.reader(&Limits::default()).as_mut(), input, &mut read);
    let count = |of: &[ListedNote], note: &ListedNote| {
        let same = of.iter().filter(|other| *other == note);
        same.count()
    };
    let differs = |note: &&ListedNote| count(&notes, note) != count(&read.notes, note);
    match read.notes.iter().find(differs) {
        None => Ok(()),
        Some(note) => Err(format!("the lowering has not the same of {note:?}")),
    }
}

/// Compares samples with those that come where nothing but samples by their stacks is wanted.
pub fn lowers_stacks(format: &'static Format, input: &[u8]) -> Result<(), String> {
    let Some(lower) = format.lower else {
        return Ok(());
    };
    let source = SliceSource::default().with("part", format, input);
    let lowered = |all: bool| {
        let mut sink = StackSamples {
            all,
            recording: Recording::default(),
        };
        match lower(&source, &LowerOptions::default(), &mut sink) {
            Err(error) if error.kind() == ErrorKind::Unsupported => Ok(None),
            Err(error) => Err(error.to_string()),
            Ok(()) => Ok(Some(sink.recording)),
        }
    };
    let (Some(whole), Some(alone)) = (lowered(true)?, lowered(false)?) else {
        return Ok(());
    };
    match stack_samples(&whole) == stack_samples(&alone) {
        true => Ok(()),
        false => Err("without events and labels, samples are others".to_owned()),
    }
}

/// Takes samples, and wants events and labels or not.
struct StackSamples {
    all: bool,
    recording: Recording,
}

impl Sink for StackSamples {
    fn asks(&self) -> Asks {
        Asks {
            sampled_events: self.all,
            events: self.all,
            labels: self.all,
            ..Asks::default()
        }
    }

    fn define(&mut self, new: Definitions) -> Flow {
        self.recording.define(new)
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        self.recording.samples(batch)
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

/// Returns time, values and functions of each sample.
fn stack_samples(recording: &Recording) -> Vec<(Option<i64>, Vec<i64>, Vec<String>)> {
    let batches = recording.samples.iter();
    let rows = batches.flat_map(|batch| {
        batch.iter().map(|row| {
            let functions = row.stack.map(|stack| functions(recording, stack));
            (row.time, row.values.to_vec(), functions.unwrap_or_default())
        })
    });
    rows.collect()
}

/// Returns the names of a stack's functions.
fn functions(recording: &Recording, stack: StackId) -> Vec<String> {
    let name = |stack: &Stack| {
        let function = recording.frame(stack.frame)?.function?;
        let name = recording.function(function)?.name;
        Some(recording.text(name).into_owned())
    };
    let stacks = std::iter::successors(recording.stack(stack), |row| recording.stack(row.parent?));
    stacks.map(|row| name(row).unwrap_or_default()).collect()
}

/// A note's level, kind, offset, count and text.
type ListedNote = (Level, &'static str, u64, u64, String);

/// The notes of a reader or of a lowering.
#[derive(Default)]
struct NoteList {
    notes: Vec<ListedNote>,
    notes_only: bool,
}

impl NoteList {
    fn add(&mut self, note: Note) -> Flow {
        self.notes
            .push((note.level, note.kind, note.offset, note.count, note.text));
        Flow::Continue(())
    }
}

impl RecordSink for NoteList {
    fn record(&mut self, _record: &dyn Record) -> Flow {
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.add(note)
    }
}

impl Sink for NoteList {
    fn asks(&self) -> Asks {
        Asks {
            wants: Wants::Steps { calls: true },
            checks_values: true,
            notes_only: self.notes_only,
            ..Asks::default()
        }
    }

    fn define(&mut self, _new: Definitions) -> Flow {
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.add(note)
    }
}

/// Names what two recordings differ in, rows and their order; only where batches end may differ.
fn difference(a: &Recording, b: &Recording) -> Option<&'static str> {
    let samples = |recording: &Recording| {
        let mut profiles = std::collections::BTreeMap::new();
        for batch in &recording.samples {
            let empty = || SampleBatch::new(batch.profile, batch.width());
            let all = profiles.entry(batch.profile).or_insert_with(empty);
            batch.iter().for_each(|row| all.push(&row));
        }
        profiles
    };
    let notes = |recording: &Recording| recording.notes.kept().to_vec();
    let checks = [
        ("strings", a.strings == b.strings),
        ("resources", a.resources == b.resources),
        ("tracks", a.tracks == b.tracks),
        ("classes", a.classes == b.classes),
        ("functions", a.functions == b.functions),
        ("frames", a.frames == b.frames),
        ("stacks", a.stacks == b.stacks),
        ("value types", a.value_types == b.value_types),
        ("profiles", a.profiles == b.profiles),
        ("event types", a.event_types == b.event_types),
        ("series", a.series == b.series),
        ("attribute keys", a.attribute_keys == b.attribute_keys),
        ("events", a.events == b.events),
        ("counters", a.counters == b.counters),
        ("samples", samples(a) == samples(b)),
        ("notes", notes(a) == notes(b)),
    ];
    let found = checks.into_iter().find(|(_, same)| !same);
    found.map(|(what, _)| what)
}
