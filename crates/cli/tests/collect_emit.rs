//! Programs that trace with `traceloom-emit`, and a collector that takes what they send.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;

use std::path::Path;
use std::time::Duration;

use collected::http::{ask, captures, request};
use collected::{Collector, eventually, records, run, stdout, text};
use traceloom_emit::heph::{Options, Sink, Stream, Tracer};
use traceloom_emit::zorka::{Exception, Post, Registry, Session, Trace, Value};

/// Traces a request with a query within it, at times that are the same in every run.
fn trace(stream: &Stream) {
    for n in 0..50 {
        let begin = 1_000_000 * n;
        let attributes = [("rows", n.into()), ("sql", "SELECT 1".into())];
        stream.record("query", n, begin + 200..begin + 700, &attributes);
        let attributes = [("status", 200_u64.into()), ("load", 0.5.into())];
        stream.record("GET /orders", n, begin..begin + 1_000, &attributes);
    }
}

fn tracer(sink: Sink) -> Tracer {
    let patience = Duration::from_secs(30);
    let options = Options {
        patience,
        ..Options::default()
    };
    Tracer::start(sink, options).expect("a thread")
}

/// Writes the same trace to a file and returns its events as `dump` shows them.
fn expected(scratch: &Path) -> Vec<serde_json::Value> {
    let file = scratch.join("expected.heph");
    let tracer = tracer(Sink::file(&file).expect("a file"));
    trace(&tracer.stream());
    assert_eq!(tracer.close().written, 100);
    assert!(run(&["check", text(&file)]).status.success());
    let calls = stdout(&["calls", "--csv", text(&file)]);
    assert_eq!(calls.lines().count(), 51, "{calls}");
    events(text(&file))
}

/// Returns the events of a trace, without the places of their packets: epochs may stand between them.
fn events(path: &str) -> Vec<serde_json::Value> {
    let mut records = records(path, None);
    records.retain(|record| record["kind"] == "event");
    for record in &mut records {
        record["offset"].take();
    }
    records
}

#[test]
fn spans_sent_over_a_connection_are_those_of_the_file() {
    let scratch = tempfile::tempdir().expect("a folder");
    let expected = expected(scratch.path());
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let address = collector.heph.strip_prefix("heph://").expect("an address");
    let tracer = tracer(Sink::tcp(address).expect("a connection"));
    trace(&tracer.stream());
    let report = tracer.close();
    assert_eq!((report.written, report.dropped), (100, 0));
    // The collector has stored everything by then.
    assert!(events(text(&data)) == expected);
    let listed = captures(&data);
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["state"], "end_of_stream");
    assert!(run(&["check", text(&data)]).status.success());
}

#[test]
fn spans_sent_in_datagrams_are_those_of_the_file() {
    let scratch = tempfile::tempdir().expect("a folder");
    let expected = expected(scratch.path());
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &["--heph-udp", "127.0.0.1:0"]);
    let tracer = tracer(Sink::udp(collector.heph_udp()).expect("a socket"));
    trace(&tracer.stream());
    assert_eq!(tracer.close().written, 100);
    // Until the first datagram is taken there is nothing to dump.
    let is_there = || run(&["dump", "--json", text(&data)]).status.success();
    eventually(|| (is_there() && events(text(&data)) == expected).then_some(()));
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
    assert!(run(&["check", text(&data)]).status.success());
}

fn send(http: &str, post: &Post) -> u16 {
    let headers = post.headers.iter();
    let headers: String = headers
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let line = format!("POST {}", post.path);
    ask(http, &request(http, &line, &headers, &post.body)).status
}

#[test]
fn call_trees_are_taken_and_shown_as_those_of_zorkas_agents() {
    let registry = Registry::default();
    let [kind, url, class] = ["HTTP", "url", "demo.Gone"].map(|text| registry.symbol(text));
    let orders = registry.method("demo.App", "orders", "()V");
    let query = registry.method("demo.Db", "query", "()V");
    let mut trace = Trace::new(1 << 20, Duration::ZERO);
    trace.enter_at(orders, 1_000_000);
    trace.begin(1_795_224_782_073, kind, Some((7, None)));
    trace.attribute(url, Value::Text("/orders"));
    trace.enter_at(query, 2_000_000);
    let thrown = trace.throw(&Exception {
        class,
        message: Some("no such table"),
        cause: None,
        stack: &[],
    });
    trace.exit_at(5_000_000);
    trace.rethrow(thrown.expect("there is room"));
    trace.exit_at(9_000_000);

    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let mut session = Session::new(0xaa);
    // Definitions that do not arrive: the collector asks for them.
    let posts = session.posts(&registry, &trace, 1);
    assert_eq!(send(&collector.http, &posts[1]), 401);
    session.refused();
    let posts = session.posts(&registry, &trace, 2);
    let answers: Vec<u16> = posts
        .iter()
        .map(|post| send(&collector.http, post))
        .collect();
    assert_eq!(answers, [202, 202]);

    let calls = stdout(&["calls", "--json", text(&data)]);
    let rows: Vec<serde_json::Value> = calls
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    assert_eq!(rows.len(), 1, "{calls}");
    for word in ["orders", "8000000", "/orders"] {
        assert!(calls.contains(word), "{word}: {calls}");
    }
    let tree = stdout(&["tree", text(&data)]);
    assert!(tree.contains("orders") && tree.contains("query"), "{tree}");
    assert!(run(&["check", text(&data)]).status.success());
}
