//! JSON and CSV: names of a capture never hide ours, numbers are bare, and nothing in a cell runs.

mod program;

use std::path::Path;
use std::process::Command;

use program::{SHOP, json_lines, stdout};
use serde_json::{Value, json};

/// Writes a Chrome trace whose call and event have attributes that are called like our own columns.
fn capture(folder: &Path) -> String {
    let own = json!({
        "id": "their id", "duration": "=1+1", "thread": "-their thread", "start": "@x", "time": "+y", "title": "-7",
    });
    let trace = json!({"traceEvents": [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "=main()"}},
        {"ph": "X", "name": "work", "pid": 1, "tid": 1, "ts": 10, "dur": 5, "args": own},
        {"ph": "i", "name": "mark", "pid": 1, "tid": 1, "ts": 12, "s": "t", "args": own},
    ]});
    let path = folder.join("own.json");
    std::fs::write(&path, trace.to_string()).expect("a file in a folder of its own");
    path.to_string_lossy().into_owned()
}

#[test]
fn attributes_have_a_place_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = capture(folder.path());
    for args in [
        &["calls", "--json", &path][..],
        &["calls", "--json", "--columns", "all", &path],
    ] {
        let calls = json_lines(args);
        let call = &calls[0];
        assert_eq!(call["thread"], "=main()", "{call}");
        assert_eq!(call["duration"], 5_000);
        assert!(call["id"].as_str().is_some_and(|id| id != "their id"));
        assert_eq!(call["attributes"]["id"], "their id");
        assert_eq!(call["attributes"]["duration"], "=1+1");
        assert_eq!(call["attributes"]["thread"], "-their thread");
    }
    let events = json_lines(&["events", "--json", "--type", "mark", &path]);
    assert_eq!(events[0]["thread"], "=main()", "{events:?}");
    assert_eq!(events[0]["time"], 12_000);
    assert_eq!(events[0]["attributes"]["time"], "+y");
    assert_eq!(events[0]["attributes"]["thread"], "-their thread");
    let args = [
        "calls",
        "--json",
        "--columns",
        "duration,attr.duration",
        &path,
    ];
    let chosen = &json_lines(&args)[0];
    assert_eq!(chosen["duration"], 5_000);
    assert_eq!(chosen["attributes"], json!({"duration": "=1+1"}));
}

#[test]
fn attributes_of_calls_keep_their_types() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = json!({
        "rows": 7, "least": -3, "share": 0.5, "cached": true, "text": "7", "sizes": [1, 2, 3],
        "user": {"id": 9, "roles": ["a", "b"], "admin": false},
    });
    let event =
        json!({"ph": "X", "name": "work", "pid": 1, "tid": 1, "ts": 10, "dur": 5, "args": own});
    let path = folder.path().join("typed.json");
    std::fs::write(&path, json!([event]).to_string()).expect("a file");
    let path = path.to_string_lossy();
    let calls = json_lines(&["calls", "--json", &path]);
    assert_eq!(calls[0]["attributes"], own);
    let picked = json_lines(&["calls", "--json", "--columns", "rows,attr.user", &path]);
    let some = json!({"rows": 7, "user": own["user"]});
    assert_eq!(picked[0]["attributes"], some);
    let id = calls[0]["id"].as_str().expect("an id");
    let call = &json_lines(&["call", "--json", &path, id])[0];
    let attributes = call["spans"][0]["attributes"].as_array();
    let attributes = attributes.expect("attributes").iter();
    let pairs = attributes.map(|one| {
        (
            one["name"].as_str().expect("a name").to_owned(),
            one["value"].clone(),
        )
    });
    assert_eq!(Value::Object(pairs.collect()), own);
}

#[test]
fn counters_of_calls_are_numbers_by_name() {
    let calls = json_lines(&["calls", "--json", SHOP]);
    let numbers = calls[0]["counters"].as_object().expect("counters");
    assert!(numbers["memory_used"].as_i64().is_some(), "{numbers:?}");
    assert!(calls[1]["attributes"]["web.url"].as_str().is_some());
    assert!(calls[0].get("memory_used").is_none());
}

