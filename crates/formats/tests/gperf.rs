//! Legacy profiles of the corpus against what `go tool pprof` says about them.
#![allow(missing_docs, reason = "a test")]

mod corpus;
mod top;

use serde_json::Value;
use top::{lowered, top};
use traceloom_formats::{Confidence, Probe, Records, by_name, read_chunked, read_slice};
use traceloom_model::Limits;

const FILES: [(&str, &str); 2] = [
    ("gpprof_cppbench.cpu", "gperf-cpu"),
    ("gpprof_cppbench.heap", "gperf-heap"),
];

#[test]
fn values_are_those_of_the_report() {
    for (name, format) in FILES {
        let Some(bytes) = corpus::file(&format!("datakit/{name}")) else {
            return;
        };
        let expected = corpus::file(&format!("datakit/expected/{name}.json")).unwrap();
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        let expected = &expected["pprof"];
        let recording = lowered(by_name(format).unwrap(), &bytes);
        assert_eq!(recording.notes.total(), 0, "{name}");
        assert_eq!(
            recording.samples[0].len() as u64,
            expected["n_samples"],
            "{name}"
        );
        assert_eq!(
            recording.mappings.len() as u64,
            expected["n_mappings"],
            "{name}"
        );
        assert_eq!(
            recording.frames.len() as u64,
            expected["n_locations"],
            "{name}"
        );
        for (column, value_type) in expected["sample_types"]
            .as_array()
            .unwrap()
            .iter()
            .enumerate()
        {
            let counted = top(&recording, column);
            let (kind, unit) = (&value_type["type"], &value_type["unit"]);
            assert_eq!(counted.total, value_type["total"], "{name}: {kind}");
            let id = recording.profiles[0].as_ref().unwrap().value_types[column];
            let row = recording.value_type(id).unwrap();
            assert_eq!(*recording.text(row.name), *kind, "{name}");
            let lists =
                &expected["top"][format!("{}/{}", kind.as_str().unwrap(), unit.as_str().unwrap())];
            for (key, rows) in [("self", counted.by_flat()), ("total", counted.by_cum())] {
                let list = lists[key].as_array().unwrap();
                assert_eq!(rows.len().min(5), list.len(), "{name}: {kind}");
                for (expected_row, row) in list.iter().zip(rows) {
                    let number = |key: &str| -> i64 {
                        let text = expected_row[key].as_str().unwrap();
                        text.trim_end_matches(|c: char| !c.is_ascii_digit())
                            .parse()
                            .unwrap()
                    };
                    assert_eq!(
                        row.name, expected_row["function"],
                        "{name}: {kind} by {key}"
                    );
                    assert_eq!(
                        (row.flat, row.cum),
                        (number("flat"), number("cum")),
                        "{name}: {kind}"
                    );
                }
            }
        }
    }
}

#[test]
fn records_tile_the_corpus() {
    for (name, format) in FILES {
        let Some(bytes) = corpus::file(&format!("datakit/{name}")) else {
            return;
        };
        let format = by_name(format).unwrap();
        let mut whole = Records::default();
        read_slice(
            format.reader(&Limits::default()).as_mut(),
            &bytes,
            &mut whole,
        );
        assert!(whole.written() == bytes, "{name}");
        assert_eq!(whole.notes(), [], "{name}");
        for size in [1, 7, 1000] {
            let mut cut = Records::default();
            let cuts = (1..).map(|n: usize| n * size);
            read_chunked(
                format.reader(&Limits::default()).as_mut(),
                &bytes,
                cuts,
                &mut cut,
            );
            assert!(cut == whole, "{name} in chunks of {size}");
        }
    }
}

#[test]
fn detected() {
    for path in corpus::files("datakit").unwrap_or_default() {
        let file = path.rsplit('/').next().unwrap();
        let bytes = corpus::file(&path).unwrap();
        for (name, format) in FILES {
            let confidence = (by_name(format).unwrap().probe)(&Probe {
                head: &bytes[..bytes.len().min(65_536)],
                whole: bytes.len() <= 65_536,
                name: "x",
                siblings: &[],
            });
            let expected = (file == name).then_some(Confidence::Certain);
            assert_eq!(confidence, expected, "{format} of {path}");
        }
    }
}
