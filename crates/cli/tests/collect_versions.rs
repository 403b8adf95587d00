//! Versions of services: each has captures of its own, which queries choose by it.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;

use std::path::Path;

use collected::http::{Answer, ask, authority, captures, request};
use collected::profiles::profile;
use collected::{Collector, eventually, stdout, text};
use serde_json::{Value, json};

/// Asks, and returns the status and the JSON of the answer.
fn get(http: &str, path: &str) -> (u16, Value) {
    let host = authority(http);
    let asked = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let Answer { status, body, .. } = ask(http, asked.as_bytes());
    (status, serde_json::from_str(&body).expect("JSON"))
}

fn rows(http: &str, path: &str) -> Value {
    let (status, body) = get(http, path);
    assert_eq!(status, 200, "{path}: {body}");
    body["rows"].clone()
}

/// Posts a profile of a version of the shop, as Datakit's agents do.
fn send(collector: &Collector, scratch: &Path, version: &str, folded: &str) {
    let recorded = scratch.join("recorded.pprof");
    std::fs::write(&recorded, profile(scratch, folded)).expect("a file");
    let bundle = scratch.join(format!("bundle-{version}"));
    let to = format!("datakit:service=shop,language=python,version={version}");
    stdout(&["convert", text(&recorded), text(&bundle), "--to", &to]);
    stdout(&["send", text(&bundle), "--to", &collector.http]);
}

/// Returns the ids of the captures of a version, with commas between.
fn of_version(data: &Path, version: &str) -> String {
    let captures = captures(data);
    let ids = captures
        .iter()
        .filter(|capture| capture["version"] == version)
        .map(|capture| capture["id"].as_str().expect("an id"));
    let ids: Vec<&str> = ids.collect();
    assert!(!ids.is_empty(), "nothing is of {version}: {captures:?}");
    ids.join(",")
}

fn command_row(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(args)).expect("JSON")
}

#[test]
fn versions_of_profiles_are_chosen_and_compared() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let http = collector.http.clone();
    send(&collector, scratch.path(), "1.2.10", "main;work 30\n");
    send(
        &collector,
        scratch.path(),
        "1.2.9",
        "main;work 50\nmain;rest 7\n",
    );
    assert_eq!(captures(&data).len(), 2);
    // In the order in which they came, whatever their numbers.
    let services = rows(&http, "/api/v1/services");
    assert_eq!(services[0]["versions"], json!(["1.2.10", "1.2.9"]));

    let [old, new] = ["1.2.10", "1.2.9"].map(|version| of_version(&data, version));
    let [old, new] = [old, new].map(|ids| format!("{}#{ids}", text(&data)));
    let chosen = rows(&http, "/api/v1/functions?svc=shop&version=1.2.9");
    assert_eq!(chosen[0], command_row(&["top", "--json", &new]));
    let compared = "/api/v1/diff?svc=shop&version=1.2.9&base_version=1.2.10";
    let diff = command_row(&["diff", "--json", &old, &new]);
    assert_eq!(rows(&http, compared)[0]["functions"], diff["functions"]);
    assert_eq!(diff["functions"][0]["function"], "work");
    // The same captures, asked for by their version alone.
    let alone = "/api/v1/diff?version=1.2.9&base_version=1.2.10";
    assert_eq!(rows(&http, alone)[0]["functions"], diff["functions"]);

    let (status, problem) = get(&http, "/api/v1/functions?svc=shop&version=9");
    assert_eq!(status, 404, "{problem}");
    let said = problem["detail"].as_str().expect("a sentence");
    assert!(said.contains("shop, version 9"), "{said}");
    let (_, form) = get(&http, "/api/v1/query?version=1.2.9&base_version=1.2.10");
    assert_eq!(
        form["query"],
        json!({"version": ["1.2.9"], "base_version": ["1.2.10"]})
    );

    // Sealed, they are what they were.
    let before = captures(&data);
    collector.terminate();
    let collector = Collector::start(&data, &[]);
    eventually(|| {
        let captures = captures(&data);
        let mut revisions = captures.iter().map(|capture| capture["revision"].as_u64());
        revisions.all(|revision| revision > Some(0)).then_some(())
    });
    let versions = |captures: &[Value]| -> Vec<Value> {
        let versions = captures.iter().map(|capture| capture["version"].clone());
        versions.collect()
    };
    assert_eq!(versions(&captures(&data)), versions(&before));
    let services = rows(&collector.http, "/api/v1/services");
    assert_eq!(services[0]["versions"], json!(["1.2.10", "1.2.9"]));
}

#[test]
fn every_sender_that_says_its_version_is_heard() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let http = &collector.http;
    let post = |line: &str, kind: &str, body: &[u8]| {
        let headers = format!("Content-Type: {kind}\r\n");
        let answer = ask(http, &request(http, line, &headers, body));
        assert_eq!(answer.status, 200, "{line}: {}", answer.body);
    };
    let text_of = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let spans = |versions: &[&str]| {
        let resources = versions.iter().map(|version| {
            json!({
                "resource": {"attributes": [
                    text_of("service.name", "stock"),
                    text_of("service.version", version),
                ]},
                "scopeSpans": [{"spans": [{
                    "traceId": "0af7651916cd43dd8448eb211c80319c",
                    "spanId": "b7ad6b7169203331",
                    "name": "GET /stock",
                    "kind": 2,
                    "startTimeUnixNano": "1700000000000000000",
                    "endTimeUnixNano": "1700000000100000000",
                }]}],
            })
        });
        let message = json!({"resourceSpans": resources.collect::<Vec<_>>()});
        message.to_string().into_bytes()
    };
    post("POST /v1/traces", "application/json", &spans(&["2.0"]));
    // Of two versions in one message, neither is that of the whole.
    post(
        "POST /v1/traces",
        "application/json",
        &spans(&["2.0", "2.1"]),
    );
    let times = "from=1723123941&until=1723123951&format=folded";
    post(
        &format!("POST /ingest?name=till%7Bversion%3D3.0%7D&{times}"),
        "binary/octet-stream",
        b"main;work 3\n",
    );
    let mut listed: Vec<(String, String)> = captures(&data)
        .iter()
        .map(|capture| {
            let word = |key: &str| capture[key].as_str().expect("a text").to_owned();
            (word("service"), word("version"))
        })
        .collect();
    listed.sort();
    let expected = [("stock", ""), ("stock", "2.0"), ("till", "3.0")];
    assert_eq!(
        listed,
        expected.map(|(service, version)| (service.to_owned(), version.to_owned()))
    );
}
