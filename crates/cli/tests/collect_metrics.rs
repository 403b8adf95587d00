//! What a collector counts: how much of what came was understood, and what senders' clocks are ahead.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;

use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use collected::http::{ask, metric, request};
use collected::{Collector, eventually, run, streams, text};

fn units(http: &str, what: &str, listener: &str) -> Option<f64> {
    let sample = format!("traceloom_{what}_units_total{{listener=\"{listener}\"}}");
    metric(http, &sample)
}

/// Sends bytes over a connection of its own.
fn send(url: &str, bytes: &[u8]) {
    let (_, address) = url.split_once("://").expect("an address");
    let mut socket = TcpStream::connect(address).expect("a connection");
    socket.write_all(bytes).expect("bytes are taken");
}

/// Returns when the first calls file below a folder begins, by the clock of its agent, in seconds.
fn calls_begin(folder: &Path) -> f64 {
    let calls = folder.join("calls");
    let mut files: Vec<_> = std::fs::read_dir(calls)
        .expect("calls")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort();
    let bytes = std::fs::read(&files[0]).expect("a file");
    assert_eq!(bytes[..4], [0xff, 0xfe, 0xfd, 0xfc]);
    i64::from_be_bytes(bytes[8..16].try_into().expect("eight bytes")) as f64 / 1e3
}

fn now() -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.expect("a clock").as_secs_f64()
}

#[test]
fn what_was_understood_is_counted_apart_from_what_was_received() {
    let scratch = tempfile::tempdir().expect("a folder");
    let collector = Collector::start(&scratch.path().join("data"), &[]);
    let http = &collector.http;
    let counts = |listener: &str, wanted: [f64; 2]| {
        let read = || ["received", "decoded"].map(|what| units(http, what, listener));
        eventually(|| (read() == wanted.map(Some)).then_some(()));
    };
    send(&collector.tptp, b"<TRACE><node nodeId=\"1\"/></TRACE>");
    counts("tptp", [1.0, 1.0]);
    send(&collector.tptp, b"GET / HTTP/1.1\r\n\r\n");
    counts("tptp", [2.0, 1.0]);
    send(&collector.heph, b"no packet begins here");
    counts("heph", [1.0, 0.0]);
    send(&collector.heph, &traceloom_samples::bytes("heph", 1, 2_000));
    counts("heph", [2.0, 1.0]);
    let post = |body: &[u8]| {
        let headers = "Content-Type: application/json\r\n";
        ask(http, &request(http, "POST /api/v2/spans", headers, body)).status
    };
    assert_eq!(post(b"[{\"traceId\":\"1\"}"), 400);
    let span = br#"[{"traceId":"0000000000000001","id":"0000000000000002","name":"work","timestamp":1700000000000000,"duration":5}]"#;
    assert_eq!(post(span), 202);
    counts("http", [2.0, 1.0]);
}

#[test]
fn the_clock_of_a_sender_is_told_beside_ours() {
    let scratch = tempfile::tempdir().expect("a folder");
    let streams = streams(scratch.path());
    let collector = Collector::start(&scratch.path().join("data"), &[]);
    let http = &collector.http;
    let offset = |listener: &str| {
        metric(
            http,
            &format!("traceloom_clock_offset_seconds{{listener=\"{listener}\"}}"),
        )
    };
    assert_eq!(offset("cdt"), None);
    let before = now();
    let sent = run(&["send", text(&streams), "--to", &collector.url]);
    assert!(sent.status.success(), "{sent:?}");
    let told = eventually(|| offset("cdt"));
    let begun = calls_begin(&streams);
    // Milliseconds are cut.
    let possible = begun - now() - 0.001..=begun - before + 0.001;
    assert!(possible.contains(&told), "{told} is not in {possible:?}");
    let [received, decoded] = ["received", "decoded"].map(|what| units(http, what, "cdt"));
    assert!(received > Some(0.0));
    assert_eq!(received, decoded);

    // A recording that ends a hundred years from here.
    let body = "--b\r\nContent-Disposition: form-data; name=\"event\"; filename=\"event.json\"\r\n\r\n\
         {\"start\":\"2124-08-08T15:47:06Z\",\"end\":\"2124-08-08T15:48:06Z\",\"family\":\"go\",\"tags_profiler\":\"service:shop\"}\r\n\
         --b\r\nContent-Disposition: form-data; name=\"auto\"; filename=\"auto.pprof\"\r\n\r\nx\r\n--b--\r\n";
    let headers = "Content-Type: multipart/form-data; boundary=b\r\n";
    let line = "POST /profiling/v1/input";
    let before = now();
    let answer = ask(http, &request(http, line, headers, body.as_bytes()));
    assert_eq!(answer.status, 200, "{}", answer.body);
    let told = offset("http").expect("an offset");
    const END: f64 = 4_878_805_686.0;
    let possible = END - now() - 0.001..=END - before + 0.001;
    assert!(possible.contains(&told), "{told} is not in {possible:?}");
}
