//! Zorka and ZICO: CBOR call traces of every generation (SPEC.md).
//!
//! One decoder reads them all, because the tag of an item and the byte after it tell its generation;
//! the rows below differ in what they claim, in how an ambiguous begin is read and in what they write.

pub mod cbor;
mod diagnostic;
mod parts;
mod probe;
mod read;
mod record;
mod show;
mod stream;
mod write;

pub use cbor::{Bounds, Cbor, Value};
pub use read::{Context, TwoItems, item};
pub use record::{
    AttributeForm, Attributes, Begin, End, EndForm, Exception, ExceptionFields, Item, Method,
    Order, Record, Start, StartForm, Symbol, Values,
};
pub use stream::{Stream, Visit};

use traceloom_model::{Capabilities, Flow, Limits, Note};

use crate::{Chunk, Confidence, Format, Probe, Reader, RecordSink, Step};
use probe::Kind;

/// The native reader of all generations.
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
        fn $name(limits: &Limits) -> Box<dyn Reader> {
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

/// The seed's generation: records under tags 10 and 11, untagged words.
pub const S0: Format = Format {
    name: "zorka-s0",
    title: "Zorka traces, the seed's generation (2018-09)",
    extensions: &["bin"],
    probe: probe_s0,
    reader: Some(open_typed),
    members: None,
    set: None,
    lower: None,
    raise: None,
    holds: Capabilities::NONE,
    sample: None,
};

/// Tagged prologs, untagged epilogs.
pub const S0B: Format = Format {
    name: "zorka-s0b",
    title: "Zorka traces, between the seed's generation and B",
    probe: probe_s0b,
    ..S0
};

/// Tagged words; a begin names the trace type.
pub const B1: Format = Format {
    name: "zorka-b1",
    title: "Zorka traces, generation B until 2019-04",
    probe: probe_b1,
    ..S0
};

/// Tagged words; a begin names spans.
pub const B2: Format = Format {
    name: "zorka-b2",
    title: "Zorka traces, generation B from 2019-05 on",
    probe: probe_b2,
    reader: Some(open_any),
    ..S0
};

/// Plain integers, nanoseconds.
pub const C: Format = Format {
    name: "zorka-c",
    title: "Zorka traces, the current generation",
    probe: probe_c,
    reader: Some(open_any),
    set: Some(parts::set),
    ..S0
};
