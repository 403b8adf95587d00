//! CSV, Arrow and Parquet as other people's programs read them: DuckDB and Polars, from PyPI.
//!
//! The packages lie in the folder that `TRACELOOM_PYTHON_PACKAGES` names. Without it, or without Python, the tests
//! say so and pass.
#![allow(missing_docs, reason = "a test")]

mod program;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use program::{SHOP, run};
use traceloom_input::{Input, OpenOptions};
use traceloom_model::{Concat, Recording};

/// The recording that the tables are of.
fn shop() -> Recording {
    let input = Input::open(SHOP, &OpenOptions::default()).expect("testdata");
    let mut recording = Recording::default();
    let mut all = Concat::new(&mut recording).of_many();
    for document in input.documents() {
        if let Some(lower) = document.format().and_then(|format| format.lower) {
            lower(&document, &Default::default(), &mut all).expect("readable");
        }
        all.next_recording(traceloom_formats::Source::parts(&document).len());
    }
    recording
}

/// What the script prints for a recording: rows of each table, sums, and one value from far behind.
fn expected(recording: &Recording) -> String {
    let spans = &recording.spans;
    let time: u64 = spans.iter().map(|span| span.duration()).sum();
    let attributes = spans.attributes.all().len() + recording.events.attributes.all().len();
    let resources = recording
        .resources
        .iter()
        .flatten()
        .map(|row| row.attributes.len());
    let counters: i64 = spans
        .iter()
        .flat_map(|span| span.counters)
        .map(|(_, value)| value)
        .sum();
    let first = spans.start.iter().min().expect("spans");
    let errors = spans.status.iter();
    let errors = errors
        .filter(|&&status| status == traceloom_model::SpanStatus::Error)
        .count();
    let mut names: BTreeMap<_, usize> = BTreeMap::new();
    for &id in spans.function.iter().flatten() {
        *names.entry(recording.function_name(id)).or_default() += 1;
    }
    let counted = names.iter().map(|(name, &count)| (count, Reverse(name)));
    let (count, Reverse(busiest)) = counted.max().expect("functions");
    format!(
        "spans {} time {time} first {first} errors {errors}\nattributes {} counters {counters}\n\
         events {} points {} functions {}\nbusiest {} {}\n",
        spans.len(),
        attributes + resources.sum::<usize>(),
        recording.events.len(),
        recording.counters.time.len(),
        recording.functions.iter().flatten().count(),
        busiest,
        count,
    )
}

/// Runs the script of this folder over a folder of tables.
fn asked(engine: &str, folder: &Path, extension: &str) -> Option<String> {
    let packages = std::env::var_os("TRACELOOM_PYTHON_PACKAGES")?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools/tables.py");
    let output = Command::new("python3")
        .args([script, engine])
        .arg(folder)
        .arg(extension)
        .env("PYTHONPATH", packages)
        .output()
        .ok()?;
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{engine} of {extension}: {error}");
    Some(String::from_utf8(output.stdout).expect("text"))
}

fn agree(format: &str, engines: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("shop");
    let written = run(&[
        "convert",
        SHOP,
        out.to_str().expect("a path"),
        "--to",
        format,
    ]);
    let error = String::from_utf8_lossy(&written.stderr);
    assert!(written.status.success(), "{error}");
    let expected = expected(&shop());
    for engine in engines {
        match asked(engine, &out, format) {
            Some(said) => assert_eq!(said, expected, "{engine} of {format}"),
            None => println!("no Python packages found, {engine} skipped"),
        }
    }
}

#[test]
fn csv_opens_in_duckdb_and_polars() {
    agree("csv", &["duckdb", "polars"]);
}

#[cfg(feature = "tables")]
#[test]
fn parquet_opens_in_duckdb_and_polars() {
    agree("parquet", &["duckdb", "polars"]);
}

#[cfg(feature = "tables")]
#[test]
fn arrow_opens_in_polars_and_through_it_in_duckdb() {
    agree("arrow", &["polars", "duckdb"]);
}

#[cfg(not(feature = "tables"))]
#[test]
fn a_program_without_the_feature_says_how_to_get_it() {
    for format in ["arrow", "parquet"] {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("shop");
        let output = run(&[
            "convert",
            SHOP,
            out.to_str().expect("a path"),
            "--to",
            format,
        ]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert!(error.contains("--features tables"), "{error}");
        assert!(!out.exists());
    }
}

#[test]
fn the_page_of_the_matrix_is_current() {
    let output = run(&["formats", "--matrix"]);
    assert!(output.status.success());
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats.md");
    // `cargo xtask bless` writes it once the tests have passed.
    if std::env::var_os("TRACELOOM_BLESS").is_some() {
        return;
    }
    let page = std::fs::read_to_string(page).expect("docs/formats.md");
    let printed = String::from_utf8(output.stdout).expect("text");
    assert!(
        page == printed,
        "docs/formats.md is stale: run `cargo xtask bless`"
    );
}

/// Python takes NaN, infinities and members that come twice, unless told not to.
const STRICT: &str = "
import json, sys
def no(word): raise ValueError(word)
def members(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names): raise ValueError(names)
    return dict(pairs)
for name in sys.argv[1:]:
    events = json.load(open(name, encoding='utf-8'), parse_constant=no, object_pairs_hook=members)
    print(len(events['traceEvents']))
";

#[test]
fn chrome_traces_are_strict_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("shop.json");
    let path = out.to_str().expect("a path");
    let written = run(&["convert", SHOP, path, "--to", "chrome"]);
    assert!(written.status.success());
    let text = std::fs::read(&out).expect("a file");
    let trace: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("a list");
    let spans = events.iter().filter(|event| event["ph"] == "X");
    let recording = shop();
    assert_eq!(spans.clone().count(), recording.spans.len());
    let micros = |event: &serde_json::Value| event["dur"].as_f64().expect("a number");
    let time: u64 = recording.spans.iter().map(|span| span.duration()).sum();
    assert_eq!(spans.map(micros).sum::<f64>() * 1_000.0, time as f64);
    let python = Command::new("python3").args(["-c", STRICT, path]).output();
    let Ok(python) = python else {
        println!("no Python found, skipped");
        return;
    };
    let error = String::from_utf8_lossy(&python.stderr);
    assert!(python.status.success(), "{error}");
    assert_eq!(
        String::from_utf8_lossy(&python.stdout).trim(),
        events.len().to_string()
    );
}
