//! Profiles posted as Datakit's agents post them: by requests made here, and by Datadog's own tracer where it is installed.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;
#[path = "../../formats/tests/corpus/mod.rs"]
mod corpus;

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use collected::database::database;
use collected::http::{Answer, ask, captures, metric, request};
use collected::profiles::{gzip, own_values, profile, senders};
use collected::{Collector, command, stdout, text};
use serde_json::Value;

const INPUT: &str = "POST /profiling/v1/input";

/// A part of a post: its field, its file, its bytes.
type Part<'p> = (&'p str, Option<&'p str>, Vec<u8>);

fn multipart(boundary: &str, parts: &[Part<'_>]) -> Vec<u8> {
    let mut body = Vec::new();
    for (field, file, content) in parts {
        let file = file.map_or(String::new(), |file| format!("; filename=\"{file}\""));
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{field}\"{file}\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    body
}

fn event(sequence: u32) -> Part<'static> {
    let event = format!(
        "{{\"attachments\":[\"auto.pprof\"],\"tags_profiler\":\"service:shop,runtime-id:r-1,profile_seq:{sequence},language:python\",\
         \"start\":\"2024-08-08T15:47:0{sequence}Z\",\"end\":\"2024-08-08T15:48:0{sequence}Z\",\"family\":\"python\",\"version\":\"4\"}}"
    );
    ("event", Some("event.json"), event.into_bytes())
}

fn file(content: Vec<u8>) -> Part<'static> {
    ("auto", Some("auto.pprof"), content)
}

fn post(http: &str, more: &str, boundary: &str, parts: &[Part<'_>]) -> Answer {
    let headers = format!("Content-Type: multipart/form-data; boundary={boundary}\r\n{more}");
    ask(
        http,
        &request(http, INPUT, &headers, &multipart(boundary, parts)),
    )
}

fn profile_id(answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{}", answer.body);
    let body: Value = serde_json::from_str(&answer.body).expect("JSON");
    let id = body["content"]["ProfileID"].as_str();
    id.expect("an id").to_owned()
}

/// A frame that does not say how long its content is, as tracers send it.
fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 3).expect("an encoder");
    encoder.include_contentsize(false).expect("a setting");
    encoder.write_all(bytes).expect("compressed");
    encoder.finish().expect("compressed")
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(bytes).expect("compressed");
    encoder.finish().expect("compressed")
}

fn zip(bytes: &[u8]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    archive.start_file("auto.pprof", options).expect("a member");
    archive.write_all(bytes).expect("compressed");
    archive.finish().expect("an archive").into_inner()
}

/// Returns a count of units of the HTTP listener.
fn units(http: &str, what: &str) -> Option<f64> {
    metric(
        http,
        &format!("traceloom_{what}_total{{listener=\"http\"}}"),
    )
}

#[test]
fn posts_in_every_compression_and_order_are_read_back() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let http = &collector.http;
    let plain = profile(scratch.path(), "main;work 30\nmain;rest 12\n");
    let sent = [
        [event(1), file(plain.clone())],
        [file(gzip(&plain)), event(2)],
        [file(zstd(&plain)), event(3)],
        [event(4), file(lz4(&plain))],
        [event(6), file(zip(&plain))],
    ];
    for (at, parts) in sent.iter().enumerate() {
        assert_eq!(
            profile_id(&post(http, "", "xyz", parts)),
            format!("1-1.{at}")
        );
    }
    // In pieces, with a boundary of another kind.
    let mut chunked = format!(
        "{INPUT} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\
         Content-Type: multipart/form-data; boundary=\"a b\"\r\n\r\n",
        collected::http::authority(http)
    )
    .into_bytes();
    for piece in multipart("a b", &[file(gzip(&plain)), event(5)]).chunks(100) {
        chunked.extend(format!("{:x}\r\n", piece.len()).bytes());
        chunked.extend_from_slice(piece);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    assert_eq!(profile_id(&ask(http, &chunked)), "1-1.5");
    // The older form has no event.
    let form = [
        ("tags[]", None, b"service:old".to_vec()),
        ("tags[]", None, b"runtime-id:r-9".to_vec()),
        ("recording-start", None, b"2024-08-08T15:47:06Z".to_vec()),
        file(plain.clone()),
    ];
    assert_eq!(profile_id(&post(http, "", "xyz", &form)), "1-2.0");
    let values = own_values(&data);
    assert_eq!(values, [("rest".to_owned(), 84), ("work".to_owned(), 210)]);
    let services: Vec<_> = captures(&data)
        .iter()
        .map(|row| row["service"].as_str().expect("a text").to_owned())
        .collect();
    assert_eq!(services, ["shop", "old"]);
    // The original, byte for byte behind its head.
    let out = scratch.path().join("out");
    stdout(&["export", "1-1", "--data", text(&data), "-o", text(&out)]);
    let kept = std::fs::read(out.join("2.http")).expect("a post");
    assert!(kept.ends_with(&multipart("xyz", &sent[2])));
    assert!(kept.starts_with(b"POST /profiling/v1/input HTTP/1.1\r\n"));
    // The same after the end, when everything is sealed.
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(own_values(&data), values);
}

