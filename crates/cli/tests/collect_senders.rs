//! Senders over HTTP that mean no good, or too much of it, and a collector that is killed while they post.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;
#[path = "../../formats/tests/corpus/mod.rs"]
mod corpus;

use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use collected::agents::dump;
use collected::http::{Answer, ask, authority, captures, request};
use collected::profiles::profile;
use collected::{Collector, command, marked, stdout, text};
use serde_json::{Value, json};
use traceloom_input::captures::{Captures, DataFolder};

/// An upload of Datakit's agents, unlike those with other numbers.
fn upload(process: &str, number: u64, content: &[u8]) -> Vec<u8> {
    let event = format!(
        "{{\"tags_profiler\":\"service:{process},runtime-id:{process},profile_seq:{number}\",\"start\":\"2024-08-08T15:47:06Z\",\
         \"end\":\"2024-08-08T15:48:06Z\",\"version\":\"4\"}}"
    );
    let head = |name: &str| {
        format!(
            "--b\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{name}\"\r\n\r\n"
        )
    };
    let mut body = format!("{}{event}\r\n{}", head("event.json"), head("auto.pprof")).into_bytes();
    body.extend_from_slice(content);
    body.extend_from_slice(b"\r\n--b--\r\n");
    body
}

const MULTIPART: &str = "Content-Type: multipart/form-data; boundary=b\r\n";

fn post(http: &str, headers: &str, body: &[u8]) -> Answer {
    let headers = format!("{MULTIPART}{headers}");
    ask(
        http,
        &request(http, "POST /profiling/v1/input", &headers, body),
    )
}

fn token(data: &Path, name: &str) -> String {
    token_for(data, name, &[])
}

fn token_for(data: &Path, name: &str, tenants: &[&str]) -> String {
    let add = [
        "token",
        "add",
        name,
        "--right",
        "upload",
        "--data",
        text(data),
    ];
    let tenants = tenants.iter().flat_map(|tenant| ["--tenant", tenant]);
    let made = stdout(&add.into_iter().chain(tenants).collect::<Vec<_>>());
    let token = made.split_whitespace().find(|word| word.starts_with("tl_"));
    format!("Authorization: Bearer {}\r\n", token.expect("a token"))
}

/// Every route that takes something, as a page of another site could ask for it: by a form, or a script that asks nobody.
#[test]
fn pages_of_other_sites_reach_no_route() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let http = &collector.http;
    let form = upload("page", 1, b"x");
    let routes = [
        "POST /api/v1/upload?name=a.jfr",
        "PATCH /api/v1/upload/1",
        "PUT /diagnostic/ns/2024/08/08/15/47/06/pod-1_1723131400/20240808T154706.td.txt",
        "POST /profiling/v1/input",
        "POST /ingest?format=pprof&from=1&until=2&name=a",
        "POST /push.v1.PusherService/Push",
        "POST /v1/traces",
        "POST /v1development/profiles",
        "POST /api/v2/spans",
        "POST /agent/submit/agd",
        "POST /agent/submit/trc",
        "POST /agent/register",
        "POST /agent/session",
        "POST /api/trace",
    ];
    let pages = [
        "Origin: http://evil.example\r\n",
        "Origin: null\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n",
    ];
    for line in routes {
        for page in pages {
            for kind in [MULTIPART, "Content-Type: text/plain\r\n", ""] {
                let answer = ask(http, &request(http, line, &format!("{kind}{page}"), &form));
                assert_eq!(answer.status, 403, "{line} {page} {kind}: {}", answer.body);
            }
        }
        // A name of theirs that leads to this machine.
        let host = format!(
            "{line} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        );
        assert_eq!(ask(http, host.as_bytes()).status, 403, "{line}");
    }
    assert!(captures(&data).is_empty());
    // The same from a program is taken, so that it was the page that was refused.
    assert_eq!(post(http, "", &form).status, 200);
}

