//! `go tool pprof` as an oracle.
//!
//! The tool is `TRACELOOM_PPROF` (a built `cmd/pprof`), or is built from the Go that `TRACELOOM_GO` or
//! the path leads to.

#![allow(
    dead_code,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a tool that tests run on files"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds or finds the tool; none, which the caller says, where there is neither.
pub fn tool() -> Option<PathBuf> {
    if let Some(tool) = std::env::var_os("TRACELOOM_PPROF") {
        return Some(tool.into());
    }
    let go = std::env::var_os("TRACELOOM_GO").unwrap_or_else(|| "go".into());
    let root = Command::new(&go).args(["env", "GOROOT"]).output().ok()?;
    let root = PathBuf::from(String::from_utf8(root.stdout).ok()?.trim());
    let tool = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-pprof");
    let build = Command::new(&go)
        .args(["build", "-mod=vendor", "-o"])
        .arg(&tool)
        .arg(".")
        .current_dir(root.join("src/cmd/pprof"))
        .env("GOTOOLCHAIN", "local")
        .env("CGO_ENABLED", "0")
        .env(
            "GOCACHE",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-cache"),
        )
        .status()
        .ok()?;
    build.success().then_some(tool)
}

/// What the tool says about one column: the total, and name, self and total of each row, sorted.
///
/// # Panics
/// When the tool refuses the file.
pub fn report(
    tool: &Path,
    file: &Path,
    column: &str,
    unit: &str,
) -> (i64, Vec<(String, i64, i64)>) {
    report_against(tool, None, file, column, unit)
}

/// What the tool says about one column of what `file` has more than `base`.
///
/// # Panics
/// When the tool refuses a file.
pub fn report_against(
    tool: &Path,
    base: Option<&Path>,
    file: &Path,
    column: &str,
    unit: &str,
) -> (i64, Vec<(String, i64, i64)>) {
    let base = base.map(|base| format!("-diff_base={}", base.display()));
    let output = Command::new(tool)
        .args([
            "-top",
            "-symbolize=none",
            "-nodecount=1000000",
            "-nodefraction=0",
            "-edgefraction=0",
        ])
        .arg(format!("-sample_index={column}"))
        .arg(format!("-unit={unit}"))
        .args(base)
        .arg(file)
        .output()
        .expect("the tool runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", file.display());
    let mut rows = Vec::new();
    let mut total = None;
    let number = |text: &str| -> i64 {
        let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        digits
            .parse()
            .unwrap_or_else(|_| panic!("{text} is no number"))
    };
    for line in text.lines() {
        if let Some((_, rest)) = line.split_once("% of ")
            && line.starts_with("Showing nodes")
        {
            total = rest.split_whitespace().next().map(number);
        }
        let mut words = line.split_whitespace();
        let fields: Vec<&str> = words.by_ref().take(5).collect();
        if let [flat, flat_part, sum, cum, cum_part] = fields[..]
            && flat != "flat"
            && [flat_part, sum, cum_part]
                .iter()
                .all(|part| part.ends_with('%'))
        {
            let name = words.collect::<Vec<_>>().join(" ");
            let name = name.strip_suffix(" (inline)").unwrap_or(&name);
            let name = name.strip_suffix(" (partial-inline)").unwrap_or(name);
            rows.push((name.to_owned(), number(flat), number(cum)));
        }
    }
    rows.sort();
    (total.unwrap_or(0), rows)
}

/// What the tool says about the columns of a file: of each the number of samples and their sum.
///
/// # Panics
/// When the tool refuses the file.
pub fn columns(tool: &Path, file: &Path) -> Vec<(u64, i64)> {
    let output = Command::new(tool)
        .args(["-raw", "-symbolize=none"])
        .arg(file)
        .output()
        .expect("the tool runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", file.display());
    let samples = text.split_once("Samples:\n").expect("samples").1;
    let samples = samples.split("\nLocations\n").next().unwrap_or_default();
    let mut lines = samples.lines();
    let n_columns = lines.next().expect("columns").split_whitespace().count();
    let mut columns = vec![(0, 0); n_columns];
    for line in lines {
        let values = line.split_once(": ").map_or("", |(values, _)| values);
        let values = values.split_whitespace().map(str::parse);
        // A line of labels has no numbers before a colon.
        let values: Result<Vec<i64>, _> = values.collect();
        let Some(values) = values.ok().filter(|values| values.len() == n_columns) else {
            continue;
        };
        for (column, value) in columns.iter_mut().zip(values) {
            column.0 += 1;
            column.1 += value;
        }
    }
    columns
}
