//! Line protocol: one point a line, as InfluxDB and Guance's fork of it write it.
//!
//! Reading is lenient and borrowed: a [`Point`] holds slices of the input and the meaning of its values,
//! a line that is no point is named by number and left behind. Writing has two dialects. Index points of
//! profiles become resources and profiles ([`crate::points::Profile`]), all others events whose tags are
//! the attributes marked as index.
//!
//! ```
//! use traceloom_formats::Chunk;
//! use traceloom_formats::lineproto::{Line, Lines};
//!
//! let bytes = b"load,host=a tasks=3i 1700000000000000000\n";
//! let mut lines = Lines::new(Chunk { bytes, offset: 0, eof: true }, 1024);
//! let Some(Line::Point(point)) = lines.next() else { panic!("a point") };
//! assert_eq!(point.measurement, b"load");
//! assert_eq!(point.tags, [(&b"host"[..], &b"a"[..])]);
//! ```

mod base64;
mod lower;
mod raise;
mod read;
mod record;
mod scan;
mod text;
mod write;

#[cfg(test)]
mod tests;

use traceloom_model::{Capabilities, Feature, Variant};

use crate::{Chunk, Confidence, Format, Probe};

pub use crate::points::{FieldValue, OwnedPoint, Warning};
pub use raise::{index_points, metric_points};
pub use read::{Line, Lines, Reader};
pub use record::{Field, Point, Value};
pub use scan::Elements;
pub use text::{Escapes, escape, unescape};
pub use write::{Dialect, Writer};

/// Most bytes of measurement, tags and one field key together.
pub const KEY_LIMIT: usize = 65_535;

/// Nested values of an index point, which are fields of JSON.
const OWN: &[(Feature, &str)] = &[
    (Feature::NestedAttributes, "metrics"),
    (Feature::ListAttributes, "oss_path"),
];

/// Line protocol.
pub const FORMAT: Format = Format {
    name: "line-protocol",
    title: "InfluxDB line protocol, Datakit profile points",
    extensions: &["lp", "line", "influx"],
    streams: true,
    probe,
    reader: Some(|limits| Box::new(Reader::new(limits))),
    lower: Some(lower::lower),
    lowers_notes: true,
    raise: Some(raise::raise),
    holds: Capabilities::of(&[
        Feature::WideIntegers,
        Feature::Resources,
        Feature::ProfileHeaders,
        Feature::Events,
        Feature::EventAttributes,
        Feature::TypedAttributes,
        Feature::FloatAttributes,
        Feature::UnsignedIntegers,
        Feature::Counters,
        Feature::SubMillisecond,
        Feature::SubMicrosecond,
    ])
    .with_own(OWN)
    .with_variants(&[
        Variant::of("guance", "the dialect of Datakit"),
        Variant::of("influx", "the dialect of InfluxDB"),
        Variant::of("ns", "times in nanoseconds"),
        Variant::of("us", "times in microseconds"),
        Variant::of("samples", "samples as points"),
        Variant::of("events", "events as points, not in a profile"),
        Variant::of("metrics", "metrics alone"),
        Variant::of("with-metrics", "metrics beside everything else"),
        Variant::of(
            "FACT=TEXT",
            "what points say of service, host, env, version, language, format, profile_id or oss_path; all of these with \
             commas between them",
        ),
    ]),
    ..Format::BASE
};

/// Most lines of the head have to be points, comments or blank: a bad line is left behind by the reader too.
/// A line that is longer than the head counts when its fields have begun.
fn probe(probe: &Probe<'_>) -> Option<Confidence> {
    let chunk = Chunk {
        bytes: probe.head,
        offset: 0,
        eof: probe.whole,
    };
    let mut lines = Lines::new(chunk, usize::MAX);
    let (mut n_points, mut n_bad) = (0, 0);
    while let Some(line) = lines.next() {
        match line {
            Line::Point(_) => n_points += 1,
            Line::Bad(..) => n_bad += 1,
            Line::Other(_) => {}
            Line::Incomplete | Line::TooLong => {
                n_points += usize::from(lines.begins_point());
                break;
            }
        }
    }
    let extension = probe.file_name().rsplit_once('.').map(|(_, found)| found);
    let named = extension.is_some_and(|found| FORMAT.extensions.contains(&found));
    match n_points {
        0 => None,
        _ if n_bad == 0 || named => Some(Confidence::Likely),
        _ if n_bad <= n_points => Some(Confidence::Possible),
        _ => None,
    }
}
