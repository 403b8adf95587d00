//! Lines to records.

use traceloom_model::{Flow, Limits};

use super::event::{EventLineFields, StackLine, source};
use crate::text::lines::{self, Line, LineSplitter};
use crate::{Chunk, Field, Reader as Native, Record as NativeRecord, RecordSink, Step, warn};

/// One line of the text.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    offset: u64,
    text: &'a [u8],
    end: &'a [u8],
    pub(super) content: ScriptContent<'a>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum ScriptContent<'a> {
    Event(EventLineFields<'a>),
    Frame(StackLine<'a>),
    Source(&'a [u8], u32),
    Comment,
    Blank,
    /// None of the above: kept and noted.
    Other,
}

impl<'a> Record<'a> {
    /// Takes a line apart. `within` tells that it follows an event without a blank line between.
    pub(super) fn new(line: &Line<'a>, within: bool) -> Self {
        let text = line.text;
        let content = if text.trim_ascii().is_empty() {
            ScriptContent::Blank
        } else if text.starts_with(b"#") {
            ScriptContent::Comment
        } else if let Some(frame) = StackLine::parse(text).filter(|_| within) {
            ScriptContent::Frame(frame)
        } else if let Some(event) = EventLineFields::parse(text) {
            ScriptContent::Event(event)
        } else if let Some((file, line)) = source(text).filter(|_| within) {
            ScriptContent::Source(file, line)
        } else {
            ScriptContent::Other
        };
        Self {
            offset: line.offset,
            text,
            end: line.end,
            content,
        }
    }

    /// Returns true if frames may follow.
    pub(super) fn opens(&self, within: bool) -> bool {
        match self.content {
            ScriptContent::Event(_) => true,
            ScriptContent::Blank => false,
            _ => within,
        }
    }
}

impl NativeRecord for Record<'_> {
    fn kind(&self) -> &'static str {
        match self.content {
            ScriptContent::Event(_) => "event",
            ScriptContent::Frame(_) => "frame",
            ScriptContent::Source(..) => "source",
            ScriptContent::Comment => "comment",
            ScriptContent::Blank => "blank",
            ScriptContent::Other => "line",
        }
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        (self.text.len() + self.end.len()) as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        let number = |value: Option<u64>| value.map_or(Field::Null, Field::U64);
        match &self.content {
            ScriptContent::Event(event) => {
                show("command", Field::Text(event.command));
                show("pid", number(event.pid));
                show("tid", number(event.tid));
                show("cpu", number(event.cpu));
                show("time_ns", event.time_ns.map_or(Field::Null, Field::I64));
                show("period", event.period.map_or(Field::Null, Field::I64));
                show("event", Field::Text(event.event));
                show("rest", Field::Text(event.rest));
            }
            ScriptContent::Frame(frame) => {
                show("address", Field::U64(frame.address));
                show("symbol", frame.symbol.map_or(Field::Null, Field::Text));
                show("symbol_offset", number(frame.symbol_offset));
                show("object", frame.object.map_or(Field::Null, Field::Text));
                show("inlined", Field::Bool(frame.inlined));
            }
            ScriptContent::Source(file, line) => {
                show("file", Field::Text(file));
                show("line", Field::U64(u64::from(*line)));
            }
            ScriptContent::Comment | ScriptContent::Other => show("text", Field::Text(self.text)),
            ScriptContent::Blank => {}
        }
    }

    /// Columns are padded as perf's version and options have it, so lines are written as they were.
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.text);
        out.extend_from_slice(self.end);
    }

    fn time(&self) -> Option<(i64, i64)> {
        match self.content {
            ScriptContent::Event(event) => event.time_ns.map(|time| (time, time)),
            _ => None,
        }
    }
}

/// Reads the text of `perf script`.
#[derive(Clone, Debug)]
pub struct Reader {
    lines: LineSplitter,
    within: bool,
}

impl Reader {
    /// Builds a reader at the beginning of a part.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            lines: LineSplitter::new(limits),
            within: false,
        }
    }
}

/// The note about a line that is neither event nor frame.
pub(super) fn no_line(line: &Line<'_>) -> traceloom_model::Note {
    let text = "a line is neither event nor frame";
    warn("no_event", line.offset, text).counting(line.len() as u64)
}

impl Native for Reader {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        let Self { lines, within } = self;
        lines::read(lines, chunk, out, |line, out| {
            let record = Record::new(line, *within);
            *within = record.opens(*within);
            out.record(&record)?;
            match record.content {
                ScriptContent::Other => out.note(no_line(line)),
                _ => Flow::Continue(()),
            }
        })
    }
}
