//! Text that lies beside the streams of a JVM: thread dumps, `top` output, logs of the collector.
//!
//! Native records are lines (`line`); meaning is found when lowering. The text of people's tools has no
//! specification: what a line does not look like is passed over, and `SPEC.md` lists what is read.

mod calendar;
mod gc;
mod threads;
mod top;

use traceloom_model::{Flow, Limits, Note, PartId, Sink, Tables};

pub(crate) use calendar::civil;
pub(crate) use gc::lower_lines as lower_gc_lines;

use crate::cdt::lines;
use crate::{Confidence, Error, Field, Fork, Format, Probe, Record, RecordSink, Source, drive};

fn reader(limits: &Limits) -> Box<dyn Fork> {
    lines::reader(limits)
}

const TEXT: Format = Format {
    reader: Some(reader),
    ..Format::BASE
};

/// Thread dumps, as `jstack` and `kill -3` print them.
pub const THREADS: Format = Format {
    name: "java-threads",
    title: "Java thread dump",
    extensions: &["td.txt", "txt"],
    probe: |probe| {
        let text = head(probe)?;
        text.contains("Full thread dump ")
            .then_some(Confidence::Certain)
    },
    lower: Some(threads::lower),
    ..TEXT
};

/// Output of `top -b`.
pub const TOP: Format = Format {
    name: "top-text",
    title: "output of top",
    extensions: &["top.txt", "txt"],
    magic: b"top - ",
    probe: |probe| {
        let text = head(probe)?;
        let is_top = text
            .lines()
            .take(50)
            .any(|line| line.starts_with("top - ") && line.contains("load average"));
        is_top.then_some(Confidence::Certain)
    },
    lower: Some(top::lower),
    ..TEXT
};

/// Log of a JVM's garbage collector.
pub const GC_LOG: Format = Format {
    name: "gc-log",
    title: "log of a JVM's garbage collector",
    extensions: &["gc.log", "log"],
    probe: |probe| {
        // The same text inside a profiler's streams is one of them.
        let stream = (crate::cdt::GC.probe)(probe) >= Some(Confidence::Likely);
        lines::gc_log(head(probe)?).then_some(if stream {
            Confidence::Possible
        } else {
            Confidence::Likely
        })
    },
    lower: Some(gc::lower),
    ..TEXT
};

/// The beginning as text; none for anything else.
fn head<'a>(probe: &Probe<'a>) -> Option<&'a str> {
    let head = probe.head.get(..16_384).unwrap_or(probe.head);
    match std::str::from_utf8(head) {
        Ok(text) => Some(text),
        Err(error) if error.valid_up_to() + 4 > head.len() => {
            std::str::from_utf8(head.get(..error.valid_up_to())?).ok()
        }
        Err(_) => None,
    }
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
        part: PartId(u32::try_from(part).unwrap_or(u32::MAX)),
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

/// Pushes new definitions.
fn define(tables: &mut Tables, sink: &mut dyn Sink) -> Flow {
    let new = tables.take_definitions();
    if new.is_empty() {
        return Flow::Continue(());
    }
    sink.define(new)
}
