//! What stands between source and target, as a user meets it: windows, clocks, choices, pseudonyms.

mod program;

#[path = "../../formats/tests/corpus/mod.rs"]
mod corpus;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use program::{SHOP, run, stdout};
use serde_json::Value;
use traceloom_input::save::MARKER;

const WINDOW: [&str; 4] = [
    "--since",
    "2026-03-14T04:51:57Z",
    "--until",
    "2026-03-14T04:51:58Z",
];

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
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
    let (total, rows) = top(SHOP, &WINDOW);
    let (whole, _) = top(SHOP, &[]);
    assert!(0 < total && total < whole, "{total} of {whole}");
    assert_eq!(rows.values().map(|row| row.0).sum::<i64>(), total);

    let mut args = vec!["tree", "--json", "--min-percent", "0", SHOP];
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
    let mut args = vec!["slice", SHOP, &cut];
    args.extend(WINDOW);
    stdout(&args);
    let kind: Value = serde_json::from_str(&stdout(&["info", "--json", &cut])).expect("JSON");
    assert_eq!(kind["format"], "cdt-dump");
    assert_eq!(top(&cut, &[]), (total, rows));
    // A call that goes on behind the border has no row in this format.
    assert!(calls(&cut, &[]) <= calls(SHOP, &WINDOW));

    // Both halves of a cut are together the whole.
    let border = "2026-03-14T04:51:57.2Z";
    let before = top(SHOP, &["--until", border]).0;
    let after = top(SHOP, &["--since", border]).0;
    assert_eq!(before + after, whole);
}

#[test]
fn borders_count_from_the_start_the_end_and_in_zones() {
    let all = calls(SHOP, &[]);
    assert_eq!(calls(SHOP, &["--since", "+0s"]), all);
    assert_eq!(calls(SHOP, &["--since", "-10h"]), all);
    let utc = calls(SHOP, &["--since", "2026-03-14T04:51:50Z"]);
    assert_eq!(
        calls(
            SHOP,
            &["--since", "2026-03-14 05:51:50", "--tz", "Europe/Berlin"]
        ),
        utc
    );
    assert!(0 < utc && utc < all);
    refused(&["top", SHOP, "--since", "soon"], 2, "is no time");
    refused(
        &["top", SHOP, "--since", "+2s", "--until", "+1s"],
        2,
        "--until is not after --since",
    );
    let empty = run(&["calls", SHOP, "--since", "+300h"]);
    assert!(
        stderr(&empty).contains("nothing from 2026-03-26"),
        "{}",
        stderr(&empty)
    );
}

#[test]
fn a_call_across_the_border_is_listed_with_the_part_inside() {
    let rows = |flags: &[&str]| -> Vec<serde_json::Value> {
        let mut args = vec![
            "calls",
            "--json",
            "--columns",
            "start,duration,status",
            SHOP,
        ];
        args.extend(flags);
        let lines = stdout(&args);
        let rows = lines.lines().map(serde_json::from_str);
        rows.collect::<Result<_, _>>().expect("JSON")
    };
    let (all, some) = (rows(&[]), rows(&WINDOW));
    assert!(!some.is_empty() && some.len() < all.len());
    let mut cut = 0;
    for row in &some {
        let whole = all.iter().find(|whole| whole["id"] == row["id"]);
        let whole = whole.expect("the same call");
        let partial = row["status"] == "running" || row["status"] == "begun";
        assert_eq!(partial, row != whole, "{row} {whole}");
        assert!(row["duration"].as_i64() <= whole["duration"].as_i64());
        cut += usize::from(row != whole);
    }
    assert!(cut > 0);
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
        &["top", SHOP, "--shift", "nowhere=+1s"],
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
    refused(&["convert", SHOP, &out], 1, "--as-samples");
    assert!(!Path::new(&out).exists());
    stdout(&["convert", SHOP, &out, "--as-samples"]);
    let (total, rows) = top(SHOP, &[]);
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
        &["convert", SHOP, &out, "--as-spans", "--force"],
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
    stdout(&["slice", SHOP, &slow, "--min-duration", "500ms"]);
    let long = ["--min-duration", "500ms"];
    assert_eq!(top(&slow, &[]), top(SHOP, &long));
    assert_eq!(calls(&slow, &[]), calls(SHOP, &long));
    for path in [&some, &again] {
        stdout(&["slice", SHOP, path, "--sample", "1/4"]);
    }
    assert_eq!(top(&some, &[]), top(&again, &[]));
    let kept = calls(&some, &[]);
    assert!(0 < kept && kept < calls(SHOP, &[]) / 2, "{kept}");
    refused(&["slice", SHOP, &scratch.path("x")], 2, "say what to keep");
    refused(
        &["slice", SHOP, &scratch.path("x"), "--sample", "4"],
        2,
        "write 1/10",
    );
}

