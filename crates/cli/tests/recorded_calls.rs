//! Programs that write calls with `traceloom-emit`; commands and a collector read them.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use collected::http::captures;
use collected::program::running::Running;
use collected::{Collector, eventually, json_rows, run, stdout, text};
use serde_json::Value;
use traceloom_emit::tptp::TraceForm;
use traceloom_emit::{
    Options, Recorder, Report, ThreadRecorder, TraceOutput, cdt, chrome, perfetto, tptp,
};

const MS: u64 = 1_000_000;
const LIST: &str = "void shop.Orders.list() (orders.rs:12) [shop]";
const QUERY: &str = "void shop.Db.query() (db.rs:7) [shop]";

fn recorder(output: impl TraceOutput) -> Recorder {
    let options = Options {
        patience: Duration::from_secs(30),
        ..Options::default()
    };
    Recorder::start(output, options).expect("a thread")
}

/// Records 25 requests of 9 ms, each with a query of 5 ms.
fn requests(thread: &ThreadRecorder, from: u64) {
    for n in 0..25 {
        let begin = (from + 10 * n) * MS;
        let mut request = thread.call_at(LIST, begin);
        let attributes = [("sql", "SELECT 1".into()), ("load", 0.5.into())];
        thread.record(QUERY, begin + 2 * MS..begin + 7 * MS, &attributes);
        request.set("user", "ana");
        request.set("rows", n);
        request.end_at(begin + 9 * MS);
    }
}

/// Writes the requests of two threads, and returns what became of them.
fn write(output: impl TraceOutput) -> Report {
    let recorder = recorder(output);
    let (main, worker) = (recorder.thread("main"), recorder.thread("worker"));
    requests(&main, 0);
    requests(&worker, 3);
    drop((main, worker));
    recorder.close()
}

/// Everything was written.
fn whole(report: Report) {
    assert_eq!((report.written, report.dropped, report.cut), (100, 0, 0));
}

/// Thread, milliseconds from the first call, duration in milliseconds, and the attribute `rows` of a call.
type Call = (String, u64, u64, String);

/// Returns the calls that a command reads, in order.
fn calls(path: &str) -> Vec<Call> {
    read_calls(path, |row| {
        let attributes = &row["attributes"];
        assert_eq!(attributes["user"], "ana", "{row}");
        attributes["rows"].to_string().replace('"', "")
    })
}

/// Returns the calls of a format without attributes.
fn bare_calls(path: &str) -> Vec<Call> {
    read_calls(path, |_| String::new())
}

fn read_calls(path: &str, rows_of: impl Fn(&Value) -> String) -> Vec<Call> {
    let rows = json_rows(&run(&["calls", "--json", path]));
    let number = |row: &Value, field: &str| row[field].as_u64().expect("a number");
    let first = rows.iter().map(|row| number(row, "start")).min();
    let call = |row: &Value| {
        let thread = row["thread"].as_str().expect("a name").to_owned();
        assert_eq!(row["status"], "complete", "{row}");
        let rows = rows_of(row);
        let since = number(row, "start") - first.unwrap_or_default();
        (thread, since / MS, number(row, "duration") / MS, rows)
    };
    let mut calls: Vec<Call> = rows.iter().map(call).collect();
    calls.sort();
    calls
}

fn expected_calls() -> Vec<Call> {
    let of_thread = |name: &'static str, from: u64| {
        (0..25).map(move |n| (name.to_owned(), from + 10 * n, 9, n.to_string()))
    };
    let mut calls: Vec<Call> = of_thread("main", 0).chain(of_thread("worker", 3)).collect();
    calls.sort();
    calls
}

/// Compares calls, and the times of methods, with what was recorded.
fn is_read_back(path: &str) {
    assert_eq!(calls(path), expected_calls());
    methods_took(path, [("query", "250000000,"), ("list", "200000000,")]);
}

/// Compares own times of methods, and finds nothing wrong with what was written.
fn methods_took(path: &str, methods: [(&str, &str); 2]) {
    let top = stdout(&["top", "--csv", path]);
    for (method, times) in methods {
        let row = top
            .lines()
            .find(|line| line.contains(method))
            .expect("a row");
        assert!(row.contains(times), "{times}: {top}");
    }
    let checked = run(&["check", path]);
    assert!(
        checked.status.success(),
        "{}",
        String::from_utf8_lossy(&checked.stdout)
    );
}

