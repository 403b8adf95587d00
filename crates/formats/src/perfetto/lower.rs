//! A trace to the model: packets in their order, after a survey of all of them.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    BATCH_ROWS, Clock, EventRow, Flow, Level, Limit, Limits, LinkBatch, Order, Sink, StringId,
    Tables, Timestamp, TrackId, Value,
};

use super::interned::{AnnotationKeys, Interned};
use super::packet::{EventFields, Legacy, Packet, TrackEventType};
use super::schema::SCHEMA;
use super::survey::{PacketSurvey, survey};
use super::timing::Sequences;
use super::tracks::{TrackTable, TrackTarget};
use crate::codec::CountedNotes;
use crate::codec::two_pass;
use crate::profile::v8::V8Profiles;
use crate::protobuf::{Content, FieldSplitter, MessagePiece, each};
use crate::spans::by_line::SliceLine;
use crate::spans::rows::PendingRows;
use crate::spans::slices::{Flows, HeldStep, OpenSlice, SliceStep, Slices};
use crate::spans::wanted::Wanted;
use crate::{Error, LowerOptions, Pull, Source};

/// Lowers every part of a source, each a trace of its own.
///
/// # Errors
/// What the source fails with.
pub fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    let begin = |survey: &PacketSurvey, tables: &mut Tables| {
        let clock = if survey.clocks.is_wall() {
            Clock::Unix
        } else {
            Clock::Unknown(Some(tables.string(&survey.clocks.name())))
        };
        (Order::Nested, clock)
    };
    two_pass::lower(
        source,
        &options.limits,
        sink,
        |pass, limits, note| survey(pass.pull.as_mut(), limits, note),
        begin,
        |survey, pass, to, sink| rows(survey, pass.pull.as_mut(), options, to, sink),
    )
}

fn rows(
    mut survey: PacketSurvey,
    pull: &mut dyn Pull,
    options: &LowerOptions,
    (tables, tally): (&mut Tables, &mut CountedNotes),
    sink: &mut dyn Sink,
) -> Result<Flow, Error> {
    if survey.has_flows && sink.links(LinkBatch::default()).is_break() {
        return Ok(Flow::Break(()));
    }
    let descriptors = std::mem::take(&mut survey.descriptors);
    let wanted = Wanted::of(sink.asks());
    let least = wanted.least_rows();
    let mut lowering = Lowering {
        survey,
        wanted,
        tables,
        tally,
        sequences: Sequences::default(),
        interned: HashMap::default(),
        sequence: None,
        tracks: TrackTable::new(descriptors),
        keys: AnnotationKeys::default(),
        slices: Slices::new(&options.limits),
        rows: PendingRows::default(),
        kinds: HashMap::default(),
        asynchronous: HashMap::default(),
        open_events: HashMap::default(),
        running: HashMap::default(),
        most_interned: options.limits.size(Limit::Table),
        limits: options.limits,
        v8: V8Profiles::default(),
    };
    let mut splitter = FieldSplitter::new(SCHEMA, &options.limits);
    let whole = each(pull, &mut splitter, u64::MAX, |piece| {
        let MessagePiece::Field(field) = piece else {
            return Flow::Continue(());
        };
        if let (1, Content::Len(body)) = (field.number, field.value) {
            lowering.packet(body, field.offset);
            return lowering.flush(sink, least);
        }
        Flow::Continue(())
    })?;
    if !whole {
        return Ok(Flow::Break(()));
    }
    Ok(lowering.finish(sink))
}

pub(super) struct Lowering<'t> {
    pub(super) survey: PacketSurvey,
    pub(super) wanted: Wanted,
    pub(super) tables: &'t mut Tables,
    pub(super) tally: &'t mut CountedNotes,
    pub(super) sequences: Sequences,
    /// Words of the sequences that packets were of so far, and the last of these.
    pub(super) interned: HashMap<u32, Interned, RandomState>,
    sequence: Option<u32>,
    pub(super) tracks: TrackTable,
    pub(super) keys: AnnotationKeys,
    slices: Slices,
    pub(super) rows: PendingRows,
    /// Categories of several words, joined.
    pub(super) kinds: HashMap<Vec<StringId>, StringId, RandomState>,
    /// Tracks of asynchronous events in Chrome's words, by id and scope.
    pub(super) asynchronous: HashMap<(u32, u64, Box<[u8]>), TrackId, RandomState>,
    /// Events with an end that began, by the track of events they lie on.
    open_events: HashMap<u64, Vec<OpenSlice>, RandomState>,
    /// Values of counters that are written as differences, by sequence and track.
    pub(super) running: HashMap<(u32, u64), f64, RandomState>,
    most_interned: usize,
    pub(super) limits: Limits,
    pub(super) v8: V8Profiles,
}