#[test]
fn merged_recordings_add_up() {
    let scratch = Scratch::new();
    let both = scratch.path("both");
    stdout(&["merge", SHOP, SHOP, &both]);
    assert_eq!(calls(&both, &[]), 2 * calls(SHOP, &[]));
    assert_eq!(top(&both, &[]).0, 2 * top(SHOP, &[]).0);
    refused(&["merge", SHOP, &both], 2, "two inputs or more");
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
                    texts(&attribute["value"], &mut found);
                }
            }
        }
    }
    found.retain(|text| text.len() > 3);
    found
}

/// Adds the lines of every text in a value.
fn texts(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => found.extend(text.lines().map(str::to_owned)),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(pairs) => pairs.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

/// Lists the files that a conversion wrote into a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if !path.ends_with(MARKER) {
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
    let secrets = secrets(SHOP);
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
            let output = run(&[args, &["--losses"]].concat());
            assert!(output.status.success(), "{args:?}: {}", stderr(&output));
            stderr(&output)
        };
        convert(&["convert", SHOP, &plain, "--to", format]);
        let before = told(&plain);
        assert!(before.len() > 10, "{format} holds parameters: {before:?}");
        let hide = ["--redact", "hosts,addresses,sql,urls,paths"];
        // CSV is not read; the pauses of a Chrome trace come back as spans, which is another shape.
        let readable = !["csv", "chrome"].contains(&format);
        let source = if readable { plain.as_str() } else { SHOP };
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
    let secrets = secrets(SHOP);
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
        args.push("--losses");
        let output = run(&args);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        stderr(&output)
    };
    let streams: Vec<&str> = [&redact[..], &["--to", "cdt-streams"]].concat();
    let report = convert(SHOP, &back, &streams);
    convert(&back, &again, &["--to", "cdt-dump"]);
    let json: Vec<&str> = [&redact[..], &["--to", "chrome"]].concat();
    let report = report + &convert(SHOP, &there, &json);

    assert_eq!(shape(&again), shape(SHOP));
    assert_eq!(calls(&again, &[]), calls(SHOP, &[]));

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

/// The sum of the last numbers of all lines.
fn folded_total(path: &str) -> i64 {
    let text = fs::read_to_string(path).expect("folded stacks");
    let count = |line: &str| line.rsplit(' ').next()?.parse::<i64>().ok();
    text.lines().map(|line| count(line).expect("a count")).sum()
}

#[test]
fn folded_stacks_hold_every_profile_of_every_input() {
    let scratch = Scratch::new();
    let write = |name: &str, text: &str| {
        let path = scratch.path(name);
        fs::write(&path, text).expect("a file");
        path
    };
    let one = write("one.folded", "main;a 3\nmain;b 4\n 2\n");
    let two = write("two.folded", "main;b 10\nother 20\n");
    let both = scratch.path("both.folded");
    stdout(&["merge", &one, &two, "-o", &both, "--deny-loss"]);
    assert_eq!(
        fs::read_to_string(&both).expect("a file"),
        "(no stack) 2\nmain;a 3\nmain;b 14\nother 20\n"
    );
    assert_eq!(top(&both, &[]).0, 39);

    // Two profiles in one file.
    let sampled = |name: &str, weight: u32, unit: &str| {
        format!(
            r#"{{"type":"sampled","name":"{name}","unit":"{unit}","startValue":0,"endValue":9,
            "samples":[[0]],"weights":[{weight}]}}"#
        )
    };
    let speedscope = |unit: &str| {
        format!(
            r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{{"frames":[{{"name":"f"}}]}},
            "profiles":[{},{}]}}"#,
            sampled("first", 5, "nanoseconds"),
            sampled("second", 7, unit)
        )
    };
    let alike = write("alike.speedscope.json", &speedscope("nanoseconds"));
    let out = scratch.path("out.folded");
    stdout(&["convert", &alike, &out]);
    assert_eq!(fs::read_to_string(&out).expect("a file"), "f 12\n");
    // Nanoseconds and bytes are no sum: one is written, and the other is named with the way to write it.
    let mixed = write("mixed.speedscope.json", &speedscope("bytes"));
    let output = run(&["convert", &mixed, &out, "--force", "--losses"]);
    assert_eq!(fs::read_to_string(&out).expect("a file"), "f 5\n");
    let said = stderr(&output);
    let lost = said
        .lines()
        .find(|line| line.starts_with("lost many_values"));
    let name = lost
        .expect("a lost value")
        .split(' ')
        .nth(2)
        .expect("a name");
    assert!(said.contains(&format!("--to 'folded:{name}'")), "{said}");
    stdout(&[
        "convert",
        &mixed,
        &out,
        "--force",
        "--to",
        &format!("folded:{name}"),
    ]);
    assert_eq!(fs::read_to_string(&out).expect("a file"), "f 7\n");
    refused(
        &["convert", &mixed, &out, "--force", "--to", "folded:other"],
        1,
        "no profile has a column `other`",
    );
}

