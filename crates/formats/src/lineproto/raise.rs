//! The model to points: profiles to index points, events and counters to points of their own.

use std::collections::BTreeMap;

use traceloom_model::{
    Asks, Attribute, Clock, CounterBatch, Definitions, EventBatch, Feature, Flow, Note, Order,
    ProfileId, Recording, SampleBatch, Sink, Unit, Value, Wants,
};

use super::write::{Dialect, Writer};
use crate::points::{self, Digest, Facts, Fnv, TimeUnit};
use crate::points::{FieldValue, OwnedPoint, STRING_LIMIT};
use crate::{Error, LeftOut, Output, RaiseOptions, Target};

/// What a variant asks for: words of `--to line-protocol:WORD,WORD`.
#[derive(Clone, Debug, Default)]
struct Choice {
    dialect: Dialect,
    unit: TimeUnit,
    samples: bool,
    metrics: bool,
    /// Points of metrics beside the others.
    with_metrics: bool,
    events: bool,
    /// Facts to use where a recording has none: `service=shop`.
    facts: Facts,
}

impl Choice {
    fn of(variant: Option<&str>) -> Result<Self, Error> {
        let mut choice = Self::default();
        for word in variant
            .unwrap_or("")
            .split([',', ':'])
            .filter(|word| !word.is_empty())
        {
            match word {
                "influx" => choice.dialect = Dialect::Influx,
                "guance" => choice.dialect = Dialect::Guance,
                "us" => choice.unit = TimeUnit::Micros,
                "ns" => choice.unit = TimeUnit::Nanos,
                "samples" => choice.samples = true,
                "metrics" => choice.metrics = true,
                "with-metrics" => choice.with_metrics = true,
                "events" => choice.events = true,
                other => {
                    if choice.facts.take(other) {
                        continue;
                    }
                    let known = "influx, guance, us, ns, samples, metrics, with-metrics, events, and \
                                 service=TEXT, host=, env=, version=, language=, format=, profile_id=, oss_path=";
                    let text = format!("line-protocol has no variant `{other}`; there are {known}");
                    return Err(Error::usage(text));
                }
            }
        }
        Ok(choice)
    }
}

pub(super) fn raise<'o>(
    options: &RaiseOptions,
    output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    Ok(Box::new(LineTarget {
        choice: Choice::of(options.variant.as_deref())?,
        sources: options.sources.clone(),
        begun: 0,
        recording: Recording::default(),
        digest: Digest::default(),
        hashes: BTreeMap::new(),
        origins: BTreeMap::new(),
        left_out: BTreeMap::new(),
        buffer: Vec::new(),
        failed: None,
        output,
    }))
}

/// Writes events and counters as they come; profiles are written at the end, when all is known of them.
///
/// What a profiler recorded beside its samples is not written event by event: an index point has the metrics that
/// follow from them, and a database of points would drown in the rest.
struct LineTarget<'o> {
    choice: Choice,
    /// The formats of the recordings, and how many have begun.
    sources: Vec<&'static str>,
    begun: usize,
    recording: Recording,
    /// What metrics are derived from.
    digest: Digest,
    /// Hashes of the samples of each profile.
    hashes: BTreeMap<ProfileId, Fnv>,
    /// Which recording each profile is of.
    origins: BTreeMap<usize, usize>,
    /// Events and counters that are not written, by name.
    left_out: BTreeMap<String, u64>,
    buffer: Vec<u8>,
    failed: Option<Error>,
    output: &'o mut dyn Output,
}

/// Formats of recordings whose events are the profiler's own.
const OF_PROFILERS: [&str; 6] = [
    "jfr",
    "datakit",
    "datakit-event",
    "datakit-request",
    "pyroscope-ingest",
    "go-metrics",
];

