//! Profiles as one point each, as Datakit and line protocol tell them: languages, units, names, samples, metrics.

mod complete;
mod digest;
mod event_type;
mod facts;
mod header;
mod language;
mod metrics;
mod name_parts;
mod owned_point;
mod profile;
mod quantity;
mod sample;
mod span_link;

pub(crate) use complete::{Fnv, complete};
pub use digest::Digest;
pub use event_type::{EventKind, value_names};
pub(crate) use facts::Facts;
pub use header::profiles;
pub(crate) use header::{grouped, lower_profile, resource, setting, settings, show};
pub use language::Language;
pub use metrics::{METRICS, Metrics, all_metrics, metric_unit, metrics, missing};
pub use name_parts::NameParts;
pub(crate) use owned_point::STRING_LIMIT;
pub use owned_point::{FieldValue, OwnedPoint, Warning};
pub(crate) use profile::EXTRA;
pub use profile::{MEASUREMENT, Profile, TimeUnit};
pub use quantity::{Quantity, model_unit, parse_unit};
pub(crate) use sample::text_of;
pub use sample::{Sample, SampleValue, TraceFunc};
pub use span_link::SpanLink;

/// Name of the event type that holds the metrics of a Go profiler.
pub const GO_METRICS: &str = "go.metrics";
