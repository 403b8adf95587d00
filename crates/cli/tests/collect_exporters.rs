//! Spans that OpenTelemetry's own SDK for Python sends, by each of its exporters: what is kept is what it says it sent.
//!
//! The packages are in the folder that `TRACELOOM_SENDERS` names; `.ci/run` installs them.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use collected::http::{ask, captures, metric, request};
use collected::profiles::senders;
use collected::proxy::{Losing, Proxy};
use collected::{Collector, stdout, text};
use serde_json::Value;

/// Sends spans of a trace, and prints each as it ended: name, kind, start, end, trace, span, status, and how many
/// attributes, events and links it has.
const SENDS: &str = "
import sys
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider, SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, SpanKind, StatusCode

kind, endpoint, more = sys.argv[1], sys.argv[2], sys.argv[3]
if kind == 'http':
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter, Compression
    exporter = OTLPSpanExporter(endpoint=endpoint + '/v1/traces', compression=Compression(more))
elif kind == 'grpc':
    import grpc
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    compression = {'gzip': grpc.Compression.Gzip, 'none': grpc.Compression.NoCompression}[more]
    exporter = OTLPSpanExporter(endpoint=endpoint, insecure=True, compression=compression)
else:
    from opentelemetry.exporter.zipkin.json import ZipkinExporter
    exporter = ZipkinExporter(endpoint=endpoint + '/api/v2/spans')

class Prints(SpanProcessor):
    def on_end(self, span):
        own = span.get_span_context()
        counts = [len(span.attributes), len(span.events), len(span.links)]
        print(span.name, span.kind.name.lower(), span.start_time, span.end_time, format(own.trace_id, '032x'),
              format(own.span_id, '016x'), span.status.status_code.name, *counts)

provider = TracerProvider(resource=Resource.create({'service.name': 'shop', 'service.instance.id': 'shop-1'}))
provider.add_span_processor(BatchSpanProcessor(exporter, max_export_batch_size=16))
provider.add_span_processor(Prints())
tracer = provider.get_tracer('test', '1.0')
for number in range(20):
    with tracer.start_as_current_span('buy', kind=SpanKind.SERVER, attributes={'number': number, 'ratio': 0.5}) as buy:
        with tracer.start_as_current_span('select', kind=SpanKind.CLIENT, attributes={'ids': [1, 2], 'ok': True}) as inner:
            inner.add_event('row', {'n': 7})
        try:
            with tracer.start_as_current_span('pay', links=[Link(inner.get_span_context())]):
                raise ValueError('no money')
        except ValueError:
            pass
provider.shutdown()
";

/// Has the SDK send, and returns what it says it sent, sorted.
fn send(packages: &Path, scratch: &Path, args: [&str; 3]) -> Vec<String> {
    let script = scratch.join("sends.py");
    std::fs::write(&script, SENDS).expect("a script");
    let mut python = Command::new("python3");
    python.arg(&script).args(args).env("PYTHONPATH", packages);
    let output = python.output().expect("Python runs");
    let said = String::from_utf8_lossy(&output.stderr);
    // It says when it tries again, and when it gives up.
    let gave_up = ["Failed to export", "Traceback"]
        .iter()
        .any(|word| said.contains(word));
    assert!(output.status.success() && !gave_up, "{args:?}: {said}");
    let printed = String::from_utf8(output.stdout).expect("text");
    let mut spans: Vec<String> = printed.lines().map(str::to_owned).collect();
    spans.sort();
    assert_eq!(spans.len(), 60);
    spans
}

fn n_of(span: &Value, list: &str) -> usize {
    span[list].as_array().map_or(0, Vec::len)
}

/// The spans of the records of a folder, as the SDK prints them.
fn kept(data: &Path) -> Vec<String> {
    let dump = stdout(&["dump", "--json", text(data)]);
    let records = dump
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let mut spans: Vec<String> = records
        .filter(|record| record["span_id"]["hex"].is_string())
        .map(|span| {
            let hex = |name: &str| span[name]["hex"].as_str().expect("an id").to_owned();
            let kinds = ["", "internal", "server", "client", "producer", "consumer"];
            let kind = kinds[span["kind"].as_u64().unwrap_or(0) as usize];
            let status = span["status"]["code"].as_u64().unwrap_or(0);
            format!(
                "{} {kind} {} {} {} {} {} {} {} {}",
                span["name"].as_str().expect("a name"),
                span["start_time_unix_nano"],
                span["end_time_unix_nano"],
                hex("trace_id"),
                hex("span_id"),
                ["UNSET", "OK", "ERROR"][status as usize],
                n_of(&span, "attributes"),
                n_of(&span, "events"),
                n_of(&span, "links"),
            )
        })
        .collect();
    spans.sort();
    spans
}

fn check_sound(data: &Path) {
    let checked = stdout(&["check", text(data)]);
    assert!(checked.contains(" 0 damage, 0 warn"), "{checked}");
    let listed = captures(data);
    assert_eq!(
        (listed.len(), &listed[0]["service"]),
        (1, &"shop".into()),
        "{listed:?}"
    );
}