impl LineTarget<'_> {
    fn is_undated(&self) -> bool {
        self.recording.clock != Clock::Unix
    }

    /// Returns the format of a recording by its number.
    fn source(&self, recording: usize) -> Option<&'static str> {
        let first = self.sources.first()?;
        if self.sources.iter().all(|source| source == first) {
            return Some(first);
        }
        self.sources.get(recording).copied()
    }

    /// Returns `true` if the events that pass belong into a profile.
    fn of_profiler(&self) -> bool {
        let source = self.source(self.begun.saturating_sub(1));
        !self.choice.events && source.is_some_and(|source| OF_PROFILERS.contains(&source))
    }

    /// Builds the index points of all profiles.
    fn index_points(&self) -> Vec<OwnedPoint> {
        let known = self.digest.recording();
        let with_samples = self.choice.samples;
        let samples = match with_samples {
            true => points::profiles(&self.recording, true),
            false => Vec::new(),
        };
        let mut samples = samples.into_iter();
        let mut points = Vec::new();
        let is_point = |rows: &[usize]| {
            let origin = rows.first().and_then(|at| self.origins.get(at));
            self.source(origin.copied().unwrap_or(0)) == Some(super::FORMAT.name)
        };
        for (rows, mut profile) in points::complete(known, &is_point) {
            let origin = rows.first().and_then(|at| self.origins.get(at));
            let source = self.source(origin.copied().unwrap_or(0));
            let of_profile = samples.next().map(|profile| profile.samples);
            // What was points is written as it was.
            if source != Some(super::FORMAT.name) {
                if profile.format.is_empty() {
                    profile.format = source.map_or_else(String::new, format_word);
                }
                self.choice.facts.fill(&mut profile);
                let mut hash = Fnv::default();
                for at in &rows {
                    let id = u32::try_from(*at).map(ProfileId::new).ok();
                    let of_row = id.and_then(|id| self.hashes.get(&id));
                    hash.add(&of_row.map_or(0, |hash| hash.0).to_le_bytes());
                }
                profile.fill_id(hash.0);
            }
            profile.samples = of_profile.unwrap_or_default();
            points.push(profile.to_points(self.choice.unit, with_samples, STRING_LIMIT));
        }
        points.into_iter().flatten().collect()
    }

    fn point(&mut self, mut point: OwnedPoint) -> Flow {
        for warning in point.check() {
            let text = format!("{} in `{}`", warning.kind.replace('_', " "), warning.key);
            let note = crate::warn("point_changed", 0, text);
            self.recording.notes.push(note);
        }
        Writer::new(&mut self.buffer, self.choice.dialect).point(&point);
        self.flush(1 << 16)
    }

    fn flush(&mut self, above: usize) -> Flow {
        if self.buffer.len() <= above {
            return Flow::Continue(());
        }
        if let Err(error) = self.output.write("", &self.buffer) {
            self.failed.get_or_insert(error);
            return Flow::Break(());
        }
        self.buffer.clear();
        Flow::Continue(())
    }
}

impl Sink for LineTarget<'_> {
    fn asks(&self) -> Asks {
        Asks {
            wants: Wants::Calls,
            ..Asks::default()
        }
    }

    fn begin(&mut self, order: Order, clock: Clock) {
        self.begun += 1;
        self.recording.begin(order, clock);
        self.digest.begin(order, clock);
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        for (id, _) in &definitions.profiles {
            self.origins
                .entry(id.index())
                .or_insert(self.begun.saturating_sub(1));
        }
        self.digest.define(definitions.clone())?;
        self.recording.define(definitions)
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        let hash = self.hashes.entry(batch.profile).or_default();
        for row in 0..batch.len() {
            let stack = batch.stack.get(row).copied().flatten();
            hash.add(
                &stack
                    .map_or(u32::MAX, traceloom_model::StackId::raw)
                    .to_le_bytes(),
            );
            for value in batch.values(row) {
                hash.add(&value.to_le_bytes());
            }
        }
        if self.choice.samples {
            self.recording.samples(batch.clone())?;
        }
        self.digest.samples(batch)
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        // A point of a clock without a date would be one of 1970.
        let of_profiler = self.of_profiler();
        let undated = !of_profiler && self.is_undated();
        if (of_profiler || undated) && !self.choice.metrics {
            for &id in &batch.event_type {
                let row = self.recording.event_type(id);
                let name = row.map_or_else(
                    || format!("#{}", id.raw()),
                    |row| self.recording.text(row.name).into_owned(),
                );
                *self.left_out.entry(name).or_default() += 1;
            }
        }
        if undated && !self.choice.metrics {
            return Flow::Continue(());
        }
        if of_profiler || self.choice.metrics {
            return self.digest.events(batch);
        }
        if !self.sources.is_empty() && self.choice.events {
            self.digest.events(batch.clone())?;
        }
        for row in 0..batch.len() {
            if let Some(point) = event_point(&self.recording, &batch, row) {
                self.point(point)?;
            }
        }
        Flow::Continue(())
    }

    fn counters(&mut self, batch: CounterBatch) -> Flow {
        if self.choice.metrics {
            return Flow::Continue(());
        }
        if self.of_profiler() || self.is_undated() {
            *self.left_out.entry("(counters)".to_owned()).or_default() += batch.time.len() as u64;
            return Flow::Continue(());
        }
        let rows = batch.series.iter().zip(&batch.time).zip(&batch.value);
        for ((&series, &time), &value) in rows {
            let mut point = OwnedPoint::default();
            match self.recording.series_row(series) {
                Some(row) => {
                    point.measurement = self.recording.text(row.name).as_bytes().to_vec();
                    let track = row.track.and_then(|id| self.recording.track(id)?.name);
                    if let Some(name) = track {
                        point.tag("track", &self.recording.text(name));
                    }
                    point.tag("unit", unit_word(row.unit));
                }
                None => point.measurement = format!("#{}", series.raw()).into_bytes(),
            }
            point.field("value", FieldValue::F64(value));
            point.time = Some(time);
            self.point(point)?;
        }
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

fn unit_word(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "ns",
        Unit::Bytes => "bytes",
        Unit::Chars => "chars",
        Unit::Percent => "percent",
        Unit::Count | Unit::Other(_) => "",
    }
}

