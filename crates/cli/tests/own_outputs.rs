//! What the program writes it recognises, and `check` passes it: every target and variant that `--to list` prints, with
//! nothing, little or much in it.
#![allow(missing_docs, reason = "a test")]

mod program;

#[path = "../../formats/tests/corpus/mod.rs"]
mod corpus;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use program::{run, text};
use traceloom_formats::{FORMATS, Format, by_name};

/// Captures, each for a generation or a property.
const CORPUS: &[&str] = &[
    "cdt/test-service/suspend.bin",
    "cdt/test-service/gc.bin",
    "cdt/dump/server1/2022/02/02/1643822466534/trace/000001.gz",
    "heph/hand/all_types.heph",
    "heph/hand/long_strings.heph.gz",
    "heph/hand/seed_event.heph",
    "heph/hand/seed_metadata.heph",
    "heph/hand/two_substreams_overlap.heph",
    "heph/real/new_7_tracing.bin.log",
    "tptp/seed_threadStart.trcxml-fragment",
    "tptp/syn_le_inclusive.trcbin",
    "zorka/gen-b-agent-streaming/000.agd.bin",
    "zorka/gen-b-driver/b-attrs.trc.bin",
    "zorka/gen-c-writer/c-writer-agd.bin",
    "zorka/gen-c-writer/c-writer-containers-trc.bin",
    "zorka/seedgen/s0-le-nested-attrs.bin",
];

/// Recordings of nothing.
const EMPTY: &[(&str, &str)] = &[
    ("empty.json", "{\"traceEvents\":[]}"),
    ("empty.folded", "# nothing ran\n"),
    (
        "empty.trcxml",
        "<?xml version=\"1.0\"?>\n<TRACE>\n</TRACE>\n",
    ),
];

struct TestSource {
    path: String,
    /// What is doubtful in a source may stay so.
    is_sound: bool,
    /// Written as every variant; the others only as each format is without one.
    every_variant: bool,
}

fn sources(folder: &Path) -> Vec<TestSource> {
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).expect("a file");
        path.to_str().expect("text").to_owned()
    };
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
    let mut paths = vec![(shop.to_owned(), true)];
    for (name, content) in EMPTY {
        paths.push((file(name, content.as_bytes()), true));
    }
    for format in FORMATS.iter().filter(|format| format.lower.is_some()) {
        let Some(make) = traceloom_samples::by_name(format.name) else {
            continue;
        };
        let mut bytes = Vec::new();
        make(7, 2_000, &mut |piece| bytes.extend_from_slice(piece));
        let extension = format.extensions.first().unwrap_or(&"bin");
        let path = file(&format!("{}.{extension}", format.name), &bytes);
        let every_variant = ["line-protocol", "pprof", "zorka-c"].contains(&format.name);
        paths.push((path, every_variant));
    }
    for name in CORPUS {
        if let Some(bytes) = corpus::file(name) {
            paths.push((file(&name.replace('/', "-"), &bytes), false));
        }
    }
    let source = |(path, every_variant): (String, bool)| TestSource {
        is_sound: run(&["check", &path]).status.success(),
        path,
        every_variant,
    };
    paths.into_iter().map(source).collect()
}

/// Values for the variants that stand for any.
const OPEN: &[(&str, &str)] = &[
    ("DIMENSION", "method"),
    ("value=NAME", "value=wall"),
    ("unit=WORD", "unit=ms"),
    ("VALUE", "wall"),
    ("FACT=TEXT", "service=shop"),
];

/// A target as `--to` takes it.
struct Target {
    format: &'static Format,
    name: String,
    is_variant: bool,
}

/// The targets that `--to list` prints and this build has, each with its variants.
fn targets() -> Vec<Target> {
    let listed = run(&["convert", "--to", "list"]);
    let mut targets: Vec<Target> = Vec::new();
    for line in text(&listed.stdout).lines() {
        let word = line.split_whitespace().next().expect("a name");
        let format = match word.strip_prefix(':') {
            Some(_) => targets.last().expect("a format before its variants").format,
            None => by_name(word).expect("a format"),
        };
        let name = match word.strip_prefix(':') {
            Some(variant) => {
                let open = OPEN.iter().find(|(open, _)| *open == variant);
                format!(
                    "{}:{}",
                    format.name,
                    open.map_or(variant, |(_, value)| value)
                )
            }
            None => word.to_owned(),
        };
        let is_variant = word.starts_with(':');
        targets.push(Target {
            format,
            name,
            is_variant,
        });
    }
    let absent = |name: &str| matches!(name, "arrow" | "parquet") && !cfg!(feature = "tables");
    targets.retain(|target| !absent(target.format.name));
    targets
}

