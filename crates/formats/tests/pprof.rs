//! Profiles of the corpus against what `go tool pprof` says about them.
#![allow(missing_docs, reason = "a test")]

mod corpus;
mod raised;
mod top;

use std::io::Read as _;

use serde_json::Value;
use top::{lowered, top};
use traceloom_formats::{Confidence, Probe, Records, by_name, read_chunked, read_slice};
use traceloom_model::{Level, Limits, Recording};

const FILES: [&str; 10] = [
    "dk_ddtrace_python.pprof",
    "dk_go_cpu.pprof",
    "dk_go_delta-block.pprof",
    "dk_go_delta-heap.pprof",
    "dk_go_delta-mutex.pprof",
    "dk_go_goroutines.pprof",
    "gpprof_large.cpu",
    "parca_fgprof.pb.gz",
    "parca_labels.pb.gz",
    "rs_pprof-rs_profile.pb",
];

fn file(name: &str) -> Option<(Vec<u8>, Value)> {
    let mut bytes = corpus::file(&format!("datakit/{name}"))?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut plain = Vec::new();
        let mut gzip = flate2::read::GzDecoder::new(bytes.as_slice());
        gzip.read_to_end(&mut plain).unwrap();
        bytes = plain;
    }
    let expected = corpus::file(&format!("datakit/expected/{name}.json"))?;
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    Some((bytes, expected["pprof"].clone()))
}

/// The number of `flat` or `cum`: the report adds the unit, unless the number is 0.
fn number(value: &Value) -> i64 {
    let digits = |c: char| !c.is_ascii_digit();
    value
        .as_str()
        .unwrap()
        .trim_end_matches(digits)
        .parse()
        .unwrap()
}

#[test]
fn values_are_those_of_the_report() {
    for name in FILES {
        let Some((bytes, expected)) = file(name) else {
            return;
        };
        compare(name, &lowered(by_name("pprof").unwrap(), &bytes), &expected);
    }
}

fn compare(file: &str, recording: &Recording, expected: &Value) {
    assert_eq!(
        recording
            .notes
            .worst()
            .filter(|&level| level == Level::Damage),
        None,
        "{file}"
    );
    let n_samples: usize = recording.samples.iter().map(|batch| batch.len()).sum();
    assert_eq!(n_samples as u64, expected["n_samples"], "{file}: samples");
    let profile = recording.profiles[0].as_ref().unwrap();
    let types = expected["sample_types"].as_array().unwrap();
    assert_eq!(profile.value_types.len(), types.len(), "{file}: columns");
    for (column, expected_type) in types.iter().enumerate() {
        let value_type = recording.value_type(profile.value_types[column]).unwrap();
        let value = recording.text(value_type.name);
        let unit = unit(recording, value_type.unit);
        assert_eq!(*value, expected_type["type"], "{file}");
        assert_eq!(unit, expected_type["unit"], "{file}");
        let counted = top(recording, column);
        assert_eq!(counted.total, expected_type["total"], "{file}: {value}");
        let lists = &expected["top"][format!("{value}/{unit}")];
        for (key, rows) in [("self", counted.by_flat()), ("total", counted.by_cum())] {
            let list = lists[key].as_array().unwrap();
            let all = !list.is_empty() || counted.total == 0;
            assert!(all, "{file}: {value} has no {key} list");
            for (expected_row, row) in list.iter().zip(&rows) {
                // The report marks names of which some samples are inlined.
                let name = expected_row["function"].as_str().unwrap();
                let name = name.trim_end_matches(" (partial-inline)");
                let name = name.trim_end_matches(" (inline)");
                let expected_row = (
                    name,
                    number(&expected_row["flat"]),
                    number(&expected_row["cum"]),
                );
                let row = (row.name.as_str(), row.flat, row.cum);
                assert_eq!(row, expected_row, "{file}: {value} by {key}");
            }
            assert!(rows.len() >= list.len(), "{file}: {value} by {key}");
        }
    }
    labels(file, recording, expected);
    header(file, recording, expected);
}

fn unit(recording: &Recording, unit: traceloom_model::Unit) -> String {
    match unit {
        traceloom_model::Unit::Count => "count".to_owned(),
        traceloom_model::Unit::Nanoseconds => "nanoseconds".to_owned(),
        traceloom_model::Unit::Bytes => "bytes".to_owned(),
        traceloom_model::Unit::Other(text) => recording.text(text).into_owned(),
        other => format!("{other:?}"),
    }
}

