//! Records to spans: what all traces of a source share.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use traceloom_model::bounds::{row_number, saturated_i64};
use traceloom_model::{
    AttrKeyId, Attribute, Flow, Limit, Limits, Note, Origin, Resource, ResourceId, Sink, SpanBatch,
    SpanRow, StepBatch, StringId, Tables, Track, TrackId, Unit, Value as ModelValue, ValueType,
    ValueTypeId, Wants,
};

use super::held_traces::{HeldTrace, HeldTraces, MOST_RECORDS};
use super::open_trace::{BeginFacts, Ending, FinishedRecord, OpenRecord, OpenTrace};
use super::stats::Statistics;
use crate::info;

const BACKWARDS: &str = "a record ends before it begins: its duration counts as 0";

/// Rows of a batch: columns that fit the cache, and that an allocator hands out again.
const ROWS: usize = 4096;
/// Steps of a batch.
const STEPS: usize = ROWS;
/// Rows that may wait for the steps of their call.
const WAITING: usize = 4 * ROWS;

/// What all traces of a source share: tables, the batch in the making, the threads.
pub(crate) struct SourceState<'s> {
    pub(crate) sink: &'s mut dyn Sink,
    pub(crate) tables: Tables,
    pub(crate) limits: Limits,
    /// Most records that are open at once.
    pub(crate) most_open: usize,
    pub(crate) only: Option<Origin>,
    pub(crate) stopped: bool,
    wants: Wants,
    out: SpanBatch,
    steps: StepBatch,
    statistics: Statistics,
    /// The statistics are wanted.
    counts: bool,
    /// Only notes are wanted. Repeated posts, which are noted, are known by all that they hold.
    pub(crate) notes_only: bool,
    calls: ValueTypeId,
    thread_name: AttrKeyId,
    thread_id: AttrKeyId,
    trace_id: AttrKeyId,
    flags: AttrKeyId,
    threads: HashMap<(Option<ResourceId>, StringId, Option<u64>), TrackId>,
    /// Posts of agents may hold a trace twice: alone and inside the trace around it.
    pub(crate) repeats: bool,
    held: HeldTraces,
    /// What exceptions say, to which spans may refer at any time.
    pub(crate) messages: HashSet<StringId, RandomState>,
}

impl<'s> SourceState<'s> {
    pub(crate) fn new(
        sink: &'s mut dyn Sink,
        limits: Limits,
        only: Option<Origin>,
        posts: bool,
    ) -> Self {
        let mut tables = Tables::new();
        let calls = tables.string("calls");
        let calls = tables.value_type(ValueType {
            scope: traceloom_model::Scope::Inclusive,
            ..ValueType::sum(calls, Unit::Count)
        });
        let asks = sink.asks();
        let notes_only = asks.notes_only && !posts;
        Self {
            wants: asks.wants,
            counts: asks.derived_samples && !notes_only,
            notes_only,
            sink,
            limits,
            most_open: limits.size(Limit::OpenSpans),
            only,
            stopped: false,
            out: SpanBatch::with_capacity(ROWS),
            steps: StepBatch::default(),
            statistics: Statistics::default(),
            calls,
            thread_name: tables.attribute_named("thread.name"),
            thread_id: tables.attribute_named("thread.id"),
            trace_id: tables.attribute_named(super::encode::TRACE_ID),
            flags: tables.attribute_named("flags"),
            threads: HashMap::new(),
            repeats: posts,
            held: HeldTraces::default(),
            messages: HashSet::default(),
            tables,
        }
    }

    /// Returns the counter of a record's calls.
    pub(crate) const fn calls(&self) -> ValueTypeId {
        self.calls
    }

    /// Returns the keys of the attributes that name a thread.
    pub(crate) const fn of_threads(&self) -> [AttrKeyId; 2] {
        [self.thread_name, self.thread_id]
    }

    /// Returns the key of the attribute that says the id of a trace.
    pub(crate) const fn of_trace(&self) -> AttrKeyId {
        self.trace_id
    }

