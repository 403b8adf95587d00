//! What a conversion loses: one line that sums it up, the whole list with `--losses`, and exact.
#![allow(missing_docs, reason = "a test")]

mod program;

use std::path::{Path, PathBuf};

use program::run;
use serde_json::Value;

fn said(args: &[&str]) -> String {
    let output = run(args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {said}");
    said
}

/// The loss report of a conversion.
fn report(args: &[&str]) -> Value {
    let output = run(&[args, &["--json", "--force"]].concat());
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn entry(report: &Value, list: &str, kind: &str, field: &str) -> Option<u64> {
    let mut entries = report[list].as_array().expect("a list").iter();
    let found = entries.find(|entry| entry["kind"] == kind && entry["field"] == field)?;
    found["count"].as_u64()
}

fn sample(folder: &Path, format: &str, seed: u64) -> PathBuf {
    let path = folder.join(format!("{seed}.{format}"));
    std::fs::write(&path, program::sample(format, seed, 30_000)).expect("a file");
    path
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path")
}

#[test]
fn a_line_sums_up_what_is_lost_and_losses_lists_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (first, second) = (
        sample(folder.path(), "zorka-c", 1),
        sample(folder.path(), "zorka-c", 2),
    );
    let (a, b) = (text(&first), text(&second));
    let out = folder.path().join("out.json");
    let out = text(&out);
    let to = ["-o", out, "--to", "chrome", "--force"];
    for inputs in [
        &["convert", a][..],
        &["merge", a, b],
        &["slice", a, "--min-duration", "1ns"],
    ] {
        let of_losses = |said: &str| -> Vec<String> {
            let lines = said.lines().filter(|line| line.contains('×'));
            lines.map(str::to_owned).collect()
        };
        let line = of_losses(&said(&[inputs, &to].concat()));
        assert_eq!(line.len(), 1, "{inputs:?}: {line:?}");
        assert!(line[0].starts_with("lost upward_attributes ×"), "{line:?}");
        assert!(line[0].ends_with("; --losses lists them"), "{line:?}");
        let list = of_losses(&said(&[inputs, &to, &["--losses"]].concat()));
        assert!(list.len() > 1, "{inputs:?}: {list:?}");
        assert!(
            list.iter().all(|line| !line.contains("--losses")),
            "{list:?}"
        );
        // The list and the report are the same.
        let report = report(&[inputs, &to[..4]].concat());
        let entries = report["lost"].as_array().expect("a list").len();
        let entries = entries + report["changed"].as_array().expect("a list").len();
        assert_eq!(list.len(), entries, "{inputs:?}");
    }
}

#[test]
fn numbers_and_counters_that_change_are_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("wide.json");
    let events = r#"[{"ph":"X","pid":1,"tid":2,"ts":1,"dur":2,"name":"a",
        "args":{"small":7,"wide":9007199254740993,"unsigned":18446744073709551615}}]"#;
    std::fs::write(&trace, events).expect("a file");
    let out = folder.path().join("out");
    let (trace, out) = (text(&trace), text(&out));
    let to = |target: &str| report(&["convert", trace, "-o", out, "--to", target]);
    let chrome = to("chrome");
    assert_eq!(entry(&chrome, "changed", "wide_integers", "wide"), Some(1));
    assert_eq!(
        entry(&chrome, "changed", "wide_integers", "unsigned"),
        Some(1)
    );
    assert_eq!(
        entry(&chrome, "changed", "unsigned_integers", "unsigned"),
        Some(1)
    );
    assert_eq!(entry(&chrome, "changed", "wide_integers", "small"), None);
    let perfetto = to("perfetto");
    assert_eq!(entry(&perfetto, "changed", "wide_integers", "wide"), None);
    assert_eq!(
        entry(&perfetto, "changed", "unsigned_integers", "unsigned"),
        None
    );

    let zorka = sample(folder.path(), "zorka-c", 3);
    let dump = folder.path().join("dump");
    let lost = report(&[
        "convert",
        text(&zorka),
        "-o",
        text(&dump),
        "--to",
        "cdt-streams",
    ]);
    assert!(entry(&lost, "lost", "inner_counters", "calls").is_some_and(|count| count > 0));
}

