//! Commands over sampled profiles and events: `events`, `metrics`, values by their short names, flame graph
//! JSON, texts of ids.

mod program;

use std::path::PathBuf;

use program::{run, stdout, text};
use serde_json::Value;

fn lines(text: &str) -> Vec<Value> {
    let parse = |line| serde_json::from_str(line).expect("JSON");
    text.lines().map(parse).collect()
}

/// A folder with a recording made from a seed: several chunks, samples and an event of every kind of value.
fn recording() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path: PathBuf = folder.path().join("app.jfr");
    let mut bytes = Vec::new();
    let sample = traceloom_samples::by_name("jfr");
    sample.expect("a generator")(5, 200_000, &mut |piece| bytes.extend_from_slice(piece));
    std::fs::write(&path, bytes).expect("a file");
    let path = path.to_string_lossy().into_owned();
    (folder, path)
}

#[test]
fn types_of_events_are_counted_as_info_counts_them() {
    let (_folder, path) = recording();
    let info: Value = serde_json::from_str(&stdout(&["info", "--json", &path])).expect("JSON");
    let types = lines(&stdout(&["events", "--json", &path]));
    assert!(!types.is_empty());
    for row in &types {
        let name = row["type"].as_str().expect("a name");
        assert_eq!(row["events"], info["records"][name], "{name}");
    }
    let special = ["chunk", "jdk.Metadata", "jdk.CheckPoint"];
    let kinds = info["records"].as_object().expect("kinds").keys();
    let kinds = kinds.filter(|kind| !special.contains(&kind.as_str()));
    assert_eq!(kinds.count(), types.len());
}

#[test]
fn events_of_a_type_are_a_table() {
    let (_folder, path) = recording();
    let columns = "time,thread,state,stack";
    let query = |more: &[&str]| {
        let mut args = vec!["events", &path, "--type", "ExecutionSample"];
        args.extend(more);
        stdout(&args)
    };
    let csv = query(&["--columns", columns, "--csv"]);
    assert!(
        csv.starts_with("time (ns),thread,attr.state,stack\r\n"),
        "{csv}"
    );
    let rows = lines(&query(&["--json"]));
    assert_eq!(csv.lines().count(), rows.len() + 1);
    let falling = lines(&query(&["--json", "--sort", "-time", "-n", "3"]));
    let times: Vec<i64> = falling
        .iter()
        .map(|row| row["time"].as_i64().expect("a time"))
        .collect();
    let mut all: Vec<i64> = rows
        .iter()
        .map(|row| row["time"].as_i64().expect("a time"))
        .collect();
    all.sort_unstable();
    all.reverse();
    assert_eq!(times, all[..3]);
    // A type as described in two chunks is one; structures are reached into.
    let everything = lines(&stdout(&[
        "events",
        &path,
        "--type",
        "com.acme.*",
        "--json",
    ]));
    let inside = everything[0]["attributes"].as_object();
    let inside = inside.expect("fields of an event").iter();
    let (name, map) = inside
        .clone()
        .find_map(|(name, value)| Some((name, value.as_object()?)))
        .expect("a structure");
    let (key, value) = map.iter().next().expect("a field");
    let nested = format!("{name}.{key}");
    let picked = lines(&stdout(&[
        "events",
        &path,
        "--type",
        "com.acme.*",
        "--columns",
        &nested,
        "--json",
        "-n",
        "1",
    ]));
    assert_eq!(&picked[0]["attributes"][&nested], value);
}

