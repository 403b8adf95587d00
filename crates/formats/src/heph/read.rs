//! The reader: packets one after the other, and what to do where there is none (SPEC.md §6).

use traceloom_model::bounds::{in_memory, subslice};
use traceloom_model::{Flow, Limit, Limits, Note};

use super::counters::RunCounters;
use super::parse::{self, find_magic, is_cut_magic, is_magic};
use super::record::{CounterCheck, EVENT, Event, Layout, METADATA, Metadata, Visit};
use super::resync::{ResyncScan, ResyncState, Scanned};
use crate::{Chunk, Opaque, RecordSink, Step, damage, info, warn};

/// Reads Heph packets; [`crate::Reader`] over typed visitors.
///
/// Needs a packet and the four bytes after it in its window, those only when the packet does not read
/// like one: memory depends on the largest packet (`record` limit), on the number of streams (`table`
/// limit) and on 1,024 counters of each.
#[derive(Clone, Debug)]
pub struct Reader {
    limits: Limits,
    /// Of them, those that every packet is held against.
    most_bytes: u64,
    most_values: usize,
    layout: Option<Layout>,
    scan: Option<ResyncScan>,
    counters: RunCounters,
}

pub(super) enum PacketStep {
    Took(usize),
    Wait(usize),
    Stop,
}

