//! The API of a collector: what it answers is what the commands print of the same data folder.

mod collected;

use collected::http::ask;
use collected::{Collector, SHOP, eventually, json_lines, run, stdout, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

/// Where the HTTP side of a collector is.
fn authority(collector: &Collector) -> String {
    let address = collector.http.trim_start_matches("http://");
    address.to_owned()
}

/// Asks with a header, and returns the status, the head and the body.
fn asked(address: &str, path: &str, header: &str) -> (u16, String, String) {
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{header}Connection: close\r\n\r\n");
    let answer = ask(&format!("http://{address}"), request.as_bytes());
    (answer.status, answer.head, answer.body)
}

fn rows(address: &str, path: &str) -> Vec<Value> {
    let (status, _, body) = asked(address, path, "");
    assert_eq!(status, 200, "{path}: {body}");
    let body: Value = serde_json::from_str(&body).expect("JSON");
    body["rows"].as_array().expect("rows").clone()
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
    // Sealing and decoding change what is told of it.
    eventually(|| {
        let captures = rows(&address, "/api/v1/captures");
        captures[0]["facts"].is_object().then_some(())
    });
    let data = text(&data);
    assert_eq!(
        rows(&address, "/api/v1/captures"),
        json_lines(&["captures", "ls", data, "--json"])
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
    let mut plain = found.clone();
    for row in &mut plain {
        let row = row.as_object_mut().expect("an object");
        row.remove("place").expect("a place");
    }
    assert_eq!(plain, json_lines(&calls));
    let call = found[0]["capture"]["call"].as_str().expect("an id");
    let detail = rows(&address, &format!("/api/v1/calls/{call}?capture=1-1"));
    assert_eq!(detail, json_lines(&["call", &chosen, call, "--json"]));
    assert_eq!(detail[0]["duration_ns"], found[0]["duration"]);
    let part = rows(
        &address,
        &format!("/api/v1/calls/{call}?capture=1-1&below=3&depth=1"),
    );
    let spans = part[0]["spans"].as_array().expect("spans");
    let all = detail[0]["spans"].as_array().expect("spans");
    assert_eq!(
        spans.as_slice(),
        [&all[3], &all[4], &all[6]].map(Value::clone)
    );
    assert_eq!((&all[3]["below"], &all[4]["below"]), (&4.into(), &1.into()));
    let functions = rows(&address, "/api/v1/functions?n=5");
    assert_eq!(functions, json_lines(&["top", data, "--json", "-n=5"]));
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
    let commands: [(&str, &[&str]); 8] = [
        (
            "calls/overview?capture=1-1",
            &["calls", "--overview", "--json"],
        ),
        (
            "calls/groups?by=thread&capture=1-1",
            &["calls", "--by=thread", "--json"],
        ),
        ("hotspots?capture=1-1", &["top", "--hotspots", "--json"]),
        (
            "tree?least=100&capture=1-1",
            &["tree", "--min-percent=1", "--json"],
        ),
        (
            "timeline?columns=20&capture=1-1",
            &["timeline", "--columns=20", "--json"],
        ),
        (
            "diff?capture=1-1&base_to=1773463912000000000",
            &["diff", "--base-until=2026-03-14T04:51:52Z", "--json"],
        ),
        ("monitors?capture=1-1", &["monitors", "--json"]),
        ("objects?capture=1-1", &["objects", "--json"]),
    ];
    for (path, command) in commands {
        let command = [command, &[chosen.as_str()]].concat();
        assert_eq!(
            rows(&address, &format!("/api/v1/{path}")),
            json_lines(&command),
            "{path}"
        );
    }
    let services = rows(&address, "/api/v1/services");
    assert_eq!(services[0]["service"], "shop");
    assert_eq!(services[0]["captures"], 1);
    let bytes = rows(
        &address,
        "/api/v1/captures/1-1/bytes?part=trace&at=0x10&n=8",
    );
    assert_eq!(
        bytes,
        json_lines(&[
            "dump",
            "--hex=8",
            "--start=16",
            "--part=trace",
            "--json",
            &chosen
        ])
    );
    assert_eq!(bytes[0]["hex"].as_str().map(str::len), Some(16));
    for page in ["flame", "report", "timeline"] {
        let (status, head, body) = asked(&address, &format!("/view/{page}?capture=1-1"), "");
        assert_eq!(status, 200, "{page}");
        assert!(head.contains("frame-ancestors 'self'"), "{head}");
        assert!(body.trim_end().ends_with("</html>"), "{page}");
    }
}

#[test]
fn a_flame_graph_as_json_has_every_dimension_of_its_frames() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let (collector, address) = collected_shop(&data);
    let profile = folder.path().join("profile.pprof");
    let bytes = traceloom_samples::bytes("pprof", 7, 20_000);
    std::fs::write(&profile, bytes).expect("a file");
    stdout(&["push", text(&profile), "--to", &collector.http]);
    for (capture, dimensions) in [
        (
            "1-1",
            &["", "method", "package", "class", "thread", "library"][..],
        ),
        ("1-2", &["", "method", "line", "package", "library"]),
    ] {
        let chosen = format!("{}#{capture}", text(&data));
        let mut graphs = BTreeSet::new();
        for dimension in dimensions {
            let written = folder.path().join(format!("{capture}{dimension}.json"));
            let mut line = vec!["flame", "-o", text(&written)];
            let by = format!("--dimension={dimension}");
            let path = match *dimension {
                "" => format!("/api/v1/flame.json?capture={capture}"),
                _ => {
                    line.push(&by);
                    format!("/api/v1/flame.json?capture={capture}&by={dimension}")
                }
            };
            line.push(&chosen);
            let run = run(&line);
            let (status, _, body) = asked(&address, &path, "");
            assert_eq!(
                (status, run.status.success()),
                (200, true),
                "{path}: {body}"
            );
            let file = std::fs::read_to_string(&written).expect("a graph");
            assert_eq!(body.trim_end(), file.trim_end(), "{path}");
            graphs.insert(file);
        }
        // Methods are the usual dimension.
        assert_eq!(graphs.len(), dimensions.len() - 1, "{capture}");
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
        (
            "/api/v1/flame.json?focus=x",
            400,
            "the whole graph is written",
        ),
        ("/api/v1/flame.json?by=line", 422, "no frame has a line"),
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

#[test]
fn pages_of_calls_come_to_the_list() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let (_collector, address) = collected_shop(&data);
    let data = text(&data);
    for sort in ["-start", "-duration", "thread", "-cpu"] {
        let whole = json_lines(&["calls", data, "--json", &format!("--sort={sort}")]);
        let (mut paged, mut after) = (Vec::new(), String::new());
        loop {
            let path = format!("/api/v1/calls?n=7&sort={sort}&after={after}");
            let path = path.trim_end_matches("&after=");
            let (status, _, body) = asked(&address, path, "");
            assert_eq!(status, 200, "{path}: {body}");
            let body: Value = serde_json::from_str(&body).expect("JSON");
            for row in body["rows"].as_array().expect("rows") {
                paged.push(row["capture"]["call"].clone());
            }
            match body["next"].as_str() {
                None => break,
                Some(next) => after = form_urlencoded(next),
            }
        }
        let whole: Vec<Value> = whole
            .iter()
            .map(|row| row["capture"]["call"].clone())
            .collect();
        assert_eq!(paged, whole, "{sort}");
    }
}

fn form_urlencoded(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

#[test]
fn the_newest_calls_of_several_captures_are_those_of_the_whole_list() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let (collector, address) = collected_shop(&data);
    let to = format!("cdt://{}", collector.address());
    for service in ["second", "third"] {
        let sent = run(&["send", SHOP, "--to", &to, "--service", service]);
        assert!(sent.status.success(), "{sent:?}");
    }
    eventually(|| {
        let captures = rows(&address, "/api/v1/captures");
        let ended = captures.iter().filter(|one| one["state"] == "goodbye");
        (ended.count() == 3).then_some(())
    });
    let newest = rows(&address, "/api/v1/calls?n=9");
    assert_eq!(newest.len(), 9);
    let data = text(&data);
    let all = json_lines(&["calls", data, "--json", "--sort=-start"]);
    let starts = |rows: &[Value]| -> Vec<i64> {
        let starts = rows
            .iter()
            .map(|row| row["start"].as_i64().expect("a start"));
        starts.take(9).collect()
    };
    assert_eq!(starts(&newest), starts(&all));
    // Each is what `call` takes, whatever was opened to list it.
    let id = newest[8]["id"].as_str().expect("an id");
    let call = json_lines(&["call", data, id, "--json"]);
    assert_eq!(call[0]["start_ns"], newest[8]["start"]);
}

/// Asks for JSON, and returns it with the head of the answer.
fn answer(address: &str, path: &str) -> (Value, String) {
    let (status, head, body) = asked(address, path, "");
    assert_eq!(status, 200, "{path}: {body}");
    (serde_json::from_str(&body).expect("JSON"), head)
}

/// Sends the shop three times, and returns its captures once they are decoded.
fn shops(collector: &Collector, address: &str) -> Vec<Value> {
    let to = format!("cdt://{}", collector.address());
    for _ in 0..3 {
        let sent = run(&["send", SHOP, "--to", &to, "--service", "shop"]);
        assert!(sent.status.success(), "{sent:?}");
    }
    eventually(|| {
        let captures = rows(address, "/api/v1/captures");
        let is_known = |one: &Value| one["facts"].is_object() && one["state"] == "goodbye";
        (captures.len() == 3 && captures.iter().all(is_known)).then_some(captures)
    })
}

/// Sends the shop as services of namespaces and a file, and waits until all is decoded.
fn sent(collector: &Collector, address: &str, services: &[(&str, &str)], file: &Path) {
    let to = format!("cdt://{}", collector.address());
    for (namespace, service) in services {
        let names = ["--namespace", namespace, "--service", service];
        let sent = run(&[&["send", SHOP, "--to", &to], &names[..]].concat());
        assert!(sent.status.success(), "{sent:?}");
    }
    let pushed = run(&["push", text(file), "--to", &collector.http]);
    assert!(pushed.status.success(), "{pushed:?}");
    eventually(|| {
        let captures = rows(address, "/api/v1/captures");
        let is_known = |one: &Value| one["facts"].is_object() && one["state"] != "open";
        (captures.len() > services.len() && captures.iter().all(is_known)).then_some(())
    });
}

#[test]
fn between_dates_there_is_nothing_of_a_clock_that_has_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let collector = Collector::start(&folder.path().join("data"), &[]);
    let address = authority(&collector);
    let file = folder.path().join("work.json");
    let trace = r#"{"traceEvents":[{"ph":"X","name":"work","ts":1,"dur":5,"pid":1,"tid":1}]}"#;
    std::fs::write(&file, trace).expect("a file");
    sent(&collector, &address, &[("eu", "shop")], &file);
    let from = "from=2026-03-14T04:51:52Z";
    for question in [
        "calls/overview?",
        "hotspots?",
        "tree?",
        "profiles?",
        "objects?",
        "monitors?",
    ] {
        let path = format!("/api/v1/{question}{from}");
        let dated = rows(&address, &format!("{path}&capture=1-1"));
        assert!(!dated.is_empty() || question == "monitors?", "{path}");
        let (found, _) = answer(&address, &path);
        let told = found["rows"].as_array().expect("rows");
        assert_eq!(told, &dated, "{path}");
        let messages = found["messages"].to_string();
        assert!(messages.contains("lie between no dates"), "{messages}");
    }
    let calls = |query: &str| rows(&address, &format!("/api/v1/calls?n=500&{query}")).len();
    // All together, the picture above the list has the calls with dates, and the others are counted.
    let [all, dated] = ["", "?capture=1-1"].map(|query| {
        let path = format!("/api/v1/calls/overview{query}");
        rows(&address, &path).remove(0)
    });
    for key in ["first_ns", "last_ns", "step_ns", "cells", "origin"] {
        assert_eq!(all[key], dated[key], "{key}");
    }
    assert_eq!((&all["undated"], &dated["undated"]), (&1.into(), &0.into()));
    assert_eq!(
        all["calls"].as_u64(),
        dated["calls"].as_u64().map(|n| n + 1)
    );
    assert_eq!(calls(from), calls(&format!("{from}&capture=1-1")));
    assert_eq!(calls("capture=1-2"), 1);
    assert_eq!(calls(&format!("{from}&capture=1-2")), 0);
    let spans = |query: &str| -> Vec<Value> {
        let timeline = rows(&address, &format!("/api/v1/timeline?{query}"));
        let tracks = timeline[0]["tracks"].as_array().expect("tracks");
        tracks.iter().map(|track| track["spans"].clone()).collect()
    };
    assert_eq!(spans(from), spans(&format!("{from}&capture=1-1")));
    let (status, _, _) = asked(&address, &format!("/view/timeline?{from}"), "");
    assert_eq!(status, 200);
}

#[test]
fn services_of_one_name_are_told_apart_by_their_namespaces() {
    let folder = tempfile::tempdir().expect("a folder");
    let collector = Collector::start(&folder.path().join("data"), &[]);
    let address = authority(&collector);
    let file = folder.path().join("cpu.folded");
    std::fs::write(&file, "main;run 7\n").expect("a file");
    let services = [("eu", "stock"), ("asia", "stock"), ("asia", "stock")];
    sent(&collector, &address, &services, &file);
    let read = |services: &str| {
        let found = rows(&address, &format!("/api/v1/calls/overview?{services}"));
        found[0]["calls"].as_u64().expect("a number")
    };
    let all = read("svc=stock");
    assert!(all > 0);
    assert_eq!(read("svc=eu/stock") * 3, all);
    assert_eq!(read("svc=asia/stock") * 3, all * 2);
    assert_eq!(read("svc=asia/stock&svc=eu/stock"), all);
    // That captures have nothing in a stretch of time is said once, not of each.
    let (later, _) = answer(&address, "/api/v1/objects?to=2020-01-01T00:00:00Z");
    let messages = later["messages"].as_array().expect("messages");
    let told = |message: &&Value| message.to_string().contains("have nothing from");
    assert_eq!(messages.iter().filter(told).count(), 1, "{messages:?}");
    // What has neither a namespace nor a name.
    let drawn = |services: &str| rows(&address, &format!("/api/v1/functions?{services}")).len();
    let unnamed = rows(&address, "/api/v1/functions?svc=/");
    assert_eq!(unnamed[0]["functions"][0]["function"], "run");
    assert_eq!((unnamed.len(), drawn("capture=1-4")), (1, 1));
}

#[test]
fn what_a_budget_leaves_out_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let collector = Collector::start(&data, &[]);
    let address = authority(&collector);
    let captures = shops(&collector, &address);
    let size = |capture: &Value| -> u64 {
        let parts = capture["parts"].as_array().expect("parts").iter();
        parts
            .map(|part| part["bytes"].as_u64().expect("bytes"))
            .sum()
    };
    let sizes: Vec<u64> = captures.iter().map(size).collect();
    let of_bytes: u64 = sizes.iter().sum();
    // Room for the newest two.
    let budget = of_bytes - 1;
    let read_bytes = sizes[1] + sizes[2];
    let newest = format!("{}#1-2,1-3", text(&data));
    let expected = |partial: &Value| {
        assert_eq!(partial["read_bytes"], read_bytes, "{partial}");
        assert_eq!(partial["of_bytes"], of_bytes);
        assert_eq!(partial["captures_read"], 2);
        assert_eq!(partial["captures"], 3);
        assert_eq!(partial["budget_bytes"], budget);
        assert_eq!(partial["next_budget_bytes"], 2 * budget);
    };
    let [asked_for, next] = [budget, 2 * budget].map(|bytes| format!("budget={bytes}"));
    for (path, command) in [
        ("functions?n=10000", &["top", "--json", "-n=10000"][..]),
        ("tree?least=0", &["tree", "--json", "--min-percent=0"]),
        ("calls/overview?", &["calls", "--overview", "--json"]),
        (
            "calls/groups?by=title",
            &["calls", "--by=title", "--json", "-n=200"],
        ),
        ("hotspots?", &["top", "--hotspots", "--json"]),
        (
            "timeline?columns=10",
            &["timeline", "--json", "--columns=10", "-n=200"],
        ),
    ] {
        let (body, head) = answer(&address, &format!("/api/v1/{path}&{asked_for}"));
        expected(&body["partial"]);
        let said = head
            .lines()
            .find_map(|line| line.strip_prefix("traceloom-partial: "));
        let said: Value = serde_json::from_str(said.expect("a header")).expect("JSON");
        assert_eq!(said, body["partial"], "{path}");
        let printed = json_lines(&[command, &[newest.as_str()]].concat());
        assert_eq!(body["rows"], Value::Array(printed), "{path}");
        let (whole, head) = answer(&address, &format!("/api/v1/{path}&{next}"));
        assert!(whole["partial"].is_null() && !head.contains("traceloom-partial"));
        assert_ne!(whole["rows"], body["rows"], "{path}");
    }
    for path in ["flame?", "profiles?"] {
        expected(&answer(&address, &format!("/api/v1/{path}&{asked_for}")).0["partial"]);
    }
    // A page of its own says it, too.
    let (_, head, page) = asked(&address, &format!("/view/flame?{asked_for}"), "");
    assert!(head.contains("traceloom-partial: "), "{head}");
    assert!(page.contains("the newest 2 of 3 captures"));
    // Both sides of a comparison are read.
    let (diff, _) = answer(&address, &format!("/api/v1/diff?base=1-1&{asked_for}"));
    assert!(diff["partial"].is_object(), "{diff}");
}

