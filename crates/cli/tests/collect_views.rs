//! The API of a collector: what it answers is what the commands print of the same data folder.

mod collected;

use collected::{Collector, eventually, run, stdout, text};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

const SHOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");

/// Where the HTTP side of a collector is.
fn authority(collector: &Collector) -> String {
    let address = collector.http.trim_start_matches("http://");
    address.to_owned()
}

/// Asks with a header, and returns the status, the head and the body.
fn asked(address: &str, path: &str, header: &str) -> (u16, String, String) {
    let mut socket = TcpStream::connect(address).expect("connects");
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{header}Connection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).expect("is written");
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).expect("is read");
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    let body = if chunked {
        unchunked(body)
    } else {
        body.to_owned()
    };
    (status.expect("a status"), head.to_lowercase(), body)
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).expect("a length");
        if length == 0 {
            break;
        }
        whole += rest.get(..length).expect("a chunk");
        body = rest.get(length + 2..).unwrap_or_default();
    }
    whole
}

fn rows(address: &str, path: &str) -> Vec<Value> {
    let (status, _, body) = asked(address, path, "");
    assert_eq!(status, 200, "{path}: {body}");
    let body: Value = serde_json::from_str(&body).expect("JSON");
    body["rows"].as_array().expect("rows").clone()
}

fn lines(args: &[&str]) -> Vec<Value> {
    let text = stdout(args);
    let values = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    values.collect()
}

/// A collector that has the shop, and where its HTTP side is.
fn collected_shop(data: &std::path::Path) -> (Collector, String) {
    let collector = Collector::start(data, &[]);
    let address = authority(&collector);
    let to = format!("cdt://{}", collector.address());
    let sent = run(&["send", SHOP, "--to", &to, "--service", "shop"]);
    assert!(sent.status.success(), "{sent:?}");
    eventually(|| (rows(&address, "/api/v1/captures")[0]["state"] == "goodbye").then_some(()));
    (collector, address)
}

#[test]
fn answers_are_what_commands_print() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let (collector, address) = collected_shop(&data);
    let data = text(&data);
    assert_eq!(
        rows(&address, "/api/v1/captures"),
        lines(&["captures", "ls", data, "--json"])
    );
    let query = "/api/v1/calls?sort=-duration&n=7&q=duration+%3E+10ms&svc=shop";
    let chosen = format!("{data}#1-1");
    let calls = [
        "calls",
        &chosen,
        "--json",
        "--sort=-duration",
        "-n=7",
        "--filter=duration > 10ms",
    ];
    let found = rows(&address, query);
    assert_eq!(found.len(), 7);
    assert_eq!(found, lines(&calls));
    let call = found[0]["capture"]["call"].as_str().expect("an id");
    let detail = rows(&address, &format!("/api/v1/calls/{call}?capture=1-1"));
    assert_eq!(detail, lines(&["call", &chosen, call, "--json"]));
    assert_eq!(detail[0]["duration_ns"], found[0]["duration"]);
    let functions = rows(&address, "/api/v1/functions?n=5");
    assert_eq!(functions, lines(&["top", data, "--json", "-n=5"]));
    let notes = run(&["check", "--json", &chosen]);
    let notes = String::from_utf8(notes.stdout).expect("text");
    assert_eq!(
        rows(&address, "/api/v1/captures/1-1/notes").len(),
        notes.lines().count()
    );
    let listeners = rows(&address, "/api/v1/listeners");
    let cdt = listeners
        .iter()
        .find(|row| row["name"] == "cdt")
        .expect("a listener");
    assert_eq!(cdt["send_to"], format!("cdt://{}", collector.address()));
    for page in ["flame", "report", "timeline"] {
        let (status, head, body) = asked(&address, &format!("/view/{page}?capture=1-1"), "");
        assert_eq!(status, 200, "{page}");
        assert!(head.contains("frame-ancestors 'self'"), "{head}");
        assert!(body.trim_end().ends_with("</html>"), "{page}");
    }
}

#[test]
fn what_cannot_be_answered_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let (_collector, address) = collected_shop(&data);
    for (path, status, said) in [
        ("/api/v1/calls?q=duration+%3E", 400, "expected a value"),
        ("/api/v1/calls?from=yesterday", 400, "no date"),
        ("/api/v1/calls?n=0", 400, "no number"),
        ("/api/v1/calls?svc=nobody", 404, "no capture is of nobody"),
        ("/api/v1/captures/9-9", 422, "there is no capture 9-9"),
        ("/api/v1/captures/x", 404, "no id of a capture"),
        ("/api/v1/calls/zz?capture=1-1", 422, "no call id"),
        ("/view/heap", 404, "there is no such page"),
    ] {
        let (found, head, body) = asked(&address, path, "");
        assert_eq!(found, status, "{path}: {body}");
        assert!(head.contains("application/problem+json"), "{path}: {head}");
        assert!(body.contains(said), "{path}: {body}");
    }
    // A page of another origin asks for nothing.
    let foreign = "Origin: http://evil.example\r\n";
    assert_eq!(asked(&address, "/api/v1/captures", foreign).0, 403);
}

#[test]
fn pages_hold_nothing_and_data_needs_a_token_where_one_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let collector = Collector::start(&data, &["--require-token"]);
    let address = authority(&collector);
    let (status, head, body) = asked(&address, "/calls", "");
    assert_eq!(status, 200, "{body}");
    assert!(
        head.contains("default-src 'none'") && !head.contains("unsafe"),
        "{head}"
    );
    for path in [
        "/api/v1/captures",
        "/api/v1/calls",
        "/view/flame",
        "/api/v1/listeners",
    ] {
        assert_eq!(asked(&address, path, "").0, 401, "{path}");
    }
}
