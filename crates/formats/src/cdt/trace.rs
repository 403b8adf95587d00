//! Trace: blocks of enters, exits and tags, each block one buffer of one thread (§6).

pub(super) mod blocks;
pub(super) mod records;
mod sums;

use super::text::{self, is_early, plausible_ms};
use crate::wire::{Cursor, Utf16, put_u32_varint};
use crate::{Error, ErrorKind};

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
