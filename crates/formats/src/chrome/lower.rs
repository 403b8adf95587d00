//! Trace events to the model, after a survey of all of them.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    BATCH_ROWS, Flow, Function, Level, Limit, Limits, LinkBatch, Order, Sink, StackId, Tables,
    Timestamp,
};

use super::arguments::{annotated, text};
use super::by_end::ByEnd;
use super::event::{EventKey, TraceEvent};
use super::points::{Timed, is_event};
use super::survey::{Sorted, TraceSurvey, id_of, survey, thread};
use super::tracks::TrackLines;
use super::walk::{TracePart, each};
use crate::codec::CountedNotes;
use crate::codec::two_pass;
use crate::spans::rows::PendingRows;
use crate::spans::slices::{Annotated, Flows, OpenSlice, SliceLine, SliceStep, Slices};
use crate::text::json::{Document, JsonTexts, Token};
use crate::{Error, LowerOptions, Pull, Source};

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
    two_pass::lower(
        source,
        &options.limits,
        sink,
        survey,
        begin,
        |survey, pull, to, sink| rows(&survey, pull, options, to, sink),
    )
}

fn rows(
    survey: &TraceSurvey,
    pull: &mut dyn Pull,
    options: &LowerOptions,
    (tables, tally): (&mut Tables, &mut CountedNotes),
    sink: &mut dyn Sink,
) -> Result<Flow, Error> {
    if survey.has_flows && sink.links(LinkBatch::default()).is_break() {
        return Ok(Flow::Break(()));
    }
    let mut lowering = Lowering {
        survey,
        limits: &options.limits,
        texts: JsonTexts::default(),
        tables,
        tally,
        slices: Slices::new(&options.limits),
        rows: PendingRows::default(),
        tracks: TrackLines::new(survey),
        by_end: ByEnd::new(options.limits.size(Limit::OpenSpans)),
        flows: HashMap::default(),
        arriving: HashMap::default(),
        timed: None,
        objects: HashMap::default(),
        stacks: HashMap::default(),
    };
    let whole = each(pull, &options.limits, |part| match part {
        TracePart::Event { event, offset, .. } => {
            lowering.event(event, offset);
            lowering.flush(sink, BATCH_ROWS)
        }
        _ => Flow::Continue(()),
    })?;
    if !whole {
        return Ok(Flow::Break(()));
    }
    Ok(lowering.finish(sink))
}

/// Lanes of a thread looked at for a place; what fits on none overlaps on the last one.
const LANES: u32 = 64;