#[test]
fn lists_of_calls_say_what_a_budget_leaves_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let collector = Collector::start(&data, &[]);
    let address = authority(&collector);
    let captures = shops(&collector, &address);
    let n_calls = captures[0]["facts"]["calls"].as_u64().expect("calls");
    // One byte has room for one capture, in every order; each next budget has room for more.
    for sort in ["-start", "-duration"] {
        let (mut budget, mut before) = (1, 0);
        loop {
            let path = format!("/api/v1/calls?sort={sort}&n=10000&budget={budget}");
            let (body, _) = answer(&address, &path);
            let n_rows = body["rows"].as_array().expect("rows").len() as u64;
            assert!(before < n_rows, "{path}: {n_rows}");
            before = n_rows;
            let partial = &body["partial"];
            if partial.is_null() {
                break;
            }
            let n_captures = partial["captures_read"].as_u64().expect("a number");
            assert_eq!(n_rows, n_captures * n_calls, "{partial}");
            assert_eq!(body["counts"]["is_whole"], false);
            let said = body["messages"].to_string();
            assert!(said.contains("more is beyond the budget"), "{said}");
            budget = partial["next_budget_bytes"].as_u64().expect("a budget");
        }
        assert_eq!(before, 3 * n_calls);
    }
    // A page that needs less is no part of an answer.
    let (body, _) = answer(&address, "/api/v1/calls?n=1&budget=1");
    assert_eq!(body["rows"].as_array().map(Vec::len), Some(1));
    // An export has everything.
    let (_, _, csv) = asked(&address, "/api/v1/calls.csv?budget=1", "");
    assert_eq!(csv.lines().count() as u64, 1 + 3 * n_calls);
}