#[test]
fn a_dump_folder_is_read_back() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = cdt::DumpFolder::create(scratch.path(), "shop").expect("a folder");
    whole(write(folder.indexed(&["user"])));
    is_read_back(text(scratch.path()));
}

/// Records calls with statements, two of them alike, and pauses, one of which is told late; returns what became of them.
fn pauses_and_statements(recorder: &Recorder) -> Report {
    let pauses = recorder.pauses();
    let main = recorder.thread("main");
    for (n, sql) in ["SELECT 1", "SELECT 2", "SELECT 1"].into_iter().enumerate() {
        let start = 100 * n as u64 * MS;
        main.record(
            QUERY,
            start..start + 50 * MS,
            &[("sql", sql.into()), ("user", "ana".into())],
        );
    }
    for (start, end) in [(12, 15), (120, 320), (10, 11)] {
        pauses.record(start * MS..end * MS);
    }
    drop((main, pauses));
    recorder.close()
}

/// Compares pauses and statements, and what says them in the bytes, with what was recorded.
fn are_read_back(path: &str) {
    let shown = |row: &Value| {
        (
            row["suspended"].as_u64(),
            row["attributes"]["user"].to_string(),
        )
    };
    let mut rows = json_rows(&run(&["calls", "--json", path]));
    rows.sort_by_key(|row| row["start"].as_u64());
    let expected = [4, 30, 50].map(|ms| (Some(ms * MS), "\"ana\"".to_owned()));
    assert_eq!(rows.iter().map(shown).collect::<Vec<_>>(), expected);
    for (row, statement) in rows.iter().zip(["SELECT 1", "SELECT 2", "SELECT 1"]) {
        let call = stdout(&["call", "--json", path, row["id"].as_str().expect("a text")]);
        let call: Value = serde_json::from_str(&call).expect("JSON");
        let attribute = &call["spans"][0]["attributes"][0];
        assert_eq!(
            (&attribute["name"], &attribute["value"]),
            (&"sql".into(), &statement.into()),
            "{call}"
        );
    }
    let records = json_rows(&run(&["dump", "--json", path]));
    let fields = |stream: &str, kind: &str, names: &[&str]| -> Vec<String> {
        let is_of = |record: &&Value| {
            record["kind"] == kind
                && record["part"]
                    .as_str()
                    .is_some_and(|part| part.contains(stream))
        };
        let shown = records.iter().filter(is_of).map(|record| {
            let values = names.iter().map(|&name| record[name].to_string());
            values.collect::<Vec<_>>().join(" ")
        });
        shown.collect()
    };
    let pauses = fields("suspend", "pause", &["delta", "delay"]);
    assert_eq!(pauses, ["15 3", "305 200", "-309 1"]);
    // Each statement is there once.
    assert_eq!(
        fields("sql", "string", &["text"]),
        ["\"SELECT 1\"", "\"SELECT 2\""]
    );
    assert!(run(&["check", path]).status.success());
}

#[test]
fn a_dump_folder_has_pauses_and_statements_in_streams_of_their_own() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = cdt::DumpFolder::create(scratch.path(), "shop").expect("a folder");
    let folder = folder.indexed(&["user"]).deduplicated(&["sql"]);
    let report = pauses_and_statements(&recorder(folder));
    assert_eq!((report.written, report.dropped, report.cut), (6, 0, 0));
    are_read_back(text(scratch.path()));
}

#[test]
fn pauses_are_calls_of_a_track_where_the_format_has_no_place_for_them() {
    let scratch = tempfile::tempdir().expect("a folder");
    let path = scratch.path().join("shop.json");
    let report = pauses_and_statements(&recorder(
        chrome::ChromeFile::create(&path).expect("a file"),
    ));
    assert_eq!((report.written, report.dropped, report.cut), (6, 0, 0));
    let rows = json_rows(&run(&["calls", "--json", text(&path)]));
    let pauses = rows.iter().filter(|row| row["method"] == "pause");
    let mut lengths: Vec<_> = pauses.map(|row| row["duration"].as_u64()).collect();
    lengths.sort();
    assert_eq!(lengths, [1, 3, 200].map(|ms| Some(ms * MS)));
}