    /// Returns true if steps are enough, and attributes are wanted only where they name a thread: a view of times
    /// keeps none, and would remember every text it was told. Repeated posts are known by all of them.
    pub(crate) fn threads_only(&self) -> bool {
        self.wants == Wants::Steps { calls: false } && !self.repeats
    }

    /// Returns true if what exceptions say is wanted.
    pub(crate) fn wants_exceptions(&self) -> bool {
        !self.notes_only && !self.threads_only()
    }

    pub(crate) fn flow(&self) -> Flow {
        if self.stopped {
            Flow::Break(())
        } else {
            Flow::Continue(())
        }
    }

    pub(crate) fn note(&mut self, note: Note) {
        if !self.stopped {
            self.stopped = self.sink.note(note).is_break();
        }
    }

    pub(crate) fn session_resource(&mut self, id: &str) -> ResourceId {
        let instance = Some(self.tables.string(id));
        let language = Some(self.tables.string("java"));
        self.tables.resource(Resource {
            instance,
            language,
            ..Resource::default()
        })
    }

    /// Returns true if one more record may be open, which may be the first of its trace.
    pub(crate) fn has_room(&mut self, trace: &mut OpenTrace) -> bool {
        if trace.open.len() >= self.most_open {
            trace.deeper += 1;
            return false;
        }
        if trace.open.is_empty() {
            trace.exceptions.clear();
            trace.base = None;
            trace.said_id = None;
            trace.track = None;
            trace.named = false;
            trace.direct = !self.repeats || trace.unnamed_post;
            let is_alone = self.threads_only() && !self.counts;
            let is_beside =
                self.wants == Wants::SpansAndSteps && !self.repeats && self.only.is_none();
            let rows_from = is_beside.then_some(self.out.len());
            trace.steps.begin(is_alone || is_beside, rows_from);
        }
        true
    }

    /// Finishes the innermost record, which began at `start`, and whose raw time is `stop`.
    #[inline(always)]
    pub(crate) fn close(
        &mut self,
        trace: &mut OpenTrace,
        (start, stop): (i64, i64),
        resource: Option<ResourceId>,
        ending: &Ending,
    ) {
        let root = trace.open.len() == 1;
        let track = match trace.track {
            Some(track) if trace.named || !root => track,
            _ => self.track(trace, resource),
        };
        let ended = ending.stop.is_some();
        if trace.steps.are_beside_rows() {
            Self::exit_beside_row(trace, (start, stop), ended);
        } else if trace.steps.is_on() {
            let finished = self.close_step(trace, track, (start, stop), ended);
            if finished {
                return;
            }
        }
        self.close_row(trace, track, (start, stop), ending);
    }

