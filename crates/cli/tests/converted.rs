//! `top` says the same of a capture and of what it was converted to.

mod program;

#[path = "../../formats/tests/corpus/mod.rs"]
#[allow(dead_code, reason = "not every test needs every way in")]
mod corpus;

use std::path::{Path, PathBuf};

use program::stdout;
use serde_json::Value;

/// Self, total and count of each function, of the table with this unit.
fn top(path: &Path, unit: &str) -> Vec<(String, i64, i64, i64)> {
    let text = stdout(&[
        "top",
        path.to_str().expect("a path"),
        "--json",
        "-n",
        "1000000",
    ]);
    let mut rows = Vec::new();
    for line in text.lines() {
        let table: Value = serde_json::from_str(line).expect("JSON");
        if table["unit"] != unit {
            continue;
        }
        for row in table["functions"].as_array().expect("functions") {
            let number = |key: &str| row[key].as_i64().expect("an integer");
            let name = row["function"].as_str().expect("a name").to_owned();
            rows.push((name, number("self"), number("total"), number("count")));
        }
    }
    rows.sort();
    rows
}

fn sample(format: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("converted.{format}"));
    std::fs::write(&path, program::sample(format, 3, 100_000)).expect("a file");
    path
}

#[test]
fn traces_keep_self_total_and_count_of_every_function() {
    for from in ["zorka-c", "heph", "tptp-binary", "perfetto", "chrome"] {
        let source = sample(from);
        let ours = top(&source, "ns");
        assert!(!ours.is_empty(), "{from}");
        let target = source.with_extension("perfetto-trace");
        let (source, to) = (
            source.to_str().expect("a path"),
            target.to_str().expect("a path"),
        );
        stdout(&["convert", source, to, "--force"]);
        assert_eq!(top(&target, "ns"), ours, "{from}");
    }
}

#[test]
fn profiles_keep_self_and_total_of_every_function() {
    for (from, unit) in [
        ("pprof", "ns"),
        ("otlp-profiles", "ns"),
        ("folded", "count"),
    ] {
        let source = sample(from);
        let target = source.with_extension("otlp-profiles");
        let (text, to) = (
            source.to_str().expect("a path"),
            target.to_str().expect("a path"),
        );
        stdout(&[
            "convert",
            text,
            "-o",
            to,
            "--to",
            "otlp-profiles",
            "--force",
        ]);
        let of = |path: &Path| -> Vec<(String, i64, i64)> {
            top(path, unit)
                .into_iter()
                .map(|row| (row.0, row.1, row.2))
                .collect()
        };
        let ours = of(&source);
        assert!(!ours.is_empty(), "{from}");
        assert_eq!(of(&target), ours, "{from}");
    }
}