pub(super) struct Lowering<'a> {
    pub(super) survey: &'a TraceSurvey,
    pub(super) limits: &'a Limits,
    /// Parses arguments in the same memory.
    texts: JsonTexts,
    pub(super) tables: &'a mut Tables,
    pub(super) tally: &'a mut CountedNotes,
    slices: Slices,
    pub(super) rows: PendingRows,
    pub(super) tracks: TrackLines<'a>,
    by_end: ByEnd,
    flows: HashMap<Box<[u8]>, u64, RandomState>,
    /// Flows that end at the next event of a track.
    arriving: HashMap<SliceLine, Vec<u64>, RandomState>,
    /// An event whose end is to come.
    pub(super) timed: Option<Timed>,
    /// Numbers of objects whose ids are words.
    pub(super) objects: HashMap<Box<[u8]>, u64, RandomState>,
    pub(super) stacks: HashMap<Box<[u8]>, Option<StackId>, RandomState>,
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
                let annotated = self.annotated(event);
                self.on_thread(event, time, SliceStep::End(annotated), offset);
            }
            b'b' if is_event(event) => self.event_begins(event, time),
            b'e' if is_event(event) => self.event_ends(event, time, offset),
            b'b' | b'S' => {
                let track = self.tracks.asynchronous(event, self.limits, self.tables);
                let open = self.open(event, time, None);
                self.hold(
                    track.into(),
                    time,
                    Flows::default(),
                    SliceStep::Begin(open),
                    offset,
                );
            }
            b'e' | b'F' => {
                let track = self.tracks.asynchronous(event, self.limits, self.tables);
                let annotated = self.annotated(event);
                self.hold(
                    track.into(),
                    time,
                    Flows::default(),
                    SliceStep::End(annotated),
                    offset,
                );
            }
            b'n' | b'T' | b'p' => {
                let track = self.tracks.asynchronous(event, self.limits, self.tables);
                self.instant(event, Some(track), time);
            }
            b'i' | b'I' | b'R' => {
                let scope = event.get(EventKey::Scope).and_then(Token::bytes);
                let of_thread = scope.is_none_or(|scope| *scope == *b"t");
                let track = of_thread.then(|| self.tracks.thread(event, self.tables).0.track);
                self.instant(event, track, time);
            }
            b'C' => self.counter(event, time),
            b's' | b't' | b'f' => self.flow(event, phase, time, offset),
            b'N' | b'O' | b'D' => self.object(event, phase, time),
            b'P' => self.sample(event, time),
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

    fn open(
        &mut self,
        event: TraceEvent<'_>,
        time: Timestamp,
        until: Option<Timestamp>,
    ) -> OpenSlice {
        let name = text(event.get(EventKey::Name), self.tables);
        let function = name.map(|name| self.tables.function(Function::named(name)));
        let kind = text(event.get(EventKey::Category), self.tables);
        let kind = kind.filter(|&kind| !self.tables.string_bytes(kind).is_empty());
        let annotated = self.annotated(event);
        OpenSlice {
            name,
            function,
            kind,
            start: time,
            annotated,
            until,
        }
    }

    /// A complete event.
    fn complete(&mut self, event: TraceEvent<'_>, time: Timestamp, offset: u64) {
        let until = time.saturating_add(event.duration().unwrap_or(0).max(0));
        let open = self.open(event, time, Some(until));
        let (line, sorted) = self.tracks.thread(event, self.tables);
        if sorted == Sorted::ByEnd && !event.has(EventKey::BindId) {
            return self.ended(event, line, open, until, offset);
        }
        self.on_thread(event, time, SliceStep::Begin(open), offset);
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
        if let Some(fullest) = self.by_end.push(line, open, end) {
            self.tally
                .add(Level::Damage, "limit_open_spans", offset, || {
                    "more events than allowed wait for the one around them".to_owned()
                });
            self.release(fullest);
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
        let (line, sorted) = self.tracks.thread(event, self.tables);
        let mut flows = Flows::default();
        if let Some(id) = event.get(EventKey::BindId) {
            let id = self.flow_id(id.word().into());
            match (
                event.is_true(EventKey::FlowIn),
                event.is_true(EventKey::FlowOut),
            ) {
                (true, false) => flows.ending.push(id),
                (_, true) => flows.on.push(id),
                (false, false) => {}
            }
        }
        if matches!(step, SliceStep::Begin(_)) {
            let arrived = self.arriving.remove(&line);
            flows.ending.extend(arrived.unwrap_or_default());
        }
        if sorted == Sorted::ByStart {
            self.take(line, time, &flows, step, offset);
        } else {
            self.hold(line, time, flows, step, offset);
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

    /// Keeps a step of a track that is out of order.
    fn hold(
        &mut self,
        line: SliceLine,
        time: Timestamp,
        flows: Flows,
        step: SliceStep,
        offset: u64,
    ) {
        let place = (time, offset);
        if let Some(full) = self.slices.hold(line, place, flows, step, self.tally) {
            self.put_held(full);
        }
    }

    fn put_held(&mut self, line: SliceLine) {
        for (time, flows, step) in self.slices.release(line) {
            self.take(line, time, &flows, step, 0);
        }
    }

    fn flow_id(&mut self, word: Box<[u8]>) -> u64 {
        let next = self.flows.len() as u64;
        *self.flows.entry(word).or_insert(next)
    }

    /// A flow begins, goes on or ends: at the slice that is open, or at the next one.
    fn flow(&mut self, event: TraceEvent<'_>, phase: u8, time: Timestamp, offset: u64) {
        let (id, _, _) = id_of(event, self.limits);
        let word = |key| event.get(key).map(Token::word).unwrap_or_default();
        let mut word = [word(EventKey::Category), word(EventKey::Name)].join(&0);
        word.push(0);
        word.extend_from_slice(&id);
        let id = self.flow_id(word.into());
        let (line, sorted) = self.tracks.thread(event, self.tables);
        let enclosing = event.get(EventKey::BindingPoint).and_then(Token::bytes);
        let enclosing = enclosing.is_some_and(|bp| *bp == *b"e");
        if phase == b'f' && !enclosing {
            return self.arriving.entry(line).or_default().push(id);
        }
        let flows = match phase {
            b'f' => Flows {
                ending: vec![id],
                ..Flows::default()
            },
            _ => Flows {
                on: vec![id],
                ..Flows::default()
            },
        };
        if sorted == Sorted::ByStart {
            self.take(line, time, &flows, SliceStep::Touch, offset);
        } else {
            self.hold(line, time, flows, SliceStep::Touch, offset);
        }
    }

    fn flush(&mut self, sink: &mut dyn Sink, least: usize) -> Flow {
        self.rows.flush(&mut self.slices, self.tables, sink, least)
    }

    fn finish(&mut self, sink: &mut dyn Sink) -> Flow {
        self.put_timed(None);
        for line in self.by_end.lines() {
            self.release(line);
            self.flush(sink, BATCH_ROWS)?;
        }
        for line in self.slices.holding() {
            self.put_held(line);
            self.flush(sink, BATCH_ROWS)?;
        }
        while self.slices.end_one() {
            self.flush(sink, BATCH_ROWS)?;
        }
        self.flush(sink, 0)
    }
}
