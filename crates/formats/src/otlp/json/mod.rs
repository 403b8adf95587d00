//! The JSON encoding of the protocol's messages (SPEC.md §6).
//!
//! JSON and protobuf are two encodings of the same messages, so that only one of them is lowered: [`decode`] makes
//! protobuf of a document by the tables of `schema.rs`, and remembers what came from where, so that notes have the
//! offsets of the text.

mod decode;
mod encode;

use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use traceloom_model::{Limits, Sink};

use super::{profiles, schema, traces};
use crate::text::json::{Document, JsonLayout, JsonReader, Kind};
use crate::{Confidence, Error, Fork, LowerOptions, Probe, Source};

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

static TRACES: JsonLayout = JsonLayout {
    document: "traces",
    elements: &[(
        &["resourceSpans", "*", "scopeSpans", "*", "spans", "*"],
        "span",
    )],
    time: |_| None,
};

static PROFILES: JsonLayout = JsonLayout {
    document: "profiles",
    elements: &[(
        &[
            "resourceProfiles",
            "*",
            "scopeProfiles",
            "*",
            "profiles",
            "*",
            "samples",
            "*",
        ],
        "sample",
    )],
    time: |_| None,
};

/// Builds a reader of traces, of which a file may hold several, one a line.
pub(super) fn traces_reader(limits: &Limits) -> Box<dyn Fork> {
    Box::new(JsonReader::of_several(&TRACES, limits))
}

/// Builds a reader of profiles, of which a file may hold several, one a line.
pub(super) fn profiles_reader(limits: &Limits) -> Box<dyn Fork> {
    Box::new(JsonReader::of_several(&PROFILES, limits))
}

/// Returns how sure it is that a part is traces.
pub(super) fn traces_probe(probe: &Probe<'_>) -> Option<Confidence> {
    begins_with(probe, "resourceSpans")
}

/// Returns how sure it is that a part is profiles.
pub(super) fn profiles_probe(probe: &Probe<'_>) -> Option<Confidence> {
    begins_with(probe, "resourceProfiles").or_else(|| begins_with(probe, "dictionary"))
}

/// Recognises a document by a member that no other format has.
fn begins_with(probe: &Probe<'_>, member: &str) -> Option<Confidence> {
    if !probe.head.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let document = Document::parse(probe.head, &Limits::default());
    let member = document.root()?.get(member)?;
    let found = match member.kind() {
        Kind::Array => true,
        Kind::Object => member.get("stringTable").is_some(),
        _ => false,
    };
    found.then_some(Confidence::Certain)
}

/// Lowers traces.
///
/// # Errors
/// What the source fails with.
pub(super) fn lower_traces(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    decode::lower(source, options, sink, &schema::TRACES_DATA, traces::lower)
}

/// Appends a message of traces as a line of JSON.
pub(super) fn put_traces(message: &[u8], out: &mut Vec<u8>) {
    encode::document(message, &schema::TRACES_DATA, out);
}

/// Lowers profiles.
///
/// # Errors
/// What the source fails with.
pub(super) fn lower_profiles(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    decode::lower(
        source,
        options,
        sink,
        &schema::PROFILES_DATA,
        profiles::lower,
    )
}