impl Lowering<'_> {
    fn packet(&mut self, body: &[u8], offset: u64) {
        let packet = Packet::read(body);
        self.sequences.take(&packet);
        if packet.compressed {
            self.tally
                .add(Level::Damage, "compressed_packets", offset, || {
                    "compressed packets are not opened: record without compression, or convert with \
                     the vendor's tool"
                        .to_owned()
                });
        }
        if packet.dropped {
            self.tally.add(Level::Warn, "packets_dropped", offset, || {
                "the tracing service lost packets before this one".to_owned()
            });
        }
        if let Some(number) = packet.other {
            self.tally.add(Level::Info, "other_payload", offset, || {
                format!("packets of payload {number} are kept in the dump and not lowered")
            });
        }
        let is_known = self.sequence == Some(packet.sequence);
        if !is_known || packet.cleared || packet.interned.is_some() {
            self.sequence = Some(packet.sequence);
            self.intern(&packet, offset);
        }
        let event = packet.event.map(EventFields::read);
        let event = event.as_ref();
        let primary = self.survey.clocks.primary();
        let stamp = self.sequences.stamp(&packet, event, primary);
        let Some(event) = event else { return };
        let Some(stamp) = stamp else {
            self.tally.add(Level::Damage, "no_timestamp", offset, || {
                "a track event has no timestamp and is left out".to_owned()
            });
            return;
        };
        let (time, known) = self.survey.clocks.convert(stamp.clock, stamp.ns);
        if !known {
            self.tally.add(Level::Warn, "unknown_clock", offset, || {
                format!(
                    "no snapshot tells how clock {} stands to {}: its times are taken as they are",
                    stamp.clock.id,
                    self.survey.clocks.name()
                )
            });
        }
        self.event(&packet, event, time, offset);
    }

    /// Takes the words that a packet brings for those behind it.
    fn intern(&mut self, packet: &Packet<'_>, offset: u64) {
        let interned = self.interned.entry(packet.sequence).or_default();
        if packet.cleared {
            interned.clear();
            self.running
                .retain(|&(sequence, _), _| sequence != packet.sequence);
        }
        if let Some(body) = packet.interned {
            if interned.len() < self.most_interned {
                interned.take(body, self.tables);
            } else {
                self.tally.add(Level::Damage, "limit_table", offset, || {
                    "a sequence interned more than the limit".to_owned()
                });
            }
        }
    }

    fn event(
        &mut self,
        packet: &Packet<'_>,
        event: &EventFields<'_>,
        time: Timestamp,
        offset: u64,
    ) {
        self.counts(packet, event, time);
        let legacy = event.legacy.map(Legacy::read);
        let uuid = self.sequences.track(packet, event);
        match (event.r#type, legacy) {
            (TrackEventType::Counter, _) => {}
            (TrackEventType::Begin, _) => {
                let open = self.open(packet, event, None, time, None, offset);
                self.step(uuid, time, event, SliceStep::Begin(open), offset);
            }
            (TrackEventType::End, _) => {
                let args = self.args(packet, event);
                self.step(uuid, time, event, SliceStep::End(args), offset);
            }
            (TrackEventType::Instant, _) => {
                let line = self.tracks.line(uuid, self.tables);
                self.instant(packet, event, None, &line, time);
                self.step(uuid, time, event, SliceStep::Touch, offset);
            }
            (TrackEventType::Unspecified | TrackEventType::Other, Some(legacy)) => {
                self.legacy(packet, event, &legacy, uuid, time, offset);
            }
            (TrackEventType::Unspecified | TrackEventType::Other, None) => {
                self.tally.add(Level::Info, "event_type", offset, || {
                    "track events of no known type are left out".to_owned()
                });
            }
        }
    }

    pub(super) fn slice_line(&mut self, uuid: u64) -> Option<SliceLine> {
        match self.tracks.line(uuid, self.tables) {
            TrackTarget::Track(track) | TrackTarget::Process(track) => Some(track.into()),
            TrackTarget::Overlap(line) => Some(line),
            TrackTarget::Events(_) => None,
        }
    }

    pub(super) fn step(
        &mut self,
        uuid: u64,
        time: Timestamp,
        event: &EventFields<'_>,
        step: SliceStep,
        offset: u64,
    ) {
        let mut flows = Flows::default();
        if event.has_flows() && self.wanted.details {
            flows = Flows {
                on: event.flows(),
                ending: event.terminating_flows(),
            };
        }
        let late_by = self.late_by(uuid);
        match self.tracks.line(uuid, self.tables) {
            TrackTarget::Track(track) | TrackTarget::Process(track) => {
                self.place(track.into(), time, flows, step, late_by, offset);
            }
            TrackTarget::Overlap(line) => self.place(line, time, flows, step, late_by, offset),
            TrackTarget::Events(track) => self.event_step(uuid, track, time, step),
        }
    }

    /// Returns how far what is on a track lies behind what came before it, if it comes out of order.
    pub(super) fn late_by(&self, uuid: u64) -> Option<i64> {
        self.survey.late_by.get(&uuid).copied()
    }

    pub(super) fn place(
        &mut self,
        line: SliceLine,
        time: Timestamp,
        flows: Flows,
        step: SliceStep,
        late_by: Option<i64>,
        offset: u64,
    ) {
        let Some(late_by) = late_by else {
            let (tables, tally) = (&mut *self.tables, &mut *self.tally);
            return self
                .slices
                .take(line, (time, offset), &flows, step, tables, tally);
        };
        let (at, place) = ((line, line), (time, offset));
        for held in self
            .slices
            .hold(at, late_by, place, flows, step, self.tally)
        {
            self.take_held(held);
        }
    }

    fn replay(&mut self, line: SliceLine) {
        for held in self.slices.release(line) {
            self.take_held(held);
        }
    }

    fn take_held(&mut self, (line, time, flows, step): HeldStep) {
        let (tables, tally) = (&mut *self.tables, &mut *self.tally);
        self.slices
            .take(line, (time, 0), &flows, step, tables, tally);
    }

    pub(super) fn instant(
        &mut self,
        packet: &Packet<'_>,
        event: &EventFields<'_>,
        legacy: Option<u64>,
        line: &TrackTarget,
        time: Timestamp,
    ) {
        if !self.wanted.events {
            return;
        }
        let name = self.name(packet, event, legacy);
        let name = name.unwrap_or_else(|| self.tables.string(""));
        let event_type = self.rows.event_type(name, self.tables);
        let mut attributes = self.annotated(packet, event).attributes;
        if let Some(kind) = self.kind(packet, event) {
            let kind = Value::Text(kind);
            attributes.push(self.keys.named("category", kind, self.tables));
        }
        let stack = self.stack(packet, event);
        let track = match line {
            TrackTarget::Track(track) | TrackTarget::Overlap(SliceLine { track, .. }) => {
                Some(*track)
            }
            TrackTarget::Process(_) => None,
            TrackTarget::Events(track) => *track,
        };
        self.rows.events.push(&EventRow {
            track,
            stack,
            attributes: &attributes,
            ..EventRow::of_process(event_type, time, None)
        });
    }

    /// A begin or end on a track of events: an event when it ends.
    fn event_step(&mut self, uuid: u64, track: Option<TrackId>, time: Timestamp, step: SliceStep) {
        match step {
            SliceStep::Begin(open) => {
                self.open_events.entry(uuid).or_default().push(open);
            }
            SliceStep::End(more) => {
                let rows = self.open_events.entry(uuid).or_default();
                let Some(mut open) = rows.pop() else {
                    return;
                };
                open.args.append(more);
                self.push_event(track, &open, Some(time));
            }
            SliceStep::Touch => {}
        }
    }

    fn push_event(&mut self, track: Option<TrackId>, open: &OpenSlice, end: Option<Timestamp>) {
        if !self.wanted.events {
            return;
        }
        let name = open.name.unwrap_or_else(|| self.tables.string(""));
        let event_type = self.rows.event_type(name, self.tables);
        self.rows.events.push(&EventRow {
            track,
            attributes: open.args.attributes(),
            ..EventRow::of_process(event_type, open.start, end)
        });
    }

    fn flush(&mut self, sink: &mut dyn Sink, least: usize) -> Flow {
        self.rows.flush(&mut self.slices, self.tables, sink, least)
    }

    fn finish(&mut self, sink: &mut dyn Sink) -> Flow {
        let last = self.v8.finish();
        self.put_v8(&last);
        for line in self.slices.holding() {
            self.replay(line);
            self.flush(sink, BATCH_ROWS)?;
        }
        while self.slices.end_one() {
            self.flush(sink, BATCH_ROWS)?;
        }
        let mut open: Vec<_> = self.open_events.drain().collect();
        open.sort_by_key(|&(uuid, _)| uuid);
        for (uuid, rows) in open {
            let line = self.tracks.line(uuid, self.tables);
            for row in rows {
                if let TrackTarget::Events(track) = line {
                    self.push_event(track, &row, None);
                }
            }
        }
        self.flush(sink, 0)
    }
}
