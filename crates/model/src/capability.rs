//! What a format can hold: the closed list that loss reports are computed from.

macro_rules! features {
    ($($feature:ident $name:literal $about:literal)*) => {
        /// A kind of meaning. A source uses some, a target holds some; the difference is the loss.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Feature {
            $(#[doc = $about] $feature,)*
        }

        impl Feature {
            /// Every feature, in the order of reports.
            pub const ALL: &[Self] = &[$(Self::$feature),*];

            /// Returns the word used in loss reports.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$feature => $name,)*
                }
            }

            /// Returns what it means, in a sentence.
            #[must_use]
            pub const fn about(self) -> &'static str {
                match self {
                    $(Self::$feature => $about,)*
                }
            }
        }
    };
}

features! {
    Spans "spans" "Spans at exact times."
    AsyncTracks "async_tracks" "Spans that overlap a sibling on their track, or async tracks."
    PartialSpans "partial_spans" "Spans whose start or end was not recorded."
    SpanCounters "span_counters" "Counters of a span."
    SpanAttributes "span_attributes" "Attributes of spans."
    AttributeTimes "attribute_times" "The time at which an attribute was set."
    UpwardAttributes "upward_attributes" "Attributes handed to an enclosing span."
    TypedAttributes "typed_attributes" "Attribute values other than strings."
    ListAttributes "list_attributes" "Lists of one element type as attribute values."
    NestedAttributes "nested_attributes" "Lists and maps as attribute values, inside each other too."
    AttributeKeys "attribute_keys" "Units and display rules of attributes."
    ErrorStatus "error_status" "A failed span."
    Exceptions "exceptions" "Exceptions with class, message, stack and cause."
    SpanContexts "span_contexts" "Trace and span ids across processes."
    SpanKinds "span_kinds" "The producer's word for a span's kind."
    SubMillisecond "sub_millisecond" "Times finer than a millisecond."
    SubMicrosecond "sub_microsecond" "Times finer than a microsecond."
    TrackIds "track_ids" "Numbers of threads and streams."
    Tracks "tracks" "Thread names and ids."
    Resources "resources" "Service, host and other facts about the producer."
    FunctionDetails "function_details" "Class, package, signature and modifiers of functions."
    SourceLines "source_lines" "Source files and lines."
    Addresses "addresses" "Addresses and mapped binaries."
    FrameKinds "frame_kinds" "Inlined frames marked as such, and other frame kinds."
    TruncatedStacks "truncated_stacks" "Stacks marked as cut."
    Samples "samples" "Samples with stacks."
    ManyValues "many_values" "More than one value column."
    InclusiveValues "inclusive_values" "Values that cover callees, or merge by minimum or maximum."
    NegativeValues "negative_values" "Values below zero, as the difference of two profiles has them."
    SampleTimes "sample_times" "Times of single samples."
    SampleTracks "sample_tracks" "Threads of single samples."
    SampleSpans "sample_spans" "Spans of single samples."
    SampleLabels "sample_labels" "Labels of samples."
    ProfileHeaders "profile_headers" "Period, duration, comments and settings of a profile."
    Events "events" "Events."
    EventDurations "event_durations" "Events with an end."
    EventAttributes "event_attributes" "Fields of events."
    Pauses "pauses" "Pauses of the whole process, where other events cannot be held."
    Counters "counters" "Counter series."
    Links "links" "Flows between spans."
    DistantParents "distant_parents" "Parents that are on another track than their span."
    HeapObjects "heap_objects" "Heap objects, references and roots."
    InvalidText "invalid_text" "Strings that are not valid UTF-8."
    WideTimes "wide_times" "Times before the origin, or durations beyond the format's integers."
}

/// A set of features.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Capabilities {
    bits: u64,
    own: &'static [(Feature, &'static str)],
}

impl Capabilities {
    /// The empty set.
    pub const NONE: Self = Self { bits: 0, own: &[] };

    /// Builds the set of `features`.
    #[must_use]
    pub const fn of(features: &[Feature]) -> Self {
        let mut bits = 0;
        let mut rest = features;
        while let [first, tail @ ..] = rest {
            bits |= 1 << *first as u64;
            rest = tail;
        }
        Self { bits, own: &[] }
    }

    /// Returns the set with `features` added.
    #[must_use]
    pub const fn with(self, features: &[Feature]) -> Self {
        Self {
            bits: self.bits | Self::of(features).bits,
            own: self.own,
        }
    }

    /// Returns the set without `features`.
    #[must_use]
    pub const fn without(self, features: &[Feature]) -> Self {
        Self {
            bits: self.bits & !Self::of(features).bits,
            own: self.own,
        }
    }

    /// Returns the set with features that are held for what has one of these names alone: a format may have
    /// places for values of its own, and none for others.
    #[must_use]
    pub const fn with_own(self, own: &'static [(Feature, &'static str)]) -> Self {
        Self { own, ..self }
    }

    /// Tells whether `feature` is in the set.
    #[must_use]
    pub const fn holds(self, feature: Feature) -> bool {
        self.bits & (1 << feature as u64) != 0
    }

    /// Returns what is held by name alone.
    #[must_use]
    pub const fn own(self) -> &'static [(Feature, &'static str)] {
        self.own
    }

    /// Tells whether what is called `name` has a place, by the feature or as one of the format's own.
    #[must_use]
    pub fn holds_named(self, feature: Feature, name: &str) -> bool {
        self.holds(feature) || self.own.contains(&(feature, name))
    }
}
