//! Symbols and traces posted as Zorka's agents post them.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;

use std::io::Write as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use collected::http::{ask, captures, request};
use collected::{Collector, stdout, text};
use serde_json::Value;

const SESSION: &str = "X-Zorka-Session-ID: 00000000000000aa\r\n";

/// The symbols of a session that numbers them from `first` on, and a trace that needs them.
fn posts(first: u8, start: u8) -> (Vec<u8>, Vec<u8>) {
    let mut symbols = Vec::new();
    for (id, name) in (first..).zip(["demo.App", "work", "()V"]) {
        symbols.extend([0xc1, 0x82, id, 0x60 + name.len() as u8]);
        symbols.extend(name.as_bytes());
    }
    symbols.extend([0xc2, 0x84, first, first, first + 1, first + 2]);
    let clock = [0, 0, 1, 0xa1, 0xfb, 0xbc, 0x44, 0xf9];
    let mut trace = vec![0xc3, 0x9f, start, first, 0xc5, 0x82, 0x1b];
    trace.extend(clock);
    trace.extend([first, 0xc4, 0x82, 0x17, 0x01, 0xff]);
    (symbols, trace)
}

fn submit(http: &str, what: &str, headers: &str, body: &[u8]) -> u16 {
    let line = format!("POST /agent/submit/{what}");
    let kind = "Content-Type: application/zorka+cbor+v1\r\n";
    ask(
        http,
        &request(http, &line, &format!("{kind}{headers}"), body),
    )
    .status
}

fn trace_id(id: u8) -> String {
    format!("{SESSION}X-Zorka-Trace-ID: {id:032x}\r\n")
}

fn reset() -> String {
    format!("{SESSION}X-Zorka-Session-Reset: true\r\n")
}

/// Calls of the method `work`.
fn n_calls(data: &Path) -> usize {
    let rows = stdout(&["calls", "--json", text(data)]);
    rows.lines().filter(|row| row.contains("work")).count()
}

#[test]
fn a_trace_is_kept_once_whatever_its_id_and_the_numbers_of_its_symbols() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let http = &collector.http;
    let (symbols, trace) = posts(1, 3);
    // The session is not known, and then its symbols are not.
    assert_eq!(submit(http, "trc", &trace_id(1), &trace), 401);
    assert_eq!(submit(http, "agd", &reset(), &symbols[..12]), 202);
    assert_eq!(submit(http, "trc", &trace_id(2), &trace), 401);
    assert_eq!(submit(http, "agd", &reset(), &symbols), 202);
    assert_eq!(submit(http, "trc", &trace_id(3), &trace), 202);
    assert_eq!(n_calls(&data), 1);
    // The answer was lost: again under another id, and with other numbers after a reset.
    assert_eq!(submit(http, "trc", &trace_id(4), &trace), 202);
    let (renumbered, again) = posts(7, 3);
    assert_eq!(submit(http, "agd", &reset(), &renumbered), 202);
    assert_eq!(submit(http, "trc", &trace_id(5), &again), 202);
    assert_eq!(n_calls(&data), 1);
    // Another trace is another one.
    assert_eq!(submit(http, "trc", &trace_id(6), &posts(7, 4).1), 202);
    assert_eq!(n_calls(&data), 2);
    let listed = captures(&data);
    assert_eq!((listed.len(), &listed[0]["protocol"]), (1, &"zorka".into()));
    let out = scratch.path().join("out");
    stdout(&["export", "1-1", "--data", text(&data), "-o", text(&out)]);
    let file = std::fs::read_to_string(out.join("0.requests.jsonl")).expect("posts");
    let traces = file.lines().filter(|line| line.contains("/submit/trc"));
    let bodies: Vec<Value> = traces
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["body"].clone())
        .collect();
    let sent = [&trace, &posts(7, 4).1].map(|body| Value::from(STANDARD.encode(body)));
    assert_eq!(bodies, sent);
}

#[test]
fn what_was_answered_outlives_a_kill() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let mut collector = Collector::start(&data, &[]);
    let (symbols, trace) = posts(1, 3);
    assert_eq!(submit(&collector.http, "agd", &reset(), &symbols), 202);
    assert_eq!(submit(&collector.http, "trc", &trace_id(1), &trace), 202);
    collector.child.kill().expect("a running collector");
    collector.child.wait().expect("its end");
    drop(collector);
    assert_eq!(n_calls(&data), 1);
    // The session begins anew; the trace is known all the same.
    let collector = Collector::start(&data, &[]);
    let http = &collector.http;
    assert_eq!(submit(http, "trc", &trace_id(2), &trace), 401);
    assert_eq!(submit(http, "agd", &reset(), &symbols), 202);
    assert_eq!(submit(http, "trc", &trace_id(3), &trace), 202);
    assert_eq!(n_calls(&data), 1);
    assert_eq!(submit(http, "trc", &trace_id(4), &posts(1, 4).1), 202);
    assert_eq!(n_calls(&data), 2);
}

