//! Spans of the crate `tracing` through `RecorderLayer` and its formats, posts of a recorder, and losses.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;

use std::path::Path;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use collected::http::{ask, request};
use collected::{Collector, eventually, json_rows, run, stdout, text};
use serde_json::Value;
use traceloom_emit::zorka::{Post, PostSender};
use traceloom_emit::{Options, Recorder, RecorderLayer, TraceOutput, cdt, chrome, perfetto, tptp};
use tracing_subscriber::layer::SubscriberExt as _;

fn recorder(output: impl TraceOutput) -> Arc<Recorder> {
    let options = Options {
        patience: Duration::from_secs(30),
        ..Options::default()
    };
    Arc::new(Recorder::start(output, options).expect("a thread"))
}

/// Traces two requests with a query and an event in each.
fn traced() {
    for rows in 0..2 {
        let request =
            tracing::info_span!("request", rows, user = "ana", late = tracing::field::Empty);
        let _request = request.enter();
        tracing::info_span!("query", sql = ?"SELECT 1").in_scope(|| {
            tracing::info!(took = 5, "done");
        });
        request.record("late", true);
    }
}

fn check(path: &str) {
    let checked = run(&["check", path]);
    assert!(
        checked.status.success(),
        "{}",
        String::from_utf8_lossy(&checked.stdout)
    );
}

/// Returns the rows of `calls --json`.
fn calls(path: &str) -> Vec<Value> {
    json_rows(&run(&["calls", "--json", path]))
}

/// Returns how often functions were called.
fn counts(path: &str) -> Vec<(String, u64)> {
    let top: Value = serde_json::from_str(&stdout(&["top", "--json", path])).expect("JSON");
    let count = |row: &Value| {
        let name = row["function"].as_str().expect("a name");
        let name = name.rsplit('.').next().unwrap_or(name).to_owned();
        (name, row["count"].as_u64().expect("a number"))
    };
    let rows = top["functions"].as_array().expect("a list");
    let mut counts: Vec<(String, u64)> = rows.iter().map(count).collect();
    counts.retain(|(name, _)| ["request", "query"].contains(&name.as_str()));
    counts.sort();
    counts
}

fn outputs(folder: &Path) -> [(Arc<Recorder>, String, bool); 4] {
    let path = |name: &str| text(&folder.join(name)).to_owned();
    let dump = cdt::DumpFolder::create(folder.join("dumps"), "shop").expect("a folder");
    let form = tptp::TraceForm::Binary;
    let tptp = tptp::TptpFile::create(path("a.trcbin"), "shop", form).expect("a file");
    let chrome = chrome::ChromeFile::create(path("a.json")).expect("a file");
    let perfetto = perfetto::PerfettoFile::create(path("a.perfetto-trace")).expect("a file");
    [
        (recorder(dump), path("dumps"), true),
        (recorder(tptp), path("a.trcbin"), false),
        (recorder(chrome), path("a.json"), true),
        (recorder(perfetto), path("a.perfetto-trace"), true),
    ]
}

#[test]
fn a_layer_over_each_format_writes_spans_and_events() {
    let scratch = tempfile::tempdir().expect("a folder");
    let outputs = outputs(scratch.path());
    // All of them at once: layers do not know of each other.
    let [dump, tptp, chrome, perfetto] =
        [0, 1, 2, 3].map(|at: usize| RecorderLayer::new(outputs[at].0.clone()));
    let subscriber = tracing_subscriber::registry().with(dump).with(tptp);
    let subscriber = subscriber.with(chrome).with(perfetto);
    tracing::subscriber::with_default(subscriber, traced);
    for (recorder, path, has_attributes) in &outputs {
        let report = recorder.close();
        assert_eq!((report.written, report.dropped), (6, 0), "{path}");
        check(path);
        let expected = [("query".to_owned(), 2), ("request".to_owned(), 2)];
        assert_eq!(counts(path), expected, "{path}");
        let rows = calls(path);
        assert_eq!(rows.len(), 2, "{rows:?}");
        for (n, row) in rows.iter().enumerate().filter(|_| *has_attributes) {
            let attributes = &row["attributes"];
            let value = |name: &str| attributes[name].to_string().replace('"', "");
            let values = ["rows", "user", "late"].map(value);
            assert_eq!(values, [&n.to_string(), "ana", "1"], "{row}");
        }
    }
}

/// Traces two tasks: spans that are entered on several threads, in turn, inside a span of another task, and beside each other.
fn tasks() {
    let first = tracing::info_span!("first", user = "ana", late = tracing::field::Empty);
    let second = tracing::info_span!("second");
    first.in_scope(|| tracing::info!("begun"));
    second.in_scope(|| {
        let within = tracing::info_span!(parent: &first, "within");
        let beside = tracing::info_span!(parent: &first, "beside", n = 7);
        within.in_scope(|| ());
        drop(within);
        drop(beside);
    });
    let dispatch = tracing::dispatcher::get_default(Clone::clone);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            tracing::dispatcher::with_default(&dispatch, || {
                first.in_scope(|| {
                    tracing::info_span!("elsewhere").in_scope(|| tracing::info!("deep"));
                });
                first.record("late", 1);
            });
        });
    });
}

