//! What a collector says of itself: the audit log, and messages as text and as JSON.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use collected::http::{ask, captures, request};
use collected::{Collector, run, stdout, text};
use serde_json::Value;

const SHOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");

/// A name that would begin a line of its own, and move a terminal's cursor.
const HOSTILE: &str = "ops\n{\"what\":\"forged\"}\u{1b}[2J\u{9b}1A";

fn rows(data: &Path) -> Vec<Value> {
    // Made with its first line.
    let text = std::fs::read_to_string(data.join("audit.jsonl")).unwrap_or_default();
    text.lines()
        .map(|row| serde_json::from_str(row).unwrap_or_else(|error| panic!("{error}: {row}")))
        .collect()
}

/// Waits for a row of the audit log.
fn row(data: &Path, what: &str, is_it: &dyn Fn(&Value) -> bool) -> Value {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let rows = rows(data);
        let mut found = rows.iter().filter(|row| row["what"] == what);
        if let Some(row) = found.find(|row| is_it(row)) {
            return row.clone();
        }
        assert!(Instant::now() < until, "no `{what}` in {rows:#?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn who_changed_what_and_who_was_refused_is_written_a_line_each() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let folder = text(&data);
    let token = stdout(&[
        "token", "add", HOSTILE, "--right", "write", "--data", folder,
    ]);
    let collector = Collector::start(&data, &["--require-token"]);
    let http = &collector.http;
    let bearer = format!("Authorization: Bearer {}\r\n", token.trim());

    let post = |line: &str, headers: &str, body: &str| {
        let json = format!("Content-Type: application/json\r\n{headers}");
        ask(http, &request(http, line, &json, body.as_bytes())).status
    };
    let session = format!("{{\"token\": \"{}\"}}", token.trim());
    assert_eq!(post("POST /api/v1/session", "", &session), 200);
    let wrong = r#"{"token": "tl_guess"}"#;
    assert_eq!(post("POST /api/v1/session", "", wrong), 401);
    assert_eq!(post("GET /metrics", "", ""), 401);
    assert_eq!(post("GET /metrics", &bearer, ""), 403);
    let command = "POST /api/v1/captures/9-9/commands";
    assert_eq!(post(command, &bearer, r#"{"command": "td"}"#), 404);

    // A connection that is no conversation of an agent.
    let cdt = collector.url.strip_prefix("cdt://").expect("an address");
    let mut stranger = TcpStream::connect(cdt).expect("a connection");
    let peer = stranger.local_addr().expect("an address").to_string();
    stranger
        .write_all(b"GET / HTTP/1.1\r\n\r\n")
        .expect("is sent");
    let mut answer = Vec::new();
    let _ = stranger.read_to_end(&mut answer);
    assert_eq!(answer, [0xff]);

    wait_until("the capture ends", || {
        captures(&data)
            .iter()
            .any(|row| row["state"] == "no_request")
    });
    stdout(&["captures", "pin", "1-1", "--data", folder]);
    stdout(&["captures", "unpin", "1-1", "--data", folder]);
    stdout(&["captures", "delete", "1-1", "--data", folder]);
    stdout(&["token", "revoke", HOSTILE, "--data", folder]);

    let is_done = |row: &Value| row["outcome"] == "done";
    let own = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(&data).expect("a folder"));
    for (what, on) in [
        ("token_added", HOSTILE),
        ("token_revoked", HOSTILE),
        ("pin", "1-1"),
        ("unpin", "1-1"),
        ("delete", "1-1"),
    ] {
        let row = row(&data, what, &is_done);
        assert_eq!((&row["on"], &row["who"]["uid"]), (&on.into(), &own.into()));
    }
    let session = row(&data, "session", &is_done);
    assert_eq!(session["who"]["token"], HOSTILE);
    assert!(
        session["who"]["peer"]
            .as_str()
            .is_some_and(|peer| peer.starts_with("127.0.0.1:"))
    );
    let command = row(&data, "command", &|row| row["on"] == "9-9");
    assert_eq!(command["who"]["token"], HOSTILE);
    let outcome = command["outcome"].as_str().expect("a sentence");
    assert!(outcome.starts_with("td not sent: no agent"), "{outcome}");
    for (on, reason) in [
        ("POST /api/v1/session", "unknown_token"),
        ("GET /metrics", "no_token"),
        ("GET /metrics", "missing_right"),
        ("cdt", "no_request"),
    ] {
        row(&data, "refused", &|row| {
            row["on"] == on && row["outcome"] == reason
        });
    }
    row(&data, "refused", &|row| row["who"]["peer"] == peer.as_str());
    let said = std::fs::read_to_string(data.join("audit.jsonl")).expect("an audit log");
    assert!(!said.contains(token.trim()) && !said.contains("tl_guess"));
    assert_eq!(
        rows(&data)
            .iter()
            .filter(|row| row["what"] == "forged")
            .count(),
        0
    );
    let mode = std::fs::metadata(data.join("audit.jsonl")).expect("a file");
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
}

#[test]
fn what_retention_deletes_is_written_with_its_rule() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let streams = scratch.path().join("streams");
    stdout(&["convert", SHOP, text(&streams), "--to", "cdt-streams"]);
    let collector = Collector::start(&data, &["--keep-mib", "0"]);
    stdout(&["send", text(&streams), "--to", &collector.url]);
    let row = row(&data, "delete", &|_| true);
    assert_eq!(
        (&row["on"], &row["who"]["rule"], &row["outcome"]),
        (&"1-1".into(), &"keep-mib".into(), &"done".into())
    );
    // Where no collector runs, the command carries a request out itself.
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
    let collector = Collector::start(&data, &[]);
    stdout(&["send", text(&streams), "--to", &collector.url]);
    collector.terminate();
    stdout(&["captures", "delete", "2-1", "--data", text(&data)]);
    let last = rows(&data).pop().expect("a row");
    assert_eq!(
        (&last["what"], &last["on"]),
        (&"delete".into(), &"2-1".into())
    );
    assert!(last["who"]["uid"].is_u64(), "{last}");
}

#[test]
fn messages_are_objects_a_line_where_that_is_asked_for() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &["--log-level", "debug", "--log-format", "json"]);
    let cdt = collector.url.strip_prefix("cdt://").expect("an address");
    drop(TcpStream::connect(cdt).expect("a connection"));
    let path = "GET /nowhere%0a%1b[2J".to_owned();
    let foreign = "Origin: http://evil.example\r\n";
    let http = &collector.http;
    assert_eq!(ask(http, &request(http, &path, foreign, b"")).status, 404);
    let line = "GET /api/v1/captures";
    assert_eq!(ask(http, &request(http, line, foreign, b"")).status, 403);
    wait_until("the connection ends", || {
        captures(&data)
            .iter()
            .any(|row| row["state"] == "connection_lost")
    });
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
    let rows: Vec<Value> = said
        .lines()
        .map(|row| serde_json::from_str(row).unwrap_or_else(|error| panic!("{error}: {row}")))
        .collect();
    let find = |message: &str| {
        let found = rows.iter().find(|row| row["message"] == message);
        found.unwrap_or_else(|| panic!("no `{message}` in {said}"))
    };
    let opened = find("connection opened");
    assert_eq!(
        (&opened["level"], &opened["listener"], &opened["capture"]),
        (&"debug".into(), &"cdt".into(), &"1-1".into())
    );
    let ended = find("connection ended");
    assert_eq!(
        (&ended["capture"], &ended["reason"]),
        (&"1-1".into(), &"connection_lost".into())
    );
    assert_eq!(find("refused")["reason"], "origin");
    let last = rows.last().expect("a row");
    assert!(
        last["message"]
            .as_str()
            .is_some_and(|text| text.starts_with("stopped: "))
    );
    assert!(
        rows.iter()
            .all(|row| row["time"].as_str().is_some_and(|time| time.ends_with('Z')))
    );
}

#[test]
fn connections_are_told_at_debug_alone_and_text_has_their_fields() {
    let scratch = tempfile::tempdir().expect("a folder");
    for (level, told) in [("info", false), ("debug", true)] {
        let data = scratch.path().join(level);
        let collector = Collector::start(&data, &["--log-level", level]);
        let cdt = collector.url.strip_prefix("cdt://").expect("an address");
        drop(TcpStream::connect(cdt).expect("a connection"));
        wait_until("the connection ends", || {
            captures(&data)
                .iter()
                .any(|row| row["state"] == "connection_lost")
        });
        let (_, said) = collector.terminate();
        let line = r#"connection ended listener="cdt" capture="1-1" peer="127.0.0.1:"#;
        assert_eq!(said.contains(line), told, "{said}");
    }
    let wrong = run(&["serve", "--log-level", "loud", "--check-config"]);
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(
        wrong.status.code() == Some(2) && said.contains("there is no level `loud`"),
        "{said}"
    );
}
