//! What goes on in a later start of the collector, after an end in order and after a crash: uploads, and files that grow.
#![allow(missing_docs, reason = "a test")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use traceloom_formats::heph;
use traceloom_input::captures::{Capture, Captures, DataFolder, State};
use traceloom_server::{HttpOptions, Level, Options, Request, SealRules, Stop, ask, serve};

/// A collector in this process; it ends in order when it is dropped.
struct Running {
    stop: Stop,
    /// Where HTTP is spoken.
    address: String,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.now();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic");
        }
    }
}

fn start(data: &Path, followed: &[PathBuf]) -> Running {
    let followed = followed.iter();
    let options = Options {
        data: data.to_owned(),
        listeners: Vec::new(),
        datagrams: Vec::new(),
        followed: followed
            .map(|path| (&heph::PROTOCOL, path.clone()))
            .collect(),
        http: Some(HttpOptions {
            address: "127.0.0.1:0".parse().expect("an address"),
            tls: false,
            requires_token: false,
        }),
        otlp_grpc: None,
        pulled: Vec::new(),
        forgets_repeats: false,
        upload_bytes: 1 << 24,
        input_tags: String::new(),
        forward: None,
        answers: None,
        tenant_bytes: None,
        allow_remote: false,
        connections: 100,
        unwanted: Vec::new(),
        grace: Duration::from_secs(5),
        seal: SealRules::default(),
        tls: None,
        log_level: Level::Info,
        settings: serde_json::Value::Null,
        shown: serde_json::Value::Null,
    };
    let stop = Stop::default();
    let asked = stop.clone();
    let (tell, told) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let mut listening = |line: &str| {
            if let Some(address) = line.strip_prefix("http on ") {
                let address = address.split(": ").next().unwrap_or_default();
                tell.send(address.to_owned()).expect("somebody waits");
            }
        };
        serve(&options, &asked, &mut listening, &mut |_| {}).expect("it ends in order");
    });
    Running {
        stop,
        address: told.recv().expect("it listens"),
        thread: Some(thread),
    }
}

/// Copies a data folder while a collector writes it, as docs/durability.md has it: what a crash would leave at this moment.
fn crashed(data: &Path, copy: &Path) {
    std::fs::create_dir(copy).expect("a folder");
    for name in ["traceloom-data.txt", "log", "captures", "chunks"] {
        let from = data.join(name);
        if from.is_file() {
            std::fs::copy(&from, copy.join(name)).expect("a copy");
            continue;
        }
        std::fs::create_dir(copy.join(name)).expect("a folder");
        for entry in std::fs::read_dir(&from).expect("a folder") {
            let entry = entry.expect("an entry");
            // What is sealed meanwhile leaves the log.
            let _ = std::fs::copy(entry.path(), copy.join(name).join(entry.file_name()));
        }
    }
}

fn captures(data: &Path) -> Vec<Capture> {
    let folder = DataFolder::open(data).expect("a data folder");
    Captures::read(&folder).expect("captures").list
}

fn reason(capture: &Capture) -> &str {
    match &capture.state {
        State::Open => "open",
        State::Interrupted => "interrupted",
        State::Closed(end) => &end.reason,
    }
}

fn n_bytes(data: &Path, at: usize) -> u64 {
    let list = captures(data);
    let parts = list.get(at).map(|capture| capture.parts.iter());
    parts.map_or(0, |parts| parts.map(|part| part.n_bytes).sum())
}

