//! Answers that are lost after what they acknowledge is safe: senders send again, and nothing is stored twice.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use collected::agents::dump;
use collected::http::{authority, request};
use collected::profiles::{field, gzip, profile};
use collected::proxy::{Losing, Proxy};
use collected::{Collector, stdout, text};
use serde_json::Value;
use traceloom_input::captures::{Captures, DataFolder};

/// Posts until there is an answer, as SDKs do.
fn post_until_answered(http: &str, line: &str, headers: &str, body: &[u8]) {
    let request = request(http, line, headers, body);
    for _ in 0..3 {
        let mut socket = TcpStream::connect(authority(http)).expect("a connection");
        socket.write_all(&request).expect("it is sent");
        let mut answer = String::new();
        let _ = socket.read_to_string(&mut answer);
        if !answer.is_empty() {
            assert!(answer.starts_with("HTTP/1.1 200"), "{line}: {answer}");
            return;
        }
    }
    panic!("{line} has no answer");
}

/// A push of one profile.
fn push(pprof: &[u8], id: &str) -> Vec<u8> {
    let pair = [field(1, b"service_name"), field(2, b"shop")].concat();
    let sample = [field(1, pprof), field(2, id.as_bytes())].concat();
    field(1, &[field(1, &pair), field(2, &sample)].concat())
}

/// What was sent, by protocol: posts; of Zorka's those of traces, because its agents define all symbols anew before they try again.
const SENT: [(&str, usize); 5] = [
    ("datakit", 3),
    // A file of JSON holds two messages.
    ("otlp", 4),
    ("pyroscope", 4),
    ("zipkin", 1),
    ("zorka", 20),
];

/// Sends one of everything to a collector, through a proxy that loses the first answer to each; returns the posts that are stored, by
/// protocol, and the number of answers that were lost.
fn send_everything(
    data: &Path,
    scratch: &Path,
    flags: &[&str],
) -> (BTreeMap<String, usize>, usize) {
    let collector = Collector::start(data, flags);
    let proxy = Proxy::start(&collector.http, Losing::FirstOfEach);
    let send = |file: &Path| stdout(&["send", text(file), "--to", &proxy.url]);
    let mut pprof = Vec::new();
    for number in 1..=3 {
        pprof = profile(scratch, &format!("main;work {number}\n"));
        let bundle = scratch.join(format!("bundle{number}"));
        let file = scratch.join("a.pprof");
        std::fs::write(&file, &pprof).expect("a file");
        let to = "datakit:service=shop,language=go";
        stdout(&["convert", text(&file), text(&bundle), "--to", to, "--force"]);
        send(&bundle);
    }
    for format in ["otlp-traces", "otlp-traces-json", "otlp-profiles", "zipkin"] {
        let file = scratch.join(format);
        std::fs::write(&file, traceloom_samples::bytes(format, 1, 2_000)).expect("a file");
        send(&file);
    }
    for id in ["a", "b"] {
        let line = format!(
            "POST /ingest?name=shop&format=pprof&from=1723123941&until={}",
            1_723_123_951 + id.len()
        );
        let line = format!("{line}&spyName={id}");
        let kind = "Content-Type: application/octet-stream\r\n";
        post_until_answered(&proxy.url, &line, kind, &gzip(&pprof));
        let line = "POST /push.v1.PusherService/Push";
        let kind = "Content-Type: application/proto\r\n";
        post_until_answered(&proxy.url, line, kind, &push(&pprof, id));
    }
    let to = proxy.url.replace("http://", "zorka://");
    stdout(&["send", text(&dump(scratch)), "--to", &to]);
    let lost = proxy.n_lost();
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
    (stored(data), lost)
}

/// Returns the posts of a data folder by protocol.
fn stored(data: &Path) -> BTreeMap<String, usize> {
    let captures = Captures::read(&DataFolder::open(data).expect("a folder")).expect("captures");
    let mut posts = BTreeMap::new();
    for part in captures.list.iter().flat_map(|capture| &capture.parts) {
        let mut bytes = Vec::new();
        let copied = captures.copy(part, &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        });
        copied.expect("it can be read");
        let (protocol, _) = part.name.split_once('/').expect("a protocol");
        let n_posts = match protocol {
            "zorka" => {
                let lines = bytes.split(|&byte| byte == b'\n');
                let is_trace = |line: &&[u8]| line.windows(11).any(|part| part == b"/submit/trc");
                lines.filter(is_trace).count()
            }
            _ => 1,
        };
        *posts.entry(protocol.to_owned()).or_default() += n_posts;
    }
    posts
}

fn receipts(data: &Path) -> usize {
    stdout(&["captures", "receipts", "--json", text(data)])
        .lines()
        .count()
}

/// Returns how long each call of a path took, in order.
fn durations(path: &Path) -> Vec<i64> {
    let rows = stdout(&["calls", "--json", text(path)]);
    let rows = rows.lines().map(|row| {
        let row: Value = serde_json::from_str(row).expect("JSON");
        row["duration"].as_i64().expect("a duration")
    });
    let mut durations: Vec<_> = rows.collect();
    durations.sort_unstable();
    durations
}

#[test]
fn lost_answers_double_nothing() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let (stored, lost) = send_everything(&data, scratch.path(), &[]);
    let sent: BTreeMap<_, _> = SENT.map(|(protocol, n)| (protocol.to_owned(), n)).into();
    assert_eq!(stored, sent);
    // Every post was lost once, and the symbols of Zorka's session too.
    assert_eq!(lost, sent.values().sum::<usize>() + 1);
    assert_eq!(receipts(&data), lost - 1);
    let files = ["otlp-traces", "otlp-traces-json", "zipkin"];
    let mut expected: Vec<_> = files
        .iter()
        .flat_map(|file| durations(&scratch.path().join(file)))
        .collect();
    expected.extend(durations(&scratch.path().join("app.requests.jsonl")));
    expected.sort_unstable();
    assert_eq!(durations(&data), expected);
}

/// The same with a collector that forgets what it stored: so the test above sees what it is for.
#[test]
fn lost_answers_double_everything_where_repeats_are_forgotten() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let (stored, _) = send_everything(&data, scratch.path(), &["--forget-repeats"]);
    for (protocol, sent) in SENT {
        assert_eq!(stored[protocol], 2 * sent, "{protocol}: {stored:?}");
    }
    assert_eq!(receipts(&data), 0);
}