#[test]
fn times_without_a_date_are_said_to_become_dates() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("undated.json");
    let trace = r#"{"traceEvents":[{"name":"a","ph":"X","ts":1000,"dur":50000,"pid":1,"tid":1}]}"#;
    std::fs::write(&path, trace).expect("a file");
    let changed = |to: &str| {
        let out = folder.path().join(to);
        let report = report(&["convert", text(&path), "--to", to, "-o", text(&out)]);
        entry(&report, "changed", "unknown_origin", "")
    };
    // These count from 1970 alone, so that readers show a date that nobody recorded.
    for to in ["cdt-dump", "zorka-s0", "zorka-c", "zorka-requests"] {
        assert_eq!(changed(to), Some(1), "{to}");
    }
    for to in [
        "chrome",
        "perfetto",
        "heph",
        "tptp-binary",
        "firefox",
        "csv",
    ] {
        assert_eq!(changed(to), None, "{to}");
    }
}

#[test]
fn threads_with_other_numbers_are_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("threads.json");
    let call = |pid: u32, tid: u32| {
        format!(r#"{{"name":"a","ph":"X","ts":1000,"dur":50000,"pid":{pid},"tid":{tid}}}"#)
    };
    // CDT and TPTP have no thread 0, and in TPTP a number is that of one thread.
    let calls = [call(1, 0), call(1, 70), call(2, 70)].join(",");
    std::fs::write(&path, format!("[{calls}]")).expect("a file");
    let lost = |to: &str| {
        let out = folder.path().join(to);
        let report = report(&["convert", text(&path), "--to", to, "-o", text(&out)]);
        entry(&report, "lost", "track_ids", "")
    };
    assert_eq!(lost("cdt-dump"), Some(1));
    assert_eq!(lost("tptp-binary"), Some(2));
    assert_eq!(lost("tptp-xml"), Some(2));
    assert_eq!(lost("chrome"), None);
}

#[test]
fn the_same_format_again_passes_deny_loss() {
    let folder = tempfile::tempdir().expect("a folder");
    let formats = traceloom_formats::FORMATS.iter().filter(|format| {
        let is_made = traceloom_samples::by_name(format.name).is_some();
        format.raise.is_some() && format.lower.is_some() && is_made
    });
    for format in formats.map(|format| format.name) {
        // What is read of flows and objects of Chrome is not written; speedscope adds up samples of one stack.
        if ["chrome", "speedscope"].contains(&format) {
            continue;
        }
        let input = sample(folder.path(), format, 4);
        let out = folder.path().join(format!("again.{format}"));
        let args = [
            "convert",
            text(&input),
            "-o",
            text(&out),
            "--to",
            format,
            "--deny-loss",
        ];
        let said = said(&args);
        assert!(!said.contains("lost "), "{format}: {said}");
    }
}

/// The calls of a file with the ids of their traces.
fn traces(path: &str) -> Vec<(Value, Value, Value)> {
    let said = run(&["calls", path, "--json"]).stdout;
    let said = String::from_utf8(said).expect("text");
    let rows = said
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let rows = rows.map(|row| {
        (
            row["start"].clone(),
            row["trace"].clone(),
            row["method"].clone(),
        )
    });
    rows.collect()
}

/// Headers of posts say trace ids, and streams have no headers.
#[test]
fn zorka_to_zorka_keeps_trace_ids() {
    let folder = tempfile::tempdir().expect("a folder");
    let posts = sample(folder.path(), "zorka-requests", 4);
    let expected = traces(text(&posts));
    assert!(!expected.is_empty());
    assert!(
        expected
            .iter()
            .all(|(_, trace, _)| trace.as_str().is_some_and(|id| id.len() == 32))
    );
    for target in ["zorka-requests", "zorka-c", "zorka-b2", "zorka-s0"] {
        let out = folder.path().join(format!("out.{target}"));
        said(&["convert", text(&posts), "-o", text(&out), "--to", target]);
        let back = traces(text(&out));
        let ids = |rows: &[(Value, Value, Value)]| {
            let ids = rows
                .iter()
                .map(|(_, trace, method)| (trace.to_string(), method.to_string()));
            let mut ids: Vec<_> = ids.collect();
            ids.sort_unstable();
            ids
        };
        assert_eq!(ids(&back), ids(&expected), "{target}");
        let checked = run(&["check", text(&out)]);
        assert!(checked.status.success(), "{target}");
    }
}

