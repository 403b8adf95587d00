//! The model to a trace of track events.
//!
//! A span's event is encoded when the span comes and held as bytes until the spans around it have come
//! (`crate::begin_end`); what lies on one track is then written in the order of time. Texts are interned
//! when they are first used, tracks described when something first lies on them. SPEC.md §6 says what is
//! written how.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    Clock, CounterBatch, Definitions, EventBatch, EventRow, EventTypeId, Flow, LinkBatch, Note,
    Order, Sink, SpanBatch, SpanId, SpanRow, StackId, StringId, Timestamp, TrackId,
};

use super::annotate::DefinedTexts;
use super::lines::TrackUuids;
use crate::codec::Buffered;
use crate::protobuf::{Wire, put_bytes, put_double, put_number, put_tag, varint_len};
use crate::spans::begin_end::{BeginEnd, PairSink, SpanExtent};
use crate::spans::stash::{Stash, Stashed};
use crate::wire::{PackedBytes, leb128, put_leb128, put_pieces};
use crate::{Error, Output, RaiseOptions, Target};

/// Builds a target that writes a trace.
///
/// # Errors
/// `Usage` for a variant, there are none.
pub fn raise<'o>(
    options: &RaiseOptions,
    output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    if let Some(variant) = &options.variant {
        return Err(Error::usage(format!("perfetto has no variant `{variant}`")));
    }
    Ok(Box::new(Writer {
        packets: Packets::new(output),
        texts: DefinedTexts::default(),
        lines: TrackUuids::default(),
        held: BeginEnd::new(HELD, true),
        bodies: Stash::default(),
        begun: false,
        linking: false,
        incoming: HashMap::default(),
        event_lanes: HashMap::default(),
    }))
}

/// Spans held at most, until those around them come.
const HELD: usize = 1 << 20;

/// Links held at most for spans that have not come.
const LINKS: usize = 1 << 20;

const BEGIN: u8 = 1;
const END: u8 = 2;
const INSTANT: u8 = 3;
const COUNTER: u8 = 4;

/// The trace as far as it is not handed out.
pub(super) struct Packets<'o> {
    out: Buffered<'o>,
    clock: Clock,
    /// The packet that opens the sequence is written.
    opened: bool,
}

/// The one sequence that all packets belong to.
const SEQUENCE: &[u8; 2] = &[0x50, 1];
/// Tags of what every track event has.
const PACKET: u8 = 0x0a;
const TIMESTAMP: u8 = 0x40;
const TRACK_EVENT: u8 = 0x5a;
const TYPE: u8 = 0x48;
const TRACK: u8 = 0x58;
/// Bytes of which less fit into a packet of less than 128.
const SHORTEST: usize = 100;
/// The sequence begins: nothing is interned yet; then: what is interned is needed.
const OPENS: &[u8; 2] = &[0x68, 1];
const NEEDS: &[u8; 2] = &[0x68, 2];

/// Returns the last byte of a number.
#[inline(always)]
const fn low(number: u64) -> u8 {
    let [low, ..] = number.to_le_bytes();
    low
}

impl<'o> Packets<'o> {
    fn new(output: &'o mut dyn Output) -> Self {
        Self {
            out: Buffered::new(output, ""),
            clock: Clock::default(),
            opened: false,
        }
    }

    /// Writes a packet with no time: descriptors and interned data.
    pub(super) fn put(&mut self, number: u32, body: &[u8]) {
        self.open(None);
        let inner = varint_len(u64::from(number) << 3) + varint_len(body.len() as u64);
        let len = inner + body.len() as u64 + 4;
        self.head(len);
        put_bytes(&mut self.out.bytes, number, body);
    }

    fn head(&mut self, len: u64) {
        put_tag(&mut self.out.bytes, 1, Wire::Len);
        put_leb128(&mut self.out.bytes, len);
        self.out.bytes.extend_from_slice(SEQUENCE);
        self.out.bytes.extend_from_slice(NEEDS);
    }