/// Of a capture that alone is more than the budget, the beginning is read, and that is said.
#[test]
fn of_one_large_capture_the_beginning_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let collector = Collector::start(&data, &[]);
    let address = authority(&collector);
    let path = folder.path().join("large.heph");
    let n_bytes = 3 << 20;
    std::fs::write(&path, collected::program::sample("heph", 4, n_bytes)).expect("a file");
    stdout(&["push", text(&path), "--to", &collector.http]);
    let of_bytes = std::fs::metadata(&path).expect("a file").len();
    let read = |path: &str| {
        let (body, head) = answer(&address, path);
        assert_eq!(
            head.contains("traceloom-partial"),
            !body["partial"].is_null()
        );
        body
    };
    let calls = |body: &Value| body["rows"][0]["calls"].as_u64().expect("calls");
    let all = calls(&read("/api/v1/calls/overview?capture=1-1"));
    let mut before = 0;
    for budget in [2_u64 << 20, 5 << 19, 4 << 20] {
        let [one, any] = ["capture=1-1&", ""]
            .map(|capture| read(&format!("/api/v1/calls/overview?{capture}budget={budget}")));
        assert_eq!(one, any, "{budget}");
        let n_calls = calls(&one);
        assert!(before < n_calls && n_calls <= all, "{n_calls} of {all}");
        before = n_calls;
        let partial = &one["partial"];
        assert_eq!(partial.is_null(), budget > of_bytes, "{partial}");
        if partial.is_null() {
            continue;
        }
        assert_eq!(partial["read_bytes"], budget);
        assert_eq!(partial["of_bytes"], of_bytes);
        assert_eq!(partial["next_budget_bytes"], 2 * budget);
        let beginning = format!("{}#1-1@{budget}", text(&data));
        let printed = json_lines(&["calls", &beginning, "--overview", "--json"]);
        assert_eq!(one["rows"], Value::Array(printed));
        let info = json_lines(&["info", &beginning, "--json"]);
        assert!(
            info[0].to_string().contains("capture_beginning"),
            "{info:?}"
        );
        // A list in any order, the newest calls among them, before the capture has an index and after.
        for sort in ["-start", "-duration", "title"] {
            let list = format!("/api/v1/calls?sort={sort}&n=10000&budget={budget}");
            let (list, _) = answer(&address, &list);
            let n_rows = list["rows"].as_array().expect("rows").len() as u64;
            assert!(
                n_rows == n_calls.min(10_000) || list["partial"].is_null(),
                "{sort}: {n_rows}"
            );
        }
    }
    assert_eq!(before, all);
}

