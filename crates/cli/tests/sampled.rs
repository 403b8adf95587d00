//! Heph, pprof and folded: every command on files, folders and standard input.

mod program;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use program::sample;
use serde_json::Value;

const FORMATS: [(&str, &str); 3] = [
    ("heph", "trace.heph"),
    ("pprof", "cpu.pprof"),
    ("folded", "cpu.folded"),
];

fn run(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_traceloom"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    // A program that does not read it closes it.
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("the writer ends");
    output
}

fn shown(args: &[&str], input: &[u8]) -> String {
    let output = run(args, input);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What is printed about an input, without what its name is.
fn nameless(text: &str) -> Vec<Value> {
    let strip = |line: &str| {
        let mut value: Value = serde_json::from_str(line).expect("JSON");
        if let Some(inputs) = value.get_mut("inputs").and_then(Value::as_array_mut) {
            value = inputs.pop().expect("an input");
        }
        for key in ["path", "part", "bytes", "wrappers"] {
            value.as_object_mut().map(|object| object.remove(key));
        }
        value
    };
    text.lines().map(strip).collect()
}

#[test]
fn every_command_takes_files_folders_and_standard_input() {
    for (format, name) in FORMATS {
        let bytes = sample(format, 5, 40_000);
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(name);
        std::fs::write(&file, &bytes).expect("a file");
        let (file, folder) = (file.to_string_lossy(), folder.path().to_string_lossy());
        for command in ["info", "dump", "top", "tree"] {
            let of_file = nameless(&shown(&[command, "--json", &file], b""));
            assert!(!of_file.is_empty(), "{command} {format}");
            let of_folder = nameless(&shown(&[command, "--json", &folder], b""));
            let piped = nameless(&shown(&[command, "--json", "-"], &bytes));
            assert_eq!(of_file, of_folder, "{command} {format}");
            assert_eq!(of_file, piped, "{command} {format}");
        }
        for command in [
            &["flame", "--title", "x", "-o", "-"][..],
            &["convert", "--to", "pprof", "-o", "-"],
            &["convert", "--to", "folded", "-o", "-"],
        ] {
            let spans = format == "heph" && command[0] == "convert";
            let asked: &[&str] = if spans { &["--as-samples"] } else { &[] };
            let of = |path: &str| shown(&[command, asked, &[path]].concat(), &bytes);
            let of_file = of(&file);
            assert!(of_file.len() > 50, "{command:?} {format}");
            assert_eq!(of_file, of(&folder), "{command:?} {format}");
            assert_eq!(of_file, of("-"), "{command:?} {format}");
        }
        for path in [&file, &folder, &"-".into()] {
            let check = run(&["check", path], &bytes);
            assert_eq!(check.status.code(), Some(0), "check {format} {path}");
            let calls = run(&["calls", "--json", path], &bytes);
            let said = String::from_utf8_lossy(&calls.stderr).into_owned();
            assert_eq!(calls.status.code(), Some(0), "calls {format} {path}");
            assert_eq!(calls.stdout.is_empty(), format != "heph", "{format} {path}");
            assert_eq!(said.contains("traceloom top"), format != "heph", "{said}");
        }
    }
}

#[test]
fn a_call_of_heph_is_found_by_its_id() {
    let bytes = sample("heph", 1, 40_000);
    let calls = shown(&["calls", "--json", "-n", "1", "-"], &bytes);
    let call: Value = serde_json::from_str(calls.trim()).expect("one call");
    let id = call["id"].as_str().expect("an id");
    let one: Value =
        serde_json::from_str(shown(&["call", "--json", "-", id], &bytes).trim()).expect("JSON");
    assert_eq!(one["duration_ns"], call["duration"]);
}

fn wall(args: &[&str], input: &[u8]) -> i64 {
    let top: Value = serde_json::from_str(shown(args, input).trim()).expect("one table");
    top["total"].as_i64().expect("a total")
}

#[test]
fn traces_one_behind_the_other_are_runs_of_their_own() {
    let (first, second) = (sample("heph", 1, 40_000), sample("heph", 2, 40_000));
    let both = [first.clone(), second.clone(), first.clone()].concat();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("all.heph");
    std::fs::write(&file, &both).expect("a file");
    let file = file.to_string_lossy();
    let total = |bytes: &[u8]| wall(&["top", "--json", "-"], bytes);
    let sum = total(&first) * 2 + total(&second);
    assert_eq!(wall(&["top", "--json", &file], b""), sum);
    assert_eq!(total(&both), sum);
    let checked = run(&["check", "-"], &both);
    assert_eq!(checked.status.code(), Some(0));
    let notes = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert_eq!(notes.matches("new_run").count(), 2, "{notes}");
}

#[test]
fn what_is_inferred_can_be_left_out() {
    let bytes = sample("heph", 1, 40_000);
    let notes = |more: &[&str]| shown(&[&["check", "-"], more].concat(), &bytes);
    assert!(notes(&[]).contains("actors_recovered"));
    assert!(!notes(&["--as-recorded"]).contains("actors_recovered"));
    // Events of actors lie on substreams that only `--async` counts, or on the stream they came from.
    let total = |more: &[&str]| wall(&[&["top", "--json", "-"], more].concat(), &bytes);
    assert!(total(&["--async"]) > total(&[]));
    assert_eq!(
        total(&["--as-recorded"]),
        total(&["--as-recorded", "--async"])
    );
}

#[test]
fn heph_written_again_keeps_its_times_from_an_epoch_near_them() {
    let bytes = sample("heph", 1, 40_000);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("again.heph");
    let path = file.to_string_lossy();
    shown(&["convert", "-o", &path, "-"], &bytes);
    let epoch = |input: &[u8]| -> i128 {
        let records = shown(&["dump", "--json", "--limit-records", "1", "-"], input);
        let record: Value = serde_json::from_str(records.trim()).expect("a record");
        i128::from(record["value"].as_u64().expect("an epoch"))
    };
    let again = std::fs::read(Path::new(&*path)).expect("what was written");
    let distance = epoch(&bytes) - epoch(&again);
    assert!(
        (0..=2 * 86_400_000_000_000).contains(&distance),
        "{distance}"
    );
    assert_eq!(epoch(&again) % 86_400_000_000_000, 0);
    let times = |input: &[u8]| {
        let calls = shown(
            &[
                "calls",
                "--csv",
                "--sort",
                "start",
                "--columns",
                "start,duration,method",
                "-n",
                "0",
                "-",
            ],
            input,
        );
        calls
            .lines()
            .map(|line| line.split_once(',').expect("columns").1.to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(times(&bytes), times(&again));
}

#[test]
fn rows_with_equal_values_are_chosen_by_their_names() {
    let folded = b"e 1\nd 1\na;x 1\nc 1\nb 1\nz 5\n";
    let top = |args: &[&str]| {
        let args = [&["top", "-", "--wide"], args].concat();
        let text = shown(&args, folded);
        let rows = text.lines().skip(2).filter(|line| !line.contains("more"));
        let names = rows.filter_map(|line| line.split_whitespace().last());
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(top(&["-n", "3"]), ["z", "b", "c"]);
    assert_eq!(top(&["-n", "3", "--sort", "total"]), ["z", "b", "c"]);
    assert_eq!(top(&["-n", "1"]), ["z"]);
    assert_eq!(top(&["-n", "7"]), top(&["-n", "0"]));
    assert_eq!(top(&["-n", "0"]), ["z", "b", "c", "d", "e", "x", "a"]);
}