#[test]
fn spans_over_http_are_those_that_were_sent() {
    let Some(packages) = senders() else { return };
    for compression in ["none", "gzip"] {
        let scratch = tempfile::tempdir().expect("a folder");
        let data = scratch.path().join("data");
        let collector = Collector::start(&data, &[]);
        let sent = send(
            &packages,
            scratch.path(),
            ["http", &collector.http, compression],
        );
        assert_eq!(kept(&data), sent);
        check_sound(&data);
    }
}

#[test]
fn spans_over_grpc_are_those_that_were_sent() {
    let Some(packages) = senders() else { return };
    for compression in ["none", "gzip"] {
        let scratch = tempfile::tempdir().expect("a folder");
        let data = scratch.path().join("data");
        let collector = Collector::start(&data, &[]);
        let args = ["grpc", &collector.grpc, compression];
        let sent = send(&packages, scratch.path(), args);
        assert_eq!(kept(&data), sent);
        check_sound(&data);
        let metrics = request(&collector.http, "GET /metrics", "", b"");
        let metrics = ask(&collector.http, &metrics).body;
        assert!(
            metrics.contains("traceloom_acknowledged_units_total{listener=\"otlp-grpc\"} 4"),
            "{metrics}"
        );
    }
}

/// Calls by hand: the arguments are the address and a token; prints code, details, and the response in hexadecimal.
const CALLS: &str = "
import sys, grpc
address, token = sys.argv[1].split('://')[1], sys.argv[2]
channel = grpc.insecure_channel(address)
TRACES = '/opentelemetry.proto.collector.trace.v1.TraceService/Export'
PROFILES = '/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export'
same = lambda message: message
def call(name, method, message, metadata=(('authorization', 'Bearer ' + token),), **more):
    try:
        answer = channel.unary_unary(method, request_serializer=same, response_deserializer=same)(
            message, timeout=20, metadata=metadata, **more)
        print(name, 'OK', answer.hex())
    except grpc.RpcError as error:
        print(name, error.code().name, error.details())
profile = open(sys.argv[3], 'rb').read()
call('profile', PROFILES, profile)
call('again', PROFILES, profile, compression=grpc.Compression.Gzip)
call('empty', TRACES, b'')
call('damaged', TRACES, b'\\x0a\\xff\\xff\\xff')
call('large', TRACES, b'\\x0a' * (33 << 20))
call('stranger', TRACES, b'', metadata=())
call('unknown', '/grpc.health.v1.Health/Check', b'')
call('after', TRACES, b'')
";

#[test]
fn calls_that_cannot_be_meant_have_codes_of_grpc() {
    let Some(packages) = senders() else { return };
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &["--require-token"]);
    let add = [
        "token",
        "add",
        "exporter",
        "--right",
        "upload",
        "--data",
        text(&data),
    ];
    let token = stdout(&add);
    let profile = scratch.path().join("a.otlp-profiles");
    let message = traceloom_samples::bytes("otlp-profiles", 1, 20_000);
    std::fs::write(&profile, &message).expect("a file");
    let script = scratch.path().join("calls.py");
    std::fs::write(&script, CALLS).expect("a script");
    let mut python = Command::new("python3");
    python.args([text(&script), &collector.grpc, token.trim(), text(&profile)]);
    let output = python
        .env("PYTHONPATH", &packages)
        .output()
        .expect("Python runs");
    let printed = String::from_utf8(output.stdout).expect("text");
    let answers: Vec<&str> = printed.lines().collect();
    let expected = [
        "profile OK ",
        "again OK ",
        "empty OK ",
        "damaged INVALID_ARGUMENT the body is no ExportTraceServiceRequest: ",
        "large INVALID_ARGUMENT a body has at most ",
        "stranger UNAUTHENTICATED this needs a token: ",
        "unknown UNIMPLEMENTED there are the services of traces and of profiles",
        "after OK ",
    ];
    assert_eq!(
        answers.len(),
        expected.len(),
        "{printed}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for (answer, expected) in answers.iter().zip(expected) {
        assert!(answer.starts_with(expected), "{printed}");
    }
    let top = |path: &Path| stdout(&["top", "--csv", text(path)]);
    assert_eq!(top(&data), top(&profile));
    assert_eq!(captures(&data).len(), 1);
}

#[test]
fn connections_that_are_no_http2_end() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let address = collector.grpc.trim_start_matches("http://");
    let mut silent = TcpStream::connect(address).expect("a connection");
    let timeout = Some(Duration::from_secs(30));
    let mut answer = Vec::new();
    for garbage in [
        "GET / HTTP/1.1\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}",
    ] {
        let mut socket = TcpStream::connect(address).expect("a connection");
        socket.set_read_timeout(timeout).expect("a timeout");
        socket.write_all(garbage.as_bytes()).expect("sent");
        let _ = socket.shutdown(Shutdown::Write);
        // It is closed, orderly or not.
        let _ = socket.read_to_end(&mut answer);
    }
    silent.set_read_timeout(timeout).expect("a timeout");
    answer.clear();
    let since = Instant::now();
    let _ = silent.read_to_end(&mut answer);
    assert!(since.elapsed() < Duration::from_secs(20), "it is closed");
    assert!(collector.terminate().1.contains("stopped"));
}