#[test]
fn mistyped_types_and_columns_get_a_hint() {
    let (_folder, path) = recording();
    let output = run(&["events", &path, "--type", "ExecutionSampel"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("did you mean `ExecutionSample`"));
    let output = run(&[
        "events",
        &path,
        "--type",
        "ExecutionSample",
        "--columns",
        "stat",
    ]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("did you mean"));
    // Any format with events has types.
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
    assert!(stdout(&["events", shop]).contains("pause"));
}

#[test]
fn a_value_goes_by_its_short_name_everywhere() {
    let (folder, path) = recording();
    let top = |value: &str| -> Value {
        serde_json::from_str(stdout(&["top", "--json", "--value", value, &path]).trim())
            .expect("one measure")
    };
    assert_eq!(top("cpu"), top("cpu-time"));
    let total = top("cpu")["total"].as_i64().expect("a total");
    let out = folder.path().join("cpu.folded");
    let out = out.to_string_lossy();
    assert!(
        run(&["convert", &path, &out, "--value", "cpu-time"])
            .status
            .success()
    );
    let folded = std::fs::read_to_string(&*out).expect("folded stacks");
    let count = |line: &str| -> i64 {
        let (_, count) = line.rsplit_once(' ').expect("a count");
        count.parse().expect("a number")
    };
    assert_eq!(folded.lines().map(count).sum::<i64>(), total);
    let output = run(&["convert", &path, &out, "--force", "--value", "shoes"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("there are "),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn flame_graph_json_has_dimensions_and_units() {
    let (folder, path) = recording();
    let out = folder.path().join("app.json");
    let out = out.to_string_lossy();
    let drawn = run(&[
        "flame",
        &path,
        "-o",
        &out,
        "--value",
        "cpu",
        "--dimension",
        "class",
        "--unit",
        "ms",
        "--lang",
        "zh",
    ]);
    assert!(drawn.status.success(), "{}", text(&drawn.stderr));
    let graph: Value =
        serde_json::from_slice(&std::fs::read(&*out).expect("a file")).expect("JSON");
    assert_eq!(graph["dimension"], "class");
    assert_eq!(graph["unit"], "毫秒");
    let converted = folder.path().join("again.json");
    let converted = converted.to_string_lossy();
    let again = run(&[
        "convert",
        &path,
        &converted,
        "--to",
        "flamegraph-json:class",
        "--value",
        "cpu",
        "--unit",
        "ms",
        "--lang",
        "zh",
    ]);
    assert!(again.status.success(), "{}", text(&again.stderr));
    let again = std::fs::read(&*converted).expect("a file");
    assert_eq!(again, std::fs::read(&*out).expect("a file"));
    let wrong = run(&["convert", &path, "x.folded", "--dimension", "class"]);
    assert_eq!(wrong.status.code(), Some(2));
    let wrong = run(&["flame", &path, "-o", "x.svg", "--unit", "ms"]);
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn metrics_are_the_same_in_every_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("metrics.json");
    std::fs::write(
        &path,
        r#"[["go_cpu_cores", 1.5], ["go_num_goroutine", 12]]"#,
    )
    .expect("a file");
    let path = path.to_string_lossy();
    let [point] = &lines(&stdout(&["metrics", "--json", &path]))[..] else {
        panic!("one point")
    };
    assert_eq!(point["tags"]["language"], "golang");
    assert_eq!(point["metrics"]["prof_go_cpu_cores"], 1.5);
    assert_eq!(point["metrics"]["prof_go_num_goroutine"], 12);
    let line = stdout(&["metrics", "--line-protocol", &path]);
    assert_eq!(
        line,
        "profiling_metrics,language=golang prof_go_cpu_cores=1.5,prof_go_num_goroutine=12i\n"
    );
    let out = folder.path().join("points.lp");
    let out = out.to_string_lossy();
    assert!(
        run(&["convert", &path, &out, "--to", "line-protocol:metrics"])
            .status
            .success()
    );
    assert_eq!(std::fs::read_to_string(&*out).expect("points"), line);
    assert!(stdout(&["metrics", &path]).contains("1.500 cores  prof_go_cpu_cores"));
    let csv = stdout(&["metrics", "--csv", &path]);
    assert!(csv.contains("prof_go_num_goroutine,12,"), "{csv}");
    let none = run(&[
        "metrics",
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop"),
    ]);
    assert!(none.status.success());
    assert!(text(&none.stderr).contains("no metrics"));
}

#[test]
fn ids_get_their_texts() {
    let (_folder, path) = recording();
    let dumped = lines(&stdout(&["dump", "--json", "--resolve", &path]));
    let mut samples = dumped
        .iter()
        .filter(|row| row["kind"] == "jdk.ExecutionSample");
    let sample = samples.next().expect("a sample");
    let thread = sample["sampledThread_text"].as_str().expect("a thread");
    assert!(thread.starts_with("worker-"), "{sample}");
    let stack = sample["stackTrace_text"].as_str().expect("a stack");
    assert!(
        stack.starts_with("com.acme.shop.Part") && stack.contains(".step"),
        "{stack}"
    );
    // Constants refer to each other.
    let mut pools = dumped.iter().filter(|row| row["kind"] == "jdk.CheckPoint");
    assert!(pools.any(|row| row["pools"].to_string().contains("name_text")));
    assert!(
        sample["annotations"]["startTime"]["Timestamp"] == "TICKS",
        "{sample}"
    );
    let plain = lines(&stdout(&["dump", "--json", &path]));
    assert!(!plain.iter().any(|row| row.to_string().contains("_text")));
}

#[test]
fn events_are_chosen_by_the_filter_language() {
    let Ok(corpus) = std::env::var("TRACELOOM_CORPUS") else {
        return;
    };
    let path = format!("{corpus}/datakit/jfrp_dd-trace-java.jfr.gz");
    let count = |args: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_traceloom"))
            .args(["events", &path, "--json"])
            .args(args)
            .output()
            .expect("the program runs");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).lines().count()
    };
    let kinds = count(&[]);
    let collections = count(&["--type", "jdk.GarbageCollection"]);
    assert!(kinds > 10 && collections > 0);
    assert_eq!(count(&["--filter", "kind = jdk.GarbageCollection"]), 1);
    let all = ["--type", "*", "--filter"];
    let of = |filter: &str| count(&[&all[..], &[filter]].concat());
    assert_eq!(of("kind = jdk.GarbageCollection"), collections);
    let lasting = of("duration > 1ms");
    assert!(lasting > 0 && lasting < count(&["--type", "*"]));
    let threads = of("thread ~ .");
    assert_eq!(
        of("thread ~ . and not duration > 1ms") + of("thread ~ . and duration > 1ms"),
        threads
    );
}