#[test]
fn a_post_that_comes_again_is_stored_once_whatever_happens_between() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let plain = profile(scratch.path(), "main;work 30\n");
    let collector = Collector::start(&data, &["--seal-seconds", "1"]);
    let http = collector.http.clone();
    let first = profile_id(&post(&http, "", "one", &[event(1), file(gzip(&plain))]));
    // Another boundary, another order, another compression: the same profile.
    let again = [file(zstd(&plain)), event(1)];
    assert_eq!(profile_id(&post(&http, "", "two", &again)), first);
    let next = profile_id(&post(&http, "", "two", &[file(zstd(&plain)), event(2)]));
    assert_ne!(next, first);
    assert_eq!(units(&http, "suppressed_units"), Some(1.0));
    assert_eq!(units(&http, "acknowledged_units"), Some(2.0));
    assert_eq!(receipts(&data), std::slice::from_ref(&first));
    // The log is behind: what is sealed is known as well.
    collected::eventually(|| {
        let sealed = std::fs::read_dir(data.join("captures")).expect("a folder");
        (sealed.count() > 0).then_some(())
    });
    drop(collector);
    let collector = Collector::start(&data, &[]);
    assert_eq!(
        profile_id(&post(&collector.http, "", "three", &again)),
        first
    );
    let third = profile_id(&post(
        &collector.http,
        "",
        "three",
        &[event(3), file(plain)],
    ));
    assert!(third.starts_with("2-"), "{third}");
    drop(collector);
    // Killed right after the answer: what is in the log alone is known too.
    let collector = Collector::start(&data, &[]);
    let again = [
        event(3),
        file(gzip(&profile(scratch.path(), "main;work 30\n"))),
    ];
    assert_eq!(
        profile_id(&post(&collector.http, "", "four", &again)),
        third
    );
    assert_eq!(own_values(&data), [("work".to_owned(), 90)]);
    // Receipts stay, of what was sealed and of what is in the log.
    assert_eq!(receipts(&data), [first.clone(), first, third]);
}

/// Returns the posts that came again.
fn receipts(data: &Path) -> Vec<String> {
    let rows = stdout(&["captures", "receipts", "--json", text(data)]);
    let rows = rows
        .lines()
        .map(|row| serde_json::from_str::<Value>(row).expect("JSON"));
    let rows = rows.inspect(|row| {
        let peer = row["peer"].as_str().expect("an address");
        assert!(peer.starts_with("127.0.0.1:"), "{row}");
    });
    rows.map(|row| row["original"].as_str().expect("an id").to_owned())
        .collect()
}

#[test]
fn tenants_have_repeats_of_their_own() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &["--require-token"]);
    let http = &collector.http;
    let plain = profile(scratch.path(), "main;work 30\n");
    let parts = [event(1), file(plain)];
    assert_eq!(post(http, "", "b", &parts).status, 401);
    let token = |name: &str| {
        let args = [
            "token",
            "add",
            name,
            "--right",
            "upload",
            "--data",
            text(&data),
        ];
        let token = stdout(&args);
        format!("Authorization: Bearer {}\r\n", token.trim())
    };
    let (a, b) = (token("a"), token("b"));
    let first = profile_id(&post(http, &a, "b", &parts));
    assert_eq!(profile_id(&post(http, &a, "b", &parts)), first);
    assert_ne!(profile_id(&post(http, &b, "b", &parts)), first);
}

#[test]
fn what_is_no_profile_is_refused_and_stores_nothing() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let http = &collector.http;
    let parts = [event(1), file(b"x".to_vec())];
    // A page of another site sends forms without being asked.
    let page = post(http, "Origin: http://evil.example\r\n", "b", &parts);
    assert_eq!(page.status, 403, "{}", page.body);
    let page = post(http, "Origin: null\r\n", "b", &parts);
    assert_eq!(page.status, 403, "{}", page.body);
    let kind = "Content-Type: multipart/form-data; boundary=b\r\n";
    let other = ask(
        http,
        &request(http, INPUT, "Content-Type: text/plain\r\n", b"x"),
    );
    assert_eq!(other.status, 400, "{}", other.body);
    let body = multipart("b", &parts);
    let cut = ask(http, &request(http, INPUT, kind, &body[..body.len() - 8]));
    assert_eq!(cut.status, 400, "{}", cut.body);
    let bare = post(http, "", "b", &[file(b"x".to_vec())]);
    assert_eq!(bare.status, 400, "{}", bare.body);
    let many: Vec<_> = (0..300).map(|_| file(Vec::new())).collect();
    assert_eq!(post(http, "", "b", &many).status, 400);
    // Much that is nothing comes out of little: once it may, and not five times.
    let bomb = gzip(&vec![0; 80 << 20]);
    assert_eq!(
        post(http, "", "b", &[event(1), file(bomb.clone())]).status,
        200
    );
    let bombs: Vec<_> = (0..5)
        .map(|_| file(bomb.clone()))
        .chain([event(1)])
        .collect();
    assert_eq!(post(http, "", "b", &bombs).status, 413);
    let large = format!("{kind}Content-Length: 33554433\r\n");
    let host = collected::http::authority(http);
    let large = format!("{INPUT} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{large}\r\n");
    assert_eq!(ask(http, large.as_bytes()).status, 413);
    assert_eq!(captures(&data).len(), 1);
    assert_eq!(units(http, "acknowledged_units"), Some(1.0));
}

