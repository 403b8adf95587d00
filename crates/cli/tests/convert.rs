//! What stands between source and target, as a user meets it: windows, clocks, choices, pseudonyms.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const WINDOW: [&str; 4] = [
    "--since",
    "2026-03-14T04:51:49Z",
    "--until",
    "2026-03-14T04:51:50.5Z",
];

fn shop() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop")
}

fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_traceloom"));
    command.args(args).output().expect("the program runs")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn stdout(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Fails with exit code `code` and a reason that holds `words`.
fn refused(args: &[&str], code: i32, words: &str) {
    let output = run(args);
    assert_eq!(
        output.status.code(),
        Some(code),
        "{args:?}: {}",
        stderr(&output)
    );
    assert!(
        stderr(&output).contains(words),
        "{args:?}: {}",
        stderr(&output)
    );
}

struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a scratch folder"))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }
}

/// Total, self and count of each function of the first measure.
fn top(path: &str, flags: &[&str]) -> (i64, BTreeMap<String, (i64, i64, i64)>) {
    let mut args = vec!["top", "--json", path];
    args.extend(flags);
    let text = stdout(&args);
    let object: Value =
        serde_json::from_str(text.lines().next().expect("a measure")).expect("JSON");
    let rows = object["functions"].as_array().expect("functions");
    let number = |row: &Value, key: &str| row[key].as_i64().expect("a number");
    let of = |row: &Value| {
        let name = row["function"].as_str().expect("a name").to_owned();
        (
            name,
            (
                number(row, "self"),
                number(row, "total"),
                number(row, "count"),
            ),
        )
    };
    (
        object["total"].as_i64().expect("a total"),
        rows.iter().map(of).collect(),
    )
}

fn calls(path: &str, flags: &[&str]) -> usize {
    let mut args = vec!["calls", "--json", path];
    args.extend(flags);
    stdout(&args).lines().count()
}

#[test]
fn a_window_means_the_same_everywhere() {
    let (total, rows) = top(shop(), &WINDOW);
    let (whole, _) = top(shop(), &[]);
    assert!(0 < total && total < whole, "{total} of {whole}");
    assert_eq!(rows.values().map(|row| row.0).sum::<i64>(), total);

    let mut args = vec!["tree", "--json", "--min-percent", "0", shop()];
    args.extend(WINDOW);
    let tree: Value = serde_json::from_str(&stdout(&args)).expect("JSON");
    assert_eq!(tree["total"], total);
    args[1] = "--csv";
    let roots: i64 = stdout(&args)
        .lines()
        .filter_map(|line| {
            line.strip_prefix("0,")?
                .split(',')
                .next()?
                .parse::<i64>()
                .ok()
        })
        .sum();
    assert_eq!(roots, total);

    let scratch = Scratch::new();
    let cut = scratch.path("cut");
    let mut args = vec!["slice", shop(), &cut];
    args.extend(WINDOW);
    stdout(&args);
    let kind: Value = serde_json::from_str(&stdout(&["info", "--json", &cut])).expect("JSON");
    assert_eq!(kind["format"], "cdt-dump");
    assert_eq!(top(&cut, &[]), (total, rows));
    // A call that goes on behind the border has no row in this format.
    assert!(calls(&cut, &[]) <= calls(shop(), &WINDOW));

    // Both halves of a cut are together the whole.
    let border = "2026-03-14T04:51:49.7Z";
    let before = top(shop(), &["--until", border]).0;
    let after = top(shop(), &["--since", border]).0;
    assert_eq!(before + after, whole);
}