#[test]
fn csv_has_bare_numbers_and_units_in_its_headings() {
    let head = |args: &[&str]| stdout(args).lines().next().unwrap_or("").to_owned();
    let calls = stdout(&["calls", "--csv", SHOP]);
    let (first, rows) = calls.split_once("\r\n").expect("rows");
    assert!(
        first.starts_with("id,start (ns),end (ns),duration (ns),"),
        "{first}"
    );
    assert!(first.contains(",counter.memory_used (bytes),"), "{first}");
    assert!(first.contains(",attr.web.url"), "{first}");
    let start = rows.split(',').nth(1).expect("a start");
    assert!(start.parse::<i64>().is_ok(), "{start}");
    for (args, expected) in [
        (
            &["top", SHOP, "--csv"][..],
            "self (ns),self%,total (ns),total%,calls,partial,function",
        ),
        (
            &["tree", SHOP, "--csv"],
            "depth,total (ns),total%,self (ns),count,partial,function",
        ),
        (
            &["top", SHOP, "--csv", "--by", "service"],
            "group,self (ns),self%,total (ns),total%,calls,partial,function",
        ),
        (
            &["top", SHOP, "--csv", "--hotspots"],
            "category,self (ns),self%,count,function",
        ),
        (
            &["calls", SHOP, "--csv", "--percentiles"],
            "calls,errors,partial,total (ns),p50 (ns),p90 (ns),p95 (ns),p99 (ns),max (ns),group",
        ),
        (
            &["events", SHOP, "--csv"],
            "events,duration (ns),type,label",
        ),
    ] {
        assert_eq!(head(args).trim_end(), expected, "{args:?}");
        let whole = stdout(args);
        for row in whole.lines().skip(1).take(20) {
            let cells = row.trim_end().split(',').filter(|cell| !cell.is_empty());
            let units = cells.filter(|cell| cell.ends_with(" ns") || cell.ends_with('%'));
            assert_eq!(units.count(), 0, "{row}");
        }
    }
    let diff = head(&["diff", SHOP, SHOP, "--csv"]);
    assert!(
        diff.starts_with("self_before (ns),self_after (ns),self_change (ns),self_percent (%),")
    );
}

#[test]
fn no_cell_begins_with_what_a_spreadsheet_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = capture(folder.path());
    let out = folder.path().join("tables");
    for args in [
        &["calls", "--csv", &path][..],
        &["calls", "--csv", "--by", "thread", &path],
        &["events", "--csv", "--type", "mark", &path],
        &["top", "--csv", "--by", "thread", &path],
        &["tree", "--csv", "--by", "thread", &path],
    ] {
        let rows = stdout(args);
        assert!(rows.contains("'=main()"), "{args:?}: {rows}");
        assert!(!rows.contains(",=") && !rows.contains("\n="), "{rows}");
        assert!(!rows.contains(",-their") && !rows.contains(",@"), "{rows}");
    }
    let calls = stdout(&["calls", "--csv", &path]);
    assert!(calls.contains(",-7"), "a number stays: {calls}");
    stdout(&["convert", &path, &out.to_string_lossy(), "--to", "csv"]);
    let written = std::fs::read_to_string(out.join("attributes.csv")).expect("a table");
    assert!(written.contains(",\"'=1+1\","), "{written}");
    let tracks = std::fs::read_to_string(out.join("tracks.csv")).expect("a table");
    assert!(tracks.contains(",\"'=main()\","), "{tracks}");
}

/// Writes a profile with two values of each sample, and a folder of the same functions twice.
fn two_values(folder: &Path) -> String {
    let profile = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": "main"}, {"name": "a.b.C.run"}, {"name": "a.b.D.run"}]},
        "profiles": [
            {"type": "sampled", "name": "cpu", "unit": "nanoseconds", "startValue": 0, "endValue": 60,
             "samples": [[0], [0, 1], [0, 2]], "weights": [10, 20, 30]},
            {"type": "sampled", "name": "alloc", "unit": "bytes", "startValue": 0, "endValue": 9,
             "samples": [[0, 1], [0, 2]], "weights": [4, 5]},
        ],
    });
    let path = folder.join("two.speedscope.json");
    std::fs::write(&path, profile.to_string()).expect("a file in a folder of its own");
    path.to_string_lossy().into_owned()
}