#[test]
fn older_agents_are_answered_in_their_own_words() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let http = &collector.http;
    let (symbols, trace) = posts(1, 3);
    let (symbols, trace) = (STANDARD.encode(symbols), STANDARD.encode(trace));
    let session = "X-ZICO-Session-UUID: 7a0e4be4-3d1b-4b1c-9a64-0d3c1c2f5e11\r\n";
    let id = format!("{session}X-ZICO-Trace-UUID: 7a0e4be4-3d1b-4b1c-9a64-0d3c1c2f5e12\r\n");
    assert_eq!(submit(http, "trc", &id, trace.as_bytes()), 412);
    assert_eq!(submit(http, "agd", session, symbols.as_bytes()), 202);
    assert_eq!(submit(http, "trc", &id, trace.as_bytes()), 202);
    assert_eq!(n_calls(&data), 1);
}

#[test]
fn what_is_no_post_leaves_nothing() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let http = &collector.http;
    let (symbols, trace) = posts(1, 3);
    assert_eq!(submit(http, "agd", "", &symbols), 401);
    assert_eq!(submit(http, "agd", &reset(), &trace), 401);
    assert_eq!(submit(http, "agd", &reset(), b"garbage"), 401);
    let foreign = format!("{}Origin: http://evil.example\r\n", reset());
    assert_eq!(submit(http, "agd", &foreign, &symbols), 403);
    assert!(captures(&data).is_empty());
    assert_eq!(submit(http, "agd", &reset(), &symbols), 202);
    assert_eq!(submit(http, "trc", &trace_id(1), b"\xff\xfe\xfd\xfc"), 401);
    assert_eq!(submit(http, "trc", &trace_id(1), b""), 401);
    assert_eq!(submit(http, "trc", &trace_id(1), &symbols), 401);
    let odd = format!("{SESSION}X-Zorka-Trace-ID: nonsense\r\n");
    assert_eq!(submit(http, "trc", &odd, &trace), 400);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&vec![0; 64 << 20]).expect("compressed");
    let bomb = encoder.finish().expect("compressed");
    let gzip = format!("{}Content-Encoding: gzip\r\n", trace_id(1));
    assert_eq!(submit(http, "trc", &gzip, &bomb), 413);
    let long = format!("{SESSION}X-Filler: x\r\n");
    assert_eq!(submit(http, "trc", &long, &vec![0; (32 << 20) + 1]), 413);
    assert_eq!(n_calls(&data), 0);
}

#[test]
fn recorded_posts_are_answered_and_read_as_they_were() {
    let Some(corpus) = std::env::var_os("TRACELOOM_CORPUS") else {
        return;
    };
    for folder in ["gen-b-agent-streaming", "gen-c-agent-local"] {
        let recorded = Path::new(&corpus).join("zorka").join(folder);
        let recorded = recorded.join("requests.jsonl");
        let lines = std::fs::read_to_string(&recorded).expect("posts");
        let scratch = tempfile::tempdir().expect("a folder");
        let data = scratch.path().join("data");
        let collector = Collector::start(&data, &[]);
        for line in lines.lines() {
            let post: Value = serde_json::from_str(line).expect("JSON");
            let path = post["path"].as_str().expect("a path");
            let headers = post["headers"].as_array().expect("headers").iter();
            let said =
                headers.filter(|pair| pair[0].as_str().is_some_and(|name| name.starts_with("X-")));
            let said: String = said
                .map(|pair| {
                    format!(
                        "{}: {}\r\n",
                        pair[0].as_str().unwrap_or(""),
                        pair[1].as_str().unwrap_or("")
                    )
                })
                .collect();
            let body = STANDARD
                .decode(post["body"].as_str().unwrap_or(""))
                .expect("base64");
            let what = path.rsplit('/').next().unwrap_or("");
            let status = submit(&collector.http, what, &said, &body);
            assert!(
                status == 202 || what == "trc" && status == 401,
                "{folder}: {status}: {line}"
            );
        }
        let calls = |path: &str| stdout(&["calls", "--csv", path]).lines().count();
        assert_eq!(calls(text(&data)), calls(text(&recorded)), "{folder}");
    }
}
