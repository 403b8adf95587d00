//! A collector as its users and its agents meet it: real processes and sockets.
#![allow(missing_docs, reason = "a test")]

#[path = "../../formats/tests/corpus/mod.rs"]
mod corpus;

#[path = "collected/mod.rs"]
mod collected;

use std::collections::{BTreeMap, HashMap};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use collected::{Collector, eventually, run, stdout, streams, text};
use serde_json::Value;
use traceloom_input::captures::{Captures, DataFolder, SessionEnd, State};

/// Records of streams by `STREAM/INDEX`, without the name of the part.
fn records(path: &str) -> BTreeMap<String, Vec<Value>> {
    let mut records = BTreeMap::<String, Vec<Value>>::new();
    for line in stdout(&["dump", "--json", path]).lines() {
        let mut record: Value = serde_json::from_str(line).expect("JSON");
        let part = record["part"].take();
        let part: Vec<&str> = part.as_str().expect("a part").rsplit('/').collect();
        if let [index, stream, ..] = part[..]
            && index.bytes().all(|byte| byte.is_ascii_digit())
        {
            records
                .entry(format!("{stream}/{index}"))
                .or_default()
                .push(record);
        }
    }
    records
}

#[test]
fn what_was_kept_is_what_the_file_reader_gives_and_export_is_what_was_sent() {
    let Some(conversation) = corpus::file("cdt/tcp/test-service.tcpdump") else {
        return;
    };
    let scratch = tempfile::tempdir().expect("a folder");
    let file = scratch.path().join("test-service.tcpdump");
    std::fs::write(&file, conversation).expect("a file");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let ledger = scratch.path().join("ledger");
    stdout(&[
        "send",
        text(&file),
        "--to",
        &collector.url,
        "--ledger",
        text(&ledger),
    ]);

    // While the collector runs, and after it.
    let expected = records(text(&file));
    assert_eq!(expected.len(), 8);
    assert_eq!(records(text(&data)), expected);
    let captures = stdout(&["captures", "ls", "--json", "--data", text(&data)]);
    let capture: Value = serde_json::from_str(&captures).expect("one capture");
    assert_eq!(
        (&capture["id"], &capture["state"], &capture["protocol"]),
        (&"1-1".into(), &"goodbye".into(), &"cdt".into())
    );
    let units: u64 = capture["parts"]
        .as_array()
        .expect("parts")
        .iter()
        .map(|part| part["units"].as_u64().expect("a count"))
        .sum();
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains(&format!("{units} units received, {units} acknowledged")),
        "{said}"
    );
    assert_eq!(records(text(&data)), expected);

    let out = scratch.path().join("out");
    stdout(&["export", "1-1", "--data", text(&data), "-o", text(&out)]);
    for (stream, original) in [
        ("calls", "calls"),
        ("trace", "traces"),
        ("dictionary", "dictionary"),
        ("params", "params"),
        ("suspend", "suspend"),
        ("sql", "sql"),
        ("xml", "xml"),
        ("gc", "gc"),
    ] {
        let exported = std::fs::read(out.join(stream).join("000001")).expect("a stream");
        let original = corpus::file(&format!("cdt/test-service/{original}.bin"));
        assert!(Some(exported) == original, "{stream}");
    }
    for row in std::fs::read_to_string(&ledger).expect("a ledger").lines() {
        let row: Value = serde_json::from_str(row).expect("JSON");
        assert_eq!(row["acknowledged"], row["sent"]);
    }
    // The same views as of the file but for who sent it; an id begins with the number of a part, which the conversation is one of.
    let of = |path: &str| {
        const COLUMNS: &str =
            "start,end,duration,cpu,suspended,queue,calls,transactions,thread,title,status";
        let rows = stdout(&["calls", "--csv", "--columns", COLUMNS, path]);
        let rows = rows
            .lines()
            .filter_map(|row| Some(row.split_once(',')?.1.to_owned()));
        rows.collect::<Vec<_>>()
    };
    let calls = of(text(&data));
    assert_eq!(calls.len(), 86);
    assert!(calls == of(text(&file)));
    assert!(run(&["check", text(&data)]).status.success());
    assert!(stdout(&["log", "verify", "--data", text(&data)]).contains("every checksum holds"));
    // The folder as a PATH.
    assert!(stdout(&["log", "verify", text(&data)]).contains("every checksum holds"));
    assert_eq!(
        stdout(&["captures", "ls", "--json", text(&data)])
            .lines()
            .count(),
        1
    );
    for command in [&["log", "ls"][..], &["log", "cat"]] {
        let by_flag = stdout(&[command, &["--data", text(&data)]].concat());
        assert_eq!(stdout(&[command, &[text(&data)]].concat()), by_flag);
    }
}