#[test]
fn borders_count_from_the_start_the_end_and_in_zones() {
    let all = calls(shop(), &[]);
    assert_eq!(calls(shop(), &["--since", "+0s"]), all);
    assert_eq!(calls(shop(), &["--since", "-10h"]), all);
    let utc = calls(shop(), &["--since", "2026-03-14T04:51:50Z"]);
    assert_eq!(
        calls(
            shop(),
            &["--since", "2026-03-14 05:51:50", "--tz", "Europe/Berlin"]
        ),
        utc
    );
    assert!(0 < utc && utc < all);
    refused(&["top", shop(), "--since", "soon"], 2, "is no time");
    refused(
        &["top", shop(), "--since", "+2s", "--until", "+1s"],
        2,
        "--until is not after --since",
    );
    let empty = run(&["calls", shop(), "--since", "+300h"]);
    assert!(
        stderr(&empty).contains("nothing from 2026-03-26"),
        "{}",
        stderr(&empty)
    );
}

#[test]
fn a_call_is_listed_whole() {
    let first = |flags: &[&str]| {
        let mut args = vec!["calls", "--json", "--columns", "start,duration", shop()];
        args.extend(flags);
        stdout(&args)
            .lines()
            .map(str::to_owned)
            .collect::<BTreeSet<_>>()
    };
    let (all, some) = (first(&[]), first(&WINDOW));
    assert!(!some.is_empty() && some.len() < all.len() && some.is_subset(&all));
}