#[test]
fn files_of_a_dump_folder_begin_anew_at_their_size() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = cdt::DumpFolder::create(scratch.path(), "shop").expect("a folder");
    let path = folder.path().to_owned();
    let recorder = recorder(folder.rotate_at(1_000));
    let (main, worker) = (recorder.thread("main"), recorder.thread("worker"));
    // A call that is open while files change.
    let open = worker.call_at("open", 0);
    for from in [0, 1_000, 2_000] {
        requests(&main, from);
        assert!(recorder.flush(Duration::from_secs(30)));
    }
    open.end_at(3_000 * MS);
    drop((main, worker));
    assert_eq!(recorder.close().written, 151);
    for stream in ["trace", "calls"] {
        let files = std::fs::read_dir(path.join(stream)).expect("a folder");
        assert!(files.count() >= 3, "{stream}");
    }
    let rows = json_rows(&run(&["calls", "--json", text(&path)]));
    assert_eq!(rows.len(), 76);
    assert!(run(&["check", text(&path)]).status.success());
}

#[test]
fn times_weeks_apart_are_those_of_the_trace() {
    const DAY: u64 = 86_400_000 * MS;
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = cdt::DumpFolder::create(scratch.path(), "shop").expect("a folder");
    let recorder = recorder(folder);
    let (main, worker) = (recorder.thread("main"), recorder.thread("worker"));
    let long = worker.call_at(LIST, MS);
    for start in [0, 13 * DAY, 20 * DAY] {
        main.record(QUERY, start..start + 5 * MS, &[]);
        assert!(recorder.flush(Duration::from_secs(30)));
        worker.record(QUERY, start + MS..start + 2 * MS, &[]);
        assert!(recorder.flush(Duration::from_secs(30)));
    }
    long.end_at(20 * DAY + 3 * MS);
    drop((main, worker));
    assert_eq!(recorder.close().written, 7);
    let path = text(scratch.path());
    let mut shown: Vec<(u64, u64)> = bare_calls(path)
        .into_iter()
        .map(|(_, start, duration, _)| (start, duration))
        .collect();
    shown.sort();
    let day = DAY / MS;
    assert_eq!(
        shown,
        [(0, 5), (1, 20 * day + 2), (13 * day, 5), (20 * day, 5)]
    );
    assert!(run(&["check", path]).status.success());
}

#[test]
fn a_chrome_file_is_read_back() {
    let scratch = tempfile::tempdir().expect("a folder");
    let path = scratch.path().join("shop.json");
    whole(write(chrome::ChromeFile::create(&path).expect("a file")));
    is_read_back(text(&path));
}

#[test]
fn a_perfetto_file_is_read_back() {
    let scratch = tempfile::tempdir().expect("a folder");
    let path = scratch.path().join("shop.perfetto-trace");
    whole(write(
        perfetto::PerfettoFile::create(&path).expect("a file"),
    ));
    is_read_back(text(&path));
}

/// Compares calls of a format without attributes with what was recorded.
fn is_read_back_bare(path: &str) {
    let bare = |mut call: Call| {
        call.3.clear();
        call
    };
    let mut expected: Vec<Call> = expected_calls().into_iter().map(bare).collect();
    expected.sort();
    assert_eq!(bare_calls(path), expected);
    let methods = [
        ("shop.Db.query", "250000000,"),
        ("shop.Orders.list", "200000000,"),
    ];
    methods_took(path, methods);
}

/// Everything was written but the attributes.
fn bare(report: Report) {
    assert_eq!((report.written, report.dropped, report.cut), (100, 0, 100));
}

const FORMS: [(TraceForm, &str); 2] = [
    (TraceForm::Binary, "trace.trcbin"),
    (TraceForm::Xml, "trace.trcxml"),
];

#[test]
fn both_forms_of_tptp_are_read_back() {
    let scratch = tempfile::tempdir().expect("a folder");
    for (form, name) in FORMS {
        let path = scratch.path().join(name);
        bare(write(
            tptp::TptpFile::create(&path, "shop", form).expect("a file"),
        ));
        is_read_back_bare(text(&path));
    }
}