/// Returns the processes that answer questions with an argument.
#[cfg(target_os = "linux")]
fn answering(collector: &Collector, argument: &str) -> Vec<String> {
    let tasks = format!("/proc/{}/task", collector.child.id());
    let tasks = std::fs::read_dir(tasks).expect("threads");
    let children = tasks.flatten().flat_map(|task| {
        let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        let children: Vec<_> = children.split_whitespace().map(str::to_owned).collect();
        children
    });
    let has = |pid: &String| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|&byte| byte == 0)
            .any(|word| word == argument.as_bytes())
    };
    children.filter(has).collect()
}

/// The state of a process as the kernel tells it in a letter; none where it is gone.
#[cfg(target_os = "linux")]
fn state(pid: &str) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

#[cfg(target_os = "linux")]
#[test]
fn a_question_ends_when_whoever_asked_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let collector = Collector::start(&data, &[]);
    let address = authority(&collector);
    let path = folder.path().join("large.heph");
    std::fs::write(&path, collected::program::sample("heph", 4, 6 << 20)).expect("a file");
    stdout(&["push", text(&path), "--to", &collector.http]);
    // It is stopped, so that it does not end by itself; one that was faster is asked for again.
    let (client, pid) = eventually(|| {
        let mut client = TcpStream::connect(&address).expect("a connection");
        let question = "/api/v1/calls/overview?capture=1-1";
        let request = format!("GET {question} HTTP/1.1\r\nHost: {address}\r\n\r\n");
        client.write_all(request.as_bytes()).expect("a request");
        let pid = eventually(|| answering(&collector, "--overview").pop());
        let stopped = std::process::Command::new("kill")
            .args(["-STOP", &pid])
            .status();
        let is_stopped = stopped.expect("kill runs").success() && state(&pid) == Some('T');
        is_stopped.then_some((client, pid))
    });
    drop(client);
    eventually(|| matches!(state(&pid), None | Some('Z')).then_some(()));
    let (status, ..) = asked(&address, "/api/v1/captures", "");
    assert_eq!(status, 200);
}

