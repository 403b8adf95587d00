//! Sessions of a protocol that exists only here: one broken client disturbs no other.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use traceloom_formats::heph;
use traceloom_formats::protocol::{
    CaptureRules, Ending, Entry, FIRST_KIND, Keep, Protocol, Session, UnitCounts,
};
use traceloom_input::captures::{Captures, DataFolder, State};

use crate::{Counts, Listen, Options, SealRules, Stop, serve};

/// Each byte is a unit, acknowledged by itself; `!` meets a bug, `.` is the goodbye.
#[derive(Default)]
struct Echo {
    received: Vec<u8>,
    n_sent: u64,
    out: Vec<u8>,
    ended: bool,
}

impl Session for Echo {
    fn read(&mut self, window: &[u8], _now: Duration, keep: &mut Keep<'_>) -> usize {
        for (at, byte) in window.iter().enumerate() {
            assert_ne!(*byte, b'!', "a bug of a session");
            let entry = Entry {
                stream: 0,
                kind: FIRST_KIND,
                bytes: &[*byte],
            };
            if !keep(&entry) {
                return at;
            }
            self.received.push(*byte);
        }
        window.len()
    }

    fn finish(&mut self, _rest: &[u8], _keep: &mut Keep<'_>) -> bool {
        true
    }

    fn durable(&mut self, n_entries: u64) {
        let safe = &self.received[self.n_sent as usize..n_entries as usize];
        self.out.extend_from_slice(safe);
        self.ended |= safe.contains(&b'.');
        self.n_sent = n_entries;
    }

    fn storage_failed(&mut self) {
        self.ended = true;
    }

    fn tick(&mut self, _now: Duration) {}

    fn deadline(&self) -> Option<Duration> {
        None
    }

    fn output(&self) -> &[u8] {
        &self.out
    }

    fn sent(&mut self, n_bytes: usize) {
        self.out.drain(..n_bytes);
    }

    fn closed(&self) -> Option<Ending> {
        self.ended.then_some(Ending {
            reason: "goodbye",
            orderly: true,
        })
    }

    fn units(&self) -> UnitCounts {
        UnitCounts {
            received: self.received.len() as u64,
            decoded: self.received.len() as u64,
            safe: self.n_sent,
        }
    }
}

static ECHO: Protocol = Protocol {
    captures: CaptureRules {
        name: "echo",
        number: 255,
        assemble: || unreachable!("nothing is put together here"),
    },
    port: 7,
    acknowledges: true,
    repeatable: true,
    sent_as: "nothing",
    settings: |_, _| String::new(),
    session: |_, _| Box::<Echo>::default(),
    datagrams: None,
    control: None,
    sender: |_, _| unreachable!("nothing is played here"),
};

struct Running {
    stop: Stop,
    address: SocketAddr,
    thread: std::thread::JoinHandle<(Result<std::sync::Arc<Counts>, crate::Error>, Vec<String>)>,
    folder: tempfile::TempDir,
}

fn start(connections: usize) -> Running {
    start_of(&ECHO, connections)
}

fn start_of(protocol: &'static Protocol, connections: usize) -> Running {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options {
        data: folder.path().join("data"),
        listeners: vec![Listen {
            protocol,
            address: "127.0.0.1:0".parse().expect("an address"),
            tls: false,
        }],
        datagrams: Vec::new(),
        followed: Vec::new(),
        http: None,
        otlp_grpc: None,
        pulled: Vec::new(),
        forgets_repeats: false,
        upload_bytes: 1 << 20,
        input_tags: String::new(),
        forward: None,
        tenant_bytes: None,
        answers: None,
        allow_remote: false,
        connections,
        unwanted: Vec::new(),
        grace: Duration::from_secs(5),
        seal: SealRules::default(),
        tls: None,
        log_level: crate::Level::Info,
        settings: serde_json::Value::Null,
        shown: serde_json::Value::Null,
    };
    let stop = Stop::default();
    let asked = stop.clone();
    let (tell, told) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let mut events = Vec::new();
        let mut listening = |line: &str| {
            let address = line.split_whitespace().nth(2).expect("an address");
            let address = address.trim_end_matches(':').to_owned();
            tell.send(address).expect("somebody waits");
        };
        let ended = serve(&options, &asked, &mut listening, &mut |event| {
            events.push(event.text.clone());
        });
        (ended, events)
    });
    let address = told
        .recv()
        .expect("it listens")
        .parse()
        .expect("an address");
    Running {
        stop,
        address,
        thread,
        folder,
    }
}

fn connect(running: &Running) -> TcpStream {
    let socket = TcpStream::connect(running.address).expect("a connection");
    let timeout = Some(Duration::from_secs(20));
    socket.set_read_timeout(timeout).expect("a timeout");
    socket
}

fn echo(socket: &mut TcpStream, bytes: &[u8]) {
    socket.write_all(bytes).expect("bytes are taken");
    let mut back = vec![0; bytes.len()];
    socket.read_exact(&mut back).expect("bytes come back");
    assert_eq!(back, bytes);
}

#[test]
fn a_bug_ends_its_session_alone() {
    let running = start(10);
    let (mut good, mut bad) = (connect(&running), connect(&running));
    echo(&mut good, b"before");
    bad.write_all(b"x!").expect("bytes are taken");
    let mut rest = Vec::new();
    let _ = bad.read_to_end(&mut rest);
    echo(&mut good, b"after");
    echo(&mut good, b".");
    assert_eq!(good.read(&mut [0]).expect("an end"), 0);
    running.stop.now();
    let (ended, events) = running.thread.join().expect("no panic");
    let endings = ended.expect("an end in order").endings();
    assert_eq!((endings["bug"], endings["goodbye"]), (1, 1));
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(
        events[0].contains("a bug in traceloom ended capture 1-"),
        "{events:?}"
    );
}

