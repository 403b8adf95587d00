//! speedscope, Chrome's `.cpuprofile`, stackprof and Go's metrics: real files, against what their producers
//! counted.

mod corpus;

use std::collections::BTreeMap;

use traceloom_formats::{Confidence, FORMATS, Format, LowerOptions, Probe, SliceSource, by_name};
use traceloom_model::{Recording, Value};

fn detect(name: &str, bytes: &[u8]) -> Option<&'static Format> {
    let probe = Probe {
        head: bytes,
        whole: true,
        name,
        siblings: &[],
    };
    let answers = FORMATS
        .iter()
        .filter_map(|format| Some(((format.probe)(&probe)?, *format)));
    let best = answers.filter(|(confidence, _)| *confidence > Confidence::Possible);
    best.max_by_key(|(confidence, _)| *confidence)
        .map(|(_, format)| format)
}

fn lower(name: &str, file: &str, bytes: &[u8]) -> Recording {
    let format = by_name(name).expect("a format");
    let source = SliceSource::default().with(file, format, bytes);
    let mut recording = Recording::default();
    (format.lower.expect("a lowering"))(&source, &LowerOptions::default(), &mut recording)
        .expect("readable");
    recording
}

fn total(recording: &Recording, name: &str) -> Option<i64> {
    let mut found = None;
    for batch in &recording.samples {
        let row = recording.profile(batch.profile).expect("a profile");
        for (column, &id) in row.value_types.iter().enumerate() {
            let kind = recording.value_type(id).expect("a value type");
            if recording.text(kind.name) == name {
                let sum: i64 = batch.iter().map(|sample| sample.values[column]).sum();
                found = Some(found.unwrap_or(0) + sum);
            }
        }
    }
    found
}

#[test]
fn speedscope_weights_are_the_file_s() {
    let Some(bytes) = corpus::file("datakit/ss_two-sampled.speedscope.json") else {
        return;
    };
    assert_eq!(
        detect("x.json", &bytes).map(|format| format.name),
        Some("speedscope")
    );
    let recording = lower("speedscope", "x.json", &bytes);
    let sums: Vec<(usize, i64)> = recording
        .samples
        .iter()
        .map(|batch| (batch.len(), batch.iter().map(|row| row.values[0]).sum()))
        .collect();
    assert_eq!(sums, [(5, 14_000_000_000), (5, 14_000_000_000)]);
}

/// Own values by function name.
fn own(recording: &Recording, value: &str) -> BTreeMap<String, i64> {
    let mut sums = BTreeMap::new();
    for batch in &recording.samples {
        let row = recording.profile(batch.profile).expect("a profile");
        let named = |id: &&traceloom_model::ValueTypeId| {
            recording.text(recording.value_type(**id).expect("a type").name) == value
        };
        let Some(column) = row.value_types.iter().position(|id| named(&id)) else {
            continue;
        };
        for sample in batch.iter() {
            let frame = sample
                .stack
                .and_then(|id| recording.stack(id))
                .and_then(|stack| recording.frame(stack.frame));
            let name = frame
                .and_then(|frame| frame.function)
                .map(|id| recording.function_name(id).into_owned());
            *sums.entry(name.unwrap_or_default()).or_default() += sample.values[column];
        }
    }
    sums
}

#[test]
fn cpuprofile_hits_are_v8_s() {
    let Some(bytes) = corpus::file("datakit/ss_chrome_sucrase.cpuprofile") else {
        return;
    };
    assert_eq!(
        detect("x.cpuprofile", &bytes).map(|format| format.name),
        Some("cpuprofile")
    );
    let recording = lower("cpuprofile", "x.cpuprofile", &bytes);
    assert_eq!(total(&recording, "samples"), Some(17_138));
    assert_eq!(total(&recording, "hits"), Some(17_837));
    let hits = own(&recording, "hits");
    for (name, expected) in [
        ("(garbage collector)", 2717),
        ("Object.keys.forEach", 2602),
        ("processRegion", 1202),
        ("(program)", 764),
        ("readToken", 752),
    ] {
        assert_eq!(hits[name], expected, "{name}");
    }
    let row = recording.profiles[0].as_ref().expect("a profile");
    assert_eq!(
        (row.time, row.duration),
        (Some(214_572_794_143_000), Some(22_012_290_000))
    );
}

#[test]
fn stackprof_samples_are_its_own_counters() {
    let Some(bytes) = corpus::file("datakit/ss_stackprof_simple-cpu.json") else {
        return;
    };
    assert_eq!(
        detect("x.json", &bytes).map(|format| format.name),
        Some("stackprof")
    );
    let recording = lower("stackprof", "x.json", &bytes);
    assert_eq!(total(&recording, "samples"), Some(489));
    assert_eq!(total(&recording, "cpu"), Some(489_000_000));
    let samples = own(&recording, "samples");
    for (name, expected) in [
        ("Object#d", 331),
        ("Object#e", 79),
        ("(sweeping)", 71),
        ("(marking)", 8),
    ] {
        assert_eq!(samples[name], expected, "{name}");
    }
}

#[test]
fn go_metrics_keep_integers_apart_from_floats() {
    let Some(bytes) = corpus::file("datakit/dk_go_metrics.json") else {
        return;
    };
    let recording = lower("go-metrics", "metrics.json", &bytes);
    let row = recording.events.row(0).expect("an event");
    assert_eq!(row.attributes.len(), 8);
    let value = |name: &str| {
        let found = row.attributes.iter().find(|attribute| {
            recording.text(recording.attribute_key(attribute.key).expect("a key").name) == name
        });
        found.map(|attribute| attribute.value.clone())
    };
    assert_eq!(value("go_allocs_per_sec"), Some(Value::I64(388)));
    assert_eq!(value("go_frees_per_sec"), Some(Value::F64(358.2)));
}
