//! Trace: blocks of enters, exits and tags, each block one buffer of one thread (§6).

use std::collections::HashMap;

use traceloom_model::{Flow, Limit, Limits, Note};

use super::text::{self, is_early, ns, plausible_ms};
use crate::wire::units::{Recovery, Sync, Units, tail};
use crate::wire::{Cursor, Utf16, put_u32_varint};
use crate::{Error, ErrorKind, Field, Record, RecordSink};

/// Bytes of a block's head.
pub const BLOCK_HEAD: usize = 16;

/// The head of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// Java thread id.
    pub thread_id: i64,
    /// Epoch milliseconds at which the buffer began; not after its first event.
    pub real_time: i64,
}

impl Block {
    /// Reads the head.
    ///
    /// # Errors
    /// `Truncated`.
    #[inline]
    pub fn read(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let thread_id = cursor.i64_be("thread id")?;
        let real_time = cursor.i64_be("real time")?;
        Ok(Self {
            thread_id,
            real_time,
        })
    }

    /// Appends the head.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.thread_id.to_be_bytes());
        out.extend_from_slice(&self.real_time.to_be_bytes());
    }
}

/// One event of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event<'a> {
    /// Milliseconds since the event before it; of the first one in a block, since the timer's start.
    /// Wraps in 32 bits. Absent from a finish.
    pub elapsed: i32,
    /// What happened.
    pub what: TraceAction<'a>,
}

/// What an event says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceAction<'a> {
    /// A method began: its dictionary id.
    Enter(u32),
    /// The innermost method ended.
    Exit,
    /// A parameter was set: its dictionary id and value.
    Tag(u32, TagValue<'a>),
    /// The block ends; the byte that says so, 3 from every known writer.
    Finish(u8),
}

/// The value of a tag (§6.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TagValue<'a> {
    /// A string.
    Inline(Utf16<'a>),
    /// A string that the calls row repeats.
    Indexed(Utf16<'a>),
    /// A string in the xml stream.
    Big(ValueReference),
    /// A string in the sql stream, where equal texts share a place.
    Deduplicated(ValueReference),
}

/// Where a big value is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ValueReference {
    /// Number of the file, from 1.
    pub file_index: u32,
    /// Offset of the string's length in it.
    pub offset: u32,
}

impl TagValue<'_> {
    /// Returns the type byte.
    #[must_use]
    pub const fn type_byte(&self) -> u8 {
        match self {
            Self::Inline(_) => 0,
            Self::Big(_) => 1,
            Self::Indexed(_) => 2,
            Self::Deduplicated(_) => 3,
        }
    }
}

impl<'a> Event<'a> {
    /// Reads an event.
    ///
    /// # Errors
    /// `Truncated`; `Invalid` for a varint that is too long; `Unsupported` for a tag of an unknown
    /// type, after which nothing of the block can be read; `Limit` for a string above `string_limit`.
    #[inline(always)]
    pub fn read(cursor: &mut Cursor<'a>, string_limit: usize) -> Result<Self, Error> {
        let header = cursor.u8("event")?;
        if header & 3 == 3 {
            return Ok(Self {
                elapsed: 0,
                what: TraceAction::Finish(header),
            });
        }
        let mut elapsed = i32::from(header >> 2 & 0x1f);
        if header & 0x80 != 0 {
            elapsed |= (cursor.varint32("elapsed")? << 5).cast_signed();
        }
        let what = match header & 3 {
            0 => TraceAction::Enter(cursor.varint32("method")?),
            1 => TraceAction::Exit,
            _ => Self::tag(cursor, string_limit)?,
        };
        Ok(Self { elapsed, what })
    }

