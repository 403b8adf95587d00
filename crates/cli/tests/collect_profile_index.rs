//! Views of profiles from the indexes of captures are those of the captures, and need none of their bytes.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;

use std::fs;
use std::path::{Path, PathBuf};

use collected::http::captures;
use collected::indexes::damage;
use collected::{Collector, eventually, push, run, text};
use serde_json::Value;

/// A collector with captures of formats that have samples, of some that have calls, and of one that nobody knows.
fn collected_profiles(scratch: &Path) -> (Collector, PathBuf, usize) {
    let data = scratch.join("data");
    let collector = Collector::start(&data, &[]);
    let formats = [
        "jfr",
        "pprof",
        "folded",
        "gperf-heap",
        "otlp-profiles",
        "speedscope",
        "cpuprofile",
        "chrome",
        "heph",
    ];
    for (seed, format) in (1..).zip(formats) {
        for again in 0..2 {
            let bytes = traceloom_samples::bytes(format, seed + again * 20, 60_000);
            push(
                &collector,
                scratch,
                &format!("sample-{again}-{format}"),
                &format!("service-{again}"),
                &bytes,
            );
        }
    }
    let mut cut = traceloom_samples::bytes("jfr", 77, 60_000);
    cut.truncate(cut.len() * 2 / 3);
    push(&collector, scratch, "cut", "cut", &cut);
    push(
        &collector,
        scratch,
        "unknown",
        "unknown",
        b"nothing of any format\n\0\x01",
    );
    let n = 2 * formats.len() + 2;
    eventually(|| {
        let rows = captures(&data);
        let is_decoded = |row: &Value| row["facts"].is_object();
        (rows.len() == n && rows.iter().all(is_decoded)).then_some(())
    });
    (collector, data, n)
}

fn indexes(data: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(data.join("profiles")).expect("indexes");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths
}

/// What a command printed and said.
fn answer(args: &[&str]) -> (Option<i32>, String, String) {
    let done = run(args);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (done.status.code(), text(&done.stdout), text(&done.stderr))
}

/// Paths of the data folder, of the captures of each service, and of each capture alone.
fn paths(data: &Path) -> Vec<String> {
    let rows = captures(data);
    let id = |row: &Value| row["id"].as_str().expect("an id").to_owned();
    let mut paths = vec![text(data).to_owned()];
    let first = rows.iter().filter(|row| row["service"] == "service-0");
    let first: Vec<String> = first.map(id).collect();
    paths.push(format!("{}#{}", text(data), first.join(",")));
    paths.extend(rows.iter().map(|row| format!("{}#{}", text(data), id(row))));
    paths
}

/// Questions that indexes answer; more of what is in no index would make a view read the captures.
fn questions(data: &Path) -> Vec<Vec<String>> {
    let times: Vec<i64> = captures(data)
        .iter()
        .flat_map(|row| {
            let facts = &row["facts"];
            [facts["first_ns"].as_i64(), facts["last_ns"].as_i64()]
        })
        .flatten()
        .collect();
    let (first, last) = (times.iter().min(), times.iter().max());
    let (first, last) = (*first.expect("times"), *last.expect("times"));
    let at = |share: i64| (first + (last - first) / 10 * share).to_string();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    vec![
        words(&["top", "--json"]),
        words(&["tree", "--json"]),
        words(&["flame", "--html", "-o", "-"]),
        words(&["top", "--json", "--value", "cpu"]),
        words(&["flame", "--html", "-o", "-", "--value", "alloc"]),
        words(&["top", "--json", "--dimension", "line"]),
        words(&["top", "--json", "--since", &at(2), "--until", &at(9)]),
        words(&["top", "--json", "--until", &at(-1)]),
        words(&["flame", "--html", "-o", "-", "--since", &at(5)]),
        words(&["top", "--json", "--filter", "thread ~ 1"]),
        words(&["top", "--json", "--by", "thread"]),
        words(&["top", "--json", "--focus", "a"]),
        // It shows more than samples.
        words(&["timeline", "--json"]),
        words(&["diff", "--json"]),
        words(&["diff", "--html", "-o", "-"]),
    ]
}

