//! Packets to the model: streams and substreams as tracks, containment as nesting.
//!
//! Order: [`Order::Finish`], on every track by end, children before their parent. Memory: the events that
//! a later one may still enclose (at most `open_spans` of them and [`MOST_BYTES`] bytes, then they are
//! let go with a `limit_open_spans` note), what [`super::survey`] keeps, and the tables: distinct
//! descriptions, attribute names and texts, up to the limit `table`.

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;

use foldhash::fast::RandomState;
use traceloom_model::bounds::saturated_u32;
use traceloom_model::{
    Attributes, Clock, Flow, Limit, Note, Order, Origin, PartId, Resource, ResourceId, Sink,
    SpanBatch, SpanRow, SpanStatus, Tables, TrackId, Wants,
};

use super::names::LoweringTables;
use super::read::Reader;
use super::record::{CounterCheck, Event, Metadata, Visit};
use super::run::{Effort, RunState};
use super::survey::{RunSummary, RunSurvey};
use crate::{Chunk, Error, LowerOptions, Opaque, RecordSink, Source, Step, drive, info, warn};

/// Bytes of waiting events.
pub(super) const MOST_BYTES: usize = 1 << 30;
/// Spans pushed at a time: few enough to stay in the cache.
const BATCH: usize = 512;
/// Attributes that room is made for in a batch.
const MOST_ROOM: usize = 8 * BATCH;

/// Lowers every part of `source`, one after the other.
pub fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    let mut surveys = Vec::new();
    for part in 0..source.parts().len() {
        let mut pass = Pass {
            decoder: Reader::new(&options.limits),
            visitor: RunSurvey::new(),
        };
        drive(source.open(part, 0)?.as_mut(), &mut pass, &mut Nowhere)?;
        surveys.push(pass.visitor.finish());
    }
    let mut names = LoweringTables::new(&options.limits);
    let dated = surveys
        .iter()
        .flat_map(|(runs, _)| runs)
        .any(|run| run.epoch.is_some());
    // One clock for all: a run without epoch counts from that of the run before it, else of the first that has one.
    let runs = || surveys.iter().flat_map(|(runs, _)| runs);
    let mut known = runs().find_map(|run| run.epoch);
    for run in surveys.iter_mut().flat_map(|(runs, _)| runs) {
        run.epoch_is_borrowed = run.epoch.is_none() && known.is_some();
        known = run.epoch.or(known);
        run.epoch = known;
    }
    let clock = if dated {
        Clock::Unix
    } else {
        Clock::Unknown(Some(names.tables.string("heph trace")))
    };
    sink.begin(Order::Finish, clock);
    let asks = sink.asks();
    let calls_only = asks.wants == Wants::Calls;
    // That there are spans is said by the first ones, wherever they lie.
    let most = match asks.amounts_only {
        true => BATCH,
        false => options.limits.size(Limit::OpenSpans),
    };
    for (part, (runs, shift)) in surveys.into_iter().enumerate() {
        let mut lowering = Lowering {
            out: PassOutput {
                sink: &mut *sink,
                names,
                batch: SpanBatch::with_capacity(BATCH),
                attributes: 2 * BATCH,
                part: PartId::nth(part),
                only: options.only,
                calls_only,
            },
            waiting: runs.into(),
            next_run: 0,
            run: None,
            runs: 0,
            events: 0,
            shift,
            most,
            recover: !options.as_recorded,
        };
        let mut pass = Pass {
            decoder: Reader::new(&options.limits),
            visitor: &mut lowering,
        };
        let whole = drive(source.open(part, 0)?.as_mut(), &mut pass, &mut Nowhere)?;
        if !whole || lowering.finish().is_break() {
            return Ok(());
        }
        names = lowering.out.names;
    }
    Ok(())
}

/// A decoder and what takes its packets, as a reader that shows no records.
struct Pass<V> {
    decoder: Reader,
    visitor: V,
}

impl<V: Visit> crate::Reader for Pass<V> {
    fn read(&mut self, chunk: Chunk<'_>, _out: &mut dyn RecordSink) -> Step {
        self.decoder.read(chunk, &mut self.visitor)
    }
}

impl<V: Visit> Visit for &mut V {
    const SKIMS: bool = V::SKIMS;

