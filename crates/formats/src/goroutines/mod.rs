//! Dumps of all goroutines, with their states (SPEC.md).
//!
//! ```
//! use traceloom_formats::{LowerOptions, SliceSource, goroutines};
//! use traceloom_model::Recording;
//!
//! let bytes = b"goroutine 7 [select, 3 minutes]:\nmain.wait()\n\t/src/main.go:12 +0x1f\n";
//! let source = SliceSource::default().with("goroutines.txt", &goroutines::FORMAT, bytes);
//! let mut recording = Recording::default();
//! (goroutines::FORMAT.lower.unwrap())(&source, &LowerOptions::default(), &mut recording)?;
//! assert!(recording.function_names().any(|name| name == "main.wait"));
//! # Ok::<(), traceloom_formats::Error>(())
//! ```

mod lower;

use crate::text::line_records;
use crate::{Confidence, Format, Probe};

/// The dump.
pub const FORMAT: Format = Format {
    name: "go-goroutines",
    title: "dump of goroutines (Go)",
    extensions: &["txt"],
    probe,
    reader: Some(|limits| line_records::reader(limits)),
    lower: Some(lower::lower),
    lowers_notes: true,
    ..Format::BASE
};

/// Lines of a log before a dump that are looked at.
const LINES: usize = 200;

fn probe(probe: &Probe<'_>) -> Option<Confidence> {
    let head = probe.head.get(..16_384).unwrap_or(probe.head);
    let lines = head
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii_end);
    let mut lines = lines.filter(|line| !line.is_empty()).take(LINES);
    let is_head = |line: &[u8]| {
        let text = std::str::from_utf8(line).unwrap_or_default();
        lower::Goroutine::head(text).is_some()
    };
    if is_head(lines.next()?) {
        return Some(Confidence::Certain);
    }
    lines.any(is_head).then_some(Confidence::Likely)
}
