//! Bytes to records, one pass, messages borrowed from the window.

use traceloom_model::{Flow, Level, Limit, Limits, Note};

use super::decode::{Decoded, Slots, decode};
use super::record::{Data, Descriptor, Encoding, Frequency, Unknown};
use super::size::{self, Decision, LOOK};
use super::{DESCRIPTOR, HEADER, MOST, Shape};
use crate::tptp::charset::{Charset, Refusal};
use crate::tptp::message::{Message, Slot, Texts};
use crate::tptp::table::{Layout, MOST_FIELDS, Schema, by_id};
use crate::tptp::visit::{Item, Tally, ToRecords, Visit};
use crate::{Chunk, Error, Opaque, Reader, RecordSink, Step, damage, info, warn};

/// Length of the pieces in which bytes that are no records are handed out.
const PIECE: usize = 64 << 10;

/// Longest gap before the data that is searched for system messages.
const GAP: usize = 64 << 10;

/// Longest charset name.
const NAME: usize = 64;

/// Reads a binary stream.
#[derive(Clone, Debug)]
pub struct Binary {
    most: usize,
    phase: Phase,
    shape: Shape,
    decided: bool,
    charset: Charset,
    ticks_per_second: Option<u64>,
    first_time: Option<u64>,
    tally: Tally,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Descriptor,
    Gap {
        until: u64,
    },
    Skip {
        until: u64,
    },
    Messages,
    /// Looking for the next message; bytes before `told` are handed out.
    Lost {
        from: u64,
        told: u64,
        cut: bool,
    },
    /// Nothing can be read any more.
    Dead,
    Done,
}

/// What became of the bytes at the start of the window.
enum Next {
    Took(usize),
    Need(usize),
    Lost,
    Cut,
    Stop,
}

impl From<Flow> for Next {
    fn from(flow: Flow) -> Self {
        if flow.is_break() {
            Self::Stop
        } else {
            Self::Took(0)
        }
    }
}

impl Reader for Binary {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        self.run(chunk, &mut ToRecords(out))
    }
}

