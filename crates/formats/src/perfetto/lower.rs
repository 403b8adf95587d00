//! A trace to the model: packets in their order, after a survey of all of them.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    Attribute, BATCH_ROWS, Clock, CounterBatch, EventBatch, EventRow, EventType, EventTypeId, Flow,
    Function, FunctionId, Level, Limit, Limits, LinkBatch, Note, Order, PartId, SeriesId, Sink,
    SpanBatch, StackId, StringId, Tables, Timestamp, Track, TrackId, TrackKind, Value,
};

use super::clocks::Clocks;
use super::interned::{
    CATEGORIES, CORRELATIONS, EVENT_NAMES, Interned, Keys, LOG_BODIES, correlation, inline_stack,
    place,
};
use super::packet::{Event, Legacy, Name, Packet, Type};
use super::schema::SCHEMA;
use super::survey::{Survey, survey};
use super::timing::Sequences;
use super::tracks::{Line, Tracks};
use crate::protobuf::{Content, Piece, Splitter, each, fields};
use crate::slices::{Annotated, Flows, Open, Slices, Step};
use crate::tally::Tally;
use crate::{Error, LowerOptions, Source};

/// Lowers every part of a source, each a trace of its own.
///
/// # Errors
/// What the source fails with.
pub fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    let mut tables = Tables::new();
    let mut begun = false;
    for part in 0..source.parts().len() {
        let id = PartId(u32::try_from(part).unwrap_or(u32::MAX));
        let mut note = |note| sink.note(Note { part: id, ..note });
        let survey = survey(source.open(part, 0)?.as_mut(), &options.limits, &mut note)?;
        let Some(survey) = survey else { break };
        if !std::mem::replace(&mut begun, true) {
            let clock = if survey.clocks.is_wall() {
                Clock::Unix
            } else {
                Clock::Unknown(Some(tables.string(&survey.clocks.name())))
            };
            sink.begin(Order::Nested, clock);
        }
        let mut lowering = Lowering::new(survey, &mut tables, &options.limits);
        if lowering.announce(sink).is_break() {
            break;
        }
        let mut splitter = Splitter::new(SCHEMA, &options.limits);
        let mut pull = source.open(part, 0)?;
        let whole = each(pull.as_mut(), &mut splitter, u64::MAX, |piece| {
            let Piece::Field(field) = piece else {
                return Flow::Continue(());
            };
            if let (1, Content::Len(body)) = (field.number, field.value) {
                lowering.packet(body, field.offset);
                return lowering.flush(sink, BATCH_ROWS);
            }
            Flow::Continue(())
        })?;
        if !whole || lowering.finish(sink).is_break() {
            break;
        }
        let mut notes = lowering.tally.into_notes();
        if !notes.all(|note| sink.note(Note { part: id, ..note }).is_continue()) {
            break;
        }
    }
    Ok(())
}

struct Lowering<'t> {
    tables: &'t mut Tables,
    clocks: Clocks,
    shuffled: std::collections::HashSet<u64, RandomState>,
    has_flows: bool,
    sequences: Sequences,
    interned: HashMap<u32, Interned, RandomState>,
    tracks: Tracks,
    keys: Keys,
    slices: Slices,
    event_types: HashMap<StringId, EventTypeId, RandomState>,
    kinds: HashMap<Vec<StringId>, StringId, RandomState>,
    /// Tracks of asynchronous events in Chrome's words, by id and scope.
    asynchronous: HashMap<(u32, u64, Box<[u8]>), TrackId, RandomState>,
    /// Events with an end that began, by the track of events they lie on.
    open_events: HashMap<u64, Vec<Open>, RandomState>,
    /// Values of counters that are written as differences, by sequence and track.
    running: HashMap<(u32, u64), f64, RandomState>,
    events: EventBatch,
    counters: CounterBatch,
    most_interned: usize,
    tally: Tally,
}

impl<'t> Lowering<'t> {
    fn new(survey: Survey, tables: &'t mut Tables, limits: &Limits) -> Self {
        Self {
            tables,
            clocks: survey.clocks,
            shuffled: survey.shuffled,
            has_flows: survey.has_flows,
            sequences: Sequences::default(),
            interned: HashMap::default(),
            tracks: Tracks::new(survey.descriptors),
            keys: Keys::default(),
            slices: Slices::new(limits),
            event_types: HashMap::default(),
            kinds: HashMap::default(),
            asynchronous: HashMap::default(),
            open_events: HashMap::default(),
            running: HashMap::default(),
            events: EventBatch::default(),
            counters: CounterBatch::default(),
            most_interned: limits.size(Limit::Table),
            tally: Tally::default(),
        }
    }

