//! The library as a program uses it: the examples, run over made-up data, against the program.

#[path = "../examples/convert.rs"]
#[expect(dead_code, reason = "the test calls what `main` does")]
mod convert;
#[path = "../examples/heph_socket.rs"]
#[expect(dead_code, reason = "the same")]
mod heph_socket;
#[path = "../examples/print_spans.rs"]
#[expect(dead_code, reason = "the same")]
mod print_spans;
#[path = "../examples/top_column.rs"]
#[expect(dead_code, reason = "the same")]
mod top_column;

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use traceloom_samples::SAMPLES;

const SHOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");

fn traceloom(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_traceloom"));
    let output = command.args(args).output().expect("the program runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

fn json(args: &[&str]) -> Vec<serde_json::Value> {
    let text = traceloom(args);
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("JSON Lines")
}

/// A file with made-up data of a format, under a name that tells nothing more than its extension.
fn sample(folder: &TempDir, format: &str) -> String {
    let row = traceloom::formats::by_name(format).expect("a format");
    let extension = row.extensions.first().unwrap_or(&"bin");
    let path = folder.path().join(format!("{format}.{extension}"));
    let bytes = traceloom_samples::bytes(format, 11, 20_000);
    std::fs::write(&path, bytes).expect("a file");
    path.to_str().expect("UTF-8").to_owned()
}

fn printed(path: &str) -> String {
    let mut out = Vec::new();
    print_spans::print_spans(path, &mut out).expect("spans are printed");
    String::from_utf8(out).expect("text")
}

#[test]
fn spans_of_every_sample_are_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut with_spans = Vec::new();
    for (format, _) in SAMPLES {
        let path = sample(&folder, format);
        let text = printed(&path);
        assert!(!text.is_empty(), "{format}");
        if text.contains(" ns  ") {
            with_spans.push(*format);
        }
    }
    let expected = [
        "cdt-calls",
        "heph",
        "zorka-b1",
        "zorka-c",
        "chrome",
        "perfetto",
        "otlp-traces",
        "zipkin",
    ];
    for format in expected {
        assert!(with_spans.contains(&format), "{format}: {with_spans:?}");
    }
}

#[test]
fn printed_spans_are_those_of_the_program_with_names_and_values() {
    let text = printed(SHOP);
    let calls = json(&["calls", SHOP, "--json", "-n", "0"]);
    let roots: Vec<&str> = text
        .lines()
        .filter(|line| {
            line.split_once(" ns  ")
                .is_some_and(|(_, rest)| !rest.starts_with(' '))
        })
        .collect();
    assert_eq!(roots.len(), calls.len());
    for call in &calls {
        let (start, duration) = (&call["start"], call["duration"].to_string());
        let begins = format!("{start} {duration:>12} ns  ");
        let line = roots.iter().find(|line| line.starts_with(&begins));
        let line = line.unwrap_or_else(|| panic!("no span is {call}"));
        let method = call["method"].as_str().expect("a method");
        assert!(line.contains(method), "{line}");
    }
    assert!(text.contains("  sql="), "values of attributes are printed");
    assert!(!text.contains('#'), "every name is known");
}

#[test]
fn files_of_no_format_are_listed() {
    let folder = tempfile::tempdir().expect("a folder");
    sample(&folder, "pprof");
    std::fs::write(folder.path().join("notes.txt"), "not a trace\n").expect("a file");
    let text = printed(folder.path().to_str().expect("UTF-8"));
    assert!(text.starts_with("pprof."), "{text}");
    assert!(text.contains("notes.txt: unknown format"), "{text}");
}

#[test]
fn the_converter_writes_and_reports_what_the_program_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = sample(&folder, "heph");
    for format in ["perfetto", "chrome", "pprof", "tptp-binary"] {
        let (mut own, mut report) = (Vec::new(), Vec::new());
        convert::convert(&path, format, &mut own, &mut report).expect("a conversion");
        let out = folder.path().join(format);
        let out = out.to_str().expect("UTF-8");
        let args = ["convert", path.as_str(), out, "--to", format, "--json"];
        let mut command = Command::new(env!("CARGO_BIN_EXE_traceloom"));
        let done = command.args(args).output().expect("the program runs");
        if format == "pprof" {
            // It refuses what the library reports: spans have no place among samples.
            assert_eq!(done.status.code(), Some(1));
            let report = String::from_utf8(report).expect("text");
            assert!(report.starts_with("lost spans"), "{report}");
            continue;
        }
        assert_eq!(own, std::fs::read(out).expect("a file"), "{format}");
        let losses: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
        let mut lines = String::new();
        for (word, key) in [("lost", "lost"), ("changed", "changed")] {
            for row in losses[key].as_array().expect("a list") {
                let (kind, field) = (row["kind"].as_str(), row["field"].as_str());
                let (kind, field) = (kind.expect("a word"), field.expect("a name"));
                lines += &format!("{word} {kind} {field} ×{}\n", row["count"]);
            }
        }
        assert_eq!(String::from_utf8(report).expect("text"), lines, "{format}");
    }
}

