//! Perfetto traces: `TracePacket`s that describe tracks and tell what happens on them (SPEC.md).
//!
//! Read are track events with their tracks, interned data, clocks, counters and flows; packets that carry
//! anything else (scheduling, memory, logs of the system) are records and are not lowered. A packet is
//! never held longer than it is read, but for slices of tracks that come out of order.

mod annotate;
mod clocks;
mod describe;
mod interned;
mod lines;
mod lower;
mod packet;
mod probe;
mod raise;
mod sample;
mod schema;
mod survey;
mod timing;
mod tracks;

pub(crate) use interned::element_type;
pub use lower::lower;
pub use raise::raise;

use traceloom_model::{Capabilities, Feature};

use crate::Format;
use crate::protobuf::Reader;

/// Perfetto traces.
pub static FORMAT: Format = Format {
    name: "perfetto",
    title: "Perfetto trace (track events)",
    extensions: &["perfetto-trace", "pftrace"],
    probe: probe::probe,
    reader: Some(|limits| Box::new(Reader::new(&schema::LAYOUT, limits))),
    members: None,
    set: None,
    lower: Some(lower),
    split: None,
    raise: Some(raise),
    holds: Capabilities::of(&[
        Feature::Spans,
        Feature::AsyncTracks,
        Feature::PartialSpans,
        Feature::SpanCounters,
        Feature::SpanAttributes,
        Feature::TypedAttributes,
        Feature::NestedAttributes,
        Feature::ErrorStatus,
        Feature::SpanContexts,
        Feature::SpanKinds,
        Feature::SubMillisecond,
        Feature::SubMicrosecond,
        Feature::Tracks,
        Feature::Resources,
        Feature::SourceLines,
        Feature::Events,
        Feature::EventDurations,
        Feature::EventAttributes,
        Feature::Counters,
        Feature::Links,
        Feature::WideTimes,
    ]),
    sample: Some(sample::sample),
};
