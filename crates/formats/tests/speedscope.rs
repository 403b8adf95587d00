//! speedscope files that we write: read back by our reader, and by the importer of speedscope itself.
//!
//! That is the npm package `speedscope` in the folder `node_modules` that `TRACELOOM_NPM` names, run by
//! `node`. Without either the test says so and passes.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test that runs a tool on files"
)]

mod corpus;
mod raised;
#[allow(dead_code, reason = "not every test needs every way in")]
mod top;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use raised::raise;
use serde_json::Value as Json;
use top::{lowered, top};
use traceloom_formats::{FORMATS, by_name};
use traceloom_model::{Clock, Recording, Unit};

fn sample(format: &str, bytes: u64) -> Recording {
    let format = by_name(format).unwrap();
    let mut input = Vec::new();
    traceloom_samples::by_name(format.name).unwrap()(5, bytes, &mut |piece| {
        input.extend_from_slice(piece)
    });
    lowered(format, &input)
}

/// Spans as name, start and end in their order, by track name without the lane.
fn spans(recording: &Recording) -> Vec<(String, String, i64, i64)> {
    let mut rows: Vec<_> = recording
        .spans
        .iter()
        .map(|span| {
            let track = recording.track(span.track).and_then(|row| row.name);
            let track = track.map_or_else(String::new, |name| recording.text(name).into_owned());
            let track = track.split(" lane ").next().unwrap_or_default().to_owned();
            let name = span
                .function
                .map(|id| recording.function_name(id).into_owned());
            (track, name.unwrap_or_default(), span.start, span.end)
        })
        .collect();
    rows.sort();
    rows
}

#[test]
fn spans_come_back_at_their_times() {
    let speedscope = by_name("speedscope").unwrap();
    for format in ["heph", "zorka-c", "tptp-binary"] {
        let before = sample(format, 60_000);
        assert!(before.spans.len() > 100, "{format}");
        let after = lowered(speedscope, &raise(speedscope, &before));
        assert_eq!(after.spans.len(), before.spans.len(), "{format}");
        assert_eq!(
            matches!(before.clock, Clock::Unix),
            matches!(after.clock, Clock::Unix)
        );
        let (mut ours, mut theirs) = (spans(&before), spans(&after));
        // A track without a name is called by its number.
        for row in ours.iter_mut().chain(&mut theirs) {
            row.0.clear();
        }
        ours.sort();
        theirs.sort();
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(
                (&ours.1, ours.2, ours.3),
                (&theirs.1, theirs.2, theirs.3),
                "{format}"
            );
        }
    }
}

#[test]
fn samples_come_back_with_their_weights() {
    let speedscope = by_name("speedscope").unwrap();
    for format in ["pprof", "folded", "speedscope"] {
        let before = sample(format, 40_000);
        let after = lowered(speedscope, &raise(speedscope, &before));
        let width = before.samples[0].width();
        let profiles = after.profiles.iter().flatten().count();
        assert_eq!(
            profiles % width,
            0,
            "{format}: {profiles} lists of {width} columns"
        );
        let totals = (0..width)
            .map(|column| top(&before, column).total)
            .sum::<i64>();
        let written: i64 = after
            .samples
            .iter()
            .flat_map(|batch| (0..batch.len()).flat_map(|row| batch.values(row)))
            .sum();
        assert_eq!(written, totals, "{format}");
    }
}

/// Where the package lies.
fn package() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("TRACELOOM_NPM")?).join("speedscope");
    let runs = Command::new("node").arg("--version").output().is_ok();
    (runs && folder.is_dir()).then_some(folder)
}

