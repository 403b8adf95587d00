//! Flame graph JSON: a tree of frames with inclusive values, as Datakit's page draws it.
//!
//! Native records keep the document as it is. Raising builds the tree of one value along one dimension
//! (`method`, `line`, `package`, `class`, `thread`, `library`); `guance-array` writes the newer positional
//! form of the same tree.

mod facts;
mod grow;
mod guance;
mod lower;
mod raise;
mod rewrite;
mod tree;
mod write;

use traceloom_model::{Capabilities, Feature, Limits};

use crate::json::{Document, JsonReader, Kind, Layout};
use crate::{Confidence, Format, Probe};

pub use raise::{Options, write_recording};
pub(crate) use rewrite::rewrite;
pub use tree::Dimension;

/// Flame graph JSON.
pub const FORMAT: Format = Format {
    name: "flamegraph-json",
    title: "Datakit flame graph JSON",
    extensions: &["flamegraph.json", "json"],
    probe,
    reader: Some(|limits| Box::new(JsonReader::new(&LAYOUT, limits))),
    members: None,
    set: None,
    lower: Some(lower::lower),
    split: None,
    raise: Some(raise::raise),
    holds: Capabilities::of(&[
        Feature::Samples,
        Feature::NegativeValues,
        Feature::FunctionDetails,
        Feature::SourceLines,
    ]),
    sample: Some(sample),
};

static LAYOUT: Layout = Layout {
    document: "flamegraph",
    elements: &[],
    time: |_| None,
};

fn probe(probe: &Probe<'_>) -> Option<Confidence> {
    if !probe.head.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let document = Document::parse(probe.head, &Limits::default());
    let root = document.root().filter(|root| root.kind() == Kind::Object)?;
    if root.get("root_frame").is_some() {
        return Some(Confidence::Certain);
    }
    // The positional form lies in an envelope.
    let data = root.get("data").filter(|_| root.get("code").is_some())?;
    data.get("rootFrame").map(|_| Confidence::Certain)
}

fn sample(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let n_frames = (bytes / 120).clamp(1, 1 << 20);
    out(b"{\n    \"unit\": \"ns\",\n    \"available_dimension\": [\"method\", \"package\"],\n");
    out(b"    \"dimension\": \"method\",\n    \"root_frame\": {\"value\": ");
    let value = |at: u64| 1 + seed.wrapping_mul(at | 1) % 997;
    let total: u64 = (0..n_frames).map(value).sum();
    out(format!("{total}, \"method\": \"root\", \"sub_frame\": [").as_bytes());
    for at in 0..n_frames {
        let comma = if at > 0 { "," } else { "" };
        let frame = format!(
            "{comma}\n        {{\"value\": {}, \"method\": \"step{at}\", \"line\": {}, \"sub_frame\": [], \"package\": \"com.acme\"}}",
            value(at),
            at % 500
        );
        out(frame.as_bytes());
    }
    out(b"]}\n}\n");
}