/// Writes a source, with its samples or calls told as the other where the target needs that; returns what was said,
/// and whether there is an output.
fn write(source: &str, target: &str, out: &str) -> (bool, String) {
    let args = ["convert", source, "--to", target, "-o", out];
    let mut said = String::new();
    for more in [None, Some("--as-samples"), Some("--as-spans")] {
        // A value is one of samples.
        let lacks_value = said.contains("no profile has a column");
        if more.is_none_or(|flag| said.contains(flag) || lacks_value) {
            let args: Vec<&str> = args.into_iter().chain(more).collect();
            said = text(&run(&args).stderr);
            if Path::new(out).exists() {
                return (true, said);
            }
        }
    }
    (false, said)
}

/// What `check` says of each output, up to the line that sums it up.
fn checked(outputs: &[String]) -> Vec<String> {
    let args = ["check"].into_iter();
    let args: Vec<&str> = args.chain(outputs.iter().map(String::as_str)).collect();
    let said = text(&run(&args).stdout);
    let mut lines = said.lines();
    let section = |output: &String| {
        let sum = format!("{output}: ");
        let mut section = String::new();
        for line in lines.by_ref() {
            section += line;
            section.push('\n');
            if line.starts_with(&sum) && line.contains(" read, ") {
                break;
            }
        }
        section
    };
    outputs.iter().map(section).collect()
}

/// Returns `true` if what `check` says of an output is as it should be.
fn is_good(source: &TestSource, target: &str, said: &str) -> bool {
    let format = target.split(':').next().and_then(by_name);
    if format.is_some_and(|format| format.lower.is_none()) {
        // It is recognised; that it is not read is no clean bill.
        return said.contains("written and not read") && !said.contains("unknown format;");
    }
    // Long texts are cut, which a note says.
    let is_long = source.path.contains("long_strings") && target.starts_with("zorka");
    let is_known = !said.contains("unknown_format") && !said.contains("no_dictionary");
    let is_sound = said.contains(" 0 damage, 0 warn");
    is_known && (is_sound || is_long || !source.is_sound)
}

/// Why an input may have nothing for a target.
const REASONS: &[&str] = &[
    "nothing here to show",
    "there are no spans to tell as samples",
    "there are no samples to tell as spans",
    "no sample has a time",
    "there is no value `wall`",
    "no profile has a column `wall`",
];

/// Writes a source as every target, and checks what was written; returns the targets, and the faults.
fn write_all<'t>(source: &TestSource, targets: &'t [Target]) -> (Vec<&'t str>, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut written, mut outputs, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    let chosen = targets
        .iter()
        .filter(|target| source.every_variant || !target.is_variant);
    for target in chosen {
        let name = &target.name;
        let extension = target.format.extensions.first().unwrap_or(&"bin");
        let out = folder.path().join(format!("{}.{extension}", outputs.len()));
        let out = out.to_str().expect("text").to_owned();
        let (exists, said) = write(&source.path, name, &out);
        if exists {
            written.push(name.as_str());
            outputs.push(out);
        } else if !REASONS.iter().any(|reason| said.contains(reason)) {
            faults.push(format!("{} to {name}: {said}", source.path));
        }
    }
    for (target, said) in written.iter().zip(checked(&outputs)) {
        if !is_good(source, target, &said) {
            faults.push(format!("{} to {target}: {said}", source.path));
        }
    }
    (written, faults)
}

#[test]
fn what_is_written_is_recognised_and_sound() {
    let folder = tempfile::tempdir().expect("a folder");
    let (sources, targets) = (sources(folder.path()), targets());
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(source) = sources.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = write_all(source, &targets);
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            results.push(result);
        }
    };
    // Half of the time is for the disk to have what was written.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(work);
        }
    });
    let results = results.into_inner().expect("no panic");
    let faults: Vec<&String> = results.iter().flat_map(|(_, faults)| faults).collect();
    assert!(faults.is_empty(), "{} faults\n{faults:#?}", faults.len());
    for target in &targets {
        let written = results.iter().flat_map(|(written, _)| written);
        let times = written.filter(|name| **name == target.name).count();
        assert!(times > 1, "{} is written {times} times", target.name);
    }
    assert!(targets.len() > 50, "{}", targets.len());
}