impl Reader {
    /// A decoder at the beginning of an input.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            limits: *limits,
            most_bytes: limits.of(Limit::Record),
            most_values: limits.size(Limit::Values),
            layout: None,
            scan: None,
            counters: RunCounters::new(limits),
        }
    }

    /// Reads every whole packet of `chunk`.
    pub fn read<V: Visit>(&mut self, chunk: Chunk<'_>, out: &mut V) -> Step {
        let mut at = 0;
        loop {
            let rest = subslice(chunk.bytes, at..);
            if rest.is_empty() {
                if chunk.eof && self.finish(chunk.offset + at as u64, out).is_break() {
                    return Step::Stop;
                }
                let (consumed, need) = (at, 1);
                return Step::More { consumed, need };
            }
            let window = Chunk {
                bytes: rest,
                offset: chunk.offset + at as u64,
                eof: chunk.eof,
            };
            let next = if let Some((event, size)) = self.common(window, V::SKIMS) {
                took(size, self.accept_event(&event, out))
            } else if self.scan.is_none() {
                self.packet(window, out)
            } else {
                self.scan(window, out)
            };
            match next {
                PacketStep::Took(length) => at += length,
                PacketStep::Wait(need) => return Step::More { consumed: at, need },
                PacketStep::Stop => return Step::Stop,
            }
        }
    }

    /// Reads the event that a window begins with, and how long it is, when it is in the layout in force and a
    /// packet follows: nearly all are. Without it `traceloom check` takes 1.3 times the processor time.
    #[inline(always)]
    fn common<'a>(&self, window: Chunk<'a>, skims: bool) -> Option<(Event<'a>, usize)> {
        let layout = self.layout.filter(|_| self.scan.is_none())?;
        let head = window.bytes.first_chunk::<8>()?;
        let head = u64::from_be_bytes(*head);
        let stated = head & u64::from(u32::MAX);
        let is_event = head >> 32 == u64::from(u32::from_be_bytes(EVENT));
        if !is_event || stated > self.most_bytes {
            return None;
        }
        let (packet, after) = window
            .bytes
            .split_at_checked(usize::try_from(stated).ok()?)?;
        if !is_magic(after) {
            return None;
        }
        let most = (!skims).then_some(self.most_values);
        let event = parse::event_inline(packet, window.offset, layout, most)?;
        Some((event, packet.len()))
    }

    #[inline(never)]
    fn packet<V: Visit>(&mut self, window: Chunk<'_>, out: &mut V) -> PacketStep {
        let Chunk { bytes, offset, eof } = window;
        let Some(&[a, b, c, d, size @ ..]) = bytes.first_chunk::<8>() else {
            return if eof {
                self.tail(window, 8, out)
            } else {
                PacketStep::Wait(8)
            };
        };
        let is_event = match [a, b, c, d] {
            EVENT => true,
            METADATA => false,
            _ => return self.lose(offset, 1, "bytes that are no packet"),
        };
        let stated = u64::from(u32::from_be_bytes(size));
        if stated > self.most_bytes {
            return self.lose(offset, 4, LIMIT);
        }
        let smallest = match self.layout {
            _ if !is_event => 10,
            Some(layout) => layout.description(),
            None => Layout::NoSubstream.description(),
        };
        let size = in_memory(stated);
        if size < smallest {
            return self.lose(offset, 4, "a packet smaller than its fields");
        }
        let Some((packet, after)) = bytes.split_at_checked(size) else {
            return if eof {
                self.tail(window, size, out)
            } else {
                PacketStep::Wait(size)
            };
        };
        let next = followed(after, eof);
        if !is_event {
            let Some(metadata) = parse::metadata(packet, offset) else {
                return self.lose(offset, 4, MISFIT);
            };
            if next != Some(true)
                && let Some(other) = self.doubt(window, size, next, true)
            {
                return other;
            }
            return took(size, self.accept_metadata(&metadata, out));
        }
        let Some(event) = self.event(packet, offset) else {
            return self.lose(offset, 4, MISFIT);
        };
        if next != Some(true)
            && let Some(other) = self.doubt(window, size, next, event.complete)
        {
            return other;
        }
        took(size, self.accept_rare(&event, out))
    }

    #[inline(never)]
    fn accept_rare<V: Visit>(&mut self, event: &Event<'_>, out: &mut V) -> Flow {
        self.accept_event(event, out)
    }

    /// Decides about a packet that no packet is known to follow; none when it is to be taken.
    #[cold]
    fn doubt(
        &mut self,
        window: Chunk<'_>,
        size: usize,
        followed: Option<bool>,
        complete: bool,
    ) -> Option<PacketStep> {
        let packet = window.bytes.get(..size).unwrap_or(window.bytes);
        if complete && !may_hold_packet(packet) {
            return None;
        }
        if followed.is_none() {
            return Some(PacketStep::Wait(size + 4));
        }
        match self.inner(window, size) {
            ResyncState::Found(at) => Some(self.lose(window.offset, at, "a torn packet")),
            ResyncState::Wait(need) => Some(PacketStep::Wait(need.max(window.bytes.len() * 2))),
            ResyncState::Nothing => None,
        }
    }

    /// Reads an event in the layout in force, or in the one that fits while none is (SPEC.md §6.6).
    pub(super) fn event<'a>(&self, packet: &'a [u8], offset: u64) -> Option<Event<'a>> {
        let most = self.most_values;
        if let Some(layout) = self.layout {
            return parse::event(packet, offset, layout, most);
        }
        let current = parse::event(packet, offset, Layout::Substream, most);
        if current.as_ref().is_some_and(|event| event.complete) {
            return current;
        }
        let old = parse::event(packet, offset, Layout::NoSubstream, most);
        old.filter(|event| event.complete).or(current)
    }

    fn accept_metadata<V: Visit>(&mut self, metadata: &Metadata<'_>, out: &mut V) -> Flow {
        if let Some(epoch) = metadata.epoch() {
            self.counters.epoch(epoch, metadata.offset, out)?;
        }
        out.metadata(metadata)?;
        metadata_note(metadata).map_or(Flow::Continue(()), |note| out.note(note))
    }

    #[inline(always)]
    fn accept_event<V: Visit>(&mut self, event: &Event<'_>, out: &mut V) -> Flow {
        if self.layout.is_none() && event.complete {
            self.layout = Some(event.layout);
            if event.layout == Layout::NoSubstream {
                let text = "events have no substream: the layout of writers before March 2021";
                out.note(info("old_layout", event.offset, text))?;
            }
        }
        let seen = self.counters.event(event, out)?;
        out.event(event, seen)?;
        if event.complete && event.valid_text && event.start <= event.end {
            return Flow::Continue(());
        }
        // A copy, so that the event itself need not lie in memory for this.
        self.event_notes(&{ *event }, out)
    }

    #[cold]
    fn event_notes<V: Visit>(&self, event: &Event<'_>, out: &mut V) -> Flow {
        let Event {
            offset,
            start,
            end,
            undecoded,
            ..
        } = *event;
        let described = event.description.len();
        if described < usize::from(event.description_length) {
            let stated = event.description_length;
            let text = format!(
                "description cut: it states {stated} bytes, the packet ends after {described}"
            );
            out.note(warn("description_cut", offset, text))?;
        } else if event.attributes.count() >= self.limits.size(Limit::Values)
            && !undecoded.is_empty()
        {
            let length = undecoded.len() as u64;
            let text = format!(
                "more attributes than the limit `values`: {length} bytes are left undecoded"
            );
            out.note(damage("limit_values", offset, text).counting(length))?;
        } else if !undecoded.is_empty() {
            let length = undecoded.len() as u64;
            let text = format!("attributes incomplete: {length} bytes are kept undecoded");
            out.note(warn("attributes_incomplete", offset, text).counting(length))?;
        }
        if !event.valid_text {
            out.note(warn(
                "invalid_text",
                offset,
                "text that is not UTF-8 is kept as bytes",
            ))?;
        }
        if end < start {
            let text = format!("the event ends at {end}, before its start at {start}: duration 0");
            out.note(warn("end_before_start", offset, text))?;
        }
        Flow::Continue(())
    }

    /// Starts looking for the next packet from `from` bytes after `offset` on.
    fn lose(&mut self, offset: u64, from: usize, why: &'static str) -> PacketStep {
        self.scan = Some(ResyncScan::new(offset, from, why));
        PacketStep::Took(0)
    }

    /// The input ends before the `size` bytes that the packet here should have.
    fn tail<V: Visit>(&mut self, window: Chunk<'_>, size: usize, out: &mut V) -> PacketStep {
        let Chunk { bytes, offset, .. } = window;
        if !is_magic(bytes) && !is_cut_magic(bytes) {
            return self.lose(offset, 1, "bytes that are no packet");
        }
        if let ResyncState::Found(at) = self.inner(window, bytes.len()) {
            return self.lose(offset, at, "a packet whose size reaches past the end");
        }
        let have = bytes.len();
        let text = if have < 8 {
            format!("last packet cut: {have} bytes of its head are there")
        } else {
            format!("last packet cut: {have} of {size} bytes are there")
        };
        if out.opaque(&Opaque::damage(offset, bytes)).is_break()
            || out
                .note(warn("packet_cut", offset, text).counting(have as u64))
                .is_break()
        {
            return PacketStep::Stop;
        }
        PacketStep::Took(have)
    }

    #[cold]
    fn scan<V: Visit>(&mut self, window: Chunk<'_>, out: &mut V) -> PacketStep {
        let Some(mut scan) = self.scan.take() else {
            return PacketStep::Took(0);
        };
        match scan.run(self, &self.limits, window, out) {
            Scanned::Stop => PacketStep::Stop,
            Scanned::Wait { emitted, need } => {
                self.scan = Some(scan);
                if emitted > 0 {
                    // What was emitted is consumed first; the need is counted from there.
                    return PacketStep::Took(emitted);
                }
                PacketStep::Wait(need)
            }
            Scanned::Over { emitted } => {
                if out
                    .note(scan_note(&scan, window.offset + emitted as u64))
                    .is_break()
                {
                    return PacketStep::Stop;
                }
                PacketStep::Took(emitted)
            }
        }
    }

    fn finish<V: Visit>(&mut self, end: u64, out: &mut V) -> Flow {
        if let Some(scan) = self.scan.take() {
            out.note(scan_note(&scan, end))?;
        }
        self.counters.finish(out)
    }

    fn inner(&self, window: Chunk<'_>, size: usize) -> ResyncState {
        super::resync::inside(self, &self.limits, window, size)
    }
}

