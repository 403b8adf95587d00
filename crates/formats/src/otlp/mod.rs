//! OpenTelemetry's protocol as files (SPEC.md): profiles and traces, in protobuf and in JSON.
//!
//! Profiles are read in the layouts of versions 1.9 to 1.11 and written in that of 1.10, which 1.11 kept.
//! Tables of the dictionary, samples and spans are records of their own, so that a reader needs memory for one of
//! them. JSON is another encoding of the same messages, read as a whole document at a time.
//!
//! ```
//! use traceloom_formats::otlp::{self, ProfilesDictionary, SampleLists};
//! use traceloom_model::{Flow, Limits};
//!
//! struct Deepest(usize);
//!
//! impl otlp::Visit for Deepest {
//!     fn sample(&mut self, dictionary: &ProfilesDictionary, sample: &SampleLists) -> Flow {
//!         let stack = usize::try_from(sample.stack).ok();
//!         let stack = stack.and_then(|stack| dictionary.stacks.get(stack));
//!         self.0 = self.0.max(stack.map_or(0, |stack| stack.len()));
//!         Flow::Continue(())
//!     }
//! }
//!
//! let mut deepest = Deepest(0);
//! let message = traceloom_samples::bytes("otlp-profiles", 1, 20_000);
//! otlp::read(&message, &Limits::default(), &mut deepest)?;
//! assert!(deepest.0 > 1);
//! # Ok::<(), traceloom_formats::Error>(())
//! ```

mod code;
mod dictionary;
mod json;
mod layout;
mod probe;
mod profiles;
mod raise;
mod sample;
mod schema;
mod survey;
mod symbols;
mod traces;
mod value;

pub use dictionary::{
    DictionaryFunction, DictionaryLocation, DictionaryMapping, FunctionLine, ProfilesDictionary,
    UnitAttribute,
};
pub use sample::{SampleLists, Visit, read};

use traceloom_model::{Capabilities, Feature};

use crate::Format;
use crate::protobuf::Reader;

/// Profiles.
pub const PROFILES: Format = Format {
    name: "otlp-profiles",
    title: "OpenTelemetry profiles (protobuf)",
    extensions: &["otlp-profiles"],
    probe: probe::profiles,
    reader: Some(|limits| Box::new(Reader::new(&schema::PROFILES, limits))),
    lower: Some(profiles::lower),
    raise: Some(raise::raise),
    holds: Capabilities::of(&[
        Feature::WideIntegers,
        Feature::Samples,
        Feature::ManyValues,
        Feature::SampleTimes,
        Feature::SampleTracks,
        Feature::SampleLabels,
        Feature::TypedAttributes,
        Feature::FloatAttributes,
        Feature::NestedAttributes,
        Feature::ProfileHeaders,
        Feature::SourceLines,
        Feature::Addresses,
        Feature::Resources,
        Feature::Tracks,
    ]),
    ..Format::BASE
};

/// Profiles in JSON.
pub const PROFILES_JSON: Format = Format {
    name: "otlp-profiles-json",
    title: "OpenTelemetry profiles (JSON)",
    extensions: &["otlp-profiles.json"],
    magic: b"{\"resourceProfiles\":",
    probe: json::profiles_probe,
    reader: Some(json::profiles_reader),
    lower: Some(json::lower_profiles),
    lowers_notes: true,
    ..Format::BASE
};

/// Traces.
pub const TRACES: Format = Format {
    name: "otlp-traces",
    title: "OpenTelemetry traces (protobuf)",
    extensions: &["otlp-traces"],
    probe: probe::traces,
    reader: Some(|limits| Box::new(Reader::new(&schema::TRACES, limits))),
    lower: Some(traces::lower),
    raise: Some(|options, output| {
        let encoding = |message: &[u8], out: &mut Vec<u8>| out.extend_from_slice(message);
        traces::open(options, output, encoding, "otlp-traces")
    }),
    holds: traces::HOLDS,
    ..Format::BASE
};

/// Traces in JSON, a document or one a line, as the collector's file exporter writes them.
pub const TRACES_JSON: Format = Format {
    name: "otlp-traces-json",
    title: "OpenTelemetry traces (JSON, JSON lines)",
    extensions: &["otlp-traces.json"],
    magic: b"{\"resourceSpans\":",
    probe: json::traces_probe,
    reader: Some(json::traces_reader),
    lower: Some(json::lower_traces),
    lowers_notes: true,
    raise: Some(|options, output| {
        traces::open(options, output, json::put_traces, "otlp-traces-json")
    }),
    ..TRACES
};