impl Binary {
    /// A reader at the start of a stream.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            most: limits.size(Limit::Record).min(MOST),
            phase: Phase::Descriptor,
            shape: Shape::default(),
            decided: false,
            charset: Charset::Utf8,
            ticks_per_second: None,
            first_time: None,
            tally: Tally::default(),
        }
    }

    /// Reads every whole record of `chunk`, as [`Reader::read`] does, with their types.
    pub fn run<V: Visit>(&mut self, chunk: Chunk<'_>, out: &mut V) -> Step {
        let mut at = 0;
        let mut slots: Slots<'_> = [Slot::Number(0); MOST_FIELDS];
        loop {
            let rest = chunk.bytes.get(at..).unwrap_or_default();
            let here = chunk.offset + at as u64;
            if rest.is_empty() {
                if !chunk.eof {
                    return Step::More {
                        consumed: at,
                        need: 1,
                    };
                }
                return match self.end(here, out) {
                    Flow::Continue(()) => Step::More {
                        consumed: at,
                        need: 0,
                    },
                    Flow::Break(()) => Step::Stop,
                };
            }
            let next = match self.phase {
                Phase::Messages => self.message(rest, here, chunk.eof, &mut slots, out),
                Phase::Descriptor => self.descriptor(rest, here, chunk.eof, out),
                Phase::Gap { until } => self.gap(rest, here, chunk.eof, until, out),
                Phase::Skip { until } => self.skip(rest, here, chunk.eof, until, out),
                Phase::Lost { from, told, cut } => {
                    self.resync(rest, here, chunk.eof, (from, told, cut), out)
                }
                Phase::Dead | Phase::Done => piece(rest, here, chunk.eof, "damage", out),
            };
            match next {
                Next::Took(taken) => at += taken,
                Next::Need(need) => {
                    return Step::More {
                        consumed: at,
                        need: need.max(rest.len() + 1),
                    };
                }
                Next::Stop => return Step::Stop,
                lost @ (Next::Lost | Next::Cut) => {
                    self.phase = Phase::Lost {
                        from: here,
                        told: here,
                        cut: matches!(lost, Next::Cut),
                    };
                }
            }
        }
    }

    /// Tells at the end of the input what could only be told there.
    fn end<V: Visit>(&mut self, here: u64, out: &mut V) -> Flow {
        match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Done => return Flow::Continue(()),
            Phase::Descriptor => out.note(damage("no_descriptor", here, "the input is empty"))?,
            Phase::Gap { until } | Phase::Skip { until } if here < until => {
                out.note(damage(
                    "truncated",
                    here,
                    format!("the data begins at {until:#x}, past the end"),
                ))?;
            }
            _ => {}
        }
        if let (None, Some(offset)) = (self.ticks_per_second, self.first_time) {
            out.note(warn(
                "frequency_missing",
                offset,
                "no frequency: times are taken for nanoseconds",
            ))?;
        }
        self.tally.tell(wording, out)
    }

    fn descriptor<V: Visit>(&mut self, bytes: &[u8], here: u64, eof: bool, out: &mut V) -> Next {
        let Some(&head) = bytes.first_chunk::<DESCRIPTOR>() else {
            if !eof {
                return Next::Need(DESCRIPTOR);
            }
            self.phase = Phase::Dead;
            let end = here + bytes.len() as u64;
            return out
                .note(damage("truncated", end, "truncated descriptor"))
                .into();
        };
        let [a, b, c, d, major, minor, platform, endianness, offset @ ..] = head;
        let magic = [a, b, c, d];
        self.shape = Shape {
            big: endianness == 0,
            exclusive: false,
            newer: minor > 0,
        };
        let offset_to_data = self.shape.u32(offset);
        let refusal = if magic != *b"0TBF" && magic != *b"\0TBF" {
            Some((
                "not_tptp",
                0,
                "no magic number of a binary trace".to_owned(),
            ))
        } else if major != 1 {
            Some((
                "unsupported_version",
                4,
                format!("version {major}.{minor}, this reader knows 1.x"),
            ))
        } else if endianness > 1 {
            Some((
                "bad_endianness",
                7,
                format!("endianness {endianness}, expected 0 or 1"),
            ))
        } else if offset_to_data < 12 {
            Some((
                "bad_offset",
                8,
                format!("data at {offset_to_data}, inside the descriptor"),
            ))
        } else {
            None
        };
        if let Some((kind, offset, text)) = refusal {
            self.phase = Phase::Dead;
            return out.note(damage(kind, offset, text)).into();
        }
        if platform > 1
            && out
                .note(warn(
                    "bad_platform",
                    6,
                    format!("platform {platform}, expected 0 or 1"),
                ))
                .is_break()
        {
            return Next::Stop;
        }
        let descriptor = Descriptor {
            magic,
            major,
            minor,
            platform,
            endianness,
            offset_to_data,
        };
        let until = u64::from(offset_to_data);
        self.phase = match usize::try_from(offset_to_data) {
            Ok(DESCRIPTOR) => Phase::Messages,
            Ok(offset) if offset - DESCRIPTOR <= GAP => Phase::Gap { until },
            _ => Phase::Skip { until },
        };
        took(out.item(Item::Descriptor(&descriptor)), DESCRIPTOR)
    }

    /// Bytes before the data: whole system messages are honoured, anything else is room that a later
    /// version uses (SPEC.md §1.1).
    fn gap<V: Visit>(
        &mut self,
        bytes: &[u8],
        here: u64,
        eof: bool,
        until: u64,
        out: &mut V,
    ) -> Next {
        let length = usize::try_from(until.saturating_sub(here)).unwrap_or(usize::MAX);
        let Some(gap) = bytes.get(..length) else {
            if !eof {
                return Next::Need(length);
            }
            self.phase = Phase::Skip { until };
            return Next::Took(0);
        };
        for exclusive in [false, true] {
            let shape = Shape {
                exclusive,
                ..self.shape
            };
            if all_system(gap, shape) {
                self.shape = shape;
                self.decided |= exclusive;
                let mut at = 0;
                while let Some(rest) = gap.get(at..).filter(|rest| !rest.is_empty()) {
                    match self.system(rest, here + at as u64, true, out) {
                        Next::Took(taken) => at += taken,
                        Next::Stop => return Next::Stop,
                        _ => break,
                    }
                }
                self.phase = Phase::Messages;
                return Next::Took(at);
            }
        }
        self.phase = Phase::Skip { until };
        let text = format!("{length} bytes before the data are not system messages");
        out.note(info("gap_skipped", here, text).counting(length as u64))
            .into()
    }

    fn skip<V: Visit>(
        &mut self,
        bytes: &[u8],
        here: u64,
        eof: bool,
        until: u64,
        out: &mut V,
    ) -> Next {
        let length = usize::try_from(until.saturating_sub(here)).unwrap_or(usize::MAX);
        if length == 0 {
            self.phase = Phase::Messages;
            return Next::Took(0);
        }
        let eof = eof || bytes.len() >= length;
        piece(bytes.get(..length).unwrap_or(bytes), here, eof, "gap", out)
    }

    #[inline]
    fn message<'a, V: Visit>(
        &mut self,
        bytes: &'a [u8],
        offset: u64,
        eof: bool,
        slots: &mut Slots<'a>,
        out: &mut V,
    ) -> Next {
        let Some(&[a, b, size @ ..]) = bytes.first_chunk::<HEADER>() else {
            return self.short_header(bytes, offset, eof, out);
        };
        let id = self.shape.u16([a, b]);
        let size = self.shape.u32(size);
        let Some(schema) = by_id(id) else {
            return self.system(bytes, offset, eof, out);
        };
        if !self.decided {
            match size::decide(bytes, self.shape, eof) {
                Decision::Need(need) => return Next::Need(need),
                decision => self.settle(decision),
            }
        }
        let total = self.shape.total(size);
        let Some(payload) = bytes.get(HEADER..total) else {
            return self.beyond(schema, size, bytes, offset, eof, slots, out);
        };
        match decode(schema, payload, self.shape, slots) {
            Some(decoded) if decoded.used == payload.len() => {
                self.emit(schema, decoded, payload, None, offset, slots, out)
            }
            decoded => self.unfit(schema, size, decoded, bytes, offset, eof, slots, out),
        }
    }

    fn settle(&mut self, decision: Decision) {
        if let Decision::Exclusive(exclusive) = decision {
            self.decided = true;
            self.shape.exclusive = exclusive;
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one record")]
    #[inline]
    fn emit<'a, V: Visit>(
        &mut self,
        schema: &'static Schema,
        decoded: Decoded<'a>,
        payload: &'a [u8],
        declared: Option<u32>,
        offset: u64,
        slots: &Slots<'a>,
        out: &mut V,
    ) -> Next {
        if decoded.layout != Layout::Table {
            let (level, kind) = match decoded.layout {
                Layout::Broken => (Level::Warn, "broken_stack"),
                Layout::Counted => (Level::Warn, "counted_stack"),
                _ => (Level::Info, "wide_layout"),
            };
            self.tally.count(level, kind, schema.id, offset);
        } else if decoded.used < payload.len() {
            self.tally
                .count(Level::Warn, "longer_message", schema.id, offset);
        }
        if self.ticks_per_second.is_none() && self.first_time.is_none() {
            self.first_time = super::record::has_time(schema).then_some(offset);
        }
        let bytes = HEADER + payload.len();
        let data = Data {
            offset,
            bytes,
            message: Message {
                schema,
                layout: decoded.layout,
                values: slots.get(..decoded.fields).unwrap_or_default(),
                frames: decoded.frames,
                texts: Texts {
                    charset: self.charset,
                    ..Texts::default()
                },
            },
            trailing: payload.get(decoded.used..).unwrap_or_default(),
            declared,
            ticks_per_second: self.ticks_per_second.unwrap_or(0),
            shape: self.shape,
        };
        if !decoded.ascii && !data.message.is_valid() {
            self.tally
                .count(Level::Warn, "invalid_text", schema.id, offset);
        }
        took(out.item(Item::Data(&data)), bytes)
    }

    /// A known message whose size runs past the window: the size lies, or the data is cut.
    #[cold]
    #[expect(clippy::too_many_arguments, reason = "the parts of one record")]
    fn beyond<'a, V: Visit>(
        &mut self,
        schema: &'static Schema,
        size: u32,
        bytes: &'a [u8],
        offset: u64,
        eof: bool,
        slots: &mut Slots<'a>,
        out: &mut V,
    ) -> Next {
        let total = self.shape.total(size);
        if total < HEADER {
            return Next::Lost;
        }
        if total <= self.most && !eof {
            return Next::Need(total);
        }
        if total > self.most {
            let text = format!("a message of {total} bytes, limit {}", self.most);
            if out.note(damage("limit_record", offset, text)).is_break() {
                return Next::Stop;
            }
            return Next::Lost;
        }
        let payload = bytes.get(HEADER..).unwrap_or_default();
        match decode(schema, payload, self.shape, slots) {
            Some(decoded) if self.ends_here(&decoded, payload, eof) => {
                self.resized(schema, size, decoded, payload, offset, slots, out)
            }
            _ => Next::Cut,
        }
    }

    /// A known message whose fields do not fill its size.
    #[cold]
    #[expect(clippy::too_many_arguments, reason = "the parts of one record")]
    fn unfit<'a, V: Visit>(
        &mut self,
        schema: &'static Schema,
        size: u32,
        decoded: Option<Decoded<'a>>,
        bytes: &'a [u8],
        offset: u64,
        eof: bool,
        slots: &mut Slots<'a>,
        out: &mut V,
    ) -> Next {
        let total = self.shape.total(size);
        let ahead = total.saturating_add(2 * LOOK);
        if bytes.len() <= ahead && !eof {
            return Next::Need(ahead + 1);
        }
        let eof = eof && bytes.len() <= ahead;
        let bytes = bytes.get(..ahead).unwrap_or(bytes);
        let payload = bytes.get(HEADER..total).unwrap_or_default();
        let wider = bytes.get(HEADER..).unwrap_or_default();
        if let Some(decoded) = decoded {
            // The fields end early. If another message follows them at once, the size was damaged.
            let inside = wider.get(..payload.len() + LOOK).unwrap_or(wider);
            if self.ends_here(&decoded, inside, false) {
                return self.resized(schema, size, decoded, wider, offset, slots, out);
            }
            // `decoded` may belong to a later attempt than the slots: fill them again.
            if let Some(decoded) = decode(schema, payload, self.shape, slots) {
                return self.emit(schema, decoded, payload, None, offset, slots, out);
            }
        }
        if !size::goes_on(bytes.get(total..).unwrap_or_default(), self.shape, eof)
            && let Some(decoded) = decode(schema, wider, self.shape, slots)
            && self.ends_here(&decoded, wider, eof)
        {
            return self.resized(schema, size, decoded, wider, offset, slots, out);
        }
        let text = format!(
            "the fields of {} do not fit into its {total} bytes",
            schema.element
        );
        if out
            .note(damage("bad_message", offset, text).counting(total as u64))
            .is_break()
        {
            return Next::Stop;
        }
        let opaque = Opaque::damage(offset, bytes.get(..total).unwrap_or(bytes));
        took(out.item(Item::Opaque(&opaque)), total)
    }

    /// Tells whether the stream goes on right behind the fields.
    fn ends_here(&self, decoded: &Decoded<'_>, payload: &[u8], eof: bool) -> bool {
        let behind = payload.get(decoded.used..).unwrap_or_default();
        !self.shape.newer
            && decoded.layout != Layout::Broken
            && self.decided
            && size::goes_on(behind, self.shape, eof)
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one record")]
    fn resized<'a, V: Visit>(
        &mut self,
        schema: &'static Schema,
        size: u32,
        decoded: Decoded<'a>,
        payload: &'a [u8],
        offset: u64,
        slots: &Slots<'a>,
        out: &mut V,
    ) -> Next {
        let text = format!(
            "size {size} of {}, whose fields take {} bytes",
            schema.element, decoded.used
        );
        if out.note(damage("bad_size", offset, text)).is_break() {
            return Next::Stop;
        }
        let payload = payload.get(..decoded.used).unwrap_or(payload);
        self.emit(schema, decoded, payload, Some(size), offset, slots, out)
    }

    /// Fewer than six bytes are left: only an unsized system message may be that short.
    #[cold]
    fn short_header<V: Visit>(
        &mut self,
        bytes: &[u8],
        offset: u64,
        eof: bool,
        out: &mut V,
    ) -> Next {
        if !eof {
            return Next::Need(HEADER);
        }
        match bytes.first_chunk::<2>() {
            Some(&id) if self.shape.u16(id) == 1 => self.system(bytes, offset, eof, out),
            _ => Next::Cut,
        }
    }

    /// System messages, and messages that no table has (SPEC.md §1.3, §3).
    fn system<V: Visit>(&mut self, bytes: &[u8], offset: u64, eof: bool, out: &mut V) -> Next {
        let Some(&id) = bytes.first_chunk::<2>() else {
            return if eof { Next::Cut } else { Next::Need(2) };
        };
        match self.shape.u16(id) {
            1 if bytes
                .get(2..4)
                .is_some_and(|start| start.iter().all(|b| (0x20..0x7f).contains(b))) =>
            {
                let name = bytes.get(2..).unwrap_or_default();
                let name = name.get(..=NAME).unwrap_or(name);
                match memchr::memchr(0, name) {
                    Some(end) => {
                        self.encoding(name.get(..end).unwrap_or_default(), false, offset, out)
                    }
                    None if name.len() > NAME => Next::Lost,
                    None if eof => Next::Cut,
                    None => Next::Need(bytes.len() + 1),
                }
            }
            2 => self.frequency(bytes, offset, eof, out),
            id => self.sized(id, bytes, offset, eof, out),
        }
    }

    fn sized<V: Visit>(
        &mut self,
        id: u16,
        bytes: &[u8],
        offset: u64,
        eof: bool,
        out: &mut V,
    ) -> Next {
        let Some(&[_, _, size @ ..]) = bytes.first_chunk::<HEADER>() else {
            return if eof { Next::Cut } else { Next::Need(HEADER) };
        };
        if !self.decided {
            match size::decide(bytes, self.shape, eof) {
                Decision::Need(need) => return Next::Need(need),
                decision => self.settle(decision),
            }
        }
        let total = self.shape.total(self.shape.u32(size));
        if total < HEADER {
            return Next::Lost;
        }
        if total > self.most {
            let text = format!("a message of {total} bytes, limit {}", self.most);
            if out.note(damage("limit_record", offset, text)).is_break() {
                return Next::Stop;
            }
            return Next::Lost;
        }
        let Some(payload) = bytes.get(HEADER..total) else {
            return if eof { Next::Cut } else { Next::Need(total) };
        };
        if id == 1
            && payload.len() <= NAME + 1
            && let Some((0, name)) = payload.split_last()
            && !name.contains(&0)
        {
            return self.encoding(name, true, offset, out);
        }
        self.tally.count(Level::Warn, "unknown_message", id, offset);
        let unknown = Unknown {
            offset,
            id,
            payload,
            shape: self.shape,
        };
        took(out.item(Item::Unknown(&unknown)), total)
    }

    fn encoding<V: Visit>(&mut self, name: &[u8], sized: bool, offset: u64, out: &mut V) -> Next {
        let text = String::from_utf8_lossy(name);
        let flow = match Charset::named(&text) {
            Ok(charset) => {
                self.charset = charset;
                Flow::Continue(())
            }
            Err(Refusal::Wide) => out.note(damage(
                "refused_charset",
                offset,
                format!(
                    "{text} puts zero bytes into characters: strings stay in the charset before it"
                ),
            )),
            Err(Refusal::Unknown) => out.note(warn(
                "unknown_charset",
                offset,
                format!("charset {text} is not known: strings stay in the charset before it"),
            )),
        };
        if flow.is_break() {
            return Next::Stop;
        }
        let record = Encoding {
            offset,
            name,
            charset: self.charset,
            sized,
            shape: self.shape,
        };
        let length = if sized { HEADER } else { 2 } + name.len() + 1;
        took(out.item(Item::Encoding(&record)), length)
    }

    fn frequency<V: Visit>(&mut self, bytes: &[u8], offset: u64, eof: bool, out: &mut V) -> Next {
        let Some(&[_, _, size @ ..]) = bytes.first_chunk::<HEADER>() else {
            return if eof { Next::Cut } else { Next::Need(HEADER) };
        };
        let size = self.shape.u32(size);
        let (sized, length) = if size == 14 || size == 8 {
            (true, 14)
        } else {
            (false, 10)
        };
        let Some(&bits) = bytes.get(length - 8..).and_then(<[u8]>::first_chunk) else {
            return if eof { Next::Cut } else { Next::Need(length) };
        };
        let shape = Shape {
            exclusive: if sized {
                size == 8
            } else {
                self.shape.exclusive
            },
            ..self.shape
        };
        if sized && !self.decided {
            self.settle(Decision::Exclusive(size == 8));
        }
        let record = Frequency::new(offset, shape.u64(bits), sized, shape);
        let ticks = record.ticks_per_second();
        let doubt = match self.ticks_per_second {
            Some(first) if first != ticks => Some((
                "frequency_changed",
                format!("{ticks} ticks a second after {first}: the first holds"),
            )),
            Some(_) => None,
            None if ticks == 0 => Some((
                "frequency_zero",
                "0 ticks a second: times are taken for nanoseconds".to_owned(),
            )),
            None if record.as_double => Some((
                "frequency_double",
                format!("a frequency written as the double of {ticks}"),
            )),
            None => None,
        };
        self.ticks_per_second.get_or_insert(ticks);
        if let Some((kind, text)) = doubt
            && out.note(warn(kind, offset, text)).is_break()
        {
            return Next::Stop;
        }
        took(out.item(Item::Frequency(&record)), length)
    }

    /// Looks for two messages in a row, or one right before the end.
    fn resync<V: Visit>(
        &mut self,
        bytes: &[u8],
        here: u64,
        eof: bool,
        (from, told, cut): (u64, u64, bool),
        out: &mut V,
    ) -> Next {
        // Bytes from `told` on are still in the window, so `here` is where it begins.
        debug_assert_eq!(here, told);
        let first = usize::from(here == from);
        let last = if eof {
            bytes.len()
        } else {
            bytes.len().saturating_sub(2 * LOOK)
        };
        let found = (first..last.min(PIECE)).find_map(|at| {
            self.starts_at(bytes.get(at..)?, eof)
                .map(|shape| (at, shape))
        });
        let (length, found) = match found {
            Some((at, shape)) => (at, Some(shape)),
            None if last >= PIECE => (PIECE, None),
            None if eof => (bytes.len(), None),
            None => return Next::Need((PIECE + 2 * LOOK).max(bytes.len() + 1)),
        };
        let end = here + length as u64;
        self.phase = Phase::Lost {
            from,
            told: end,
            cut,
        };
        let opaque = Opaque::damage(here, bytes.get(..length).unwrap_or(bytes));
        if length > 0 && out.item(Item::Opaque(&opaque)).is_break() {
            return Next::Stop;
        }
        let at_end = eof && length == bytes.len();
        if found.is_some() || at_end {
            if let Some(shape) = found {
                self.shape = shape;
                self.decided = true;
            }
            self.phase = Phase::Messages;
            let note = if cut && found.is_none() {
                info("truncated", from, "the input ends inside a message")
            } else {
                damage("lost_sync", from, "no message begins here")
            };
            if out
                .note(Note {
                    count: end - from,
                    ..note
                })
                .is_break()
            {
                return Next::Stop;
            }
        }
        Next::Took(length)
    }

    fn starts_at(&self, bytes: &[u8], eof: bool) -> Option<Shape> {
        let exclusive = if self.decided {
            &[self.shape.exclusive][..]
        } else {
            &[false, true]
        };
        exclusive.iter().find_map(|&exclusive| {
            let shape = Shape {
                exclusive,
                ..self.shape
            };
            let total = size::certain(bytes, shape)?;
            size::goes_on(bytes.get(total..)?, shape, eof).then_some(shape)
        })
    }
}

