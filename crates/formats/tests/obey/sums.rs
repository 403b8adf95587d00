//! The law that samples which a reader adds up come to what they come to one by one.

use std::collections::{BTreeMap, HashMap};

use traceloom_formats::{ErrorKind, Format, LowerOptions, SliceSource};
use traceloom_model::{
    Asks, Attribute, Definitions, Flow, Note, ProfileId, Recording, SampleBatch, Sink, StackId,
    Value,
};

use super::functions;

/// Compares sums of samples with those that a reader may add up itself, with labels and without.
pub fn adds_up(format: &'static Format, input: &[u8]) -> Result<(), String> {
    let Some(lower) = format.lower else {
        return Ok(());
    };
    let source = SliceSource::default().with("part", format, input);
    let lowered = |labels: bool, sums: bool| {
        let mut sink = SummedSamples {
            labels,
            sums,
            recording: Recording::default(),
        };
        match lower(&source, &LowerOptions::default(), &mut sink) {
            Err(error) if error.kind() == ErrorKind::Unsupported => Ok(None),
            Err(error) => Err(error.to_string()),
            Ok(()) => Ok(Some(sink.recording)),
        }
    };
    for labels in [false, true] {
        let Some(sums) = lowered(labels, true)? else {
            return Ok(());
        };
        // Most readers add nothing up, and none does with labels what it does not without them.
        if sums.samples.iter().all(|batch| batch.added_up.is_none()) {
            return Ok(());
        }
        let Some(each) = lowered(labels, false)? else {
            return Ok(());
        };
        if sample_sums(&each, labels) != sample_sums(&sums, labels) {
            return Err(format!(
                "added up by the reader, samples are others; labels: {labels}"
            ));
        }
    }
    Ok(())
}

/// Takes samples, added up or one by one.
struct SummedSamples {
    labels: bool,
    sums: bool,
    recording: Recording,
}

impl Sink for SummedSamples {
    fn asks(&self) -> Asks {
        Asks {
            sampled_events: false,
            events: false,
            labels: self.labels,
            sums: self.sums,
            ..Asks::default()
        }
    }

    fn define(&mut self, new: Definitions) -> Flow {
        self.recording.define(new)
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        self.recording.samples(batch)
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

/// What samples are of: a profile, functions, and a thread and labels where they are wanted.
type SampleGroup = (
    ProfileId,
    Vec<String>,
    Option<String>,
    Vec<(String, String)>,
);

/// The values of samples, how many have a value other than 0, and how many there are.
type GroupSums = (Vec<i64>, Vec<u64>, u64);

/// Returns the sums of what is alike, and when the first and the last of the samples were taken.
fn sample_sums(
    recording: &Recording,
    labels: bool,
) -> (BTreeMap<SampleGroup, GroupSums>, Option<(i64, i64)>) {
    let text = |id| recording.text(id).into_owned();
    let label = |label: &Attribute| {
        let key = recording.attribute_key(label.key).map(|key| text(key.name));
        let value = match &label.value {
            &Value::Text(id) => text(id),
            other => format!("{other:?}"),
        };
        (key.unwrap_or_default(), value)
    };
    let mut sums: BTreeMap<SampleGroup, GroupSums> = BTreeMap::new();
    let mut times = Vec::new();
    let mut known = HashMap::new();
    let mut functions = |stack: StackId| {
        let known = known
            .entry(stack)
            .or_insert_with(|| functions(recording, stack));
        known.clone()
    };
    for batch in &recording.samples {
        times.extend(batch.times());
        for (at, row) in batch.iter().enumerate() {
            let functions = row.stack.map(&mut functions);
            let track = row.track.filter(|_| labels);
            let track = track.and_then(|track| recording.track(track)?.name);
            let labels = row.labels.iter().filter(|_| labels).map(label);
            let group = (
                batch.profile,
                functions.unwrap_or_default(),
                track.map(text),
                labels.collect(),
            );
            let (values, some, count) = sums.entry(group).or_default();
            values.resize(row.values.len(), 0);
            some.resize(row.values.len(), 0);
            for ((sum, some), value) in values.iter_mut().zip(some).zip(row.values) {
                *sum = sum.saturating_add(*value);
                *some += batch.count(at) * u64::from(*value != 0);
            }
            *count += batch.count(at);
        }
    }
    let first = times.iter().min().copied();
    (sums, first.zip(times.iter().max().copied()))
}