    /// Says that links will follow.
    fn announce(&mut self, sink: &mut dyn Sink) -> Flow {
        if self.has_flows {
            sink.links(LinkBatch::default())?;
        }
        Flow::Continue(())
    }

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
        let event = packet.event.map(Event::read);
        let primary = self.clocks.primary();
        let stamp = self.sequences.stamp(&packet, event.as_ref(), primary);
        let Some(event) = event else { return };
        let Some(stamp) = stamp else {
            self.tally.add(Level::Damage, "no_timestamp", offset, || {
                "a track event has no timestamp and is left out".to_owned()
            });
            return;
        };
        let (time, known) = self.clocks.convert(stamp.clock, stamp.ns);
        if !known {
            self.tally.add(Level::Warn, "unknown_clock", offset, || {
                format!(
                    "no snapshot tells how clock {} stands to {}: its times are taken as they are",
                    stamp.clock.id,
                    self.clocks.name()
                )
            });
        }
        self.event(&packet, &event, time, offset);
    }

    fn event(&mut self, packet: &Packet<'_>, event: &Event<'_>, time: Timestamp, offset: u64) {
        self.counts(packet, event, time);
        let legacy = event.legacy.map(Legacy::read);
        let uuid = self.sequences.track(packet, event);
        match (event.r#type, legacy) {
            (Type::Counter, _) => {}
            (Type::Begin, _) => {
                let open = self.open(packet, event, None, time, None, offset);
                self.step(uuid, time, event, Step::Begin(open), offset);
            }
            (Type::End, _) => {
                let annotated = self.annotated(packet, event);
                self.step(uuid, time, event, Step::End(annotated), offset);
            }
            (Type::Instant, _) => {
                let line = self.tracks.line(uuid, self.tables);
                self.instant(packet, event, None, &line, time);
                self.step(uuid, time, event, Step::Touch, offset);
            }
            (Type::Unspecified | Type::Other, Some(legacy)) => {
                self.legacy(packet, event, &legacy, uuid, time, offset);
            }
            (Type::Unspecified | Type::Other, None) => {
                self.tally.add(Level::Info, "event_type", offset, || {
                    "track events of no known type are left out".to_owned()
                });
            }
        }
    }

    /// Lowers an event in the words of Chrome's JSON format.
    fn legacy(
        &mut self,
        packet: &Packet<'_>,
        event: &Event<'_>,
        legacy: &Legacy<'_>,
        uuid: u64,
        time: Timestamp,
        offset: u64,
    ) {
        let name = legacy.name_iid;
        match legacy.phase {
            b'B' => {
                let open = self.open(packet, event, name, time, None, offset);
                self.step(uuid, time, event, Step::Begin(open), offset);
            }
            b'X' => {
                let until = time.saturating_add(legacy.duration_us.saturating_mul(1000));
                let open = self.open(packet, event, name, time, Some(until), offset);
                self.step(uuid, time, event, Step::Begin(open), offset);
            }
            b'E' => {
                let annotated = self.annotated(packet, event);
                self.step(uuid, time, event, Step::End(annotated), offset);
            }
            b'I' | b'i' | b'R' => {
                let line = self.tracks.line(uuid, self.tables);
                self.instant(packet, event, name, &line, time);
            }
            b'b' | b'S' => {
                let track = self.asynchronous(packet, event, legacy, uuid);
                let open = self.open(packet, event, name, time, None, offset);
                self.place(
                    track,
                    time,
                    Flows::default(),
                    Step::Begin(open),
                    true,
                    offset,
                );
            }
            b'e' | b'F' => {
                let track = self.asynchronous(packet, event, legacy, uuid);
                let annotated = self.annotated(packet, event);
                let step = Step::End(annotated);
                self.place(track, time, Flows::default(), step, true, offset);
            }
            b'n' | b'T' | b'p' => {
                let track = self.asynchronous(packet, event, legacy, uuid);
                self.instant(packet, event, name, &Line::Track(track), time);
            }
            b's' | b't' | b'f' => {
                let id = legacy.id.map_or(0, |(_, id)| id);
                let flows = match legacy.phase {
                    b'f' => Flows {
                        ending: vec![id],
                        ..Flows::default()
                    },
                    _ => Flows {
                        on: vec![id],
                        ..Flows::default()
                    },
                };
                if let Some(track) = self.slice_track(uuid) {
                    let shuffled = self.shuffled.contains(&uuid);
                    self.place(track, time, flows, Step::Touch, shuffled, offset);
                }
            }
            other => self.tally.add(Level::Info, "legacy_phase", offset, || {
                format!("events of phase `{}` are left out", other.escape_ascii())
            }),
        }
    }

    fn asynchronous(
        &mut self,
        packet: &Packet<'_>,
        event: &Event<'_>,
        legacy: &Legacy<'_>,
        uuid: u64,
    ) -> TrackId {
        let (kind, id) = legacy.id.unwrap_or((0, 0));
        let key = (kind, id, Box::from(legacy.scope));
        if let Some(&track) = self.asynchronous.get(&key) {
            return track;
        }
        let parent = self.slice_track(uuid);
        let name = self.name(packet, event, legacy.name_iid);
        let track = self.tables.track(Track {
            kind: TrackKind::Async,
            parent,
            name,
            id: Some(id),
            ..Track::default()
        });
        self.asynchronous.insert(key, track);
        track
    }

    fn slice_track(&mut self, uuid: u64) -> Option<TrackId> {
        match self.tracks.line(uuid, self.tables) {
            Line::Track(track) | Line::Process(track) => Some(track),
            Line::Events(_) => None,
        }
    }

    fn step(&mut self, uuid: u64, time: Timestamp, event: &Event<'_>, step: Step, offset: u64) {
        let flows = Flows {
            on: event.flows.clone(),
            ending: event.terminating_flows.clone(),
        };
        let shuffled = self.shuffled.contains(&uuid);
        match self.tracks.line(uuid, self.tables) {
            Line::Track(track) | Line::Process(track) => {
                self.place(track, time, flows, step, shuffled, offset);
            }
            Line::Events(track) => self.event_step(uuid, track, time, step),
        }
    }

    fn place(
        &mut self,
        track: TrackId,
        time: Timestamp,
        flows: Flows,
        step: Step,
        shuffled: bool,
        offset: u64,
    ) {
        if !shuffled {
            let (tables, tally) = (&mut *self.tables, &mut self.tally);
            return self
                .slices
                .take(track, (time, offset), &flows, step, tables, tally);
        }
        if let Some(full) = self.slices.hold(track, time, flows, step) {
            self.tally
                .add(Level::Damage, "limit_open_spans", offset, || {
                    "slices out of order are more than allowed: what follows may nest wrongly"
                        .to_owned()
                });
            self.replay(full);
        }
    }

    fn replay(&mut self, track: TrackId) {
        for (time, flows, step) in self.slices.release(track) {
            let (tables, tally) = (&mut *self.tables, &mut self.tally);
            self.slices
                .take(track, (time, 0), &flows, step, tables, tally);
        }
    }

    fn name(
        &mut self,
        packet: &Packet<'_>,
        event: &Event<'_>,
        legacy: Option<u64>,
    ) -> Option<StringId> {
        let interned = self.interned.get(&packet.sequence)?;
        let name = match (event.name, legacy) {
            (Name::None, Some(iid)) => Name::Interned(iid),
            (name, _) => name,
        };
        interned.text(EVENT_NAMES, name, self.tables)
    }

    fn open(
        &mut self,
        packet: &Packet<'_>,
        event: &Event<'_>,
        legacy: Option<u64>,
        time: Timestamp,
        until: Option<Timestamp>,
        offset: u64,
    ) -> Open {
        let has_name = event.name != Name::None || legacy.is_some();
        let name = self.name(packet, event, legacy);
        if has_name && name.is_none() {
            self.tally.add(Level::Warn, "unknown_name", offset, || {
                "a name was not interned on its sequence".to_owned()
            });
        }
        let function = name.map(|name| self.function(packet, event, name));
        let annotated = self.annotated(packet, event);
        Open {
            name,
            function,
            kind: self.kind(packet, event),
            start: time,
            annotated,
            until,
        }
    }

    fn function(&mut self, packet: &Packet<'_>, event: &Event<'_>, name: StringId) -> FunctionId {
        let interned = self.interned.get(&packet.sequence);
        let place = match (event.source, event.source_iid) {
            (Some(body), _) => Some(place(body, self.tables)),
            (None, Some(iid)) => interned.and_then(|interned| interned.place(iid)),
            (None, None) => None,
        };
        let place = place.unwrap_or_default();
        self.tables.function(Function {
            file: place.file,
            line: place.line,
            ..Function::named(name)
        })
    }

    /// The categories of an event as one word.
    fn kind(&mut self, packet: &Packet<'_>, event: &Event<'_>) -> Option<StringId> {
        let interned = self.interned.get(&packet.sequence)?;
        let mut names = Vec::with_capacity(event.categories.len());
        for &category in &event.categories {
            names.extend(interned.text(CATEGORIES, category, self.tables));
        }
        if let [] | [_] = names.as_slice() {
            return names.first().copied();
        }
        if let Some(&known) = self.kinds.get(&names) {
            return Some(known);
        }
        let texts: Vec<&[u8]> = names
            .iter()
            .map(|&name| self.tables.string_bytes(name))
            .collect();
        let joined = texts.join(&b',');
        let joined = self.tables.bytes(&joined);
        self.kinds.insert(names, joined);
        Some(joined)
    }

    fn annotated(&mut self, packet: &Packet<'_>, event: &Event<'_>) -> Annotated {
        let mut annotated = Annotated::default();
        let Some(interned) = self.interned.get(&packet.sequence) else {
            return annotated;
        };
        for body in &event.annotations {
            self.keys.take(body, interned, self.tables, &mut annotated);
        }
        if let Some(raw) = event.correlation {
            let value = correlation(raw, self.tables);
            let attribute = self.keys.named("correlation_id", value, self.tables);
            annotated.attributes.push(attribute);
        }
        if let Some(iid) = event.correlation_iid
            && let Some(text) = interned.text(CORRELATIONS, Name::Interned(iid), self.tables)
        {
            let value = Value::Text(text);
            let attribute = self.keys.named("correlation_id", value, self.tables);
            annotated.attributes.push(attribute);
        }
        if let Some(log) = event.log {
            let iid = fields(log).find(|&(number, _)| number == 2);
            let text = iid.and_then(|(_, iid)| {
                interned.text(LOG_BODIES, Name::Interned(iid.number()), self.tables)
            });
            if let Some(text) = text {
                let attribute = self.keys.named("message", Value::Text(text), self.tables);
                annotated.attributes.push(attribute);
            }
        }
        annotated
    }

    fn stack(&mut self, packet: &Packet<'_>, event: &Event<'_>) -> Option<StackId> {
        match (event.stack, event.stack_iid) {
            (Some(body), _) => inline_stack(body, self.tables),
            (None, Some(iid)) => self.interned.get(&packet.sequence)?.callstack(iid),
            (None, None) => None,
        }
    }

    fn event_type(&mut self, name: StringId) -> EventTypeId {
        let tables = &mut *self.tables;
        *self.event_types.entry(name).or_insert_with(|| {
            tables.event_type(EventType {
                name,
                label: None,
                fields: Vec::new(),
            })
        })
    }

    fn instant(
        &mut self,
        packet: &Packet<'_>,
        event: &Event<'_>,
        legacy: Option<u64>,
        line: &Line,
        time: Timestamp,
    ) {
        let name = self.name(packet, event, legacy);
        let name = name.unwrap_or_else(|| self.tables.string(""));
        let event_type = self.event_type(name);
        let mut attributes = self.annotated(packet, event).attributes;
        if let Some(kind) = self.kind(packet, event) {
            let kind = Value::Text(kind);
            attributes.push(self.keys.named("category", kind, self.tables));
        }
        let stack = self.stack(packet, event);
        let track = match line {
            Line::Track(track) => Some(*track),
            Line::Process(_) => None,
            Line::Events(track) => *track,
        };
        self.events.push(&EventRow {
            track,
            stack,
            attributes: &attributes,
            ..EventRow::of_process(event_type, time, None)
        });
    }

    /// A begin or end on a track of events: an event when it ends.
    fn event_step(&mut self, uuid: u64, track: Option<TrackId>, time: Timestamp, step: Step) {
        match step {
            Step::Begin(open) => {
                self.open_events.entry(uuid).or_default().push(open);
            }
            Step::End(more) => {
                let rows = self.open_events.entry(uuid).or_default();
                let Some(mut open) = rows.pop() else {
                    return;
                };
                open.annotated.append(more);
                self.push_event(track, &open, Some(time));
            }
            Step::Touch => {}
        }
    }

    fn push_event(&mut self, track: Option<TrackId>, open: &Open, end: Option<Timestamp>) {
        let name = open.name.unwrap_or_else(|| self.tables.string(""));
        let event_type = self.event_type(name);
        let attributes: &[Attribute] = &open.annotated.attributes;
        self.events.push(&EventRow {
            track,
            attributes,
            ..EventRow::of_process(event_type, open.start, end)
        });
    }

    /// Counter values, of an event that is one and beside others.
    fn counts(&mut self, packet: &Packet<'_>, event: &Event<'_>, time: Timestamp) {
        if event.r#type == Type::Counter {
            let uuid = self.sequences.track(packet, event);
            if let Some(value) = event.integer {
                #[expect(clippy::cast_precision_loss, reason = "series hold floats")]
                self.count(packet, uuid, time, value as f64);
            } else if let Some(value) = event.double {
                self.count(packet, uuid, time, value);
            }
        }
        if event.extra_values.is_empty() && event.extra_doubles.is_empty() {
            return;
        }
        let sequence = self.sequences.of(packet);
        let default = |own: &[u64], of: fn(&super::timing::Sequence) -> &Vec<u64>| {
            if own.is_empty() {
                sequence.map(of).cloned().unwrap_or_default()
            } else {
                own.to_vec()
            }
        };
        let tracks = default(&event.extra_tracks, |sequence| &sequence.counters);
        let doubles = default(&event.extra_double_tracks, |sequence| {
            &sequence.double_counters
        });
        for (&uuid, &raw) in tracks.iter().zip(&event.extra_values) {
            #[expect(clippy::cast_precision_loss, reason = "series hold floats")]
            self.count(packet, uuid, time, raw.cast_signed() as f64);
        }
        for (&uuid, &raw) in doubles.iter().zip(&event.extra_doubles) {
            self.count(packet, uuid, time, f64::from_bits(raw));
        }
    }

    fn count(&mut self, packet: &Packet<'_>, uuid: u64, time: Timestamp, value: f64) {
        let (series, counter): (SeriesId, _) = self.tracks.series(uuid, self.tables);
        let mut value = value;
        if let Some(counter) = counter {
            if counter.incremental {
                let sum = self.running.entry((packet.sequence, uuid)).or_default();
                *sum += value;
                value = *sum;
            }
            if !matches!(counter.multiplier, 0 | 1) {
                #[expect(clippy::cast_precision_loss, reason = "series hold floats")]
                let factor = counter.multiplier as f64;
                value *= factor;
            }
        }
        self.counters.push(series, time, value);
    }

    /// Hands on what there is, once it is `least` rows of a kind.
    fn flush(&mut self, sink: &mut dyn Sink, least: usize) -> Flow {
        let full = self.slices.spans.len() >= least
            || self.events.len() >= least
            || self.counters.time.len() >= least
            || self.slices.links.links.len() >= least;
        if !full {
            return Flow::Continue(());
        }
        let new = self.tables.take_definitions();
        if !new.is_empty() {
            sink.define(new)?;
        }
        if !self.slices.links.links.is_empty() {
            sink.links(std::mem::take(&mut self.slices.links))?;
        }
        let spans = std::mem::take(&mut self.slices.spans);
        if spans.len() > BATCH_ROWS {
            // What was out of order comes all at once.
            let mut piece = SpanBatch::default();
            for row in spans.iter() {
                piece.push(&row);
                if piece.len() == BATCH_ROWS {
                    sink.spans(std::mem::take(&mut piece))?;
                }
            }
            if !piece.is_empty() {
                sink.spans(piece)?;
            }
        } else if !spans.is_empty() {
            sink.spans(spans)?;
        }
        if !self.events.is_empty() {
            sink.events(std::mem::take(&mut self.events))?;
        }
        if !self.counters.time.is_empty() {
            sink.counters(std::mem::take(&mut self.counters))?;
        }
        Flow::Continue(())
    }

    fn finish(&mut self, sink: &mut dyn Sink) -> Flow {
        for track in self.slices.holding() {
            self.replay(track);
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
                if let Line::Events(track) = line {
                    self.push_event(track, &row, None);
                }
            }
        }
        self.flush(sink, 0)
    }
}