#[test]
fn a_quota_is_a_tenants_own_and_refusals_say_when_to_come_again() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let quota = ["--require-token", "--tenant-mib-per-minute", "1"];
    let collector = Collector::start(&data, &quota);
    let http = &collector.http;
    let (a, b) = (token(&data, "a"), token(&data, "b"));
    let large = vec![7; 900 << 10];
    let send = |number, token: &str| post(http, token, &upload("shop", number, &large));
    assert_eq!(send(1, &a).status, 200);
    let refused = send(2, &a);
    assert_eq!(refused.status, 429, "{}", refused.body);
    assert!(refused.head.contains("retry-after: "), "{}", refused.head);
    assert!(refused.body.contains("quota"), "{}", refused.body);
    assert_eq!(send(3, &b).status, 200);
    // Other senders are refused in their own words.
    let kind = "Content-Type: application/proto\r\n";
    let line = "POST /push.v1.PusherService/Push";
    let pushed = ask(http, &request(http, line, &format!("{kind}{a}"), &large));
    let said: Value = serde_json::from_str(&pushed.body).expect("JSON");
    assert_eq!(
        (pushed.status, said["code"].is_string()),
        (429, true),
        "{}",
        pushed.body
    );
    let headers = format!("X-Zorka-Session-ID: 00000000000000aa\r\n{a}");
    let line = "POST /agent/submit/agd";
    assert_eq!(
        ask(http, &request(http, line, &headers, &large)).status,
        429
    );
    assert_eq!(captures(&data).len(), 2);
}

/// The tenant that a request names counts as far as its token allows, and not at all without one.
#[test]
fn a_request_names_tenants_of_its_token_alone() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let http = &collector.http;
    let (own, both) = (token(&data, "own"), token_for(&data, "both", &["a", "b"]));
    let scope = |tenant: &str| format!("X-Scope-OrgID: {tenant}\r\n");
    let body = upload("shop", 1, b"x");
    let of_a = format!("{both}{}", scope("a"));
    // The same upload of each tenant is stored: repeats are a tenant's own.
    let taken = [
        (both.clone(), "a"),
        (format!("{both}{}", scope("b")), "b"),
        (own.clone(), "own"),
        (String::new(), ""),
    ];
    let mut expected = Vec::new();
    for (headers, tenant) in taken {
        assert_eq!(post(http, &headers, &body).status, 200);
        expected.push(tenant);
        let mut listed = captures(&data);
        listed.sort_by_key(|row| row["opened_ns"].as_i64());
        let tenants: Vec<_> = listed.iter().map(|row| row["namespace"].clone()).collect();
        assert_eq!(tenants, expected);
    }
    let repeats = [
        &of_a,
        // It is not its own tenant that these name.
        &format!("{own}{}", scope("a")),
        &scope("a"),
    ];
    for headers in repeats {
        assert_eq!(post(http, headers, &body).status, 200, "{headers}");
    }
    let metrics = ask(http, &request(http, "GET /metrics", "", b"")).body;
    let suppressed = "traceloom_suppressed_units_total{listener=\"http\"} 3";
    assert!(metrics.contains(suppressed), "{metrics}");
    // What the token has not is refused, in the protocol's words.
    for tenant in ["both", "own", "c", "", "a|b", "a,b", "A"] {
        let headers = format!("{both}{}", scope(tenant));
        let refused = post(http, &headers, &body);
        match tenant {
            // A header without a name names nobody.
            "" => assert_eq!(refused.status, 200),
            _ => assert_eq!(refused.status, 403, "{tenant}: {}", refused.body),
        }
    }
    let headers = format!("{both}{}Content-Type: application/json\r\n", scope("c"));
    let traces = ask(http, &request(http, "POST /v1/traces", &headers, b"{}"));
    let said: Value = serde_json::from_str(&traces.body).expect("JSON");
    let sentence = said["message"].as_str().unwrap_or_default();
    assert!(
        traces.status == 403 && sentence.contains("X-Scope-OrgID"),
        "{said}"
    );
    assert_eq!(captures(&data).len(), 4);
    let tokens = stdout(&["token", "ls", "--json", text(&data)]);
    let tokens = tokens
        .lines()
        .map(|row| serde_json::from_str(row).expect("JSON"));
    let tenants: Vec<Value> = tokens.map(|row: Value| row["tenants"].clone()).collect();
    assert_eq!(tenants, [json!([]), json!(["a", "b"])]);
    let add = [
        "token",
        "add",
        "x",
        "--right",
        "upload",
        "--tenant",
        "a b",
        "--data",
        text(&data),
    ];
    assert_eq!(collected::run(&add).status.code(), Some(2));
}

