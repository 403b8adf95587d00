//! Traces and profiles posted as OpenTelemetry's exporters and Zipkin's reporters post them.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;

use std::path::Path;

use collected::http::{Answer, ask, captures, request};
use collected::profiles::gzip;
use collected::{Collector, eventually, run, stdout, text};
use serde_json::{Value, json};

const PROFILES: &str = "POST /v1development/profiles";
const TRACES: &str = "POST /v1/traces";
const SPANS: &str = "POST /api/v2/spans";
const PROTOBUF: &str = "Content-Type: application/x-protobuf\r\n";
const JSON: &str = "Content-Type: application/json; charset=utf-8\r\n";

fn post(collector: &Collector, line: &str, headers: &str, body: &[u8]) -> Answer {
    let http = &collector.http;
    ask(http, &request(http, line, headers, body))
}

/// Writes what was sent to a file of its own, and returns its path.
fn file(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("a file");
    text(&path).to_owned()
}

/// Name, duration and kind of each call of a path, in order.
fn calls(path: &str) -> Vec<String> {
    let rows = stdout(&["calls", "--json", path]);
    let mut calls: Vec<String> = rows
        .lines()
        .map(|row| {
            let row: Value = serde_json::from_str(row).expect("JSON");
            format!("{} {} {}", row["start"], row["duration"], row["method"])
        })
        .collect();
    calls.sort();
    assert!(calls.len() > 10, "{path}: {rows}");
    calls
}

fn top(path: &str) -> String {
    stdout(&["top", "--csv", path])
}

#[test]
fn profiles_in_both_encodings_are_kept_once_and_read_back() {
    for (format, kind) in [("otlp-profiles", PROTOBUF), ("otlp-profiles-json", JSON)] {
        let scratch = tempfile::tempdir().expect("a folder");
        let data = scratch.path().join("data");
        let collector = Collector::start(&data, &[]);
        let message = traceloom_samples::bytes(format, 1, 20_000);
        let packed = gzip(&message);
        let compressed = format!("{kind}Content-Encoding: gzip\r\n");
        let send = |headers: &str, body: &[u8]| post(&collector, PROFILES, headers, body);
        let nothing = if kind == JSON { "{}" } else { "" };
        let answer = send(&compressed, &packed);
        assert_eq!((answer.status, &*answer.body), (200, nothing));
        let kind_of_answer = kind
            .split(';')
            .next()
            .expect("a type")
            .trim()
            .to_lowercase();
        assert!(answer.head.contains(&kind_of_answer), "{}", answer.head);
        // The same message again, compressed and plain, and one without anything in it.
        assert_eq!(send(&compressed, &packed).status, 200);
        assert_eq!(send(kind, &message).status, 200);
        assert_eq!(send(kind, nothing.as_bytes()).status, 200);
        let direct = file(scratch.path(), "direct", &message);
        assert!(top(&direct).lines().count() > 2);
        assert_eq!(top(text(&data)), top(&direct));
        // As it was sent.
        let out = scratch.path().join("out");
        stdout(&["export", "1-1", "--data", text(&data), "-o", text(&out)]);
        let name = format!("0.{}", format.replace("-json", ".json"));
        assert_eq!(std::fs::read(out.join(name)).expect("a post"), packed);
        assert_eq!(send(&compressed, &packed[..packed.len() / 2]).status, 400);
        assert_eq!(captures(&data).len(), 1);
    }
}