#[test]
fn a_generated_conversation_is_kept_whole() {
    let scratch = tempfile::tempdir().expect("a folder");
    let streams = streams(scratch.path());
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    stdout(&[
        "send",
        text(&streams),
        "--to",
        &collector.url,
        "--agents",
        "3",
    ]);
    let one = stdout(&["top", "--csv", text(&streams)]);
    for id in ["1-1", "1-2", "1-3"] {
        let out = scratch.path().join(id);
        stdout(&["export", id, "--data", text(&data), "-o", text(&out)]);
        assert_eq!(stdout(&["top", "--csv", text(&out)]), one);
    }
    // What goes on is in the log.
    let _open = std::net::TcpStream::connect(collector.address()).expect("a connection");
    let rows = eventually(|| {
        let cat = stdout(&["log", "cat", "--capture", "1-4", "--data", text(&data)]);
        let rows = cat.lines().map(serde_json::from_str::<Value>);
        let rows: Vec<_> = rows.map(|row| row.expect("JSON")).collect();
        (!rows.is_empty()).then_some(rows)
    });
    assert!(rows[0]["event"]["opened"].is_object(), "{}", rows[0]);
    assert!(rows.iter().all(|row| row["capture"] == "1-4"));
}

/// The folder of a collector is sent as its agents would have sent it.
#[test]
fn a_dump_is_sent_as_a_conversation() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
    let sent = run(&["send", shop, "--to", &collector.url]);
    let said = String::from_utf8_lossy(&sent.stderr).into_owned();
    assert!(sent.status.success(), "{said}");
    let calls = |path: &str| {
        let listed = stdout(&[
            "calls",
            "--columns",
            "start,duration,thread,title",
            "--json",
            path,
        ]);
        let rows = listed.lines().map(|row| {
            let mut row: Value = serde_json::from_str(row).expect("JSON");
            let row = row.as_object_mut().expect("an object");
            row.remove("id");
            // Only rows of a collector's folder name their capture.
            row.remove("capture");
            serde_json::to_string(row).expect("JSON")
        });
        let mut rows: Vec<String> = rows.collect();
        rows.sort();
        rows
    };
    let expected = calls(shop);
    assert!(expected.len() > 50, "{}", expected.len());
    assert!(calls(text(&data)) == expected);
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn mistakes_are_told() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let fails = |args: &[&str], code: i32, why: &str| {
        let output = run(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(why), "{args:?}: {said}");
    };
    fails(
        &["serve", "--data", text(&data), "--cdt", "0.0.0.0:0"],
        1,
        "--allow-remote",
    );
    fails(
        &["captures", "ls", "--data", text(scratch.path())],
        1,
        "no data folder",
    );
    fails(
        &["captures", "ls", "--data", "a", "b"],
        2,
        "cannot be used with",
    );
    let collector = Collector::start(&data, &["--refuse-namespace", "test"]);
    fails(
        &[
            "serve",
            "--data",
            text(&data),
            "--cdt",
            "127.0.0.1:0",
            "--otlp-grpc",
            "off",
        ],
        1,
        "another collector",
    );
    fails(
        &["export", "1-9", "--data", text(&data), "-o", "x"],
        1,
        "no capture 1-9",
    );
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
    fails(
        &["send", shop, "--to", "heph://127.0.0.1:1"],
        2,
        "--to heph` makes",
    );
    fails(
        &["send", shop, "--to", "smtp://127.0.0.1:1"],
        2,
        "nothing is sent over `smtp`; there is cdt, heph, tptp",
    );
    let streams = streams(scratch.path());
    let to = collector.url.clone();
    fails(
        &["send", text(&streams), "--to", &to, "--namespace", "test"],
        1,
        "does not want this namespace",
    );
    drop(collector);
    fails(&["send", text(&streams), "--to", &to], 1, "no collector at");
}

