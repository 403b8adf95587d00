//! `diff` on real recordings: what it compares, draws and guards.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test that runs the program on files"
)]

mod program;

use std::path::Path;

use program::{run, text};
use serde_json::Value;

fn shop() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/shop");
    path.to_string_lossy().into_owned()
}

fn json(args: &[&str]) -> Value {
    let output = run(args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Converts the calls of the shop that pass `filter`, to a file of this name in `folder`.
fn part_of_shop(folder: &tempfile::TempDir, name: &str, filter: &str) -> String {
    let path = folder.path().join(name).to_string_lossy().into_owned();
    let args = [
        "convert",
        &shop(),
        &path,
        "--to",
        "zorka-c",
        "--filter",
        filter,
    ];
    let done = run(&args);
    assert!(done.status.success(), "{}", text(&done.stderr));
    path
}

#[test]
fn a_recording_is_equal_to_itself() {
    let diff = json(&["diff", "--json", &shop(), &shop()]);
    assert_eq!(diff["before"], diff["after"]);
    let functions = diff["functions"].as_array().expect("functions");
    assert!(functions.len() > 50);
    for function in functions {
        assert_eq!(function["self_change"], 0.0, "{function}");
        assert_eq!(function["before"], function["after"], "{function}");
    }
}

#[test]
fn two_stretches_of_a_recording_are_what_top_says_of_each() {
    let shop = shop();
    let stretches = ["--base-since=+0s", "--base-until=+10s", "--since=+10s"];
    let diff = json(&[&["diff", "--json", &shop][..], &stretches].concat());
    let before = json(&["top", "--json", &shop, "--until=+10s"]);
    let after = json(&["top", "--json", &shop, "--since=+10s"]);
    for (side, top) in [("before", &before), ("after", &after)] {
        assert_eq!(
            diff[side]["total"].as_f64(),
            top["total"].as_f64(),
            "{side}"
        );
        let own = |row: &Value| (row["function"].clone(), row["self"].as_f64());
        for row in top["functions"].as_array().expect("functions") {
            let (name, value) = own(row);
            let found = diff["functions"].as_array().expect("functions");
            let found = found.iter().find(|one| one["function"] == name);
            assert_eq!(
                found.and_then(|one| one[side]["self"].as_f64()),
                value,
                "{name} {side}"
            );
        }
    }
    // Borders of the second are none of the first.
    let same = json(&[
        "diff",
        "--json",
        &shop,
        &shop,
        "--since=+10s",
        "--base-until=+15s",
    ]);
    let top = json(&["top", "--json", &shop, "--until=+15s"]);
    assert_eq!(same["before"]["total"].as_f64(), top["total"].as_f64());
    let alone = run(&["diff", &shop, "--since=+10s"]);
    assert_eq!(alone.status.code(), Some(2), "{}", text(&alone.stderr));
}

#[test]
fn a_recording_is_equal_to_its_conversion() {
    let folder = tempfile::tempdir().expect("a folder");
    let other = part_of_shop(&folder, "shop.zorka", "");
    let diff = json(&["diff", "--json", &shop(), &other]);
    assert_eq!(diff["before"]["total"], diff["after"]["total"]);
    let changed = diff["functions"].as_array().expect("functions").iter();
    let changed = changed.filter(|function| function["self_change"] != 0.0);
    assert_eq!(changed.count(), 0);
}

#[test]
fn parts_of_a_recording_add_up_to_it() {
    let share = |filter: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let part = part_of_shop(&folder, "part.zorka", filter);
        json(&["diff", "--json", &shop(), &part])
    };
    let (some, rest) = (share("duration > 300ms"), share("not duration > 300ms"));
    for function in some["functions"].as_array().expect("functions") {
        let name = &function["function"];
        let mut others = rest["functions"].as_array().expect("functions").iter();
        let other = others
            .find(|other| other["function"] == *name)
            .expect("the function");
        let own = |of: &Value| of["after"]["self"].as_f64().expect("a value");
        assert_eq!(
            own(function) + own(other),
            function["before"]["self"].as_f64().unwrap(),
            "{name}"
        );
    }
}

#[test]
fn budgets_give_an_exit_code_and_a_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let part = part_of_shop(&folder, "fast.zorka", "duration < 300ms");
    let report = folder.path().join("budget.xml");
    let report = report.to_string_lossy();
    let guard = |before: &str, after: &str, condition: &str| {
        run(&[
            "diff",
            before,
            after,
            "--fail-if",
            condition,
            "--fail-if",
            "total > 10h",
            "--junit",
            &report,
            "--force",
        ])
    };
    let slower = guard(&part, &shop(), "total > +10%");
    assert_eq!(slower.status.code(), Some(1));
    assert!(
        text(&slower.stderr).contains("total > +10%: "),
        "{}",
        text(&slower.stderr)
    );
    let xml = std::fs::read_to_string(&*report).expect("a report");
    assert!(xml.contains("tests=\"2\" failures=\"1\""), "{xml}");
    assert!(
        xml.contains("<failure message=\"total &gt; +10%\">"),
        "{xml}"
    );
    let faster = guard(&shop(), &part, "total > +10%");
    assert_eq!(faster.status.code(), Some(0), "{}", text(&faster.stderr));
    let xml = std::fs::read_to_string(&*report).expect("a report");
    assert!(xml.contains("failures=\"0\""), "{xml}");
    let nothing = guard(&shop(), &part, "self(no.such.Function) > +1%");
    assert_eq!(nothing.status.code(), Some(2));
    let malformed = guard(&shop(), &part, "self > +1%");
    assert_eq!(malformed.status.code(), Some(2));
    assert_eq!(run(&["diff", &shop()]).status.code(), Some(2));
}

