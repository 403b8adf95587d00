//! What `traceloom-emit` writes, given to the readers of the programs whose formats these are. They are built outside of the repository
//! (docs/emit.md says how), and named by the environment.
#![allow(missing_docs, reason = "a test")]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use traceloom_emit::heph::{Sink, Tracer};
use traceloom_emit::zorka::{self, Exception, Registry, Session, Trace};
use traceloom_emit::{Options, Recorder, cdt};

const MS: u64 = 1_000_000;
const LIST: &str = "void shop.Orders.list() (orders.rs:12) [shop]";
const QUERY: &str = "void shop.Db.query() (db.rs:7) [shop]";

/// The reader that a variable names.
fn original(variable: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable);
    if path.is_none() {
        eprintln!("skipped: {variable} names no reader of the original");
    }
    path.map(PathBuf::from)
}

fn run(program: &Path, arguments: &[&Path]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.expect("it starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", program.display());
    String::from_utf8(output.stdout).expect("text")
}

fn options() -> Options {
    Options {
        patience: Duration::from_secs(30),
        ..Options::default()
    }
}

#[test]
fn the_converter_of_heph_reads_what_was_recorded() {
    let Some(converter) = original("TRACELOOM_HEPH_CONVERTER") else {
        return;
    };
    let scratch = tempfile::tempdir().expect("a folder");
    let [trace, chrome] = ["a.heph", "a.json"].map(|name| scratch.path().join(name));
    let tracer = Tracer::start(Sink::file(&trace).expect("a file"), options()).expect("a thread");
    let stream = tracer.stream();
    // It reads 4 KiB at a time and no packet that lies across.
    for n in 0..20 {
        let begin = n * MS;
        let attributes = [
            ("rows", n.into()),
            ("delta", (-3_i64).into()),
            ("load", 0.5.into()),
            ("sql", "SELECT 1".into()),
        ];
        stream.record("query", n, begin..begin + 7_000, &attributes);
    }
    assert_eq!(tracer.close().written, 20);
    assert_eq!(run(&converter, &[&trace, &chrome]), "OK.\n");
    let text = std::fs::read_to_string(&chrome).expect("a file");
    let converted: Value = serde_json::from_str(&text).expect("JSON");
    let mut events = converted["traceEvents"].as_array().expect("a list").clone();
    let first = events[0]["ts"].as_u64().expect("a number");
    for event in &mut events {
        event["ts"] = (event["ts"].as_u64().expect("a number") - first).into();
    }
    let expected = (0..20).map(|n| {
        json!({
            "pid": 1, "tid": n, "ts": 1_000 * n, "dur": 7, "name": "query", "ph": "X", "cat": "",
            "args": {"rows": n, "delta": -3, "load": 0.5, "sql": "SELECT 1"},
        })
    });
    assert_eq!(events, expected.collect::<Vec<_>>());
}

/// Plays a collector of CDT; returns what both ends said, each answer behind its request.
fn conversation(listener: &TcpListener) -> Vec<u8> {
    let (mut connection, _) = listener.accept().expect("a connection");
    let mut said = Vec::new();
    let mut n_streams = 0;
    loop {
        let [command] = take(&mut connection, &mut said);
        let answer: &[u8] = match command {
            0x14 => {
                let _: [u8; 8] = take(&mut connection, &mut said);
                for _ in 0..3 {
                    take_field(&mut connection, &mut said);
                }
                &100_605_u64.to_be_bytes()
            }
            0x15 => {
                take_field(&mut connection, &mut said);
                let _: [u8; 8] = take(&mut connection, &mut said);
                n_streams += 1;
                // No size and no age at which it wants another file.
                &[[n_streams; 16].as_slice(), &[0; 20]].concat()
            }
            0x02 => {
                let _: [u8; 16] = take(&mut connection, &mut said);
                take_field(&mut connection, &mut said);
                &[0]
            }
            0x11 => &[0],
            0x04 => return said,
            command => panic!("{command:#x}"),
        };
        connection.write_all(answer).expect("it listens");
        said.extend_from_slice(answer);
    }
}

fn take<const N: usize>(connection: &mut TcpStream, said: &mut Vec<u8>) -> [u8; N] {
    let mut bytes = [0; N];
    connection.read_exact(&mut bytes).expect("bytes");
    said.extend_from_slice(&bytes);
    bytes
}

fn take_field(connection: &mut TcpStream, said: &mut Vec<u8>) {
    let length = u32::from_be_bytes(take(connection, said));
    for _ in 0..length {
        let [_] = take(connection, said);
    }
}

