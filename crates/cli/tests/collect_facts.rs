//! Facts of captures: what the catalog says of a sealed capture is what other commands say of it, whatever became of the catalog.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;

use std::path::Path;
use std::time::{Duration, Instant};

use collected::http::captures;
use collected::{Collector, eventually, json_rows, run, stdout, text};
use serde_json::{Value, json};

/// Waits until each of `n` captures has facts, and returns their rows.
fn with_facts(data: &Path, n: usize) -> Vec<Value> {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let rows = captures(data);
        if rows.len() == n && rows.iter().all(|row| row["facts"].is_object()) {
            return rows;
        }
        assert!(Instant::now() < until, "no facts: {rows:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn rows(args: &[&str]) -> Vec<Value> {
    json_rows(&run(args))
}

fn sum(values: impl IntoIterator<Item = Value>) -> u64 {
    values.into_iter().filter_map(|value| value.as_u64()).sum()
}

/// What commands that read a capture say of it, as facts have it.
fn read_again(data: &Path, capture: &Value) -> Value {
    let id = capture["id"].as_str().expect("an id");
    let path = format!("{}#{id}", data.display());
    let info = rows(&["info", "--json", &path]);
    let inputs = match info[0]["inputs"].as_array() {
        Some(inputs) => inputs.clone(),
        None => info.clone(),
    };
    let records = inputs.iter().flat_map(|part| {
        let kinds = part["records"].as_object().cloned().unwrap_or_default();
        kinds.into_iter().map(|(_, count)| count)
    });
    let notes = rows(&["check", "--json", &path]);
    let of = |level: &str| {
        let of_level = notes.iter().filter(|note| note["level"] == level);
        sum(of_level.map(|note| note["count"].clone()))
    };
    let calls = rows(&["calls", "--json", "--columns", "all", &path]);
    let failed = calls.iter().filter(|call| call["error"] == true);
    json!({
        "revision": capture["revision"],
        "decoded": true,
        "records": sum(records),
        "calls": calls.len(),
        "errors": failed.count(),
        "longest_ns": calls.iter().filter_map(|call| call["duration"].as_u64()).max().unwrap_or(0),
        "notes": {"info": of("info"), "warn": of("warn"), "damage": of("damage")},
    })
}

fn without_times(facts: &Value) -> Value {
    let mut facts = facts.clone();
    let fields = facts.as_object_mut().expect("an object");
    fields.remove("first_ns");
    fields.remove("last_ns");
    facts
}

#[test]
fn facts_are_what_commands_say_of_a_capture() {
    let scratch = tempfile::tempdir().expect("a folder");
    let scratch = scratch.path();
    let data = scratch.join("data");
    let streams = collected::streams(scratch);
    let collector = Collector::start(&data, &[]);
    stdout(&["send", text(&streams), "--to", &collector.url]);
    // Spans with errors, a sampled profile, and what nobody knows.
    let zipkin = scratch.join("zipkin.json");
    let mut sent: Value = serde_json::from_str(&spans(1_700_000_000_000_000, 5)).expect("JSON");
    sent[2]["tags"] = json!({"error": "timeout"});
    std::fs::write(&zipkin, sent.to_string()).expect("a file");
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
    let pprof = scratch.join("shop.pprof");
    stdout(&[
        "convert",
        shop,
        text(&pprof),
        "--to",
        "pprof",
        "--as-samples",
    ]);
    let unknown = scratch.join("unknown");
    std::fs::write(&unknown, b"nothing of any format\n\0\x01").expect("a file");
    for file in [&zipkin, &pprof, &unknown] {
        stdout(&["push", text(file), "--to", &collector.http]);
    }
    let listed = with_facts(&data, 4);
    for capture in &listed {
        let facts = &capture["facts"];
        assert_eq!(
            without_times(facts),
            read_again(&data, capture),
            "{capture}"
        );
    }
    let n_calls: Vec<_> = listed
        .iter()
        .map(|row| row["facts"]["calls"].as_u64())
        .collect();
    assert!(n_calls[0] > Some(0) && n_calls[1] > Some(0), "{n_calls:?}");
    assert_eq!((n_calls[2], n_calls[3]), (Some(0), Some(0)));
    assert_eq!(listed[1]["facts"]["errors"], 1);
    // Times are those of the calls themselves.
    for capture in &listed[..2] {
        let path = format!(
            "{}#{}",
            data.display(),
            capture["id"].as_str().expect("an id")
        );
        let calls = rows(&["calls", "--json", "--columns", "start,duration", &path]);
        let start = |call: &Value| call["start"].as_i64().expect("a start");
        let end = |call: &Value| start(call) + call["duration"].as_i64().expect("a duration");
        let facts = &capture["facts"];
        assert!(facts["first_ns"].as_i64() <= calls.iter().map(start).min());
        assert!(facts["last_ns"].as_i64() >= calls.iter().map(end).max());
        assert!(facts["last_ns"].as_i64() > facts["first_ns"].as_i64());
    }
    assert_eq!(listed[3]["facts"]["first_ns"], Value::Null);
    let table = stdout(&["captures", "ls", text(&data)]);
    for column in ["records", "notes", "first", "last"] {
        assert!(
            table
                .lines()
                .next()
                .is_some_and(|head| head.contains(column)),
            "{table}"
        );
    }

    // The catalog is lost, or damaged: the next start makes it again, and so does the command.
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
    let catalog = data.join("catalog");
    let of =
        |rows: &[Value]| -> Vec<Value> { rows.iter().map(|row| row["facts"].clone()).collect() };
    let expected = of(&listed);
    std::fs::remove_file(&catalog).expect("a catalog");
    assert!(of(&captures(&data)).iter().all(Value::is_null));
    stdout(&["captures", "rebuild", text(&data)]);
    assert_eq!(of(&captures(&data)), expected);
    let mut bytes = std::fs::read(&catalog).expect("a catalog");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&catalog, &bytes).expect("a catalog");
    assert_eq!(
        of(&captures(&data))
            .iter()
            .filter(|facts| facts.is_null())
            .count(),
        1
    );
    let collector = Collector::start(&data, &[]);
    assert_eq!(of(&with_facts(&data, 4)), expected);
    drop(collector);
}

