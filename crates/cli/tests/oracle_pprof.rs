//! Real recordings of exact calls, converted to pprof, as `go tool pprof` reports them: its totals and its
//! table are those of `traceloom top` of the recording itself.
//!
//! Without the tool, or without the corpus, the tests say so and pass.

mod program;

#[path = "../../formats/tests/corpus/mod.rs"]
mod corpus;
#[path = "../../formats/tests/gopprof/mod.rs"]
mod gopprof;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use program::run;
use serde_json::Value;

fn tool() -> Option<&'static Path> {
    static TOOL: OnceLock<Option<PathBuf>> = OnceLock::new();
    let tool = TOOL.get_or_init(gopprof::tool);
    if tool.is_none() {
        println!("no Go found, skipped");
    }
    tool.as_deref()
}

fn root() -> Option<PathBuf> {
    corpus::files("")?;
    let root = std::env::var("TRACELOOM_CORPUS").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus").to_owned()
    });
    Some(root.into())
}

/// The tables that `top` prints, by the measure's name.
fn tables(path: &Path) -> BTreeMap<String, Value> {
    let top = run(&["top", "--json", &path.to_string_lossy()]);
    let text = String::from_utf8_lossy(&top.stdout);
    let tables = text.lines().map(|line| {
        let table: Value = serde_json::from_str(line).expect("JSON");
        (table["measure"].as_str().expect("a name").to_owned(), table)
    });
    tables.collect()
}

fn converted(path: &Path, folder: &Path, more: &[&str]) -> PathBuf {
    let output = folder.join("converted.pprof");
    let (to, from) = (output.to_string_lossy(), path.to_string_lossy());
    let args = ["convert", "--force", "--to", "pprof", "-o", &to, &from];
    let shown = run(&[&args, more].concat());
    let said = String::from_utf8_lossy(&shown.stderr).into_owned();
    assert!(shown.status.success(), "{}: {said}", path.display());
    output
}

/// Own value and total by name. The report knows no overloads: those of one name are added up, and the
/// total of several is not compared, because one may call the other.
type Rows = BTreeMap<String, (i64, Option<i64>)>;

fn rows(all: impl Iterator<Item = (String, i64, i64)>) -> Rows {
    let mut rows = Rows::new();
    // The report counts samples without stack in its total and has no row for them.
    let shown =
        |(name, own, total): &(String, i64, i64)| (*own, *total) != (0, 0) && name != "(no stack)";
    for (name, own, total) in all.filter(shown) {
        rows.entry(name)
            .and_modify(|row| *row = (row.0 + own, None))
            .or_insert((own, Some(total)));
    }
    rows
}

fn agree(tool: &Path, what: &Path, table: &Value, file: &Path) {
    let measure = table["measure"].as_str().expect("a name");
    let (column, unit) = match (measure, table["unit"].as_str()) {
        ("wall", _) => ("wall", "ns"),
        (other, Some("ns")) => (other, "ns"),
        (other, Some("bytes")) => (other, "B"),
        (other, _) => (other, ""),
    };
    let (total, theirs) = gopprof::report(tool, file, column, unit);
    let place = format!("{}: {measure}", what.display());
    assert_eq!(table["total"].as_i64(), Some(total), "{place}");
    let number = |row: &Value, key: &str| row[key].as_i64().expect("an integer");
    let ours = table["functions"].as_array().expect("functions").iter();
    let ours = rows(ours.map(|row| {
        let name = row["function"].as_str().expect("a name");
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        (name, number(row, "self"), number(row, "total"))
    }));
    let theirs = rows(theirs.into_iter());
    let names = |rows: &Rows| rows.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&ours), names(&theirs), "{place}");
    for (name, (own, total)) in &ours {
        let (their_own, their_total) = theirs[name];
        assert_eq!(*own, their_own, "{place}: self of {name}");
        if let (Some(total), Some(their_total)) = (total, their_total) {
            assert_eq!(*total, their_total, "{place}: total of {name}");
        }
    }
}

