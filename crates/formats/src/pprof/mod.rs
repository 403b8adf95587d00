//! pprof profiles: the message `Profile` of `profile.proto`, decompressed (SPEC.md).
//!
//! The fields of the outermost message are the native records, so a reader needs memory for one sample
//! and not for the profile. Lowering passes over the input twice, because tables may come after the
//! samples that use them: it holds the tables and what the sink makes of the samples.
//!
//! ```
//! use traceloom_formats::{Records, pprof, protobuf, read_slice};
//! use traceloom_model::Limits;
//!
//! let mut profile = Vec::new();
//! protobuf::put_bytes(&mut profile, 6, b"");
//! protobuf::put_bytes(&mut profile, 6, b"cpu");
//! let mut records = Records::default();
//! read_slice(&mut pprof::Reader::new(&Limits::default()), &profile, &mut records);
//! assert_eq!(records.kinds(), ["string", "string"]);
//! assert_eq!(records.written(), profile);
//! ```

mod calltree;
mod code;
mod columns;
pub mod decode;
mod difference;
mod ids;
mod labels;
mod lower;
mod probe;
mod put_labels;
mod raise;
mod read;
mod record;
mod schema;
mod symbols;

#[cfg(test)]
mod tests;

pub use crate::profile::Strings;
pub use columns::{Function, Label, Line, Location, Mapping, Sample, Samples, Tables, ValueType};
pub use difference::{DifferenceError, difference};
pub use read::Reader;
pub use record::Record;

use traceloom_model::{Capabilities, Feature, Variant};

use crate::Format;

/// pprof profiles.
pub const FORMAT: Format = Format {
    name: "pprof",
    title: "pprof profile (profile.proto)",
    extensions: &["pprof", "pb"],
    probe: probe::probe,
    reader: Some(|limits| Box::new(Reader::new(limits))),
    lower: Some(lower::lower),
    lowers_notes: true,
    raise: Some(raise::raise),
    holds: Capabilities::of(&[
        Feature::WideIntegers,
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
    // Lines of one location are inlined.
    .with_derived(&[Feature::FrameKinds])
    .with_variants(&[Variant {
        lacks: &[Feature::SampleTimes],
        ..Variant::of(SUMS, "samples added up that differ in time alone")
    }]),
    ..Format::BASE
};

/// The variant that adds samples up.
const SUMS: &str = "sums";