    #[inline]
    fn tag(cursor: &mut Cursor<'a>, string_limit: usize) -> Result<TraceAction<'a>, Error> {
        let id = cursor.varint32("tag")?;
        let at = cursor.offset();
        let value = match cursor.u8("tag type")? {
            0 => TagValue::Inline(text::string(cursor, string_limit, "tag value")?),
            2 => TagValue::Indexed(text::string(cursor, string_limit, "tag value")?),
            1 => TagValue::Big(ValueReference::read(cursor)?),
            3 => TagValue::Deduplicated(ValueReference::read(cursor)?),
            other => return Err(unknown_type(at, other)),
        };
        Ok(TraceAction::Tag(id, value))
    }

    /// Appends the event.
    #[inline(always)]
    pub fn write(&self, out: &mut Vec<u8>) {
        let kind = match self.what {
            TraceAction::Enter(_) => 0,
            TraceAction::Exit => 1,
            TraceAction::Tag(..) => 2,
            TraceAction::Finish(byte) => return out.push(byte),
        };
        let low = (self.elapsed.cast_unsigned() & 0x1f).to_le_bytes();
        let low = low.first().copied().unwrap_or(0) << 2;
        if (0..32).contains(&self.elapsed) {
            out.push(kind | low);
        } else {
            out.push(kind | low | 0x80);
            put_u32_varint(out, (self.elapsed >> 5).cast_unsigned());
        }
        match self.what {
            TraceAction::Enter(method) => put_u32_varint(out, method),
            TraceAction::Exit | TraceAction::Finish(_) => {}
            TraceAction::Tag(id, value) => {
                put_u32_varint(out, id);
                out.push(value.type_byte());
                match value {
                    TagValue::Inline(value) | TagValue::Indexed(value) => text::put(out, value),
                    TagValue::Big(place) | TagValue::Deduplicated(place) => {
                        put_u32_varint(out, place.file_index);
                        put_u32_varint(out, place.offset);
                    }
                }
            }
        }
    }
}

#[cold]
fn unknown_type(at: u64, byte: u8) -> Error {
    Error::unsupported(at, format!("unknown tag type {byte:#04x}"))
}

impl ValueReference {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        Ok(Self {
            file_index: cursor.varint32("file index")?,
            offset: cursor.varint32("value offset")?,
        })
    }
}

/// How a block that cannot be read on is left, in bytes to look ahead for the next one.
pub(super) const LOOK: usize = 4096;

/// How far apart a trace's start and a block's time may lie for a guess: ten years of milliseconds.
const APART: u64 = 10 * 366 * 86_400_000;

/// Guesses whether a block begins at `bytes`, from its first [`LOOK`] bytes; `None` when more of them
/// must be seen.
///
/// A thread id of Java is small and positive, the time is near the trace's own, and what follows reads
/// as events. The guess serves recovery and detection only.
pub(super) fn plausible_block(bytes: &[u8], start: i64, all: bool) -> Option<bool> {
    let mut cursor = Cursor::new(bytes, 0);
    let Ok(block) = Block::read(&mut cursor) else {
        return if all { Some(false) } else { None };
    };
    let near = block.real_time.abs_diff(start) < APART;
    // Where the trace itself begins in the first years, its clock was never set.
    let dated = if plausible_ms(start) {
        near && plausible_ms(block.real_time)
    } else {
        plausible_ms(block.real_time) || (near && is_early(start) && block.real_time >= 0)
    };
    let small = block.thread_id > 0 && block.thread_id < 1 << 32;
    if !small || !dated {
        return Some(false);
    }
    if bytes.len() < LOOK && !all {
        return None;
    }
    let window = bytes.get(..LOOK).unwrap_or(bytes);
    let mut cursor = Cursor::new(window, 0);
    cursor.seek(BLOCK_HEAD);
    for seen in 0..16 {
        match Event::read(&mut cursor, 2 << 20) {
            // Blocks without events are not written.
            Ok(event) if matches!(event.what, TraceAction::Finish(3)) => return Some(seen > 0),
            Ok(event) if matches!(event.what, TraceAction::Finish(_)) => return Some(false),
            Ok(_) => {}
            Err(error) => return Some(matches!(error.kind(), ErrorKind::Truncated { .. })),
        }
    }
    Some(true)
}