/// Files of the folder that may be profiles: recordings of the JDK take long to be told apart.
fn files() -> Vec<String> {
    let mut files = corpus::files("datakit").expect("the corpus");
    files.retain(|name| !name.contains(".jfr"));
    files
}

/// Compares the calls of each recording; returns how many had any.
fn calls_agree(names: &[&str]) -> Option<usize> {
    let (tool, root) = (tool()?, root()?);
    let folder = tempfile::tempdir().expect("a folder");
    let mut compared = 0;
    for name in names {
        let path = root.join(name);
        let Some(table) = tables(&path).remove("wall") else {
            continue;
        };
        agree(
            tool,
            &path,
            &table,
            &converted(&path, folder.path(), &["--as-samples"]),
        );
        compared += 1;
    }
    Some(compared)
}

#[test]
fn calls_of_cdt() {
    let names = [
        "cdt/test-service",
        "cdt/dump",
        "cdt/torn/test_call.calls.bin",
    ];
    assert!(calls_agree(&names).is_none_or(|compared| compared >= 2));
}

#[test]
fn calls_of_zorka() {
    let names = [
        "zorka/gen-b-agent-streaming",
        "zorka/gen-c-agent-local",
        "zorka/seedgen",
        "zorka/gen-c-writer",
    ];
    assert!(calls_agree(&names).is_none_or(|compared| compared >= 3));
}

#[test]
fn calls_of_heph() {
    let names = [
        "heph/real/new_7_tracing.bin.log",
        "heph/real/new_chain_arrays_small.bin",
        "heph/real/new_http_small.bin",
        "heph/real/old_8_tracing.bin.log",
        "heph/real/old_chain_arrays_small.bin",
    ];
    assert!(calls_agree(&names).is_none_or(|compared| compared == names.len()));
}

#[test]
fn calls_of_tptp() {
    let names = [
        "tptp/syn_le_inclusive.trcbin",
        "tptp/syn_le_truncated.trcbin",
    ];
    assert!(calls_agree(&names).is_none_or(|compared| compared >= 1));
}

#[test]
fn samples_that_datakit_carries() {
    let (Some(tool), Some(root)) = (tool(), root()) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let names = [
        "dk_ddtrace_main.jfr",
        "jfrp_async-profiler.jfr.gz",
        "jfrp_dd-trace-java.jfr.gz",
        "rs_pprof-rs_profile.pb",
    ];
    for name in names {
        let path = root.join("datakit").join(name);
        let file = converted(&path, folder.path(), &[]);
        let read_back = tables(&file);
        assert!(!read_back.is_empty(), "{name}");
        for table in read_back.values() {
            agree(tool, &path, table, &file);
        }
    }
}

/// What `info` says of a file.
fn info(path: &Path) -> Value {
    let info = run(&["info", "--json", &path.to_string_lossy()]);
    serde_json::from_slice(&info.stdout).expect("JSON")
}

#[test]
fn profiles_as_they_are() {
    let (Some(tool), Some(root)) = (tool(), root()) else {
        return;
    };
    let mut compared = 0;
    for name in files() {
        let path = root.join(&name);
        let info = info(&path);
        // The tool reads CPU profiles of gperftools, too; of others it has other names or none.
        let is_read = info["format"] == "pprof" || name.ends_with("gpprof_large.cpu");
        if !is_read {
            continue;
        }
        let tables = tables(&path);
        assert!(!tables.is_empty(), "{name}");
        for table in tables.values() {
            agree(tool, &path, table, &path);
        }
        compared += 1;
    }
    assert!(compared > 8, "{compared}");
}

/// What `-raw` prints of a profile.
fn raw(tool: &Path, path: &Path) -> String {
    let raw = Command::new(tool)
        .args(["-raw", "-symbolize=none"])
        .arg(path)
        .env("TZ", "UTC")
        .output();
    String::from_utf8(raw.expect("the tool runs").stdout).expect("text")
}