#[test]
fn connections_beyond_the_limit_are_closed_and_counted() {
    let running = start(1);
    let mut first = connect(&running);
    echo(&mut first, b"x");
    let mut second = connect(&running);
    assert_eq!(second.read(&mut [0]).unwrap_or(0), 0);
    echo(&mut first, b"y");
    running.stop.now();
    assert_eq!(
        first.read(&mut [0]).unwrap_or(0),
        0,
        "asked to stop, it ends"
    );
    let (ended, _) = running.thread.join().expect("no panic");
    let sentence = ended.expect("an end in order").sentence();
    assert_eq!(
        sentence,
        "1 connection, 2 units received, 2 acknowledged, 1 refused"
    );
}

#[test]
fn one_collector_uses_a_folder_and_none_listens_to_other_machines() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let options = |address: &str| Options {
        data: data.clone(),
        listeners: vec![Listen {
            protocol: &ECHO,
            address: address.parse().expect("an address"),
            tls: false,
        }],
        datagrams: Vec::new(),
        followed: Vec::new(),
        http: None,
        otlp_grpc: None,
        pulled: Vec::new(),
        forgets_repeats: false,
        upload_bytes: 1 << 20,
        input_tags: String::new(),
        forward: None,
        tenant_bytes: None,
        answers: None,
        allow_remote: false,
        connections: 1,
        unwanted: Vec::new(),
        grace: Duration::ZERO,
        seal: SealRules::default(),
        tls: None,
        log_level: crate::Level::Info,
        settings: serde_json::Value::Null,
        shown: serde_json::Value::Null,
    };
    let stop = Stop::default();
    stop.now();
    let run = |address| {
        let ended = serve(&options(address), &stop, &mut |_| {}, &mut |_| {});
        ended.map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(run("127.0.0.1:0"), Ok(()));
    let lock = DataFolder::create(&data).and_then(|folder| folder.lock());
    let error = run("127.0.0.1:0").unwrap_err();
    assert!(error.contains("another collector"), "{error}");
    drop(lock);
    let error = run("0.0.0.0:0").unwrap_err();
    assert!(error.contains("--allow-remote"), "{error}");
}

/// In a protocol without a goodbye, a connection that was closed has ended, and one that was reset is lost; what was
/// received is kept either way.
#[test]
fn a_reset_is_no_end_of_a_stream() {
    let running = start_of(&heph::PROTOCOL, 10);
    let packet = [0x75, 0xd1, 0x1d, 0x4d, 0, 0, 0, 10, 0, 0];
    let mut closed = connect(&running);
    closed.write_all(&packet).expect("bytes are taken");
    closed.shutdown(std::net::Shutdown::Write).expect("an end");
    assert_eq!(closed.read(&mut [0]).expect("an end"), 0);

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let address = running.address;
    let data = DataFolder::open(&running.folder.path().join("data")).expect("a folder");
    let kept = || {
        let captures = Captures::read(&data).expect("captures").list;
        let sizes = captures
            .iter()
            .map(|one| one.parts.iter().map(|part| part.n_bytes).sum());
        sizes.collect::<Vec<u64>>()
    };
    runtime.expect("a runtime").block_on(async {
        let socket = tokio::net::TcpStream::connect(address).await;
        let socket = socket.expect("a connection");
        socket.writable().await.expect("room");
        assert_eq!(socket.try_write(&packet).expect("bytes are taken"), 10);
        let until = tokio::time::Instant::now() + Duration::from_secs(20);
        while kept() != [10, 10] {
            assert!(tokio::time::Instant::now() < until, "{:?}", kept());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        socket.set_zero_linger().expect("an option");
    });
    let (mut endings, until) = (
        Vec::new(),
        std::time::Instant::now() + Duration::from_secs(20),
    );
    while endings.len() < 2 {
        assert!(std::time::Instant::now() < until, "{endings:?}");
        std::thread::sleep(Duration::from_millis(10));
        let captures = Captures::read(&data).expect("captures").list;
        let ended = captures.into_iter().filter_map(|one| match one.state {
            State::Closed(end) => Some((end.reason, end.orderly)),
            _ => None,
        });
        endings = ended.collect();
    }
    let expected = [("end_of_stream", true), ("connection_lost", false)];
    assert_eq!(
        endings,
        expected.map(|(reason, orderly)| (reason.to_owned(), orderly))
    );
    running.stop.now();
    let (ended, _) = running.thread.join().expect("no panic");
    assert_eq!(
        ended.expect("an end in order").sentence(),
        "2 connections, 2 units received, 0 acknowledged, 2 stored without acknowledgement, 0 refused"
    );
}

/// Posts are pushed back where sealing is behind, as every other sender is; what ends captures is taken all the same.
#[test]
fn records_that_are_taken_together_wait_for_sealing() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = DataFolder::create(&scratch.path().join("data")).expect("a folder");
    let (journal, _) = crate::journal::Journal::open(&folder, 10, 1 << 20).expect("a log");
    let record = traceloom_log::Record {
        session: 1,
        stream: 0,
        kind: 0,
        bytes: &[7; 20],
    };
    journal.submit_together(&[record]).expect("there is room");
    let refused = journal.submit_together(&[record]);
    assert!(matches!(refused, Err(traceloom_log::Refused::Full)));
    journal
        .submit_together_at_once(&[record])
        .expect("it is taken");
    journal.caught_up(journal.n_taken());
    journal
        .submit_together(&[record])
        .expect("there is room again");
}
