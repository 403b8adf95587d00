//! The Firefox Profiler's processed profile format, version 55; written only.
//!
//! A track is a thread with tables of its own: strings, functions, frames, stacks. Samples keep their stacks
//! and times, spans and events are markers, counters are counters. SPEC.md says what goes where.
//!
//! ```
//! use traceloom_formats::{LowerOptions, RaiseOptions, SliceSource, firefox, folded};
//!
//! let stacks = SliceSource::default().with("cpu.folded", &folded::FORMAT, b"main;work 3\n");
//! let mut json = Vec::new();
//! let mut profile = (firefox::FORMAT.raise.unwrap())(&RaiseOptions::default(), &mut json)?;
//! (folded::FORMAT.lower.unwrap())(&stacks, &LowerOptions::default(), profile.as_mut())?;
//! profile.finish()?;
//! drop(profile);
//! assert!(json.starts_with(b"{\"meta\":"));
//! # Ok::<(), traceloom_formats::Error>(())
//! ```

mod code;
mod column;
mod forms;
mod kept;
mod markers;
mod numbers;
mod order;
mod plan;
mod raise;
mod rows;

use traceloom_model::{Capabilities, Feature, Variant};

use crate::Format;

/// Firefox Profiler.
pub const FORMAT: Format = Format {
    name: "firefox",
    title: "Firefox Profiler processed profile",
    extensions: &["firefox.json", "profile.json"],
    raise: Some(raise::raise),
    holds: Capabilities::of(&[
        Feature::Spans,
        Feature::AsyncTracks,
        Feature::PartialSpans,
        Feature::SpanCounters,
        Feature::InnerCounters,
        Feature::SpanAttributes,
        Feature::TypedAttributes,
        Feature::FloatAttributes,
        Feature::ErrorStatus,
        Feature::TraceIds,
        Feature::SpanContexts,
        Feature::SpanKinds,
        Feature::InnerMarks,
        Feature::SubMillisecond,
        Feature::SubMicrosecond,
        Feature::UnknownOrigin,
        Feature::Tracks,
        Feature::SourceLines,
        Feature::Addresses,
        Feature::FrameKinds,
        Feature::Samples,
        Feature::NegativeValues,
        Feature::SampleTimes,
        Feature::SampleTracks,
        Feature::Events,
        Feature::EventDurations,
        Feature::EventAttributes,
        Feature::Pauses,
        Feature::Counters,
    ])
    .with_variants(&[Variant::of(
        "VALUE",
        "the value type that weighs the samples; else the default one",
    )]),
    ..Format::BASE
};
