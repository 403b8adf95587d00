//! Diagnostic commands to agents that are connected, and acknowledgements as agents on a socket see them.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use collected::http::{ask, captures, request};
use collected::{Collector, run, stdout, text};
use serde_json::Value;

/// An agent on a socket, byte by byte.
struct Agent {
    socket: TcpStream,
    handle: [u8; 16],
}

fn field(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("a length").to_be_bytes();
    [&length[..], bytes].concat()
}

impl Agent {
    fn connect(url: &str) -> Self {
        let address = url.strip_prefix("cdt://").expect("an address");
        let socket = TcpStream::connect(address).expect("a connection");
        let timeout = Some(Duration::from_secs(20));
        socket.set_read_timeout(timeout).expect("a timeout");
        let handle = [0; 16];
        let mut agent = Self { socket, handle };
        let names: Vec<u8> = ["shop-1_1691167327796", "shop", "prod"]
            .iter()
            .flat_map(|name| field(name.as_bytes()))
            .collect();
        let version = 100_605_i64.to_be_bytes();
        agent.send(&[&[0x14][..], &version, &names].concat());
        assert_eq!(agent.read::<8>(), version);
        agent.send(&[&[0x15][..], &field(b"trace"), &[0; 8]].concat());
        let opened = agent.read::<36>();
        agent.handle.copy_from_slice(&opened[..16]);
        agent
    }

    fn send(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).expect("bytes are sent");
    }

    fn data(&mut self, bytes: &[u8]) {
        let unit = [&[0x02][..], &self.handle, &field(bytes)].concat();
        self.send(&unit);
    }

    fn read<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.socket.read_exact(&mut bytes).expect("an answer");
        bytes
    }
}

fn write_token(scratch: &Path, data: &Path, right: &str) -> (String, String) {
    let token = stdout(&[
        "token",
        "add",
        right,
        "--right",
        right,
        "--data",
        text(data),
    ]);
    let file = scratch.join(right);
    std::fs::write(&file, &token).expect("a file");
    (token.trim().to_owned(), text(&file).to_owned())
}