    /// Writes the packets that open the sequence: its state is clear, and where the clocks stand.
    fn open(&mut self, time: Option<Timestamp>) {
        if !std::mem::replace(&mut self.opened, true) {
            let mut body = Vec::new();
            body.extend_from_slice(SEQUENCE);
            body.extend_from_slice(OPENS);
            put_number(&mut body, 87, 1);
            put_bytes(&mut self.out.bytes, 1, &body);
        }
        let Some(time) = time else { return };
        if std::mem::replace(&mut self.clock, Clock::Unknown(None)) == Clock::Unix {
            let mut snapshot = Vec::new();
            for clock in [6, 1] {
                let mut reading = Vec::new();
                put_number(&mut reading, 1, clock);
                put_number(&mut reading, 2, time.cast_unsigned());
                put_bytes(&mut snapshot, 1, &reading);
            }
            self.put(6, &snapshot);
        }
    }

    /// Writes a track event: its type, its track and what else is in it.
    fn event(&mut self, time: Timestamp, r#type: u8, uuid: u64, body: &[u8]) {
        self.begin_event(time, r#type, uuid, body.len());
        self.out.bytes.extend_from_slice(body);
    }

    /// Writes a track event but for what is in it besides type and track, of which it has the length.
    #[inline]
    fn begin_event(&mut self, time: Timestamp, r#type: u8, uuid: u64, body: usize) {
        if !self.opened || self.clock == Clock::Unix {
            self.open(Some(time));
        }
        let time = time.cast_unsigned();
        let (word, len) = leb128(time);
        let [sequence, one] = *SEQUENCE;
        let [needs, two] = *NEEDS;
        let words = match (uuid, body) {
            // Most are short and on one of the first tracks.
            (1..0x80, ..SHORTEST) => {
                let (event, packet) = (4 + body, 11 + len + body);
                let (event, packet) = (low(event as u64), low(packet as u64));
                let head = [PACKET, packet, sequence, one, needs, two, TIMESTAMP];
                let line = [TRACK_EVENT, event, TYPE, r#type, TRACK, low(uuid)];
                Some((PackedBytes::of(&head), PackedBytes::of(&line)))
            }
            // Nearly all are of some hundred bytes at most.
            (1..0x3f00, ..0x3f00) => {
                let line = PackedBytes::of(&[TYPE, r#type, TRACK]).short(uuid);
                let event = (line.len() + body) as u64;
                let line = PackedBytes::of(&[TRACK_EVENT]).short(event).then(line);
                let head = PackedBytes::of(&[sequence, one, needs, two, TIMESTAMP]);
                let packet = head.len() + len + line.len() + body;
                let head = PackedBytes::of(&[PACKET]).short(packet as u64).then(head);
                Some((head, line))
            }
            _ => None,
        };
        if let Some((head, line)) = words {
            let (at, line_at) = (head.len(), head.len() + len);
            return put_pieces(
                &mut self.out.bytes,
                head.bytes(),
                (at, word.to_le_bytes()),
                (line_at, line.bytes()),
                line_at + line.len(),
            );
        }
        let track = if uuid == 0 { 0 } else { 1 + varint_len(uuid) };
        let event = 2 + track + body as u64;
        // A packet without a time would be left out, so that zero is written too.
        self.head(5 + len as u64 + 1 + varint_len(event) + event);
        let out = &mut self.out.bytes;
        out.push(TIMESTAMP);
        put_leb128(out, time);
        out.push(TRACK_EVENT);
        put_leb128(out, event);
        out.extend_from_slice(&[TYPE, r#type]);
        put_number(out, 11, uuid);
    }
}

/// What is encoded of a span.
struct SpanBody {
    body: Stashed,
    /// It has a parent and is no call of its own.
    is_inner: bool,
}

/// The annotation `span.entry` `false`: for a span whose parent is on another line.
const NO_CALL: &[u8] = b"\x22\x13\x52\x0aspan.entry\x32\x05false";

struct Writer<'o> {
    packets: Packets<'o>,
    texts: DefinedTexts,
    lines: TrackUuids,
    held: BeginEnd<SpanBody>,
    /// What is encoded of them.
    bodies: Stash<u8>,
    begun: bool,
    /// Links were announced: every span carries its own flow.
    linking: bool,
    /// Spans that a span not yet seen follows from.
    incoming: HashMap<SpanId, Vec<SpanId>, RandomState>,
    /// Where each lane of a track of events is free again.
    event_lanes: HashMap<(Option<TrackId>, EventTypeId), Vec<Timestamp>, RandomState>,
}

/// Lanes of events of one type on one track: more of them share the last one.
const EVENT_LANES: usize = 64;

impl Writer<'_> {
    fn span(&mut self, span: &SpanRow<'_>) {
        let body = self.bodies.keep_with(|body| {
            self.texts.span(span, &mut self.packets, body);
            if self.linking {
                put_flow(body, 47, span.id);
                let from = self.incoming.remove(&span.id);
                for from in from.unwrap_or_default() {
                    put_flow(body, 47, from);
                }
            }
        });
        let extent = SpanExtent {
            id: span.id,
            parent: span.parent,
            track: span.track,
            start: span.start,
            end: span.end.max(span.start),
        };
        let mut marks = OnLines {
            packets: &mut self.packets,
            lines: &mut self.lines,
            texts: &self.texts,
            bodies: &mut self.bodies,
        };
        let is_inner = span.parent.is_some() && !span.entry;
        let body = SpanBody { body, is_inner };
        self.held.take(extent, body, &mut marks);
    }

    fn event(&mut self, row: &EventRow<'_>) {
        let mut body = Vec::new();
        self.texts.event(row, &mut self.packets, &mut body);
        if let Some(stack) = row.stack {
            self.stack(stack, &mut body);
        }
        let Some(end) = row.end else {
            let uuid = match row.track {
                Some(track) => self.lines.track(track, 0, &self.texts, &mut self.packets),
                None => 0,
            };
            return self.packets.event(row.time, INSTANT, uuid, &body);
        };
        let end = end.max(row.time);
        let lanes = self
            .event_lanes
            .entry((row.track, row.event_type))
            .or_default();
        let lane = match lanes.iter().position(|&free| free <= row.time) {
            Some(lane) => lane,
            None if lanes.len() < EVENT_LANES => {
                lanes.push(row.time);
                lanes.len() - 1
            }
            None => lanes.len() - 1,
        };
        if let Some(free) = lanes.get_mut(lane) {
            *free = end.max(*free);
        }
        let place = (row.track, row.event_type, lane);
        let uuid = self.lines.events(place, &self.texts, &mut self.packets);
        self.packets.event(row.time, BEGIN, uuid, &body);
        self.packets.event(end, END, uuid, &[]);
    }

    /// Writes a stack into an event, the outermost frame first.
    fn stack(&mut self, stack: StackId, body: &mut Vec<u8>) {
        let tables = &self.texts.tables;
        let mut frames = Vec::new();
        let mut next = Some(stack);
        while let Some(row) = next.and_then(|id| tables.stack(id)) {
            frames.push(row.frame);
            // A stack is younger than its caller; one that is not would go round for ever.
            next = row.parent.filter(|&parent| Some(parent) < next);
        }
        let mut list = Vec::new();
        for frame in frames.into_iter().rev() {
            let Some(frame) = tables.frame(frame) else {
                continue;
            };
            let mut one = Vec::new();
            if let Some(function) = frame.function.and_then(|id| tables.function(id)) {
                put_bytes(&mut one, 1, tables.text(function.name).as_bytes());
                if let Some(file) = function.file {
                    put_bytes(&mut one, 2, tables.text(file).as_bytes());
                }
            }
            put_number(&mut one, 3, u64::from(frame.line));
            put_bytes(&mut list, 1, &one);
        }
        put_bytes(body, 55, &list);
    }
}

fn put_flow(body: &mut Vec<u8>, number: u32, span: SpanId) {
    put_tag(body, number, Wire::Fixed64);
    body.extend(span.0.wrapping_add(1).to_le_bytes());
}

/// Writes begins and ends on the lines of their tracks.
struct OnLines<'a, 'o> {
    packets: &'a mut Packets<'o>,
    lines: &'a mut TrackUuids,
    texts: &'a DefinedTexts,
    bodies: &'a mut Stash<u8>,
}

impl PairSink for OnLines<'_, '_> {
    type Body = SpanBody;
    type Line = u64;

    fn line(&mut self, track: TrackId, lane: u32) -> u64 {
        self.lines.track(track, lane, self.texts, self.packets)
    }

    #[inline]
    fn begin(&mut self, uuid: u64, extent: &SpanExtent, span: &SpanBody, outermost: bool) {
        let no_call = outermost && span.is_inner;
        let more = if no_call { NO_CALL.len() } else { 0 };
        let len = span.body.len() + more;
        self.packets.begin_event(extent.start, BEGIN, uuid, len);
        let out = &mut self.packets.out.bytes;
        self.bodies.move_to(span.body, out);
        out.extend_from_slice(NO_CALL.get(..more).unwrap_or_default());
    }

    #[inline]
    fn end(&mut self, uuid: u64, extent: &SpanExtent, _: &SpanBody, _: bool) {
        self.packets.begin_event(extent.end, END, uuid, 0);
        self.packets.out.spill();
    }
}

impl Sink for Writer<'_> {
    fn begin(&mut self, order: Order, clock: Clock) {
        if !std::mem::replace(&mut self.begun, true) {
            self.packets.clock = clock;
            self.held = BeginEnd::new(HELD, order != Order::None);
        }
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        let tracks: Vec<TrackId> = definitions.tracks.iter().map(|&(id, _)| id).collect();
        self.texts.define(definitions);
        for track in tracks {
            self.lines.redefined(track, &self.texts, &mut self.packets);
        }
        Flow::Continue(())
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        for span in batch.iter() {
            self.span(&span);
            self.packets.out.spilled()?;
        }
        let n_held = self.held.len();
        if self.bodies.is_wasteful(n_held) {
            let places = self.held.bodies_mut().map(|span| &mut span.body);
            self.bodies.compact(places);
        }
        Flow::Continue(())
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        for row in batch.iter() {
            self.event(&row);
            self.packets.out.spilled()?;
        }
        Flow::Continue(())
    }

    fn counters(&mut self, batch: CounterBatch) -> Flow {
        for ((&series, &time), &value) in batch.series.iter().zip(&batch.time).zip(&batch.value) {
            let uuid = self.lines.series(series, &self.texts, &mut self.packets);
            let mut body = Vec::with_capacity(10);
            put_double(&mut body, 44, value);
            self.packets.event(time, COUNTER, uuid, &body);
            self.packets.out.spilled()?;
        }
        Flow::Continue(())
    }

    fn links(&mut self, batch: LinkBatch) -> Flow {
        self.linking = true;
        for link in batch.links {
            if self.incoming.len() < LINKS {
                self.incoming.entry(link.to).or_default().push(link.from);
            }
        }
        Flow::Continue(())
    }

    fn forget(&mut self, strings: &[StringId]) {
        // What is held is encoded already.
        self.texts.tables.drop_strings(strings);
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

impl Target for Writer<'_> {
    fn finish(&mut self) -> Result<(), Error> {
        let mut marks = OnLines {
            packets: &mut self.packets,
            lines: &mut self.lines,
            texts: &self.texts,
            bodies: &mut self.bodies,
        };
        self.held.finish(&mut marks);
        // A trace of nothing is a trace all the same.
        self.packets.open(None);
        self.lines.rest(&self.texts, &mut self.packets);
        self.packets.out.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_every_length_are_put_together_alike() {
        let uuids = [0, 1, 0x7f, 0x80, 0x3eff, 0x3f00, 0x4000, u64::MAX];
        let lengths = [0, 1, 99, 100, 110, 120, 127, 128, 0x3eff, 0x3f00, 0x4000];
        for (uuid, length) in uuids
            .iter()
            .flat_map(|uuid| lengths.map(|len| (*uuid, len)))
        {
            for time in [0, 1, 1 << 20, 1_700_000_000_000_000_000, -1] {
                let mut output = Vec::new();
                let mut packets = Packets::new(&mut output);
                packets.opened = true;
                packets.clock = Clock::Unknown(None);
                let body = vec![7; length];
                packets.event(time, BEGIN, uuid, &body);
                let mut event = vec![TYPE, BEGIN];
                put_number(&mut event, 11, uuid);
                event.extend(body);
                let mut packet = [*SEQUENCE, *NEEDS].concat();
                packet.push(TIMESTAMP);
                put_leb128(&mut packet, time.cast_unsigned());
                put_bytes(&mut packet, 11, &event);
                let mut expected = Vec::new();
                put_bytes(&mut expected, 1, &packet);
                assert_eq!(packets.out.bytes, expected, "{uuid} {length} {time}");
            }
        }
    }
}
