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

/// Samples that differ in time alone become one, and nothing of what they come to is lost but their times.
#[test]
fn a_profile_of_sums_says_what_one_of_samples_does() {
    let (folder, path) = recording();
    let converted = |name: &str, to: &str| {
        let out = folder.path().join(name).to_string_lossy().into_owned();
        let losses = stdout(&["convert", &path, &out, "--to", to, "--json"]);
        let values = stdout(&["top", &out, "--json", "-n", "1000"]);
        let mut top: Value = serde_json::from_str(&values).expect("JSON");
        for function in top["functions"].as_array_mut().expect("functions") {
            // It counts the samples of the profile, of which there are fewer.
            function.as_object_mut().expect("a row").remove("count");
        }
        let info = stdout(&["info", &out, "--json"]);
        let info: Value = serde_json::from_str(&info).expect("JSON");
        (
            losses,
            top,
            info["records"]["sample"].as_u64().expect("samples"),
        )
    };
    let (losses, top, n_samples) = converted("each.pb", "pprof");
    let (losses_of_sums, top_of_sums, n_sums) = converted("sums.pb", "pprof:sums");
    assert_eq!(top, top_of_sums);
    assert!(n_sums < n_samples, "{n_sums} of {n_samples}");
    let lost = |losses: &str| losses.contains("sample_times");
    assert_eq!((lost(&losses), lost(&losses_of_sums)), (false, true));
    let refused = run(&["convert", &path, "x.pb", "--to", "pprof:others"]);
    assert!(text(&refused.stderr).contains("there is sums"));
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

/// Appends a field of protobuf: a number, or bytes.
fn put(out: &mut Vec<u8>, field: u8, value: Result<u64, &[u8]>) {
    let varint = |out: &mut Vec<u8>, mut left: u64| {
        while left >= 0x80 {
            out.push(left.to_le_bytes()[0] | 0x80);
            left >>= 7;
        }
        out.push(left.to_le_bytes()[0]);
    };
    out.push(field << 3 | if value.is_ok() { 0 } else { 2 });
    match value {
        Ok(number) => varint(out, number),
        Err(bytes) => {
            varint(out, bytes.len() as u64);
            out.extend_from_slice(bytes);
        }
    }
}

/// A pprof profile with a sample of one function, of values by their types.
fn pprof(values: &[(&str, u64)]) -> Vec<u8> {
    let mut strings = vec!["", "count", "app.work"];
    let mut out = Vec::new();
    let (mut sample, mut location, mut line, mut function) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    put(&mut sample, 1, Ok(1));
    for (name, value) in values {
        let mut value_type = Vec::new();
        put(&mut value_type, 1, Ok(strings.len() as u64));
        put(&mut value_type, 2, Ok(1));
        strings.push(name);
        put(&mut out, 1, Err(&value_type));
        put(&mut sample, 2, Ok(*value));
    }
    put(&mut out, 2, Err(&sample));
    put(&mut line, 1, Ok(1));
    put(&mut location, 1, Ok(1));
    put(&mut location, 4, Err(&line));
    put(&mut out, 4, Err(&location));
    put(&mut function, 1, Ok(1));
    put(&mut function, 2, Ok(2));
    put(&mut out, 5, Err(&function));
    strings
        .iter()
        .for_each(|text| put(&mut out, 6, Err(text.as_bytes())));
    out
}

#[test]
fn what_is_zero_comes_after_what_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, values: &[(&str, u64)]| {
        let path = folder.path().join(name);
        std::fs::write(&path, pprof(values)).expect("a profile");
        path.to_str().expect("text").to_owned()
    };
    // As Datadog's profilers write them: the last value is the usual one, and that of a graphics card.
    let one = write(
        "one.pprof",
        &[("alloc", 7), ("wall-time", 9), ("gpu-time", 0)],
    );
    let other = write("other.pprof", &[("lock-hold", 0)]);
    let last = write("last.pprof", &[("samples", 3)]);
    let measures = |args: &[&str]| -> Vec<(String, i64)> {
        let rows = lines(&stdout(&[args, &["--json"]].concat()));
        let measure = |row: &Value| {
            let name = row["measure"].as_str().expect("a name").to_owned();
            (name, row["total"].as_i64().expect("a total"))
        };
        rows.iter().map(measure).collect()
    };
    let named = |name: &str, total| (name.to_owned(), total);
    for command in ["top", "tree"] {
        assert_eq!(measures(&[command, &one]), [named("wall-time", 9)]);
        // What is asked for is shown, whatever it comes to.
        assert_eq!(
            measures(&[command, &one, "--value", "gpu-time"]),
            [named("gpu-time", 0)]
        );
        assert_eq!(measures(&[command, &other]), [named("lock-hold", 0)]);
        assert_eq!(
            measures(&[command, &other, &last, &one]),
            [
                named("samples", 3),
                named("wall-time", 9),
                named("lock-hold", 0)
            ],
        );
    }
    let table = stdout(&["top", &other, &last]);
    let (first, second) = (
        table.find("cpu-samples (samples) of samples"),
        table.find("lock-hold of samples"),
    );
    assert!(first.is_some() && first < second, "{table}");
    let said = run(&["top", &one]);
    let said = String::from_utf8_lossy(&said.stderr);
    assert!(
        said.contains("the usual value is zero, this is wall-time"),
        "{said}"
    );
    // Pages open with it.
    for command in ["flame", "report"] {
        let page = folder.path().join("page.html");
        let page = page.to_str().expect("text");
        stdout(&[command, &other, &one, "-o", page, "--force"]);
        let text = std::fs::read_to_string(page).expect("a page");
        let (first, second) = (text.find("wall-time"), text.find("lock-hold"));
        assert!(
            first.is_some() && second.is_none_or(|second| first < Some(second)),
            "{command}"
        );
    }
}
