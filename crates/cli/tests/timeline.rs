//! `timeline`: its totals are those of the other views and of its own page, whatever the file.

mod program;

#[path = "../../formats/tests/corpus/mod.rs"]
mod corpus;

use std::path::Path;
use std::process::Output;

use program::{SHOP, run};
use serde_json::Value;

const MONITORS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../testdata/tptp/vectors/monitors_depth_4.trcbin"
);

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn sum(rows: &Value, key: &str) -> u64 {
    let rows = rows.as_array().expect("rows").iter();
    rows.map(|row| row[key].as_u64().expect("a number")).sum()
}

/// Calls that `top` counts, on all tracks.
fn calls(path: &str) -> u64 {
    let top = run(&["top", "--json", "--async", path]);
    let text = String::from_utf8_lossy(&top.stdout).into_owned();
    let tables = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let wall = tables.filter(|table: &Value| table["source"] == "calls");
    wall.map(|table| sum(&table["functions"], "count")).sum()
}

/// The data of a page.
fn page(path: &str, folder: &Path) -> Value {
    let output = folder.join("timeline.html");
    let name = output.to_string_lossy();
    let written = run(&["timeline", "--force", "-o", &name, path]);
    assert!(written.status.success(), "{path}: {}", said(&written));
    let text = std::fs::read_to_string(&output).expect("a page");
    let (_, data) = text
        .split_once("<script type=\"application/json\">")
        .expect("data");
    let (data, _) = data.split_once("</script>").expect("an end");
    serde_json::from_str(data).expect("JSON")
}

/// Compares totals of a file. Returns true if it had spans.
fn agree(path: &str, folder: &Path) -> bool {
    let told = run(&["timeline", "--json", path]);
    if !told.status.success() {
        let top = run(&["top", path]);
        assert!(!top.status.success(), "{path}: {}", said(&told));
        assert!(!told.stderr.is_empty(), "{path}: fails without a reason");
        return false;
    }
    let told = json(&told);
    assert_eq!(sum(&told["tracks"], "spans"), calls(path), "{path}");
    if told["tracks"].as_array().is_none_or(Vec::is_empty)
        && told["counters"] == Value::Array(Vec::new())
    {
        let output = folder.join("nothing.html");
        let drawn = run(&["timeline", "-o", &output.to_string_lossy(), path]);
        assert!(!drawn.status.success() && !output.exists(), "{path}");
        return false;
    }
    let page = page(path, folder);
    let pairs = [
        ("name", "name"),
        ("kind", "kind"),
        ("spans", "spans"),
        ("partial", "partial"),
        ("failed", "failed"),
        ("events", "events"),
        ("samples", "samples"),
        ("rows", "rows"),
    ];
    let tracks = |value: &Value| value["tracks"].as_array().expect("tracks").clone();
    let (told_tracks, shown) = (tracks(&told), tracks(&page));
    assert_eq!(told_tracks.len(), shown.len(), "{path}");
    for (told, shown) in told_tracks.iter().zip(&shown) {
        for (key, of_page) in pairs {
            assert_eq!(told[key], shown[of_page], "{path} {key}");
        }
        for (key, of_page) in [("busy_ns", "busy"), ("longest_ns", "longest")] {
            assert_eq!(told[key].to_string(), shown[of_page], "{path} {key}");
        }
    }
    sum(&told["tracks"], "spans") > 0
}

#[test]
fn totals_agree_for_the_shipped_dump() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(agree(SHOP, folder.path()));
}

#[test]
fn totals_agree_for_every_file_of_the_corpus() {
    let Some(files) = corpus::files("") else {
        return;
    };
    let root = std::env::var("TRACELOOM_CORPUS").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus").to_owned()
    });
    let folder = tempfile::tempdir().expect("a folder");
    let facts = |name: &String| name.contains("expected") || name.ends_with(".md");
    let inputs = files.into_iter().filter(|name| !facts(name));
    let folders = ["cdt/dump", "heph/real"].map(str::to_owned);
    let drawn = inputs
        .chain(folders)
        .filter(|name| agree(&format!("{root}/{name}"), folder.path()));
    let drawn = drawn.count();
    assert!(drawn >= 40, "only {drawn} inputs have spans");
}

#[test]
fn tracks_say_what_they_have() {
    let told = json(&run(&["timeline", "--json", "--columns", "3", MONITORS]));
    let track = &told["tracks"][0];
    assert_eq!(track["waits"]["contended"]["total_ns"], 1);
    assert_eq!(track["waits"]["waited"]["total_ns"], 1);
    assert_eq!(
        track["activity"]["wait"],
        serde_json::json!([1000, 0, 1000])
    );
    let text = run(&["timeline", "--columns", "10", SHOP]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let line = text.lines().find(|line| line.contains("exec-10 "));
    let line = line
        .expect("a thread")
        .split_whitespace()
        .collect::<Vec<_>>();
    assert_eq!(
        line,
        [
            "http-nio-8080-exec-10",
            "spans",
            "19",
            "1.410",
            "s",
            "4.49%",
            "1.410",
            "s",
            "▂▃"
        ]
    );
    assert!(text.contains("shop (process)") && text.contains("pauses"));
    assert!(text.contains("6 partial") && text.contains("1 failed"));
    assert!(text.contains("40.0 MiB to 509.0 MiB"), "{text}");
}

#[test]
fn calls_and_times_are_chosen_as_everywhere() {
    let spans = |flags: &[&str]| {
        let all = [&["timeline", "--json", SHOP], flags].concat();
        let told = json(&run(&all));
        (
            sum(&told["tracks"], "spans"),
            sum(&told["tracks"], "partial"),
        )
    };
    assert_eq!(spans(&[]), (1_121, 6));
    let long = spans(&["--min-duration", "1s"]);
    assert!(long.0 > 0 && long.0 < 1_121);
    let early = spans(&["--until", "+9s"]);
    assert!(early.0 > 0 && early.0 < 1_121 && early.1 > 1);
}

#[test]
fn what_has_no_time_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let folded = folder.path().join("stacks.folded");
    std::fs::write(&folded, "main;run;read 3\nmain;run 5\n").expect("a file");
    let name = folded.to_string_lossy();
    let told = run(&["timeline", &name]);
    assert!(told.status.success() && told.stdout.is_empty());
    assert!(said(&told).contains(
        "none of its 2 samples has a time; they tell how much ran, not when: `traceloom top`"
    ));
    let output = folder.path().join("stacks.html");
    let drawn = run(&["timeline", "-o", &output.to_string_lossy(), &name]);
    assert!(!drawn.status.success() && !output.exists());
    assert!(said(&drawn).contains("none of its 2 samples has a time"));
    assert!(said(&drawn).contains("there is nothing to draw"));
    let empty = folder.path().join("empty.json");
    std::fs::write(&empty, "{\"traceEvents\":[]}").expect("a file");
    let told = run(&["timeline", &empty.to_string_lossy()]);
    assert!(said(&told).contains("no span, event, sample or counter in it has a time"));
}

#[test]
fn a_page_has_a_name_that_says_so() {
    let told = run(&["timeline", SHOP, "-o", "x.svg"]);
    assert_eq!(told.status.code(), Some(2));
    assert!(said(&told).contains("end the name in .html"));
}
