//! speedscope's file format: shared frames, and profiles of weighted stacks or of enters and exits.
//!
//! A `sampled` profile becomes samples, an `evented` one spans on a track of its own. Events counted in
//! something that is no time become samples too: what is between two of them is the weight of the stack.
//!
//! ```
//! use traceloom_formats::{LowerOptions, SliceSource, speedscope};
//! use traceloom_model::Recording;
//!
//! let bytes = br#"{"shared": {"frames": [{"name": "main"}]}, "profiles": [{"type": "evented", "name": "t",
//!     "unit": "milliseconds", "startValue": 0, "endValue": 9, "events": [
//!     {"type": "O", "frame": 0, "at": 1}, {"type": "C", "frame": 0, "at": 8}]}]}"#;
//! let source = SliceSource::default().with("a.speedscope.json", &speedscope::FORMAT, bytes);
//! let mut recording = Recording::default();
//! (speedscope::FORMAT.lower.unwrap())(&source, &LowerOptions::default(), &mut recording)?;
//! assert_eq!(recording.spans.len(), 1);
//! # Ok::<(), traceloom_formats::Error>(())
//! ```

mod events;
mod lower;
mod nest;
mod order;
mod pieces;
mod places;
mod raise;
mod spans;
mod stacks;

#[cfg(test)]
mod tests;

use traceloom_model::{Capabilities, Feature, Limits, Variant};

use crate::text::json::{Document, JsonLayout, JsonReader, Kind, Value};
use crate::{Confidence, Format, Probe};

/// speedscope.
pub const FORMAT: Format = Format {
    name: "speedscope",
    title: "speedscope JSON",
    extensions: &["speedscope.json", "json"],
    magic: b"{\"$schem",
    probe,
    reader: Some(|limits| Box::new(JsonReader::new(&LAYOUT, limits))),
    lower: Some(lower::lower),
    lowers_notes: true,
    raise: Some(raise::raise),
    holds: Capabilities::of(&[
        Feature::Spans,
        Feature::AsyncTracks,
        Feature::SubMillisecond,
        Feature::SubMicrosecond,
        Feature::UnknownOrigin,
        Feature::Tracks,
        Feature::SourceLines,
        Feature::Samples,
        Feature::ManyValues,
        Feature::SampleTracks,
    ])
    .with_variants(&[Variant::of(
        "functions",
        "frames of one function are one, without lines",
    )]),
    ..Format::BASE
};

static LAYOUT: JsonLayout = JsonLayout {
    document: "file",
    elements: &[
        (&["shared", "frames", "*"], "frame"),
        (&["profiles", "*"], "profile"),
    ],
    time: |_| None,
};

fn probe(probe: &Probe<'_>) -> Option<Confidence> {
    if !probe.head.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let document = Document::parse(probe.head, &Limits::default());
    let root = document.root().filter(|root| root.kind() == Kind::Object)?;
    let schema = root.get("$schema").and_then(Value::text);
    if schema.is_some_and(|schema| schema.contains("speedscope")) {
        return Some(Confidence::Certain);
    }
    let frames = root.get("shared").and_then(|shared| shared.get("frames"));
    let profiles = root.get("profiles");
    match (frames, profiles) {
        (Some(_), Some(_)) => Some(Confidence::Certain),
        _ if !probe.whole && (frames.is_some() || profiles.is_some()) => Some(Confidence::Possible),
        _ => None,
    }
}
