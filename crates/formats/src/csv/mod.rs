//! CSV: the model's tables as a folder of files, one a table, as RFC 4180 describes them.
//!
//! The columns are those of [`traceloom_model::flat`], the same as in Arrow and Parquet; written only.

mod raise;
#[cfg(test)]
mod tests;
mod time;

use traceloom_model::{Capabilities, Feature};

use crate::Format;

/// CSV files.
pub const FORMAT: Format = Format {
    name: "csv",
    title: "CSV of the model's tables, a folder",
    extensions: &["csv"],
    // Many files are written and no set of parts is read.
    set: Some(|_| Vec::new()),
    raise: Some(raise::raise),
    holds: TABLES_HOLD,
    ..Format::BASE
};

/// What the flat tables hold: all but bytes that are no text.
pub(crate) const TABLES_HOLD: Capabilities = Capabilities::of(&[
    Feature::WideIntegers,
    Feature::Spans,
    Feature::AsyncTracks,
    Feature::PartialSpans,
    Feature::SpanCounters,
    Feature::InnerCounters,
    Feature::InnerCalls,
    Feature::SpanAttributes,
    Feature::AttributeTimes,
    Feature::UpwardAttributes,
    Feature::TypedAttributes,
    Feature::FloatAttributes,
    Feature::UnsignedIntegers,
    Feature::NestedAttributes,
    Feature::AttributeKeys,
    Feature::ErrorStatus,
    Feature::Exceptions,
    Feature::TraceIds,
    Feature::SpanContexts,
    Feature::SpanKinds,
    Feature::InnerMarks,
    Feature::SubMillisecond,
    Feature::SubMicrosecond,
    Feature::Tracks,
    Feature::Resources,
    Feature::FunctionDetails,
    Feature::SourceLines,
    Feature::Addresses,
    Feature::FrameKinds,
    Feature::TruncatedStacks,
    Feature::Samples,
    Feature::ManyValues,
    Feature::InclusiveValues,
    Feature::NegativeValues,
    Feature::SampleTimes,
    Feature::SampleTracks,
    Feature::SampleSpans,
    Feature::SampleLabels,
    Feature::ProfileHeaders,
    Feature::Events,
    Feature::EventDurations,
    Feature::EventAttributes,
    Feature::Pauses,
    Feature::Counters,
    Feature::Links,
    Feature::DistantParents,
    Feature::HeapObjects,
    Feature::WideTimes,
]);
