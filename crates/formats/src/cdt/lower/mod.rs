//! From streams to the model: calls joined with their trees, tags, words, pauses (§5 to §7).
//!
//! A process is read once, in the order of its streams: words and display rules first, then pauses,
//! then the trace with the rows of calls a bounded number ahead. The life of a call: its root's enter
//! opens it on its thread, its tags gather on the open methods, its last exit looks up its row, which
//! brings counters, parameters and the thread's name.

mod calls;
mod fast;
mod guess;
mod join;
mod method;
mod output;
mod parts;
mod plain;
mod rows;
mod tree;
mod values;
mod walk;
mod words;

use traceloom_model::bounds::saturated_u32;
use traceloom_model::{
    Clock, EventRow, EventType, Flow, Limits, Note, Order, PartId, Resource, Sink, Wants,
};

pub(super) use calls::COUNTERS;
pub use method::Method;
pub(super) use parts::identity_in;
pub(super) use plain::scout;

use super::phrase::{Phrased, Rows};
use super::suspend::Pauses;
use super::trace;
use crate::codec::Ahead;
use crate::text::gc_log;
use crate::wire::units::Stream;
use crate::{Error, LowerOptions, Record, RecordSink, Source, drive};
use output::{Broken, Output, ROWS};
use parts::Parts;
use rows::{CallPosition, Reader, TreeRows};
use values::Values;
use walk::{Depth, FirstBlock, Halt, Walk, walk};
use words::{Dictionary, ParamsInto, WordRows};

/// Passes notes of one part on; records end here.
struct NotesOf<'a, 'k> {
    out: &'a mut Output<'k>,
    part: PartId,
}

impl RecordSink for NotesOf<'_, '_> {
    fn record(&mut self, _record: &dyn Record) -> Flow {
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        let note = Note {
            part: self.part,
            ..note
        };
        match self.out.note(note) {
            Ok(()) => Flow::Continue(()),
            Err(Broken) => Flow::Break(()),
        }
    }
}

/// Takes the pauses of a suspend part.
struct PausesOf<'a, 'k> {
    notes: NotesOf<'a, 'k>,
    event_type: traceloom_model::EventTypeId,
}

impl RecordSink for PausesOf<'_, '_> {
    fn record(&mut self, record: &dyn Record) -> Flow {
        if record.kind() != "pause" {
            return Flow::Continue(());
        }
        let Some((start, end)) = record.time() else {
            return Flow::Continue(());
        };
        let out = &mut *self.notes.out;
        out.events
            .push(&EventRow::of_process(self.event_type, start, Some(end)));
        if out.events.len() >= ROWS && out.flush().is_err() {
            return Flow::Break(());
        }
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.notes.note(note)
    }
}

fn part_id(part: usize) -> PartId {
    PartId::nth(part)
}

/// Lowers the streams of one process, or any one of them alone.
///
/// # Errors
/// `Io` when a part cannot be read; damage becomes notes.
pub fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    sink.begin(Order::Nested, Clock::Unix);
    let mut out = Output::new(sink);
    let result = process(source, options, &mut out);
    match result {
        Ok(()) | Err(Halt::Broken | Halt::Done) => Ok(()),
        Err(Halt::Failed(error)) => Err(error),
    }
}

