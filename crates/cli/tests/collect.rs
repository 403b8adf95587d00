//! A collector as its users and its agents meet it: real processes, real sockets, real kills.
#![allow(missing_docs, reason = "a test")]

#[path = "../../formats/tests/corpus/mod.rs"]
mod corpus;

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use traceloom_input::captures::{Captures, DataFolder, State};

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_traceloom"));
    command.args(args);
    command
}

fn run(args: &[&str]) -> Output {
    command(args).output().expect("the program runs")
}

fn stdout(args: &[&str]) -> String {
    let output = run(args);
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text")
}

/// A running collector; it is killed when it is dropped.
struct Collector {
    child: Child,
    out: BufReader<ChildStdout>,
    url: String,
}

impl Collector {
    fn start(data: &Path, more: &[&str]) -> Self {
        let mut child = command(&["serve", "--cdt", "127.0.0.1:0", "--data"])
            .arg(data)
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a collector");
        let mut out = BufReader::new(child.stdout.take().expect("its output"));
        let mut line = String::new();
        out.read_line(&mut line).expect("a line");
        let url = line
            .split_whitespace()
            .last()
            .unwrap_or_default()
            .to_owned();
        assert!(url.starts_with("cdt://127.0.0.1:"), "{line}");
        Self { child, out, url }
    }

    fn address(&self) -> &str {
        self.url.strip_prefix("cdt://").expect("an address")
    }

    /// Asks it to end, and returns its exit code and what it said.
    fn terminate(mut self) -> (Option<i32>, String) {
        let pid = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(asked.expect("kill runs").success());
        let mut said = String::new();
        let mut err = self.child.stderr.take().expect("its messages");
        err.read_to_string(&mut said).expect("text");
        let code = self.child.wait().expect("an end").code();
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).expect("text");
        assert_eq!(rest, "");
        (code, said)
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

/// Streams as agents send them, made from the sample recording of the project.
fn streams(scratch: &Path) -> PathBuf {
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
    let agents = scratch.join("all");
    stdout(&["convert", shop, text(&agents), "--to", "cdt-streams"]);
    // One process of several.
    let mut folders = vec![agents.clone()];
    loop {
        let folder = folders.pop().expect("a folder with streams");
        if folder.join("calls").is_dir() || folder.join("calls.bin").is_file() {
            return folder;
        }
        let entries = std::fs::read_dir(&folder).expect("a folder");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        folders.extend(paths.filter(|path| path.is_dir()));
    }
}

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
    // The same views as of the file; an id begins with the number of a part, which the conversation is one of.
    let of = |path: &str| {
        let rows = stdout(&["calls", "--csv", path]);
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
    let cat = stdout(&["log", "cat", "--capture", "1-2", "--data", text(&data)]);
    let rows: Vec<Value> = cat
        .lines()
        .map(|row| serde_json::from_str(row).expect("JSON"))
        .collect();
    assert!(rows[0]["event"]["opened"].is_object(), "{}", rows[0]);
    assert!(rows.iter().all(|row| row["capture"] == "1-2"));
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
    let collector = Collector::start(&data, &["--refuse-namespace", "test"]);
    fails(
        &["serve", "--data", text(&data), "--cdt", "127.0.0.1:0"],
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
        &["send", shop, "--to", &collector.url],
        2,
        "--to cdt-streams",
    );
    fails(
        &["send", shop, "--to", "heph://127.0.0.1:1"],
        2,
        "nothing is sent over `heph`",
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
        let State::Closed { reason, .. } = &capture.state else {
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

/// A generator whose seed is printed where the test fails.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// `kill -9` at random moments under load: what agents were told is safe is there once, in its order.
#[test]
fn what_was_acknowledged_outlasts_kills() {
    let set = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let n_rounds = set("TRACELOOM_KILL_ROUNDS").unwrap_or(30);
    let seed = set("TRACELOOM_KILL_SEED").unwrap_or(u64::from(std::process::id()) + 1);
    println!("TRACELOOM_KILL_SEED={seed}");
    let mut random = Random(seed);
    let scratch = tempfile::tempdir().expect("a folder");
    let streams = streams(scratch.path());
    let sources = sources(&streams);
    let data = scratch.path().join("data");
    let mut ledgers = Vec::new();
    let mut n_acknowledged = 0;
    for round in 0..n_rounds {
        let mut collector = Collector::start(&data, &[]);
        let ledger = scratch.path().join(format!("ledger{round}"));
        let mut agents = command(&["send", text(&streams), "--to", &collector.url, "--loop"])
            .args(["--agents", "4", "--rate", "15000000", "--ledger"])
            .arg(&ledger)
            .stderr(Stdio::null())
            .spawn()
            .expect("agents");
        std::thread::sleep(Duration::from_millis(50 + random.below(350)));
        collector.child.kill().expect("it runs");
        collector.child.wait().expect("an end");
        let until = Instant::now() + Duration::from_secs(30);
        while agents.try_wait().expect("a process").is_none() {
            assert!(
                Instant::now() < until,
                "agents notice a collector that is gone"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        for row in std::fs::read_to_string(&ledger).expect("a ledger").lines() {
            let row: Value = serde_json::from_str(row).expect("JSON");
            n_acknowledged += row["acknowledged"].as_u64().expect("a count");
            ledgers.push(row);
        }
    }
    assert!(
        n_acknowledged > n_rounds * 50_000,
        "{n_acknowledged} bytes are no load"
    );

    // One more start recovers what the last kill left.
    let (code, said) = Collector::start(&data, &[]).terminate();
    assert_eq!(code, Some(0), "{said}");
    let captures = Captures::read(&DataFolder::open(&data).expect("a folder")).expect("captures");
    let mut by_instance = HashMap::new();
    for capture in &captures.list {
        assert_eq!(capture.doubts, [""; 0]);
        let before = by_instance.insert(capture.identity.instance.as_str(), capture);
        assert!(
            before.is_none_or(|_| capture.identity.instance.is_empty()),
            "a capture twice"
        );
    }
    for row in &ledgers {
        let acknowledged = row["acknowledged"].as_u64().expect("a count");
        if acknowledged == 0 {
            continue;
        }
        let part = row["part"].as_str().expect("a part");
        let source = &sources[part];
        let capture = by_instance[row["instance"].as_str().expect("a name")];
        let stream = part.split('/').rev().nth(1).expect("a stream");
        let of_stream = |name: &str| name.split('/').rev().nth(1) == Some(stream);
        let kept = capture.parts.iter().find(|part| of_stream(&part.name));
        let kept = kept.unwrap_or_else(|| panic!("{row} is not there"));
        assert!(
            kept.n_bytes >= acknowledged,
            "{row}: {} are there",
            kept.n_bytes
        );
        assert!(
            kept.n_bytes <= row["sent"].as_u64().expect("a count"),
            "{row}"
        );
        let mut at = 0;
        let check = captures.copy(kept, &mut |bytes| {
            for &byte in bytes {
                assert_eq!(byte, source[at % source.len()], "{row} at {at}");
                at += 1;
            }
            Ok(())
        });
        check.expect("it can be read");
        assert_eq!(at as u64, kept.n_bytes);
    }
}

/// The bytes of each stream of a folder, by the names that parts of it have.
fn sources(folder: &Path) -> HashMap<String, Vec<u8>> {
    let files = corpus::files_below(folder).into_iter();
    files.filter(|(name, _)| name.contains('/')).collect()
}
