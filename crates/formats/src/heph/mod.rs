//! Heph traces: packets of metadata and of finished events, back to back, big-endian.
//!
//! [`Reader`] reads packets and finds the next one after damage; [`Metadata`] and [`Event`] are the
//! native records; lowering gives events their parents, their lanes and, where the writer left substreams
//! out, their actors. What the bytes mean is in `SPEC.md` of this folder.
//!
//! ```
//! use traceloom_formats::heph::{self, Metadata, write};
//! use traceloom_formats::{Records, read_slice};
//! use traceloom_model::Limits;
//!
//! let mut bytes = Vec::new();
//! let packet = Metadata { name: b"epoch", value: &7_u64.to_be_bytes(), offset: 0 };
//! write::metadata(&packet, &mut bytes);
//! let mut records = Records::default();
//! read_slice(&mut heph::Reader::new(&Limits::default()), &bytes, &mut records);
//! assert_eq!(records.kinds(), ["metadata"]);
//! assert_eq!(records.written(), bytes);
//! ```

mod actors;
mod bodies;
mod counters;
mod datagrams;
mod forest;
mod heads;
mod known;
mod line;
mod lower;
mod mark;
mod names;
mod nest;
mod parse;
mod raise;
mod read;
mod record;
mod registered;
mod resync;
mod run;
mod session;
mod sorted;
mod survey;
#[cfg(test)]
mod tests;
pub mod write;

use traceloom_model::{Capabilities, Feature};

use crate::{Confidence, Format, Probe};

pub use read::Reader;
pub use record::{
    Attribute, Attributes, CounterCheck, Event, Layout, Metadata, Value, Visit, texts,
};
pub use registered::{Described, DescribedValue, Encoding, register};
pub(crate) use registered::{described, set};
pub use session::PROTOCOL;

/// The row of the registry.
pub const FORMAT: Format = Format {
    name: "heph",
    title: "Heph trace",
    extensions: &["heph"],
    magic: b"\x75\xd1\x1d\x4d\0\0\0",
    streams: true,
    probe,
    reader: Some(|limits| Box::new(Reader::new(limits))),
    lower: Some(lower::lower),
    lowers_notes: true,
    raise: Some(raise::open),
    holds: Capabilities::of(&[
        Feature::WideIntegers,
        Feature::Spans,
        Feature::InnerCalls,
        Feature::AsyncTracks,
        Feature::SpanAttributes,
        Feature::TypedAttributes,
        Feature::FloatAttributes,
        Feature::UnsignedIntegers,
        Feature::ListAttributes,
        Feature::TrackIds,
        Feature::SubMillisecond,
        Feature::SubMicrosecond,
        Feature::UnknownOrigin,
        Feature::InvalidText,
    ])
    // A stream is a process of its own, and tracks of actors are named after an attribute.
    .with_derived(&[Feature::Tracks, Feature::Resources]),
    ..Format::BASE
};

/// Packets that must follow each other before the middle of a recording is recognised.
const IN_A_ROW: usize = 2;
/// Places tried for them.
const TRIES: usize = 64;

fn probe(probe: &Probe<'_>) -> Option<Confidence> {
    if probe.head.len() >= 8 && parse::is_magic(probe.head) {
        return Some(Confidence::Certain);
    }
    let mut at = 0;
    for _ in 0..TRIES {
        let found = parse::find_magic(probe.head, at)?;
        if packets_at(probe.head.get(found..)?) >= IN_A_ROW {
            return Some(Confidence::Likely);
        }
        at = found + 1;
    }
    None
}

/// Counts the whole packets at the beginning of `bytes`, up to [`IN_A_ROW`].
fn packets_at(mut bytes: &[u8]) -> usize {
    for count in 0..IN_A_ROW {
        let size = bytes.get(4..).and_then(|rest| rest.first_chunk::<4>());
        let size = size.and_then(|size| usize::try_from(u32::from_be_bytes(*size)).ok());
        let Some((packet, rest)) = size.and_then(|size| bytes.split_at_checked(size)) else {
            return count;
        };
        let fits = if bytes.starts_with(&record::EVENT) {
            [Layout::Substream, Layout::NoSubstream]
                .into_iter()
                .any(|layout| {
                    parse::event(packet, 0, layout, usize::MAX).is_some_and(|event| event.complete)
                })
        } else {
            bytes.starts_with(&record::METADATA) && parse::metadata(packet, 0).is_some()
        };
        if !fits {
            return count;
        }
        bytes = rest;
    }
    IN_A_ROW
}