#[test]
fn the_budget_of_questions_is_a_setting() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("serve.toml");
    std::fs::write(&config, "question-mib = 7\n").expect("written");
    let args = ["serve", "--config", text(&config), "--check-config"];
    let printed = stdout(&args);
    assert!(printed.contains("question-mib = 7\n"), "{printed}");
    let collector = Collector::start(&folder.path().join("data"), &["--question-mib", "9"]);
    let (settings, _) = answer(&authority(&collector), "/api/v1/settings");
    assert!(
        settings.to_string().contains("\"question-mib\":9"),
        "{settings}"
    );
    let refused = run(&["serve", "--question-mib", "0", "--check-config"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn answers_are_not_given_again_while_nothing_arrives() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let (collector, address) = collected_shop(&data);
    let path = "/api/v1/calls?sort=-duration&n=3";
    let tag_of = |head: &str| {
        let mut lines = head.lines();
        let line = lines.find_map(|line| line.strip_prefix("etag: "));
        line.expect("an ETag").replace("w/", "W/")
    };
    let (_, head, _) = asked(&address, path, "");
    let known = format!("If-None-Match: {}\r\n", tag_of(&head));
    // Sealing is a record of the log as well: it ends.
    let (known, _) = eventually(|| {
        let (status, head, body) = asked(&address, path, &known);
        let again = format!("If-None-Match: {}\r\n", tag_of(&head));
        let (second, _, empty) = asked(&address, path, &again);
        (second == 304 && empty.is_empty()).then_some((again, (status, body)))
    });
    let to = format!("cdt://{}", collector.address());
    let sent = run(&["send", SHOP, "--to", &to, "--service", "second"]);
    assert!(sent.status.success(), "{sent:?}");
    assert_eq!(asked(&address, path, &known).0, 200);
}

/// What is asked for in gzip or zstd comes so, and is what it is without.
#[test]
fn answers_are_compressed_as_they_are_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_collector, address) = collected_shop(&folder.path().join("data"));
    let asked = |path: &str, coding: &str| {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nAccept-Encoding: {coding}\r\nConnection: close\r\n\r\n"
        );
        ask(&format!("http://{address}"), request.as_bytes())
    };
    for path in [
        "/api/v1/calls?sort=-duration&n=50",
        "/api/v1/calls.csv",
        "/api/v1/openapi.json",
        "/view/flame",
        "/app.js",
    ] {
        let plain = asked(path, "identity");
        assert_eq!(plain.status, 200, "{path}");
        assert!(!plain.head.contains("content-encoding"), "{}", plain.head);
        for coding in ["gzip", "zstd"] {
            let answer = asked(path, coding);
            let said = format!("content-encoding: {coding}");
            assert!(answer.head.contains(&said), "{path}: {}", answer.head);
            let bytes = answer.bytes.as_slice();
            let mut decoder: Box<dyn std::io::Read> = match coding {
                "gzip" => Box::new(flate2::read::GzDecoder::new(bytes)),
                _ => Box::new(zstd::Decoder::new(bytes).expect("a frame")),
            };
            let mut decoded = Vec::new();
            decoder.read_to_end(&mut decoded).expect("whole bytes");
            assert!(decoded == plain.bytes, "{path} in {coding}");
            assert!(bytes.len() < decoded.len(), "{path} in {coding}");
        }
    }
}