#[test]
fn a_column_stands_beside_those_of_top() {
    let mut out = Vec::new();
    top_column::top_with_longest(SHOP, &mut out).expect("a table");
    let text = String::from_utf8(out).expect("text");
    let top = json(&["top", SHOP, "--json", "-n", "0"]);
    let rows = top[0]["functions"].as_array().expect("functions");
    let mut longest_seen = 0;
    assert_eq!(text.lines().count(), rows.len());
    for (line, row) in text.lines().zip(rows) {
        let cells: Vec<&str> = line.splitn(5, ' ').collect();
        let [own, total, calls, longest, _name] = cells.as_slice() else {
            panic!("{line}")
        };
        assert_eq!(*own, row["self"].to_string(), "{line}");
        assert_eq!(*total, row["total"].to_string(), "{line}");
        assert_eq!(*calls, row["count"].to_string(), "{line}");
        let (longest, total) = (longest.parse::<u64>(), total.parse::<u64>());
        let (longest, total) = (longest.expect("a number"), total.expect("a number"));
        assert!(longest <= total, "{line}");
        longest_seen = longest_seen.max(longest);
    }
    let calls = json(&["calls", SHOP, "--json", "--sort", "-duration", "-n", "1"]);
    assert_eq!(calls[0]["duration"].as_u64(), Some(longest_seen));
}

#[test]
fn a_stream_from_a_socket_is_printed_whatever_its_pieces() {
    let bytes = traceloom_samples::bytes("heph", 5, 30_000);
    let mut whole = Vec::new();
    heph_socket::print_events(&mut bytes.as_slice(), &mut whole).expect("events");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let sent = bytes.clone();
    let sender = std::thread::spawn(move || {
        let mut stream = TcpStream::connect(address).expect("a connection");
        for piece in sent.chunks(777) {
            stream.write_all(piece).expect("it is read");
        }
    });
    let (mut stream, _) = listener.accept().expect("a connection");
    let mut received = Vec::new();
    heph_socket::print_events(&mut stream, &mut received).expect("events");
    sender.join().expect("all is sent");
    assert_eq!(received, whole);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("x.heph");
    std::fs::write(&file, &bytes).expect("a file");
    let dump = json(&["dump", file.to_str().expect("UTF-8"), "--json"]);
    let events = dump.iter().filter(|row| row["kind"] == "event").count();
    let text = String::from_utf8(received).expect("text");
    let lines = text.lines().filter(|line| line.starts_with("stream "));
    assert_eq!(lines.count(), events);
    assert!(events > 10, "{events}");
}

#[test]
fn a_path_is_any_kind_of_path() {
    let input = traceloom::open(Path::new(SHOP)).expect("a folder");
    assert_eq!(input.traces().count(), 1);
    let missing = traceloom::open("no/such/file").expect_err("there is no such file");
    assert!(missing.to_string().contains("no/such/file"), "{missing}");
}