#[test]
fn unknown_clocks_are_not_put_beside_others() {
    let scratch = Scratch::new();
    let (a, b, out) = (
        scratch.path("a.perf"),
        scratch.path("b.perf"),
        scratch.path("out.json"),
    );
    for path in [&a, &b] {
        let text = "shop 7 12.000001: 1 cycles:\n\t    4010 work+0x10 (/bin/shop)\n\n";
        std::fs::write(path, text).expect("a file");
    }
    let merge = |more: &[&str]| {
        let mut args = vec![
            "merge",
            &a,
            &b,
            &out,
            "--force",
            "--to",
            "chrome",
            "--as-spans",
        ];
        args.extend(more);
        run(&args)
    };
    let output = merge(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("a time nobody recorded"),
        "{}",
        stderr(&output)
    );
    let output = merge(&["--shift", "a.perf=+0s", "--shift", "2=+1.5s"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let json: Value = serde_json::from_slice(&std::fs::read(&out).expect("a file")).expect("JSON");
    let events = json["traceEvents"].as_array().expect("events");
    let times: Vec<f64> = events
        .iter()
        .filter(|e| e["ph"] == "X")
        .filter_map(|e| e["ts"].as_f64())
        .collect();
    assert_eq!(times, [12_000_001.0, 13_500_001.0]);
    assert_eq!(json["otherData"]["clock"], "unix");

    refused(
        &["top", &a, "--since", "1970-01-01T00:00:12Z"],
        2,
        "give --since as +DURATION",
    );
    assert_eq!(top(&a, &["--since", "+0s"]).0, 1);
    refused(
        &["top", shop(), "--shift", "nowhere=+1s"],
        2,
        "nothing here is called `nowhere`",
    );
    // Stacks and values have no clock that could be wrong.
    stdout(&[
        "merge",
        &a,
        &b,
        &scratch.path("out.folded"),
        "--to",
        "folded",
    ]);
}

#[test]
fn spans_become_samples_only_when_asked() {
    let scratch = Scratch::new();
    let out = scratch.path("out.folded");
    refused(&["convert", shop(), &out], 1, "--as-samples");
    assert!(!Path::new(&out).exists());
    stdout(&["convert", shop(), &out, "--as-samples"]);
    let (total, rows) = top(shop(), &[]);
    let (told, samples) = top(&out, &[]);
    assert_eq!(told, total);
    for (name, (own, inclusive, _)) in rows {
        let row = samples
            .get(&name)
            .unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!((row.0, row.1), (own, inclusive), "{name}");
    }
    refused(
        &["convert", &out, &scratch.path("b.json"), "--to", "chrome"],
        1,
        "--as-spans",
    );
    refused(
        &[
            "convert",
            &out,
            &scratch.path("b.json"),
            "--to",
            "chrome",
            "--as-spans",
        ],
        1,
        "no sample has a time",
    );
    refused(
        &["convert", shop(), &out, "--as-spans", "--force"],
        2,
        "folded holds no spans",
    );
}

#[test]
fn choices_are_whole_calls_and_the_same_in_every_run() {
    let scratch = Scratch::new();
    let (slow, some, again) = (
        scratch.path("slow"),
        scratch.path("some"),
        scratch.path("again"),
    );
    stdout(&["slice", shop(), &slow, "--min-duration", "500ms"]);
    let long = ["--min-duration", "500ms"];
    assert_eq!(top(&slow, &[]), top(shop(), &long));
    assert_eq!(calls(&slow, &[]), calls(shop(), &long));
    for path in [&some, &again] {
        stdout(&["slice", shop(), path, "--sample", "1/4"]);
    }
    assert_eq!(top(&some, &[]), top(&again, &[]));
    let kept = calls(&some, &[]);
    assert!(0 < kept && kept < calls(shop(), &[]) / 2, "{kept}");
    refused(
        &["slice", shop(), &scratch.path("x")],
        2,
        "say what to keep",
    );
    refused(
        &["slice", shop(), &scratch.path("x"), "--sample", "4"],
        2,
        "write 1/10",
    );
}

#[test]
fn merged_recordings_add_up() {
    let scratch = Scratch::new();
    let both = scratch.path("both");
    stdout(&["merge", shop(), shop(), &both]);
    assert_eq!(calls(&both, &[]), 2 * calls(shop(), &[]));
    assert_eq!(top(&both, &[]).0, 2 * top(shop(), &[]).0);
    refused(&["merge", shop(), &both], 2, "two inputs or more");
}

/// Texts of attributes and names of resources in a dump, as `dump --json` and the folders tell them.
fn secrets(path: &str) -> BTreeSet<String> {
    let listed = stdout(&["calls", "--json", path]);
    let first: Value = serde_json::from_str(listed.lines().next().expect("a call")).expect("JSON");
    let names: Vec<String> = first
        .as_object()
        .expect("an object")
        .keys()
        .cloned()
        .collect();
    let telling = |name: &String| {
        ["addr", "node", "binds", "url"]
            .iter()
            .any(|part| name.contains(part))
    };
    let mut found = BTreeSet::new();
    for line in listed.lines() {
        let call: Value = serde_json::from_str(line).expect("JSON");
        found.extend(
            names
                .iter()
                .filter(|name| telling(name))
                .filter_map(|name| call[name].as_str())
                .map(str::to_owned),
        );
        let id = call["id"].as_str().expect("an id");
        let tree: Value =
            serde_json::from_str(&stdout(&["call", path, id, "--json"])).expect("JSON");
        for span in tree["spans"].as_array().expect("spans") {
            for attribute in span["attributes"].as_array().expect("attributes") {
                let name = attribute["name"].as_str().unwrap_or_default();
                if telling(&name.to_owned()) {
                    let value = attribute["value"].as_str().unwrap_or_default();
                    found.extend(value.lines().map(str::to_owned));
                }
            }
        }
    }
    found.retain(|text| text.len() > 3);
    found
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// What a call tree looks like: total, then depth, total and count of each node.
fn shape(path: &str) -> (Value, Vec<[Value; 3]>) {
    let tree = stdout(&["tree", path, "--json", "--min-percent", "0"]);
    let tree: Value = serde_json::from_str(&tree).expect("JSON");
    let nodes = tree["nodes"].as_array().expect("nodes").iter();
    let of = |node: &Value| ["depth", "total", "count"].map(|member| node[member].clone());
    (tree["total"].clone(), nodes.map(of).collect())
}

/// A capture of every format that holds calls and their parameters, with what the shop would not tell.
#[test]
fn captures_of_other_formats_are_redacted_in_their_bytes() {
    let scratch = Scratch::new();
    let secrets = secrets(shop());
    let told = |path: &str| {
        let mut written = Vec::new();
        if Path::new(path).is_dir() {
            files(Path::new(path), &mut written);
        } else {
            written.push(PathBuf::from(path));
        }
        let texts = written.iter().map(|path| {
            let bytes = std::fs::read(path).expect("a file");
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let text: String = texts.collect();
        let told = secrets.iter().filter(|secret| text.contains(*secret));
        told.cloned().collect::<Vec<_>>()
    };
    for format in ["perfetto", "heph", "zorka-c", "zorka-b2", "csv", "chrome"] {
        let (plain, hidden, back) = (
            scratch.path(&format!("plain-{format}")),
            scratch.path(&format!("hidden-{format}")),
            scratch.path(&format!("back-{format}")),
        );
        let convert = |args: &[&str]| {
            let output = run(args);
            assert!(output.status.success(), "{args:?}: {}", stderr(&output));
            stderr(&output)
        };
        convert(&["convert", shop(), &plain, "--to", format]);
        let before = told(&plain);
        assert!(before.len() > 10, "{format} holds parameters: {before:?}");
        let hide = ["--redact", "hosts,addresses,sql,urls,paths"];
        // CSV is not read; the pauses of a Chrome trace come back as spans, which is another shape.
        let readable = !["csv", "chrome"].contains(&format);
        let source = if readable { plain.as_str() } else { shop() };
        let there = [&["convert", source, &hidden, "--to", format], &hide[..]].concat();
        let report = convert(&there);
        assert_eq!(told(&hidden), [] as [String; 0], "{format}");
        let in_report = secrets.iter().find(|secret| report.contains(*secret));
        assert_eq!(in_report, None, "{report}");
        if readable {
            assert_eq!(shape(&hidden), shape(&plain), "{format}");
            convert(&["convert", &hidden, &back, "--to", "cdt-dump"]);
            assert_eq!(told(&back), [] as [String; 0], "{format}");
        }
    }
}

#[test]
fn a_redacted_capture_goes_there_and_back_without_a_secret() {
    let scratch = Scratch::new();
    let (there, back, again) = (
        scratch.path("there.json"),
        scratch.path("streams"),
        scratch.path("dump"),
    );
    let redact = [
        "--redact",
        "hosts,addresses,sql,urls,paths",
        "--redact-key",
        "shared",
    ];
    let secrets = secrets(shop());
    assert!(
        secrets
            .iter()
            .any(|text| text.contains("10.") || text.contains("192.")),
        "{secrets:?}"
    );
    assert!(secrets.len() > 20, "{secrets:?}");

    let convert = |from: &str, to: &str, more: &[&str]| {
        let mut args = vec!["convert", from, to];
        args.extend(more);
        let output = run(&args);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        stderr(&output)
    };
    let streams: Vec<&str> = [&redact[..], &["--to", "cdt-streams"]].concat();
    let report = convert(shop(), &back, &streams);
    convert(&back, &again, &["--to", "cdt-dump"]);
    let json: Vec<&str> = [&redact[..], &["--to", "chrome"]].concat();
    let report = report + &convert(shop(), &there, &json);

    assert_eq!(shape(&again), shape(shop()));
    assert_eq!(calls(&again, &[]), calls(shop(), &[]));

    let mut written = Vec::new();
    files(Path::new(&again), &mut written);
    files(Path::new(&back), &mut written);
    written.push(PathBuf::from(&there));
    for path in written {
        let part = path.to_string_lossy().into_owned();
        // What is escaped or in phrases is looked at decoded too; Chrome JSON is plain.
        let mut text = if path == Path::new(&there) {
            String::new()
        } else {
            stdout(&["dump", &part, "--json"])
        };
        text.push_str(&String::from_utf8_lossy(
            &std::fs::read(&path).expect("a file"),
        ));
        for secret in &secrets {
            let quoted = Value::from(secret.as_str()).to_string();
            let plain = quoted.trim_matches('"');
            assert!(!text.contains(plain), "{secret} in {part}");
            assert!(
                !part[scratch.path("").len()..].contains(secret.as_str()),
                "{secret} names {part}"
            );
        }
    }
    assert!(
        secrets.iter().all(|secret| !report.contains(secret)),
        "{report}"
    );
}