/// How many samples carry a label of each key.
fn labels(file: &str, recording: &Recording, expected: &Value) {
    let mut counts = serde_json::Map::new();
    for sample in recording.samples.iter().flat_map(|batch| batch.iter()) {
        let keys: std::collections::BTreeSet<String> = sample
            .labels
            .iter()
            .filter(|label| label.value != traceloom_model::Value::Null)
            .map(|label| {
                let key = recording.attribute_key(label.key).unwrap();
                recording.text(key.name).into_owned()
            })
            .collect();
        for key in keys {
            let count = counts.entry(key).or_insert(0.into());
            *count = (count.as_u64().unwrap() + 1).into();
        }
    }
    assert_eq!(
        Value::Object(counts),
        expected["label_keys"],
        "{file}: labels"
    );
}

fn header(file: &str, recording: &Recording, expected: &Value) {
    let profile = recording.profiles[0].as_ref().unwrap();
    let said = |key: &str| {
        let lines = expected["header"].as_array().unwrap().iter();
        let mut values = lines.filter_map(|line| line.as_str().unwrap().strip_prefix(key));
        values.next().map(str::trim).map(str::to_owned)
    };
    let period = profile.period.map_or(0, |(_, amount)| amount);
    assert_eq!(said("Period:"), Some(period.to_string()), "{file}");
    let kind = profile.period.map_or(String::new(), |(id, _)| {
        let value_type = recording.value_type(id).unwrap();
        let name = recording.text(value_type.name);
        format!("{name} {}", unit(recording, value_type.unit))
    });
    assert_eq!(said("PeriodType:").unwrap(), kind.trim(), "{file}");
    assert_eq!(said("Time:").is_some(), profile.time.is_some(), "{file}");
    assert_eq!(
        said("Duration:").is_some(),
        profile.duration.is_some(),
        "{file}"
    );
}

#[test]
fn records_tile_the_corpus() {
    let format = by_name("pprof").unwrap();
    for name in FILES {
        let Some((bytes, expected)) = file(name) else {
            return;
        };
        let mut whole = Records::default();
        read_slice(
            format.reader(&Limits::default()).as_mut(),
            &bytes,
            &mut whole,
        );
        assert!(whole.written() == bytes, "{name}: written bytes differ");
        assert_eq!(whole.notes(), [], "{name}");
        let samples = whole
            .kinds()
            .iter()
            .filter(|&&kind| kind == "sample")
            .count();
        assert_eq!(samples as u64, expected["n_samples"], "{name}");
        let locations = whole
            .kinds()
            .iter()
            .filter(|&&kind| kind == "location")
            .count();
        assert_eq!(locations as u64, expected["n_locations"], "{name}");
        let mappings = whole
            .kinds()
            .iter()
            .filter(|&&kind| kind == "mapping")
            .count();
        // The report makes a mapping up where there is none.
        assert_eq!(mappings.max(1) as u64, expected["n_mappings"], "{name}");
        let mut chunked = Records::default();
        let cuts = (0..).map(|n: usize| n * 1021 + 7);
        let mut reader = format.reader(&Limits::default());
        read_chunked(reader.as_mut(), &bytes, cuts, &mut chunked);
        assert!(whole == chunked, "{name}: chunks change the records");
    }
}

#[test]
fn written_profiles_read_back_equal() {
    let format = by_name("pprof").unwrap();
    for name in FILES {
        let Some((bytes, expected)) = file(name) else {
            return;
        };
        let first = lowered(format, &bytes);
        let written = raised::raise(format, &first);
        let second = lowered(format, &written);
        assert_eq!(second.notes.worst(), first.notes.worst(), "{name}");
        let (before, after) = (raised::words(&first), raised::words(&second));
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(after, before, "{name}");
        }
        assert_eq!(after.len(), before.len(), "{name}");
        compare(name, &second, &expected);
    }
}

#[test]
fn detected() {
    for name in FILES {
        let Some((bytes, _)) = file(name) else {
            return;
        };
        let confidence = probe(&bytes, name);
        assert_eq!(confidence, Some(Confidence::Certain), "{name}");
        let head = &bytes[..bytes.len().min(65_536)];
        assert_eq!(probe(head, "x"), Some(Confidence::Certain), "{name}");
    }
    // Labels of async-profiler: protobuf, and no profile.
    let Some(gzip) = corpus::file("datakit/jfrp_dump2.labels.pb.gz") else {
        return;
    };
    let mut other = Vec::new();
    flate2::read::GzDecoder::new(gzip.as_slice())
        .read_to_end(&mut other)
        .unwrap();
    assert_eq!(probe(&other, "dump2.labels.pb"), None);
    for path in corpus::files("datakit").unwrap_or_default() {
        let name = path.rsplit('/').next().unwrap();
        let bytes = corpus::file(&path).unwrap();
        if !FILES.contains(&name) {
            assert_eq!(probe(&bytes, name), None, "{path}");
        }
    }
}

fn probe(head: &[u8], name: &str) -> Option<Confidence> {
    (by_name("pprof").unwrap().probe)(&Probe {
        head,
        whole: true,
        name,
        siblings: &[],
    })
}
