//! Eclipse TPTP's profiler traces: the binary stream and its XML twin.
//!
//! Both forms carry the same 30 messages ([`MESSAGES`]). [`binary`] and [`xml`] move between bytes and
//! records, [`to_xml`] and [`to_binary`] between the forms; [`negotiate`] is the exchange by which a
//! client and a profiler agree on one of them. [`register`] adds messages of an agent's author.
//!
//! Deliberately absent: filter files, which are a front end of the filter language in
//! `traceloom-analysis`; and the Agent Controller's envelope. No reachable text gives its bytes (SPEC.md §9).
//!
//! ```
//! use traceloom_formats::tptp;
//! use traceloom_formats::{Records, read_slice};
//! use traceloom_model::Limits;
//!
//! let bytes = br#"<TRACE><methodExit threadIdRef="1" time="12.5" ticket="3"/></TRACE>"#;
//! let mut records = Records::default();
//! read_slice(&mut tptp::xml::Reader::new(&Limits::default()), bytes, &mut records);
//! assert_eq!(records.kinds(), ["root_start", "method_exit", "root_end"]);
//! assert_eq!(records.written(), bytes);
//! ```

pub mod binary;
mod call;
mod charset;
mod control;
mod convert;
mod emit;
mod lower;
mod markup;
mod message;
pub mod negotiate;
pub mod option;
mod probe;
mod raise;
mod registered;
mod seconds;
mod session;

mod table;
#[cfg(test)]
mod tests;
mod visit;
pub mod xml;

pub use call::Call;
pub use charset::{Charset, Refusal};
pub use convert::{to_binary, to_xml};
pub use message::{Draft, Form, Frames, Message, Slot, Texts};
pub use registered::register;
pub(crate) use registered::{messages, set};
pub use session::PROTOCOL;
pub use table::{FieldDef, Kind, Layout, MESSAGES, Schema, by_element, by_id};
pub use visit::{Item, Visit};

use crate::{Fork, Format};
use traceloom_model::{Capabilities, Feature, Limits, Variant};

/// What both forms can hold; of value columns, counters and attributes of calls their own.
const HOLDS: Capabilities = Capabilities::of(&[
    Feature::WideIntegers,
    Feature::Spans,
    Feature::PartialSpans,
    Feature::SubMillisecond,
    Feature::SubMicrosecond,
    Feature::UnknownOrigin,
    Feature::Tracks,
    Feature::Resources,
    Feature::FunctionDetails,
    Feature::SourceLines,
    Feature::Samples,
    Feature::SampleTracks,
    Feature::Events,
    Feature::EventDurations,
    Feature::EventAttributes,
    Feature::HeapObjects,
])
// Times of events are attributes in nanoseconds.
.with_derived(&[Feature::AttributeKeys])
.with_own(&[
    (Feature::ManyValues, "base_time"),
    (Feature::ManyValues, "cumulative_time"),
    (Feature::ManyValues, "min_time"),
    (Feature::ManyValues, "max_time"),
    (Feature::ManyValues, "base_cpu_time"),
    (Feature::ManyValues, "calls"),
    (Feature::InclusiveValues, "cumulative_time"),
    (Feature::InclusiveValues, "min_time"),
    (Feature::InclusiveValues, "max_time"),
    (Feature::SpanCounters, "thread_cpu_time"),
    (Feature::SpanCounters, "thread_cpu_time_at_entry"),
    (Feature::SpanAttributes, "object"),
]);

/// The binary form.
pub const BINARY: Format = Format {
    name: "tptp-binary",
    title: "Eclipse TPTP binary trace",
    extensions: &["trcbin"],
    magic: b"0TBF\x01\0",
    streams: true,
    probe: probe::binary,
    reader: Some(open_binary),
    lower: Some(lower::lower),
    lowers_notes: true,
    raise: Some(raise::binary),
    holds: HOLDS.with_variants(&[
        Variant::of("be", "numbers are big-endian; else little-endian"),
        Variant::of("32", "written by a 32-bit process; else by one of 64 bits"),
        Variant::of("be,32", "both"),
    ]),
    ..Format::BASE
};

/// The XML form.
pub const XML: Format = Format {
    name: "tptp-xml",
    title: "Eclipse TPTP XML trace",
    extensions: &["trcxml"],
    magic: b"<?xml ve",
    streams: true,
    probe: probe::xml,
    reader: Some(open_xml),
    lower: Some(lower::lower),
    lowers_notes: true,
    raise: Some(raise::xml),
    holds: HOLDS,
    ..Format::BASE
};

fn open_binary(limits: &Limits) -> Box<dyn Fork> {
    Box::new(binary::Reader::new(limits))
}

fn open_xml(limits: &Limits) -> Box<dyn Fork> {
    Box::new(xml::Reader::new(limits))
}
