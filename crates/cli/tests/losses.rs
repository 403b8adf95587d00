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
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{args:?}: {said}"))
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

/// CDT has names of threads in rows of calls, and agents write no row for a call of 20 ms without anything inside it.
#[test]
fn names_of_threads_come_through_cdt_or_are_said_to_be_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("threads.json");
    let trace = r#"[
        {"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"all-short"}},
        {"ph":"M","pid":1,"tid":3,"name":"thread_name","args":{"name":"never-ends"}},
        {"ph":"M","pid":1,"tid":4,"name":"thread_name","args":{"name":"idle"}},
        {"ph":"i","pid":1,"tid":4,"name":"woken","ts":3000,"s":"t"},
        {"ph":"X","pid":1,"tid":2,"name":"a","ts":1000,"dur":2000},
        {"ph":"X","pid":1,"tid":2,"name":"a","ts":4000,"dur":2000},
        {"ph":"B","pid":1,"tid":3,"name":"b","ts":2000}]"#;
    std::fs::write(&path, trace).expect("a file");
    for to in ["cdt-streams", "cdt-dump", "cdt-streams:calls1"] {
        let out = folder.path().join(to.replace(':', "-"));
        let (path, out) = (text(&path), text(&out));
        let said = said(&["convert", path, "--to", to, "-o", out, "--losses"]);
        assert!(said.contains("lost tracks ×2"), "{to}: {said}");
        let top = run(&["calls", out, "--json", "--columns", "method,thread"]).stdout;
        let threads = String::from_utf8(top).expect("text");
        assert_eq!(threads.matches("all-short").count(), 2, "{to}: {threads}");
        assert!(!threads.contains("never-ends"), "{to}: {threads}");
    }
}

#[test]
fn chrome_to_chrome_keeps_what_it_says_of_processes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("processes.json");
    let trace = r#"[
        {"ph":"M","pid":7,"name":"process_name","args":{"name":"shop"}},
        {"ph":"M","pid":7,"name":"process_labels","args":{"labels":"eu, \"blue\""}},
        {"ph":"X","pid":7,"tid":2,"name":"a","ts":1000,"dur":2000},
        {"ph":"X","pid":"web","tid":2,"name":"a","ts":1000,"dur":2000}]"#;
    std::fs::write(&path, trace).expect("a file");
    let told = |path: &str| {
        let out = folder.path().join("tables");
        let args = ["convert", path, "--to", "csv", "-o", text(&out), "--force"];
        said(&args);
        let table = |name: &str| std::fs::read_to_string(out.join(name)).expect("a table");
        [table("resources.csv"), table("attributes.csv")]
    };
    let before = told(text(&path));
    assert!(
        before[0].contains("shop") && before[0].contains("web"),
        "{before:?}"
    );
    assert!(before[1].contains("blue"), "{before:?}");
    let (mut from, again) = (path, folder.path().join("again.json"));
    for to in ["chrome", "chrome:relative"] {
        let args = ["convert", text(&from), "--to", to, "-o", text(&again)];
        let said = said(&[&args[..], &["--deny-loss", "--force"]].concat());
        assert!(!said.contains("lost "), "{to}: {said}");
        assert_eq!(told(text(&again)), before, "{to}");
        from = again.clone();
    }
    let heph = sample(folder.path(), "heph", 4);
    let report = report(&["convert", text(&heph), "--to", "chrome", "-o", text(&again)]);
    assert_eq!(
        entry(&report, "lost", "resources", "service"),
        None,
        "{report}"
    );
}

/// What a format cannot hold although a recording of its own has it: target, kind of loss, and why.
const LOST: &[(&str, &str, &str)] = &[
    ("chrome", "links", "flows are read and not written"),
    ("chrome", "heap_objects", "objects are read and not written"),
    (
        "speedscope",
        "sample_times",
        "samples of one stack are added up",
    ),
    (
        "speedscope",
        "profile_headers",
        "the name of a sampled profile",
    ),
];

/// Returns the word of a variant, and a word of the input for one that stands for any.
fn word_of(variant: &str, input: &str) -> String {
    let value = || {
        let info = run(&["info", "--json", input]).stdout;
        let info: Value = serde_json::from_slice(&info).expect("JSON");
        let value = info["values"][0]["type"].as_str();
        value.expect("a value").to_owned()
    };
    match variant {
        "DIMENSION" => "method".to_owned(),
        "unit=WORD" => "unit=ms".to_owned(),
        "FACT=TEXT" => "service=shop".to_owned(),
        "value=NAME" => format!("value={}", value()),
        "VALUE" => value(),
        word => word.to_owned(),
    }
}

/// Every format that is read and written, as every variant of itself: nothing gets lost but what `LOST` lists, and what
/// the variant says that it lacks.
#[test]
fn the_same_format_again_passes_deny_loss() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut faults = Vec::new();
    let mut met = std::collections::BTreeSet::new();
    let formats = traceloom_formats::FORMATS.iter();
    for format in formats.filter(|format| format.raise.is_some() && format.lower.is_some()) {
        let name = format.name;
        let input = if traceloom_samples::by_name(name).is_some() {
            sample(folder.path(), name, 4)
        } else {
            // Folders: CDT's hold calls, the others samples.
            let path = folder.path().join(format!("made.{name}"));
            let pprof = sample(folder.path(), "pprof", 4);
            let source = match format.holds.holds(traceloom_model::Feature::Spans) {
                true => program::SHOP,
                false => text(&pprof),
            };
            said(&["convert", source, "--to", name, "-o", text(&path)]);
            path
        };
        let variants = format.holds.variants().iter();
        for variant in std::iter::once(None).chain(variants.map(Some)) {
            let word = variant.map(|variant| word_of(variant.name, text(&input)));
            let to = word.map_or_else(|| name.to_owned(), |word| format!("{name}:{word}"));
            let out = folder
                .path()
                .join(format!("again.{}", to.replace(':', "-")));
            let args = ["convert", text(&input), "-o", text(&out), "--to", &to];
            let denied = run(&[&args[..], &["--deny-loss"]].concat());
            let report = report(&args);
            let lost = report["lost"].as_array().expect("a list").iter();
            let mut lost: Vec<_> = lost
                .map(|entry| entry["kind"].as_str().expect("text"))
                .collect();
            assert_eq!(denied.status.success(), lost.is_empty(), "{to}: {report}");
            lost.retain(|kind| {
                let listed = LOST.iter().position(|row| (row.0, row.1) == (name, *kind));
                met.extend(listed);
                let lacks = variant.map_or(&[][..], |variant| variant.lacks);
                let lacks = lacks.iter().any(|feature| feature.name() == *kind);
                listed.is_none() && !lacks
            });
            if !lost.is_empty() {
                faults.push(format!("{to}: {lost:?}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let unmet: Vec<_> = (0..LOST.len()).filter(|row| !met.contains(row)).collect();
    assert!(unmet.is_empty(), "nothing needs {unmet:?} of the list");
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