#[test]
fn csv_of_several_measures_or_paths_is_one_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = two_values(folder.path());
    for args in [
        &["top", &path][..],
        &["top", &path, "--by", "thread"],
        &["top", &path, "--hotspots"],
        &["top", &path, "--incoming", "run"],
        &["tree", &path],
    ] {
        let table = stdout(&[args, &["--csv"]].concat());
        let lines: Vec<&str> = table.lines().collect();
        let fields = |line: &str| line.matches(',').count();
        assert!(lines.len() >= 3, "{args:?}: {table}");
        assert!(lines[0].starts_with("measure,unit,"), "{args:?}: {table}");
        assert!(
            lines.iter().all(|line| fields(line) == fields(lines[0])),
            "{args:?}: {table}"
        );
        let begins = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
        assert_eq!(begins("measure,"), 1, "{args:?}: {table}");
        assert_eq!(
            begins("time,ns,") + begins("weight,bytes,") + 1,
            lines.len(),
            "{table}"
        );
    }
    let heap = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
    for command in ["monitors", "objects"] {
        let table = stdout(&[command, heap, heap, "--csv"]);
        assert!(table.starts_with("path,"), "{command}: {table}");
        let heads = table.lines().filter(|line| line.starts_with("path,"));
        assert_eq!(heads.count(), 1, "{command}: {table}");
    }
}

#[test]
fn every_list_is_as_long_as_asked_for_in_every_form() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = two_values(folder.path());
    let rows = |args: &[&str], field: &str| -> usize {
        let objects = json_lines(&[args, &["--json"]].concat());
        let lists = objects.iter().filter_map(|object| match field {
            "" => Some(1),
            field => Some(match &object[field] {
                Value::Object(all) => all.len(),
                all => all.as_array()?.len(),
            }),
        });
        lists.sum()
    };
    // Two measures of three functions.
    for (args, field, all, one) in [
        (&["top", &path][..], "functions", 6, 2),
        (&["tree", &path], "nodes", 6, 2),
        (
            &["diff", &path, &path, "--value", "time"],
            "functions",
            3,
            1,
        ),
        (&["calls", SHOP], "", 55, 1),
        (&["calls", SHOP, "--by", "thread"], "", 3, 1),
        (&["timeline", SHOP], "tracks", 6, 1),
    ] {
        let given = rows(args, field);
        assert!(given >= all, "{args:?}: {given}");
        let cut = rows(&[args, &["-n", "1"]].concat(), field);
        assert_eq!(cut, one, "{args:?}");
        assert_eq!(
            rows(&[args, &["-n", "0"]].concat(), field),
            given,
            "{args:?}"
        );
        if field == "tracks" {
            continue;
        }
        let csv = stdout(&[args, &["-n", "1", "--csv"]].concat());
        assert_eq!(csv.lines().count(), 1 + one, "{args:?}: {csv}");
    }
    // The callers of what is kept are kept: the largest node is the root.
    let tree = json_lines(&["tree", &path, "--json", "-n", "2"]);
    let nodes = tree[0]["nodes"].as_array().expect("nodes");
    let names: Vec<_> = nodes.iter().map(|node| &node["function"]).collect();
    assert_eq!(names, ["main", "a.b.D.run"]);
    assert_eq!(
        (&nodes[0]["omitted"], &nodes[0]["omitted_total"]),
        (&json!(1), &json!(20))
    );
    let dumped = stdout(&["dump", "--json", "-n", "3", &path]);
    assert!(dumped.lines().count() <= 3, "{dumped}");
}

#[test]
fn common_flags_may_stand_before_the_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = two_values(folder.path());
    let plain = stdout(&["--color", "never", "top", &path]);
    assert_eq!(plain, stdout(&["top", &path]));
    let colored = stdout(&["--color", "always", "top", &path]);
    assert_eq!(colored, stdout(&["top", "--color", "always", &path]));
    assert!(colored.contains('\u{1b}') && !plain.contains('\u{1b}'));
    let mut command = Command::new(env!("CARGO_BIN_EXE_traceloom"));
    let output = command
        .args([&path, "top"])
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("stands before the command"), "{told}");
}
