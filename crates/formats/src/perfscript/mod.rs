//! The text of `perf script`: events with their stacks, a line each (SPEC.md).
//!
//! ```
//! use traceloom_formats::{Records, perfscript, read_slice};
//! use traceloom_model::Limits;
//!
//! let bytes = b"java 12 [001] 3.5: 100 cycles:\n\t401000 main (/bin/app)\n\n";
//! let mut records = Records::default();
//! read_slice(perfscript::FORMAT.reader(&Limits::default()).as_mut(), bytes, &mut records);
//! assert_eq!(records.kinds(), ["event", "frame", "blank"]);
//! assert_eq!(records.written(), bytes);
//! ```

mod event;
mod lower;
mod read;

#[cfg(test)]
mod tests;

pub use read::{Reader, Record};

use crate::{Confidence, Format, Probe};

/// Text of `perf script`.
pub const FORMAT: Format = Format {
    name: "perf-script",
    title: "perf script text",
    extensions: &["perf", "perfscript"],
    streams: true,
    probe,
    reader: Some(|limits| Box::new(Reader::new(limits))),
    lower: Some(lower::lower),
    lowers_notes: true,
    ..Format::BASE
};

/// Events, each followed by frames or nothing, and hardly anything else.
fn probe(probe: &Probe<'_>) -> Option<Confidence> {
    let mut lines: Vec<&[u8]> = probe.head.split(|&byte| byte == b'\n').collect();
    if !probe.whole {
        lines.pop();
    }
    let (mut events, mut frames, mut others) = (0_usize, 0_usize, 0_usize);
    for line in lines {
        let line = line.trim_ascii_end();
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        if events > 0 && event::StackLine::parse(line).is_some() {
            frames += 1;
        } else if event::EventLineFields::parse(line).is_some() {
            events += 1;
        } else {
            others += 1;
        }
    }
    (events > 0 && others <= (events + frames) / 4).then_some(if frames > 0 {
        Confidence::Likely
    } else {
        Confidence::Possible
    })
}