/// Returns depth and name of each span of a call, as deep in the call as it is; events are called `event`.
fn tree(path: &str, id: &Value) -> Vec<(u64, String)> {
    let call = stdout(&["call", "--json", path, id.as_str().expect("a text")]);
    let call: Value = serde_json::from_str(&call).expect("JSON");
    let spans = call["spans"].as_array().expect("a list");
    let shown = spans.iter().map(|span| {
        let name = span["function"].as_str().expect("a name");
        let name = match name.contains("recorded_spans.rs") {
            true => "event",
            false => name.rsplit('.').next().unwrap_or(name),
        };
        (span["depth"].as_u64().expect("a number"), name.to_owned())
    });
    shown.collect()
}

#[test]
fn a_layer_of_tasks_shows_spans_as_a_whole_whatever_threads_they_are_entered_on() {
    let scratch = tempfile::tempdir().expect("a folder");
    let outputs = outputs(scratch.path());
    let [dump, tptp, chrome, perfetto] =
        [0, 1, 2, 3].map(|at: usize| RecorderLayer::tasks(outputs[at].0.clone()));
    let subscriber = tracing_subscriber::registry().with(dump).with(tptp);
    let subscriber = subscriber.with(chrome).with(perfetto);
    tracing::subscriber::with_default(subscriber, tasks);
    for (recorder, path, has_attributes) in &outputs {
        let report = recorder.close();
        assert_eq!((report.written, report.dropped), (7, 0), "{path}");
        check(path);
        let trees = |row: &Value| tree(path, &row["id"]);
        let rows = calls(path);
        let mut found: Vec<_> = rows.iter().map(trees).collect();
        found.sort();
        let expected: [&[(u64, &str)]; 3] = [
            &[(0, "beside")],
            &[
                (0, "first"),
                (1, "event"),
                (1, "within"),
                (1, "elsewhere"),
                (2, "event"),
            ],
            &[(0, "second")],
        ];
        let owned = |tree: &[(u64, &str)]| -> Vec<(u64, String)> {
            let spans = tree.iter();
            spans
                .map(|&(depth, name)| (depth, name.to_owned()))
                .collect()
        };
        assert_eq!(found, expected.map(owned), "{path}");
        for row in rows.iter().filter(|_| *has_attributes) {
            let attributes = &row["attributes"];
            let value = |name: &str| attributes[name].to_string().replace('"', "");
            let values = ["task", "parent", "user", "late", "n"].map(value);
            let expected = match row["method"].as_str().expect("a name") {
                "first" => ["1", "null", "ana", "1", "null"],
                "second" => ["2", "null", "null", "null", "null"],
                _ => ["1", "first", "null", "null", "7"],
            };
            assert_eq!(values, expected, "{row}");
        }
    }
}

#[test]
fn tasks_beyond_the_tracks_are_dropped_and_counted() {
    let scratch = tempfile::tempdir().expect("a folder");
    let path = scratch.path().join("a.json");
    let recorder = recorder(chrome::ChromeFile::create(&path).expect("a file"));
    let layer = RecorderLayer::tasks(recorder.clone());
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
        let open: Vec<_> = (0..1030).map(|_| tracing::info_span!("open")).collect();
        drop(open);
        // Tracks are used again.
        for _ in 0..10 {
            drop(tracing::info_span!("after"));
        }
    });
    let report = recorder.close();
    // One of what is written says what was dropped.
    assert_eq!((report.written, report.dropped), (1024 + 10 + 1, 6));
    let rows = calls(text(&path));
    let count = |method: &str| rows.iter().filter(|row| row["method"] == method).count();
    assert_eq!(
        ["open", "after", "dropped events"].map(count),
        [1024, 10, 1]
    );
    check(text(&path));
}

/// A value that traces when it is shown.
struct Chatty;

impl std::fmt::Debug for Chatty {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let _inner = tracing::info_span!("shown", depth = 1).entered();
        out.write_str("chatty")
    }
}

#[test]
fn values_that_trace_themselves_are_recorded() {
    let scratch = tempfile::tempdir().expect("a folder");
    let path = scratch.path().join("a.json");
    let recorder = recorder(chrome::ChromeFile::create(&path).expect("a file"));
    let layer = RecorderLayer::new(recorder.clone());
    let subscriber = tracing_subscriber::registry().with(layer);
    tracing::subscriber::with_default(subscriber, || {
        let span = tracing::info_span!("outer", value = ?Chatty, late = tracing::field::Empty);
        let _entered = span.enter();
        span.record("late", tracing::field::debug(Chatty));
        tracing::info!(value = ?Chatty, "said");
    });
    // Where a subscriber is at work already, `tracing` gives it nothing.
    assert_eq!(recorder.close().written, 2);
    let rows = calls(text(&path));
    let outer = rows
        .iter()
        .find(|row| row["method"] == "outer")
        .expect("a call");
    let values = ["value", "late"].map(|name| outer["attributes"][name].as_str());
    assert_eq!(values, [Some("chatty"); 2], "{outer}");
    check(text(&path));
}

