//! Perfetto traces: `TracePacket`s that describe tracks and tell what happens on them (SPEC.md).
//!
//! Read are track events with their tracks, interned data, clocks, counters and flows; packets that carry
//! anything else (scheduling, memory, logs of the system) are records and are not lowered. A packet is
//! never held longer than it is read, but for slices of tracks that come out of order.
//!
//! ```
//! use traceloom_formats::perfetto::{TrackEvent, TrackEventType, packets};
//! use traceloom_formats::protobuf::{put_message, put_number};
//!
//! // A slice begins on track 7.
//! let mut trace = Vec::new();
//! put_message(&mut trace, 1, |packet| {
//!     put_number(packet, 8, 1_000);
//!     put_message(packet, 11, |event| {
//!         put_number(event, 9, 1);
//!         put_number(event, 11, 7);
//!     });
//! });
//! let packet = packets(&trace).next().unwrap();
//! assert_eq!(packet.timestamp, Some(1_000));
//! let event = TrackEvent::read(packet.event.unwrap());
//! assert_eq!((event.r#type, event.track), (TrackEventType::Begin, Some(7)));
//! ```

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
mod profiles;
mod raise;
mod schema;
mod slice;
mod survey;
mod timing;
mod tracks;

pub use packet::{InternedName, Legacy, Packet, TrackEvent, TrackEventType, packets};

use traceloom_model::Feature;

use crate::Format;
use crate::protobuf::Reader;
use crate::spans::SLICE_FEATURES;

/// Perfetto traces.
pub const FORMAT: Format = Format {
    name: "perfetto",
    title: "Perfetto trace (track events)",
    extensions: &["perfetto-trace", "pftrace"],
    probe: probe::probe,
    reader: Some(|limits| Box::new(Reader::new(&schema::LAYOUT, limits))),
    lower: Some(lower::lower),
    raise: Some(raise::raise),
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
