//! Profiles posted as OpenTelemetry's exporters post them.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;

use std::io::Write as _;

use collected::http::{ask, captures, request};
use collected::{Collector, stdout, text};

const PROFILES: &str = "POST /v1development/profiles";
const PROTOBUF: &str = "Content-Type: application/x-protobuf\r\n";

#[test]
fn a_message_of_profiles_is_kept_once_and_read_back() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let http = &collector.http;
    let message = traceloom_samples::bytes("otlp-profiles", 1, 20_000);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&message).expect("compressed");
    let packed = encoder.finish().expect("compressed");
    let gzip = format!("{PROTOBUF}Content-Encoding: gzip\r\n");
    let post = |headers: &str, body: &[u8]| ask(http, &request(http, PROFILES, headers, body));
    let answer = post(&gzip, &packed);
    assert_eq!((answer.status, &*answer.body), (200, ""));
    assert!(answer.head.contains("content-type: application/x-protobuf"));
    // The same message again, compressed and plain, and one without anything in it.
    assert_eq!(post(&gzip, &packed).status, 200);
    assert_eq!(post(PROTOBUF, &message).status, 200);
    assert_eq!(post(PROTOBUF, b"").status, 200);
    let direct = scratch.path().join("a.otlp-profiles");
    std::fs::write(&direct, &message).expect("a file");
    let top = |path: &str| stdout(&["top", "--csv", path]);
    assert!(top(text(&direct)).lines().count() > 3);
    assert_eq!(top(text(&data)), top(text(&direct)));
    // As it was sent.
    let out = scratch.path().join("out");
    stdout(&["export", "1-1", "--data", text(&data), "-o", text(&out)]);
    assert_eq!(
        std::fs::read(out.join("0.otlp-profiles")).expect("a post"),
        packed
    );
    let bad = post(PROTOBUF, b"\x0a\xff\xff\xff");
    assert_eq!(bad.status, 400);
    assert!(bad.body.starts_with("\x12"), "{:?}", bad.body);
    assert_eq!(post(&gzip, &packed[..packed.len() / 2]).status, 400);
    assert_eq!(
        post("Content-Type: application/json\r\n", b"{}").status,
        415
    );
    assert_eq!(captures(&data).len(), 1);
}