    /// Finishes the innermost record as a row.
    #[inline(never)]
    fn close_row(
        &mut self,
        trace: &mut OpenTrace,
        track: TrackId,
        (start, stop): (i64, i64),
        ending: &Ending,
    ) {
        let ended = ending.stop.is_some();
        let Some(frame) = trace.open.last() else {
            return;
        };
        let duration = self.duration(frame, stop);
        let details = frame.details.as_deref();
        let said = details.and_then(|details| details.ending.flags);
        let (flagged, flags) = self.flagged(ending.flags.or(said), frame.nanos);
        if let Some(flags) = flags
            && let Some(details) = trace.details()
        {
            details.attributes.push(flags);
        }
        let Some((frame, around)) = trace.open.split_last_mut() else {
            return;
        };
        let root = around.is_empty();
        let parent = around.last_mut().map(|parent| {
            parent.inside = parent.inside.saturating_add(duration);
            parent.id
        });
        let failed = frame.failed | flagged;
        let calls = ending.calls.map(|calls| (self.calls, saturated_i64(calls)));
        let mark = frame.mark();
        let row = SpanRow {
            id: frame.id,
            parent,
            depth: row_number(around.len()),
            track,
            function: frame.method,
            kind: mark.and_then(|mark| mark.kind),
            start,
            end: start.saturating_add(saturated_i64(duration)),
            status: frame.status(ended, failed),
            entry: root || mark.is_some(),
            counters: calls.as_slice(),
            attributes: &[],
            exception: frame.details.as_ref().and_then(|details| details.exception),
            context: mark.and_then(BeginFacts::context),
            origin: Some(frame.origin),
        };
        let print = mark
            .filter(|_| ended && !trace.direct)
            .map(|mark| frame.fingerprint(mark, ending.calls, duration));
        if frame.selected {
            let finished = frame.finished(duration, failed);
            let rows = if trace.direct {
                &mut self.out
            } else {
                &mut trace.rows
            };
            if row.entry || self.wants != Wants::Calls {
                let details = frame.details.as_deref_mut();
                rows.push_made(&row, |made| {
                    let attributes = details.map(|details| &mut details.attributes);
                    if let Some(attributes) = attributes.filter(|all| !all.is_empty()) {
                        made.append(attributes);
                    }
                });
            }
            if trace.direct {
                self.count(finished);
            } else {
                trace.counted.push(finished);
            }
        }
        let origin = frame.origin;
        trace.drop_innermost();
        if trace.direct {
            if root && trace.steps.are_beside_rows() {
                let n_rows = self.out.len();
                trace
                    .steps
                    .finish_beside_rows(track, n_rows, &mut self.steps);
            }
            self.push_if_full(trace);
        } else {
            self.hold(trace, root, print, origin);
        }
    }

    /// Finishes the innermost record as a step; returns false where it has to be a row.
    #[inline(always)]
    fn close_step(
        &mut self,
        trace: &mut OpenTrace,
        track: TrackId,
        (start, stop): (i64, i64),
        ended: bool,
    ) -> bool {
        let Some(frame) = trace.open.last() else {
            return false;
        };
        let function = frame.method.filter(|_| ended && !frame.orphan);
        let Some(function) = function.filter(|_| !trace.steps.is_full()) else {
            self.spill_steps(trace, track);
            return false;
        };
        let end = start.saturating_add(saturated_i64(self.duration(frame, stop)));
        trace.steps.exit(frame.step, (start, end), function);
        trace.drop_innermost();
        if trace.open.is_empty() {
            self.finish_steps(trace, track);
        }
        true
    }

    /// Finishes the innermost record as a step, where it can be one, before it is a row.
    fn exit_beside_row(trace: &mut OpenTrace, (start, stop): (i64, i64), ended: bool) {
        let Some(frame) = trace.open.last() else {
            return;
        };
        let function = frame.method.filter(|_| ended && !frame.orphan);
        let (duration, _) = frame.duration(stop);
        let end = start.saturating_add(saturated_i64(duration));
        match function.filter(|_| !trace.steps.is_full()) {
            Some(function) => trace.steps.exit(frame.step, (start, end), function),
            None => trace.steps.leave(),
        }
    }

    /// Puts the steps of a call that has ended into the batch.
    #[inline(never)]
    fn finish_steps(&mut self, trace: &mut OpenTrace, track: TrackId) {
        if !trace.steps.finish(track, &mut self.steps) {
            self.spill_steps(trace, track);
        }
        self.push_if_full(trace);
    }

    /// Makes rows of what are steps of the call that is open.
    #[inline(never)]
    fn spill_steps(&mut self, trace: &mut OpenTrace, track: TrackId) {
        let open = trace.open.iter().map(|frame| (frame.step, frame.id));
        let (tables, out) = (&mut self.tables, &mut self.out);
        trace
            .steps
            .spill(track, open, || tables.reserve_span(), |row| out.push(row));
    }

    /// Finishes the innermost record, of which nothing is wanted but notes.
    #[inline]
    pub(crate) fn close_unseen(&mut self, trace: &mut OpenTrace, stop: i64) {
        if let Some(frame) = trace.open.last() {
            self.duration(frame, stop);
            trace.drop_innermost();
        }
    }