fn took(flow: Flow, bytes: usize) -> Next {
    if flow.is_break() {
        Next::Stop
    } else {
        Next::Took(bytes)
    }
}

/// Hands out bytes that are no records, in pieces whose ends do not depend on the window.
fn piece<V: Visit>(bytes: &[u8], here: u64, eof: bool, kind: &'static str, out: &mut V) -> Next {
    let bytes = match bytes.get(..PIECE) {
        Some(piece) => piece,
        None if eof => bytes,
        None => return Next::Need(PIECE),
    };
    let opaque = Opaque {
        kind,
        offset: here,
        bytes,
    };
    took(out.item(Item::Opaque(&opaque)), bytes.len())
}

fn all_system(gap: &[u8], shape: Shape) -> bool {
    let mut at = 0;
    while let Some(rest) = gap.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(total) = system_length(rest, shape) else {
            return false;
        };
        at += total;
    }
    at == gap.len()
}

fn system_length(bytes: &[u8], shape: Shape) -> Option<usize> {
    let id = shape.u16(*bytes.first_chunk()?);
    if id == 1 && bytes.get(2..4)?.iter().all(|b| (0x20..0x7f).contains(b)) {
        return Some(2 + memchr::memchr(0, bytes.get(2..)?)? + 1);
    }
    let &[_, _, size @ ..] = bytes.first_chunk::<HEADER>()?;
    let size = shape.u32(size);
    let total = match id {
        2 if size != 14 && size != 8 => 10,
        2 => 14,
        0..=1000 => shape.total(size),
        _ => return None,
    };
    (HEADER..=bytes.len()).contains(&total).then_some(total)
}

