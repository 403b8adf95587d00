//! The streams of the CDT (Qubership) Java profiler: calls, trace and what they refer to.
//!
//! `SPEC.md` has the byte layout; section numbers in this folder are its sections.
//!
//! ```
//! use traceloom_formats::cdt::suspend::Pause;
//! use traceloom_formats::wire::Cursor;
//!
//! // A pause of 40 milliseconds that ended 200 after the one before.
//! let pause = Pause { delta: 200, delay: 40 };
//! let mut bytes = Vec::new();
//! pause.write(&mut bytes);
//! assert_eq!(Pause::read(&mut Cursor::new(&bytes, 0))?, pause);
//! # Ok::<(), traceloom_formats::Error>(())
//! ```

pub mod blst;
pub mod calls;
pub mod dictionary;
pub mod head;
mod lower;
pub mod params;
pub mod phrase;
mod probe;
mod raise;
pub mod session;
mod set;
mod strings;
pub mod suspend;
pub mod tcp;
mod text;
mod threads;
pub mod trace;

use traceloom_model::{Capabilities, Feature, Limits, Variant};

use crate::text::line_records;
use crate::wire::units::Stream;
use crate::{Fork, Format};
use lower::COUNTERS;
pub use lower::Method;
use phrase::Phrased;
pub use session::PROTOCOL;
pub use text::put as put_text;

/// What streams can hold. Times are milliseconds; values are texts; lists only in rows of calls.
const HOLDS: Capabilities = Capabilities::of(&[
    Feature::WideIntegers,
    Feature::Spans,
    Feature::PartialSpans,
    Feature::SpanCounters,
    Feature::InclusiveValues,
    Feature::SpanAttributes,
    Feature::AttributeTimes,
    Feature::AttributeKeys,
    Feature::ErrorStatus,
    Feature::Tracks,
    Feature::FunctionDetails,
    Feature::SourceLines,
    Feature::Pauses,
])
.with_own(own(N_BESIDE_CALLS))
.with_variants(&[
    calls_of(
        "calls1",
        "calls of format 1: no cpu, memory, I/O and transactions",
        10,
    ),
    calls_of("calls2", "calls of format 2: no I/O and transactions", 13),
    calls_of(
        "calls3",
        "calls of format 3: no transactions and queue wait",
        17,
    ),
    Variant::of("calls4", "calls of format 4, as without a variant"),
]);

/// What has a place by its name: what folders say of a process, the values of the gc stream, then the counters of calls
/// by the format that brought them.
const OWN: &[(Feature, &str)] = &[
    (Feature::Resources, "service"),
    (Feature::Resources, "instance"),
    (Feature::Resources, "language"),
    (Feature::Events, "gc.pause"),
    (Feature::Events, "gc.concurrent"),
    (Feature::Counters, "heap.used"),
    (Feature::Counters, "heap.total"),
    (Feature::SpanCounters, "calls"),
    (Feature::SpanCounters, "logs_written"),
    (Feature::SpanCounters, "logs_generated"),
    (Feature::SpanCounters, "cpu_time"),
    (Feature::SpanCounters, "wait_time"),
    (Feature::SpanCounters, "memory_used"),
    (Feature::SpanCounters, "file_read"),
    (Feature::SpanCounters, "file_written"),
    (Feature::SpanCounters, "net_read"),
    (Feature::SpanCounters, "net_written"),
];

/// How many of [`OWN`] are no counters of calls.
const N_BESIDE_CALLS: usize = 7;

const fn own(count: usize) -> &'static [(Feature, &'static str)] {
    OWN.split_at(count).0
}

/// An older format of calls, which has so many of [`OWN`] and no other counters.
const fn calls_of(name: &'static str, about: &'static str, count: usize) -> Variant {
    Variant {
        lacks: &[Feature::SpanCounters],
        own: own(count),
        ..Variant::of(name, about)
    }
}

fn read_strings(limits: &Limits) -> Box<dyn Fork> {
    Box::new(Stream::new(strings::Strings::new(limits)))
}

/// Root calls with their counters.
pub const CALLS: Format = Format {
    name: "cdt-calls",
    title: "CDT calls stream",
    extensions: &["calls"],
    magic: b"\xff\xfe\xfd\xfc\0\0\0",
    streams: true,
    probe: probe::calls,
    reader: Some(|limits| Box::new(Stream::new(calls::Calls::new(limits)))),
    lower: Some(lower::lower),
    ..Format::BASE
};

