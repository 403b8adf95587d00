//! Zipkin's spans of version 2 (SPEC.md): a list of spans, or of traces, in JSON; a list of spans in protobuf.
//!
//! ```
//! use traceloom_formats::{LowerOptions, SliceSource, zipkin};
//! use traceloom_model::Recording;
//!
//! let bytes = br#"[{"traceId": "463ac35c9f6413ad", "id": "a2fb4a1d1a96d312", "name": "get /cart",
//!     "timestamp": 1700000000000000, "duration": 207000, "localEndpoint": {"serviceName": "shop"}}]"#;
//! let source = SliceSource::default().with("spans.json", &zipkin::FORMAT, bytes);
//! let mut recording = Recording::default();
//! (zipkin::FORMAT.lower.unwrap())(&source, &LowerOptions::default(), &mut recording)?;
//! let span = recording.spans.row(0).unwrap();
//! assert_eq!(recording.function_name(span.function.unwrap()), "get /cart");
//! assert_eq!(span.duration(), 207_000_000);
//! # Ok::<(), traceloom_formats::Error>(())
//! ```

mod lower;
mod protobuf;
mod span;

use traceloom_model::Limits;

use crate::protobuf::Reader;
use crate::text::json::{Document, JsonLayout, JsonReader, Kind};
use crate::{Confidence, Format, Probe};

/// Spans of version 2.
pub const FORMAT: Format = Format {
    name: "zipkin",
    title: "Zipkin spans (JSON, version 2)",
    extensions: &["zipkin"],
    magic: b"[{\"traceId\":",
    probe,
    reader: Some(|limits| Box::new(JsonReader::new(&LAYOUT, limits))),
    lower: Some(lower::lower),
    lowers_notes: true,
    ..Format::BASE
};

/// The same in protobuf.
pub const PROTOBUF: Format = Format {
    name: "zipkin-protobuf",
    title: "Zipkin spans (protobuf, version 2)",
    extensions: &["zipkin-protobuf"],
    probe: protobuf::probe,
    reader: Some(|limits| Box::new(Reader::new(&protobuf::LAYOUT, limits))),
    lower: Some(protobuf::lower),
    ..Format::BASE
};

static LAYOUT: JsonLayout = JsonLayout {
    document: "spans",
    elements: &[(&["*"], "span")],
    time: |root| {
        let spans = span::spans(root).map(|value| span::times(value));
        let spans = spans.filter_map(|(start, end)| Some((start?, end.or(start)?)));
        spans.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))
    },
};

fn probe(probe: &Probe<'_>) -> Option<Confidence> {
    if !probe.head.trim_ascii_start().starts_with(b"[") {
        return None;
    }
    let document = Document::parse(probe.head, &Limits::default());
    let root = document.root().filter(|root| root.kind() == Kind::Array)?;
    let first = span::spans(root).next()?;
    let is_id = |key: &str| span::id(first, key).is_some_and(|id| id.is_ok());
    // A head of 64 KiB may cut the first span: its ids are what comes first.
    (is_id("traceId") && is_id("id")).then_some(Confidence::Certain)
}
