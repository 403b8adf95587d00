//! Folded stacks: `frame;frame;frame count`, a line each, as flame graph tools read and write them
//! (SPEC.md).
//!
//! ```
//! use traceloom_formats::{Records, folded, read_slice};
//! use traceloom_model::Limits;
//!
//! let bytes = b"main;work 3\nmain;idle 1\n";
//! let mut records = Records::default();
//! read_slice(folded::FORMAT.reader(&Limits::default()).as_mut(), bytes, &mut records);
//! assert_eq!(records.kinds(), ["stack", "stack"]);
//! assert_eq!(records.written(), bytes);
//! ```

mod frame;
mod lower;
mod paths;
mod raise;
mod read;
mod value;

#[cfg(test)]
mod tests;

pub use read::{Reader, Record};

use traceloom_model::{Capabilities, Feature, Variant};

use crate::{Confidence, Format, Probe};

/// Folded stacks.
pub const FORMAT: Format = Format {
    name: "folded",
    title: "folded stacks",
    extensions: &["folded", "collapsed"],
    streams: true,
    probe,
    reader: Some(|limits| Box::new(Reader::new(limits))),
    lower: Some(lower::lower),
    lowers_notes: true,
    raise: Some(raise::raise),
    holds: Capabilities::of(&[
        Feature::WideIntegers,
        Feature::Samples,
        Feature::NegativeValues,
        Feature::InvalidText,
    ])
    // Names end in a mark of the frame's kind.
    .with_derived(&[Feature::FrameKinds])
    .with_variants(&[
        Variant::of("lines", "frames with their file and line"),
        Variant::of("VALUE", "the value type; else the default one"),
    ]),
    ..Format::BASE
};

/// Text of which every line ends in a count; likely where the lines have frames.
fn probe(probe: &Probe<'_>) -> Option<Confidence> {
    let text = |byte: &u8| *byte >= 0x20 || matches!(byte, b'\t' | b'\r' | b'\n');
    if !probe.head.iter().all(text) {
        return None;
    }
    let mut lines: Vec<&[u8]> = probe.head.split(|&byte| byte == b'\n').collect();
    if !probe.whole {
        // The head may cut the last line.
        lines.pop();
    }
    let mut counted = 0_usize;
    let mut stacks = 0_usize;
    for line in lines {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let (stack, _) = read::split_count(line)?;
        counted += 1;
        stacks += usize::from(stack.contains(&b';'));
    }
    let named = [".folded", ".collapsed", ".collapsed.txt", ".folded.txt"]
        .iter()
        .any(|suffix| probe.file_name().ends_with(suffix));
    match (counted, stacks) {
        // A first line longer than the head.
        (0, _) if named && !probe.head.is_empty() => Some(Confidence::Possible),
        (0, _) => None,
        _ if named || stacks * 2 >= counted => Some(Confidence::Likely),
        // A JSON document that is cut behind a number.
        _ if probe.head.trim_ascii_start().starts_with(br#"{""#) => None,
        _ => Some(Confidence::Possible),
    }
}