fn process(source: &dyn Source, options: &LowerOptions, out: &mut Output<'_>) -> Result<(), Halt> {
    let limits = &options.limits;
    let mut parts = Parts::of(source);
    let mut words = Dictionary::default();
    for &part in &parts.dictionary {
        let rows = WordRows::new(limits, &mut words);
        read_rows(source, part, rows, limits, out)?;
    }
    for &part in &parts.params {
        let rows = ParamsInto::new(limits, &mut words);
        read_rows(source, part, rows, limits, out)?;
    }
    let (service, instance) = parts::identity(source.location(), source.parts());
    let resource = (service.is_some() || instance.is_some()).then(|| {
        let service = service.map(|name| out.tables.string(name));
        let instance = instance.map(|name| out.tables.string(name));
        let language = Some(out.tables.string("java"));
        out.tables.resource(Resource {
            service,
            instance,
            language,
            ..Resource::default()
        })
    });
    pauses(source, &parts, limits, out)?;
    // Pauses of the collector are in the suspend stream already, where there is one.
    let stops = if parts.suspend.is_empty() {
        "pause"
    } else {
        "gc.pause"
    };
    for &part in &parts.gc {
        out.flush()?;
        if !gc_log::lower_lines(source, part, limits, stops, &mut out.tables, out.sink)? {
            return Err(Halt::Broken);
        }
    }
    if parts.calls.is_empty() && parts.trace.is_empty() {
        return Ok(out.flush()?);
    }

    let wants = out.sink.asks().wants;
    let depth = match wants {
        Wants::NoSpans | Wants::Calls => Depth::Roots,
        Wants::Steps { calls } if options.only.is_none() => Depth::Steps { calls },
        Wants::SpansAndSteps if options.only.is_none() => Depth::Spans { steps: true },
        Wants::Steps { .. } | Wants::Spans | Wants::SpansAndSteps => Depth::Spans { steps: false },
    };
    let counters = calls::CounterTypes::new(&mut out.tables);
    let reader = Reader::new(source, &parts.calls, parts.ranges, limits);
    let mut window = TreeRows::new(reader);
    if depth.has_spans() || out.sink.asks().checks_values {
        for note in guess::assign(source, &mut parts, limits)? {
            out.note(note)?;
        }
    }
    let mut values = Values::new(source, parts.sql.clone(), parts.xml.clone(), limits);
    let mut walk = walk(
        out,
        &mut words,
        &mut values,
        &mut window,
        &counters,
        depth,
        resource,
        limits,
    );
    walk.has_rows = !parts.calls.is_empty();
    if let Some(only) = options.only {
        one(&mut walk, source, &parts, only)?;
    } else if walk.has_rows && (wants == Wants::NoSpans || parts.trace.is_empty()) {
        walk.rows_alone(&parts.trace)?;
    } else {
        if depth == Depth::Roots {
            walk.ahead = Ahead::of(source);
        }
        for (&file, &part) in &parts.trace {
            walk.file(source, file, part, None)?;
        }
        let files: Vec<u32> = parts.trace.keys().copied().collect();
        walk.finish(&files)?;
    }
    if out.sink.asks().unused && options.only.is_none() {
        words.define_unused(&mut out.tables);
    }
    for note in words.missing(!parts.dictionary.is_empty()) {
        out.note(note)?;
    }
    Ok(out.flush()?)
}

/// Lowers the one call that begins at an origin.
fn one<'s>(
    walk: &mut Walk<'_, 's, '_>,
    source: &'s dyn Source,
    parts: &Parts,
    only: traceloom_model::Origin,
) -> Result<(), Halt> {
    let numbered = parts
        .trace
        .iter()
        .find(|&(_, &part)| part_id(part) == only.part);
    let Some((&file, &part)) = numbered else {
        return Ok(());
    };
    let Some(first) = first_block(source, part, only.offset)? else {
        return Ok(());
    };
    let key = CallPosition {
        file,
        block: saturated_u32(only.offset),
        index: only.index,
    };
    walk.rows.only(key)?;
    walk.only(key);
    let mut from = Some(first);
    for (&file, &part) in parts.trace.range(file..) {
        walk.file(source, file, part, from.take())?;
        if walk.is_done() {
            break;
        }
    }
    walk.finish(&[])
}

/// Returns the block at an offset that a person typed; `None` when none can begin there.
fn first_block(source: &dyn Source, part: usize, offset: u64) -> Result<Option<FirstBlock>, Halt> {
    let mut head = source.open(part, 0)?;
    let Some(&start) = head.pull(0, 8)?.bytes.first_chunk() else {
        return Ok(None);
    };
    let timer_start = i64::from_be_bytes(start);
    let mut pull = source.open(part, offset)?;
    let block = pull.pull(0, trace::LOOK)?;
    let is_block = trace::plausible_block(block.bytes, timer_start, true) == Some(true);
    Ok(is_block.then_some(FirstBlock {
        offset,
        timer_start,
    }))
}

fn read_rows<R: Rows>(
    source: &dyn Source,
    part: usize,
    rows: R,
    limits: &Limits,
    out: &mut Output<'_>,
) -> Result<(), Halt> {
    let mut notes = NotesOf {
        out,
        part: part_id(part),
    };
    let mut pull = source.open(part, 0)?;
    let mut reader = Stream::new(Phrased::new(rows, limits));
    if drive(pull.as_mut(), &mut reader, &mut notes)? {
        Ok(())
    } else {
        Err(Halt::Broken)
    }
}

fn pauses(
    source: &dyn Source,
    parts: &Parts,
    limits: &Limits,
    out: &mut Output<'_>,
) -> Result<(), Halt> {
    if parts.suspend.is_empty() {
        return Ok(());
    }
    let name = out.tables.string("pause");
    let event_type = out.tables.event_type(EventType {
        name,
        label: None,
        fields: Vec::new(),
    });
    for &part in &parts.suspend {
        let mut sink = PausesOf {
            notes: NotesOf {
                out,
                part: part_id(part),
            },
            event_type,
        };
        let mut pull = source.open(part, 0)?;
        let mut reader = Stream::new(Phrased::new(Pauses::new(limits), limits));
        if !drive(pull.as_mut(), &mut reader, &mut sink)? {
            return Err(Halt::Broken);
        }
    }
    Ok(())
}
