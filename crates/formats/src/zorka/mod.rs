//! Zorka and ZICO: CBOR call traces of every generation (SPEC.md).
//!
//! One decoder reads them all, because the tag of an item and the byte after it tell its generation;
//! the rows below differ in what they claim, in how an ambiguous begin is read and in what they write.

pub mod cbor;
mod diagnostic;
mod dialect;
mod encode;
mod lower;
mod meaning;
mod parts;
mod probe;
mod raise;
mod read;
mod record;
mod requests;
mod sample;
mod session;
mod show;
mod source;
mod stats;
mod store;
mod stream;
mod tree;
mod write;

pub use cbor::{Bounds, Cbor, Value};
pub use read::{Context, TwoItems, item};
pub use record::{
    AttributeForm, Attributes, Begin, End, EndForm, Exception, ExceptionFields, Item, Method,
    Order, Record, Start, StartForm, Symbol, Values,
};
pub use stream::{Stream, Visit};

use traceloom_model::{Capabilities, Feature, Flow, Limits, Note};

use crate::{Chunk, Confidence, Fork, Format, Probe, Reader, RecordSink, Step};
use probe::Kind;

/// The native reader of all generations.
#[derive(Clone)]
struct Items(Stream);

impl Reader for Items {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        self.0.read(chunk, &mut Dynamic(out))
    }
}

struct Dynamic<'o>(&'o mut dyn RecordSink);

impl Visit for Dynamic<'_> {
    fn record(&mut self, record: &Record<'_>) -> Flow {
        self.0.record(record)
    }

    fn note(&mut self, note: Note) -> Flow {
        self.0.note(note)
    }
}

macro_rules! readers {
    ($($name:ident $begin:ident)*) => {$(
        fn $name(limits: &Limits) -> Box<dyn Fork> {
            Box::new(Items(Stream::new(limits, TwoItems::$begin)))
        }
    )*};
}

readers! {
    open_typed Type
    open_any Guess
}

macro_rules! probes {
    ($($name:ident $kind:ident)*) => {$(
        fn $name(part: &Probe<'_>) -> Option<Confidence> {
            probe::kind(part).filter(|found| found.0 == Kind::$kind).map(|found| found.1)
        }
    )*};
}

probes! {
    probe_s0 S0
    probe_s0b S0b
    probe_b1 B1
    probe_b2 B2
    probe_c C
}

/// Trace ids travel in HTTP headers, so no stream holds a span's whole context.
const B2_HOLDS: Capabilities = Capabilities::of(&[
    Feature::Spans,
    Feature::SpanCounters,
    Feature::SpanAttributes,
    Feature::ErrorStatus,
    Feature::Exceptions,
    Feature::FunctionDetails,
    Feature::Tracks,
    Feature::InvalidText,
]);

const S0_HOLDS: Capabilities = Capabilities::of(&[
    Feature::Spans,
    Feature::SpanCounters,
    Feature::SpanAttributes,
    Feature::UpwardAttributes,
    Feature::TypedAttributes,
    Feature::NestedAttributes,
    Feature::Exceptions,
    Feature::SpanKinds,
    Feature::FunctionDetails,
    Feature::Tracks,
    Feature::InvalidText,
]);

const C_HOLDS: Capabilities = Capabilities::of(&[
    Feature::Spans,
    Feature::SpanCounters,
    Feature::SpanAttributes,
    Feature::UpwardAttributes,
    Feature::TypedAttributes,
    Feature::NestedAttributes,
    Feature::ErrorStatus,
    Feature::Exceptions,
    Feature::SpanKinds,
    Feature::SubMillisecond,
    Feature::SubMicrosecond,
    Feature::FunctionDetails,
    Feature::Tracks,
    Feature::InvalidText,
    Feature::WideTimes,
]);

/// The seed's generation: records under tags 10 and 11, untagged words.
pub const S0: Format = Format {
    name: "zorka-s0",
    title: "Zorka traces, the seed's generation (2018-09)",
    extensions: &["bin"],
    probe: probe_s0,
    reader: Some(open_typed),
    members: None,
    set: None,
    lower: Some(source::lower),
    raise: Some(|options, output| raise::target(&dialect::S0_VARIANTS, options, output)),
    holds: S0_HOLDS,
    sample: Some(sample::s0),
};