fn send(http: &str, post: &Post) -> Option<u16> {
    let headers = post.headers.iter();
    let headers: String = headers
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let line = format!("POST {}", post.path);
    Some(ask(http, &request(http, &line, &headers, &post.body)).status)
}

#[test]
fn posts_of_a_recorder_are_sent_until_they_are_taken_and_losses_are_in_the_trace() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let http = collector.http.clone();
    // The first post is not answered, the second one waits.
    let (let_go, waits) = channel::<()>();
    let (waits, mut n_posts) = (Mutex::new(waits), 0);
    let sender = PostSender::new("shop", "HTTP", move |post: &Post| {
        n_posts += 1;
        if n_posts == 1 {
            return None;
        }
        let _ = waits.lock().expect("no panic").recv();
        send(&http, post)
    });
    let options = Options {
        buffer: 4096,
        patience: Duration::from_secs(30),
        ..Options::default()
    };
    let recorder = Recorder::start(sender, options).expect("a thread");
    let thread = recorder.thread("main");
    let call = |n: u64| {
        let mut call = thread.call("shop.Orders.list()");
        call.set("n", n);
    };
    call(0);
    let dropped = eventually(|| {
        call(1);
        Some(recorder.report().dropped).filter(|&dropped| dropped > 0)
    });
    drop(let_go);
    assert!(recorder.flush(Duration::from_secs(30)));
    drop(thread);
    let report = recorder.close();
    assert_eq!(report.dropped, dropped);
    let rows = calls(text(&data));
    assert_eq!(rows.len() as u64, report.written);
    let lost = rows.iter().find(|row| {
        row["method"]
            .as_str()
            .is_some_and(|name| name.contains("dropped"))
    });
    let lost = lost.expect("a call in the place of the dropped ones");
    assert_eq!(lost["attributes"]["events"], dropped, "{lost}");
    let first = rows
        .iter()
        .find(|row| row["attributes"]["n"] == 0)
        .expect("a call");
    assert_eq!(first["thread"], "main", "{first}");
    check(text(&data));
}

#[test]
fn what_a_killed_program_leaves_is_read() {
    let scratch = tempfile::tempdir().expect("a folder");
    for (recorder, path, _) in outputs(scratch.path()) {
        let thread = recorder.thread("main");
        for n in 0..3 {
            thread.record("request", n * 10_000_000..n * 10_000_000 + 5_000_000, &[]);
        }
        let open = thread.call_at("request", 40_000_000);
        thread.record("query", 50_000_000..60_000_000, &[]);
        assert!(recorder.flush(Duration::from_secs(30)));
        // Nobody ends anything from here on.
        std::mem::forget(open);
        std::mem::forget(thread);
        std::mem::forget(recorder);
        let rows = calls(&path);
        let complete = rows.iter().filter(|row| row["status"] == "complete");
        assert_eq!((rows.len(), complete.count()), (4, 3), "{path}: {rows:?}");
        let top = counts(&path);
        assert_eq!(
            top,
            [("query".to_owned(), 1), ("request".to_owned(), 4)],
            "{path}"
        );
        let said = String::from_utf8_lossy(&run(&["check", &path]).stdout).into_owned();
        assert!(said.contains(" 0 damage"), "{said}");
    }
}

#[test]
fn what_a_full_disk_does_not_take_is_counted() {
    let full = chrome::ChromeFile::create("/dev/full").expect("a device");
    let options = Options {
        patience: Duration::from_millis(50),
        ..Options::default()
    };
    let recorder = Recorder::start(full, options).expect("a thread");
    let thread = recorder.thread("main");
    for _ in 0..100 {
        drop(thread.call("GET /orders"));
    }
    drop(thread);
    let report = recorder.close();
    assert_eq!((report.written, report.dropped), (0, 100));
}

#[test]
fn a_call_that_ends_before_one_inside_it_cuts_that_one_in_two() {
    let scratch = tempfile::tempdir().expect("a folder");
    let path = scratch.path().join("a.perfetto-trace");
    let recorder = recorder(perfetto::PerfettoFile::create(&path).expect("a file"));
    let thread = recorder.thread("main");
    let outer = thread.call_at("outer", 1_000);
    let mut inner = thread.call_at("inner", 2_000);
    inner.set("rows", 3_u64);
    outer.end_at(3_000);
    inner.end_at(4_500);
    drop(thread);
    assert_eq!(recorder.close().written, 3);
    let rows = calls(text(&path));
    let shown = rows.iter().map(|row| {
        let attribute = &row["attributes"]["rows"];
        (
            row["method"].to_string(),
            row["duration"].to_string(),
            attribute.to_string(),
        )
    });
    let mut shown: Vec<_> = shown.collect();
    shown.sort();
    let expected = [("\"inner\"", "1500", "3"), ("\"outer\"", "2000", "null")];
    let expected = expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()));
    assert_eq!(shown, expected);
    let tree = stdout(&["tree", text(&path)]);
    assert_eq!(tree.matches("inner").count(), 2, "{tree}");
    check(text(&path));
}
