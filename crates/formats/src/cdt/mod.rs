//! The streams of the CDT (Qubership) Java profiler: calls, trace and what they refer to.
//!
//! `SPEC.md` has the byte layout; section numbers in this folder are its sections.

pub mod blst;
pub mod calls;
pub mod dictionary;
pub mod head;
pub(crate) mod lines;
mod lower;
pub mod params;
pub mod phrase;
mod probe;
mod raise;
pub mod sample;
mod set;
mod strings;
pub mod suspend;
pub mod tcp;
mod text;
mod threads;
pub mod trace;
mod units;

use traceloom_model::{Capabilities, Feature, Limits};

use crate::{Fork, Format};
use lower::COUNTERS;
pub use lower::Method;
use phrase::Phrased;
use units::Stream;

const NONE: Format = Format {
    name: "",
    title: "",
    extensions: &[],
    probe: |_| None,
    reader: None,
    members: None,
    set: None,
    lower: None,
    split: None,
    raise: None,
    holds: Capabilities::NONE,
    sample: None,
};

/// What streams can hold. Times are milliseconds; values are texts; lists only in rows of calls.
const HOLDS: Capabilities = Capabilities::of(&[
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
]);

fn read_strings(limits: &Limits) -> Box<dyn Fork> {
    Box::new(Stream::new(strings::Strings::new(limits)))
}

/// Root calls with their counters.
pub const CALLS: Format = Format {
    name: "cdt-calls",
    title: "CDT calls stream",
    extensions: &["calls"],
    probe: probe::calls,
    reader: Some(|limits| Box::new(Stream::new(calls::Calls::new(limits)))),
    sample: Some(sample::calls),
    lower: Some(lower::lower),
    split: None,
    ..NONE
};

/// Call trees, in blocks of one thread each.
pub const TRACE: Format = Format {
    name: "cdt-trace",
    title: "CDT trace stream",
    extensions: &["trace"],
    probe: probe::trace,
    reader: Some(|limits| Box::new(Stream::new(trace::Trace::new(limits)))),
    sample: Some(sample::trace),
    lower: Some(lower::lower),
    split: None,
    ..NONE
};

/// Names of methods and parameters.
pub const DICTIONARY: Format = Format {
    name: "cdt-dictionary",
    title: "CDT dictionary stream",
    extensions: &["dictionary"],
    probe: probe::dictionary,
    reader: Some(|limits| {
        let words = dictionary::Words::new(limits);
        Box::new(Stream::new(Phrased::new(words, limits)))
    }),
    sample: Some(sample::dictionary),
    ..NONE
};

/// Display rules of parameters.
pub const PARAMS: Format = Format {
    name: "cdt-params",
    title: "CDT params stream",
    extensions: &["params"],
    probe: probe::params,
    reader: Some(|limits| {
        let rows = params::ParamRows::new(limits);
        Box::new(Stream::new(Phrased::new(rows, limits)))
    }),
    sample: Some(sample::params),
    ..NONE
};

/// Pauses of the process.
pub const SUSPEND: Format = Format {
    name: "cdt-suspend",
    title: "CDT suspend stream",
    extensions: &["suspend"],
    probe: probe::suspend,
    reader: Some(|limits| {
        let pauses = suspend::Pauses::new(limits);
        Box::new(Stream::new(Phrased::new(pauses, limits)))
    }),
    sample: Some(sample::suspend),
    lower: Some(lower::lower),
    split: None,
    ..NONE
};

/// Statements that tags point to.
pub const SQL: Format = Format {
    name: "cdt-sql",
    title: "CDT sql stream",
    extensions: &["sql"],
    probe: probe::sql,
    reader: Some(read_strings),
    sample: Some(sample::sql),
    ..NONE
};

/// Long values that tags point to.
pub const XML: Format = Format {
    name: "cdt-xml",
    title: "CDT xml stream",
    extensions: &["xml"],
    probe: probe::xml,
    reader: Some(read_strings),
    sample: Some(sample::xml),
    ..NONE
};

/// Strings of which nothing says whether they are sql, xml or a dictionary.
pub const STRINGS: Format = Format {
    name: "cdt-strings",
    title: "CDT stream of strings (dictionary, sql or xml)",
    extensions: &[],
    probe: probe::strings,
    reader: Some(|limits| Box::new(Stream::new(strings::Strings::unnamed(limits)))),
    ..NONE
};

/// Log of the garbage collector.
pub const GC: Format = Format {
    name: "cdt-gc",
    title: "CDT gc stream",
    extensions: &["gc"],
    probe: probe::gc,
    reader: Some(lines::reader),
    lower: Some(lower::lower),
    split: None,
    sample: Some(sample::gc),
    ..NONE
};

/// The agent's list of files.
pub const BLST: Format = Format {
    name: "cdt-blst",
    title: "CDT file list of an agent",
    extensions: &["blst"],
    probe: probe::blst,
    reader: Some(|limits| Box::new(Stream::new(blst::FileList::new(limits)))),
    sample: Some(sample::blst),
    ..NONE
};

/// A conversation of an agent with its collector.
pub const TCP: Format = Format {
    name: "cdt-tcp",
    title: "CDT conversation of agent and collector",
    extensions: &["tcpdump"],
    probe: probe::tcp,
    reader: Some(|limits| Box::new(Stream::new(tcp::Conversation::new(limits)))),
    members: Some(tcp::members),
    sample: Some(sample::tcp),
    ..NONE
};

/// The directory an agent writes.
pub const DUMP: Format = Format {
    name: "cdt-dump",
    title: "CDT dump directory of an agent",
    set: Some(set::dump),
    lower: Some(lower::lower),
    split: None,
    raise: Some(raise::dump),
    holds: HOLDS,
    ..NONE
};

/// The streams of one process, as a collector receives them.
pub const STREAMS: Format = Format {
    name: "cdt-streams",
    title: "CDT streams as a collector receives them",
    set: Some(set::streams),
    lower: Some(lower::lower),
    split: None,
    raise: Some(raise::streams),
    holds: HOLDS,
    ..NONE
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