/// Tagged prologs, untagged epilogs.
pub const S0B: Format = Format {
    name: "zorka-s0b",
    title: "Zorka traces, between the seed's generation and B",
    probe: probe_s0b,
    raise: None,
    holds: Capabilities::NONE,
    sample: Some(sample::s0b),
    ..S0
};

/// Tagged words; a begin names the trace type.
pub const B1: Format = Format {
    name: "zorka-b1",
    title: "Zorka traces, generation B until 2019-04",
    probe: probe_b1,
    raise: None,
    holds: Capabilities::NONE,
    sample: Some(sample::b1),
    ..S0
};

/// Tagged words; a begin names spans.
pub const B2: Format = Format {
    name: "zorka-b2",
    title: "Zorka traces, generation B from 2019-05 on",
    probe: probe_b2,
    reader: Some(open_any),
    raise: Some(|options, output| raise::target(&dialect::B2_VARIANTS, options, output)),
    holds: B2_HOLDS,
    sample: Some(sample::b2),
    ..S0
};

/// Plain integers, nanoseconds.
pub const C: Format = Format {
    name: "zorka-c",
    title: "Zorka traces, the current generation",
    probe: probe_c,
    reader: Some(open_any),
    set: Some(parts::set),
    raise: Some(|options, output| raise::target(&dialect::C_VARIANTS, options, output)),
    holds: C_HOLDS,
    sample: Some(sample::c),
    ..S0
};

/// Symbols and methods: what an agent sends before the traces that need them.
pub const AGD: Format = Format {
    name: "zorka-agd",
    title: "Zorka agent data: symbols and methods",
    extensions: &["agd.bin", "symbols.json"],
    probe: probe_agd,
    reader: Some(|limits| Box::new(requests::Definitions::new(limits))),
    raise: None,
    holds: Capabilities::NONE,
    sample: Some(sample::agd),
    ..S0
};

/// A store of zorka-tdb.
pub const STORE: Format = Format {
    name: "zorka-store",
    title: "Zorka trace store (traces.dat)",
    extensions: &["dat"],
    probe: probe_store,
    reader: Some(|limits| Box::new(store::StoreReader::new(limits))),
    raise: None,
    holds: Capabilities::NONE,
    sample: Some(sample::store),
    ..S0
};

/// Posts of agents as JSON lines.
pub const REQUESTS: Format = Format {
    name: "zorka-requests",
    title: "ZICO request dump (JSON lines)",
    extensions: &["jsonl", "txt", "dump"],
    probe: probe_requests,
    reader: Some(|limits| Box::new(requests::Lines::new(limits))),
    raise: None,
    holds: Capabilities::NONE,
    sample: Some(sample::requests),
    ..S0
};

fn probe_agd(part: &Probe<'_>) -> Option<Confidence> {
    if parts::PartName::of(part.name).json {
        let table = requests::symbols(part.head).is_some();
        return (table || !part.whole && part.head.starts_with(b"{\""))
            .then_some(Confidence::Likely);
    }
    let found = probe::kind(part).filter(|found| found.0 == Kind::Definitions);
    found.map(|found| found.1)
}

fn probe_store(part: &Probe<'_>) -> Option<Confidence> {
    part.head
        .starts_with(b"ZTS0")
        .then_some(Confidence::Certain)
}

fn probe_requests(part: &Probe<'_>) -> Option<Confidence> {
    if !part.head.starts_with(b"{") {
        return None;
    }
    let line = part.head.split(|&byte| byte == b'\n').next()?;
    let ours = |uri: &str| uri.contains("/agent/");
    match requests::Request::parse(0, line) {
        Ok(request) => ours(&request.uri).then_some(Confidence::Certain),
        // The first line may be longer than the head.
        Err(_) => {
            let head = String::from_utf8_lossy(line);
            let named = head.contains("\"X-Zorka-") || head.contains("\"X-ZICO-");
            (named && !part.whole && line.len() == part.head.len()).then_some(Confidence::Likely)
        }
    }
}

#[cfg(test)]
#[expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]
mod tests;
