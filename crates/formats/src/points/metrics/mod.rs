//! Metrics derived from a profile (`datakit/SPEC.md` §9): the few numbers a dashboard wants of each upload.

mod figures;
mod go;
mod jvm;
mod python;
mod shares;

use std::cell::LazyCell;
use std::collections::HashSet;

use traceloom_model::Recording;

use self::figures::{ColumnTotals, EventsByType};
pub(crate) use self::shares::ProfileShare;

use super::header::GroupedProfile;
use super::{Language, Profile};
use crate::points::{FieldValue, OwnedPoint};

/// The measurement of metric points.
pub const METRICS: &str = "profiling_metrics";

/// Derived values by name, in the order they were derived.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Metrics {
    /// Names and values.
    pub values: Vec<(String, FieldValue)>,
    language: Option<Language>,
}

impl Metrics {
    /// Builds the point: at the profile's end, with its language, host, service, env, version and tags.
    #[must_use]
    pub fn to_point(&self, profile: &Profile) -> OwnedPoint {
        let mut point = OwnedPoint::new(METRICS);
        match self.language {
            Some(language) => point.tag("language", language.name()),
            None => point.tag("language", &profile.language),
        }
        point.tag("host", &profile.host);
        point.tag("service", &profile.service);
        point.tag("env", &profile.env);
        point.tag("version", &profile.version);
        for (key, value) in &profile.tags {
            point.tag(key, value);
        }
        point.tags.sort();
        point.tags.dedup_by(|again, first| again.0 == first.0);
        point.time = (profile.end != 0).then_some(profile.end);
        for (name, value) in &self.values {
            point.field(name, value.clone());
        }
        point
    }

    /// Returns the language that decided which metrics there are.
    #[must_use]
    pub const fn language(&self) -> Option<Language> {
        self.language
    }

    /// Returns a value by name, for tests and views.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&FieldValue> {
        let found = self.values.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value)
    }

    fn int(&mut self, name: &str, value: i64) {
        self.values.push((name.to_owned(), FieldValue::I64(value)));
    }

    fn float(&mut self, name: &str, value: f64) {
        if value.is_finite() {
            self.values.push((name.to_owned(), FieldValue::F64(value)));
        }
    }
}

/// Returns the unit a metric is in, by its name: nanoseconds for times, bytes, cores, or a count; a rate is
/// of so much a second.
#[must_use]
pub fn metric_unit(name: &str) -> &'static str {
    // Go's own figure of pauses is passed on as the program reported it.
    if name == "prof_go_gc_pause_time" {
        return "";
    }
    let rate = name.ends_with("_per_sec");
    match name {
        _ if name.contains("_bytes") && rate => "bytes/s",
        _ if name.contains("_bytes") => "bytes",
        _ if name.ends_with("_time") || name.ends_with("_nanoseconds") => "ns",
        _ if name.ends_with("cpu_cores") => "cores",
        _ if rate => "1/s",
        _ => "",
    }
}

/// Derives the metrics of every profile of a recording that lies in `file`, where it is one; of the
/// recording as a whole when it has events and no profile. Profiles of which nothing can be derived are
/// left out: [`missing`] says why.
#[must_use]
pub fn all_metrics(recording: &Recording, file: &str) -> Vec<(Profile, Metrics)> {
    let mut profiles = super::header::grouped(recording, false);
    if profiles.is_empty() && !recording.events.is_empty() {
        profiles.push(of_events(recording));
    }
    let keys = recording.attribute_keys.iter().flatten();
    let tags: HashSet<_> = keys
        .filter(|key| key.index)
        .map(|key| recording.text(key.name))
        .collect();
    let shares = ProfileShare::of_all(recording, &profiles);
    let seen = LazyCell::new(|| Language::of_recording(recording));
    let derived = profiles.iter().zip(&shares).map(|(group, share)| {
        let mut profile = group.profile.clone();
        // What a recording knows of its process, such as its arguments, is no tag: only what a bundle or
        // a point had as one.
        profile.tags.retain(|key, _| tags.contains(key.as_str()));
        let metrics = match stated(&profile) {
            Some(metrics) => metrics,
            None => derived_of(recording, share, &|| *seen, &profile, file),
        };
        (profile, metrics)
    });
    derived
        .filter(|(_, metrics)| !metrics.values.is_empty())
        .collect()
}

/// Returns the metrics that a point brought with it; `None` where it has none.
fn stated(profile: &Profile) -> Option<Metrics> {
    let value = |text: &str| {
        let whole = text.parse().ok().map(FieldValue::I64);
        whole.or_else(|| Some(FieldValue::F64(text.parse().ok()?)))
    };
    let values = profile.metrics.iter();
    let values: Vec<_> = values
        .filter_map(|(name, text)| Some((name.clone(), value(text)?)))
        .collect();
    (!values.is_empty()).then(|| Metrics {
        values,
        language: Language::first([profile.language.as_str(), &profile.runtime]),
    })
}