#[test]
fn views_of_indexes_are_those_of_the_captures() {
    let scratch = tempfile::tempdir().expect("a folder");
    let (_collector, data, n) = collected_profiles(scratch.path());
    let made = indexes(&data).len();
    assert!(made >= 14 && made < n, "{made} of {n}");
    let mut asked = Vec::new();
    let questions = questions(&data);
    for (at, path) in paths(&data).into_iter().enumerate() {
        // Every question to all captures together, a few to each alone.
        for question in questions.iter().take(if at < 2 { 20 } else { 1 }) {
            let is_diff = question[0] == "diff";
            let again = is_diff.then(|| path.clone());
            let all = question.iter().chain([&path]).chain(&again);
            asked.push(all.cloned().collect::<Vec<String>>());
        }
    }
    let answers = || -> Vec<_> {
        let all = asked.iter();
        all.map(|args| answer(&args.iter().map(String::as_str).collect::<Vec<_>>()))
            .collect()
    };
    let indexed = answers();
    fs::rename(data.join("profiles"), data.join("profiles.away")).expect("indexes");
    for ((args, indexed), read) in asked.iter().zip(indexed).zip(answers()) {
        assert_eq!(indexed.0, read.0, "{args:?}: {}", read.2);
        assert!(indexed.1 == read.1, "{args:?}");
        assert_eq!(indexed.2, read.2, "{args:?}");
    }
}

#[test]
fn a_page_needs_the_indexes_alone() {
    let scratch = tempfile::tempdir().expect("a folder");
    let scratch = scratch.path();
    let data = scratch.join("data");
    let collector = Collector::start(&data, &[]);
    for seed in 0..3 {
        let bytes = traceloom_samples::bytes("jfr", seed, 600_000);
        push(&collector, scratch, &format!("{seed}.jfr"), "shop", &bytes);
    }
    // What is compressed, once and twice, is known by what is inside.
    let pprof = traceloom_samples::bytes("pprof", 4, 60_000);
    let folded = gzip(&gzip(&traceloom_samples::bytes("folded", 5, 60_000)));
    for (name, bytes) in [("cpu.pb.gz", gzip(&pprof)), ("stacks.gz", folded)] {
        push(&collector, scratch, name, "shop", &bytes);
    }
    eventually(|| {
        let rows = captures(&data);
        (rows.len() == 5 && rows.iter().all(|row| row["facts"].is_object())).then_some(())
    });
    let args = ["flame", "--html", "-o", "-", text(&data)];
    let page = answer(&args);
    assert_eq!(page.0, Some(0), "{}", page.2);
    for chunk in fs::read_dir(data.join("chunks")).expect("chunks") {
        fs::write(chunk.expect("a chunk").path(), b"gone").expect("a chunk");
    }
    assert_eq!(answer(&args), page);
    fs::remove_dir_all(data.join("profiles")).expect("indexes");
    assert_ne!(answer(&args), page);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("bytes in memory");
    encoder.finish().expect("bytes in memory")
}

#[test]
fn what_is_damaged_or_of_another_manifest_is_read_from_the_capture() {
    let scratch = tempfile::tempdir().expect("a folder");
    let (collector, data, n) = collected_profiles(scratch.path());
    let ask = || {
        [
            answer(&["top", "--json", text(&data)]),
            answer(&["flame", "--html", "-o", "-", text(&data)]),
        ]
    };
    let expected = ask();
    let paths = indexes(&data);
    damage(&paths);
    assert_eq!(ask(), expected);
    // What nobody needs any more goes with the next start, or with its capture.
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
    let left = data.join("profiles/1-999.new");
    fs::write(&left, b"half").expect("a file");
    let collector = Collector::start(&data, &[]);
    eventually(|| (!left.exists()).then_some(()));
    let first = paths[0].file_name().and_then(|name| name.to_str());
    let first = first.expect("an id").to_owned();
    stdout_of(&["captures", "delete", &first, "--data", text(&data)]);
    eventually(|| (captures(&data).len() == n - 1).then_some(()));
    eventually(|| (!data.join("profiles").join(&first).exists()).then_some(()));
    drop(collector);
}

fn stdout_of(args: &[&str]) {
    let (code, _, said) = answer(args);
    assert_eq!(code, Some(0), "{said}");
}