/// Records three requests with a query each, and two pauses.
fn requests(recorder: &Recorder) {
    let (thread, pauses) = (recorder.thread("main"), recorder.pauses());
    for (n, sql) in ["SELECT 1", "SELECT 2", "SELECT 1"].into_iter().enumerate() {
        let begin = 10 * n as u64 * MS;
        let mut request = thread.call_at(LIST, begin);
        thread.record(
            QUERY,
            begin + 2 * MS..begin + 7 * MS,
            &[("sql", sql.into())],
        );
        request.set("user", "ana");
        request.end_at(begin + 9 * MS);
    }
    pauses.record(12 * MS..15 * MS);
    pauses.record(20 * MS..320 * MS);
}

#[test]
fn the_parser_of_cdt_reads_what_was_recorded() {
    let Some(parser) = original("TRACELOOM_CDT_PARSER") else {
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address");
    let said = std::thread::spawn(move || conversation(&listener));
    let link = cdt::CollectorLink::connect(address, "shop", "backend", "backend-1");
    let link = link.expect("a connection").indexed(&["user"]);
    let recorder = Recorder::start(link.deduplicated(&["sql"]), options()).expect("a thread");
    requests(&recorder);
    assert_eq!(recorder.close().written, 8);
    let scratch = tempfile::tempdir().expect("a folder");
    let file = scratch.path().join("a.protocol");
    std::fs::write(&file, said.join().expect("it ends")).expect("a file");
    let printed = run(&parser, &[&file]);
    let of = |kind: &str| -> Vec<&str> {
        let lines = printed.lines();
        lines.filter_map(|line| line.strip_prefix(kind)).collect()
    };
    assert!(
        of("pod ")[0].starts_with("shop backend backend-1_"),
        "{printed}"
    );
    assert_eq!(
        of("param "),
        ["user true false \"\"", "sql false false \"sql\""]
    );
    let rows = of("call ").into_iter().filter(|row| !row.starts_with(' '));
    let rows: Vec<(u64, &str)> = rows
        .map(|row| {
            let (time, rest) = row.split_once(' ').expect("a time");
            (time.parse().expect("a number"), rest)
        })
        .collect();
    let first = rows[0].0;
    let row = format!("9 2 main {LIST} user=[ana]");
    // It takes the distance from the row before for one from the beginning.
    let expected = [0, 10, 10].map(|ms| (first + ms, row.as_str()));
    assert_eq!(rows, expected, "{printed}");
    // It does not count the time in front of a stream to its phrase, so that it takes the length of the next one for pauses.
    let pauses = of("pause ");
    assert_eq!(pauses[pauses.len() - 2..], ["15 3", "305 300"], "{printed}");
    let count = |text: &str| printed.lines().filter(|line| line.contains(text)).count();
    assert_eq!(count("ERROR"), 0, "{printed}");
    // Of each request the query inside it, its statement and its user.
    let texts = ["-> tagId", "<- tagId", "string value 'ana'"];
    assert_eq!(texts.map(count), [3; 3], "{printed}");
    let places = ["clob: traceIdx=1, offset=0", "clob: traceIdx=1, offset=17"];
    assert_eq!(places.map(count), [2, 1], "{printed}");
    assert_eq!(of("sql "), ["34"]);
}

#[test]
fn the_reader_of_zorka_reads_what_was_recorded() {
    let Some(reader) = original("TRACELOOM_ZORKA_READER") else {
        return;
    };
    let registry = Registry::default();
    let [kind, url, class] = ["HTTP", "url", "demo.Gone"].map(|text| registry.symbol(text));
    let orders = registry.method("demo.App", "orders", "()V");
    let query = registry.method("demo.Db", "query", "()V");
    let mut trace = Trace::new(1 << 20, Duration::ZERO);
    trace.enter_at(orders, MS);
    trace.begin(1_795_224_782_073, kind, Some((7, None)));
    trace.attribute(url, zorka::Value::Text("/orders"));
    trace.enter_at(query, 2 * MS);
    let thrown = trace.throw(&Exception {
        class,
        message: Some("no such table"),
        cause: None,
        stack: &[],
    });
    trace.exit_at(5 * MS);
    trace.rethrow(thrown.expect("there is room"));
    trace.exit_at(9 * MS);
    let scratch = tempfile::tempdir().expect("a folder");
    let posts = Session::new(1).posts(&registry, &trace, 1);
    let files: Vec<PathBuf> = (0..posts.len())
        .map(|at| scratch.path().join(at.to_string()))
        .collect();
    for (file, post) in files.iter().zip(&posts) {
        std::fs::write(file, &post.body).expect("a file");
    }
    let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    assert_eq!(
        run(&reader, &files).lines().collect::<Vec<_>>(),
        [
            "start 1000000 demo.App.orders()V",
            "begin HTTP 7 0",
            "attribute url /orders",
            "start 2000000 demo.Db.query()V",
            "exception demo.Gone no such table",
            "end 5000000 1 4096",
            "exception again",
            "end 9000000 2 4096",
        ]
    );
}
