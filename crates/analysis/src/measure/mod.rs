//! What values are of: their name, unit and source, and how they are written for people.

mod amount;
mod tracks;

pub use amount::{amount, grouped, minutes};
pub use tracks::{AsyncCalls, Tracks};

use std::borrow::Cow;

use traceloom_model::{Merge, Recording, Scope, Unit};

/// What a tree's values are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Name of the value, such as `wall`, `cpu` or `alloc_space`.
    pub name: String,
    /// Its unit.
    pub unit: MeasureUnit,
    /// Whether counts are calls or samples.
    pub source: TreeSource,
    /// How values combine. Minima and maxima have no percentages.
    pub merge: Merge,
    /// What a value covered when it was recorded.
    pub scope: Scope,
    /// What the field of the program calls the value, such as `cpu-time`, where a view knows it.
    pub event: Option<&'static str>,
    /// How values were changed by [`crate::adjust`]: they are no longer those of the recording.
    pub adjusted: Option<String>,
    /// Which tracks spans are of.
    pub tracks: Tracks,
}

impl Measure {
    /// Returns the place of the measure among others of its recording: wall time of calls, CPU time of samples, the
    /// rest.
    #[must_use]
    pub fn rank(&self) -> u8 {
        let is_cpu = matches!(&*self.name, "cpu" | "cpu-time" | "cpu_time")
            || matches!(self.event, Some("cpu-time"));
        match self.source {
            TreeSource::Spans => 0,
            TreeSource::Samples if is_cpu => 1,
            TreeSource::Samples => 2,
        }
    }
}

/// What a tree was built from; trees of different sources are never added together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TreeSource {
    /// Spans or steps: values are wall time, counts are calls.
    Spans,
    /// Samples: counts are samples whose innermost frame is the node.
    Samples,
}

/// A unit, resolved from the reader's tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeasureUnit {
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// Things.
    Count,
    /// Characters.
    Chars,
    /// Hundredths.
    Percent,
    /// A unit only the producer knows.
    Other(String),
}

impl MeasureUnit {
    /// Returns its word in JSON.
    #[must_use]
    pub fn word(&self) -> &str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Bytes => "bytes",
            Self::Count => "count",
            Self::Chars => "chars",
            Self::Percent => "percent",
            Self::Other(name) => name,
        }
    }

    pub(crate) fn of(unit: Unit, tables: &Recording) -> Self {
        match unit {
            Unit::Nanoseconds => Self::Nanoseconds,
            Unit::Bytes => Self::Bytes,
            Unit::Count => Self::Count,
            Unit::Chars => Self::Chars,
            Unit::Percent => Self::Percent,
            Unit::Other(name) => Self::Other(tables.text(name).into_owned()),
        }
    }
}

impl Measure {
    /// Wall time of spans.
    #[must_use]
    pub fn wall() -> Self {
        Self {
            name: "wall".to_owned(),
            unit: MeasureUnit::Nanoseconds,
            source: TreeSource::Spans,
            merge: Merge::Sum,
            scope: Scope::Own,
            event: None,
            adjusted: None,
            tracks: Tracks::Threads,
        }
    }

    /// Returns the name for people: the field's own word first, and the producer's where it is another.
    #[must_use]
    pub fn title(&self) -> Cow<'_, str> {
        let title: Cow<'_, str> = match self.event {
            Some(event) if event != self.name => format!("{event} ({})", self.name).into(),
            _ => self.name.as_str().into(),
        };
        let title = match &self.adjusted {
            None => title,
            Some(rules) => format!("{title}, adjusted by {rules},").into(),
        };
        match self.tracks.remark() {
            None => title,
            Some(remark) => format!("{title} {remark}").into(),
        }
    }

    /// Returns `value` as a share of `total`, in percent; none where shares mean nothing.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a percentage for people, shown with two digits"
    )]
    pub(crate) fn percent(&self, value: i64, total: i64) -> Option<f64> {
        let shares = self.merge == Merge::Sum && total != 0;
        shares.then(|| value as f64 * 100.0 / total as f64)
    }

    /// Returns true if values of a hidden function are gone with it, or those of its caller.
    pub(crate) fn goes_with_function(&self) -> bool {
        let samples = self.source == TreeSource::Samples;
        let counts = self.unit == MeasureUnit::Count;
        samples && goes_with_function(&self.name, counts, self.merge)
    }

    /// Returns true if totals follow from own values: not for spans, whose siblings may overlap, nor where
    /// the producer recorded sums of callees.
    pub(crate) fn settles(&self) -> bool {
        let recorded_sums = self.scope == Scope::Inclusive && self.merge == Merge::Sum;
        self.source == TreeSource::Samples && !recorded_sums
    }
}

/// Returns true if values of a column are about calls of their function alone, so that the caller has no part
/// in them when it is left out: how often it was called, and the least and most of one call. Its time was
/// spent by the caller.
pub(crate) fn goes_with_function(name: &str, counts: bool, merge: Merge) -> bool {
    merge != Merge::Sum || counts && name == "calls"
}