/// The record reader of a trace stream.
#[derive(Clone)]
pub(super) struct Trace {
    string_limit: usize,
    start: Option<i64>,
    inside: bool,
    elapsed: i32,
    /// The thread of the block, and how many of its methods are open.
    thread: i64,
    depth: u32,
    /// Open methods of the threads whose stacks go on in later blocks.
    depths: HashMap<i64, u32>,
    threads: usize,
}

impl Trace {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            string_limit: text::limit(limits),
            start: None,
            inside: false,
            elapsed: 0,
            thread: 0,
            depth: 0,
            depths: HashMap::new(),
            threads: limits.size(Limit::Table),
        }
    }

    /// Goes over to the thread of a block.
    fn enter_block(&mut self, thread: i64) {
        let known = self.depths.len() < self.threads || self.depths.contains_key(&self.thread);
        match self.depth {
            0 => drop(self.depths.remove(&self.thread)),
            depth if known => drop(self.depths.insert(self.thread, depth)),
            _ => {}
        }
        self.thread = thread;
        self.depth = self.depths.get(&thread).copied().unwrap_or(0);
    }

    /// Returns how many methods are open around the one that an event belongs to.
    fn level(&mut self, what: &TraceAction<'_>) -> u32 {
        match what {
            TraceAction::Enter(_) => {
                self.depth = self.depth.saturating_add(1);
                self.depth - 1
            }
            TraceAction::Exit => {
                self.depth = self.depth.saturating_sub(1);
                self.depth
            }
            TraceAction::Tag(..) | TraceAction::Finish(_) => self.depth.saturating_sub(1),
        }
    }
}

impl Units for Trace {
    fn unit(
        &mut self,
        cursor: &mut Cursor<'_>,
        _eof: bool,
        out: &mut dyn RecordSink,
    ) -> Result<Flow, Error> {
        let (at, offset) = (cursor.position(), cursor.offset());
        let Some(start) = self.start else {
            let start = cursor.i64_be("timer start")?;
            self.start = Some(start);
            return Ok(out.record(&TraceHeader { offset, start }));
        };
        if !self.inside {
            let block = Block::read(cursor).map_err(|error| error.within("trace block"))?;
            self.inside = true;
            self.elapsed = 0;
            self.enter_block(block.thread_id);
            return Ok(out.record(&BlockRecord { offset, block }));
        }
        let event = Event::read(cursor, self.string_limit)
            .map_err(|error| error.within("event").within("trace block"))?;
        self.elapsed = self.elapsed.wrapping_add(event.elapsed);
        if matches!(event.what, TraceAction::Finish(_)) {
            self.inside = false;
        }
        let raw = cursor.slice(at, cursor.position());
        let record = EventRecord {
            offset,
            level: self.level(&event.what),
            exact: !cursor.take_padded(),
            event,
            raw,
            time: start.saturating_add(i64::from(self.elapsed)),
        };
        Ok(out.record(&record))
    }

    fn failed(&mut self, error: &Error, offset: u64, rest: usize) -> (Note, Recovery) {
        if let ErrorKind::Unsupported = error.kind() {
            let note = crate::damage("unknown_tag_type", offset, error.to_string());
            return (note, Recovery::Sync);
        }
        let what = match (self.start, self.inside) {
            (None, _) => "trace header",
            (_, false) => "trace block",
            _ => "event",
        };
        (tail(what, error, offset, rest), Recovery::Sync)
    }

    fn sync(&mut self, bytes: &[u8], eof: bool) -> Sync {
        match plausible_block(bytes, self.start.unwrap_or(0), eof) {
            Some(true) => {
                self.inside = false;
                Sync::Hit
            }
            Some(false) => Sync::Miss,
            None => Sync::Need(LOOK),
        }
    }

