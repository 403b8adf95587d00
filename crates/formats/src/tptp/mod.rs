//! Eclipse TPTP's profiler traces: the binary stream and its XML twin.
//!
//! Both forms carry the same 30 messages ([`MESSAGES`]). [`binary`] and [`xml`] move between bytes and
//! records, [`to_xml`] and [`to_binary`] between the forms; [`negotiate`] is the exchange by which a
//! client and a profiler agree on one of them, [`filter`] the rules by which a profiler leaves methods
//! out.
//!
//! Deliberately absent: the Agent Controller's envelope. No reachable text gives its bytes (SPEC.md §9).

pub mod binary;
mod charset;
mod convert;
mod emit;
pub mod filter;
mod lower;
mod markup;
mod message;
pub mod negotiate;
pub mod option;
mod raise;
mod sample;
mod seconds;
mod table;
#[cfg(test)]
mod tests;
mod visit;
pub mod xml;

pub use charset::{Charset, Refusal};
pub use convert::{to_binary, to_xml};
pub use message::{Draft, Form, Frames, Message, Slot, Texts};
pub use table::{FieldDef, Kind, Layout, MESSAGES, Schema, by_element, by_id};
pub use visit::{Item, Visit};

use crate::{Confidence, Fork, Format, Probe};
use traceloom_model::{Capabilities, Feature, Limits};

/// What both forms can hold; value columns and counters are TPTP's own alone.
const HOLDS: Capabilities = Capabilities::of(&[
    Feature::Spans,
    Feature::PartialSpans,
    Feature::SubMillisecond,
    Feature::SubMicrosecond,
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
]);

/// The binary form.
pub const BINARY: Format = Format {
    name: "tptp-binary",
    title: "Eclipse TPTP binary trace",
    extensions: &["trcbin"],
    probe: probe_binary,
    reader: Some(open_binary),
    members: None,
    set: None,
    lower: Some(lower::lower),
    raise: Some(raise::binary),
    holds: HOLDS,
    sample: Some(sample::binary),
};

/// The XML form.
pub const XML: Format = Format {
    name: "tptp-xml",
    title: "Eclipse TPTP XML trace",
    extensions: &["trcxml"],
    probe: probe_xml,
    reader: Some(open_xml),
    members: None,
    set: None,
    lower: Some(lower::lower),
    raise: Some(raise::xml),
    holds: HOLDS,
    sample: Some(sample::xml),
};

fn open_binary(limits: &Limits) -> Box<dyn Fork> {
    Box::new(binary::Binary::new(limits))
}

fn open_xml(limits: &Limits) -> Box<dyn Fork> {
    Box::new(xml::Xml::new(limits))
}

fn probe_binary(probe: &Probe<'_>) -> Option<Confidence> {
    let magic = probe.head.get(..4)?;
    (magic == b"0TBF" || magic == b"\0TBF").then_some(Confidence::Certain)
}

/// A root called `TRACE`, or a message as the first element (SPEC.md §7).
fn probe_xml(probe: &Probe<'_>) -> Option<Confidence> {
    let wide = match probe.head {
        [0xff, 0xfe, ..] | [b'<', 0, ..] => Some(false),
        [0xfe, 0xff, ..] | [0, b'<', ..] => Some(true),
        _ => None,
    };
    let masked;
    let head = match wide {
        Some(big) => {
            masked = markup::mask(probe.head, big);
            masked.strip_prefix(b"?").unwrap_or(&masked)
        }
        None => probe
            .head
            .strip_prefix(b"\xef\xbb\xbf")
            .unwrap_or(probe.head),
    };
    let mut at = 0;
    loop {
        let rest = head.get(at..)?.trim_ascii_start();
        if rest.first() != Some(&b'<') {
            return None;
        }
        at = head.len() - rest.len();
        if rest.starts_with(b"<!--") {
            at += memchr::memmem::find(rest, b"-->")? + 3;
        } else if matches!(rest.get(1), Some(b'?' | b'!')) {
            at += memchr::memchr(b'>', rest)? + 1;
        } else {
            let name = rest.get(1..markup::name_end(rest))?;
            let named =
                name == b"TRACE" || by_element(name).is_some_and(|schema| is_telling(schema.id));
            return named.then_some(Confidence::Certain);
        }
    }
}

/// Elements whose names other documents hardly use: `node`, `filter`, `option` and `custom` are not.
const fn is_telling(id: u16) -> bool {
    !matches!(id, 1001 | 1007 | 1008 | 1041)
}
