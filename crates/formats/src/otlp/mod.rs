//! OpenTelemetry's protocol as files: profiles (`ProfilesData`) in protobuf (SPEC.md).
//!
//! Profiles are read in the layouts of versions 1.9 to 1.11 and written in that of 1.10, which 1.11 kept.
//! Tables of the dictionary and samples are records of their own, so that a reader needs memory for one of
//! them. JSON is another encoding of the same messages and is not read.

mod code;
mod dictionary;
mod layout;
mod probe;
mod profiles;
mod raise;
mod sample;
mod schema;
mod survey;
mod symbols;
mod value;

use traceloom_model::{Capabilities, Feature};

use crate::Format;
use crate::protobuf::Reader;

/// Profiles.
pub static PROFILES: Format = Format {
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