#[test]
fn the_picture_is_written_once() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["diff.svg", "diff.html"] {
        let path = folder.path().join(name);
        let path = path.to_string_lossy();
        for as_before in [&[][..], &["--as-before"]] {
            let mut args = vec!["diff", "-o", &path, "--force"];
            args.extend(as_before);
            let (one, other) = (shop(), shop());
            args.extend([one.as_str(), other.as_str()]);
            let done = run(&args);
            assert!(done.status.success(), "{}", text(&done.stderr));
        }
        let again = run(&["diff", "-o", &path, &shop(), &shop()]);
        assert_eq!(again.status.code(), Some(1), "an existing file is kept");
        let drawn = std::fs::read_to_string(&*path).expect("a picture");
        assert!(drawn.contains("; after ") || drawn.contains("\"word\":\"after\""));
    }
}

#[test]
fn values_in_common_are_needed() {
    let folder = tempfile::tempdir().expect("a folder");
    let stacks = folder.path().join("cpu.folded");
    std::fs::write(&stacks, "main;work 10\nmain;rest 5\n").expect("a file");
    let output = run(&["diff", &shop(), &stacks.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("no value in common"),
        "{}",
        text(&output.stderr)
    );
    let other = folder.path().join("now.folded");
    std::fs::write(&other, "main;work::<u8> 30\nmain;rest 5\n").expect("a file");
    let diff = json(&[
        "diff",
        "--json",
        "--per",
        "total",
        &stacks.to_string_lossy(),
        &other.to_string_lossy(),
    ]);
    let functions = diff["functions"].as_array().expect("functions");
    let work = functions
        .iter()
        .find(|row| row["function"] == "work::<u8>")
        .expect("work");
    let counts = (
        work["before"]["count"].as_u64(),
        work["after"]["count"].as_u64(),
    );
    assert_eq!(counts, (Some(10), Some(30)));
    // Two of three samples before, six of seven after.
    let chance = work["self_chance"].as_f64().expect("a chance");
    assert!((0.1..0.9).contains(&chance), "{chance}");
}

/// What is compared with a picture, from trees, is what is compared without one, from functions.
fn same_with_and_without_trees(before: &str, after: &str, folder: &tempfile::TempDir) -> usize {
    let picture = folder
        .path()
        .join("diff.svg")
        .to_string_lossy()
        .into_owned();
    let plain = json(&["diff", "--json", before, after]);
    let drawn = json(&["diff", "--json", "--force", "-o", &picture, before, after]);
    let functions = |of: &Value| of["functions"].as_array().expect("functions").clone();
    let (mut plain, mut drawn) = (plain, drawn);
    for (one, other) in functions(&plain).iter().zip(&functions(&drawn)) {
        assert!(one == other, "{before} {after}: {one} and {other}");
    }
    let count = functions(&plain).len();
    assert_eq!(count, functions(&drawn).len());
    plain["functions"].take();
    drawn["functions"].take();
    assert_eq!(plain, drawn, "{before} {after}");
    count
}

#[test]
fn functions_are_compared_as_their_trees_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = |name: &str, filter: &str| {
        let path = folder.path().join(name).to_string_lossy().into_owned();
        let args = [
            "convert",
            &shop(),
            &path,
            "--as-samples",
            "--filter",
            filter,
        ];
        let done = run(&args);
        assert!(done.status.success(), "{}", text(&done.stderr));
        path
    };
    let (before, after) = (made("a.pb.gz", ""), made("b.pb.gz", "duration > 300ms"));
    assert!(same_with_and_without_trees(&before, &after, &folder) > 50);
    let Ok(corpus) = std::env::var("TRACELOOM_CORPUS") else {
        return;
    };
    for (before, after) in [
        ("dk_go_cpu.pprof", "gpprof_large.cpu"),
        ("dk_ddtrace_python.pprof", "parca_labels.pb.gz"),
        ("dk_go_delta-heap.pprof", "gpprof_cppbench.heap"),
        ("rs_pprof-rs_profile.pb", "dk_go_cpu.pprof"),
    ] {
        let path = |name: &str| format!("{corpus}/datakit/{name}");
        let (before, after) = (path(before), path(after));
        for [one, other] in [[&before, &before], [&after, &after]] {
            assert!(same_with_and_without_trees(one, other, &folder) > 0);
        }
        if run(&["diff", &before, &after]).status.success() {
            same_with_and_without_trees(&before, &after, &folder);
        }
    }
}