    #[inline(always)]
    fn event(&mut self, event: &Event<'_>, seen: CounterCheck) -> Flow {
        (**self).event(event, seen)
    }

    fn metadata(&mut self, metadata: &Metadata<'_>) -> Flow {
        (**self).metadata(metadata)
    }

    fn opaque(&mut self, opaque: &Opaque<'_>) -> Flow {
        (**self).opaque(opaque)
    }

    fn note(&mut self, note: Note) -> Flow {
        (**self).note(note)
    }

    fn run(&mut self, offset: u64) {
        (**self).run(offset);
    }
}

struct Nowhere;

impl RecordSink for Nowhere {
    fn record(&mut self, _record: &dyn crate::Record) -> Flow {
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

/// The second pass.
struct Lowering<'s> {
    out: PassOutput<'s>,
    waiting: VecDeque<RunSummary>,
    /// Where the next one begins.
    next_run: u64,
    run: Option<RunState>,
    runs: u32,
    events: u64,
    shift: u32,
    most: usize,
    /// Events without substream go to the actor that ran (SPEC.md §6.12).
    recover: bool,
}

impl Lowering<'_> {
    #[inline(always)]
    fn take(&mut self, event: &Event<'_>, seen: CounterCheck) -> Flow {
        if event.offset >= self.next_run {
            self.enter_run(event.offset)?;
        }
        let number = self.events;
        self.events += 1;
        if number & ((1 << self.shift) - 1) == 0 {
            self.settle(number >> self.shift)?;
        }
        let Some(run) = &mut self.run else {
            return Flow::Continue(());
        };
        if seen.duplicate && run.uses_counters() {
            return Flow::Continue(());
        }
        run.event(event, &mut self.out);
        // The limits are looked at rarely: they bound memory, not the exact number.
        if number & 0xff == 0xff {
            self.relieve()?;
        }
        Flow::Continue(())
    }

    /// Pushes what no event from `block` on can enclose.
    #[inline(never)]
    fn settle(&mut self, block: u64) -> Flow {
        let over = block.checked_sub(1).map(saturated_u32);
        match (over, &mut self.run) {
            (Some(over), Some(run)) => run.settle(over, Effort::Due, &mut self.out),
            _ => Flow::Continue(()),
        }
    }

    #[inline(never)]
    fn relieve(&mut self) -> Flow {
        let block = (self.events - 1) >> self.shift;
        let over = saturated_u32(block.saturating_sub(1));
        match &mut self.run {
            Some(run) if run.waiting() > self.most || run.waiting_bytes() > MOST_BYTES => {
                run.relieve(over, self.most, &mut self.out)
            }
            _ => Flow::Continue(()),
        }
    }

    /// Goes to the run that the packet at `offset` belongs to.
    #[inline(never)]
    fn enter_run(&mut self, offset: u64) -> Flow {
        while self
            .waiting
            .front()
            .is_some_and(|run| self.run.is_none() || run.offset <= offset)
        {
            if let Some(mut run) = self.run.take() {
                run.finish(&mut self.out)?;
            }
            if let Some(run) = self.waiting.pop_front() {
                let resource = self.out.begin_run(&run, self.runs)?;
                self.runs += 1;
                self.run = Some(RunState::begin(run, resource, self.recover));
            }
        }
        self.next_run = self.waiting.front().map_or(u64::MAX, |run| run.offset);
        Flow::Continue(())
    }

    fn finish(&mut self) -> Flow {
        self.enter_run(u64::MAX)?;
        if let Some(mut run) = self.run.take() {
            run.finish(&mut self.out)?;
        }
        self.out.flush()
    }
}

impl Visit for Lowering<'_> {
    #[inline(always)]
    fn event(&mut self, event: &Event<'_>, seen: CounterCheck) -> Flow {
        self.take(event, seen)
    }

    fn metadata(&mut self, _metadata: &Metadata<'_>) -> Flow {
        Flow::Continue(())
    }

    fn opaque(&mut self, _opaque: &Opaque<'_>) -> Flow {
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.out.note(note)
    }
}