#[test]
fn traces_are_kept_once_and_read_live_and_sealed() {
    let kinds = [
        ("otlp-traces", TRACES, PROTOBUF, 200),
        ("otlp-traces-json", TRACES, JSON, 200),
        ("zipkin", SPANS, JSON, 202),
        ("zipkin-protobuf", SPANS, PROTOBUF, 202),
    ];
    for (format, line, kind, status) in kinds {
        let scratch = tempfile::tempdir().expect("a folder");
        let data = scratch.path().join("data");
        let collector = Collector::start(&data, &["--seal-seconds", "1"]);
        let messages = [1, 2, 3].map(|seed| traceloom_samples::bytes(format, seed, 8_000));
        let direct: Vec<String> = (0..)
            .zip(&messages)
            .map(|(at, bytes)| file(scratch.path(), &format!("{at}.in"), bytes))
            .collect();
        let mut expected: Vec<String> = direct.iter().flat_map(|path| calls(path)).collect();
        expected.sort();
        let zstd = zstd::encode_all(&messages[1][..], 1).expect("compressed");
        let bodies = [
            (String::new(), messages[0].clone()),
            ("Content-Encoding: zstd\r\n".to_owned(), zstd),
            ("Content-Encoding: gzip\r\n".to_owned(), gzip(&messages[2])),
        ];
        // Each twice: the answer to the first was lost.
        for (encoding, body) in bodies.iter().chain(&bodies) {
            let answer = post(&collector, line, &format!("{kind}{encoding}"), body);
            assert_eq!(answer.status, status, "{format}: {}", answer.body);
        }
        assert_eq!(calls(text(&data)), expected, "{format}, live");
        let sealed = || {
            captures(&data)
                .iter()
                .all(|row| row["revision"] != 0)
                .then_some(())
        };
        eventually(sealed);
        assert_eq!(calls(text(&data)), expected, "{format}, sealed");
        let checked = stdout(&["check", text(&data)]);
        assert!(checked.contains(" 0 damage, 0 warn"), "{checked}");
        let n_suppressed = post(&collector, "GET /metrics", "", b"").body;
        assert!(
            n_suppressed.contains("traceloom_suppressed_units_total{listener=\"http\"} 3"),
            "{n_suppressed}"
        );
        let ids: Vec<String> = captures(&data)
            .iter()
            .map(|row| row["id"].as_str().expect("an id").to_owned())
            .collect();
        let mut exported = Vec::new();
        for id in &ids {
            let out = scratch.path().join(format!("out-{id}"));
            stdout(&["export", id, "--data", text(&data), "-o", text(&out)]);
            let files = std::fs::read_dir(&out).expect("a folder");
            let paths = files.map(|file| file.expect("a file").path());
            // Beside the posts there is what says whose they are.
            let kind = format.trim_end_matches("-json");
            let posts = paths.filter(|path| text(path).contains(kind));
            exported.extend(posts.map(|path| std::fs::read(path).expect("bytes")));
        }
        // The order in which they came may be that of several captures.
        exported.sort();
        let mut sent = bodies.map(|(_, body)| body).to_vec();
        sent.sort();
        let sizes = |all: &[Vec<u8>]| all.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(sizes(&exported), sizes(&sent));
        assert!(exported == sent, "{format}: as they were sent");
    }
}

#[test]
fn files_are_sent_as_exporters_post_them() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &["--require-token"]);
    let add = [
        "token",
        "add",
        "exporter",
        "--right",
        "upload",
        "--data",
        text(&data),
    ];
    let token = file(scratch.path(), "token", stdout(&add).as_bytes());
    let send =
        |path: &str, more: &[&str]| run(&[&["send", path, "--to", &collector.http], more].concat());
    let mut expected = Vec::new();
    for (number, format) in [
        "otlp-traces",
        "otlp-traces-json",
        "zipkin",
        "zipkin-protobuf",
    ]
    .into_iter()
    .enumerate()
    {
        let message = traceloom_samples::bytes(format, number as u64 + 1, 8_000);
        let path = file(scratch.path(), &format!("{number}.in"), &message);
        expected.extend(calls(&path));
        let sent = send(&path, &["--token-file", &token]);
        let said = String::from_utf8_lossy(&sent.stderr).into_owned();
        assert!(
            sent.status.success() && said.contains(" acknowledged"),
            "{said}"
        );
    }
    expected.sort();
    assert_eq!(calls(text(&data)), expected);
    // Two documents are two requests.
    let lines = format!("{DOUBTFUL}\n{}", DOUBTFUL.replace("whole", "another"));
    let lines = file(
        scratch.path(),
        "lines.json",
        lines.replace('\n', " ").as_bytes(),
    );
    let sent = send(&lines, &["--token-file", &token]);
    let said = String::from_utf8_lossy(&sent.stderr).into_owned();
    assert!(said.contains("2 requests: "), "{said}");
    let folded = file(scratch.path(), "a.folded", b"main;work 3\n");
    for (path, more, code, sentence) in [
        (&lines, &[][..], 1, "401 Unauthorized"),
        (
            &lines,
            &["--token-file", &token, "--times", "2"][..],
            2,
            "posted once",
        ),
        (&folded, &["--token-file", &token][..], 2, "traceloom push"),
    ] {
        let refused = send(path, more);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            refused.status.code() == Some(code) && said.contains(sentence),
            "{said}"
        );
    }
}