#[test]
fn what_convert_writes_is_an_upload() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let recorded = scratch.path().join("recorded.pprof");
    std::fs::write(
        &recorded,
        profile(scratch.path(), "main;work 30\nmain;rest 12\n"),
    )
    .expect("a file");
    let bundle = scratch.path().join("bundle");
    let to = "datakit:service=shop,language=python,env=prod";
    stdout(&["convert", text(&recorded), text(&bundle), "--to", to]);
    assert_eq!(own_values(&bundle), own_values(&recorded));
    let read = |name: &str| std::fs::read(bundle.join(name)).expect("a file");
    let event: Value = serde_json::from_slice(&read("event.json")).expect("JSON");
    assert_eq!(event["attachments"], serde_json::json!(["auto.pprof"]));
    assert_eq!(event["family"], "python");
    assert_eq!(
        event["tags_profiler"],
        "service:shop,env:prod,language:python"
    );
    let collector = Collector::start(&data, &[]);
    let parts = [
        ("event", Some("event.json"), read("event.json")),
        ("auto", Some("auto.pprof"), gzip(&read("auto.pprof"))),
    ];
    profile_id(&post(&collector.http, "", "b", &parts));
    assert_eq!(captures(&data)[0]["service"], "shop");
    assert_eq!(own_values(&data), own_values(&recorded));
    // The same is posted by a command, and known again.
    stdout(&["send", text(&bundle), "--to", &collector.http]);
    assert_eq!(receipts(&data).len(), 1);
    assert_eq!(own_values(&data), own_values(&recorded));
    let wrong = [
        "convert",
        text(&recorded),
        "-o",
        "x",
        "--to",
        "datakit:colour=red",
    ];
    let wrong = collected::run(&wrong);
    assert_eq!(wrong.status.code(), Some(2));
}

/// A profile of ddtrace, of which metrics can be derived.
fn python() -> Option<Vec<u8>> {
    corpus::file("datakit/dk_ddtrace_python.pprof")
}