/// Returns the bytes of the only part of a capture.
fn bytes_of(data: &Path, at: usize) -> Vec<u8> {
    let folder = DataFolder::open(data).expect("a data folder");
    let captures = Captures::read(&folder).expect("captures");
    let mut bytes = Vec::new();
    let part = captures.list[at].parts.first().expect("a part");
    let copied = captures.copy(part, &mut |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    });
    copied.expect("it can be read");
    bytes
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a request; returns the status, and the head in small letters.
fn asked(address: &str, line: &str, headers: &str, body: &[u8]) -> (u16, String) {
    let mut socket = TcpStream::connect(address).expect("a connection");
    let timeout = Some(Duration::from_secs(60));
    socket.set_read_timeout(timeout).expect("a timeout");
    let length = body.len();
    let head = format!(
        "{line} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    let _ = socket.write_all(&[head.as_bytes(), body].concat());
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).to_lowercase();
    let status = answer
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    (
        status.unwrap_or_else(|| panic!("no answer: {answer}")),
        answer,
    )
}

fn noise(length: usize) -> Vec<u8> {
    let numbers = (0..length as u32).map(|n| n.wrapping_mul(2_654_435_761) >> 13);
    numbers.map(|n| n.to_le_bytes()[0]).collect()
}

#[test]
fn an_upload_goes_on_after_a_crash_and_after_an_end_as_the_same_capture() {
    let scratch = tempfile::tempdir().expect("a folder");
    let bytes = noise(500_000);
    let mut data = scratch.path().join("data-0");
    let running = start(&data, &[]);
    let open = "Upload-Complete: ?0\r\n";
    let line = "POST /api/v1/upload?name=a.bin";
    let (status, head) = asked(&running.address, line, open, &bytes[..100_000]);
    assert!(
        status == 201 && head.contains("location: /api/v1/upload/1-1"),
        "{head}"
    );
    let mut at = 100_000;
    let mut running = Some(running);
    for (start_number, next) in [(2, 250_000), (3, 400_000), (4, bytes.len())] {
        if start_number == 3 {
            drop(running.take());
            assert_eq!(reason(&captures(&data)[0]), "collector_stopped");
        } else {
            let copy = scratch.path().join(format!("data-{start_number}"));
            crashed(&data, &copy);
            data = copy;
            assert_eq!(reason(&captures(&data)[0]), "interrupted");
        }
        let later = start(&data, &[]);
        let address = &later.address;
        let (status, head) = asked(address, "HEAD /api/v1/upload/1-1?file=0", "", b"");
        assert_eq!(status, 204, "start {start_number}: {head}");
        assert!(head.contains(&format!("upload-offset: {at}\r\n")), "{head}");
        assert!(head.contains("upload-complete: ?0"), "{head}");
        wait_until("it is open again", || reason(&captures(&data)[0]) == "open");
        // It is not deleted under its sender.
        let folder = DataFolder::open(&data).expect("a data folder");
        let id = captures(&data)[0].id;
        ask(&folder, &[Request::Delete(id)]).expect("the request is taken up");
        assert_eq!(captures(&data).len(), 1);
        let complete = if next == bytes.len() { "?1" } else { "?0" };
        let headers = format!("Upload-Offset: {at}\r\nUpload-Complete: {complete}\r\n");
        let line = "PATCH /api/v1/upload/1-1?file=0";
        let (status, head) = asked(address, line, &headers, &bytes[at..next]);
        assert_eq!(status, 200, "start {start_number}: {head}");
        at = next;
        running = Some(later);
    }
    // One whose last answer was lost learns that it is complete; nothing more is taken.
    drop(running);
    let running = start(&data, &[]);
    let address = &running.address;
    let (_, head) = asked(address, "HEAD /api/v1/upload/1-1?file=0", "", b"");
    assert!(head.contains("upload-complete: ?1"), "{head}");
    let more = format!("Upload-Offset: {}\r\n", bytes.len());
    let line = "PATCH /api/v1/upload/1-1?file=0";
    assert_eq!(asked(address, line, &more, b"x").0, 409);
    wait_until("it is sealed", || captures(&data)[0].revision > 0);
    let list = captures(&data);
    assert_eq!((list.len(), reason(&list[0])), (1, "complete"));
    assert_eq!(list[0].doubts, [""; 0]);
    assert!(bytes_of(&data, 0) == bytes);
    // Deleted, it is unknown, and stays so.
    let folder = DataFolder::open(&data).expect("a data folder");
    ask(&folder, &[Request::Delete(list[0].id)]).expect("it is deleted");
    drop(running);
    let running = start(&data, &[]);
    let (status, _) = asked(&running.address, "HEAD /api/v1/upload/1-1?file=0", "", b"");
    assert_eq!(status, 404);
    assert!(captures(&data).is_empty());
}

