//! The model to points: profiles to index points, events and counters to points of their own.

use traceloom_model::{
    Attribute, Clock, CounterBatch, Definitions, EventBatch, Flow, Note, Order, Recording,
    SampleBatch, Sink, Unit, Value, Wants,
};

use super::point::{FieldValue, OwnedPoint};
use super::write::{Dialect, Writer};
use crate::datakit::{self, Digest, TimeUnit};
use crate::{Error, Output, RaiseOptions, Target};

/// What a variant asks for: words of `--to line-protocol:WORD,WORD`.
#[derive(Clone, Copy, Debug, Default)]
struct Choice {
    dialect: Dialect,
    unit: TimeUnit,
    samples: bool,
    metrics: bool,
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
                other => {
                    let known = "influx, guance, us, ns, samples, metrics";
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
        recording: Recording::default(),
        digest: Digest::default(),
        buffer: Vec::new(),
        failed: None,
        output,
    }))
}

/// Writes events and counters as they come; profiles are written at the end, when all is known of them.
struct LineTarget<'o> {
    choice: Choice,
    recording: Recording,
    /// What metrics are derived from, where those are asked for.
    digest: Digest,
    buffer: Vec<u8>,
    failed: Option<Error>,
    output: &'o mut dyn Output,
}

impl LineTarget<'_> {
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
    fn wants(&self) -> Wants {
        Wants::Calls
    }

    fn begin(&mut self, order: Order, clock: Clock) {
        self.recording.begin(order, clock);
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        if self.choice.metrics {
            return self.digest.define(definitions);
        }
        self.recording.define(definitions)
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        if self.choice.metrics {
            return self.digest.samples(batch);
        }
        if self.choice.samples {
            return self.recording.samples(batch);
        }
        Flow::Continue(())
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        if self.choice.metrics {
            return self.digest.events(batch);
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
        let points = if self.choice.metrics {
            metric_points(self.digest.recording())
        } else {
            index_points(&self.recording, self.choice.unit, self.choice.samples)
        };
        for point in points {
            if self.point(point).is_break() {
                break;
            }
        }
        let _ = self.flush(0);
        self.failed.take().map_or(Ok(()), Err)
    }
}

/// Builds the index points of a recording's profiles.
#[must_use]
pub fn index_points(recording: &Recording, unit: TimeUnit, with_samples: bool) -> Vec<OwnedPoint> {
    let profiles = datakit::profiles(recording, with_samples);
    profiles
        .iter()
        .map(|profile| profile.to_point(unit, with_samples))
        .collect()
}

/// Builds the metric points of a recording's profiles (SPEC.md §9); none where nothing can be derived.
#[must_use]
pub fn metric_points(recording: &Recording) -> Vec<OwnedPoint> {
    let derived = datakit::all_metrics(recording, "");
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
        other => FieldValue::Text(datakit::show(recording, other).into_bytes()),
    })
}