/// Holds what is kept against what was sent through a proxy that lost answers: each span once, and what came again counted.
fn assert_kept_once(data: &Path, http: &str, sent: &[String], listener: &str, n_lost: usize) {
    assert_eq!(kept(data), sent);
    assert!(n_lost >= 2, "{n_lost} answers were lost");
    let suppressed = format!("traceloom_suppressed_units_total{{listener=\"{listener}\"}}");
    assert_eq!(metric(http, &suppressed), Some(n_lost as f64));
}

#[test]
fn spans_whose_answers_were_lost_are_there_once() {
    let Some(packages) = senders() else { return };
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let proxy = Proxy::start(&collector.http, Losing::EverySecond);
    let sent = send(&packages, scratch.path(), ["http", &proxy.url, "gzip"]);
    assert_kept_once(&data, &collector.http, &sent, "http", proxy.n_lost());
}

/// Stands between an exporter over gRPC and a collector; every other answer, from the first on, is thrown away once its trailers are
/// there, and the connection closed. Returns its address, and how many answers were thrown away.
fn losing_grpc_proxy(collector: &str) -> (String, Arc<AtomicUsize>) {
    let to = collector.trim_start_matches("http://").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let (n_lost, n_answers) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
    let lost = n_lost.clone();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.expect("a connection");
            let mut server = TcpStream::connect(&to).expect("a collector");
            let mut asks = client.try_clone().expect("a handle");
            let mut asked = server.try_clone().expect("a handle");
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut asks, &mut asked);
                let _ = asked.shutdown(Shutdown::Both);
            });
            let mut answer = Vec::new();
            while let Some(frame) = http2_frame(&mut server) {
                let (is_headers, is_data) = (frame[3] == 1, frame[3] == 0);
                let ends_stream = frame[4] & 1 != 0;
                if !is_headers && !is_data {
                    // Settings, windows and pings are of the connection.
                    let _ = client.write_all(&frame);
                    continue;
                }
                answer.extend_from_slice(&frame);
                if !(is_headers && ends_stream) {
                    continue;
                }
                if n_answers.fetch_add(1, Ordering::SeqCst) % 2 == 0 {
                    lost.fetch_add(1, Ordering::SeqCst);
                    break;
                }
                let _ = client.write_all(&std::mem::take(&mut answer));
            }
            let _ = client.shutdown(Shutdown::Both);
            let _ = server.shutdown(Shutdown::Both);
        }
    });
    (address, n_lost)
}

/// Reads a frame of HTTP/2 with its head; `None` at the end of the connection.
fn http2_frame(server: &mut TcpStream) -> Option<Vec<u8>> {
    let mut frame = vec![0; 9];
    server.read_exact(&mut frame).ok()?;
    let length = u32::from_be_bytes([0, frame[0], frame[1], frame[2]]) as usize;
    frame.resize(9 + length, 0);
    server.read_exact(&mut frame[9..]).ok()?;
    Some(frame)
}

#[test]
fn spans_over_grpc_whose_answers_were_lost_are_there_once() {
    let Some(packages) = senders() else { return };
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let (proxy, n_lost) = losing_grpc_proxy(&collector.grpc);
    let sent = send(&packages, scratch.path(), ["grpc", &proxy, "gzip"]);
    let n_lost = n_lost.load(Ordering::SeqCst);
    assert_kept_once(&data, &collector.http, &sent, "otlp-grpc", n_lost);
}

#[test]
fn spans_of_zipkins_exporter_are_those_that_were_sent() {
    let Some(packages) = senders() else { return };
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let sent = send(
        &packages,
        scratch.path(),
        ["zipkin", &collector.http, "none"],
    );
    // Zipkin has microseconds, and neither links nor types.
    let ids = |span: &String| {
        let words: Vec<&str> = span.split(' ').collect();
        let micros = |at: usize| (words[at].parse::<u64>().expect("a time") + 500) / 1000;
        format!("{} {} {} {}", words[0], micros(2), words[4], words[5])
    };
    let mut expected: Vec<String> = sent.iter().map(ids).collect();
    expected.sort();
    let dump = stdout(&["dump", "--json", text(&data)]);
    let records = dump
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let mut spans: Vec<String> = records
        .filter(|record| record["id"].is_string())
        .map(|span| {
            let id = |name: &str| span[name].as_str().expect("an id").to_owned();
            format!(
                "{} {} {} {}",
                id("name"),
                span["timestamp"],
                id("traceId"),
                id("id")
            )
        })
        .collect();
    spans.sort();
    assert_eq!(spans, expected);
    check_sound(&data);
}