/// Waits for a capture's commands to have a result.
fn results(data: &Path) -> Vec<Value> {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let commands = captures(data)[0]["commands"].as_array().cloned();
        let commands = commands.expect("a list");
        let done = commands
            .iter()
            .all(|command| !command["succeeded"].is_null());
        if done && !commands.is_empty() {
            return commands;
        }
        assert!(Instant::now() < until, "{commands:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_agent_gets_commands_with_its_next_acknowledgement_and_its_capture_keeps_the_results() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let (_, token) = write_token(scratch.path(), &data, "write");
    let mut agent = Agent::connect(&collector.url);
    let to = &collector.http;
    let command = |word: &str| {
        let id = stdout(&["command", word, "1-1", "--to", to, "--token-file", &token]);
        id.trim().to_owned()
    };
    let ids = [command("td"), command("heap")];
    agent.data(b"data");
    assert_eq!(agent.read::<1>(), [2], "two commands follow");
    let mut got = Vec::new();
    for word in ["td", "heap"] {
        let id = agent.read::<16>();
        let length = usize::try_from(u32::from_be_bytes(agent.read())).expect("a length");
        let mut said = vec![0; length];
        agent.socket.read_exact(&mut said).expect("a word");
        assert_eq!(said, word.as_bytes());
        got.push(id);
    }
    let digits =
        |id: &[u8; 16]| -> String { id.iter().map(|byte| format!("{byte:02x}")).collect() };
    assert_eq!(
        ids.iter().map(|id| id.replace('-', "")).collect::<Vec<_>>(),
        got.iter().map(digits).collect::<Vec<_>>()
    );
    agent.send(&[&[0x13][..], &got[0], b"K", &[0x13], &got[1], &[0xff]].concat());
    agent.data(b"more");
    assert_eq!(agent.read::<1>(), [0]);
    let expected = |commands: &[Value]| {
        let rows: Vec<_> = commands
            .iter()
            .map(|one| {
                (
                    one["id"].clone(),
                    one["command"].clone(),
                    one["succeeded"].clone(),
                )
            })
            .collect();
        assert_eq!(
            rows,
            [
                (ids[0].clone().into(), "td".into(), true.into()),
                (ids[1].clone().into(), "heap".into(), false.into())
            ]
        );
    };
    expected(&results(&data));
    agent.send(&[0x04]);
    // Sealed, the capture has them still.
    let until = Instant::now() + Duration::from_secs(20);
    while captures(&data)[0]["revision"] == 0 {
        assert!(Instant::now() < until, "an ended capture is sealed");
        std::thread::sleep(Duration::from_millis(20));
    }
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
    expected(&results(&data));
    assert!(run(&["check", text(&data)]).status.code().is_some());
    assert_eq!(captures(&data)[0]["doubts"], Value::Array(Vec::new()));
}

#[test]
fn commands_need_a_token_that_may_write_and_an_agent_that_is_connected() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let (read, read_file) = write_token(scratch.path(), &data, "read");
    let (write, write_file) = write_token(scratch.path(), &data, "write");
    let _agent = Agent::connect(&collector.url);
    let http = &collector.http;
    let bearer = |token: &str| format!("Authorization: Bearer {token}\r\n");
    let post = |id: &str, headers: &str, body: &str| {
        let line = format!("POST /api/v1/captures/{id}/commands");
        ask(http, &request(http, &line, headers, body.as_bytes()))
    };
    let td = r#"{"command": "td"}"#;
    // Everything else may be asked on this machine without one.
    let line = "GET /api/v1/captures";
    assert_eq!(ask(http, &request(http, line, "", b"")).status, 200);
    assert_eq!(post("1-1", "", td).status, 401);
    assert_eq!(post("1-1", &bearer("tl_guess"), td).status, 401);
    assert_eq!(post("1-1", &bearer(&read), td).status, 403);
    let other_page = format!("{}Origin: http://evil.example\r\n", bearer(&write));
    assert_eq!(post("1-1", &other_page, td).status, 403);
    assert_eq!(post("1-1", &bearer(&write), "td").status, 400);
    assert_eq!(
        post("1-1", &bearer(&write), r#"{"command": "rm"}"#).status,
        400
    );
    assert_eq!(post("9-9", &bearer(&write), td).status, 404);
    // A sender of another protocol takes none.
    let heph = collector.heph.strip_prefix("heph://").expect("an address");
    let _heph = TcpStream::connect(heph).expect("a connection");
    let until = Instant::now() + Duration::from_secs(20);
    while post("1-2", &bearer(&write), td).status == 404 {
        assert!(Instant::now() < until, "the connection is open");
    }
    let refused = post("1-2", &bearer(&write), td);
    assert_eq!(refused.status, 409, "{}", refused.body);
    assert!(refused.body.contains("the protocol has no commands"));
    for n in 0..17 {
        let status = post("1-1", &bearer(&write), td).status;
        assert_eq!(status, if n < 16 { 202 } else { 429 }, "command {n}");
    }
    let said = |file: &str| {
        let output = run(&["command", "top", "1-1", "--to", http, "--token-file", file]);
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(said(&read_file).contains("does not allow this"));
    assert!(said(&write_file).contains("earlier commands are not sent yet"));
}

#[test]
fn a_player_of_recordings_reports_that_it_has_no_process_to_look_into() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let streams = scratch.path().join("streams");
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
    stdout(&["convert", shop, text(&streams), "--to", "cdt-streams"]);
    let collector = Collector::start(&data, &[]);
    let (_, token) = write_token(scratch.path(), &data, "write");
    let mut player = collected::command(&["send", text(&streams), "--to", &collector.url])
        .args(["--loop", "--rate", "100000"])
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("an agent");
    let to = &collector.http;
    let until = Instant::now() + Duration::from_secs(20);
    while !run(&["command", "top", "1-1", "--to", to, "--token-file", &token])
        .status
        .success()
    {
        assert!(Instant::now() < until, "an agent connects");
    }
    let kept = results(&data);
    player.kill().expect("a kill");
    player.wait().expect("an end");
    assert_eq!(
        (&kept[0]["command"], &kept[0]["succeeded"]),
        (&"top".into(), &false.into())
    );
}

#[test]
fn acknowledgements_come_within_half_a_second_without_being_asked_for() {
    let scratch = tempfile::tempdir().expect("a folder");
    let collector = Collector::start(&scratch.path().join("data"), &[]);
    let mut agent = Agent::connect(&collector.url);
    let mut waits: Vec<Duration> = (0..9)
        .map(|_| {
            let sent = Instant::now();
            agent.data(b"a unit that no flush follows");
            assert_eq!(agent.read::<1>(), [0]);
            sent.elapsed()
        })
        .collect();
    waits.sort();
    assert!(waits[4] < Duration::from_millis(500), "{waits:?}");
}
