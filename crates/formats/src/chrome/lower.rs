//! Trace events to the model, after a survey of all of them.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    Flow, Function, FunctionId, Level, Limit, Limits, LinkBatch, Order, ProfileId, Sink, StackId,
    StringId, Tables, Timestamp, TrackId,
};

use super::arguments::{annotated, may_be_reserved, text};
use super::by_end::ByEnd;
use super::event::{EventKey, TraceEvent};
use super::flows::{FlowNumbers, FlowStep, LateFlows};
use super::points::{Timed, is_event, is_piece};
use super::scout::EventsAhead;
use super::survey::{Sorted, TraceSurvey, survey, thread};
use super::tracks::{ThreadPlace, TrackLines};
use super::walk::{TracePart, each};
use crate::codec::CountedNotes;
use crate::codec::two_pass::{self, Pass};
use crate::profile::v8::V8Profiles;
use crate::spans::by_line::{ByLine, SliceLine};
use crate::spans::rows::PendingRows;
use crate::spans::slices::{Annotated, Flows, HeldStep, OpenSlice, SliceArgs, SliceStep, Slices};
use crate::spans::wanted::Wanted;
use crate::text::json::{Document, JsonTexts, Token};
use crate::{Error, LowerOptions, Source};

/// Lowers every part of a source, each a trace of its own.
///
/// # Errors
/// What the source fails with.
pub(super) fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    let begin = |survey: &TraceSurvey, tables: &mut Tables| {
        // Asynchronous events of one track may overlap.
        (Order::Finish, survey.clock(tables))
    };
    let wants_flows = Wanted::of(sink.asks()).details;
    two_pass::lower(
        source,
        &options.limits,
        sink,
        |pass, limits, note| survey(pass, limits, wants_flows, note),
        begin,
        |survey, pass, to, sink| rows(survey, pass, options, to, sink),
    )
}

fn rows(
    mut survey: TraceSurvey,
    pass: &mut Pass<'_>,
    options: &LowerOptions,
    (tables, tally): (&mut Tables, &mut CountedNotes),
    sink: &mut dyn Sink,
) -> Result<Flow, Error> {
    if survey.has_flows && sink.links(LinkBatch::default()).is_break() {
        return Ok(Flow::Break(()));
    }
    let wanted = Wanted::of(sink.asks());
    let least = wanted.least_rows();
    let (flows, late) = survey.take_flows();
    let (pull, mut known) = EventsAhead::with_kept(pass, std::mem::take(&mut survey.events));
    let survey = &survey;
    let mut lowering = Lowering {
        survey,
        wanted,
        limits: &options.limits,
        texts: JsonTexts::default(),
        tables,
        tally,
        slices: Slices::new(&options.limits),
        rows: PendingRows::default(),
        tracks: TrackLines::new(survey),
        by_end: ByEnd::new(options.limits.size(Limit::OpenSpans)),
        flows,
        late,
        arriving: ByLine::default(),
        functions: HashMap::default(),
        timed: None,
        objects: HashMap::default(),
        stacks: HashMap::default(),
        sampled: None,
        v8: V8Profiles::default(),
    };
    let whole = each(pull, &options.limits, &mut known, |part| match part {
        TracePart::Event { event, offset, .. } => {
            lowering.event(event, offset);
            lowering.flush(sink, least)
        }
        _ => Flow::Continue(()),
    })?;
    if !whole {
        return Ok(Flow::Break(()));
    }
    Ok(lowering.finish(sink, least))
}

/// The queue of all asynchronous slices: each has a line of its own, and few steps.
const ASYNCHRONOUS: SliceLine = SliceLine {
    track: TrackId::new(0),
    number: u32::MAX,
};

/// Lanes of a thread looked at for a place; what fits on none overlaps on the last one.
const LANES: u32 = 64;