/// A span whose trace id has nine bytes beside a whole one.
const DOUBTFUL: &str = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},"scopeSpans":[{"spans":[
  {"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0000000000000001","name":"whole","startTimeUnixNano":"1","endTimeUnixNano":"2"},
  {"traceId":"010203040506070809","spanId":"0000000000000002","name":"short","startTimeUnixNano":"1","endTimeUnixNano":"2"}]}]}]}"#;

#[test]
fn what_is_doubtful_is_kept_with_a_warning() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let answer = post(&collector, TRACES, JSON, DOUBTFUL.as_bytes());
    let body: Value = serde_json::from_str(&answer.body).expect("JSON");
    let warning = body["partialSuccess"]["errorMessage"].as_str();
    assert!(
        warning.is_some_and(|text| text.contains("1 defect")),
        "{body}"
    );
    assert_eq!(body["partialSuccess"]["rejectedSpans"], Value::Null);
    let rows = stdout(&["calls", "--json", text(&data)]);
    assert_eq!(rows.lines().count(), 2, "{rows}");
    assert_eq!(captures(&data)[0]["service"], "shop");
    // Nothing of it is spans.
    let other = post(&collector, TRACES, PROTOBUF, b"\x7a\x01a");
    assert_eq!(other.status, 200);
    assert!(
        other
            .body
            .contains("nothing in the ExportTraceServiceRequest"),
        "{}",
        other.body
    );
    assert_eq!(captures(&data).len(), 1);
}

#[test]
fn refusals_are_in_the_protocols_own_words() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &["--require-token"]);
    let token = stdout(&[
        "token",
        "add",
        "exporter",
        "--right",
        "upload",
        "--data",
        text(&data),
    ]);
    let token = format!("Authorization: Bearer {}\r\n", token.trim());
    let with = |kind: &str| format!("{kind}{token}");
    let message = |answer: &Answer| {
        let body: Value = serde_json::from_str(&answer.body).expect("JSON");
        body["message"].as_str().expect("a message").to_owned()
    };
    for path in [TRACES, PROFILES] {
        // Field 2 of a status.
        let bad = post(&collector, path, &with(PROTOBUF), b"\x0a\xff\xff\xff");
        assert!(
            bad.status == 400 && bad.body.starts_with("\x12"),
            "{:?}",
            bad.body
        );
        let bad = post(&collector, path, &with(JSON), b"{\"resourceSpans\":[");
        assert!(
            bad.status == 400 && message(&bad).contains("the body is no Export"),
            "{:?}",
            bad.body
        );
        let unknown = post(&collector, path, &token, b"");
        assert!(unknown.status == 415 && unknown.body.starts_with("\x12"));
        let brotli = with(JSON) + "Content-Encoding: br\r\n";
        let encoded = post(&collector, path, &brotli, b"x");
        assert!(encoded.status == 415 && message(&encoded).contains("Content-Encoding"));
        let large = request(&collector.http, path, &with(PROTOBUF), b"");
        let large = String::from_utf8(large)
            .expect("text")
            .replace("Content-Length: 0", "Content-Length: 999999999");
        assert_eq!(ask(&collector.http, large.as_bytes()).status, 413);
        // The guard's.
        let stranger = post(&collector, path, JSON, b"{}");
        assert!(
            stranger.status == 401 && message(&stranger).contains("token"),
            "{:?}",
            stranger.body
        );
        assert!(
            stranger.head.contains("www-authenticate: bearer"),
            "{}",
            stranger.head
        );
        let page = with(PROTOBUF) + "Origin: http://evil.example\r\n";
        let page = post(&collector, path, &page, b"");
        assert!(page.status == 403 && page.body.starts_with("\x12"));
    }
    for (kind, body, status) in [
        (JSON, "[]", 202),
        (JSON, "{}", 400),
        (JSON, "[1]", 400),
        (JSON, "[{\"traceId\":", 400),
        ("Content-Type: text/plain\r\n", "[]", 415),
        (PROTOBUF, "", 202),
        (PROTOBUF, "\x0a", 400),
        (PROTOBUF, "[]", 400),
    ] {
        let answer = post(&collector, SPANS, &with(kind), body.as_bytes());
        assert_eq!(answer.status, status, "{kind}{body}: {}", answer.body);
    }
    assert_eq!(post(&collector, SPANS, JSON, b"[]").status, 401);
    assert_eq!(captures(&data).len(), 0);
}