    /// Returns how long a record lasted, and notes one that ends before it begins.
    #[inline(always)]
    fn duration(&mut self, frame: &OpenRecord, stop: i64) -> u64 {
        let (duration, backwards) = frame.duration(stop);
        if backwards {
            self.note_backwards(frame.origin);
        }
        duration
    }

    #[cold]
    fn note_backwards(&mut self, origin: Origin) {
        self.note(Note {
            part: origin.part,
            ..crate::warn("negative_duration", origin.offset, BACKWARDS)
        });
    }

    /// Pushes the batch once it is full, and lets values go that no row to come refers to.
    #[inline(always)]
    fn push_if_full(&mut self, trace: &mut OpenTrace) {
        if self.out.len() < ROWS && self.steps.len() < STEPS {
            return;
        }
        if trace.steps.are_beside_rows() {
            if self.out.len() < WAITING {
                return;
            }
            trace.steps.leave();
        }
        if self.tables.has_retired() && !self.repeats {
            self.settle(trace);
        }
        self.flush();
    }

    /// Holds back what a record leaves until it is known whether its trace comes again.
    fn hold(&mut self, trace: &mut OpenTrace, root: bool, print: Option<u64>, origin: Origin) {
        if let Some(print) = print {
            self.drop_repeated(print);
        }
        if root {
            self.finish_root(trace, print, origin);
        } else if trace.counted.len() > MOST_RECORDS {
            self.release_all();
            self.release(
                std::mem::take(&mut trace.rows),
                &std::mem::take(&mut trace.counted),
            );
            trace.direct = true;
        }
    }

    /// Lets values go that nothing open has, of the one trace there is where posts are not repeated.
    #[inline(never)]
    fn settle(&mut self, trace: &OpenTrace) {
        let mut held = self.messages.clone();
        let details = trace.open.iter().filter_map(|frame| frame.details.as_ref());
        let open = details.flat_map(|details| &details.attributes);
        for attribute in open.chain(&trace.orphaned) {
            attribute.value.each_string(&mut |id| {
                held.insert(id);
            });
        }
        self.tables.settle(&held);
    }

    /// Returns true if the flags of a record say that it failed; what else they say becomes an attribute.
    #[inline]
    fn flagged(&self, flags: Option<i64>, nanos: bool) -> (bool, Option<Attribute>) {
        let Some(flags) = flags else {
            return (false, None);
        };
        // 0x1000 in C, where 0x08 is set on every ordinary trace (SPEC.md §2); 0x08 before.
        let error = if nanos { 0x1000 } else { 8 };
        let others =
            (flags & !error != 0).then(|| Attribute::new(self.flags, ModelValue::I64(flags)));
        (flags & error != 0, others)
    }

    fn finish_root(&mut self, trace: &mut OpenTrace, print: Option<u64>, origin: Origin) {
        self.held.push(HeldTrace {
            print: print.unwrap_or(0),
            origin,
            rows: std::mem::take(&mut trace.rows),
            counted: std::mem::take(&mut trace.counted),
        });
        while self.held.is_full()
            && let Some(oldest) = self.held.pop()
        {
            self.release(oldest.rows, &oldest.counted);
        }
    }

    /// Drops a held trace that comes again, whole or inside another: each call counts once.
    fn drop_repeated(&mut self, print: u64) {
        if let Some(held) = self.held.take(print) {
            let text = "a trace is posted again, alone or inside another: the first is left out";
            self.note(Note {
                part: held.origin.part,
                ..info("repeated_trace", held.origin.offset, text)
            });
        }
    }

    pub(crate) fn release_all(&mut self) {
        while let Some(oldest) = self.held.pop() {
            self.release(oldest.rows, &oldest.counted);
        }
    }

