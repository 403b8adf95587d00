//! Datakit: profiles as bundles of files with metadata, and the points and metrics made of them.
//!
//! A bundle is an `event.json` (or an older form, or a Pyroscope query) and the profiler's own files. What
//! the metadata says becomes the resource; the files are lowered by their own formats, found at run time,
//! and come out under Datakit's names for their values.
//!
//! ```
//! use traceloom_formats::datakit::{Language, Metadata};
//! use traceloom_model::Limits;
//!
//! let event = br#"{"family": "java", "tags_profiler": "service:checkout,env:prod", "attachments": ["main.jfr"]}"#;
//! let metadata = Metadata::from_event(event, &Limits::default());
//! assert_eq!(metadata.get("service"), "checkout");
//! assert_eq!(metadata.attachments, ["main.jfr"]);
//! assert_eq!(metadata.language(), Some(Language::Java));
//! ```

mod bundle;
mod event_json;
mod grouping;
mod http;
mod ingest;
mod members;
mod merge;
mod metadata;
mod multipart;
mod push;
mod raise;
mod recorded;
mod request;
mod sample_labels;
mod upload;

use traceloom_model::{Capabilities, Feature, Variant};

use crate::text::json::{Document, JsonLayout, JsonReader, Kind, Value};
use crate::{Confidence, Format, Probe};

pub use crate::points::{
    Digest, EventKind, Language, MEASUREMENT, METRICS, Metrics, NameParts, Profile, Quantity,
    Sample, SampleValue, SpanLink, TimeUnit, TraceFunc, all_metrics, metric_unit, metrics, missing,
    model_unit, parse_unit, profiles, value_names,
};
pub use event_json::event_json;
pub use ingest::{CONFIG, IngestHead};
pub use metadata::{INPUT_TAGS, Metadata};
pub use multipart::multipart;
pub use push::{PushProfile, PushRequest, PushSeries};
pub use upload::{Upload, UploadPart};

/// A profile as the files of one upload: metadata and attachments.
pub const FORMAT: Format = Format {
    name: "datakit",
    title: "Datakit profile bundle (event.json and attachments)",
    set: Some(grouping::set),
    lower: Some(bundle::lower),
    raise: Some(raise::raise),
    // Facts in the document, everything else in files of pprof.
    holds: Capabilities::of(&[
        Feature::WideIntegers,
        Feature::Resources,
        Feature::Samples,
        Feature::NegativeValues,
        Feature::ManyValues,
        Feature::SampleTimes,
        Feature::SampleTracks,
        Feature::SampleLabels,
        Feature::Tracks,
        Feature::ProfileHeaders,
        Feature::SourceLines,
        Feature::Addresses,
        Feature::InvalidText,
    ])
    .with_derived(&[Feature::FrameKinds])
    .with_variants(&[Variant::of(
        "FACT=TEXT",
        "what the document says of service, host, env, version, language, format, profile_id or oss_path where the recording \
         does not; all of these with commas between them",
    )]),
    ..Format::BASE
};

/// The metadata of an upload.
pub const EVENT: Format = Format {
    name: "datakit-event",
    title: "Datakit profile metadata (event.json)",
    extensions: &["json"],
    magic: b"{\"attach",
    probe: probe_event,
    reader: Some(|limits| Box::new(JsonReader::new(&LAYOUT, limits))),
    lower: Some(bundle::lower),
    ..Format::BASE
};

/// An upload as it was sent: a multipart body, with or without its HTTP head.
pub const REQUEST: Format = Format {
    name: "datakit-request",
    title: "recorded Datakit profile upload",
    extensions: &["http", "multipart"],
    probe: probe_request,
    reader: Some(|limits| Box::new(request::RequestReader::new(limits))),
    members: Some(members::members),
    lower: Some(recorded::lower),
    ..Format::BASE
};

/// A Pyroscope request as it was sent: `/ingest`, or a push.
pub const INGEST: Format = Format {
    name: "pyroscope-ingest",
    title: "recorded Pyroscope request (/ingest or Push)",
    extensions: &["http"],
    magic: b"POST /in",
    probe: probe_ingest,
    reader: Some(|limits| Box::new(request::RequestReader::new(limits))),
    members: Some(members::members),
    lower: Some(recorded::lower),
    ..Format::BASE
};

static LAYOUT: JsonLayout = JsonLayout {
    document: "event",
    elements: &[],
    time: |root| {
        let time = |key| {
            root.get(key)
                .and_then(Value::text)
                .and_then(|text| metadata::rfc3339(&text))
        };
        Some((time("start")?, time("end")?))
    },
};

fn probe_event(probe: &Probe<'_>) -> Option<Confidence> {
    if probe.head.first() != Some(&b'{') || !probe.whole {
        return None;
    }
    let document = Document::parse(probe.head, &traceloom_model::Limits::default());
    let root = document.root().filter(|root| root.kind() == Kind::Object)?;
    let has = |key: &str| root.get(key).is_some();
    let listed = has("attachments") && (has("start") || has("family") || has("format"));
    if has("tags_profiler") || listed {
        return Some(Confidence::Certain);
    }
    let named = matches!(probe.file_name(), "event.json" | "event");
    (named && document.defects().is_empty()).then_some(Confidence::Possible)
}

fn first_message<'p>(probe: &Probe<'p>) -> Option<http::HttpMessage<'p>> {
    let begins = http::begins_message(probe.head) || http::bare_boundary(probe.head).is_some();
    begins.then(|| http::messages(probe.head).into_iter().next())?
}

fn probe_request(probe: &Probe<'_>) -> Option<Confidence> {
    let message = first_message(probe)?;
    if ingest::is_ingest(&message) || push::is_push(&message) {
        return None;
    }
    let names = ["event", "event.json", "tags[]", "recording-start"];
    let own = message
        .parts
        .iter()
        .any(|part| names.contains(&part.name.as_ref()));
    if own || message.target.contains("/profiling/") {
        return Some(Confidence::Certain);
    }
    (!message.parts.is_empty()).then_some(Confidence::Possible)
}

fn probe_ingest(probe: &Probe<'_>) -> Option<Confidence> {
    let message = first_message(probe)?;
    let own = ingest::is_ingest(&message) || push::is_push(&message);
    own.then_some(Confidence::Certain)
}
