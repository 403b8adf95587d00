//! Lines of text: the gc stream holds the collector's log as the JVM writes it (§8).

use traceloom_model::{Flow, Limits, Note};

use super::text;
use super::units::{Recovery, Stream, Units, tail};
use crate::wire::Cursor;
use crate::{Error, Field, Fork, Record, RecordSink};

/// The record reader of a stream of lines.
#[derive(Clone)]
pub(crate) struct Lines {
    longest: usize,
}

impl Lines {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            longest: text::limit(limits).max(1),
        }
    }
}

impl Units for Lines {
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
        Ok(out.record(&Line { text, end, offset }))
    }

    fn failed(&mut self, error: &Error, offset: u64, rest: usize) -> (Note, Recovery) {
        (tail("line", error, offset, rest), Recovery::Rest)
    }
}

struct Line<'a> {
    text: &'a [u8],
    end: &'a [u8],
    offset: u64,
}

impl Record for Line<'_> {
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
    Box::new(Stream::new(Lines::new(limits)))
}

/// Returns true if text reads like a log of a JVM's garbage collector: unified logging (JDK 9 and
/// later) or the form before it.
pub(crate) fn gc_log(text: &str) -> bool {
    let unified = |line: &str| line.starts_with('[') && line.contains("[gc");
    let older = |line: &str| {
        line.contains("[GC (")
            || line.contains("[GC pause")
            || line.contains("[Full GC")
            || line.contains("[GC 1-mark")
            || line.contains("Total time for which application threads were stopped")
    };
    text.lines()
        .take(64)
        .any(|line| unified(line) || older(line))
}