/// Returns spans of one service as Zipkin's senders write them, from a moment on, a second apart.
fn spans(first_us: u64, n: u64) -> String {
    let spans = (0..n).map(|span| {
        json!({
            "traceId": format!("{:016x}", first_us + span),
            "id": format!("{:016x}", first_us + span),
            "name": "get /orders",
            "timestamp": first_us + span * 1_000_000,
            "duration": 1000,
            "localEndpoint": {"serviceName": "shop"},
        })
    });
    Value::Array(spans.collect()).to_string()
}

#[test]
fn a_page_of_the_newest_calls_reads_the_captures_that_hold_it() {
    const N_CAPTURES: u64 = 40;
    const N_CALLS: u64 = 5;
    let scratch = tempfile::tempdir().expect("a folder");
    let scratch = scratch.path();
    let data = scratch.join("data");
    let collector = Collector::start(&data, &[]);
    // They come in another order than that of their times, an hour each.
    let hours = (0..N_CAPTURES).map(|at| at * 7 % N_CAPTURES);
    for hour in hours {
        let file = scratch.join("spans.json");
        let first_us = 1_700_000_000_000_000 + hour * 3_600_000_000;
        std::fs::write(&file, spans(first_us, N_CALLS)).expect("a file");
        stdout(&["push", text(&file), "--to", &collector.http]);
    }
    with_facts(&data, 40);
    let page = |after: Option<&str>| -> Value {
        let after = after.map_or_else(String::new, |after| format!("&after={after}"));
        let line = format!("GET /api/v1/calls?n=7{after}");
        let request = collected::http::request(&collector.http, &line, "", b"");
        let answer = collected::http::ask(&collector.http, &request);
        assert_eq!(answer.status, 200);
        serde_json::from_str(&answer.body).expect("JSON")
    };
    let starts = |page: &Value| -> Vec<i64> {
        let rows = page["rows"].as_array().expect("rows");
        let start = |row: &Value| row["start"].as_i64().expect("a start");
        rows.iter().map(start).collect()
    };
    let all = rows(&["calls", "--json", "--sort=-start", text(&data)]);
    let all: Vec<i64> = all
        .iter()
        .map(|row| row["start"].as_i64().expect("a start"))
        .collect();
    assert_eq!(all.len() as u64, N_CAPTURES * N_CALLS);
    let (mut next, mut paged) = (None, Vec::new());
    for n_pages in 1..=4 {
        let page = page(next.as_deref());
        paged.extend(starts(&page));
        assert_eq!(paged, all[..7 * n_pages]);
        next = page["next"].as_str().map(str::to_owned);
        let counts = &page["counts"];
        assert_eq!(counts["captures"], N_CAPTURES);
        assert_eq!(counts["is_whole"], false);
        // Seven calls are in two or three captures; another is read where the last call of a page is the last of its capture.
        let n_read = counts["captures_read"].as_u64().expect("a count");
        assert!(
            (2..=3).contains(&n_read),
            "{n_read} captures for page {n_pages}"
        );
    }
}