#[test]
fn a_line_with_two_numbers_is_a_comparison() {
    let scratch = Scratch::new();
    let path = scratch.path("diff.folded");
    fs::write(&path, "a;b 10 20\na;c 3 0\n").expect("a file");
    let (total, rows) = top(&path, &[]);
    assert_eq!(total, 20);
    assert_eq!(rows.keys().collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(top(&path, &["--value", "before"]).0, 13);
    let again = scratch.path("again.folded");
    stdout(&["convert", &path, &again, "--deny-loss"]);
    assert_eq!(
        fs::read_to_string(&again).expect("a file"),
        "a;b 10 20\na;c 3 0\n"
    );
}

/// Statistics of methods have own times, because the readers of these formats add up what is below a function.
#[test]
fn records_become_samples_of_their_own_time() {
    let scratch = Scratch::new();
    let Some(corpus) = corpus::root() else {
        return;
    };
    for folder in ["gen-b-agent-streaming", "gen-b-driver", "gen-c-agent-local"] {
        let from = corpus.join("zorka").join(folder);
        let from = from.to_str().expect("a path");
        let (total, _) = top(from, &[]);
        let out = scratch.path("out.folded");
        stdout(&["convert", from, &out, "--force"]);
        assert_eq!(folded_total(&out), total, "{folder}");
        let out = scratch.path("out.pprof");
        stdout(&["convert", from, &out, "--force"]);
        assert_eq!(top(&out, &[]).0, total, "{folder}");
    }
}

/// When a profile was taken and for how long, in milliseconds since 1970.
fn taken(path: &str) -> Option<(i64, i64)> {
    let info: Value = serde_json::from_str(&stdout(&["info", "--json", path])).expect("JSON");
    let time = &info["time"];
    let (start, end) = (time["start_ns"].as_i64()?, time["end_ns"].as_i64()?);
    Some((start / 1_000_000, (end - start) / 1_000_000))
}

#[test]
fn a_profile_keeps_the_time_that_its_source_knows() {
    let scratch = Scratch::new();
    let out = scratch.path("out.pprof");
    stdout(&["convert", SHOP, &out, "--as-samples"]);
    let dumped = stdout(&["dump", "--json", &out]);
    for (kind, value) in [
        ("time_nanos", 1_773_463_908_024_000_000_i64),
        ("duration_nanos", 31_382_000_000),
    ] {
        let row = dumped
            .lines()
            .find(|line| line.contains(&format!("\"{kind}\"")));
        let row: Value = serde_json::from_str(row.expect("a field")).expect("JSON");
        assert_eq!(row["value"], value, "{kind}");
    }
    assert_eq!(taken(&out), Some((1_773_463_908_024, 31_382)));

    // The clock of V8 has no date.
    let profile = scratch.path("x.cpuprofile");
    let text = r#"{"nodes":[{"id":1,"callFrame":{"functionName":"f","scriptId":"0","url":"","lineNumber":-1,
        "columnNumber":-1},"hitCount":2}],"startTime":214600000000,"endTime":214600002000,"samples":[1,1],
        "timeDeltas":[0,1000]}"#;
    fs::write(&profile, text).expect("a file");
    stdout(&["convert", &profile, &out, "--force"]);
    let dumped = stdout(&["dump", "--json", &out]);
    assert!(!dumped.contains("\"time_nanos\""), "{dumped}");
    let duration = dumped
        .lines()
        .find(|line| line.contains("\"duration_nanos\""));
    let duration: Value = serde_json::from_str(duration.expect("a field")).expect("JSON");
    assert_eq!(duration["value"], 2_000_000);
}

