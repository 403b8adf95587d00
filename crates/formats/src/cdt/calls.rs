//! Calls: one row for each root call, in the order in which the calls ended (§5).

use traceloom_model::{Limit, Limits};

use super::text;
use crate::Error;
use crate::wire::{Cursor, Utf16, put_leb128, put_u32_varint, put_zigzag32};

mod reader;
mod stream;

pub(super) use reader::{Calls, unknown_thread};
pub(super) use stream::{HeaderOrRow, RowStream};

/// What stands in the upper half of the first integer of formats 1 to 4.
const MAGIC: u64 = 0xfffe_fdfc;

/// The head of a calls file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Format, 0 to 4. Format 0 has no magic number.
    pub version: u8,
    /// Epoch milliseconds that the first row's delta counts from.
    pub start_time: i64,
}

impl Header {
    /// Reads the head.
    ///
    /// # Errors
    /// `Truncated`, and `Unsupported` for a format above 4.
    pub fn read(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let offset = cursor.offset();
        let first = cursor.u64_be("calls header")?;
        if first >> 32 != MAGIC {
            return Ok(Self {
                version: 0,
                start_time: first.cast_signed(),
            });
        }
        let number = first & 0xffff_ffff;
        let version = u8::try_from(number).ok().filter(|&v| v <= 4);
        let version = version.ok_or_else(|| {
            Error::unsupported(offset, format!("calls format {number}; 0 to 4 are known"))
        })?;
        let start_time = cursor.i64_be("start time")?;
        Ok(Self {
            version,
            start_time,
        })
    }

    /// Returns true if the magic number stands at the beginning of `bytes`.
    pub(super) fn begins(bytes: &[u8]) -> bool {
        let magic = bytes.first_chunk().copied().map(u32::from_be_bytes);
        magic.map(u64::from) == Some(MAGIC)
    }

    /// Appends the head.
    pub fn write(&self, out: &mut Vec<u8>) {
        // Format 0 has no magic number; version 0 behind one is written back by its reader as it was.
        if self.version > 0 {
            out.extend((MAGIC << 32 | u64::from(self.version)).to_be_bytes());
        }
        out.extend(self.start_time.to_be_bytes());
    }
}

/// One row, borrowed from the input. Fields that its format does not have are 0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Row<'a> {
    /// Milliseconds since the previous row's start, or since the file's start time.
    pub time_delta: i32,
    /// Dictionary id of the root method.
    pub method: u32,
    /// Milliseconds.
    pub duration: u32,
    /// Number of calls in the tree, the root included.
    pub calls: u32,
    /// Number of the thread's name in this file.
    pub thread_index: u32,
    /// The name, in the row that first uses it.
    pub thread_name: Option<Utf16<'a>>,
    /// Characters written to logs.
    pub logs_written: u32,
    /// Characters generated for logs but not written.
    pub logs_dropped: u32,
    /// Number of the trace file, from 1.
    pub trace_file_index: u32,
    /// Offset of the trace block that the call begins in.
    pub buffer_offset: u32,
    /// Ordinal of the call's first event in that block.
    pub record_index: u32,
    /// Milliseconds of processor time, as written; see [`Row::cpu_time`].
    pub cpu_raw: u64,
    /// Milliseconds of waiting, as written; see [`Row::wait_time`].
    pub wait_raw: u64,
    /// Bytes allocated.
    pub memory_used: u64,
    /// Bytes.
    pub file_read: u64,
    /// Bytes.
    pub file_written: u64,
    /// Bytes.
    pub net_read: u64,
    /// Bytes.
    pub net_written: u64,
    /// Transactions.
    pub transactions: u32,
    /// Milliseconds in a queue.
    pub queue_wait: u32,
    /// Indexed parameters.
    pub params: Params<'a>,
}

/// The indexed parameters of a row: checked, decoded on demand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Params<'a> {
    count: u32,
    bytes: &'a [u8],
}

impl<'a> Params<'a> {
    /// Takes `count` parameters as they are written: id, number of values, values.
    #[must_use]
    pub const fn new(count: u32, bytes: &'a [u8]) -> Self {
        Self { count, bytes }
    }

    /// Returns the number of parameters.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Returns true if there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Iterates over dictionary id and values of each.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Values<'a>)> + use<'a> {
        let mut cursor = Cursor::new(self.bytes, 0);
        (0..self.count).map_while(move |_| {
            let id = cursor.varint32("parameter").ok()?;
            let count = cursor.varint32("value count").ok()?;
            let start = cursor.position();
            for _ in 0..count {
                text::string(&mut cursor, usize::MAX, "value").ok()?;
            }
            let bytes = cursor.slice(start, cursor.position());
            Some((id, Values { count, bytes }))
        })
    }
}

/// The values of one parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Values<'a> {
    count: u32,
    bytes: &'a [u8],
}

impl<'a> Values<'a> {
    /// Returns the number of values; the producer writes none, one or many.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Returns true if there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Iterates over the values.
    pub fn iter(&self) -> impl Iterator<Item = Utf16<'a>> + use<'a> {
        let mut cursor = Cursor::new(self.bytes, 0);
        (0..self.count).map_while(move |_| text::string(&mut cursor, usize::MAX, "value").ok())
    }
}

impl<'a> Row<'a> {
    /// Reads a row of format `version` in a file in which `names` thread names were seen.
    ///
    /// # Errors
    /// `Truncated`, `Invalid` for a varint that is too long, `Limit` for a string or a parameter list
    /// above the limits.
    #[inline]
    pub fn read(
        cursor: &mut Cursor<'a>,
        version: u8,
        names: u32,
        limits: &RowLimits,
    ) -> Result<Self, Error> {
        let mut row = Self::read_numbers(cursor, version, names, limits)?;
        row.read_params(cursor, limits)?;
        Ok(row)
    }

