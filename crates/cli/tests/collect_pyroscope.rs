//! Profiles posted as Pyroscope's agents post them: by requests made here, and by its Python agent where it is installed.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;

use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use collected::http::{ask, captures, request};
use collected::profiles::{field, gzip, own_values, profile, senders};
use collected::{Collector, stdout, text};
use serde_json::{Value, json};

const PUSH: &str = "POST /push.v1.PusherService/Push";

fn push_message(service: &str, profiles: &[(&[u8], &str)]) -> Vec<u8> {
    let label = |name: &str, value: &str| {
        let pair = [field(1, name.as_bytes()), field(2, value.as_bytes())].concat();
        field(1, &pair)
    };
    let mut series = [
        label("__name__", "process_cpu"),
        label("service_name", service),
        label("region", "north"),
    ]
    .concat();
    for (bytes, id) in profiles {
        let sample = [field(1, bytes), field(2, id.as_bytes())].concat();
        series.extend(field(2, &sample));
    }
    field(1, &series)
}

#[test]
fn pushes_in_protobuf_and_json_are_read_back_with_their_labels() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let http = &collector.http;
    let pprof = profile(scratch.path(), "main;work 30\nmain;rest 12\n");
    let post = |headers: &str, body: &[u8]| ask(http, &request(http, PUSH, headers, body));
    let proto = "Content-Type: application/proto\r\n";
    let message = push_message("shop", &[(&pprof, "id-1"), (&pprof, "id-2")]);
    let first = post(
        &format!("{proto}Content-Encoding: gzip\r\n"),
        &gzip(&message),
    );
    assert_eq!((first.status, &*first.body), (200, ""), "{}", first.body);
    assert!(
        first.head.contains("content-type: application/proto"),
        "{}",
        first.head
    );
    // The answer was lost: it is sent again.
    assert_eq!(post(proto, &message).status, 200);
    let json = json!({"series": [{
        "labels": [{"name": "service_name", "value": "shop"}, {"name": "__name__", "value": "process_cpu"}],
        "samples": [{"rawProfile": STANDARD.encode(&pprof), "ID": "id-3"}],
    }]});
    let kind = "Content-Type: application/json\r\nConnect-Protocol-Version: 1\r\n";
    let answer = post(kind, json.to_string().as_bytes());
    assert_eq!((answer.status, answer.body.trim()), (200, "{}"));
    assert_eq!(
        own_values(&data),
        [("rest".to_owned(), 36), ("work".to_owned(), 90)]
    );
    let listed = captures(&data);
    assert_eq!(listed.len(), 1);
    assert_eq!(
        (&listed[0]["protocol"], &listed[0]["service"]),
        (&"pyroscope".into(), &"shop".into())
    );
    // The message as it was sent.
    let out = scratch.path().join("out");
    stdout(&["export", "1-1", "--data", text(&data), "-o", text(&out)]);
    assert!(
        std::fs::read(out.join("0.http"))
            .expect("a post")
            .ends_with(&message)
    );
    // Another type is another capture.
    let memory = json!({"series": [{
        "labels": [{"name": "service_name", "value": "shop"}, {"name": "__name__", "value": "memory"}],
        "samples": [{"rawProfile": STANDARD.encode(&pprof), "ID": "id-4"}],
    }]});
    assert_eq!(post(kind, memory.to_string().as_bytes()).status, 200);
    assert_eq!(captures(&data).len(), 2);
    // Errors are told as Connect has them.
    let bad = post(proto, b"\x0a\x05nope");
    let body: Value = serde_json::from_str(&bad.body).expect("JSON");
    assert_eq!(
        (bad.status, &body["code"]),
        (400, &"invalid_argument".into())
    );
    let other = post("Content-Type: text/plain\r\n", &message);
    assert_eq!(other.status, 415);
    let page = post(
        "Origin: http://evil.example\r\nContent-Type: application/json\r\n",
        b"{}",
    );
    assert_eq!(page.status, 403);
}

#[test]
fn ingest_takes_files_of_every_kind() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let http = &collector.http;
    let pprof = profile(scratch.path(), "main;work 30\n");
    let post = |query: &str, kind: &str, body: &[u8]| {
        let line = format!("POST /ingest?name=shop%7Benv%3Dprod%7D&{query}");
        ask(
            http,
            &request(http, &line, &format!("Content-Type: {kind}\r\n"), body),
        )
        .status
    };
    let times = "from=1723123941&until=1723123951";
    let node = format!("format=pprof&{times}&spyName=nodespy");
    assert_eq!(post(&node, "application/octet-stream", &gzip(&pprof)), 200);
    // Again, as Node's agent would never do.
    assert_eq!(post(&node, "application/octet-stream", &gzip(&pprof)), 200);
    let folded = format!("format=folded&{times}&spyName=rbspy");
    assert_eq!(
        post(
            &folded,
            "binary/octet-stream",
            b"main;work 3\nmain;rest 12\n"
        ),
        200
    );
    let form = "--b\r\nContent-Disposition: form-data; name=\"profile\"; filename=\"profile.pprof\"\r\n\r\n";
    let form = [form.as_bytes(), &pprof, b"\r\n--b--\r\n"].concat();
    let go = format!("{times}&spyName=gospy");
    assert_eq!(post(&go, "multipart/form-data; boundary=b", &form), 200);
    assert_eq!(post("format=pprof", "binary/octet-stream", &pprof), 400);
    assert_eq!(post(&node, "text/plain", &pprof), 400);
    let rows = stdout(&["info", "--json", text(&data)]);
    assert!(rows.contains("pyroscope-ingest"), "{rows}");
    let listed = captures(&data);
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0]["service"], "shop");
    let out = scratch.path().join("out");
    stdout(&["export", "1-1", "--data", text(&data), "-o", text(&out)]);
    // The repeat is none of them.
    assert!(out.join("2.http").exists() && !out.join("3.http").exists());
    let folded = stdout(&["top", "--csv", text(&out.join("1.http"))]);
    assert!(folded.contains("rest"), "{folded}");
    for name in ["0.http", "2.http"] {
        let rows = stdout(&["top", "--csv", text(&out.join(name))]);
        assert!(rows.contains("work"), "{name}: {rows}");
    }
}

const WORK: &str = "
import sys, time, pyroscope
pyroscope.configure(application_name='shop', server_address=sys.argv[1], sample_rate=100, tags={'region': 'north'})
def busy():
    end = time.time() + 0.2
    while time.time() < end:
        sum(range(1000))
end = time.time() + 13
while time.time() < end:
    busy()
pyroscope.shutdown()
";

#[test]
fn profiles_of_pyroscopes_agent_arrive() {
    let Some(packages) = senders() else { return };
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let script = scratch.path().join("work.py");
    std::fs::write(&script, WORK).expect("a script");
    let mut python = Command::new("python3");
    python
        .args([text(&script), &collector.http])
        .env("PYTHONPATH", &packages);
    let output = python.output().expect("Python runs");
    assert!(output.status.success(), "{output:?}");
    let rows = stdout(&["top", "--csv", text(&data)]);
    assert!(rows.contains("busy"), "{rows}");
    assert_eq!(captures(&data)[0]["service"], "shop");
}
