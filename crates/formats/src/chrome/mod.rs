//! Chrome trace event JSON, as `chrome://tracing`, Perfetto and Speedscope open it (SPEC.md has the reading).
//!
//! Read are all phases of the format, event by event: an object with `traceEvents` and a bare array, closed
//! or not. What follows is about writing.
//!
//! Spans are complete events (`X`), events with an end asynchronous pairs (`b`, `e`), events without one
//! instants (`i`), counter points `C`. Every track has a thread id, its own where it has one, and a `thread_name`;
//! async tracks and lanes too, because viewers take for granted that complete events of one thread nest. For the
//! same reason a span that overlaps others of its track goes, with all below it, to a line beside the track; the
//! reader puts it back (SPEC.md §5).
//!
//! Times are microseconds with the nanoseconds as decimals, written from integers: no event moves. A
//! JavaScript number cannot hold nanoseconds of our century (they need 61 bits, it has 53), so that a
//! viewer may round them; the variant `relative` counts from the first time seen instead and says where
//! that is in `otherData.base_time_ns`. Other integers beyond 2^53 are strings, as are NaN and infinities.
//! Bytes and bad text lose what is not UTF-8.
//!
//! Complete events come as their spans end, callers behind what they called, which `otherData.order` says. Of
//! calls without length that lie where another one begins times cannot say whether it called them: where some
//! came before it and are not in it, the argument `span.follows` counts them. Events with an end are pairs
//! whose ids have a scope of their own, so that they are read as events and not as asynchronous spans.
//!
//! Memory: the tables and the largest tree of spans, up to a million of them. Beyond that, spans stay on the line of what
//! they called. Track names are written at the end, when all are known.
//!
//! ```
//! use traceloom_formats::{Records, chrome, read_slice};
//! use traceloom_model::Limits;
//!
//! let bytes = br#"[{"ph":"X","name":"load","ts":10,"dur":5,"pid":1,"tid":1}]"#;
//! let mut records = Records::default();
//! read_slice(chrome::FORMAT.reader(&Limits::default()).as_mut(), bytes, &mut records);
//! assert_eq!(records.kinds(), ["text", "event", "text"]);
//! assert_eq!(records.written(), bytes);
//! ```

mod arguments;
mod beside;
mod by_end;
mod by_thread;
mod event;
mod facts;
mod flows;
mod lower;
mod places;
mod points;
mod probe;
mod read;
mod runs;
mod scout;
mod shapes;
mod split;
mod summary;
mod survey;
#[cfg(test)]
mod tests;
mod track_facts;
mod tracks;
mod value;
mod walk;
mod write;

use traceloom_model::{Capabilities, Feature, Variant};

use crate::Format;
use crate::spans::SLICE_FEATURES;

/// The row of the registry.
pub const FORMAT: Format = Format {
    name: "chrome",
    title: "Chrome trace event JSON",
    extensions: &["json"],
    magic: b"{\"displa",
    probe: probe::probe,
    reader: Some(|limits| Box::new(read::Reader::new(limits))),
    lower: Some(lower::lower),
    lowers_notes: true,
    summarise: Some(summary::summarise),
    scout: Some(scout::scout),
    raise: Some(write::open),
    holds: HOLDS,
    ..Format::BASE
};

/// Slices on tracks; of processes what the metadata events have names for.
const HOLDS: Capabilities = SLICE_FEATURES
    .with_own(&[
        (Feature::Resources, "service"),
        (Feature::Resources, "pid"),
        (Feature::Resources, LABELS),
    ])
    .with_variants(&[Variant::of("relative", "times count from the first")]);

/// The attribute of a process that is written as a metadata event of the same name.
const LABELS: &str = "process_labels";
