//! Records and calls are printed while bytes arrive: by standard input, and by a file that grows, is cut or replaced.
#![cfg(unix)]
#![allow(missing_docs, reason = "a test")]

mod program;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::time::Duration;

use program::running::Running;
use program::{command, path_text, stdout};
use serde_json::Value;

/// Formats that are streams, with a name for their files.
const STREAMS: [&str; 8] = [
    "heph",
    "tptp-binary",
    "tptp-xml",
    "zorka-s0",
    "zorka-b2",
    "cdt-tcp",
    "folded",
    "line-protocol",
];

/// A trace that the reader of its format reads without a doubt.
fn sample(format: &str) -> Vec<u8> {
    traceloom_samples::bytes(format, 7, 60_000)
}

#[test]
fn records_of_standard_input_come_before_its_end_and_are_those_of_the_file() {
    let scratch = tempfile::tempdir().expect("a folder");
    for format in STREAMS {
        let bytes = sample(format);
        let file = scratch.path().join("sample");
        fs::write(&file, &bytes).expect("a file");
        let expected: Vec<String> = stdout(&["dump", "--json", path_text(&file)])
            .lines()
            .map(str::to_owned)
            .collect();
        let mut dump = Running::start(&["dump", "--json", "-"]);
        let (first, rest) = bytes.split_at(bytes.len() * 2 / 3);
        dump.write(first);
        let mut lines: Vec<String> = (0..5).map(|_| dump.next()).collect();
        for piece in rest.chunks(1000) {
            dump.write(piece);
        }
        let (more, code, said) = dump.end();
        lines.extend(more);
        // Parts inside a part have its name before theirs.
        let lines = lines
            .iter()
            .map(|line| line.replace("\"part\":\"-", "\"part\":\"sample"));
        let lines: Vec<String> = lines.collect();
        assert_eq!(code, Some(0), "{format}: {said}");
        assert!(expected.len() > 20, "{format}: {}", expected.len());
        assert!(
            lines == expected,
            "{format}: {} of {}",
            lines.len(),
            expected.len()
        );
    }
}

/// Ids and durations of calls.
fn calls(lines: &[String]) -> BTreeSet<(String, Option<i64>)> {
    let calls = lines.iter().map(|line| {
        let call: Value = serde_json::from_str(line).expect("JSON");
        let id = call["id"].as_str().expect("an id").to_owned();
        (id, call["duration"].as_i64())
    });
    calls.collect()
}

#[test]
fn calls_of_standard_input_come_before_its_end_and_are_those_of_the_file() {
    let scratch = tempfile::tempdir().expect("a folder");
    for format in [
        "heph",
        "tptp-binary",
        "tptp-xml",
        "zorka-s0",
        "zorka-b2",
        "cdt-tcp",
    ] {
        let bytes = sample(format);
        let file = scratch.path().join("sample");
        fs::write(&file, &bytes).expect("a file");
        let expected: Vec<String> = stdout(&["calls", "--json", path_text(&file)])
            .lines()
            .map(str::to_owned)
            .collect();
        let mut listed = Running::start(&["calls", "--json", "-"]);
        let (first, rest) = bytes.split_at(bytes.len() * 9 / 10);
        listed.write(first);
        let mut lines = vec![listed.next()];
        listed.write(rest);
        let (more, code, said) = listed.end();
        lines.extend(more);
        assert_eq!(code, Some(0), "{format}: {said}");
        assert!(!expected.is_empty());
        assert_eq!(lines.len(), expected.len(), "{format}: each once");
        assert!(calls(&lines) == calls(&expected), "{format}");
    }
}

#[test]
fn a_file_that_grows_is_followed_past_cuts_and_replacements_until_ctrl_c() {
    let scratch = tempfile::tempdir().expect("a folder");
    let path = scratch.path().join("app.heph");
    let bytes = sample("heph");
    let half = bytes.len() / 2;
    let append = |bytes: &[u8]| {
        let file = File::options().append(true).create(true).open(&path);
        file.expect("a file").write_all(bytes).expect("room");
    };
    for name in ["dump", "calls"] {
        File::create(&path).expect("a file");
        append(&bytes[..half]);
        let followed = Running::start(&[name, "--json", "--follow", path_text(&path)]);
        let first = followed.next();
        append(&bytes[half..]);
        // Cut: it begins again.
        let all = command(&[name, "--json", path_text(&path)]).output();
        let n_all = String::from_utf8_lossy(&all.expect("it runs").stdout)
            .lines()
            .count();
        for _ in 1..n_all.saturating_sub(10) {
            followed.next();
        }
        std::thread::sleep(Duration::from_millis(1500));
        while followed.lines.try_recv().is_ok() {}
        File::create(&path).expect("a file");
        append(&bytes[..half]);
        assert_eq!(followed.next(), first, "{name} after a cut");
        std::thread::sleep(Duration::from_millis(1500));
        while followed.lines.try_recv().is_ok() {}
        fs::rename(&path, scratch.path().join("old")).expect("a rotation");
        append(&bytes[..half]);
        let again = std::iter::from_fn(|| Some(followed.next()));
        let found = again.take(n_all).any(|line| line == first);
        assert!(found, "{name} after a replacement");
        let (_, code, said) = followed.interrupt();
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("it was truncated"), "{said}");
        assert!(said.contains("it was replaced"), "{said}");
    }
}

#[test]
fn a_list_for_people_has_a_heading_and_ends_by_ctrl_c() {
    let mut listed = Running::start(&["calls", "-"]);
    listed.write(&sample("zorka-s0"));
    let heading = listed.next();
    assert!(
        heading.starts_with("id ") && heading.contains("duration"),
        "{heading}"
    );
    assert!(listed.next().starts_with("0."));
    let (_, code, said) = listed.interrupt();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn what_needs_its_end_is_said() {
    let mut dump = Running::start(&["dump", "-"]);
    dump.write(&sample("pprof"));
    std::thread::sleep(Duration::from_millis(3500));
    let (lines, code, said) = dump.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(lines.len() > 5 && said.contains("before its end"), "{said}");
    let scratch = tempfile::tempdir().expect("a folder");
    let file = scratch.path().join("cpu.pprof");
    fs::write(&file, sample("pprof")).expect("a file");
    for (args, why) in [
        (["dump", "--follow", path_text(&file)], "leave out --follow"),
        (
            ["calls", "--follow", path_text(&file)],
            "leave out --follow",
        ),
        (
            ["dump", "--follow", path_text(scratch.path())],
            "no file that can grow",
        ),
    ] {
        let output = command(&args).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(why), "{said}");
    }
}
