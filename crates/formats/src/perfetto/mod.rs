//! Perfetto traces: `TracePacket`s that describe tracks and tell what happens on them (SPEC.md).
//!
//! Read are track events with their tracks, interned data, clocks, counters and flows; packets that carry
//! anything else (scheduling, memory, logs of the system) are records and are not lowered. A packet is
//! never held longer than it is read, but for slices of tracks that come out of order.

mod annotate;
mod clocks;
mod counts;
mod describe;
mod interned;
mod legacy;
mod lines;
mod lower;
mod packet;
mod probe;
mod raise;
mod schema;
mod slice;
mod survey;
mod timing;
mod tracks;

pub use lower::lower;
pub use raise::raise;

use traceloom_model::Feature;

use crate::Format;
use crate::protobuf::Reader;
use crate::spans::SLICE_FEATURES;

/// Perfetto traces.
pub static FORMAT: Format = Format {
    name: "perfetto",
    title: "Perfetto trace (track events)",
    extensions: &["perfetto-trace", "pftrace"],
    probe: probe::probe,
    reader: Some(|limits| Box::new(Reader::new(&schema::LAYOUT, limits))),
    lower: Some(lower),
    raise: Some(raise),
    // Places in the source and flows besides.
    holds: SLICE_FEATURES.with(&[
        Feature::Resources,
        Feature::SourceLines,
        Feature::Links,
        Feature::UnsignedIntegers,
        Feature::WideIntegers,
    ]),
    ..Format::BASE
};
