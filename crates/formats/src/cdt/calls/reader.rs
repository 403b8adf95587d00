//! The rows of a calls stream as records, for `dump`, `check` and writing again.

use traceloom_model::{Flow, Limits, Note};

use super::{Header, HeaderOrRow, Row, RowStream};
use crate::cdt::text::ns;
use crate::wire::units::{Recovery, Sync, Units};
use crate::wire::{Cursor, Utf16};
use crate::{Error, Field, Record, RecordSink};

/// The record reader of a calls stream.
#[derive(Clone)]
pub(in crate::cdt) struct Calls {
    rows: RowStream,
}

impl Calls {
    pub(in crate::cdt) fn new(limits: &Limits) -> Self {
        Self {
            rows: RowStream::new(limits),
        }
    }
}

impl Units for Calls {
    fn unit(
        &mut self,
        cursor: &mut Cursor<'_>,
        eof: bool,
        out: &mut dyn RecordSink,
    ) -> Result<Flow, Error> {
        let (start, offset) = (cursor.position(), cursor.offset());
        let names = self.rows.threads.len();
        let row = match self.rows.next(cursor, eof)? {
            HeaderOrRow::Header(header) => {
                let raw = cursor.slice(start, cursor.position());
                return Ok(out.record(&HeaderRecord {
                    header,
                    offset,
                    raw,
                }));
            }
            HeaderOrRow::Row(row) => row,
        };
        let raw = cursor.slice(start, cursor.position());
        let exact = !cursor.take_padded();
        let version = self.rows.version();
        let thread = self.rows.threads.name(row.thread_index);
        if thread.is_none()
            && version >= 1
            && out
                .note(unknown_thread(offset, row.thread_index, names))
                .is_break()
        {
            return Ok(Flow::Break(()));
        }
        Ok(out.record(&CallRecord {
            row: &row,
            version,
            offset,
            raw,
            exact,
            time: self.rows.time,
            thread,
        }))
    }

    fn failed(&mut self, error: &Error, offset: u64, rest: usize) -> (Note, Recovery) {
        self.rows.failed(error, offset, rest)
    }

    fn sync(&mut self, bytes: &[u8], eof: bool) -> Sync {
        self.rows.sync(bytes, eof)
    }

    fn tries_again(&self) -> bool {
        self.rows.tries_again()
    }
}

/// The note for a row whose thread index is beyond the names seen.
pub(in crate::cdt) fn unknown_thread(offset: u64, index: u32, names: u32) -> Note {
    crate::warn(
        "unknown_thread",
        offset,
        match index < names {
            true => format!("the name of thread index {index} was lost"),
            false => format!("thread index {index}, but only {names} names were seen"),
        },
    )
}

struct HeaderRecord<'a> {
    header: Header,
    offset: u64,
    raw: &'a [u8],
}

impl Record for HeaderRecord<'_> {
    fn kind(&self) -> &'static str {
        "calls_header"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        self.raw.len() as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        show("version", Field::U64(u64::from(self.header.version)));
        show("start_time", Field::I64(self.header.start_time));
    }

    fn write(&self, out: &mut Vec<u8>) {
        let long = self.raw.len() == 16;
        if long != (self.header.version > 0) {
            return out.extend_from_slice(self.raw);
        }
        self.header.write(out);
    }

    fn time(&self) -> Option<(i64, i64)> {
        let time = ns(self.header.start_time);
        Some((time, time))
    }
}

struct CallRecord<'a> {
    row: &'a Row<'a>,
    version: u8,
    offset: u64,
    raw: &'a [u8],
    exact: bool,
    time: i64,
    thread: Option<Utf16<'a>>,
}

impl Record for CallRecord<'_> {
    fn kind(&self) -> &'static str {
        "call"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        self.raw.len() as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        let row = self.row;
        show("time_delta", Field::I64(i64::from(row.time_delta)));
        show("time", Field::I64(self.time));
        show("method", Field::Id("dictionary", u64::from(row.method)));
        let mut number = |name: &str, value: u32| show(name, Field::U64(u64::from(value)));
        number("duration", row.duration);
        number("calls", row.calls);
        if self.version >= 1 {
            number("thread_index", row.thread_index);
            match self.thread {
                Some(name) => show("thread_name", Field::Utf16(name.0)),
                None => {
                    let name = format!("unknown # {}", row.thread_index);
                    show("thread_name", Field::Str(&name));
                }
            }
            show("logs_written", Field::U64(u64::from(row.logs_written)));
            show("logs_generated", Field::U64(row.logs_generated()));
        }
        let mut number = |name: &str, value: u32| show(name, Field::U64(u64::from(value)));
        number("trace_file_index", row.trace_file_index);
        number("buffer_offset", row.buffer_offset);
        number("record_index", row.record_index);
        if self.version >= 2 {
            show("cpu_time", Field::I64(row.cpu_time()));
            show("wait_time", Field::I64(row.wait_time()));
            show("memory_used", Field::U64(row.memory_used));
        }
        if self.version >= 3 {
            show("file_read", Field::U64(row.file_read));
            show("file_written", Field::U64(row.file_written));
            show("net_read", Field::U64(row.net_read));
            show("net_written", Field::U64(row.net_written));
        }
        if self.version >= 4 {
            show("transactions", Field::U64(u64::from(row.transactions)));
            show("queue_wait", Field::U64(u64::from(row.queue_wait)));
        }
        let values: Vec<(u64, Vec<Field<'_>>)> = row
            .params
            .iter()
            .map(|(id, values)| {
                let values = values.iter().map(|value| Field::Utf16(value.0));
                (u64::from(id), values.collect())
            })
            .collect();
        let params: Vec<[(Field<'_>, Field<'_>); 2]> = values
            .iter()
            .map(|(id, values)| {
                [
                    (Field::Str("id"), Field::Id("dictionary", *id)),
                    (Field::Str("values"), Field::List(values)),
                ]
            })
            .collect();
        let params: Vec<Field<'_>> = params.iter().map(|param| Field::Map(param)).collect();
        show("params", Field::List(&params));
    }

    fn write(&self, out: &mut Vec<u8>) {
        if self.exact {
            self.row.write(self.version, out);
        } else {
            out.extend_from_slice(self.raw);
        }
    }

    fn time(&self) -> Option<(i64, i64)> {
        let end = self.time.saturating_add(i64::from(self.row.duration));
        Some((ns(self.time), ns(end)))
    }
}
