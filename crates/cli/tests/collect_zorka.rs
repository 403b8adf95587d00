//! Symbols and traces posted as Zorka's agents post them.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;
#[path = "../../formats/tests/corpus/mod.rs"]
mod corpus;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use collected::http::{ask, captures, request};
use collected::{Collector, run, stdout, text};
use serde_json::{Value, json};

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
    let receipts = stdout(&["captures", "receipts", "--json", text(&data)]);
    let receipts: Vec<Value> = receipts
        .lines()
        .map(|row| serde_json::from_str(row).expect("JSON"))
        .collect();
    assert_eq!(receipts.len(), 2, "{receipts:?}");
    assert!(
        receipts.iter().all(|row| row["original"] == "1-1.2"),
        "{receipts:?}"
    );
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
    let Some(corpus) = corpus::root() else {
        return;
    };
    for folder in ["gen-b-agent-streaming", "gen-c-agent-local"] {
        let recorded = corpus.join("zorka").join(folder);
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

/// Returns what gzip in base64 holds.
fn unpacked(value: &Value) -> Vec<u8> {
    let packed = STANDARD.decode(value.as_str().expect("a text"));
    let packed = packed.expect("base64");
    let mut bytes = Vec::new();
    let mut decoder = flate2::read::GzDecoder::new(&packed[..]);
    decoder.read_to_end(&mut bytes).expect("gzip");
    bytes
}

#[test]
fn traces_are_processed_and_answered_as_zico_does() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let http = &collector.http;
    let (symbols, first) = posts(1, 3);
    assert_eq!(submit(http, "agd", &reset(), &symbols), 202);
    assert_eq!(submit(http, "trc", &trace_id(1), &first), 202);
    assert_eq!(submit(http, "trc", &trace_id(2), &posts(1, 9).1), 202);
    let export = |more: &[&str]| {
        let args = [&["export", "--data", text(&data), "-o", "-"], more].concat();
        let lines = stdout(&args);
        let lines = lines.lines();
        lines
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
            .collect::<Vec<_>>()
    };
    let documents = export(&["--processed"]);
    assert_eq!(documents.len(), 2);
    let ids: Vec<_> = documents.iter().map(|one| &one["traceid"]).collect();
    assert_eq!(ids, [&format!("{:032x}", 1), &format!("{:032x}", 2)]);
    let one = &documents[0];
    assert_eq!(
        (&one["klass"], &one["method"]),
        (&"demo.App".into(), &"work".into())
    );
    assert_eq!(
        (&one["duration"], &one["ttype"]),
        (&20.into(), &"demo.App".into())
    );
    assert_eq!(
        (&one["calls"], &one["recs"], &one["errors"]),
        (&1.into(), &1.into(), &0.into())
    );
    // Symbols and records together are a stream of their own.
    let stream = [unpacked(&one["sdata"]), unpacked(&one["tdata"])].concat();
    let file = scratch.path().join("one.bin");
    std::fs::write(&file, stream).expect("a file");
    let rows = stdout(&["calls", "--json", text(&file)]);
    assert_eq!(rows.lines().count(), 1, "{rows}");
    assert!(rows.contains("demo.App.work"), "{rows}");
    assert_eq!(
        export(&["--processed=metadata", "--trace", "2", "1-1"]).len(),
        1
    );
    let kind = "Content-Type: application/json\r\n";
    let asked = |line: &str, body: &str| {
        let answer = ask(http, &request(http, line, kind, body.as_bytes()));
        let value = serde_json::from_str::<Value>(&answer.body);
        (
            answer.status,
            value.unwrap_or_else(|_| panic!("{}", answer.body)),
        )
    };
    let search = |query: &str| {
        let (status, rows) = asked("POST /api/trace", query);
        assert_eq!(status, 200, "{rows}");
        let rows = rows.as_array().expect("rows").iter();
        rows.map(|row| row["duration"].as_u64().expect("a number"))
            .collect::<Vec<_>>()
    };
    assert_eq!(search(r#"{"order-by":"duration"}"#), [20, 14]);
    assert_eq!(
        search(r#"{"order-by":"duration","order-dir":"asc","limit":1}"#),
        [14]
    );
    assert_eq!(search(r#"{"min-duration":15}"#), [20]);
    assert_eq!(search(r#"{"text":"App.work","traceid":"2"}"#), [14]);
    assert_eq!(search(r#"{"traceid":"77"}"#), [0; 0]);
    assert_eq!(asked("POST /api/trace", "[]").0, 400);
    let (status, spans) = asked("GET /api/trace/1", "");
    assert_eq!((status, &spans[0]["method"]), (200, &"work".into()));
    assert_eq!(spans[0]["children"], json!([]));
    let (status, tree) = asked("GET /api/trace/1/0", "");
    assert_eq!((status, &tree["method"]), (200, &"demo.App.work".into()));
    let (status, sums) = asked("GET /api/trace/1/0/stats", "");
    assert_eq!((status, &sums[0]["sum-duration"]), (200, &20.into()));
    assert_eq!(asked("GET /api/trace/ff", "").0, 404);
    assert_eq!(asked("GET /api/trace/x", "").0, 400);
    let types = asked("GET /api/config/ttypes", "").1;
    assert_eq!(types, json!({"demo.App": "demo.App"}));
    assert_eq!(asked("GET /api/trace/attr/URI", "").1, json!([]));
}

#[test]
fn recorded_traces_are_processed_whole() {
    let Some(corpus) = corpus::root() else {
        return;
    };
    for folder in ["gen-b-agent-streaming", "gen-c-agent-local"] {
        let recorded = corpus.join("zorka").join(folder).join("requests.jsonl");
        let scratch = tempfile::tempdir().expect("a folder");
        let data = scratch.path().join("data");
        let collector = Collector::start(&data, &[]);
        let to = collector.http.replace("http://", "zorka://");
        stdout(&["send", text(&recorded), "--to", &to]);
        let lines = stdout(&["export", "--processed", "--data", text(&data), "-o", "-"]);
        let mut n_spans = 0;
        for line in lines.lines() {
            let document: Value = serde_json::from_str(line).expect("JSON");
            let file = scratch.path().join("one.bin");
            let stream = [unpacked(&document["sdata"]), unpacked(&document["tdata"])].concat();
            std::fs::write(&file, stream).expect("a file");
            let top = stdout(&["top", "--json", text(&file)]);
            let top: Value =
                serde_json::from_str(top.lines().next().expect("a line")).expect("JSON");
            let calls = top["functions"].as_array().expect("functions").iter();
            let calls: u64 = calls.filter_map(|row| row["count"].as_u64()).sum();
            assert_eq!(
                calls,
                document["recs"].as_u64().expect("a number"),
                "{folder}: {top}"
            );
            // The method of a record around a trace is not defined by agents, when it goes on.
            let unknown = top.to_string().matches("\"#").count();
            assert!(unknown <= 1, "{folder}: symbols are missing: {top}");
            n_spans += calls;
        }
        assert!(n_spans > 0, "{folder}");
    }
}

/// Asks for a session as an agent of 2018 does, and returns the status and the session.
fn registered(http: &str, key: &str, name: &str) -> (u16, String) {
    let kind = "Content-Type: application/json\r\n";
    let asked =
        format!("{{\"rkey\":\"{key}\",\"name\":\"shop.local\",\"app\":\"shop\",\"env\":\"test\"}}");
    let answer = ask(
        http,
        &request(http, "POST /agent/register", kind, asked.as_bytes()),
    );
    if answer.status != 201 {
        return (answer.status, String::new());
    }
    let agent: Value = serde_json::from_str(&answer.body).expect("JSON");
    // Registered once, an agent is known by its name.
    let again = json!({"rkey": agent["authkey"], "name": "shop.local", name: agent[name]});
    let answer = ask(
        http,
        &request(
            http,
            "POST /agent/register",
            kind,
            again.to_string().as_bytes(),
        ),
    );
    let known: Value = serde_json::from_str(&answer.body).expect("JSON");
    assert_eq!((answer.status, &known[name]), (200, &agent[name]));
    let asked = json!({name: agent[name], "authkey": agent["authkey"]});
    let answer = ask(
        http,
        &request(
            http,
            "POST /agent/session",
            kind,
            asked.to_string().as_bytes(),
        ),
    );
    let session: Value = serde_json::from_str(&answer.body).expect("JSON");
    (
        answer.status,
        session["session"].as_str().expect("a session").to_owned(),
    )
}

#[test]
fn agents_that_ask_for_a_session_get_one_and_need_no_other_token() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let token = |name: &str, right: &str| {
        let made = stdout(&[
            "token",
            "add",
            name,
            "--right",
            right,
            "--data",
            text(&data),
        ]);
        made.split_whitespace()
            .find(|word| word.starts_with("tl_"))
            .expect("a token")
            .to_owned()
    };
    let (key, reader) = (token("agents", "upload"), token("reader", "read"));
    let collector = Collector::start(&data, &["--require-token"]);
    let http = &collector.http;
    let (symbols, trace) = posts(1, 3);
    assert_eq!(registered(http, "secret", "uuid").0, 401);
    assert_eq!(registered(http, &reader, "uuid").0, 403);
    assert_eq!(submit(http, "agd", &reset(), &symbols), 401);
    // 2018-05 calls the agent's name uuid, 2018-12 calls it id.
    for (start, name) in [(3, "uuid"), (4, "id")] {
        let (status, session) = registered(http, &key, name);
        assert_eq!(status, 200);
        let session = format!("X-Zorka-Session-UUID: {session}\r\n");
        let id = format!("{session}X-Zorka-Trace-UUID: 7a0e4be4-3d1b-4b1c-9a64-0d3c1c2f5e12\r\n");
        assert_eq!(submit(http, "trc", &id, &trace), 412);
        assert_eq!(submit(http, "agd", &session, &symbols), 202);
        assert_eq!(submit(http, "trc", &id, &posts(1, start).1), 202);
    }
    let auth = |headers: &str| ask(http, &request(http, "GET /agent/auth", headers, b""));
    let agent = "X-ZICO-Agent-UUID: 21c00000-0201-0000-0015-deadbeef1003\r\n";
    assert_eq!(
        auth(&format!("{agent}X-ZICO-Auth-Key: secret\r\n")).status,
        401
    );
    assert_eq!(auth("").status, 400);
    let answer = auth(&format!("{agent}X-ZICO-Auth-Key: {key}\r\n"));
    assert_eq!((answer.status, answer.body.len()), (200, 36));
    let session = format!("X-ZICO-Session-UUID: {}\r\n", answer.body);
    let (symbols, trace) = (STANDARD.encode(&symbols), STANDARD.encode(posts(1, 5).1));
    assert_eq!(submit(http, "agd", &session, symbols.as_bytes()), 202);
    assert_eq!(submit(http, "trc", &session, trace.as_bytes()), 202);
    // An agent of today may bring its token as a password.
    let basic = STANDARD.encode(format!("agent:{key}"));
    let basic = format!("{}Authorization: Basic {basic}\r\n", reset());
    assert_eq!(submit(http, "agd", &basic, &posts(1, 3).0), 202);
    assert_eq!(n_calls(&data), 3);
}

/// A dump of the posts of one session, with one trace for each of these starts.
fn dump(folder: &Path, starts: &[u8]) -> std::path::PathBuf {
    let mut lines = String::new();
    let (symbols, _) = posts(1, 3);
    let mut line = |what: &str, headers: Value, body: &[u8]| {
        let post = json!({"uri": format!("/agent/submit/{what}"), "headers": headers, "body": STANDARD.encode(body)});
        lines.push_str(&format!("{post}\n"));
    };
    let session = "00000000000000aa";
    line(
        "agd",
        json!({"X-Zorka-Session-ID": [session], "X-Zorka-Session-Reset": ["true"]}),
        &symbols,
    );
    for &start in starts {
        let id = format!("{start:032x}");
        line(
            "trc",
            json!({"X-Zorka-Session-ID": [session], "X-Zorka-Trace-ID": [id]}),
            &posts(1, start).1,
        );
    }
    let path = folder.join("app.requests.jsonl");
    std::fs::write(&path, lines).expect("a file");
    path
}

#[test]
fn send_plays_agents() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let to = collector.http.replace("http://", "zorka://");
    let posts = dump(scratch.path(), &[3, 4, 5]);
    stdout(&["send", text(&posts), "--to", &to]);
    assert_eq!(n_calls(&data), 3);
    let listed = captures(&data);
    assert_eq!(listed[0]["instance"], "00000000000000aa");
    // The same again is known; as load each session is another one.
    stdout(&["send", text(&posts), "--to", &to]);
    assert_eq!(n_calls(&data), 3);
    let ledger = scratch.path().join("ledger.jsonl");
    let load = ["--agents", "3", "--times", "2", "--ledger", text(&ledger)];
    let sent = run(&[&["send", text(&posts), "--to", &to][..], &load[..]].concat());
    let said = String::from_utf8(sent.stderr).expect("text");
    assert!(
        sent.status.success() && said.contains("3 agents: 18 traces acknowledged"),
        "{said}"
    );
    assert_eq!(captures(&data).len(), 7);
    let rows = std::fs::read_to_string(&ledger).expect("a ledger");
    let rows = rows
        .lines()
        .map(|row| serde_json::from_str::<Value>(row).expect("JSON"));
    let rows: Vec<_> = rows.collect();
    assert_eq!(rows.len(), 6);
    let trace = crate::posts(1, 3).1.len() as u64 * 3;
    assert!(
        rows.iter()
            .all(|row| row["acknowledged"] == trace && row["sent"] == trace),
        "{rows:?}"
    );
    // What is no posts is posted all the same.
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
    let before = n_rows(&data);
    stdout(&["send", shop, "--to", &to]);
    assert_eq!(n_rows(&data) - before, n_rows(Path::new(shop)));
    let fails = run(&[
        "send",
        text(&posts),
        "--to",
        "zorka://127.0.0.1:1",
        "--stagger",
    ]);
    assert_eq!(fails.status.code(), Some(2));
}

fn n_rows(path: &Path) -> usize {
    stdout(&["calls", "--json", text(path)]).lines().count()
}

#[test]
fn send_begins_its_session_anew_when_a_trace_is_refused() {
    let scratch = tempfile::tempdir().expect("a folder");
    let dump = dump(scratch.path(), &[3]);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = format!("zorka://{}", listener.local_addr().expect("an address"));
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("a connection");
        let mut reader = BufReader::new(socket.try_clone().expect("a socket"));
        let mut heads = Vec::new();
        for status in [
            "202 Accepted",
            "401 Unauthorized",
            "202 Accepted",
            "202 Accepted",
        ] {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert_ne!(reader.read_line(&mut head).expect("a line"), 0);
            }
            let head = head.to_lowercase();
            let length = head.split("content-length: ").nth(1).expect("a length");
            let length = length
                .lines()
                .next()
                .expect("a line")
                .parse()
                .expect("a number");
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("a body");
            heads.push((head, body));
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            socket.write_all(answer.as_bytes()).expect("an answer");
        }
        heads
    });
    stdout(&["send", text(&dump), "--to", &to]);
    let heads = server.join().expect("a server");
    let said = |at: usize, name: &str| {
        let value = heads[at]
            .0
            .split(&format!("{name}: "))
            .nth(1)
            .expect("a header");
        value.lines().next().expect("a line").to_owned()
    };
    let paths: Vec<_> = heads
        .iter()
        .map(|(head, _)| head.split(' ').nth(1).expect("a path"))
        .collect();
    let (agd, trc) = ("/agent/submit/agd", "/agent/submit/trc");
    assert_eq!(paths, [agd, trc, agd, trc]);
    assert_eq!(
        [
            said(0, "x-zorka-session-reset"),
            said(2, "x-zorka-session-reset")
        ],
        ["true", "true"]
    );
    assert_eq!(said(1, "x-zorka-trace-id"), format!("{:032x}", 3));
    assert_ne!(said(1, "x-zorka-trace-id"), said(3, "x-zorka-trace-id"));
    assert_eq!((&heads[0].1, &heads[1].1), (&heads[2].1, &heads[3].1));
}

#[test]
fn recorded_posts_are_sent_as_they_were() {
    let Some(corpus) = corpus::root() else {
        return;
    };
    for folder in ["gen-b-agent-streaming", "gen-c-agent-local"] {
        let recorded = corpus.join("zorka").join(folder);
        let recorded = recorded.join("requests.jsonl");
        let scratch = tempfile::tempdir().expect("a folder");
        let data = scratch.path().join("data");
        let collector = Collector::start(&data, &[]);
        let to = collector.http.replace("http://", "zorka://");
        stdout(&["send", text(&recorded), "--to", &to]);
        assert_eq!(n_rows(&data), n_rows(&recorded), "{folder}");
    }
}