#[test]
fn a_profile_is_one_point_with_what_is_known_of_it() {
    let Some(corpus) = corpus::root() else {
        return;
    };
    let scratch = Scratch::new();
    let file = |name: &str| corpus.join("datakit").join(name).display().to_string();
    let out = scratch.path("out.lp");
    let written = |args: &[&str]| {
        let all: Vec<&str> = ["convert"].iter().chain(args).copied().collect();
        let said = stderr(&run(&[
            &all[..],
            &["-o", &out, "--force", "--losses", "--to"][..],
            &["line-protocol"],
        ]
        .concat()));
        (fs::read_to_string(&out).expect("points"), said)
    };
    let (recording, said) = written(&[&file("dk_ddtrace_main.jfr")]);
    assert_eq!(recording.lines().count(), 1);
    for part in [
        ",service=cloudcare-backend,",
        "env=prod,",
        "language=java,",
        "format=\"jfr\"",
        "profile_id=\"",
        "prof_jvm_cpu_cores",
    ] {
        assert!(recording.contains(part), "{part}: {recording}");
    }
    // What is not written is counted, and a variant writes it.
    assert!(said.contains("lost events jdk."), "{said}");
    let to = "line-protocol:events";
    stdout(&[
        "convert",
        &file("dk_ddtrace_main.jfr"),
        "-o",
        &out,
        "--force",
        "--to",
        to,
    ]);
    assert!(fs::read_to_string(&out).expect("points").lines().count() > 10_000);

    let (two, _) = written(&[&file("dk_go_cpu.pprof"), &file("dk_go_delta-heap.pprof")]);
    let lines: Vec<&str> = two.lines().collect();
    let [cpu, heap] = lines[..] else {
        panic!("{two}");
    };
    assert!(
        cpu.starts_with("profile,language=golang profile_id="),
        "{cpu}"
    );
    assert!(cpu.contains("prof_go_cpu_cores") && cpu.contains("format=\"pprof\""));
    assert!(heap.contains("prof_go_lifetime_heap_bytes"), "{heap}");
    let id = |line: &str| line.split('"').nth(1).expect("an id").to_owned();
    assert_ne!(id(cpu), id(heap));

    // Written again, points are what they were, and their metrics are read.
    let again = scratch.path("again.lp");
    let kept = scratch.path("kept.lp");
    fs::write(&kept, &two).expect("points");
    stdout(&["convert", &kept, &again, "--deny-loss"]);
    assert_eq!(fs::read_to_string(&again).expect("points"), two);
    let metrics = stdout(&["metrics", &kept]);
    assert!(metrics.contains("prof_go_cpu_cores"), "{metrics}");

    let to = "line-protocol:samples,service=shop,host=node-1";
    stdout(&[
        "convert",
        &file("dk_go_cpu.pprof"),
        "-o",
        &out,
        "--force",
        "--to",
        to,
    ]);
    let line = fs::read_to_string(&out).expect("a point");
    assert!(
        line.starts_with("profile,host=node-1,language=golang,service=shop "),
        "{line}"
    );
    assert!(line.contains("samples=\"{\\\"cpu-time\\\":[{"), "{line}");
    assert_eq!(top(&out, &[]).0, 6_070_000_000);
}

/// The difference of two profiles has values of both signs.
#[test]
fn a_difference_shows_losses_and_gains() {
    let scratch = Scratch::new();
    let path = scratch.path("delta.folded");
    fs::write(&path, "a;b 10\na;c -30\nd 5\na;e 20\n").expect("a file");
    let pprof = scratch.path("delta.pprof");
    stdout(&["convert", &path, &pprof]);
    for file in [&path, &pprof] {
        let json: Value = serde_json::from_str(&stdout(&["top", "--json", file])).expect("JSON");
        let rows = json["functions"].as_array().expect("functions");
        let row = |row: &Value| {
            let percent = row["self_percent"].as_f64().expect("a share");
            let name = row["function"].as_str().expect("a name").to_owned();
            (
                name,
                row["self"].as_i64().expect("a value"),
                (percent * 100.0).round() as i64,
            )
        };
        // As `go tool pprof -top` has them: of 65 in all.
        let expected = [
            ("c", -30, -4615),
            ("e", 20, 3077),
            ("b", 10, 1538),
            ("d", 5, 769),
            ("a", 0, 0),
        ];
        let expected = expected.map(|(name, own, percent)| (name.to_owned(), own, percent));
        assert_eq!(rows.iter().map(row).collect::<Vec<_>>(), expected, "{file}");
        assert_eq!((&json["total"], &json["changes"]), (&5.into(), &65.into()));
        let tree = stdout(&["tree", file]);
        for name in ["b", "c", "d", "e"] {
            assert!(
                tree.lines().any(|line| line.ends_with(&format!(" {name}"))),
                "{tree}"
            );
        }
    }
}

