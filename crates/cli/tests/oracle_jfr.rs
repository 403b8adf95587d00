//! `info` of recordings beside `jfr summary` and `jfr print` of the JDK: the same events, as often, from the same time to
//! the same time.
//!
//! Without the JDK, or without the corpus, the test says so and passes.

#[path = "../../formats/tests/corpus/mod.rs"]
mod corpus;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// Every recording of the corpus that the tool reads.
const RECORDINGS: &[&str] = &[
    "dk_ddtrace_main.jfr",
    "jfrp_async-profiler.jfr.gz",
    "jfrp_dd-trace-java.jfr.gz",
    "jfrp_dump2.jfr.gz",
    "jfrp_example.jfr.gz",
    "jfrp_nativemem.jfr.gz",
    "jfrp_object-allocation-sample.jfr.gz",
];

/// Puts a recording into a folder, unpacked; none without the corpus.
fn recording(name: &str, folder: &Path) -> Option<PathBuf> {
    let bytes = corpus::file(&format!("datakit/{name}"))?;
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("a file");
    if name.ends_with(".gz") {
        let unpacked = Command::new("gzip").arg("-d").arg(&path).status();
        assert!(unpacked.is_ok_and(|status| status.success()), "gzip {name}");
    }
    Some(folder.join(name.trim_end_matches(".gz")))
}

fn info(path: &Path) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_traceloom"));
    let shown = command.args(["info", "--json"]).arg(path).output();
    let shown = shown.expect("the program runs");
    serde_json::from_slice(&shown.stdout).expect("JSON")
}

/// What `jfr summary` says.
struct Summary {
    /// Events by type, those of which there are none left out.
    counts: BTreeMap<String, u64>,
    /// Seconds since 1970.
    start: i64,
    /// Seconds that the chunks lasted together.
    duration: i64,
}

/// Runs `jfr summary`; none without the JDK.
fn summary(path: &Path) -> Option<Summary> {
    let shown = Command::new("jfr").arg("summary").arg(path).output();
    let Ok(shown) = shown else {
        println!("no jfr tool found, skipped");
        return None;
    };
    assert!(shown.status.success(), "{}", path.display());
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    let mut counts = BTreeMap::new();
    let (mut start, mut duration) = (None, None);
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["Start:", day, time, "(UTC)"] => {
                let time = format!("{day}T{time}Z").parse::<Timestamp>();
                start = Some(time.expect("a time").as_second());
            }
            ["Duration:", seconds, "s"] => duration = seconds.parse().ok(),
            [name, count, size] => {
                if let (Ok(count), Ok(_)) = (count.parse::<u64>(), size.parse::<u64>())
                    && count > 0
                {
                    // A type whose metadata differs between chunks has several lines.
                    *counts.entry(name.to_owned()).or_default() += count;
                }
            }
            _ => {}
        }
    }
    Some(Summary {
        counts,
        start: start.expect("a start"),
        duration: duration.expect("a duration"),
    })
}