fn wording(kind: &'static str, id: u16) -> String {
    let name = by_id(id).map_or("", |schema| schema.element);
    match kind {
        "unknown_message" => format!("messages with id {id}, which no table has"),
        "wide_layout" => format!("{name} in its wider layout"),
        "counted_stack" => format!("stacks of {name} whose arrays carry counts of their own"),
        "invalid_text" => format!("strings of {name} that are none of their charset's"),
        "broken_stack" => format!("stacks of {name} that cannot be read: their bytes are kept"),
        _ => format!("{name} with bytes behind its last field"),
    }
}

/// Reads one data message without a stream around it; it must take all of `bytes`.
///
/// # Errors
/// `Invalid` when the bytes are not exactly one message of the table, `Truncated` when they are short.
pub fn read_message<R>(
    bytes: &[u8],
    shape: Shape,
    then: impl FnOnce(&Message<'_>) -> R,
) -> Result<R, Error> {
    let Some(&[a, b, size @ ..]) = bytes.first_chunk::<HEADER>() else {
        return Err(Error::truncated(
            0,
            "message header",
            HEADER - bytes.len().min(HEADER),
        ));
    };
    let id = shape.u16([a, b]);
    let schema =
        by_id(id).ok_or_else(|| Error::invalid(0, format!("no data message has id {id}")))?;
    let total = shape.total(shape.u32(size));
    if total != bytes.len() {
        return Err(Error::invalid(
            2,
            format!("size says {total} bytes, there are {}", bytes.len()),
        ));
    }
    let mut slots: Slots<'_> = [Slot::Number(0); MOST_FIELDS];
    let payload = bytes.get(HEADER..).unwrap_or_default();
    let decoded = decode(schema, payload, shape, &mut slots)
        .filter(|decoded| decoded.used == payload.len())
        .ok_or_else(|| {
            Error::invalid(
                HEADER as u64,
                format!("not the fields of {}", schema.element),
            )
        })?;
    Ok(then(&Message {
        schema,
        layout: decoded.layout,
        values: slots.get(..decoded.fields).unwrap_or_default(),
        frames: decoded.frames,
        texts: Texts::default(),
    }))
}