#[test]
fn a_collector_of_tptp_stores_both_forms() {
    for (form, name) in FORMS {
        let scratch = tempfile::tempdir().expect("a folder");
        let data = scratch.path().join("data");
        let collector = Collector::start(&data, &[]);
        let address = collector.tptp.strip_prefix("tptp://").expect("an address");
        bare(write(
            tptp::DataChannel::connect(address, "shop", form).expect("a connection"),
        ));
        is_read_back_bare(text(&data));
        let listed = captures(&data);
        assert_eq!(listed[0]["parts"][0]["name"], name, "{listed:?}");
    }
}

#[test]
fn a_client_attaches_pauses_resumes_and_ends() {
    for (flags, name) in [
        (&["--binary-transfer"][..], "trace.trcbin"),
        (&[], "trace.trcxml"),
    ] {
        let scratch = tempfile::tempdir().expect("a folder");
        let data = scratch.path().join("data");
        let collector = Collector::start(&data, &[]);
        let agent = tptp::ControlledAgent::listen("127.0.0.1:0", "shop").expect("a listener");
        let address = agent.address().expect("an address").to_string();
        let recorder = recorder(agent);
        let (main, worker) = (recorder.thread("main"), recorder.thread("worker"));
        // Nobody wants these.
        requests(&main, 0);
        let attach = ["attach", &address, "--to", &collector.tptp];
        let mut client = Running::start(&[&attach[..], flags].concat());
        assert!(client.next().starts_with("format "));
        assert_eq!(client.next(), "the data flow");
        requests(&main, 1_000);
        client.write(b"pause\n");
        assert_eq!(client.next(), "paused");
        requests(&worker, 1_001);
        client.write(b"resume\n");
        assert_eq!(client.next(), "resumed");
        requests(&worker, 1_003);
        client.write(b"end\n");
        assert_eq!(client.next(), "ended");
        assert_eq!(client.end().1, Some(0));
        assert!(captures(&data)[0]["parts"][0]["name"] == name);
        is_read_back_bare(text(&data));

        // Another client gets a trace of its own.
        let client = Running::start(&[&attach[..], flags].concat());
        assert!(client.next().starts_with("format "));
        assert_eq!(client.next(), "the data flow");
        requests(&main, 2_000);
        drop((main, worker));
        let report = recorder.close();
        assert_eq!((report.written, report.dropped), (150, 0));
        assert_eq!(client.next(), "ended");
        assert_eq!(captures(&data).len(), 2);
        assert!(run(&["check", text(&data)]).status.success());
    }
}

fn link(address: &str) -> cdt::CollectorLink {
    cdt::CollectorLink::connect(address, "shop", "backend", "backend-1").expect("a connection")
}

#[test]
fn a_collector_of_cdt_stores_what_a_dump_folder_has() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    whole(write(link(collector.address()).indexed(&["user"])));
    let listed = captures(&data);
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["state"], "goodbye", "{listed:?}");
    is_read_back(text(&data));
}

#[test]
fn a_collector_of_cdt_stores_pauses_and_statements() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let link = link(collector.address())
        .indexed(&["user"])
        .deduplicated(&["sql"]);
    let report = pauses_and_statements(&recorder(link));
    assert_eq!((report.written, report.dropped, report.cut), (6, 0, 0));
    are_read_back(text(&data));
}

#[test]
fn a_trace_on_a_connection_goes_on_in_files_of_their_own() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let recorder = recorder(link(collector.address()).rotate_at(1_000));
    let thread = recorder.thread("main");
    for from in [0, 1_000, 2_000] {
        requests(&thread, from);
        assert!(recorder.flush(Duration::from_secs(30)));
    }
    drop(thread);
    assert_eq!(recorder.close().written, 150);
    let rows = json_rows(&run(&["calls", "--json", text(&data)]));
    assert_eq!(rows.len(), 75);
    let parts = stdout(&["info", "--json", text(&data)]);
    for part in ["trace/000003", "calls/000002"] {
        assert!(parts.contains(part), "{part}: {parts}");
    }
    assert!(run(&["check", text(&data)]).status.success());
}

fn signal(collector: &Collector, name: &str) {
    let pid = collector.child.id().to_string();
    let sent = std::process::Command::new("kill")
        .args([name, &pid])
        .status();
    assert!(sent.expect("kill runs").success());
}