    fn release(&mut self, rows: SpanBatch, counted: &[FinishedRecord]) {
        counted.iter().for_each(|&counted| self.count(counted));
        if self.out.len() + rows.len() > ROWS.max(rows.len()) {
            self.flush();
        }
        self.out.append(rows);
    }

    #[inline]
    fn count(&mut self, counted: FinishedRecord) {
        if let Some(function) = counted.function.filter(|_| self.counts) {
            self.statistics
                .add(function, counted.duration, counted.own, counted.failed);
        }
    }

    pub(crate) fn push(&mut self, row: &SpanRow<'_>) {
        self.out.push(row);
        if self.out.len() >= ROWS {
            self.flush();
        }
    }

    pub(crate) fn flush(&mut self) {
        let definitions = self.tables.take_definitions();
        if !self.stopped && !definitions.is_empty() {
            self.stopped = self.sink.define(definitions).is_break();
        }
        if !self.stopped && !self.steps.is_empty() {
            // The next batch will be as long: growing it would copy it several times.
            let mut next = StepBatch::default();
            next.time.reserve(self.steps.len());
            next.function.reserve(self.steps.len());
            next.inner.reserve(self.steps.inner.len());
            let steps = std::mem::replace(&mut self.steps, next);
            self.stopped = self.sink.steps(steps).is_break();
        }
        if !self.stopped && !self.out.is_empty() {
            self.stopped = self
                .sink
                .spans(std::mem::replace(
                    &mut self.out,
                    SpanBatch::with_capacity(ROWS),
                ))
                .is_break();
        }
        let passed = self.tables.take_passed();
        if !self.stopped && !passed.is_empty() {
            self.sink.forget(&passed);
        }
    }

    /// Pushes what is left, and the statistics.
    pub(crate) fn finish(&mut self) {
        self.release_all();
        self.flush();
        if !self.counts {
            return;
        }
        let batches = self.statistics.samples(&mut self.tables);
        self.flush();
        for batch in batches {
            if !self.stopped {
                self.stopped = self.sink.samples(batch).is_break();
            }
        }
    }

    /// Finds the track of a trace: its thread as soon as an attribute names it, else one of its own.
    #[inline(never)]
    fn track(&mut self, trace: &mut OpenTrace, resource: Option<ResourceId>) -> TrackId {
        let mut frames = trace.open.iter().rev().take(65);
        let thread = frames.find_map(|frame| self.thread(frame));
        let Some((name, id)) = thread else {
            return *trace.track.get_or_insert_with(|| {
                self.tables.new_track(Track {
                    resource,
                    ..Track::default()
                })
            });
        };
        trace.named = true;
        let row = Track {
            resource,
            name: Some(name),
            id,
            ..Track::default()
        };
        let tables = &mut self.tables;
        let track = match (trace.track, self.threads.get(&(resource, name, id))) {
            (None, Some(&known)) => known,
            (None, None) => {
                let track = tables.new_track(row);
                self.threads.insert((resource, name, id), track);
                track
            }
            // Spans lie on it already: it gets its name late.
            (Some(track), known) => {
                let first = known.is_none();
                tables.redefine_track(track, row);
                if first {
                    self.threads.insert((resource, name, id), track);
                }
                track
            }
        };
        trace.track = Some(track);
        track
    }

    fn thread(&self, frame: &OpenRecord) -> Option<(StringId, Option<u64>)> {
        let mut name = None;
        let mut id = None;
        let details = frame.details.as_ref()?;
        for attribute in &details.attributes {
            match &attribute.value {
                ModelValue::Text(text) if attribute.key == self.thread_name => name = Some(*text),
                ModelValue::Text(text) if attribute.key == self.thread_id => {
                    let text = std::str::from_utf8(self.tables.string_bytes(*text)).ok();
                    id = text.and_then(|text| text.parse().ok());
                }
                ModelValue::I64(value) if attribute.key == self.thread_id => {
                    id = u64::try_from(*value).ok();
                }
                _ => {}
            }
        }
        Some((name?, id))
    }
}