    fn finish(&mut self, offset: u64, out: &mut dyn RecordSink) -> Flow {
        if !self.inside {
            return Flow::Continue(());
        }
        out.note(partial_block(offset))
    }
}

/// The note for a file whose last block has no end.
pub(super) fn partial_block(offset: u64) -> Note {
    let text = "the input ends inside a trace block, between two events";
    crate::warn("partial_block", offset, text)
}

struct TraceHeader {
    offset: u64,
    start: i64,
}

impl Record for TraceHeader {
    fn kind(&self) -> &'static str {
        "trace_header"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        8
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        show("timer_start", Field::I64(self.start));
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.start.to_be_bytes());
    }

    fn time(&self) -> Option<(i64, i64)> {
        Some((ns(self.start), ns(self.start)))
    }
}

struct BlockRecord {
    offset: u64,
    block: Block,
}

impl Record for BlockRecord {
    fn kind(&self) -> &'static str {
        "block"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        BLOCK_HEAD as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        show("thread_id", Field::I64(self.block.thread_id));
        show("real_time", Field::I64(self.block.real_time));
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.block.write(out);
    }

    fn time(&self) -> Option<(i64, i64)> {
        let time = ns(self.block.real_time);
        Some((time, time))
    }
}

struct EventRecord<'a> {
    offset: u64,
    event: Event<'a>,
    raw: &'a [u8],
    exact: bool,
    time: i64,
    level: u32,
}

impl EventRecord<'_> {
    /// Returns true if the extension of `elapsed` is the one a writer would choose: none below 32, and
    /// no bits that the shift drops.
    fn canonical_elapsed(&self) -> bool {
        let Some((&header, rest)) = self.raw.split_first() else {
            return true;
        };
        if header & 3 == 3 || header & 0x80 == 0 {
            return true;
        }
        let extension = Cursor::new(rest, 0).varint32("elapsed").unwrap_or(0);
        !(0..32).contains(&self.event.elapsed)
            && extension == (self.event.elapsed >> 5).cast_unsigned()
    }
}

impl Record for EventRecord<'_> {
    fn kind(&self) -> &'static str {
        match self.event.what {
            TraceAction::Enter(_) => "enter",
            TraceAction::Exit => "exit",
            TraceAction::Tag(..) => "tag",
            TraceAction::Finish(_) => "finish",
        }
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        self.raw.len() as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        if let TraceAction::Finish(byte) = self.event.what {
            return show("header", Field::U64(u64::from(byte)));
        }
        show("level", Field::U64(u64::from(self.level)));
        let header = self.raw.first().copied().unwrap_or(0);
        show("header", Field::U64(u64::from(header)));
        show("elapsed", Field::I64(i64::from(self.event.elapsed)));
        show("time", Field::I64(self.time));
        match self.event.what {
            TraceAction::Enter(method) => {
                show("method", Field::Id("dictionary", u64::from(method)))
            }
            TraceAction::Exit | TraceAction::Finish(_) => {}
            TraceAction::Tag(id, value) => {
                show("tag", Field::Id("dictionary", u64::from(id)));
                show("value_type", Field::U64(u64::from(value.type_byte())));
                match value {
                    TagValue::Inline(value) | TagValue::Indexed(value) => {
                        show("value", Field::Utf16(value.0));
                    }
                    TagValue::Big(place) | TagValue::Deduplicated(place) => {
                        show("file_index", Field::U64(u64::from(place.file_index)));
                        show("value_offset", Field::U64(u64::from(place.offset)));
                    }
                }
            }
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        if self.exact && self.canonical_elapsed() {
            self.event.write(out);
        } else {
            out.extend_from_slice(self.raw);
        }
    }

    fn time(&self) -> Option<(i64, i64)> {
        match self.event.what {
            TraceAction::Finish(_) => None,
            _ => Some((ns(self.time), ns(self.time))),
        }
    }
}