pub(super) struct Lowering<'a> {
    pub(super) survey: &'a TraceSurvey,
    pub(super) wanted: Wanted,
    pub(super) limits: &'a Limits,
    /// Parses arguments in the same memory.
    pub(super) texts: JsonTexts,
    pub(super) tables: &'a mut Tables,
    pub(super) tally: &'a mut CountedNotes,
    slices: Slices,
    pub(super) rows: PendingRows,
    pub(super) tracks: TrackLines<'a>,
    by_end: ByEnd,
    flows: FlowNumbers,
    /// Those of one thread each.
    late: Vec<LateFlows>,
    /// Flows that end at the next event of a track.
    arriving: ByLine<Vec<u64>>,
    /// Functions by their names.
    functions: HashMap<StringId, FunctionId, RandomState>,
    /// An event whose end is to come.
    pub(super) timed: Option<Timed>,
    /// Numbers of objects whose ids are words.
    pub(super) objects: HashMap<Box<[u8]>, u64, RandomState>,
    pub(super) stacks: HashMap<Box<[u8]>, Option<StackId>, RandomState>,
    /// The profile of samples that are told one by one, once there is one.
    pub(super) sampled: Option<ProfileId>,
    pub(super) v8: V8Profiles,
}

impl Lowering<'_> {
    fn event(&mut self, event: TraceEvent<'_>, offset: u64) {
        let phase = event.phase();
        if phase == b'M' {
            return;
        }
        let Some(ts) = event.time() else {
            self.tally.add(Level::Damage, "no_timestamp", offset, || {
                format!("an event of phase `{}` has no time", phase.escape_ascii())
            });
            return;
        };
        let time = ts.saturating_add(self.survey.base_ns);
        match phase {
            b'X' => self.complete(event, time, offset),
            b'B' => {
                let open = self.open(event, time, None);
                self.on_thread(event, time, SliceStep::Begin(open), offset);
            }
            b'E' => {
                let args = self.args(event);
                self.on_thread(event, time, SliceStep::End(args), offset);
            }
            b'b' if is_event(event) => self.event_begins(event, time),
            b'e' if is_event(event) => self.event_ends(event, time, offset),
            b'b' | b'S' => {
                let track = self.tracks.asynchronous(event, self.limits, self.tables);
                let open = self.open(event, time, None);
                self.on_asynchronous(track, time, SliceStep::Begin(open), offset);
            }
            b'e' | b'F' => {
                let track = self.tracks.asynchronous(event, self.limits, self.tables);
                let args = self.args(event);
                self.on_asynchronous(track, time, SliceStep::End(args), offset);
            }
            b'n' | b'T' | b'p' => {
                let track = self.tracks.asynchronous(event, self.limits, self.tables);
                if self.wanted.events {
                    self.instant(event, Some(track), time);
                }
            }
            b'i' | b'I' | b'R' => {
                let scope = event.get(EventKey::Scope).and_then(Token::bytes);
                let of_thread = scope.is_none_or(|scope| *scope == *b"t");
                let track = of_thread.then(|| self.tracks.thread(event, self.tables).line.track);
                if self.wanted.events {
                    self.instant(event, track, time);
                }
            }
            b's' | b't' | b'f' => self.flow(event, time, offset),
            b'C' if self.wanted.events => self.counter(event, time),
            b'N' | b'O' | b'D' if self.wanted.rows => self.object(event, phase, time),
            b'P' if is_piece(event) => self.v8_piece(event, time, offset),
            b'P' if self.wanted.rows => self.sample(event, time),
            b'C' | b'N' | b'O' | b'D' | b'P' => {}
            other => self.tally.add(Level::Info, "other_phase", offset, || {
                format!("events of phase `{}` are left out", other.escape_ascii())
            }),
        }
    }

    /// The arguments of an event.
    pub(super) fn annotated(&mut self, event: TraceEvent<'_>) -> Annotated {
        let Some(args) = event.get(EventKey::Arguments) else {
            return Annotated::default();
        };
        let tables = &mut *self.tables;
        let read = |document: &Document<'_>| annotated(document.root(), tables);
        self.texts.parse(args.raw(), self.limits, read)
    }

    /// The arguments of a slice: what reserved names say of it, and attributes where they are wanted.
    fn args(&mut self, event: TraceEvent<'_>) -> SliceArgs {
        let args = event.get(EventKey::Arguments);
        match args.is_some_and(|args| self.wanted.details || may_be_reserved(args.raw())) {
            true => self.annotated(event).into(),
            false => SliceArgs::default(),
        }
    }

    fn open(
        &mut self,
        event: TraceEvent<'_>,
        time: Timestamp,
        until: Option<Timestamp>,
    ) -> OpenSlice {
        let Wanted { rows, details, .. } = self.wanted;
        let name = event.get(EventKey::Name).filter(|_| rows);
        let name = text(name, self.tables);
        let function = name.map(|name| {
            let function = self.functions.entry(name);
            *function.or_insert_with(|| self.tables.function(Function::named(name)))
        });
        let category = event.get(EventKey::Category).filter(|_| details);
        let category = category.map(Token::word);
        let kind = category.and_then(|word| {
            let kind = self.tables.bytes(&word);
            (!word.is_empty()).then_some(kind)
        });
        OpenSlice {
            name,
            function,
            kind,
            start: time,
            args: self.args(event),
            until,
        }
    }

    /// A complete event.
    fn complete(&mut self, event: TraceEvent<'_>, time: Timestamp, offset: u64) {
        let until = time.saturating_add(event.duration().unwrap_or(0).max(0));
        let open = self.open(event, time, Some(until));
        let place = self.tracks.thread(event, self.tables);
        if place.sorted == Sorted::ByEnd && !event.has(EventKey::BindId) {
            return self.ended(event, place.line, open, until, offset);
        }
        self.on_line(place, event, time, SliceStep::Begin(open), offset);
    }

    /// Keeps an event that comes after those inside it.
    fn ended(
        &mut self,
        event: TraceEvent<'_>,
        line: SliceLine,
        open: OpenSlice,
        end: Timestamp,
        offset: u64,
    ) {
        let survey = self.survey;
        let outermost = || survey.outermost(&thread(event)).collect();
        let whole = self.by_end.completes(line, outermost);
        let fullest = self.by_end.push(line, open, end);
        if !fullest.is_empty() {
            self.tally
                .add(Level::Damage, "limit_open_spans", offset, || {
                    "more events than allowed wait for the one around them".to_owned()
                });
            fullest.into_iter().for_each(|line| self.release(line));
        }
        if whole {
            self.release(line);
        }
    }

    /// Begins and ends the events kept of a track, the outer ones around the inner ones.
    fn release(&mut self, line: SliceLine) {
        for (time, step) in self.by_end.release(line) {
            self.take(line, time, &Flows::default(), step, 0);
        }
    }

    fn on_thread(&mut self, event: TraceEvent<'_>, time: Timestamp, step: SliceStep, offset: u64) {
        let place = self.tracks.thread(event, self.tables);
        self.on_line(place, event, time, step, offset);
    }

    fn on_line(
        &mut self,
        place: ThreadPlace,
        event: TraceEvent<'_>,
        time: Timestamp,
        step: SliceStep,
        offset: u64,
    ) {
        self.take_late(place, time);
        let line = place.line;
        let mut flows = Flows::default();
        let bound = event.get(EventKey::BindId);
        if let Some(id) = bound.filter(|_| self.wanted.details) {
            let id = self.flows.named(&id.word());
            match (
                event.is_true(EventKey::FlowIn),
                event.is_true(EventKey::FlowOut),
            ) {
                (true, false) => flows.ending.push(id),
                (_, true) => flows.on.push(id),
                (false, false) => {}
            }
        }
        if matches!(step, SliceStep::Begin(_))
            && let Some(arrived) = self.arriving.get_mut(line)
        {
            flows.ending.append(arrived);
        }
        self.take_or_hold(place, time, flows, step, offset);
    }

    fn take_or_hold(
        &mut self,
        ThreadPlace { line, sorted, .. }: ThreadPlace,
        time: Timestamp,
        flows: Flows,
        step: SliceStep,
        offset: u64,
    ) {
        match sorted {
            Sorted::ByStart => self.take(line, time, &flows, step, offset),
            Sorted::Late(by) => self.hold((line, line), by, (time, offset), flows, step),
            Sorted::ByEnd => self.hold((line, line), i64::MAX, (time, offset), flows, step),
        }
    }

    /// Takes a step on a line, or on a lane beside its track where it would overlap.
    fn take(
        &mut self,
        line: SliceLine,
        time: Timestamp,
        flows: &Flows,
        step: SliceStep,
        offset: u64,
    ) {
        let mut place = line;
        if let SliceStep::Begin(OpenSlice {
            until: Some(until), ..
        }) = step
        {
            for lane in 1..LANES {
                if self.slices.fits(place, time, until) {
                    break;
                }
                place = self.tracks.lane(line.track, lane, self.tables).into();
            }
        }
        let (tables, tally) = (&mut *self.tables, &mut *self.tally);
        self.slices
            .take(place, (time, offset), flows, step, tables, tally);
    }

    /// Takes a step of an asynchronous track, or keeps it where those of any are out of order.
    fn on_asynchronous(&mut self, track: TrackId, time: Timestamp, step: SliceStep, offset: u64) {
        let (line, flows) = (track.into(), Flows::default());
        match self.survey.asynchronous_late_by() {
            0 => self.take(line, time, &flows, step, offset),
            late_by => self.hold((ASYNCHRONOUS, line), late_by, (time, offset), flows, step),
        }
    }

    /// Keeps a step in a queue that is out of order, where it waits for what may lie so far behind it.
    fn hold(
        &mut self,
        at: (SliceLine, SliceLine),
        late_by: i64,
        place: (Timestamp, u64),
        flows: Flows,
        step: SliceStep,
    ) {
        for held in self
            .slices
            .hold(at, late_by, place, flows, step, self.tally)
        {
            self.take_held(held);
        }
    }

    fn put_held(&mut self, queue: SliceLine) {
        for held in self.slices.release(queue) {
            self.take_held(held);
        }
    }

    fn take_held(&mut self, (line, time, flows, step): HeldStep) {
        self.take(line, time, &flows, step, 0);
    }

    /// A flow begins, goes on or ends: at the slice that is open, or at the next one.
    fn flow(&mut self, event: TraceEvent<'_>, time: Timestamp, offset: u64) {
        let place = self.tracks.thread(event, self.tables);
        let late = place.late.and_then(|nth| self.late.get(nth as usize));
        if late.is_some_and(|late| late.holds(time)) {
            return;
        }
        self.take_late(place, time);
        let step = FlowStep::of(event);
        let id = self
            .wanted
            .details
            .then(|| self.flows.of(event, self.limits));
        if step == FlowStep::Arriving {
            return self.arriving.or_default(place.line).extend(id);
        }
        let flows = step.flows(id);
        self.take_or_hold(place, time, flows, SliceStep::Touch, offset);
    }

    /// Takes the late flows of a thread that lie before a time, to which it goes on.
    fn take_late(&mut self, place: ThreadPlace, time: Timestamp) {
        let Some(nth) = place.late else { return };
        let line = place.line;
        while let Some((at, late)) = self.late_of(nth).and_then(|late| late.next_before(time)) {
            match late.step {
                FlowStep::Arriving => self.arriving.or_default(line).push(late.flow),
                step => {
                    let flows = step.flows(Some(late.flow));
                    self.take(line, at, &flows, SliceStep::Touch, 0);
                }
            }
        }
        if let Some(late) = self.late_of(nth) {
            late.reach(time);
        }
    }

    fn late_of(&mut self, nth: u32) -> Option<&mut LateFlows> {
        self.late.get_mut(nth as usize)
    }

    #[inline]
    fn flush(&mut self, sink: &mut dyn Sink, least: usize) -> Flow {
        self.rows.flush(&mut self.slices, self.tables, sink, least)
    }

    fn finish(&mut self, sink: &mut dyn Sink, least: usize) -> Flow {
        self.put_timed(None);
        let last = self.v8.finish();
        self.put_v8(&last);
        for line in self.by_end.lines() {
            self.release(line);
            self.flush(sink, least)?;
        }
        for line in self.slices.holding() {
            self.put_held(line);
            self.flush(sink, least)?;
        }
        while self.slices.end_one() {
            self.flush(sink, least)?;
        }
        self.flush(sink, 0)
    }
}