/// Packets of a Heph trace, each with another epoch.
fn packets(n: u8) -> Vec<u8> {
    let packet = |n: u8| [0x75, 0xd1, 0x1d, 0x4d, 0, 0, 0, 10, 0, n];
    (0..n).flat_map(packet).collect()
}

fn append(path: &Path, bytes: &[u8]) {
    let file = std::fs::File::options()
        .append(true)
        .create(true)
        .open(path);
    let written = file.and_then(|mut file| file.write_all(bytes));
    written.expect("bytes are written");
}

#[test]
fn a_file_is_followed_through_crash_end_rotation_and_truncation() {
    let scratch = tempfile::tempdir().expect("a folder");
    let first = scratch.path().join("data-1");
    let followed = scratch.path().join("app.heph");
    let trace = packets(150);
    let files = std::slice::from_ref(&followed);
    let running = start(&first, files);
    // It is not there yet, and grows in pieces that end within packets.
    append(&followed, &trace[..505]);
    wait_until("the beginning is stored", || n_bytes(&first, 0) == 505);
    assert_eq!(reason(&captures(&first)[0]), "open");
    let data = scratch.path().join("data-2");
    crashed(&first, &data);
    drop(running);
    append(&followed, &trace[505..1003]);
    let running = start(&data, files);
    wait_until("it goes on after a crash", || n_bytes(&data, 0) == 1003);
    drop(running);
    assert_eq!(reason(&captures(&data)[0]), "collector_stopped");
    let running = start(&data, files);
    append(&followed, &trace[1003..1490]);
    wait_until("it goes on after an end", || n_bytes(&data, 0) == 1490);
    // Renamed, and still written to for a moment.
    let old = scratch.path().join("app.heph.1");
    std::fs::rename(&followed, &old).expect("a new name");
    append(&followed, &trace);
    append(&old, &trace[1490..]);
    let whole = trace.len() as u64;
    wait_until("the next file is followed", || n_bytes(&data, 1) == whole);
    // Cut and written anew.
    std::fs::write(&followed, &trace[..30]).expect("a file");
    wait_until("it begins again", || n_bytes(&data, 2) == 30);
    let list = captures(&data);
    let reasons: Vec<_> = list.iter().map(reason).collect();
    assert_eq!(reasons, ["rotated", "truncated", "open"]);
    assert!(list[0].peer.contains("app.heph"), "{}", list[0].peer);
    drop(running);
    for (at, expected) in [&trace[..], &trace[..], &trace[..30]]
        .into_iter()
        .enumerate()
    {
        assert!(bytes_of(&data, at) == expected, "capture {at}");
    }
}

#[test]
fn a_file_that_is_another_one_is_received_from_its_beginning() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let followed = scratch.path().join("app.heph");
    let files = std::slice::from_ref(&followed);
    append(&followed, &packets(10));
    let running = start(&data, files);
    wait_until("it is stored", || n_bytes(&data, 0) == 100);
    drop(running);
    // Written anew in place while no collector ran, and longer than before.
    let other = [&packets(20)[100..], &packets(10)].concat();
    std::fs::write(&followed, &other).expect("a file");
    let running = start(&data, files);
    wait_until("it is another capture", || {
        n_bytes(&data, 1) == other.len() as u64
    });
    drop(running);
    assert_eq!(n_bytes(&data, 0), 100);
    assert!(bytes_of(&data, 1) == other);
}
