//! stackprof's JSON: Ruby frames by address, and the raw stacks when the profile kept them.
//!
//! With raw stacks every stack is a sample; without them only each frame's own samples are known, and
//! those become stacks of one frame, with a note.
//!
//! ```
//! use traceloom_formats::{LowerOptions, SliceSource, stackprof};
//! use traceloom_model::Recording;
//!
//! let bytes = br#"{"version": 1.2, "mode": "wall", "interval": 1000, "samples": 2,
//!     "frames": {"7": {"name": "Shop#pay", "samples": 2, "total_samples": 2}}, "raw": [1, 7, 2]}"#;
//! let source = SliceSource::default().with("a.json", &stackprof::FORMAT, bytes);
//! let mut recording = Recording::default();
//! (stackprof::FORMAT.lower.unwrap())(&source, &LowerOptions::default(), &mut recording)?;
//! assert!(recording.function_names().any(|name| name == "Shop#pay"));
//! # Ok::<(), traceloom_formats::Error>(())
//! ```

mod lower;

use traceloom_model::Limits;

use crate::text::json::{Document, JsonLayout, JsonReader, Kind};
use crate::{Confidence, Format, Probe};

/// stackprof.
pub const FORMAT: Format = Format {
    name: "stackprof",
    title: "stackprof JSON (Ruby)",
    extensions: &["json", "stackprof"],
    magic: b"{\"versio",
    probe,
    reader: Some(|limits| Box::new(JsonReader::new(&LAYOUT, limits))),
    lower: Some(lower::lower),
    lowers_notes: true,
    ..Format::BASE
};

static LAYOUT: JsonLayout = JsonLayout {
    document: "profile",
    elements: &[(&["frames", "*"], "frame")],
    time: |_| None,
};

fn probe(probe: &Probe<'_>) -> Option<Confidence> {
    if !probe.head.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let document = Document::parse(probe.head, &Limits::default());
    let root = document.root().filter(|root| root.kind() == Kind::Object)?;
    let has = |key: &str| root.get(key).is_some();
    (has("mode") && has("interval") && has("frames") && (has("samples") || has("gc_samples")))
        .then_some(Confidence::Certain)
}