/// What goes to the sink.
pub(super) struct PassOutput<'s> {
    sink: &'s mut dyn Sink,
    pub names: LoweringTables,
    batch: SpanBatch,
    /// Most attributes of a batch so far.
    attributes: usize,
    part: PartId,
    only: Option<Origin>,
    calls_only: bool,
}

impl PassOutput<'_> {
    pub fn tables(&mut self) -> &mut Tables {
        &mut self.names.tables
    }

    pub fn note(&mut self, note: Note) -> Flow {
        let part = self.part;
        self.sink.note(Note { part, ..note })
    }

    /// Describes a run and says what is doubtful about its epoch.
    pub fn begin_run(&mut self, run: &RunSummary, number: u32) -> ControlFlow<(), ResourceId> {
        if run.epoch_is_borrowed {
            let text = "a run without epoch among runs that have one: its times count from the epoch of the run before it, \
                        or of the first that has one";
            self.note(warn("no_epoch", run.offset, text))?;
        } else if run.epoch.is_none() {
            let text = "no epoch: times count from an unknown point";
            self.note(info("no_epoch", run.offset, text))?;
        }
        let attributes = run
            .options
            .iter()
            .map(|(name, value)| self.names.option(name, value));
        let attributes = attributes.collect();
        let instance = (number > 0).then(|| self.tables().string(&format!("run {}", number + 1)));
        ControlFlow::Continue(self.tables().resource(Resource {
            instance,
            attributes,
            ..Resource::default()
        }))
    }

    /// Returns true if spans of the call that begins at `root_offset` are asked for.
    pub fn takes(&self, root_offset: impl FnOnce() -> u64, is_root: bool) -> bool {
        (is_root || !self.calls_only)
            && self
                .only
                .is_none_or(|only| only.part == self.part && only.offset == root_offset())
    }

    #[inline(always)]
    pub fn span(&mut self, span: &Placed<'_>, epoch: Option<u64>) -> Flow {
        let since_origin = |time: u64| i64::try_from(epoch.unwrap_or(0).checked_add(time)?).ok();
        let saturated = since_origin(span.end).is_none();
        let time = |time| since_origin(time).unwrap_or(i64::MAX);
        let function = self.names.function(span.described, span.body.description);
        let row = SpanRow {
            id: span.id,
            parent: span.parent,
            depth: span.depth,
            track: span.track,
            function: Some(function),
            kind: None,
            start: time(span.start),
            end: time(span.end),
            status: SpanStatus::Complete,
            entry: span.is_entry,
            counters: &[],
            attributes: &[],
            exception: None,
            context: None,
            origin: Some(Origin {
                part: self.part,
                offset: span.offset,
                index: 0,
            }),
        };
        let names = &mut self.names;
        self.batch.push_made(&row, |made| {
            names.attributes(span.described, &span.body, made)
        });
        if saturated {
            let text = "a time after 11 April 2262 is held as that date";
            self.note(warn("time_saturated", span.offset, text))?;
        }
        if self.batch.len() >= BATCH {
            self.flush()?;
        }
        Flow::Continue(())
    }

    pub fn flush(&mut self) -> Flow {
        let definitions = self.names.tables.take_definitions();
        if !definitions.is_empty() {
            self.sink.define(definitions)?;
        }
        if let Some(note) = self.names.note() {
            self.note(note)?;
        }
        if self.batch.is_empty() {
            return Flow::Continue(());
        }
        let attributes = self.batch.attributes.all().len().min(MOST_ROOM);
        self.attributes = self.attributes.max(attributes);
        let mut empty = SpanBatch::with_capacity(BATCH);
        empty.attributes = Attributes::with_capacity(self.attributes.div_ceil(2));
        self.sink.spans(std::mem::replace(&mut self.batch, empty))
    }
}

/// A span with its place.
pub(super) struct Placed<'a> {
    pub id: traceloom_model::SpanId,
    pub parent: Option<traceloom_model::SpanId>,
    pub depth: u32,
    pub is_entry: bool,
    pub track: TrackId,
    pub start: u64,
    pub end: u64,
    pub offset: u64,
    pub described: super::names::DescriptionNumber,
    pub body: super::bodies::EventBody<'a>,
}

/// Maps that only ever see the few distinct names of a trace.
pub(super) type Map<K, V> = HashMap<K, V, RandomState>;
