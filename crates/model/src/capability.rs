//! What a format can hold: the closed list that loss reports are computed from.

/// A kind of meaning. A source uses some, a target holds some; the difference is the loss.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Feature {
    /// Spans at exact times.
    Spans,
    /// Spans that overlap a sibling on their track, or async tracks.
    AsyncTracks,
    /// Spans whose start or end was not recorded.
    PartialSpans,
    /// Counters of a span.
    SpanCounters,
    /// Attributes of spans.
    SpanAttributes,
    /// The time at which an attribute was set.
    AttributeTimes,
    /// Attributes handed to an enclosing span.
    UpwardAttributes,
    /// Attribute values other than strings.
    TypedAttributes,
    /// Lists and maps as attribute values.
    NestedAttributes,
    /// Units and display rules of attributes.
    AttributeKeys,
    /// A failed span.
    ErrorStatus,
    /// Exceptions with class, message, stack and cause.
    Exceptions,
    /// Trace and span ids across processes.
    SpanContexts,
    /// The producer's word for a span's kind.
    SpanKinds,
    /// Times finer than a millisecond.
    SubMillisecond,
    /// Times finer than a microsecond.
    SubMicrosecond,
    /// Thread names and ids.
    Tracks,
    /// Service, host and other facts about the producer.
    Resources,
    /// Class, package, signature and modifiers of functions.
    FunctionDetails,
    /// Source files and lines.
    SourceLines,
    /// Addresses and mapped binaries.
    Addresses,
    /// Inlined frames marked as such, and other frame kinds.
    FrameKinds,
    /// Stacks marked as cut.
    TruncatedStacks,
    /// Samples with stacks.
    Samples,
    /// More than one value column.
    ManyValues,
    /// Values that cover callees, or merge by minimum or maximum.
    InclusiveValues,
    /// Values below zero, as the difference of two profiles has them.
    NegativeValues,
    /// Times of single samples.
    SampleTimes,
    /// Threads of single samples.
    SampleTracks,
    /// Spans of single samples.
    SampleSpans,
    /// Labels of samples.
    SampleLabels,
    /// Period, duration, comments and settings of a profile.
    ProfileHeaders,
    /// Events.
    Events,
    /// Events with an end.
    EventDurations,
    /// Fields of events.
    EventAttributes,
    /// Pauses of the whole process, where other events cannot be held.
    Pauses,
    /// Counter series.
    Counters,
    /// Flows between spans.
    Links,
    /// Heap objects, references and roots.
    HeapObjects,
    /// Strings that are not valid UTF-8.
    InvalidText,
    /// Times before the origin, or durations beyond the format's integers.
    WideTimes,
}

impl Feature {
    /// Returns the word used in loss reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spans => "spans",
            Self::AsyncTracks => "async_tracks",
            Self::PartialSpans => "partial_spans",
            Self::SpanCounters => "span_counters",
            Self::SpanAttributes => "span_attributes",
            Self::AttributeTimes => "attribute_times",
            Self::UpwardAttributes => "upward_attributes",
            Self::TypedAttributes => "typed_attributes",
            Self::NestedAttributes => "nested_attributes",
            Self::AttributeKeys => "attribute_keys",
            Self::ErrorStatus => "error_status",
            Self::Exceptions => "exceptions",
            Self::SpanContexts => "span_contexts",
            Self::SpanKinds => "span_kinds",
            Self::SubMillisecond => "sub_millisecond",
            Self::SubMicrosecond => "sub_microsecond",
            Self::Tracks => "tracks",
            Self::Resources => "resources",
            Self::FunctionDetails => "function_details",
            Self::SourceLines => "source_lines",
            Self::Addresses => "addresses",
            Self::FrameKinds => "frame_kinds",
            Self::TruncatedStacks => "truncated_stacks",
            Self::Samples => "samples",
            Self::ManyValues => "many_values",
            Self::InclusiveValues => "inclusive_values",
            Self::NegativeValues => "negative_values",
            Self::SampleTimes => "sample_times",
            Self::SampleTracks => "sample_tracks",
            Self::SampleSpans => "sample_spans",
            Self::SampleLabels => "sample_labels",
            Self::ProfileHeaders => "profile_headers",
            Self::Events => "events",
            Self::EventDurations => "event_durations",
            Self::EventAttributes => "event_attributes",
            Self::Pauses => "pauses",
            Self::Counters => "counters",
            Self::Links => "links",
            Self::HeapObjects => "heap_objects",
            Self::InvalidText => "invalid_text",
            Self::WideTimes => "wide_times",
        }
    }
}

/// A set of features.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Capabilities(u64);

impl Capabilities {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// Builds the set of `features`.
    #[must_use]
    pub const fn of(features: &[Feature]) -> Self {
        let mut bits = 0;
        let mut rest = features;
        while let [first, tail @ ..] = rest {
            bits |= 1 << *first as u64;
            rest = tail;
        }
        Self(bits)
    }

    /// Tells whether `feature` is in the set.
    #[must_use]
    pub const fn holds(self, feature: Feature) -> bool {
        self.0 & (1 << feature as u64) != 0
    }
}