/// Garbage, silence and half a request beside an agent that behaves.
#[test]
fn broken_clients_disturb_no_other_and_what_they_sent_is_kept() {
    let scratch = tempfile::tempdir().expect("a folder");
    let streams = streams(scratch.path());
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let connect = || TcpStream::connect(collector.address()).expect("a connection");
    let silent: Vec<TcpStream> = (0..200).map(|_| connect()).collect();
    let mut garbage = connect();
    garbage.write_all(&[0x63; 70_000]).expect("bytes are taken");
    let mut half = connect();
    half.write_all(&[0x14, 0, 0]).expect("bytes are taken");
    drop(half);
    stdout(&["send", text(&streams), "--to", &collector.url]);
    let mut answer = Vec::new();
    let _ = garbage.read_to_end(&mut answer);
    assert!(matches!(answer[..], [0xff] | []), "{answer:?}");
    drop(silent);
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");

    let captures = Captures::read(&DataFolder::open(&data).expect("a folder")).expect("captures");
    let mut reasons = HashMap::<String, usize>::new();
    for capture in &captures.list {
        let State::Closed(SessionEnd { reason, .. }) = &capture.state else {
            panic!("{capture:?}");
        };
        *reasons.entry(reason.clone()).or_default() += 1;
    }
    assert_eq!(
        (reasons["goodbye"], reasons["no_request"]),
        (1, 1),
        "{reasons:?}"
    );
    let unread = captures.list.iter().flat_map(|capture| &capture.parts);
    let mut unread: Vec<u64> = unread
        .filter(|part| part.name.ends_with("/unread"))
        .map(|part| part.n_bytes)
        .collect();
    unread.sort_unstable();
    assert_eq!(unread, [3, 4096]);
    let checked = run(&["check", text(&data)]);
    assert_eq!(checked.status.code(), Some(1));
    let told = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(told.contains("4096 bytes that are no request"), "{told}");
}

/// A client with a thousand connections, a request that comes byte by byte, and one that says it has 2 GiB, beside agents
/// that behave.
#[test]
fn a_thousand_connections_and_slow_and_oversize_requests_leave_agents_alone() {
    let scratch = tempfile::tempdir().expect("a folder");
    let streams = streams(scratch.path());
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let (_, port) = collector.address().split_once(':').expect("a port");
    // In a process of its own, whose files are not those of other tests.
    let connect = "ulimit -n 2000; for i in $(seq 1000); do exec {fd}<>/dev/tcp/127.0.0.1/$0 && printf '\x14' >&$fd || exit 1; \
                   done; echo ready; read -r line";
    let mut many = std::process::Command::new("bash")
        .args(["-c", connect, port])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("bash");
    let mut ready = [0; 6];
    let mut told = many.stdout.take().expect("its output");
    told.read_exact(&mut ready).expect("a thousand connections");
    let connect = || TcpStream::connect(collector.address()).expect("a connection");
    let mut oversize = connect();
    let hello = [&[0x14][..], &[0; 8], &[0x7f, 0xff, 0xff, 0xff]].concat();
    oversize.write_all(&hello).expect("bytes are taken");
    let mut slow = connect();
    let done = std::sync::atomic::AtomicBool::new(false);
    let is_done = || done.load(std::sync::atomic::Ordering::Relaxed);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for byte in hello.iter().cycle().take_while(|_| !is_done()) {
                let _ = slow.write_all(&[*byte]);
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        });
        let sent = run(&[
            "send",
            text(&streams),
            "--agents",
            "8",
            "--to",
            &collector.url,
        ]);
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        let said = String::from_utf8_lossy(&sent.stderr).into_owned();
        assert!(sent.status.success(), "{said}");
        assert!(
            said.contains("requests to flush answered: half within"),
            "{said}"
        );
    });
    let mut answer = Vec::new();
    let _ = oversize.read_to_end(&mut answer);
    assert!(matches!(answer[..], [0xff] | []), "{answer:?}");
    drop(many.stdin.take());
    many.wait().expect("an end");
    let read = || Captures::read(&DataFolder::open(&data).expect("a folder")).expect("captures");
    let count = |captures: &Captures, wanted: &str| {
        let of_reason = |capture: &&_| is_closed_by(capture, wanted);
        captures.list.iter().filter(of_reason).count()
    };
    // What the collector has not noticed when it is told to end, it ends itself.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while count(&read(), "connection_lost") < 1000 && std::time::Instant::now() < until {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
    let captures = read();
    let ended_by = |wanted: &str| count(&captures, wanted);
    assert_eq!(captures.list.len(), 1010);
    assert_eq!(ended_by("goodbye"), 8);
    assert!(ended_by("connection_lost") >= 1000);
    assert!((1..=2).contains(&ended_by("no_request")));
}

fn is_closed_by(capture: &traceloom_input::captures::Capture, wanted: &str) -> bool {
    matches!(&capture.state, State::Closed(SessionEnd { reason, .. }) if reason == wanted)
}

/// Where the system allows few files, connections beyond them are closed at once instead of waiting for nobody.
#[test]
fn connections_are_as_many_as_the_system_lets_open() {
    let scratch = tempfile::tempdir().expect("a folder");
    let streams = streams(scratch.path());
    let data = scratch.path().join("data");
    let few = "ulimit -n 100; exec \"$0\" \"$@\"";
    let collector = Collector::start_in(Some(few), &data, &[]);
    let connect = || TcpStream::connect(collector.address()).expect("a connection");
    let mut clients: Vec<TcpStream> = (0..50).map(|_| connect()).collect();
    let mut last = clients.pop().expect("a connection");
    let soon = Some(std::time::Duration::from_secs(20));
    last.set_read_timeout(soon).expect("a timeout");
    assert_eq!(last.read(&mut [0]).unwrap_or(0), 0, "it is closed");
    drop(clients);
    let sent = |_| run(&["send", text(&streams), "--to", &collector.url]);
    let is_kept = |output: std::process::Output| output.status.success();
    // The others may not be gone yet.
    assert!((0..50).map(sent).any(is_kept));
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("for 36 connections, not 4096"), "{said}");
    assert!(!said.contains(" 0 connections refused"), "{said}");
}

