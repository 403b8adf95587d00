//! Flame graph JSON: a tree of frames with inclusive values, as Datakit's page draws it.
//!
//! Native records keep the document as it is. Raising builds the tree of one value along one dimension
//! (`method`, `line`, `package`, `class`, `thread`, `library`); `guance-array` writes the newer positional
//! form of the same tree.
//!
//! ```
//! use traceloom_formats::{LowerOptions, RaiseOptions, SliceSource, flamejson, folded};
//!
//! let stacks = SliceSource::default().with("cpu.folded", &folded::FORMAT, b"main;work 3\n");
//! let mut json = Vec::new();
//! let mut graph = (flamejson::FORMAT.raise.unwrap())(&RaiseOptions::default(), &mut json)?;
//! (folded::FORMAT.lower.unwrap())(&stacks, &LowerOptions::default(), graph.as_mut())?;
//! graph.finish()?;
//! drop(graph);
//! assert!(String::from_utf8_lossy(&json).contains("\"main\""));
//! # Ok::<(), traceloom_formats::Error>(())
//! ```

mod facts;
mod grow;
mod guance;
mod lower;
mod raise;
#[cfg(feature = "datakit")]
mod rewrite;
mod tree;
mod write;

use traceloom_model::{Capabilities, Feature, Limits, Variant};

use crate::text::json::{Document, JsonLayout, JsonReader, Kind};
use crate::{Confidence, Format, Probe};

pub use raise::{Options, write_recording};
#[cfg(feature = "datakit")]
pub(crate) use rewrite::rewrite;
pub use tree::Dimension;

/// Flame graph JSON.
pub const FORMAT: Format = Format {
    name: "flamegraph-json",
    title: "Datakit flame graph JSON",
    extensions: &["flamegraph.json", "json"],
    probe,
    reader: Some(|limits| Box::new(JsonReader::new(&LAYOUT, limits))),
    lower: Some(lower::lower),
    lowers_notes: true,
    raise: Some(raise::raise),
    holds: Capabilities::of(&[
        Feature::Samples,
        Feature::NegativeValues,
        Feature::FunctionDetails,
        Feature::SourceLines,
    ])
    .with_variants(&[
        Variant::of("guance-array", "rows by position"),
        Variant::of(
            "DIMENSION",
            "what frames stand for: method, line, package, class, thread or library",
        ),
        Variant::of("value=NAME", "the value type; else the default one"),
        Variant::of("unit=WORD", "the unit that is written"),
        Variant::of(
            "lang=zh",
            "words of units in Chinese; all of these with commas between them",
        ),
    ]),
    ..Format::BASE
};

static LAYOUT: JsonLayout = JsonLayout {
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