/// A token that is made over the API sends for the tenants of its maker's, and never for those of others.
#[test]
fn a_token_made_over_the_api_sends_for_its_makers_tenants() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &["--require-token"]);
    let http = &collector.http;
    let maker = |name: &str, tenants: &[&str]| {
        let add = ["token", "add", name, "--data", text(&data)];
        let rights = ["--right", "write", "--right", "upload"];
        let tenants = tenants.iter().flat_map(|tenant| ["--tenant", tenant]);
        let args: Vec<_> = add.into_iter().chain(rights).chain(tenants).collect();
        format!("Authorization: Bearer {}\r\n", stdout(&args).trim())
    };
    let (of_two, operator) = (maker("of-two", &["a", "b"]), maker("operator", &[]));
    let make = |maker: &str, name: &str, right: &str| {
        let headers = format!("{maker}Content-Type: application/json\r\n");
        let body = json!({"name": name, "rights": [right]}).to_string();
        let line = "POST /api/v1/tokens";
        ask(http, &request(http, line, &headers, body.as_bytes()))
    };
    let made = |maker: &str, name: &str| {
        let answer = make(maker, name, "upload");
        assert_eq!(answer.status, 201, "{}", answer.body);
        let body: Value = serde_json::from_str(&answer.body).expect("JSON");
        format!(
            "Authorization: Bearer {}\r\n",
            body["token"].as_str().expect("a token")
        )
    };
    let (child, own) = (made(&of_two, "child"), made(&operator, "own"));
    let body = upload("shop", 1, b"x");
    let send = |token: &str, tenant: &str| {
        let scope = match tenant {
            "" => String::new(),
            tenant => format!("X-Scope-OrgID: {tenant}\r\n"),
        };
        post(http, &format!("{token}{scope}"), &body).status
    };
    let statuses = [
        send(&child, ""),
        send(&child, "b"),
        send(&child, "child"),
        send(&child, "own"),
        send(&own, ""),
        // What a token without tenants names does not count.
        send(&own, "a"),
    ];
    assert_eq!(statuses, [200, 200, 403, 403, 200, 200]);
    let tenants = captures(&data)
        .into_iter()
        .map(|row| row["namespace"].clone());
    let mut tenants: Vec<_> = tenants.map(|name| name.to_string()).collect();
    tenants.sort();
    assert_eq!(tenants, ["\"a\"", "\"b\"", "\"own\""]);
    // A token of a tenant's name would send for that tenant; and nobody passes on a right that it has not.
    assert_eq!(make(&operator, "a", "upload").status, 409);
    assert_eq!(make(&of_two, "reader", "read").status, 403);
    assert_eq!(make(&child, "grandchild", "upload").status, 403);
}

/// Returns the most memory that a process held, in MiB.
fn peak_mib(collector: &Collector) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", collector.child.id()));
    let status = status.expect("a status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak: u64 = peak
        .expect("a peak")
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .expect("a number");
    peak >> 10
}