/// Commands that read no recording list no flags of reading.
#[test]
fn help_of_a_collector_lists_what_means_something_there() {
    for command in [
        &["serve"][..],
        &["export"],
        &["captures"],
        &["captures", "ls"],
        &["log"],
        &["log", "ls"],
        &["log", "cat"],
        &["log", "verify"],
    ] {
        let help = stdout(&[command, &["--help"]].concat());
        for flag in ["--input-format", "--strict", "--limit", "--as-recorded"] {
            assert!(!help.contains(flag), "{command:?}: {flag}");
        }
        assert!(help.contains("--color"), "{command:?}");
    }
    assert!(stdout(&["send", "--help"]).contains("--input-format"));
}

/// Runs `serve --check-config` with a file, and returns its exit code and everything it printed.
fn check_config(file: &str, environment: &[(&str, &str)], more: &[&str]) -> (Option<i32>, String) {
    let scratch = tempfile::tempdir().expect("a folder");
    let path = scratch.path().join("serve.toml");
    std::fs::write(&path, file).expect("a file");
    let data = scratch.path().join("data");
    let data = format!("--data={}", data.display());
    let output = collected::command(&["serve", "--check-config", "--config", text(&path), &data])
        .args(more)
        .envs(environment.iter().copied())
        .output()
        .expect("the program runs");
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

#[test]
fn flags_come_before_the_environment_and_that_before_the_file() {
    let file = "cdt = \"127.0.0.1:1\"\nheph = \"127.0.0.1:2\"\nhttp = \"127.0.0.1:3\"\ngrace = 4\n\
                require-token = true\nrefuse-namespace = [\"a\", \"b c\"]\n";
    let environment = [
        ("TRACELOOM_SERVE_HEPH", "127.0.0.1:20"),
        ("TRACELOOM_SERVE_HTTP", "127.0.0.1:30"),
        ("TRACELOOM_SERVE_CONNECTIONS", "77"),
    ];
    let (code, said) = check_config(file, &environment, &["--http", "off"]);
    assert_eq!(code, Some(0), "{said}");
    for line in [
        "cdt = \"127.0.0.1:1\"",
        "heph = \"127.0.0.1:20\"",
        "http = \"off\"",
        "heph-udp = \"127.0.0.1:1716\"",
        "connections = 77",
        "grace = 4",
        "require-token = true",
        "allow-remote = false",
        "refuse-namespace = [\"a\", \"b c\"]",
    ] {
        assert!(said.lines().any(|one| one == line), "{line}: {said}");
    }
    let cases = [
        (
            "conections = 7",
            2,
            "there is no setting `conections`; did you mean `connections`?",
        ),
        (
            "check-config = true",
            2,
            "there is no setting `check-config`",
        ),
        ("require-token = 1", 2, "`require-token` is true or false"),
        ("cdt = [\"off\"]", 2, "`cdt` is a text or a whole number"),
        ("cdt = \"nowhere\"", 2, "'nowhere' for '--cdt"),
        ("grace = 3\ncdt = off", 2, "line 2: "),
        ("cdt = \"0.0.0.0:1\"", 1, "--allow-remote"),
        ("http = \"0.0.0.0:1\"", 1, "there is no token"),
    ];
    for (file, expected, sentence) in cases {
        let (code, said) = check_config(file, &[], &[]);
        assert_eq!(code, Some(expected), "{file}: {said}");
        assert!(said.contains(sentence), "{file}: {said}");
    }
}

/// Every setting is in the file that is packaged, as it is without one, but for the data folder.
#[test]
fn the_packaged_settings_are_the_defaults() {
    let packaged = include_str!("../../../packaging/serve.toml");
    let (code, said) = check_config(packaged, &[], &[]);
    assert_eq!(code, Some(0), "{said}");
    // The folders of the two runs differ.
    let rest = |said: &str| said.lines().skip(1).collect::<Vec<_>>().join("\n");
    assert_eq!(rest(&said), rest(&check_config("", &[], &[]).1));
    let names = said.lines().filter_map(|line| line.split_once(" = "));
    for (name, _) in names {
        assert!(packaged.contains(&format!("{name} = ")), "{name}");
    }
}