impl Target for LineTarget<'_> {
    fn finish(&mut self) -> Result<(), Error> {
        let mut points = Vec::new();
        if !self.choice.metrics {
            points.extend(self.index_points());
        }
        if self.choice.metrics || self.choice.with_metrics {
            points.extend(metric_points(self.digest.recording()));
        }
        for point in points {
            if self.point(point).is_break() {
                break;
            }
        }
        let _ = self.flush(0);
        self.failed.take().map_or(Ok(()), Err)
    }

    fn left_out(&self) -> Vec<(Feature, Vec<LeftOut>)> {
        if self.left_out.is_empty() {
            return Vec::new();
        }
        let rows = self.left_out.iter();
        let rows = rows.map(|(name, &count)| LeftOut {
            name: name.clone(),
            count,
        });
        vec![(Feature::Events, rows.collect())]
    }
}

/// What Datakit calls the format of a profile's file.
fn format_word(source: &'static str) -> String {
    match source {
        "folded" => "collapse",
        "perf-script" => "rawflamegraph",
        other => other,
    }
    .to_owned()
}

/// Builds the index points of a recording's profiles.
#[must_use]
pub fn index_points(recording: &Recording, unit: TimeUnit, with_samples: bool) -> Vec<OwnedPoint> {
    let profiles = points::profiles(recording, with_samples);
    profiles
        .iter()
        .map(|profile| profile.to_point(unit, with_samples))
        .collect()
}

/// Builds the metric points of a recording's profiles (`datakit/SPEC.md` §9); none where nothing can be derived.
#[must_use]
pub fn metric_points(recording: &Recording) -> Vec<OwnedPoint> {
    let derived = points::all_metrics(recording, "");
    derived
        .iter()
        .map(|(profile, metrics)| metrics.to_point(profile))
        .collect()
}

/// An event as a point: tags are its indexed attributes, its track and stack are left out.
fn event_point(recording: &Recording, batch: &EventBatch, row: usize) -> Option<OwnedPoint> {
    let event = batch.row(row)?;
    let mut point = OwnedPoint {
        measurement: match recording.event_type(event.event_type) {
            Some(kind) => bytes(recording, kind.name),
            None => format!("#{}", event.event_type.raw()).into_bytes(),
        },
        time: Some(event.time),
        ..OwnedPoint::default()
    };
    for attribute in event.attributes {
        attribute_into(recording, attribute, &mut point);
    }
    if let Some(name) = event.track.and_then(|id| recording.track(id)?.name) {
        point.tag("track", &recording.text(name));
    }
    if let Some(end) = event.end {
        point.field("duration", FieldValue::I64(end.saturating_sub(event.time)));
    }
    if point.fields.is_empty() {
        point.field("count", FieldValue::I64(1));
    }
    Some(point)
}

fn attribute_into(recording: &Recording, attribute: &Attribute, point: &mut OwnedPoint) {
    let Some(key) = recording.attribute_key(attribute.key) else {
        return;
    };
    let name = bytes(recording, key.name);
    match &attribute.value {
        Value::Text(text) if key.index => point.tags.push((name, bytes(recording, *text))),
        value => {
            if let Some(value) = field_value(recording, value) {
                point.fields.push((name, value));
            }
        }
    }
}

fn bytes(recording: &Recording, id: traceloom_model::StringId) -> Vec<u8> {
    match recording.string(id) {
        Some(text) => text.as_bytes().to_vec(),
        None => format!("#{}", id.raw()).into_bytes(),
    }
}

fn field_value(recording: &Recording, value: &Value) -> Option<FieldValue> {
    Some(match value {
        Value::Null => return None,
        Value::I64(value) => FieldValue::I64(*value),
        Value::U64(value) => FieldValue::U64(*value),
        Value::F64(value) => FieldValue::F64(*value),
        Value::Bool(value) => FieldValue::Bool(*value),
        Value::Text(id) => FieldValue::Text(bytes(recording, *id)),
        Value::Bytes(bytes) => FieldValue::Bytes(bytes.to_vec()),
        Value::List(_, items) => {
            let items = items.iter().filter_map(|item| field_value(recording, item));
            FieldValue::List(items.collect())
        }
        other => FieldValue::Text(points::show(recording, other).into_bytes()),
    })
}