/// Call trees, in blocks of one thread each.
pub const TRACE: Format = Format {
    name: "cdt-trace",
    title: "CDT trace stream",
    extensions: &["trace"],
    streams: true,
    probe: probe::trace,
    reader: Some(|limits| Box::new(trace::records::Trace::new(limits))),
    lower: Some(lower::lower),
    ..Format::BASE
};

/// Names of methods and parameters.
pub const DICTIONARY: Format = Format {
    name: "cdt-dictionary",
    title: "CDT dictionary stream",
    extensions: &["dictionary"],
    streams: true,
    probe: probe::dictionary,
    reader: Some(|limits| {
        let words = dictionary::Words::new(limits);
        Box::new(Stream::new(Phrased::new(words, limits)))
    }),
    ..Format::BASE
};

/// Display rules of parameters.
pub const PARAMS: Format = Format {
    name: "cdt-params",
    title: "CDT params stream",
    extensions: &["params"],
    streams: true,
    probe: probe::params,
    reader: Some(|limits| {
        let rows = params::ParamRows::new(limits);
        Box::new(Stream::new(Phrased::new(rows, limits)))
    }),
    ..Format::BASE
};

/// Pauses of the process.
pub const SUSPEND: Format = Format {
    name: "cdt-suspend",
    title: "CDT suspend stream",
    extensions: &["suspend"],
    streams: true,
    probe: probe::suspend,
    reader: Some(|limits| {
        let pauses = suspend::Pauses::new(limits);
        Box::new(Stream::new(Phrased::new(pauses, limits)))
    }),
    lower: Some(lower::lower),
    ..Format::BASE
};

/// Statements that tags point to.
pub const SQL: Format = Format {
    name: "cdt-sql",
    title: "CDT sql stream",
    extensions: &["sql"],
    streams: true,
    probe: probe::sql,
    reader: Some(read_strings),
    ..Format::BASE
};

/// Long values that tags point to.
pub const XML: Format = Format {
    name: "cdt-xml",
    title: "CDT xml stream",
    extensions: &["xml"],
    streams: true,
    probe: probe::xml,
    reader: Some(read_strings),
    ..Format::BASE
};

/// Strings of which nothing says whether they are sql, xml or a dictionary.
pub const STRINGS: Format = Format {
    name: "cdt-strings",
    title: "CDT stream of strings (dictionary, sql or xml)",
    streams: true,
    probe: probe::strings,
    reader: Some(|limits| Box::new(Stream::new(strings::Strings::unnamed(limits)))),
    ..Format::BASE
};

/// Log of the garbage collector.
pub const GC: Format = Format {
    name: "cdt-gc",
    title: "CDT gc stream",
    extensions: &["gc"],
    streams: true,
    probe: probe::gc,
    reader: Some(line_records::reader),
    lower: Some(lower::lower),
    ..Format::BASE
};

/// The agent's list of files.
pub const BLST: Format = Format {
    name: "cdt-blst",
    title: "CDT file list of an agent",
    extensions: &["blst"],
    magic: b"\x0a\0L\0O\0G\0",
    probe: probe::blst,
    reader: Some(|limits| Box::new(Stream::new(blst::FileList::new(limits)))),
    ..Format::BASE
};

/// A conversation of an agent with its collector.
pub const TCP: Format = Format {
    name: "cdt-tcp",
    title: "CDT conversation of agent and collector",
    extensions: &["tcpdump"],
    streams: true,
    probe: probe::tcp,
    reader: Some(|limits| Box::new(Stream::new(tcp::Conversation::new(limits)))),
    members: Some(tcp::members),
    ..Format::BASE
};

/// The directory an agent writes.
pub const DUMP: Format = Format {
    name: "cdt-dump",
    title: "CDT dump directory of an agent",
    set: Some(set::dump),
    lower: Some(lower::lower),
    scout: Some(lower::scout),
    raise: Some(raise::dump),
    holds: HOLDS,
    ..Format::BASE
};

/// The streams of one process, as a collector receives them.
pub const STREAMS: Format = Format {
    name: "cdt-streams",
    title: "CDT streams as a collector receives them",
    set: Some(set::streams),
    lower: Some(lower::lower),
    scout: Some(lower::scout),
    raise: Some(raise::streams),
    holds: HOLDS,
    ..Format::BASE
};

/// The streams that belong to a process.
const STREAMS_OF_A_PROCESS: [&Format; 9] = [
    &CALLS,
    &TRACE,
    &DICTIONARY,
    &PARAMS,
    &SUSPEND,
    &SQL,
    &XML,
    &STRINGS,
    &GC,
];
