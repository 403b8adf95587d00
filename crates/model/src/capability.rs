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
    InnerCounters "inner_counters" "Counters of spans inside a call."
    InnerCalls "inner_calls" "Calls inside other calls, marked as such."
    SpanAttributes "span_attributes" "Attributes of spans."
    AttributeTimes "attribute_times" "The time at which an attribute was set."
    UpwardAttributes "upward_attributes" "Attributes handed to an enclosing span."
    TypedAttributes "typed_attributes" "Attribute values other than strings."
    FloatAttributes "float_attributes" "Floating-point numbers as attribute values."
    UnsignedIntegers "unsigned_integers" "Unsigned integers as a type of their own."
    WideIntegers "wide_integers" "Integers beyond 2^53 as numbers."
    ListAttributes "list_attributes" "Lists of one element type as attribute values."
    NestedAttributes "nested_attributes" "Lists and maps as attribute values, inside each other too."
    AttributeKeys "attribute_keys" "Units and display rules of attributes."
    ErrorStatus "error_status" "A failed span."
    Exceptions "exceptions" "Exceptions with class, message, stack and cause."
    TraceIds "trace_ids" "Ids of whole traces, across processes."
    SpanContexts "span_contexts" "Ids of spans and of their parents, across processes."
    SpanKinds "span_kinds" "The producer's word for a span's kind."
    InnerMarks "inner_marks" "Kinds and span ids of spans inside a call."
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
    UnknownOrigin "unknown_origin" "That times count from a point nobody recorded, not from 1970."
    WideTimes "wide_times" "Times before the origin, or durations beyond the format's integers."
}

/// A set of features.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Capabilities {
    bits: u64,
    again: u64,
    own: &'static [(Feature, &'static str)],
    variants: &'static [Variant],
}

/// A way to write a format that is asked for by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variant {
    /// The word after the colon of `--to NAME:variant`, or its shape in capitals where it is not fixed.
    pub name: &'static str,
    /// What it means, in a few words.
    pub about: &'static str,
    /// What the format holds otherwise and this variant does not, but for what is in `own`.
    pub lacks: &'static [Feature],
    /// What this variant holds and the format does not otherwise.
    pub gains: &'static [Feature],
    /// What is held by name alone instead of what the format has so; used where `lacks` is not empty.
    pub own: &'static [(Feature, &'static str)],
}

impl Variant {
    /// A variant that holds what the format does.
    #[must_use]
    pub const fn of(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            lacks: &[],
            gains: &[],
            own: &[],
        }
    }
}

impl Capabilities {
    /// The empty set.
    pub const NONE: Self = Self {
        bits: 0,
        again: 0,
        own: &[],
        variants: &[],
    };

    /// Builds the set of `features`.
    #[must_use]
    pub const fn of(features: &[Feature]) -> Self {
        let mut bits = 0;
        let mut rest = features;
        while let [first, tail @ ..] = rest {
            bits |= 1 << *first as u64;
            rest = tail;
        }
        Self { bits, ..Self::NONE }
    }

    /// Returns the set with `features` added.
    #[must_use]
    pub const fn with(self, features: &[Feature]) -> Self {
        Self {
            bits: self.bits | Self::of(features).bits,
            ..self
        }
    }

    /// Returns the set without `features`.
    #[must_use]
    pub const fn without(self, features: &[Feature]) -> Self {
        Self {
            bits: self.bits & !Self::of(features).bits,
            ..self
        }
    }

    /// Returns the set with features that are held for what has one of these names alone: a format may have
    /// places for values of its own, and none for others.
    #[must_use]
    pub const fn with_own(self, own: &'static [(Feature, &'static str)]) -> Self {
        Self { own, ..self }
    }

    /// Returns the set with the ways it can be written that are asked for by name.
    #[must_use]
    pub const fn with_variants(self, variants: &'static [Variant]) -> Self {
        Self { variants, ..self }
    }

    /// Returns the ways it can be written that are asked for by name.
    #[must_use]
    pub const fn variants(self) -> &'static [Variant] {
        self.variants
    }

    /// Returns what is held when one of the variants is written; words that are none change nothing.
    #[must_use]
    pub fn of_variant(self, name: Option<&str>) -> Self {
        let named = |variant: &&Variant| name == Some(variant.name);
        match self.variants.iter().find(named) {
            Some(variant) if variant.lacks.is_empty() => self.with(variant.gains),
            Some(variant) => {
                let held = self.without(variant.lacks).with(variant.gains);
                held.with_own(variant.own)
            }
            None => self,
        }
    }

    /// Returns the set with features that are held of recordings of the same format alone: its reader derives them from
    /// what is held, so that they come back, and no other recording's do.
    #[must_use]
    pub const fn with_derived(self, features: &[Feature]) -> Self {
        Self {
            again: self.again | Self::of(features).bits,
            ..self
        }
    }

    /// Returns what is held of recordings of the same format.
    #[must_use]
    pub const fn of_the_same_format(self) -> Self {
        Self {
            bits: self.bits | self.again,
            ..self
        }
    }

    /// Returns true if `feature` is in the set.
    #[must_use]
    pub const fn holds(self, feature: Feature) -> bool {
        self.bits & (1 << feature as u64) != 0
    }

    /// Returns what is held by name alone.
    #[must_use]
    pub const fn own(self) -> &'static [(Feature, &'static str)] {
        self.own
    }

    /// Returns true if what is called `name` has a place, by the feature or as one of the format's own.
    #[must_use]
    pub fn holds_named(self, feature: Feature, name: &str) -> bool {
        self.holds(feature) || self.own.contains(&(feature, name))
    }
}