#[test]
fn an_original_is_an_archive_of_what_was_sent() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let (_collector, _) = collected_shop(&data);
    let zip = run(&["export", "1-1", "--data", text(&data), "-o", "-"]);
    assert!(zip.status.success(), "{zip:?}");
    let path = folder.path().join("shop.zip");
    std::fs::write(&path, &zip.stdout).expect("a file");
    let calls = |path: &str| {
        let rows = json_lines(&["calls", path, "--json"]);
        let facts = rows
            .into_iter()
            .map(|row| (row["start"].clone(), row["title"].clone()));
        facts.collect::<Vec<_>>()
    };
    assert_eq!(calls(text(&path)), calls(SHOP));
}

#[test]
fn a_person_logs_in_with_a_token_and_changes_need_the_secret() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let collector = Collector::start(&data, &["--require-token"]);
    let address = authority(&collector);
    let token = stdout(&[
        "token",
        "add",
        "anna",
        "--right",
        "read",
        "--data",
        text(&data),
    ]);
    let token = token
        .split_whitespace()
        .find(|word| word.starts_with("tl_"));
    let token = token.expect("a token");
    let posted = |body: &str| {
        let mut socket = TcpStream::connect(&address).expect("connects");
        let request = format!(
            "POST /api/v1/session HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        socket.write_all(request.as_bytes()).expect("is written");
        let mut answer = String::new();
        socket.read_to_string(&mut answer).expect("is read");
        answer
    };
    assert!(posted("{\"token\": \"tl_00\"}").starts_with("HTTP/1.1 401"));
    let answer = posted(&format!("{{\"token\": \"{token}\"}}"));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("HttpOnly; SameSite=Strict"), "{answer}");
    let cookie = answer
        .split(['\n', ';'])
        .find_map(|line| line.trim().strip_prefix("set-cookie: "))
        .expect("a cookie");
    let cookie = format!("Cookie: {cookie}\r\n");
    assert_eq!(asked(&address, "/api/v1/captures", &cookie).0, 200);
    assert_eq!(asked(&address, "/api/v1/captures", "").0, 401);
    // A page elsewhere has the cookie sent, and not the secret.
    let refused = |more: &str| {
        let mut socket = TcpStream::connect(&address).expect("connects");
        let request = format!(
            "DELETE /api/v1/session HTTP/1.1\r\nHost: {address}\r\n{cookie}{more}Connection: close\r\n\r\n"
        );
        socket.write_all(request.as_bytes()).expect("is written");
        let mut answer = String::new();
        socket.read_to_string(&mut answer).expect("is read");
        answer
    };
    assert!(refused("").starts_with("HTTP/1.1 403"));
    let (_, _, state) = asked(&address, "/api/v1/session", &cookie);
    let state: Value = serde_json::from_str(&state).expect("JSON");
    let secret = state["secret"].as_str().expect("a secret");
    let secret = format!("X-CSRF-Token: {secret}\r\n");
    assert!(refused(&secret).starts_with("HTTP/1.1 204"));
    assert_eq!(asked(&address, "/api/v1/captures", &cookie).0, 401);
}