#[test]
fn a_collector_of_cdt_that_stands_still_loses_nothing_in_silence() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let options = Options {
        buffer: 4096,
        patience: Duration::from_secs(30),
        ..Options::default()
    };
    let recorder = Recorder::start(link(collector.address()), options).expect("a thread");
    let thread = recorder.thread("main");
    thread.record(LIST, 0..1, &[]);
    assert!(recorder.flush(Duration::from_secs(30)));
    signal(&collector, "-STOP");
    let mut n_calls = 1;
    // Until nothing fits into requests and buffer.
    while recorder.report().dropped == 0 {
        thread.record(LIST, n_calls..n_calls + 1, &[]);
        n_calls += 1;
    }
    signal(&collector, "-CONT");
    assert!(recorder.flush(Duration::from_secs(30)));
    thread.record(LIST, n_calls..n_calls + 1, &[]);
    n_calls += 1;
    drop(thread);
    let report = recorder.close();
    let rows = json_rows(&run(&["calls", "--json", text(&data)]));
    assert_eq!(rows.len() as u64, report.written);
    let reports = rows
        .iter()
        .filter(|row| row["attributes"]["events"].is_string());
    let lost = reports.map(|row| {
        let number = row["attributes"]["events"]
            .as_str()
            .and_then(|text| text.parse().ok());
        number.expect("a number")
    });
    let lost: Vec<u64> = lost.collect();
    assert_eq!(lost.iter().sum::<u64>(), report.dropped);
    assert_eq!(report.written - lost.len() as u64 + report.dropped, n_calls);
    assert!(run(&["check", text(&data)]).status.success());
}

/// A collector that opens streams, acknowledges nothing and leaves once it has data of a call.
fn leave_without_acknowledging(listener: TcpListener) {
    let (mut connection, _) = listener.accept().expect("a connection");
    let mut piece = [0; 4096];
    // Each request comes when the one before is answered.
    let _ = connection.read(&mut piece).expect("an introduction");
    let version = 100_605_u64.to_be_bytes();
    connection.write_all(&version).expect("an answer");
    for stream in 1..=6_u8 {
        let _ = connection.read(&mut piece).expect("a request");
        let terms = [[stream; 16].as_slice(), &[0; 20]].concat();
        connection.write_all(&terms).expect("an answer");
    }
    let name: Vec<u8> = LIST.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let has_name = |received: &[u8]| received.windows(name.len()).any(|window| window == name);
    let mut received = Vec::new();
    while !has_name(&received) {
        let n_bytes = connection.read(&mut piece).expect("bytes");
        received.extend_from_slice(&piece[..n_bytes]);
    }
}

#[test]
fn calls_that_a_collector_did_not_acknowledge_are_counted_as_dropped() {
    let scratch = tempfile::tempdir().expect("a folder");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address");
    let collector = std::thread::spawn(move || leave_without_acknowledging(listener));
    let recorder = recorder(link(&address.to_string()));
    let thread = recorder.thread("main");
    let open = thread.call_at(LIST, 0);
    thread.record(QUERY, 2 * MS..7 * MS, &[]);
    collector.join().expect("it leaves");
    let dropped = eventually(|| Some(recorder.report().dropped).filter(|&dropped| dropped > 0));
    assert_eq!((dropped, recorder.report().written), (1, 0));

    // The call that is open goes on with a collector that listens at the same place later.
    let data = scratch.path().join("data");
    let at = address.to_string();
    let serve = [
        "serve",
        "--cdt",
        &at,
        "--heph",
        "off",
        "--heph-udp",
        "off",
        "--tptp",
        "off",
    ];
    let serve = [
        &serve[..],
        &["--http", "127.0.0.1:0", "--otlp-grpc", "off", "--data"],
    ]
    .concat();
    let collector = Served::start(&serve, &data);
    open.end_at(9_000 * MS);
    drop(thread);
    let report = recorder.close();
    // The call, and the one that stands for the dropped one.
    assert_eq!((report.written, report.dropped), (2, 1));
    let tree = stdout(&["tree", text(&data)]);
    assert!(
        tree.contains("Orders.list") && tree.contains("dropped events"),
        "{tree}"
    );
    assert!(run(&["check", text(&data)]).status.success());
    drop(collector);
}

/// A collector with arguments of a test's own.
struct Served(std::process::Child);

impl Served {
    fn start(arguments: &[&str], data: &Path) -> Self {
        let mut command = collected::command(arguments);
        let child = command
            .arg(data)
            .stdout(std::process::Stdio::null())
            .spawn();
        Self(child.expect("a collector"))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
