//! The model to trace events, one a line.

use traceloom_model::{
    Clock, CounterBatch, Definitions, EventBatch, EventRow, Flow, Note, Order, Sink, SpanBatch,
    SpanRow, StringId, Timestamp, TrackId,
};

use super::LABELS;
use super::beside::OverlapLines;
use super::places::{OutputLine, OutputLines};
use super::points::EVENTS;
use super::track_facts::{ancestors, facts, label, separate};
use super::value::{JsonNames, member};
use crate::codec::Buffered;
use crate::spans::begin_end::{BeginEnd, PairSink, SpanExtent};
use crate::spans::reserved_args::status_word;
use crate::spans::stash::{Stash, Stashed};
use crate::text::scalars;
use crate::{Error, Output, RaiseOptions, Target};

/// Where its phase stands in the text that an event begins with.
const PHASE: usize = 9;

const ARGS: &[u8] = b",\"args\":{";

/// Spans held at most, until those around them come.
const HELD: usize = 1 << 20;

/// Opens a target.
pub(super) fn open<'o>(
    options: &RaiseOptions,
    output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    let relative = match options.variant.as_deref() {
        None => false,
        Some("relative") => true,
        Some(other) => {
            let text = format!("chrome has no variant `{other}`; there is `relative`");
            return Err(Error::usage(text));
        }
    };
    let mut out = Buffered::new(output, "");
    out.text("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    Ok(Box::new(Writer {
        events: EventBuffer {
            out,
            relative,
            base: None,
            first: true,
            places: OutputLines::default(),
        },
        names: JsonNames::default(),
        clock: Clock::default(),
        begun: false,
        held: BeginEnd::new(HELD, true),
        bodies: Stash::default(),
        beside: OverlapLines::default(),
        pairs: 0,
    }))
}

/// The trace as far as it is not handed out.
struct EventBuffer<'o> {
    out: Buffered<'o>,
    relative: bool,
    base: Option<Timestamp>,
    first: bool,
    places: OutputLines,
}

/// What is written of a span between its start and the end of its arguments.
struct SpanText {
    body: Stashed,
    has_args: bool,
    /// It has a parent and is no call of its own.
    is_inner: bool,
}

struct Writer<'o> {
    events: EventBuffer<'o>,
    names: JsonNames,
    clock: Clock,
    begun: bool,
    held: BeginEnd<SpanText>,
    bodies: Stash<u8>,
    beside: OverlapLines,
    pairs: u64,
}

impl EventBuffer<'_> {
    #[inline]
    fn raw(&mut self, text: &str) {
        self.out.bytes.extend_from_slice(text.as_bytes());
    }

    /// Begins an event of phase `phase` on a line at `time`.
    #[inline]
    fn event(&mut self, phase: u8, line: u32, time: Timestamp) {
        let begin = self.out.bytes.len();
        if let Some(place) = self.places.rows.get(line as usize) {
            self.out.bytes.extend_from_slice(&place.text);
        }
        if let Some(byte) = self.out.bytes.get_mut(begin + PHASE) {
            *byte = phase;
        }
        if std::mem::take(&mut self.first) {
            self.out.bytes.remove(begin);
        }
        let base = if self.relative {
            *self.base.get_or_insert(time)
        } else {
            0
        };
        scalars::microseconds(time, base, &mut self.out.bytes);
    }

    /// Begins the arguments of an event; returns where.
    fn args(&mut self) -> usize {
        let begin = self.out.bytes.len();
        self.out.bytes.extend_from_slice(ARGS);
        begin
    }

    /// Ends the arguments begun at `begin`, which vanish when there are none, and the event.
    fn close(&mut self, begin: usize) {
        if self.out.bytes.len() == begin + ARGS.len() {
            self.out.bytes.truncate(begin);
        } else {
            self.raw("}");
        }
        self.raw("}");
    }

    fn metadata(&mut self, name: &str, pid: u64, tid: u64) {
        self.raw(if self.first { "\n" } else { ",\n" });
        self.first = false;
        self.raw(&format!(
            "{{\"ph\":\"M\",\"pid\":{pid},\"tid\":{tid},\"name\":\"{name}\",\"args\":{{"
        ));
    }
}

