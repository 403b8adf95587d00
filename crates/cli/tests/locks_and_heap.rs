//! `monitors` and `objects` over the model: recordings and thread dumps of the corpus.

mod program;

#[path = "../../formats/tests/corpus/mod.rs"]
mod corpus;

use program::json_lines;
use serde_json::Value;

/// A copy of a corpus file that the program can open.
fn copy(name: &str, folder: &tempfile::TempDir) -> Option<String> {
    let bytes = corpus::file(name)?;
    let path = folder.path().join(name.rsplit('/').next().expect("a name"));
    std::fs::write(&path, bytes).expect("written");
    Some(path.to_str().expect("UTF-8").to_owned())
}

fn sum(rows: &[Value], group: &str, field: &str) -> u64 {
    let numbers = rows
        .iter()
        .map(|row| row[group][field].as_u64().expect("a number"));
    numbers.sum()
}

/// Every event of a recording is in one row, whatever the rows are.
#[test]
fn recordings() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in [
        "datakit/jfrp_example.jfr.gz",
        "datakit/dk_ddtrace_main.jfr",
        "datakit/jfrp_object-allocation-sample.jfr.gz",
    ] {
        let Some(path) = copy(name, &folder) else {
            return;
        };
        let mut events = [0_u64; 3];
        let info = json_lines(&["info", &path, "--json"]);
        let records = &info[0]["records"];
        for (kind, count) in ["JavaMonitorEnter", "JavaMonitorWait", "ThreadPark"]
            .iter()
            .zip(&mut events)
        {
            *count = records[format!("jdk.{kind}")].as_u64().unwrap_or(0);
        }
        assert!(events.iter().sum::<u64>() > 0, "{name}");
        for by in ["object", "class"] {
            let rows = json_lines(&["monitors", &path, "--json", "--by", by]);
            let told = ["contended", "waited", "parked"].map(|kind| sum(&rows, kind, "count"));
            assert_eq!(told, events, "{name} by {by}");
            assert!(rows.iter().all(|row| row["class"].is_string()), "{name}");
        }
        let objects = json_lines(&["objects", &path, "--json"]);
        assert_eq!(objects[0]["source"]["sampled"], true, "{name}");
        let classes = objects[0]["classes"].as_array().expect("classes");
        let top = json_lines(&["top", &path, "--json", "--value", "alloc_objects"]);
        assert_eq!(
            sum(classes, "allocated", "count"),
            top[0]["total"],
            "{name}"
        );
        let collections = objects[0]["collections"].as_array().expect("collections");
        let pauses = records["jdk.GarbageCollection"].as_u64().unwrap_or(0);
        assert_eq!(collections.len() as u64, pauses, "{name}");
    }
}

/// What a filter takes and what its opposite takes are everything; one by class is the row of that class.
#[test]
fn filters_divide() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = "datakit/jfrp_example.jfr.gz";
    let Some(path) = copy(name, &folder) else {
        return;
    };
    let monitors = |filter: &str| {
        let flags = ["monitors", &path, "--json", "--by", "class"];
        json_lines(&[&flags[..], &["--filter", filter]].concat())
    };
    let all = monitors("");
    assert!(all.len() > 1, "{all:?}");
    for row in &all {
        let class = row["class"].as_str().expect("a class");
        let same = std::slice::from_ref(row);
        assert_eq!(monitors(&format!("class = '{class}'")), same);
    }
    let [short, long] = ["not duration > 1ms", "duration > 1ms"].map(monitors);
    for kind in ["contended", "waited", "parked"] {
        for field in ["count", "total_ns"] {
            let parts = sum(&short, kind, field) + sum(&long, kind, field);
            assert_eq!(parts, sum(&all, kind, field), "{kind} {field}");
        }
    }
    assert!(!long.is_empty() && long.len() < all.len());

    let objects = |filter: &str| {
        let told = json_lines(&["objects", &path, "--json", "--filter", filter]);
        let classes = told.first().map(|objects| objects["classes"].clone());
        classes.map_or_else(Vec::new, |rows| rows.as_array().expect("classes").clone())
    };
    let all = objects("");
    let parts = ["class ~ lang", "class !~ lang"].map(objects);
    assert!(parts.iter().all(|part| !part.is_empty()));
    assert_eq!(parts.iter().map(Vec::len).sum::<usize>(), all.len());
    for row in parts.iter().flatten() {
        assert!(all.contains(row), "{row}");
    }
    let alone = objects("method ~ thread and class ~ lang");
    assert!(sum(&alone, "allocated", "count") < sum(&all, "allocated", "count"));
}

/// Thread dumps have no times: who is seen waiting counts. A collector's log has collections alone.
#[test]
fn text_of_a_jvm() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(dump) = copy("cdt/text/20231219T062435UTC.td.txt", &folder) else {
        return;
    };
    let rows = json_lines(&["monitors", &dump, "--json"]);
    let text = std::fs::read_to_string(&dump).expect("a dump");
    let lines = text.lines().map(str::trim_start).filter(|line| {
        [
            "- waiting on ",
            "- waiting to lock ",
            "- parking to wait for ",
        ]
        .iter()
        .any(|start| line.starts_with(start))
    });
    let seen: u64 = ["contended", "waited", "parked"]
        .iter()
        .map(|kind| sum(&rows, kind, "seen"))
        .sum();
    assert_eq!(seen, lines.count() as u64);
    assert!(rows.iter().any(|row| row["object"] == 0xecae_0698_u64));
    let Some(log) = copy("cdt/text/20231219T062953UTC.gc.log", &folder) else {
        return;
    };
    let objects = json_lines(&["objects", &log, "--json"]);
    let collections = objects[0]["collections"].as_array().expect("collections");
    let used = collections
        .iter()
        .filter(|found| found["used_bytes"].is_u64());
    assert!(used.count() > 100, "{}", collections.len());
    assert_eq!(objects[0]["classes"], serde_json::json!([]));
}

/// CPU time is the first table of a recording, whatever came first in it, and allocations say their source.
#[test]
fn cpu_time_is_first_and_allocations_have_one_source() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, source) in [
        ("datakit/jfrp_example.jfr.gz", "alloc_tlab"),
        ("datakit/jfrp_dd-trace-java.jfr.gz", "alloc_tlab"),
        (
            "datakit/jfrp_object-allocation-sample.jfr.gz",
            "alloc_sample",
        ),
        ("datakit/dk_ddtrace_main.jfr", "alloc"),
    ] {
        let Some(path) = copy(name, &folder) else {
            return;
        };
        let tables = json_lines(&["top", &path, "--json"]);
        let measures: Vec<&str> = tables
            .iter()
            .filter_map(|table| table["measure"].as_str())
            .collect();
        assert_eq!(measures.first(), Some(&"cpu"), "{name}");
        let mut allocations = measures.iter().filter(|name| name.starts_with("alloc"));
        assert_eq!(allocations.next(), Some(&source), "{name}: {measures:?}");
        assert_eq!(allocations.next(), None, "{name}: {measures:?}");
        let chosen = json_lines(&["top", &path, "--json", "--value", "alloc"]);
        assert_eq!(chosen[0]["measure"], source, "{name}");
    }
}