    /// Reads what stands before the parameters, and how many they are.
    #[inline]
    fn read_numbers(
        cursor: &mut Cursor<'a>,
        version: u8,
        names: u32,
        limits: &RowLimits,
    ) -> Result<Self, Error> {
        let time_delta = cursor.zigzag32("time delta")?;
        let method = cursor.varint32("method")?;
        let duration = cursor.varint32("duration")?;
        let calls = cursor.varint32("calls")?;
        let mut row = Self {
            time_delta,
            method,
            duration,
            calls,
            ..EMPTY
        };
        if version >= 1 {
            row.thread_index = cursor.varint32("thread index")?;
            if row.thread_index == names {
                row.thread_name = Some(text::string(cursor, limits.string, "thread name")?);
            }
            row.logs_written = cursor.varint32("logs written")?;
            row.logs_dropped = cursor.varint32("logs generated")?;
        }
        row.trace_file_index = cursor.varint32("trace file index")?;
        row.buffer_offset = cursor.varint32("buffer offset")?;
        row.record_index = cursor.varint32("record index")?;
        if version >= 2 {
            row.cpu_raw = cursor.leb128("cpu time")?;
            row.wait_raw = cursor.leb128("wait time")?;
            row.memory_used = cursor.leb128("memory used")?;
        }
        if version >= 3 {
            row.file_read = cursor.leb128("file read")?;
            row.file_written = cursor.leb128("file written")?;
            row.net_read = cursor.leb128("net read")?;
            row.net_written = cursor.leb128("net written")?;
        }
        if version >= 4 {
            row.transactions = cursor.varint32("transactions")?;
            row.queue_wait = cursor.varint32("queue wait")?;
        }
        row.params.count = cursor.varint32("parameter count")?;
        Ok(row)
    }

    #[inline]
    fn read_params(&mut self, cursor: &mut Cursor<'a>, limits: &RowLimits) -> Result<(), Error> {
        if self.params.count > 0 {
            let start = cursor.position();
            skip_params(cursor, self.params.count, limits)?;
            self.params.bytes = cursor.slice(start, cursor.position());
        }
        Ok(())
    }

    /// Appends the row in format `version`.
    pub fn write(&self, version: u8, out: &mut Vec<u8>) {
        put_zigzag32(out, self.time_delta);
        for value in [self.method, self.duration, self.calls] {
            put_u32_varint(out, value);
        }
        if version >= 1 {
            put_u32_varint(out, self.thread_index);
            if let Some(name) = self.thread_name {
                text::put(out, name);
            }
            put_u32_varint(out, self.logs_written);
            put_u32_varint(out, self.logs_dropped);
        }
        for value in [self.trace_file_index, self.buffer_offset, self.record_index] {
            put_u32_varint(out, value);
        }
        if version >= 2 {
            for value in [self.cpu_raw, self.wait_raw, self.memory_used] {
                put_leb128(out, value);
            }
        }
        if version >= 3 {
            for value in [
                self.file_read,
                self.file_written,
                self.net_read,
                self.net_written,
            ] {
                put_leb128(out, value);
            }
        }
        if version >= 4 {
            put_u32_varint(out, self.transactions);
            put_u32_varint(out, self.queue_wait);
        }
        put_u32_varint(out, self.params.count);
        out.extend_from_slice(self.params.bytes);
    }

    /// Returns the processor time in milliseconds; written from a 32-bit integer that may be negative.
    #[must_use]
    pub const fn cpu_time(&self) -> i64 {
        narrow(self.cpu_raw)
    }

    /// Returns the waiting time in milliseconds; written from a 32-bit integer that may be negative.
    #[must_use]
    pub const fn wait_time(&self) -> i64 {
        narrow(self.wait_raw)
    }

    /// Returns the characters generated for logs; the stream stores what was not written.
    #[must_use]
    pub const fn logs_generated(&self) -> u64 {
        self.logs_written as u64 + self.logs_dropped as u64
    }
}

/// A value cast to 32 bits before it was written as a long (§1.4).
const fn narrow(raw: u64) -> i64 {
    if raw >= 1 << 31 && raw < 1 << 32 {
        raw.cast_signed() - (1 << 32)
    } else {
        raw.cast_signed()
    }
}

const EMPTY: Row<'static> = Row {
    time_delta: 0,
    method: 0,
    duration: 0,
    calls: 0,
    thread_index: 0,
    thread_name: None,
    logs_written: 0,
    logs_dropped: 0,
    trace_file_index: 0,
    buffer_offset: 0,
    record_index: 0,
    cpu_raw: 0,
    wait_raw: 0,
    memory_used: 0,
    file_read: 0,
    file_written: 0,
    net_read: 0,
    net_written: 0,
    transactions: 0,
    queue_wait: 0,
    params: Params {
        count: 0,
        bytes: &[],
    },
};

/// How much of a row is believed.
#[derive(Clone, Copy, Debug)]
pub struct RowLimits {
    string: usize,
    values: usize,
}

impl RowLimits {
    /// Takes the limits of a row from the limits in force.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            string: text::limit(limits),
            values: limits.size(Limit::Values),
        }
    }
}

fn skip_params(cursor: &mut Cursor<'_>, count: u32, limits: &RowLimits) -> Result<(), Error> {
    let offset = cursor.offset();
    let mut left = limits.values;
    for _ in 0..count {
        cursor.varint32("parameter")?;
        let values = cursor.varint32("value count")?;
        left = left
            .checked_sub(values as usize + 1)
            .ok_or_else(|| Error::limit(offset, "parameters above the limit of values"))?;
        for _ in 0..values {
            text::string(cursor, limits.string, "parameter value")?;
        }
    }
    Ok(())
}