fn imported(package: &Path, what: &str, bytes: &[u8]) -> Vec<Json> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{what}.speedscope.json"));
    std::fs::write(&file, bytes).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools/speedscope.mjs");
    let output = Command::new("node")
        .arg(script)
        .arg(package)
        .arg(&file)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    let end = error
        .lines()
        .rev()
        .find(|line| line.contains("Error"))
        .unwrap_or_default();
    assert!(output.status.success(), "{what}: {end}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Compares what speedscope's importer understood with what our own reader does.
fn agree(package: &Path, what: &str, before: &mut Recording) {
    // Statistics of the spans are lists of their own, which are compared elsewhere.
    if !before.spans.is_empty() {
        before.samples.clear();
    }
    let speedscope = by_name("speedscope").unwrap();
    let bytes = raise(speedscope, before);
    let profiles = imported(package, what, &bytes);
    let after = lowered(speedscope, &bytes);
    let number = |json: &Json| json.as_f64().unwrap();
    let (mut opened, mut spent) = (0.0, 0.0);
    let mut weights: BTreeMap<String, f64> = BTreeMap::new();
    for profile in &profiles {
        let name = &profile["name"];
        assert_eq!(profile["open"], 0, "{what}: {name}");
        assert_eq!(profile["backwards"], 0, "{what}: {name}");
        let unit = profile["unit"].as_str().unwrap().to_owned();
        if unit == "nanoseconds" {
            let own = profile["frames"]
                .as_array()
                .unwrap()
                .iter()
                .map(|frame| number(&frame[1]));
            spent += own.sum::<f64>();
        }
        *weights.entry(unit).or_default() += number(&profile["weight"]);
        opened += number(&profile["opened"]);
    }
    if !before.spans.is_empty() {
        // Of what takes no time speedscope's chart shows some.
        let long = before.spans.iter().filter(|span| span.duration() > 0);
        let possible = long.count()..=before.spans.len();
        assert!(
            possible.contains(&(opened as usize)),
            "{what}: {opened} of {possible:?}"
        );
        assert_eq!(after.spans.len(), before.spans.len(), "{what}");
        let roots = after.spans.iter().filter(|span| span.parent.is_none());
        let time: u64 = roots.map(|span| span.duration()).sum();
        assert_eq!(spent, time as f64, "{what}");
        return;
    }
    let mut expected: BTreeMap<String, f64> = BTreeMap::new();
    for batch in &after.samples {
        let profile = after.profile(batch.profile).unwrap();
        let unit = match after.value_type(profile.value_types[0]).unwrap().unit {
            Unit::Nanoseconds => "nanoseconds",
            Unit::Bytes => "bytes",
            _ => "none",
        };
        let sum: i64 = (0..batch.len()).flat_map(|row| batch.values(row)).sum();
        *expected.entry(unit.to_owned()).or_default() += sum as f64;
    }
    weights.retain(|_, weight| *weight > 0.0);
    expected.retain(|_, weight| *weight > 0.0);
    assert_eq!(weights, expected, "{what}");
}

#[test]
fn speedscope_loads_what_we_write() {
    let Some(package) = package() else {
        println!("no node or npm package speedscope found, skipped");
        return;
    };
    let mut n_files = 0;
    for format in FORMATS {
        if traceloom_samples::by_name(format.name).is_none() || format.lower.is_none() {
            continue;
        }
        let mut before = sample(format.name, 20_000);
        if before.spans.is_empty() && before.samples.iter().all(|batch| batch.is_empty()) {
            continue;
        }
        agree(&package, format.name, &mut before);
        n_files += 1;
    }
    assert!(n_files > 15, "{n_files} samples with spans or samples");
    for name in ["dk_go_cpu.pprof", "parca_fgprof.pb.gz"] {
        let Some(mut bytes) = corpus::file(&format!("datakit/{name}")) else {
            return;
        };
        if bytes.starts_with(&[0x1f, 0x8b]) {
            let mut plain = Vec::new();
            let mut gzip = flate2::read::GzDecoder::new(bytes.as_slice());
            gzip.read_to_end(&mut plain).unwrap();
            bytes = plain;
        }
        agree(
            &package,
            name,
            &mut lowered(by_name("pprof").unwrap(), &bytes),
        );
    }
}