#[test]
fn the_document_of_the_api_is_the_one_that_is_served() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let made = traceloom_server::openapi() + "\n";
    if std::env::var_os("TRACELOOM_BLESS").is_some() {
        std::fs::write(path, &made).expect("docs/openapi.json");
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        kept == made,
        "docs/openapi.json is not what the code makes: TRACELOOM_BLESS=1 cargo test -p traceloom --test collect_views"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let collector = Collector::start(&folder.path().join("data"), &[]);
    let (status, _, served) = asked(&authority(&collector), "/api/v1/openapi.json", "");
    assert_eq!((status, served.as_str()), (200, made.trim_end()));
}

/// Schemathesis asks everything that the document describes, in ways that are right and wrong.
#[test]
fn no_request_of_the_document_is_an_error_of_the_server() {
    let Some(packages) = std::env::var_os("TRACELOOM_SCHEMATHESIS") else {
        eprintln!("skipped: TRACELOOM_SCHEMATHESIS names no folder with schemathesis");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (collector, _) = collected_shop(&folder.path().join("data"));
    let output = std::process::Command::new("python3")
        .args(["-m", "schemathesis.cli", "run"])
        .arg(format!("{}/api/v1/openapi.json", collector.http))
        .args(["--checks=not_a_server_error", "--max-examples=2"])
        .args(["--phases=examples,fuzzing", "--suppress-health-check=all"])
        .args(["--request-timeout=120", "--seed=1", "--no-color"])
        // It does not end.
        .arg("--exclude-path=/api/v1/live")
        .env("PYTHONPATH", packages)
        .current_dir(folder.path())
        .output()
        .expect("python3 runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{error}");
    assert!(said.contains(" generated, "), "it asked nothing: {said}");
}
