//! Lines of text as records, whatever they hold, and what lowering reads of them.

use traceloom_model::{Flow, Limit, Limits, Note, PartId};

use crate::wire::Cursor;
use crate::wire::units::{Recovery, Stream, Units, tail};
use crate::{Error, Field, Fork, Record, RecordSink, Source, drive};

/// The record reader of a stream of lines.
#[derive(Clone)]
pub(crate) struct LineUnits {
    longest: usize,
}

impl LineUnits {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            longest: limits.size(Limit::String).max(1),
        }
    }
}

impl Units for LineUnits {
    fn unit(
        &mut self,
        cursor: &mut Cursor<'_>,
        eof: bool,
        out: &mut dyn RecordSink,
    ) -> Result<Flow, Error> {
        let offset = cursor.offset();
        let rest = cursor.rest();
        let window = rest.get(..self.longest).unwrap_or(rest);
        let length = match window.iter().position(|&byte| byte == b'\n') {
            Some(at) => at + 1,
            None if window.len() == self.longest || eof => window.len(),
            // Doubling keeps a line of many windows linear.
            None => return Err(Error::truncated(offset, "line", window.len().max(256))),
        };
        let raw = cursor.bytes(length, "line")?;
        let text = raw.strip_suffix(b"\n").unwrap_or(raw);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let (text, end) = raw.split_at(text.len());
        if end.is_empty() && length == self.longest {
            let note = crate::warn("long_line", offset, "a line above the string limit is cut");
            if out.note(note).is_break() {
                return Ok(Flow::Break(()));
            }
        }
        Ok(out.record(&LineRecord { text, end, offset }))
    }

    fn failed(&mut self, error: &Error, offset: u64, rest: usize) -> (Note, Recovery) {
        (tail("line", error, offset, rest), Recovery::Rest)
    }
}

struct LineRecord<'a> {
    text: &'a [u8],
    end: &'a [u8],
    offset: u64,
}

impl Record for LineRecord<'_> {
    fn kind(&self) -> &'static str {
        "line"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        (self.text.len() + self.end.len()) as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        show("text", Field::Text(self.text));
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.text);
        out.extend_from_slice(self.end);
    }
}

/// Opens a reader of lines.
pub(crate) fn reader(limits: &Limits) -> Box<dyn Fork> {
    Box::new(Stream::new(LineUnits::new(limits)))
}

/// Shows the lines of a part; returns false when `each` broke.
pub(crate) fn each_line(
    source: &dyn Source,
    part: usize,
    limits: &Limits,
    each: &mut dyn FnMut(u64, &str) -> Flow,
    note: &mut dyn FnMut(Note) -> Flow,
) -> Result<bool, Error> {
    let mut sink = EachLine {
        each,
        note,
        part: PartId::nth(part),
    };
    let mut pull = source.open(part, 0)?;
    drive(pull.as_mut(), reader(limits).as_mut(), &mut sink)
}

struct EachLine<'a> {
    each: &'a mut dyn FnMut(u64, &str) -> Flow,
    note: &'a mut dyn FnMut(Note) -> Flow,
    part: PartId,
}

impl RecordSink for EachLine<'_> {
    fn record(&mut self, record: &dyn Record) -> Flow {
        let mut flow = Flow::Continue(());
        record.fields(&mut |_, field| {
            if let Field::Text(text) = field {
                flow = (self.each)(record.offset(), &String::from_utf8_lossy(text));
            }
        });
        flow
    }

    fn note(&mut self, note: Note) -> Flow {
        let part = self.part;
        (self.note)(Note { part, ..note })
    }
}
