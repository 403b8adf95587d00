//! Chrome's and Node's `.cpuprofile`: a tree of call frames and the node each sample hit.
//!
//! Each sample is lowered with the time until the next one, as the browser's own tools count it. V8's hit
//! counts are kept as a profile of their own when they are not the number of samples: they also count
//! ticks that the sample list dropped.
//!
//! Beside it the `.heapprofile` of the same engine, whose tree has bytes.
//!
//! ```
//! use traceloom_formats::{LowerOptions, SliceSource, cpuprofile};
//! use traceloom_model::Recording;
//!
//! let bytes = br#"{"nodes": [{"id": 1, "callFrame": {"functionName": "main"}}],
//!     "startTime": 0, "endTime": 3000, "samples": [1, 1], "timeDeltas": [1000, 2000]}"#;
//! let source = SliceSource::default().with("a.cpuprofile", &cpuprofile::FORMAT, bytes);
//! let mut recording = Recording::default();
//! (cpuprofile::FORMAT.lower.unwrap())(&source, &LowerOptions::default(), &mut recording)?;
//! assert!(recording.function_names().any(|name| name == "main"));
//! # Ok::<(), traceloom_formats::Error>(())
//! ```

mod heap;
mod lower;

use traceloom_model::Limits;

use crate::text::json::{Document, JsonLayout, JsonReader, Kind, Value};
use crate::{Confidence, Format, Probe};

/// `.cpuprofile`.
pub const FORMAT: Format = Format {
    name: "cpuprofile",
    title: "Chrome and Node CPU profile",
    extensions: &["cpuprofile"],
    magic: b"{\"nodes\"",
    probe,
    reader: Some(|limits| Box::new(JsonReader::new(&LAYOUT, limits))),
    lower: Some(lower::lower),
    lowers_notes: true,
    ..Format::BASE
};

/// `.heapprofile`.
pub const HEAP: Format = Format {
    name: "heapprofile",
    title: "Chrome and Node heap profile (sampling)",
    extensions: &["heapprofile"],
    probe: heap::probe,
    reader: Some(|limits| Box::new(JsonReader::new(&HEAP_LAYOUT, limits))),
    lower: Some(heap::lower),
    lowers_notes: true,
    magic: b"{\"head\":",
    ..FORMAT
};

static HEAP_LAYOUT: JsonLayout = JsonLayout {
    document: "profile",
    elements: &[(&["samples", "*"], "sample")],
    time: |_| None,
};

static LAYOUT: JsonLayout = JsonLayout {
    document: "profile",
    elements: &[(&["nodes", "*"], "node")],
    time: |root| {
        let time = |key: &str| root.get(key)?.scaled(1000);
        Some((time("startTime")?, time("endTime")?))
    },
};

fn probe(probe: &Probe<'_>) -> Option<Confidence> {
    if !probe.head.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let document = Document::parse(probe.head, &Limits::default());
    let root = document.root().filter(|root| root.kind() == Kind::Object)?;
    let node = root.get("nodes").and_then(|nodes| nodes.items().next());
    if node.is_some_and(|node| node.get("callFrame").is_some()) {
        return Some(Confidence::Certain);
    }
    let head = root
        .get("head")
        .filter(|head| head.get("functionName").is_some());
    let head = head.and_then(|head| head.get("hitCount"));
    if head.and_then(Value::u64).is_some() {
        return Some(Confidence::Certain);
    }
    let named = probe.file_name().ends_with(".cpuprofile");
    (named && root.get("startTime").is_some()).then_some(Confidence::Possible)
}
