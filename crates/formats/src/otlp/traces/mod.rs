//! Traces: spans of OpenTelemetry, read (SPEC.md §5) and written (SPEC.md §7).

mod ids;
mod lower;
mod raise;
mod span;
mod survey;

pub(super) use lower::lower;
pub(super) use raise::open;

use traceloom_model::{Capabilities, Feature};

use crate::spans::SPAN_FEATURES;

/// What traces can hold.
pub(super) const HOLDS: Capabilities = SPAN_FEATURES.with(&[
    Feature::WideIntegers,
    Feature::Resources,
    Feature::Links,
    Feature::DistantParents,
]);

/// Names of attributes for what a span has beside its attributes; the first five are OpenTelemetry's own.
mod names {
    pub(super) const SCOPE: &str = "otel.scope.name";
    pub(super) const SCOPE_VERSION: &str = "otel.scope.version";
    pub(super) const STATUS_CODE: &str = "otel.status_code";
    pub(super) const STATUS_MESSAGE: &str = "otel.status_description";
    pub(super) const TRACE_STATE: &str = "w3c.tracestate";
    pub(super) const FLAGS: &str = "otel.flags";
    /// A link that has more than the ids of a span of the recording, as a map.
    pub(super) const LINK: &str = "otel.link";
    /// Attributes, events and links that the producer left out: number of the field, and name.
    pub(super) const DROPPED: [(u32, &str); 3] = [
        (10, "otel.dropped_attributes_count"),
        (12, "otel.dropped_events_count"),
        (14, "otel.dropped_links_count"),
    ];
    pub(super) const THREAD_ID: &str = "thread.id";
    pub(super) const THREAD_NAME: &str = "thread.name";
    /// On events: the span that they are of.
    pub(super) const SPAN_ID: &str = "span_id";
    /// A kind that is none of the protocol's.
    pub(super) const KIND: &str = "span.kind";
    pub(super) const ENTRY: &str = "span.entry";
    pub(super) const STATUS: &str = "span.status";
    pub(super) const COUNTERS: &str = "span.counters";
    /// Trace, span and parent of a span that is written with other ids.
    pub(super) const CONTEXT: [&str; 3] = ["span.trace_id", "span.id", "span.parent_id"];
    /// On a span that is an event, with its form.
    pub(super) const EVENT: &str = "span.event";
    pub(super) const INSTANT: &str = "instant";
    pub(super) const INTERVAL: &str = "interval";
    /// Where an event happened.
    pub(super) const STACK: &str = "code.stacktrace";

    /// Returns true if an attribute of this name may be for what a span has beside its attributes.
    pub(super) fn may_be_own(name: &[u8]) -> bool {
        name.starts_with(b"span.")
    }
}

/// Kinds of spans, by their numbers.
const KINDS: [&str; 6] = ["", "internal", "server", "client", "producer", "consumer"];
