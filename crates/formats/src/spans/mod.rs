//! Spans in the order that a target wants: parents first, begin and end pairs, or by start.

pub(crate) mod begin_end;
pub(crate) mod bodies;
pub(crate) mod pending_spans;
pub(crate) mod reserved_args;
pub(crate) mod rows;
pub(crate) mod slices;

use traceloom_model::{Capabilities, Feature};

/// What formats of slices on tracks can hold.
pub(crate) const SLICE_FEATURES: Capabilities = Capabilities::of(&[
    Feature::Spans,
    Feature::AsyncTracks,
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
    Feature::Counters,
    Feature::WideTimes,
]);
