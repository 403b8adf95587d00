//! speedscope, Chrome's `.cpuprofile`, stackprof and Go's metrics: real files, against what their producers
//! counted.

use std::collections::BTreeMap;

use traceloom_model::{Recording, Value};

use super::{corpus, detect, lower, total};

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
    assert_eq!(
        recording.events.row(0).expect("an event").attributes.len(),
        8
    );
    let value = |name: &str| metric(&recording, name);
    assert_eq!(value("go_allocs_per_sec"), Some(Value::I64(388)));
    assert_eq!(value("go_frees_per_sec"), Some(Value::F64(358.2)));
}

fn metric(recording: &Recording, name: &str) -> Option<Value> {
    let row = recording.events.row(0).expect("an event");
    let key = |id| recording.text(recording.attribute_key(id).expect("a key").name);
    let mut found = row.attributes.iter();
    let found = found.find(|attribute| key(attribute.key) == name);
    found.map(|attribute| attribute.value.clone())
}

#[test]
fn go_metrics_with_a_bad_pair_or_a_cut_are_the_good_ones() {
    let bad = r#"[["go_allocs_per_sec"],["go_gcs_per_sec","many"],["go_frees_per_sec",2.5],7,["go_num_goroutine",26]]"#;
    assert_eq!(
        detect("m.json", bad.as_bytes()).map(|format| format.name),
        Some("go-metrics")
    );
    let recording = lower("go-metrics", "m.json", bad.as_bytes());
    assert_eq!(
        metric(&recording, "go_frees_per_sec"),
        Some(Value::F64(2.5))
    );
    assert_eq!(metric(&recording, "go_num_goroutine"), Some(Value::I64(26)));
    assert_eq!(metric(&recording, "go_gcs_per_sec"), None);
    let at: Vec<_> = recording
        .notes
        .kept()
        .iter()
        .map(|note| (note.kind, note.offset))
        .collect();
    let place = |text: &str| bad.find(text).expect("there") as u64;
    assert_eq!(
        at,
        [
            ("not_a_metric", place("[\"go_allocs")),
            ("not_a_metric", place("[\"go_gcs")),
            ("not_a_metric", place("7,")),
        ]
    );
    let whole = r#"[["go_frees_per_sec",2.5],["go_num_goroutine",2600]]"#;
    let first = whole.find(']').expect("a pair");
    for cut in first + 1..whole.len() {
        let text = &whole.as_bytes()[..cut];
        assert_eq!(
            detect("m.json", text).map(|format| format.name),
            Some("go-metrics"),
            "cut at {cut}"
        );
        let recording = lower("go-metrics", "m.json", text);
        assert_eq!(
            metric(&recording, "go_frees_per_sec"),
            Some(Value::F64(2.5))
        );
        // A number that is cut is no number: all of it, or none.
        let second = metric(&recording, "go_num_goroutine");
        assert!(
            matches!(second, None | Some(Value::I64(2600))),
            "cut at {cut}: {second:?}"
        );
        assert!(recording.notes.total() > 0, "cut at {cut}");
    }
}