#[test]
fn captures_with_slow_or_failed_calls_are_kept_for_longer() {
    let scratch = tempfile::tempdir().expect("a folder");
    let scratch = scratch.path();
    let data = scratch.join("data");
    let rules = ["--keep-days", "0", "--keep-slow", "2s", "--keep-slow-days"];
    let collector = Collector::start(&data, &[&rules[..], &["1"]].concat());
    let push = |name: &str, more: Value| {
        let mut sent: Value = serde_json::from_str(&spans(1_700_000_000_000_000, 3)).expect("JSON");
        let fields = more.as_object().expect("fields").clone();
        sent[1].as_object_mut().expect("a span").extend(fields);
        collected::push(&collector, scratch, name, name, sent.to_string().as_bytes());
    };
    push("usual", json!({}));
    push("slow", json!({"duration": 2_000_000}));
    push("quick", json!({"duration": 1_999_999}));
    push("failed", json!({"tags": {"error": "timeout"}}));
    let services = || -> Vec<String> {
        let rows = captures(&data);
        let names = rows
            .iter()
            .map(|row| row["service"].as_str().expect("a name").to_owned());
        names.collect()
    };
    let wait_for = |expected: &[&str]| {
        let until = Instant::now() + Duration::from_secs(60);
        while services() != expected {
            assert!(Instant::now() < until, "{:?}", captures(&data));
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    wait_for(&["slow", "failed"]);
    let deleted = |rule: &str| {
        // It is there once something was deleted.
        let audit = std::fs::read_to_string(data.join("audit.jsonl")).unwrap_or_default();
        let rows = audit
            .lines()
            .map(|row| serde_json::from_str::<Value>(row).expect("JSON"));
        rows.filter(|row| row["what"] == "delete" && row["who"]["rule"] == rule)
            .count()
    };
    // Rows are written beside the deletions.
    eventually(|| (deleted("keep-days") == 2).then_some(()));
    assert_eq!(deleted("keep-slow-days"), 0);
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
    // A call that took longer than the new limit is no reason any more; a failed one is.
    let collector = Collector::start(&data, &["--keep-days", "0", "--keep-slow-days", "1"]);
    wait_for(&["failed"]);
    drop(collector);
    let wrong = run(&[
        "serve",
        "--check-config",
        "--keep-slow",
        "2s",
        "--keep-slow-days",
        "9",
    ]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    let right = [&["serve", "--check-config"], &rules[..], &["9"]].concat();
    let said = stdout(&right);
    assert!(
        said.contains("keep-slow-days = 9") && said.contains("keep-slow = \"2s\""),
        "{said}"
    );
}