impl Writer<'_> {
    fn span(&mut self, span: &SpanRow<'_>) {
        let extent = SpanExtent {
            id: span.id,
            parent: span.parent,
            track: span.track,
            start: span.start,
            end: span.end.max(span.start),
        };
        let mut has_args = false;
        let names = &self.names;
        let body = self.bodies.keep_with(|out| {
            has_args = span_text(span, names, out);
        });
        let mut marks = OnPlaces {
            events: &mut self.events,
            names,
            bodies: &mut self.bodies,
            beside: &mut self.beside,
        };
        let is_inner = span.parent.is_some() && !span.entry;
        let text = SpanText {
            body,
            has_args,
            is_inner,
        };
        self.held.take(extent, text, &mut marks);
    }

    fn line(&mut self, track: Option<TrackId>) -> u32 {
        self.events.places.line(track, 0, &self.names)
    }

    fn instant_or_pair(&mut self, row: &EventRow<'_>) {
        let line = self.line(row.track);
        let Some(end) = row.end else {
            self.events.event(b'i', line, row.time);
            self.events.raw(if row.track.is_some() {
                ",\"s\":\"t\""
            } else {
                ",\"s\":\"p\""
            });
            self.named(row);
            return;
        };
        self.pairs += 1;
        for (phase, time) in [(b'b', row.time), (b'e', end)] {
            let (names, events) = (&self.names, &mut self.events);
            events.event(phase, line, time);
            events.raw(",\"cat\":");
            names.event_type(row.event_type, &mut events.out.bytes);
            let id = self.pairs;
            events.raw(&format!(",\"id\":\"{id:#x}\",\"scope\":\"{EVENTS}\""));
            if phase == b'b' {
                self.named(row);
            } else {
                events.raw(",\"name\":");
                names.event_type(row.event_type, &mut events.out.bytes);
                events.raw("}");
            }
        }
    }

    fn named(&mut self, row: &EventRow<'_>) {
        let (names, events) = (&self.names, &mut self.events);
        events.raw(",\"name\":");
        names.event_type(row.event_type, &mut events.out.bytes);
        let begin = events.args();
        names.members(row.attributes, &mut events.out.bytes);
        events.close(begin);
    }

    /// Names processes and threads, and orders threads so that lanes follow their track.
    fn describe(&mut self) {
        let Self { names, events, .. } = self;
        for &track in names.tracks.keys() {
            events.places.line(Some(track), 0, names);
        }
        for &resource in names.resources.keys() {
            events.places.pid(Some(resource), names);
        }
        for (id, pid) in std::mem::take(&mut events.places.processes) {
            let resource = id.and_then(|id| names.resources.get(&id));
            let mut args = Vec::new();
            let parts = resource.map(|row| [row.service, row.instance, row.host]);
            for part in parts.into_iter().flatten().flatten() {
                let begins: &[u8] = if args.is_empty() {
                    b"\"name\":\""
                } else {
                    b" "
                };
                args.extend_from_slice(begins);
                names.inner(part, &mut args);
            }
            if !args.is_empty() {
                args.push(b'"');
            }
            let own = resource.and_then(|row| row.pid);
            if own != Some(pid) {
                separate(&mut args);
                args.extend_from_slice(b"\"process\":");
                match (resource, own) {
                    (None, _) => args.extend_from_slice(b"null"),
                    (Some(_), None) => args.extend_from_slice(b"{\"pid\":null}"),
                    (Some(_), Some(own)) => {
                        args.extend_from_slice(b"{\"pid\":");
                        scalars::unsigned(own, &mut args);
                        args.push(b'}');
                    }
                }
            }
            if !args.is_empty() {
                events.metadata("process_name", pid, 0);
                events.out.bytes.extend_from_slice(&args);
                events.raw("}}");
            }
            if let Some(labels) = resource.and_then(|row| names.labels(row)) {
                events.metadata(LABELS, pid, 0);
                events.raw("\"labels\":");
                names.string(labels, &mut events.out.bytes);
                events.raw("}}");
            }
        }
        let rows = std::mem::take(&mut events.places.rows);
        let mut order: Vec<(Vec<TrackId>, u32, &OutputLine)> = Vec::with_capacity(rows.len());
        for place in &rows {
            if let Some(track) = place.track {
                order.push((ancestors(names, track), place.overlap, place));
            }
        }
        order.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        events.places.rows = rows.clone();
        for (position, (_, overlap, place)) in order.into_iter().enumerate() {
            let Some((id, track)) = place
                .track
                .and_then(|id| Some((id, names.tracks.get(&id)?)))
            else {
                continue;
            };
            let mut text = Vec::new();
            label(names, track, &mut text);
            if overlap > 0 {
                text.extend_from_slice(b" overlap ");
                scalars::digits(u64::from(overlap), &mut text);
            }
            events.metadata("thread_name", place.pid, place.tid);
            events.raw("\"name\":\"");
            events.out.bytes.extend_from_slice(&text);
            events.raw("\"");
            let facts = facts(names, &events.places, (id, track), place, &text);
            if !facts.is_empty() {
                events.raw(",\"track\":{");
                events.out.bytes.extend_from_slice(&facts);
                events.raw("}");
            }
            events.raw("}}");
            events.metadata("thread_sort_index", place.pid, place.tid);
            events.raw("\"sort_index\":");
            scalars::digits(position as u64, &mut events.out.bytes);
            events.raw("}}");
            events.out.spill();
        }
    }
}