/// Writes a duration as Go does; `-raw` prints four characters of it.
fn go_duration(ns: u64) -> String {
    let decimal = |ns: u64, unit: u64, name: &str| {
        let fraction = format!("{:09}", ns % unit * (1_000_000_000 / unit));
        let number = format!("{}.{fraction}", ns / unit);
        format!(
            "{}{name}",
            number.trim_end_matches('0').trim_end_matches('.')
        )
    };
    match ns {
        0..1_000 => format!("{ns}ns"),
        1_000..1_000_000 => decimal(ns, 1_000, "µs"),
        1_000_000..1_000_000_000 => decimal(ns, 1_000_000, "ms"),
        _ => {
            let seconds = decimal(ns % 60_000_000_000, 1_000_000_000, "s");
            match ns / 60_000_000_000 {
                0 => seconds,
                minutes @ 1..60 => format!("{minutes}m{seconds}"),
                minutes => format!("{}h{}m{seconds}", minutes / 60, minutes % 60),
            }
        }
    }
}

/// When a profile began and how long it took; of those that do not say it, `info` says nothing.
#[test]
fn info_has_the_times_of_profiles() {
    let (Some(tool), Some(root)) = (tool(), root()) else {
        return;
    };
    let (mut compared, mut lasting) = (0, 0);
    for name in files() {
        let path = root.join(&name);
        let info = info(&path);
        if info["format"] != "pprof" {
            continue;
        }
        let raw = raw(tool, &path);
        let fact = |label: &str| raw.lines().find_map(|line| line.strip_prefix(label));
        let started = fact("Time: ").map(|text| {
            let text = text.trim_end_matches(" +0000 UTC").replace(' ', "T");
            let time = format!("{text}Z").parse::<jiff::Timestamp>();
            i64::try_from(time.expect("a time").as_nanosecond()).expect("few nanoseconds")
        });
        let (start, end) = (&info["time"]["start_ns"], &info["time"]["end_ns"]);
        assert_eq!(start.as_i64(), started, "{name}: {raw:.300}");
        compared += 1;
        let Some((start, end)) = start.as_i64().zip(end.as_i64()) else {
            continue;
        };
        let ours = go_duration(end.abs_diff(start));
        match fact("Duration: ") {
            Some(theirs) => {
                assert_eq!(ours.chars().take(4).collect::<String>(), theirs, "{name}");
                lasting += 1;
            }
            None => assert_eq!(ours, "0ns", "{name}"),
        }
    }
    assert!(compared > 8 && lasting > 5, "{compared}, {lasting}");
}

/// The columns of a profile, and the number of its samples.
#[test]
fn info_counts_columns_and_samples() {
    let (Some(tool), Some(root)) = (tool(), root()) else {
        return;
    };
    let mut compared = 0;
    for name in files() {
        let path = root.join(&name);
        let info = info(&path);
        if info["format"] != "pprof" {
            continue;
        }
        let raw = raw(tool, &path);
        let columns = raw.lines().skip_while(|line| *line != "Samples:").nth(1);
        let columns = columns.expect("a heading").split_whitespace();
        let ours = info["records"]["sample_type"].as_u64();
        assert_eq!(ours, Some(columns.count() as u64), "{name}: columns");
        let samples = raw.lines().skip_while(|line| *line != "Samples:").skip(2);
        let samples = samples
            .take_while(|line| *line != "Locations")
            .filter(|line| {
                let number = line.split_whitespace().next().unwrap_or_default();
                number.trim_end_matches(':').parse::<i64>().is_ok()
            });
        assert_eq!(
            info["records"]["sample"].as_u64(),
            Some(samples.count() as u64),
            "{name}"
        );
        compared += 1;
    }
    assert!(compared > 5, "{compared}");
}