fn took(size: usize, flow: Flow) -> PacketStep {
    if flow.is_break() {
        PacketStep::Stop
    } else {
        PacketStep::Took(size)
    }
}

const MISFIT: &str = "a packet whose fields do not fit";
const LIMIT: &str = "a packet larger than the limit `record`";

fn scan_note(scan: &ResyncScan, end: u64) -> Note {
    let (bytes, why) = (end - scan.start, scan.why);
    let kind = if why == LIMIT {
        "limit_record"
    } else {
        "skipped_bytes"
    };
    damage(kind, scan.start, format!("{bytes} bytes skipped: {why}")).counting(bytes)
}

/// Returns true if a packet, or nothing, comes next; none when the window does not show it.
#[inline]
pub(super) fn followed(after: &[u8], eof: bool) -> Option<bool> {
    match after.len() {
        4.. => Some(is_magic(after)),
        _ if eof => Some(is_cut_magic(after)),
        _ => None,
    }
}

/// Returns true if another packet may begin inside this one, or across its end.
fn may_hold_packet(packet: &[u8]) -> bool {
    find_magic(packet, 4).is_some()
        || (1..4).any(|length| {
            let end = packet.len().checked_sub(length);
            end.and_then(|at| packet.get(at..))
                .is_some_and(is_cut_magic)
        })
}

fn metadata_note(metadata: &Metadata<'_>) -> Option<Note> {
    if metadata.is_epoch() {
        let length = metadata.value.len();
        (length != 8).then(|| {
            let text = format!("an epoch of {length} bytes instead of 8 is ignored");
            warn("bad_epoch", metadata.offset, text)
        })
    } else {
        let name = String::from_utf8_lossy(metadata.name);
        let name: String = name.chars().take(64).collect();
        let text = format!("unknown option `{}` is kept as bytes", name.escape_debug());
        Some(warn("unknown_option", metadata.offset, text))
    }
}

/// Hands packets to a [`RecordSink`] as records.
struct RecordEmitter<'o>(&'o mut dyn RecordSink);

impl Visit for RecordEmitter<'_> {
    fn event(&mut self, event: &Event<'_>, _seen: CounterCheck) -> Flow {
        self.0.record(event)
    }

    fn metadata(&mut self, metadata: &Metadata<'_>) -> Flow {
        self.0.record(metadata)
    }

    fn opaque(&mut self, opaque: &Opaque<'_>) -> Flow {
        self.0.record(opaque)
    }

    fn note(&mut self, note: Note) -> Flow {
        self.0.note(note)
    }
}

impl crate::Reader for Reader {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        Self::read(self, chunk, &mut RecordEmitter(out))
    }
}