/// Returns the profile of a recording that has events alone.
pub(crate) fn of_events(recording: &Recording) -> GroupedProfile {
    let ends = recording.events.end.iter().zip(&recording.events.time);
    let start = recording.events.time.iter().min().copied().unwrap_or(0);
    let end = ends.map(|(end, &time)| end.unwrap_or(time)).max();
    let end = end.unwrap_or(start);
    let unsaid: &[&'static str] = match start == 0 && end == 0 {
        true => &["start", "end", "duration", "time"],
        false => &[],
    };
    GroupedProfile {
        profile: Profile {
            start,
            end,
            duration: end.saturating_sub(start),
            unsaid: unsaid.iter().copied().collect(),
            ..Profile::default()
        },
        owner: None,
        rows: Vec::new(),
    }
}

/// Derives the metrics of a recording that `profile` describes; none for languages without a rule.
///
/// Rates need a duration: without one they are left out, so nothing divides by zero.
#[must_use]
pub fn metrics(recording: &Recording, profile: &Profile) -> Metrics {
    let share = ProfileShare::whole(recording);
    derived_of(
        recording,
        &share,
        &|| Language::of_recording(recording),
        profile,
        "",
    )
}

/// Says why nothing can be derived of a recording.
#[must_use]
pub fn missing(recording: &Recording, file: &str) -> String {
    let language = Language::of_recording(recording);
    let Some(language) = language else {
        return "nothing says its language, and there are rules for Java, Go and Python".to_owned();
    };
    let needs = match language {
        Language::Golang => {
            "cpu, inuse_space, inuse_objects, goroutine, a delay whose file is named after mutex or block, or metrics.json"
        }
        Language::Python => {
            "cpu-time, wall-time, alloc-space, alloc-samples, heap-space, lock-* or exception-samples"
        }
        Language::Java => "a JFR recording",
        other => {
            return format!(
                "there are rules for Java, Go and Python, not for {}",
                other.name()
            );
        }
    };
    let types = recording.value_types.iter().flatten();
    let there: Vec<_> = types.map(|row| recording.text(row.name)).collect();
    let there = match there.is_empty() {
        true => "no values".to_owned(),
        false => there.join(", "),
    };
    let place = match file {
        "" => String::new(),
        file => format!(" in {file}"),
    };
    format!("{} needs {needs}; there is {there}{place}", language.name())
}

/// Derives the metrics of a profile that has this share of a recording; `seen` returns the language that the recording shows.
pub(crate) fn derived_of(
    recording: &Recording,
    share: &ProfileShare,
    seen: &dyn Fn() -> Option<Language>,
    profile: &Profile,
    file: &str,
) -> Metrics {
    let events = EventsByType::of(recording, share);
    let named = Language::first([profile.language.as_str(), &profile.runtime]);
    // Java's come from events: without any, there is nothing but zeros to tell.
    let seen = || seen().filter(|seen| *seen != Language::Java);
    let language = named.or_else(|| events.language()).or_else(seen);
    let mut metrics = Metrics {
        language,
        ..Metrics::default()
    };
    let duration = profile.end.saturating_sub(profile.start);
    let source = Derive {
        values: ColumnTotals::of(recording, share, language, file),
        events,
        recording,
        profile,
        seconds: (duration > 0).then(|| seconds(duration)),
    };
    match language {
        Some(Language::Java) => source.jvm(&mut metrics),
        Some(Language::Golang) => source.go(&mut metrics),
        Some(Language::Python) => source.python(&mut metrics),
        _ => {}
    }
    metrics
}

#[expect(
    clippy::cast_precision_loss,
    reason = "rates are floats; 2^53 ns are a hundred days"
)]
fn float(value: i64) -> f64 {
    value as f64
}

fn seconds(ns: i64) -> f64 {
    float(ns) / 1e9
}

struct Derive<'r> {
    recording: &'r Recording,
    profile: &'r Profile,
    values: ColumnTotals,
    events: EventsByType<'r>,
    seconds: Option<f64>,
}

impl Derive<'_> {
    fn rate(&self, metrics: &mut Metrics, name: &str, amount: f64) {
        if let Some(seconds) = self.seconds {
            metrics.float(name, amount / seconds);
        }
    }

    fn cores(&self, metrics: &mut Metrics, name: &str, cpu_ns: i64) {
        self.rate(metrics, name, seconds(cpu_ns));
    }
}