#[test]
fn numbers_inside_lists_and_series_by_name_are_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("lists.json");
    let events = r#"[{"ph":"X","pid":1,"tid":2,"ts":1,"dur":2,"name":"a",
        "args":{"wide":[7,9007199254740993,18446744073709551615]}},
        {"ph":"C","pid":1,"tid":2,"ts":1,"name":"heap.used","args":{"heap.used":1}},
        {"ph":"C","pid":1,"tid":2,"ts":1,"name":"requests","args":{"requests":1}}]"#;
    std::fs::write(&trace, events).expect("a file");
    let out = folder.path().join("out");
    let to = |target: &str| report(&["convert", text(&trace), "-o", text(&out), "--to", target]);
    let chrome = to("chrome");
    assert_eq!(entry(&chrome, "changed", "wide_integers", "wide"), Some(2));
    assert_eq!(
        entry(&to("heph"), "lost", "counters", "requests.requests"),
        Some(1)
    );
}

/// What is written of nothing is recognised and sound.
#[test]
fn an_empty_zorka_file_passes_check() {
    let folder = tempfile::tempdir().expect("a folder");
    let empty = folder.path().join("empty.json");
    std::fs::write(&empty, r#"{"traceEvents":[]}"#).expect("a file");
    for target in [
        "zorka-c",
        "zorka-b2",
        "zorka-s0",
        "zorka-requests",
        "flamegraph-json",
    ] {
        let out = folder.path().join(format!("out.{target}"));
        said(&["convert", text(&empty), "-o", text(&out), "--to", target]);
        let checked = run(&["check", text(&out)]);
        let told = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert!(checked.status.success(), "{target}: {told}");
    }
}

/// A name may be longer than the head that formats are recognised by.
#[test]
fn a_long_first_name_is_recognised() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("long.json");
    let name = "n".repeat(200_000);
    let events = format!(
        r#"[{{"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{{"name":"main"}}}},
        {{"ph":"X","pid":1,"tid":2,"ts":1,"dur":2,"name":"{name}"}}]"#
    );
    std::fs::write(&trace, events).expect("a file");
    for target in ["zorka-c", "zorka-b2", "zorka-s0"] {
        let out = folder.path().join(format!("{target}.bin"));
        said(&["convert", text(&trace), "-o", text(&out), "--to", target]);
        let info = run(&["info", text(&out)]).stdout;
        let info = String::from_utf8_lossy(&info).into_owned();
        // Nothing in a short stream tells B2 from the generation before it.
        let known = [target, "zorka-b1"];
        assert!(
            known
                .iter()
                .any(|name| info.contains(&format!("format   {name} "))),
            "{target}: {}",
            &info[..300]
        );
    }
}

/// The first event of a trace, or what stands before its events, may be longer than that head too; JSON of something
/// else is no trace for it.
#[test]
fn a_long_first_event_is_recognised() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("long.json");
    let info = |content: &str| {
        std::fs::write(&path, content).expect("a file");
        let info = run(&["info", "--json", text(&path)]).stdout;
        serde_json::from_slice::<Value>(&info).expect("JSON")
    };
    for length in [100_000, 3_000_000] {
        let long = "x".repeat(length);
        let event = format!(
            r#"{{"args":{{"t":"{long}"}},"ph":"X","pid":1,"tid":2,"ts":1,"dur":2,"name":"a"}}"#
        );
        for trace in [
            format!("[{event},\n{event}]"),
            format!("\n [\n{event}"),
            format!(r#"{{"traceEvents":[{event}]}}"#),
            format!(r#"{{"about":{{"text":"{long}"}},"traceEvents":[{event}]}}"#),
        ] {
            let info = info(&trace);
            assert_eq!(info["format"], "chrome", "{length}: {}", &trace[..40]);
            let notes = info["notes"].as_array().expect("notes");
            assert!(
                notes.iter().all(|note| note["kind"] != "guessed_format"),
                "{notes:?}"
            );
        }
    }
    for length in [100_000, 3_000_000, 17 << 20] {
        let other = format!(r#"[{{"text":"{}"}}]"#, "x".repeat(length));
        assert_eq!(info(&other)["format"], Value::Null, "{length}");
    }
}
