//! The model to trace events, one a line.

use traceloom_model::{
    Clock, CounterBatch, Definitions, EventBatch, EventRow, Flow, Note, Order, ResourceId, Sink,
    SpanBatch, SpanRow, SpanStatus, StringId, Timestamp, Track, TrackId, TrackKind,
};

use super::beside::Beside;
use super::json;
use super::points::EVENTS;
use super::value::{Names, member};
use crate::output::Buffered;
use crate::{Error, Output, RaiseOptions, Target};

/// Where its phase stands in the text that an event begins with.
const PHASE: usize = 9;

const ARGS: &[u8] = b",\"args\":{";

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
        out,
        names: Names::default(),
        clock: Clock::default(),
        relative,
        base: None,
        first: true,
        beside: Beside::default(),
        pairs: 0,
        places: Vec::new(),
    }))
}

struct Writer<'o> {
    out: Buffered<'o>,
    names: Names,
    clock: Clock,
    relative: bool,
    base: Option<Timestamp>,
    first: bool,
    beside: Beside,
    pairs: u64,
    /// Process and thread as written, up to the time: of no track, then of each one.
    places: Vec<Option<Box<[u8]>>>,
}

impl Writer<'_> {
    #[inline]
    fn raw(&mut self, text: &str) {
        self.out.bytes.extend_from_slice(text.as_bytes());
    }

    /// Begins an event of phase `phase` on `track` at `time`.
    #[inline]
    fn event(&mut self, phase: u8, track: Option<TrackId>, time: Timestamp) {
        let begin = self.out.bytes.len();
        let at = track.map_or(0, |track| track.index() + 1);
        match self.places.get(at) {
            Some(Some(place)) => self.out.bytes.extend_from_slice(place),
            _ => self.place(track, at),
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
        json::microseconds(time, base, &mut self.out.bytes);
    }

    /// Writes how events of a track begin and keeps the text until a definition may change it.
    #[inline(never)]
    fn place(&mut self, track: Option<TrackId>, at: usize) {
        let resource = track.and_then(|track| self.names.tracks.get(&track)?.resource);
        let (pid, tid) = (process(resource), track.map_or(0, thread));
        let place = format!(",\n{{\"ph\":\"X\",\"pid\":{pid},\"tid\":{tid},\"ts\":");
        self.raw(&place);
        if self.places.len() <= at {
            self.places.resize(at + 1, None);
        }
        if let Some(slot) = self.places.get_mut(at) {
            *slot = Some(place.into_bytes().into_boxed_slice());
        }
    }

    fn span(&mut self, span: &SpanRow<'_>) {
        self.event(b'X', Some(span.track), span.start);
        self.raw(",\"dur\":");
        json::microseconds(span.end.max(span.start), span.start, &mut self.out.bytes);
        self.raw(",\"name\":");
        match span.function {
            Some(function) => self.names.function(function, &mut self.out.bytes),
            None => self.raw("\"\""),
        }
        if let Some(kind) = span.kind {
            self.raw(",\"cat\":");
            self.names.string(kind, &mut self.out.bytes);
        }
        let begin = self.args();
        self.names.members(span.attributes, &mut self.out.bytes);
        for &(id, value) in span.counters {
            member(&mut self.out.bytes);
            self.names.value_type(id, &mut self.out.bytes);
            self.raw(":");
            json::signed(value, &mut self.out.bytes);
        }
        match span.status {
            SpanStatus::Complete => {}
            SpanStatus::PartialStart => self.member("\"span.status\":\"partial_start\""),
            SpanStatus::PartialEnd => self.member("\"span.status\":\"partial_end\""),
            SpanStatus::Error => self.member("\"span.status\":\"error\""),
        }
        if let Some(exception) = span.exception {
            self.member("\"span.exception\":");
            self.names.exception(exception, &mut self.out.bytes);
        }
        if let Some(context) = span.context {
            let (trace, span, parent) = (context.trace, context.span, context.parent);
            self.member(&format!(
                "\"span.trace_id\":\"{trace:032x}\",\"span.id\":\"{span:016x}\",\"span.parent_id\":\"{parent:016x}\""
            ));
        }
        let follows = self.beside.span(span);
        if follows > 0 {
            self.member("\"span.follows\":");
            json::digits(follows, &mut self.out.bytes);
        }
        self.close(begin);
    }

    /// Begins the arguments of an event; returns where.
    fn args(&mut self) -> usize {
        let begin = self.out.bytes.len();
        self.out.bytes.extend_from_slice(ARGS);
        begin
    }

    fn member(&mut self, text: &str) {
        member(&mut self.out.bytes);
        self.raw(text);
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

    fn instant_or_pair(&mut self, row: &EventRow<'_>) {
        let Some(end) = row.end else {
            self.event(b'i', row.track, row.time);
            self.raw(if row.track.is_some() {
                ",\"s\":\"t\""
            } else {
                ",\"s\":\"p\""
            });
            self.named(row);
            return;
        };
        self.pairs += 1;
        for (phase, time) in [(b'b', row.time), (b'e', end)] {
            self.event(phase, row.track, time);
            self.raw(",\"cat\":");
            self.names.event_type(row.event_type, &mut self.out.bytes);
            let id = self.pairs;
            self.raw(&format!(",\"id\":\"{id:#x}\",\"scope\":\"{EVENTS}\""));
            if phase == b'b' {
                self.named(row);
            } else {
                self.raw(",\"name\":");
                self.names.event_type(row.event_type, &mut self.out.bytes);
                self.raw("}");
            }
        }
    }

    fn named(&mut self, row: &EventRow<'_>) {
        self.raw(",\"name\":");
        self.names.event_type(row.event_type, &mut self.out.bytes);
        let begin = self.args();
        self.names.members(row.attributes, &mut self.out.bytes);
        self.close(begin);
    }

    /// Names processes and threads, and orders threads so that lanes follow their track.
    fn describe(&mut self) {
        let names = std::mem::take(&mut self.names);
        for (&id, resource) in &names.resources {
            let parts = [resource.service, resource.instance, resource.host];
            let mut name = Vec::new();
            for part in parts.into_iter().flatten() {
                name.extend_from_slice(if name.is_empty() { b"" } else { b" " });
                names.inner(part, &mut name);
            }
            if !name.is_empty() {
                self.metadata("process_name", process(Some(id)), None);
                self.raw("\"name\":\"");
                self.out.bytes.extend_from_slice(&name);
                self.raw("\"}}");
            }
        }
        let mut order: Vec<(Vec<TrackId>, TrackId)> = Vec::new();
        for &id in names.tracks.keys() {
            order.push((ancestors(&names, id), id));
        }
        order.sort();
        for (position, (_, id)) in order.into_iter().enumerate() {
            let Some(track) = names.tracks.get(&id) else {
                continue;
            };
            let pid = process(track.resource);
            self.metadata("thread_name", pid, Some(id));
            self.raw("\"name\":\"");
            label(&names, track, &mut self.out.bytes);
            self.raw("\"}}");
            self.metadata("thread_sort_index", pid, Some(id));
            self.raw("\"sort_index\":");
            json::digits(position as u64, &mut self.out.bytes);
            self.raw("}}");
        }
        self.names = names;
    }

    fn metadata(&mut self, name: &str, pid: u64, track: Option<TrackId>) {
        self.raw(if self.first { "\n" } else { ",\n" });
        self.first = false;
        let tid = track.map_or(0, thread);
        self.raw(&format!(
            "{{\"ph\":\"M\",\"pid\":{pid},\"tid\":{tid},\"name\":\"{name}\",\"args\":{{"
        ));
    }
}

fn process(resource: Option<ResourceId>) -> u64 {
    resource.map_or(0, |id| u64::from(id.raw())) + 1
}

fn thread(track: TrackId) -> u64 {
    u64::from(track.raw()) + 1
}

/// Returns a track's ancestors, outermost first, and itself. Ids fall towards the root, so that a loop
/// ends; more than 16 levels order by the innermost ones.
fn ancestors(names: &Names, id: TrackId) -> Vec<TrackId> {
    let mut chain = vec![id];
    let mut next = names.tracks.get(&id).and_then(|track| track.parent);
    while let Some(parent) = next.filter(|parent| chain.len() < 16 && chain.last() > Some(parent)) {
        chain.push(parent);
        next = names.tracks.get(&parent).and_then(|track| track.parent);
    }
    chain.reverse();
    chain
}

fn label(names: &Names, track: &Track, out: &mut Vec<u8>) {
    let kind = match track.kind {
        TrackKind::Thread => "thread",
        TrackKind::Stream => "stream",
        TrackKind::Async => "substream",
        TrackKind::Lane => "",
    };
    let owner = (track.kind == TrackKind::Lane)
        .then_some(track.parent)
        .flatten()
        .and_then(|parent| names.tracks.get(&parent))
        .filter(|owner| owner.kind != TrackKind::Lane);
    match (track.name, owner) {
        (Some(name), _) => {
            names.inner(name, out);
            if let (TrackKind::Async, Some(id)) = (track.kind, track.id) {
                out.push(b' ');
                json::digits(id, out);
            }
        }
        (None, Some(owner)) => label(names, owner, out),
        (None, None) => {
            out.extend_from_slice(kind.as_bytes());
            if let Some(id) = track.id.or(track.os_id) {
                out.push(b' ');
                json::digits(id, out);
            }
        }
    }
    if track.kind == TrackKind::Lane {
        out.extend_from_slice(b" lane ");
        json::digits(u64::from(track.lane), out);
    }
}

impl Sink for Writer<'_> {
    fn begin(&mut self, _order: Order, clock: Clock) {
        self.clock = clock;
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        if !definitions.tracks.is_empty() {
            self.places.clear();
        }
        self.names.define(definitions);
        Flow::Continue(())
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        for span in batch.iter() {
            self.span(&span);
            self.out.spilled()?;
        }
        Flow::Continue(())
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        for row in batch.iter() {
            self.instant_or_pair(&row);
            self.out.spilled()?;
        }
        Flow::Continue(())
    }

    fn counters(&mut self, batch: CounterBatch) -> Flow {
        for ((&series, &time), &value) in batch.series.iter().zip(&batch.time).zip(&batch.value) {
            let mut name = Vec::new();
            let track = self.names.series(series, &mut name);
            self.event(b'C', track, time);
            self.raw(",\"name\":");
            self.out.bytes.extend_from_slice(&name);
            self.raw(",\"args\":{\"value\":");
            json::float(value, &mut self.out.bytes);
            self.raw("}}");
            self.out.spilled()?;
        }
        Flow::Continue(())
    }

    fn forget(&mut self, strings: &[StringId]) {
        self.names.forget(strings);
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

impl Target for Writer<'_> {
    fn finish(&mut self) -> Result<(), Error> {
        self.describe();
        let clock = match self.clock {
            Clock::Unix => "unix",
            Clock::Unknown(_) => "unknown",
        };
        self.raw(&format!("\n],\"otherData\":{{\"clock\":\"{clock}\""));
        if self.beside.is_finish() {
            self.raw(",\"order\":\"finish\"");
        }
        if let Some(base) = self.base {
            self.raw(&format!(",\"base_time_ns\":\"{base}\""));
        }
        self.raw("}}\n");
        self.out.finish()
    }
}