/// Appends a field of protocol buffers with a length.
fn field(number: u8, body: &[u8], out: &mut Vec<u8>) {
    out.extend([number << 3 | 2, u8::try_from(body.len()).expect("short")]);
    out.extend_from_slice(body);
}

/// As `go tool pprof -diff_base` writes it and `-top` shows it: samples of the base are marked, and shares are of them.
#[test]
fn shares_of_a_marked_difference_are_of_its_base() {
    let scratch = Scratch::new();
    let path = scratch.path("marked.pprof");
    let mut profile = Vec::new();
    field(1, &[8, 1, 16, 2], &mut profile);
    // Values below zero take ten bytes.
    let varint = |mut value: u64| {
        let mut bytes = Vec::new();
        while value > 0x7f {
            bytes.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    };
    for (stack, value, is_base) in [
        ([2, 1], -20_i64, true),
        ([3, 3], -30, true),
        ([2, 1], 25, false),
        ([4, 1], 15, false),
    ] {
        let mut sample = Vec::new();
        field(1, &stack, &mut sample);
        field(2, &varint(value.cast_unsigned()), &mut sample);
        if is_base {
            field(3, &[8, 7, 16, 8], &mut sample);
        }
        field(2, &sample, &mut profile);
    }
    for id in 1..=4 {
        field(4, &[8, id, 0x22, 2, 8, id], &mut profile);
        field(5, &[8, id, 16, id + 2], &mut profile);
    }
    for text in [
        "",
        "cpu",
        "nanoseconds",
        "a",
        "b",
        "c",
        "d",
        "pprof::base",
        "true",
    ] {
        field(6, text.as_bytes(), &mut profile);
    }
    fs::write(&path, profile).expect("a file");
    let json: Value = serde_json::from_str(&stdout(&["top", "--json", &path])).expect("JSON");
    let rows = json["functions"].as_array().expect("functions").iter();
    let rows = rows.map(|row| {
        (
            row["function"].as_str(),
            row["self"].as_i64(),
            row["self_percent"].as_f64(),
        )
    });
    let expected = [
        ("c", -30, -60.0),
        ("d", 15, 30.0),
        ("b", 5, 10.0),
        ("a", 0, 0.0),
    ];
    let expected = expected.map(|(name, own, share)| (Some(name), Some(own), Some(share)));
    assert_eq!(rows.collect::<Vec<_>>(), expected);
    assert_eq!((&json["total"], &json["base"]), (&(-10).into(), &50.into()));
    for view in [&["top"][..], &["top", "--by", "thread"]] {
        let said = stdout(&[view, &[&path]].concat());
        assert!(said.contains("total -10 ns, base 50 ns"), "{said}");
    }
}

#[test]
fn metrics_of_go_have_no_date() {
    let scratch = Scratch::new();
    let path = scratch.path("metrics.json");
    fs::write(
        &path,
        "[[\"go_num_goroutine\",26],[\"go_gcs_per_sec\",0.5]]",
    )
    .expect("a file");
    for command in ["info", "events", "metrics"] {
        let said = stdout(&[command, &path]);
        assert!(!said.contains("1970"), "{command}: {said}");
    }
    let out = scratch.path("out.lp");
    stdout(&["convert", &path, &out]);
    let line = fs::read_to_string(&out).expect("a point");
    assert!(
        line.contains("prof_go_num_goroutine") && line.ends_with("\"\n"),
        "{line}"
    );
}

/// Of a recording with several profiles folded stacks hold what views show first: CPU time.
#[test]
fn folded_stacks_of_a_recording_are_its_cpu_time() {
    let Some(corpus) = corpus::root() else {
        return;
    };
    let scratch = Scratch::new();
    let out = scratch.path("out.folded");
    let from = corpus.join("datakit/dk_ddtrace_main.jfr");
    let from = from.to_str().expect("a path");
    stdout(&["convert", from, &out]);
    assert_eq!(folded_total(&out), top(from, &[]).0);
    assert_eq!(folded_total(&out), 26_640_000_000);
}