#[test]
fn points_of_a_profile_are_kept_and_sent_on() {
    let Some(python) = python() else { return };
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let (address, posted) = database(&["503 Service Unavailable", "204 No Content"]);
    let url = format!("http://{address}/write?db=p");
    let key = scratch.path().join("key");
    std::fs::write(&key, "Token secret\n").expect("a file");
    let tags = ["--datakit-tag", "env=test", "--datakit-tag", "zone=b"];
    let forward = [
        "--forward-points",
        &url,
        "--forward-authorization",
        text(&key),
    ];
    let collector = Collector::start(&data, &[&tags[..], &forward[..]].concat());
    let http = &collector.http;
    let parts = [event(1), file(python.clone())];
    assert_eq!(profile_id(&post(http, "", "b", &parts)), "1-1.0");
    assert_eq!(profile_id(&post(http, "", "c", &parts)), "1-1.0");
    let patience = Duration::from_secs(60);
    let (head, refused) = posted.recv_timeout(patience).expect("points");
    assert!(head.starts_with("POST /write?db=p HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("authorization: Token secret\r\n"), "{head}");
    let (_, taken) = posted.recv_timeout(patience).expect("points again");
    assert_eq!(refused, taken);
    let lines: Vec<_> = taken.lines().collect();
    let [index, metrics] = lines[..] else {
        panic!("{taken}")
    };
    assert!(index.starts_with("profile,"), "{index}");
    for said in [
        "env=test,",
        "zone=b ",
        "service=shop",
        "profile_id=\"1-1.0\"",
        "oss_path=\"[\\\"1-1/datakit/0.http\\\"]\"",
    ] {
        assert!(index.contains(said), "{said}: {index}");
    }
    assert!(metrics.starts_with("profiling_metrics,"), "{metrics}");
    assert!(metrics.contains("prof_python_cpu_cores="), "{metrics}");
    collected::eventually(|| {
        (metric(http, "traceloom_forwarded_profiles_total") == Some(1.0)).then_some(())
    });
    // Anybody can derive them again.
    let export = |ids: &[&str]| {
        let args = [
            &["export", "--points", "--data", text(&data), "-o", "-"],
            ids,
        ]
        .concat();
        stdout(&args)
    };
    assert_eq!(export(&[]), taken);
    assert_eq!(export(&["1-1.0"]), taken);
    assert_eq!(export(&["1-1/datakit/0.http"]), taken);
    // The path leads to the original, over HTTP as well.
    let original = |id: &str| {
        let args = ["export", id, "--data", text(&data), "-o", "-"];
        collected::run(&args).stdout
    };
    let kept = original("1-1/datakit/0.http");
    assert!(kept.ends_with(&multipart("b", &parts)));
    assert_eq!(original("1-1.0"), kept);
    let line = "GET /api/v1/captures/1-1/original?part=datakit/0.http";
    let served = ask(http, &request(http, line, "", b""));
    assert_eq!(served.status, 200, "{}", served.body);
    assert!(
        served.head.contains("application/octet-stream"),
        "{}",
        served.head
    );
    let end = String::from_utf8_lossy(&multipart("b", &parts)).into_owned();
    assert!(served.body.contains(end.trim_end()));
    // One post is a path for every command.
    let one = format!("{}#1-1.0", text(&data));
    let whole = format!("{}#1-1", text(&data));
    let info = |path: &str| stdout(&["top", "--csv", path]);
    assert_eq!(info(&one), info(&whole));
    let none = collected::run(&["info", &format!("{}#1-1.7", text(&data))]);
    assert_eq!(none.status.code(), Some(1));
    let checked = stdout(&["check", "--json", &one]);
    let is_sound = |line: &str| line.contains("\"level\":\"info\"");
    assert!(checked.lines().all(is_sound), "{checked}");
}

#[test]
fn a_database_that_does_not_answer_holds_nobody_up() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    // Connections are taken by the system, and nobody reads them.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/write", silent.local_addr().expect("an address"));
    let collector = Collector::start(&data, &["--forward-points", &url]);
    let http = &collector.http;
    let plain = profile(scratch.path(), "main;work 30\n");
    let began = Instant::now();
    for sequence in 1..6 {
        profile_id(&post(
            http,
            "",
            "b",
            &[event(sequence), file(plain.clone())],
        ));
    }
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!(metric(http, "traceloom_forward_queue"), Some(5.0));
    assert_eq!(
        metric(http, "traceloom_forwarded_profiles_total"),
        Some(0.0)
    );
    assert_eq!(collector.terminate().0, Some(0));
    let points = stdout(&["export", "--points", "--data", text(&data), "-o", "-"]);
    assert_eq!(points.lines().count(), 5, "{points}");
}

#[test]
fn tracers_find_the_endpoint_and_nothing_else() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let http = &collector.http;
    let info = ask(http, &request(http, "GET /info", "", b""));
    assert_eq!(info.status, 200);
    let info: Value = serde_json::from_str(&info.body).expect("JSON");
    assert_eq!(
        info["endpoints"],
        serde_json::json!(["/profiling/v1/input"])
    );
    let traces = ask(http, &request(http, "PUT /v0.4/traces", "", b"\x90"));
    assert_eq!(traces.status, 404);
}

const WORK: &str = "
import time
def busy():
    end = time.time() + 0.2
    while time.time() < end:
        sum(range(1000))
def main():
    end = time.time() + 5
    while time.time() < end:
        busy()
main()
";

#[test]
fn profiles_of_datadogs_tracer_arrive() {
    let Some(packages) = senders() else { return };
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let script = scratch.path().join("work.py");
    std::fs::write(&script, WORK).expect("a script");
    let mut python = Command::new("python3");
    python
        .arg(packages.join("bin/ddtrace-run"))
        .args(["python3", text(&script)])
        .env("PYTHONPATH", &packages)
        .env("DD_TRACE_AGENT_URL", &collector.http)
        .env("DD_PROFILING_ENABLED", "true")
        .env("DD_PROFILING_UPLOAD_INTERVAL", "2")
        .env("DD_SERVICE", "shop");
    let output = python.output().expect("Python runs");
    assert!(output.status.success(), "{output:?}");
    let mut top = command(&["top", "--csv", "--value", "wall-time", text(&data)]);
    let rows = top.output().expect("the program runs").stdout;
    let rows = String::from_utf8(rows).expect("text");
    assert!(rows.contains("busy"), "{rows}");
    assert_eq!(captures(&data)[0]["service"], "shop");
    assert!(units(&collector.http, "acknowledged_units") >= Some(2.0));
}
