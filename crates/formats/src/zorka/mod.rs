//! Zorka and ZICO: CBOR call traces of every generation (SPEC.md).
//!
//! One decoder reads them all, because the tag of an item and the byte after it tell its generation;
//! the rows below differ in what they claim, in how an ambiguous begin is read and in what they write.
//!
//! ```
//! use traceloom_formats::zorka::{Bounds, Cbor, Context, Item, item, write};
//! use traceloom_model::Limits;
//!
//! let mut bytes = Vec::new();
//! write::item(&mut bytes, &Item::Flags(3));
//! let mut cbor = Cbor::new(&bytes, 0, Bounds::new(&Limits::default()));
//! assert!(matches!(item(&mut cbor, &Context::default()), Ok(Item::Flags(3))));
//! ```

mod agents;
pub mod cbor;
mod diagnostic;
mod dialect;
mod encode;
mod fast;
mod held_traces;
mod lower;
mod meaning;
mod open_trace;
mod parts;
mod posts;
mod probe;
mod processed;
mod raise;
mod read;
mod record;
mod requests;
mod session;
mod show;
mod source;
mod source_range;
mod source_state;
mod stats;
mod steps;
mod store;
mod stream;

pub mod write;

pub use agents::{AgentSymbols, PostFault};
pub use cbor::{Bounds, Cbor, CborValue};
pub use posts::post_line;
pub use read::{Context, TwoItems, item};
pub use record::{
    AttributeForm, Attributes, Begin, End, EndForm, Exception, ExceptionFields, Item, Method,
    Order, Record, Start, StartForm, Symbol, ValueRun,
};
pub use requests::{Request, posted_body};
pub use stream::{Reader, Visit};

use traceloom_model::{Capabilities, Feature, Flow, Limits, Note, Variant};

use crate::codec::KindSums;
use crate::{Chunk, Confidence, Fork, Format, Probe, RecordSink, Step};
use probe::StreamKind;

impl crate::Reader for Reader {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        let takes = match (out.only_notes(), out.only_sums()) {
            (true, _) => Takes::Notes,
            (false, true) => Takes::Sums(KindSums::default()),
            (false, false) => Takes::Records,
        };
        let mut dynamic = Dynamic { out, takes };
        let step = Self::read(self, chunk, &mut dynamic);
        match dynamic.tell() {
            Flow::Break(()) => Step::Stop,
            Flow::Continue(()) => step,
        }
    }
}

struct Dynamic<'o> {
    out: &'o mut dyn RecordSink,
    takes: Takes,
}

/// What a sink has use for.
enum Takes {
    Records,
    /// Sums of them: with those that were not told yet.
    Sums(KindSums),
    Notes,
}

impl Dynamic<'_> {
    fn tell(&mut self) -> Flow {
        match &mut self.takes {
            Takes::Sums(sums) => sums.tell(self.out),
            Takes::Records | Takes::Notes => Flow::Continue(()),
        }
    }
}

impl Visit for Dynamic<'_> {
    #[inline]
    fn record(&mut self, record: &Record<'_>) -> Flow {
        match &mut self.takes {
            Takes::Records => return self.out.record(record),
            Takes::Sums(sums) => {
                let end = record.offset + record.bytes.len() as u64;
                sums.add(record.kind_name(), end, crate::Record::time(record));
            }
            Takes::Notes => {}
        }
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.tell()?;
        self.out.note(note)
    }
}

