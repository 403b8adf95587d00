//! stackprof's JSON: Ruby frames by address, and the raw stacks when the profile kept them.
//!
//! With raw stacks every stack is a sample; without them only each frame's own samples are known, and
//! those become stacks of one frame, with a note.

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