#[test]
fn a_flood_of_one_tenant_leaves_room_for_another() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let mut collector = Collector::start(&data, &["--require-token"]);
    let http = collector.http.clone();
    let (flood, other) = (token(&data, "flood"), token(&data, "other"));
    // Bodies that come to two thirds and no further, more than there is room for all.
    let head = format!(
        "POST /profiling/v1/input HTTP/1.1\r\nHost: {}\r\n{MULTIPART}{flood}Content-Length: {}\r\n\r\n",
        authority(&http),
        30 << 20
    );
    let floods: Vec<TcpStream> = std::thread::scope(|scope| {
        let begin = || {
            let mut socket = TcpStream::connect(authority(&http)).expect("a connection");
            socket
                .set_write_timeout(Some(Duration::from_secs(4)))
                .expect("a timeout");
            let _ = socket.write_all(head.as_bytes());
            // Where nothing more is read, that is what was meant.
            let _ = socket.write_all(&vec![7; 20 << 20]);
            socket
        };
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(begin)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a flood"))
            .collect()
    });
    let mut acknowledged = Vec::new();
    for number in 0..20 {
        let answer = post(&http, &other, &upload("other", number, &vec![1; 200 << 10]));
        assert_eq!(answer.status, 200, "{}", answer.body);
        let body: Value = serde_json::from_str(&answer.body).expect("JSON");
        acknowledged.push(
            body["content"]["ProfileID"]
                .as_str()
                .expect("an id")
                .to_owned(),
        );
    }
    let peak = peak_mib(&collector);
    assert!(peak < 400, "{peak} MiB");
    collector.child.kill().expect("it runs");
    collector.child.wait().expect("an end");
    drop(floods);
    for (number, id) in (0..).zip(&acknowledged) {
        let args = ["export", id, "--data", text(&data), "-o", "-"];
        let kept = collected::run(&args).stdout;
        let sent = upload("other", number, &vec![1; 200 << 10]);
        assert!(kept.ends_with(&sent), "{id}");
    }
}

/// Posts profiles until the collector is gone; returns the ids that were acknowledged.
fn post_until_gone(http: &str, process: &str, content: &[u8], end: &AtomicBool) -> Vec<String> {
    let mut ids = Vec::new();
    let mut number = 0;
    while !end.load(Ordering::Relaxed) {
        number += 1;
        let body = upload(process, number, content);
        let headers = format!("{MULTIPART}Connection: close\r\n");
        let request = request(http, "POST /profiling/v1/input", &headers, &body);
        let Ok(mut socket) = TcpStream::connect(authority(http)) else {
            break;
        };
        let _ = socket.write_all(&request);
        let mut answer = String::new();
        let _ = std::io::Read::read_to_string(&mut socket, &mut answer);
        let body = answer.split("\r\n\r\n").nth(1).unwrap_or_default();
        if let Ok(body) = serde_json::from_str::<Value>(body)
            && let Some(id) = body["content"]["ProfileID"].as_str()
        {
            ids.push(id.to_owned());
        }
    }
    ids
}

