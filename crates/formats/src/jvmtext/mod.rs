//! Text that lies beside the streams of a JVM: thread dumps, `top` output, logs of the collector.
//!
//! Native records are lines (`line`); meaning is found when lowering. The text of people's tools has no
//! specification: what a line does not look like is passed over, and `SPEC.md` lists what is read.
//!
//! ```
//! use traceloom_formats::{LowerOptions, SliceSource, jvmtext};
//! use traceloom_model::Recording;
//!
//! let bytes = b"2026-01-02 03:04:05\nFull thread dump OpenJDK 64-Bit Server VM (21 mixed mode):\n\n\
//!     \"main\" #1 prio=5 tid=0x01 nid=0x02 runnable\n\tat com.acme.Main.run(Main.java:7)\n\n";
//! let source = SliceSource::default().with("dump.txt", &jvmtext::THREADS, bytes);
//! let mut recording = Recording::default();
//! (jvmtext::THREADS.lower.unwrap())(&source, &LowerOptions::default(), &mut recording)?;
//! assert_eq!(recording.function_names().collect::<Vec<_>>(), ["com.acme.Main.run"]);
//! # Ok::<(), traceloom_formats::Error>(())
//! ```

mod threads;
mod top;

use traceloom_model::Limits;

use crate::text::{gc_log, line_records};
use crate::{Confidence, Fork, Format, Probe, by_name};

fn reader(limits: &Limits) -> Box<dyn Fork> {
    line_records::reader(limits)
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
    lowers_notes: true,
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
    lowers_notes: true,
    ..TEXT
};

/// Log of a JVM's garbage collector.
pub const GC_LOG: Format = Format {
    name: "gc-log",
    title: "log of a JVM's garbage collector",
    extensions: &["gc.log", "log"],
    streams: true,
    probe: |probe| {
        // The same text inside a profiler's streams is one of them.
        let stream =
            by_name("cdt-gc").is_some_and(|gc| (gc.probe)(probe) >= Some(Confidence::Likely));
        gc_log::is_gc_log(head(probe)?).then_some(if stream {
            Confidence::Possible
        } else {
            Confidence::Likely
        })
    },
    lower: Some(gc_log::lower),
    lowers_notes: true,
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
