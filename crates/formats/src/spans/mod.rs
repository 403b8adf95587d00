//! Spans, which come by their end, in the order that a target wants.
//!
//! [`parents_first`] holds a span until the one around it has come, [`begin_end`] turns spans into pairs of begin and
//! end, [`by_start`] orders the spans of a track once all have come. What is encoded of a span that waits lies in a
//! [`stash`]. [`slices`] and [`rows`] are the way back: begins and ends become spans and batches of them. [`by_context`] places
//! spans that name their parents by ids.

pub(crate) mod begin_end;
pub(crate) mod by_context;
pub(crate) mod by_line;
pub(crate) mod by_start;
pub(crate) mod parents_first;
pub(crate) mod reserved_args;
pub(crate) mod rows;
pub(crate) mod slices;
pub(crate) mod stash;
pub(crate) mod wanted;

use traceloom_model::{Capabilities, Feature};

/// What formats of spans can hold.
pub(crate) const SPAN_FEATURES: Capabilities = Capabilities::of(&[
    Feature::Spans,
    Feature::PartialSpans,
    Feature::SpanCounters,
    Feature::InnerCounters,
    Feature::InnerCalls,
    Feature::SpanAttributes,
    Feature::TypedAttributes,
    Feature::FloatAttributes,
    Feature::NestedAttributes,
    Feature::ErrorStatus,
    Feature::TraceIds,
    Feature::SpanContexts,
    Feature::SpanKinds,
    Feature::InnerMarks,
    Feature::SubMillisecond,
    Feature::SubMicrosecond,
    Feature::Tracks,
    Feature::Events,
    Feature::EventDurations,
    Feature::EventAttributes,
    Feature::UnknownOrigin,
]);

/// What formats of slices on tracks can hold.
pub(crate) const SLICE_FEATURES: Capabilities =
    SPAN_FEATURES.with(&[Feature::AsyncTracks, Feature::Counters, Feature::WideTimes]);