/// `kill -9` while every sender posts: what was acknowledged is there, once. `TRACELOOM_KILL_ROUNDS` takes more rounds.
#[test]
fn posts_that_were_acknowledged_outlast_kills() {
    let n_rounds = collected::kills::kill_rounds(6);
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let content = profile(scratch.path(), "main;work 30\n");
    let dump = dump(scratch.path());
    let small = [
        "--seal-kib",
        "100",
        "--seal-seconds",
        "1",
        "--log-kib",
        "2000",
    ];
    let acknowledged = Mutex::new(Vec::new());
    let acknowledged_texts = Mutex::new(Vec::new());
    let mut ledgers = Vec::new();
    for round in 0..n_rounds {
        let mut collector = Collector::start(&data, &small);
        let http = collector.http.clone();
        let ledger = scratch.path().join(format!("ledger{round}"));
        let mut agents = command(&[
            "send",
            text(&dump),
            "--to",
            &http.replace("http://", "zorka://"),
        ])
        .args(["--agents", "2", "--loop", "--ledger", text(&ledger)])
        .stderr(Stdio::null())
        .spawn()
        .expect("agents");
        let end = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let (http, content, end, acknowledged) = (&http, &content, &end, &acknowledged);
                scope.spawn(move || {
                    let process = format!("r{round}t{thread}");
                    let ids = post_until_gone(http, &process, content, end);
                    acknowledged.lock().expect("no panic").extend(ids);
                });
            }
            let (http, ended, texts) = (&http, &end, &acknowledged_texts);
            scope.spawn(move || {
                let marked = marked::post_until_gone(http, &format!("r{round}"), ended);
                texts.lock().expect("no panic").extend(marked);
            });
            std::thread::sleep(Duration::from_millis(700 + 130 * (round * 7 % 5)));
            collector.child.kill().expect("it runs");
            collector.child.wait().expect("an end");
            end.store(true, Ordering::Relaxed);
        });
        // They would try for two minutes.
        let asked = std::process::Command::new("kill")
            .args(["-INT", &agents.id().to_string()])
            .status();
        assert!(asked.expect("kill runs").success());
        agents.wait().expect("an end");
        let rows = std::fs::read_to_string(&ledger).expect("a ledger");
        ledgers.extend(
            rows.lines()
                .map(|row| serde_json::from_str::<Value>(row).expect("JSON")),
        );
    }
    let acknowledged = acknowledged.into_inner().expect("no panic");
    assert!(
        acknowledged.len() as u64 > n_rounds,
        "{} profiles are no load",
        acknowledged.len()
    );
    let (code, said) = Collector::start(&data, &small).terminate();
    assert_eq!(code, Some(0), "{said}");
    let captures = Captures::read(&DataFolder::open(&data).expect("a folder")).expect("captures");
    let mut profiles: HashMap<String, u64> = HashMap::new();
    let mut traces: HashMap<String, u64> = HashMap::new();
    let mut texts = BTreeMap::new();
    for capture in &captures.list {
        assert_eq!(capture.doubts, [""; 0]);
        for part in &capture.parts {
            let mut bytes = Vec::new();
            let copied = captures.copy(part, &mut |piece| {
                bytes.extend_from_slice(piece);
                Ok(())
            });
            copied.expect("it can be read");
            if part.name.starts_with("zorka/") {
                let lines = bytes.split(|&byte| byte == b'\n');
                let n_traces =
                    lines.filter(|line| line.windows(11).any(|part| part == b"/submit/trc"));
                *traces.entry(capture.identity.instance.clone()).or_default() +=
                    n_traces.count() as u64;
            } else if !part.name.starts_with("datakit/") {
                marked::count(&bytes, &mut texts);
            } else {
                let name = part
                    .name
                    .trim_start_matches("datakit/")
                    .trim_end_matches(".http");
                assert!(bytes.ends_with(b"\r\n--b--\r\n"), "{name} is cut");
                *profiles
                    .entry(format!("{}.{name}", capture.id))
                    .or_default() += 1;
            }
        }
    }
    for id in &acknowledged {
        assert_eq!(profiles.get(id), Some(&1), "{id}");
    }
    let acknowledged = acknowledged_texts.into_inner().expect("no panic");
    for text in &acknowledged {
        assert_eq!(texts.get(text), Some(&1), "{text}");
    }
    assert!(texts.values().all(|n_posts| *n_posts == 1));
    assert!(
        acknowledged.len() as u64 > n_rounds * marked::N_SENDERS,
        "{} posts are no load",
        acknowledged.len()
    );
    let n_bytes = 21;
    let mut n_acknowledged = 0;
    for row in &ledgers {
        let instance = row["instance"].as_str().expect("a session");
        let told = row["acknowledged"].as_u64().expect("a count") / n_bytes;
        let sent = row["sent"].as_u64().expect("a count") / n_bytes;
        let kept = traces.get(instance).copied().unwrap_or(0);
        assert!(kept >= told && kept <= sent, "{row}: {kept} are there");
        n_acknowledged += told;
    }
    assert!(
        n_acknowledged > n_rounds,
        "{n_acknowledged} traces are no load"
    );
}

/// The examples of the original document of Zorka, as an agent posts them.
#[test]
fn examples_of_the_seed_are_posts() {
    let Some(corpus) = corpus::root() else {
        return;
    };
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let to = collector.http.replace("http://", "zorka://");
    let rows = |path: &str| stdout(&["calls", "--json", path]).lines().count();
    let mut n_rows = 0;
    for name in [
        "s0-le-nested-attrs",
        "s0-le-exception",
        "s0-le-longcalls",
        "s0-le-highbits",
    ] {
        let file = corpus.join("zorka/seedgen").join(format!("{name}.bin"));
        let expected = rows(text(&file));
        assert!(expected > 0, "{name}");
        stdout(&["send", text(&file), "--to", &to]);
        n_rows += expected;
        assert_eq!(rows(text(&data)), n_rows, "{name}");
    }
}