/// When the first event begins and the last one ends, of those that `jfr print` shows, in nanoseconds.
fn printed_times(path: &Path, types: &[&str]) -> (i128, i128) {
    let mut print = Command::new("jfr")
        .args(["print", "--json", "--stack-depth", "1", "--events"])
        .arg(types.join(","))
        .arg(path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the tool runs");
    let printed = BufReader::new(print.stdout.take().expect("its output"));
    let (mut first, mut last, mut start) = (i128::MAX, i128::MIN, 0);
    for line in printed.lines() {
        let line = line.expect("text");
        // A member of the event itself; events have times and lengths of their own in members of other names.
        let Some((name, value)) = line.trim_end_matches([',', ' ']).split_once(": ") else {
            continue;
        };
        let value = value.trim_matches('"');
        match name {
            "        \"startTime\"" => {
                start = value.parse::<Timestamp>().expect("a time").as_nanosecond();
                (first, last) = (first.min(start), last.max(start));
            }
            "        \"duration\"" => {
                let length = value.parse::<SignedDuration>().expect("a duration");
                last = last.max(start + length.as_nanos());
            }
            _ => {}
        }
    }
    assert!(print.wait().is_ok_and(|status| status.success()));
    (first, last)
}

/// Start and length of each chunk by its header (JVM, `jfrChunkWriter.cpp`), in nanoseconds.
fn chunks(bytes: &[u8]) -> Vec<(i128, i128)> {
    let mut chunks = Vec::new();
    let mut rest = bytes;
    while let Some(header) = rest.first_chunk::<48>() {
        assert_eq!(&header[..4], b"FLR\0");
        let number = |at: usize| {
            let bytes = header[at..at + 8].try_into().expect("eight bytes");
            i64::from_be_bytes(bytes)
        };
        chunks.push((i128::from(number(32)), i128::from(number(40))));
        let size = usize::try_from(number(8)).expect("a size");
        rest = &rest[size..];
    }
    chunks
}

/// A recording is summed up in one pass where that can begin anywhere, and read and lowered where it is compressed.
#[test]
fn totals_are_those_of_the_compressed_recording() {
    let folder = tempfile::tempdir().expect("a folder");
    let others = ["dk_prof.jfr"];
    for name in RECORDINGS.iter().chain(&others) {
        let Some(path) = recording(name, folder.path()) else {
            return;
        };
        let keep = Command::new("gzip").args(["-k", "-f"]).arg(&path).status();
        assert!(keep.is_ok_and(|status| status.success()), "gzip {name}");
        let mut packed = path.clone().into_os_string();
        packed.push(".gz");
        let of = |path: &Path| {
            let info = info(path);
            let keys = [
                "format",
                "decoded_bytes",
                "records",
                "time",
                "values",
                "notes",
            ];
            keys.map(|key| info[key].clone())
        };
        assert_eq!(of(&path), of(Path::new(&packed)), "{name}");
    }
}

#[test]
fn events_are_those_of_the_jdk() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in RECORDINGS {
        let Some(path) = recording(name, folder.path()) else {
            return;
        };
        let Some(Summary { counts: theirs, .. }) = summary(&path) else {
            return;
        };
        let info = info(&path);
        let records = info["records"].as_object().expect("kinds");
        assert!(theirs.len() > 3, "{name}");
        for (kind, count) in &theirs {
            assert_eq!(records[kind].as_u64(), Some(*count), "{name}: {kind}");
        }
        let ours = records.keys().filter(|kind| *kind != "chunk");
        let ours: Vec<&String> = ours.filter(|kind| !theirs.contains_key(*kind)).collect();
        assert!(ours.is_empty(), "{name}: {ours:?}");
    }
}

/// The time of a recording is that of its chunks and events together: the tool says the chunks' in seconds, and of each
/// event when it began and how long it took.
#[test]
fn times_are_those_of_the_jdk() {
    // At these types, whose fields are others in each of its two chunks, `jfr print` ends with an exception.
    const UNPRINTED: (&str, &[&str]) = (
        "dk_ddtrace_main.jfr",
        &[
            "datadog.DatadogProfilerConfig",
            "datadog.Endpoint",
            "datadog.ExecutionSample",
            "datadog.HeapLiveObject",
            "datadog.MethodSample",
            "datadog.ObjectSample",
            "jdk.ActiveRecording",
            "jdk.ActiveSetting",
        ],
    );
    let folder = tempfile::tempdir().expect("a folder");
    for name in RECORDINGS {
        let Some(path) = recording(name, folder.path()) else {
            return;
        };
        let Some(theirs) = summary(&path) else {
            return;
        };
        let chunks = chunks(&std::fs::read(&path).expect("the recording"));
        let start = chunks.iter().map(|(start, _)| *start).min();
        let start = start.expect("a chunk");
        assert_eq!(start / 1_000_000_000, theirs.start.into(), "{name}");
        let length = chunks.iter().map(|(_, length)| *length).sum::<i128>();
        // It rounds.
        let seconds = (length + 500_000_000) / 1_000_000_000;
        assert_eq!(seconds, theirs.duration.into(), "{name}");
        let end = chunks.iter().map(|(start, length)| start + length).max();
        let end = end.expect("a chunk");
        let types = theirs.counts.keys().map(String::as_str);
        let types: Vec<&str> = types
            .filter(|of| *name != UNPRINTED.0 || !UNPRINTED.1.contains(of))
            .collect();
        let (first, last) = printed_times(&path, &types);
        let info = info(&path);
        let ours = |key: &str| i128::from(info["time"][key].as_i64().expect("a time"));
        // The tool takes ticks to nanoseconds through a double.
        let is_close = |ours: i128, theirs: i128| (ours - theirs).abs() <= 1_000;
        let (from, to) = (ours("start_ns"), ours("end_ns"));
        assert!(
            is_close(from, first.min(start)),
            "{name}: {from}, {first} or {start}"
        );
        assert!(is_close(to, last.max(end)), "{name}: {to}, {last} or {end}");
    }
}