/// Appends what is written of a span after its start, up to the end of its arguments; returns whether there are
/// arguments.
fn span_text(span: &SpanRow<'_>, names: &JsonNames, out: &mut Vec<u8>) -> bool {
    out.extend_from_slice(b",\"dur\":");
    scalars::microseconds(span.end.max(span.start), span.start, out);
    out.extend_from_slice(b",\"name\":");
    match span.function {
        Some(function) => names.function(function, out),
        None => out.extend_from_slice(b"\"\""),
    }
    if let Some(kind) = span.kind {
        out.extend_from_slice(b",\"cat\":");
        names.string(kind, out);
    }
    let begin = out.len();
    out.extend_from_slice(ARGS);
    names.members(span.attributes, out);
    for &(id, value) in span.counters {
        member(out);
        names.value_type(id, out);
        out.push(b':');
        scalars::signed(value, out);
    }
    let text = |out: &mut Vec<u8>, text: &str| {
        member(out);
        out.extend_from_slice(text.as_bytes());
    };
    if let Some(word) = status_word(span.status) {
        text(out, &format!("\"span.status\":\"{word}\""));
    }
    if span.entry != span.parent.is_none() {
        text(out, &format!("\"span.entry\":\"{}\"", span.entry));
    }
    if let Some(exception) = span.exception {
        text(out, "\"span.exception\":");
        names.exception(exception, out);
    }
    if let Some(context) = span.context {
        let (trace, span, parent) = (context.trace, context.span, context.parent);
        let ids = format!(
            "\"span.trace_id\":\"{trace:032x}\",\"span.id\":\"{span:016x}\",\"span.parent_id\":\"{parent:016x}\""
        );
        text(out, &ids);
    }
    if out.len() == begin + ARGS.len() {
        out.truncate(begin);
        return false;
    }
    true
}

/// Writes spans where they end, on lines that nest.
struct OnPlaces<'a, 'o> {
    events: &'a mut EventBuffer<'o>,
    names: &'a JsonNames,
    bodies: &'a mut Stash<u8>,
    beside: &'a mut OverlapLines,
}

impl PairSink for OnPlaces<'_, '_> {
    type Body = SpanText;
    type Line = u32;
    const AT_END: bool = true;

    fn line(&mut self, track: TrackId, lane: u32) -> u32 {
        self.events.places.line(Some(track), lane, self.names)
    }

    #[inline]
    fn begin(&mut self, _: u32, _: &SpanExtent, _: &SpanText, _: bool) {}

    #[inline]
    fn end(&mut self, line: u32, extent: &SpanExtent, text: &SpanText, outermost: bool) {
        let follows = self.beside.span(line, extent);
        self.events.event(b'X', line, extent.start);
        let out = &mut self.events.out.bytes;
        self.bodies.move_to(text.body, out);
        let mut has_args = text.has_args;
        let mut arg = |out: &mut Vec<u8>, text: &[u8]| {
            let begins: &[u8] = if has_args { b"," } else { ARGS };
            has_args = true;
            out.extend_from_slice(begins);
            out.extend_from_slice(text);
        };
        if outermost && text.is_inner {
            arg(out, b"\"span.entry\":\"false\"");
        }
        if follows > 0 {
            arg(out, b"\"span.follows\":");
            scalars::digits(follows, out);
        }
        let closing: &[u8] = if has_args { b"}}" } else { b"}" };
        out.extend_from_slice(closing);
        self.events.out.spill();
    }
}

impl Sink for Writer<'_> {
    fn begin(&mut self, order: Order, clock: Clock) {
        self.clock = clock;
        if !std::mem::replace(&mut self.begun, true) {
            self.held = BeginEnd::new(HELD, order != Order::None);
        }
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.names.define(definitions);
        Flow::Continue(())
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        for span in batch.iter() {
            self.span(&span);
            self.events.out.spilled()?;
        }
        let n_held = self.held.len();
        if self.bodies.is_wasteful(n_held) {
            let places = self.held.bodies_mut().map(|text| &mut text.body);
            self.bodies.compact(places);
        }
        Flow::Continue(())
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        for row in batch.iter() {
            self.instant_or_pair(&row);
            self.events.out.spilled()?;
        }
        Flow::Continue(())
    }

    fn counters(&mut self, batch: CounterBatch) -> Flow {
        for ((&series, &time), &value) in batch.series.iter().zip(&batch.time).zip(&batch.value) {
            let mut name = Vec::new();
            let track = self.names.series(series, &mut name);
            let line = self.line(track);
            let events = &mut self.events;
            events.event(b'C', line, time);
            events.raw(",\"name\":");
            events.out.bytes.extend_from_slice(&name);
            events.raw(",\"args\":{\"value\":");
            scalars::float(value, &mut events.out.bytes);
            events.raw("}}");
            events.out.spilled()?;
        }
        Flow::Continue(())
    }

    fn forget(&mut self, strings: &[StringId]) {
        // What is held is encoded already.
        self.names.forget(strings);
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

impl Target for Writer<'_> {
    fn finish(&mut self) -> Result<(), Error> {
        let mut marks = OnPlaces {
            events: &mut self.events,
            names: &self.names,
            bodies: &mut self.bodies,
            beside: &mut self.beside,
        };
        self.held.finish(&mut marks);
        self.describe();
        let clock = match self.clock {
            Clock::Unix => "unix",
            Clock::Unknown(_) => "unknown",
        };
        let events = &mut self.events;
        events.raw(&format!(
            "\n],\"otherData\":{{\"clock\":\"{clock}\",\"order\":\"finish\""
        ));
        if let Some(base) = events.base {
            events.raw(&format!(",\"base_time_ns\":\"{base}\""));
        }
        events.raw("}}\n");
        events.out.finish()
    }
}
