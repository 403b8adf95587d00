//! Folded files of the corpus against the sums their folder states.
#![allow(missing_docs, reason = "a test")]

mod corpus;
mod top;

use serde_json::Value;
use top::{lowered, top};
use traceloom_formats::{Confidence, Probe, Records, by_name, read_chunked, read_slice};
use traceloom_model::Limits;

#[test]
fn totals_are_those_stated() {
    for name in [
        "inf_async-profiler-part.collapsed.txt",
        "ss_perf-vertx.collapsed.txt",
    ] {
        let Some(bytes) = corpus::file(&format!("datakit/{name}")) else {
            return;
        };
        let expected = corpus::file(&format!("datakit/expected/{name}.json")).unwrap();
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        let expected = &expected["collapsed"];
        let recording = lowered(by_name("folded").unwrap(), &bytes);
        assert_eq!(recording.notes.total(), 0, "{name}");
        let n_lines: usize = recording.samples.iter().map(|batch| batch.len()).sum();
        assert_eq!(n_lines as u64, expected["n_lines"], "{name}");
        let counted = top(&recording, 0);
        assert_eq!(counted.total, expected["total"], "{name}");
        for row in expected["top_self"].as_array().unwrap() {
            let found = counted
                .rows
                .iter()
                .find(|found| found.name == row["function"]);
            assert_eq!(found.unwrap().flat, row["value"], "{name}: {row}");
        }
        for row in expected["top_total"].as_array().unwrap() {
            let found = counted
                .rows
                .iter()
                .find(|found| found.name == row["function"]);
            assert_eq!(found.unwrap().cum, row["value"], "{name}: {row}");
        }
        let fifth = |rows: Vec<&top::Row>, value: fn(&top::Row) -> i64| value(rows[4]);
        assert_eq!(
            fifth(counted.by_flat(), |row| row.flat),
            expected["top_self"][4]["value"]
        );
        assert_eq!(
            fifth(counted.by_cum(), |row| row.cum),
            expected["top_total"][4]["value"]
        );

        let format = by_name("folded").unwrap();
        let mut whole = Records::default();
        read_slice(
            format.reader(&Limits::default()).as_mut(),
            &bytes,
            &mut whole,
        );
        assert!(whole.written() == bytes, "{name}");
        let mut chunked = Records::default();
        let cuts = (1..).map(|n: usize| n * 997);
        read_chunked(
            format.reader(&Limits::default()).as_mut(),
            &bytes,
            cuts,
            &mut chunked,
        );
        assert!(whole == chunked, "{name}");
    }
}

#[test]
fn detected() {
    for path in corpus::files("datakit").unwrap_or_default() {
        let name = path.rsplit('/').next().unwrap();
        let bytes = corpus::file(&path).unwrap();
        let head = &bytes[..bytes.len().min(65_536)];
        let whole = head.len() == bytes.len();
        let confidence = (by_name("folded").unwrap().probe)(&Probe {
            head,
            whole,
            name: "x",
            siblings: &[],
        });
        let expected = name
            .ends_with("collapsed.txt")
            .then_some(Confidence::Likely);
        assert_eq!(confidence, expected, "{path}");
    }
}

#[test]
fn json_that_ends_behind_a_number_is_no_stack() {
    let format = by_name("folded").unwrap();
    let probe = |head: &[u8]| {
        (format.probe)(&Probe {
            head,
            whole: true,
            name: "x.jsonl",
            siblings: &[],
        })
    };
    assert_eq!(probe(br#"{"clock": 1535753661000, "calls": 1"#), None);
    assert_eq!(probe(b"main 1"), Some(Confidence::Possible));
}