macro_rules! readers {
    ($($name:ident $begin:ident)*) => {$(
        fn $name(limits: &Limits) -> Box<dyn Fork> {
            Box::new(Reader::new(limits, TwoItems::$begin))
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
            probe::kind(part).filter(|found| found.0 == StreamKind::$kind).map(|found| found.1)
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

/// What every generation holds.
const TRACES: Capabilities = Capabilities::of(&[
    Feature::WideIntegers,
    Feature::Spans,
    Feature::SpanCounters,
    Feature::InnerCounters,
    Feature::InnerCalls,
    Feature::SpanAttributes,
    Feature::Exceptions,
    Feature::TraceIds,
    Feature::FunctionDetails,
    Feature::Tracks,
    Feature::InvalidText,
]);

/// What the reader of the original cannot take, and what is written all the same when it came in this generation.
const AS_IT_CAME: [Feature; 5] = [
    Feature::UnsignedIntegers,
    Feature::TypedAttributes,
    Feature::FloatAttributes,
    Feature::NestedAttributes,
    Feature::UpwardAttributes,
];

const S0_HOLDS: Capabilities = TRACES
    .with(&[
        Feature::UpwardAttributes,
        Feature::TypedAttributes,
        Feature::FloatAttributes,
        Feature::NestedAttributes,
        Feature::SpanKinds,
    ])
    .with_derived(&[Feature::UnsignedIntegers])
    .with_variants(&[
        Variant::of("le", "packed words are little-endian, as without a variant"),
        Variant::of("be", "packed words are big-endian"),
        Variant::of(
            "seed-literal",
            "attributes with the tag that the format's description has",
        ),
    ]);

const B2_HOLDS: Capabilities = TRACES
    .with(&[Feature::ErrorStatus, Feature::SpanContexts])
    .with_derived(&AS_IT_CAME)
    .with_variants(&[
        Variant::of("be", "packed words are big-endian, as without a variant"),
        Variant::of("le", "packed words are little-endian"),
    ]);

const C_TRACES: Capabilities = TRACES
    .with(&[
        Feature::UpwardAttributes,
        Feature::TypedAttributes,
        Feature::ErrorStatus,
        Feature::SpanContexts,
        Feature::SpanKinds,
        Feature::SubMillisecond,
        Feature::SubMicrosecond,
        Feature::WideTimes,
    ])
    .with_derived(&AS_IT_CAME);

const C_HOLDS: Capabilities = C_TRACES.with_variants(&[
    Variant::of(
        "agent",
        "fractions, lists and maps become text, as without a variant: the original's reader takes no others",
    ),
    Variant {
        gains: &[Feature::FloatAttributes, Feature::NestedAttributes],
        ..Variant::of("typed", "fractions, lists and maps stay what they are")
    },
]);

/// Posts name the session and the trace besides what C holds.
const POSTS_HOLD: Capabilities = C_TRACES.with_derived(&[Feature::Resources]);

/// What all of Zorka's formats share.
const ZORKA: Format = Format {
    extensions: &["bin"],
    reader: Some(open_typed),
    lower: Some(source::lower),
    lowers_notes: true,
    ..Format::BASE
};

/// The seed's generation: records under tags 10 and 11, untagged words.
pub const S0: Format = Format {
    name: "zorka-s0",
    title: "Zorka traces, the seed's generation (2018-09)",
    magic: b"\xd8\x0b\x9f\x48",
    streams: true,
    probe: probe_s0,
    raise: Some(|options, output| {
        raise::target("zorka-s0", &dialect::S0_VARIANTS, options, output)
    }),
    holds: S0_HOLDS,
    ..ZORKA
};

/// Tagged prologs, untagged epilogs.
pub const S0B: Format = Format {
    name: "zorka-s0b",
    title: "Zorka traces, between the seed's generation and B",
    magic: b"\xc8\x9f\xcb\x48",
    streams: true,
    probe: probe_s0b,
    ..ZORKA
};

/// Tagged words; a begin names the trace type.
pub const B1: Format = Format {
    name: "zorka-b1",
    title: "Zorka traces, generation B until 2019-04",
    magic: b"\xc8\x9f\xcb\x48",
    streams: true,
    probe: probe_b1,
    ..ZORKA
};

/// Tagged words; a begin names spans.
pub const B2: Format = Format {
    name: "zorka-b2",
    title: "Zorka traces, generation B from 2019-05 on",
    magic: b"\xc8\x9f\xcb\x48",
    streams: true,
    probe: probe_b2,
    reader: Some(open_any),
    raise: Some(|options, output| {
        raise::target("zorka-b2", &dialect::B2_VARIANTS, options, output)
    }),
    holds: B2_HOLDS,
    ..ZORKA
};

/// Plain integers, nanoseconds.
pub const C: Format = Format {
    name: "zorka-c",
    title: "Zorka traces, the current generation",
    magic: b"\xc3\x9f\x1b",
    streams: true,
    probe: probe_c,
    reader: Some(open_any),
    raise: Some(|options, output| raise::target("zorka-c", &dialect::C_VARIANTS, options, output)),
    holds: C_HOLDS,
    ..ZORKA
};

/// Symbols and methods: what an agent sends before the traces that need them.
pub const AGD: Format = Format {
    name: "zorka-agd",
    title: "Zorka agent data: symbols and methods",
    extensions: &["agd.bin", "symbols.json"],
    streams: true,
    probe: probe_agd,
    reader: Some(|limits| Box::new(requests::DefinitionReader::new(limits))),
    // A table of symbols that is none is told by its reader alone.
    lowers_notes: false,
    ..ZORKA
};

/// A store of zorka-tdb.
pub const STORE: Format = Format {
    name: "zorka-store",
    title: "Zorka trace store (traces.dat)",
    extensions: &["dat"],
    magic: b"ZTS0",
    probe: probe_store,
    reader: Some(|limits| Box::new(store::StoreReader::new(limits))),
    ..ZORKA
};

/// Posts of agents as JSON lines.
pub const REQUESTS: Format = Format {
    name: "zorka-requests",
    title: "ZICO request dump (JSON lines)",
    extensions: &["requests.jsonl", "jsonl"],
    magic: b"{\"uri\":\"",
    probe: probe_requests,
    reader: Some(|limits| Box::new(requests::RequestLines::new(limits))),
    // A folder of one session.
    set: Some(parts::set),
    raise: Some(raise::posts),
    holds: POSTS_HOLD,
    ..ZORKA
};

fn probe_agd(part: &Probe<'_>) -> Option<Confidence> {
    if parts::PartName::of(part.name).json {
        let table = requests::symbols(part.head).is_some();
        return (table || !part.whole && part.head.starts_with(b"{\""))
            .then_some(Confidence::Likely);
    }
    let found = probe::kind(part).filter(|found| found.0 == StreamKind::Definitions);
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