/// Gives samples of a message the field numbers of version 1.9: values, attributes and link in 2, 3 and 4. `path` leads to them.
fn as_of_1_9(message: &mut [u8], path: &[u8]) {
    let mut at = 0;
    let varint = |at: &mut usize, message: &[u8]| {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let byte = message[*at];
            *at += 1;
            value |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    };
    while at < message.len() {
        let (begin, tag) = (at, message[at]);
        let (number, wire) = (tag >> 3, tag & 7);
        if path.is_empty() {
            let renumbered = [1, 3, 4, 2, 5][usize::from(number) - 1];
            message[begin] = renumbered << 3 | wire;
        }
        at += 1;
        match wire {
            0 => drop(varint(&mut at, message)),
            1 => at += 8,
            2 => {
                let length = varint(&mut at, message);
                if let [first, rest @ ..] = path
                    && number == *first
                {
                    as_of_1_9(&mut message[at..at + length], rest);
                }
                at += length;
            }
            _ => panic!("no message has a field of kind {wire}"),
        }
    }
}

#[test]
fn profiles_of_1_9_and_of_the_newest_version_are_the_same() {
    let scratch = tempfile::tempdir().expect("a folder");
    let newest = traceloom_samples::bytes("otlp-profiles", 3, 20_000);
    let mut older = newest.clone();
    as_of_1_9(&mut older, &[1, 2, 2, 2]);
    assert_ne!(older, newest);
    let expected = top(&file(scratch.path(), "newest", &newest));
    // Names of fields are alike in both versions, and with them their JSON.
    let json = traceloom_samples::bytes("otlp-profiles-json", 3, 20_000);
    let expected_of_json = top(&file(scratch.path(), "newest.json", &json));
    for (name, kind, message, expected) in [
        ("newest-data", PROTOBUF, &newest, &expected),
        ("older-data", PROTOBUF, &older, &expected),
        ("json-data", JSON, &json, &expected_of_json),
    ] {
        assert!(expected.lines().count() > 2, "{name}: {expected}");
        let data = scratch.path().join(name);
        let collector = Collector::start(&data, &[]);
        for compressed in [false, true] {
            let (headers, body) = match compressed {
                true => (format!("{kind}Content-Encoding: gzip\r\n"), gzip(message)),
                false => (kind.to_owned(), message.clone()),
            };
            let answer = post(&collector, PROFILES, &headers, &body);
            assert_eq!(answer.status, 200, "{}", answer.body);
        }
        assert_eq!(top(text(&data)), *expected, "{name}");
    }
}

#[test]
fn signals_of_one_service_are_captures_of_their_own() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let resource =
        json!({"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]});
    let spans = |name: &str| {
        json!({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [{
            "traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": name,
            "startTimeUnixNano": "1544712660000000000", "endTimeUnixNano": "1544712661000000000",
        }]}]}]})
    };
    let profile = |value: &str| {
        json!({
            "resourceProfiles": [{"resource": resource, "scopeProfiles": [{"profiles": [{
                "sampleType": {"typeStrindex": 1, "unitStrindex": 2},
                "samples": [{"stackIndex": 1, "values": [value]}],
            }]}]}],
            "dictionary": {
                "mappingTable": [{}], "linkTable": [{}], "attributeTable": [{}],
                "locationTable": [{}, {"lines": [{"functionIndex": 1}]}],
                "functionTable": [{}, {"nameStrindex": 3}],
                "stringTable": ["", "cpu", "nanoseconds", "buy"],
                "stackTable": [{}, {"locationIndices": [1]}],
            },
        })
    };
    let messages = [
        (TRACES, spans("buy")),
        (PROFILES, profile("5")),
        (PROFILES, profile("7")),
        (TRACES, spans("pay")),
    ];
    for (line, message) in messages {
        let answer = post(&collector, line, JSON, message.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    let captures = captures(&data);
    let services = captures.iter().map(|capture| &capture["service"]);
    assert!(services.eq(["shop", "shop"]), "{captures:?}");
}
