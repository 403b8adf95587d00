//! Peers that leave, are slow, refuse or ask for more.
#![allow(missing_docs, reason = "a test")]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use traceloom_emit::{Options, Recorder, TraceOutput, cdt, tptp};

const PATIENCE: Duration = Duration::from_secs(30);
/// How long nobody is waited for.
const SOON: Duration = Duration::from_millis(100);

fn recorder(output: impl TraceOutput, buffer: usize, patience: Duration) -> Recorder {
    let options = Options {
        buffer,
        patience,
        ..Options::default()
    };
    Recorder::start(output, options).expect("a thread")
}

fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address").to_string();
    (listener, address)
}

fn accept(listener: &TcpListener) -> TcpStream {
    let (connection, _) = listener.accept().expect("a connection");
    connection
        .set_read_timeout(Some(PATIENCE))
        .expect("a timeout");
    connection
}

/// Reads until the bytes have a word.
fn read_until(connection: &mut TcpStream, word: &[u8]) -> Vec<u8> {
    let (mut received, mut piece) = (Vec::new(), [0; 4096]);
    while !received.windows(word.len()).any(|window| window == word) {
        let n_bytes = connection.read(&mut piece).expect("bytes");
        assert!(n_bytes > 0, "it left");
        received.extend_from_slice(&piece[..n_bytes]);
    }
    received
}

fn read_all(mut connection: TcpStream) -> String {
    let mut received = String::new();
    connection.read_to_string(&mut received).expect("text");
    received
}

fn xml(address: &str) -> tptp::DataChannel {
    tptp::DataChannel::connect(address, "shop", tptp::TraceForm::Xml).expect("a connection")
}

#[test]
fn open_calls_begin_anew_on_a_new_connection_of_tptp() {
    let (listener, address) = listen();
    let recorder = recorder(xml(&address), 1 << 20, PATIENCE);
    let thread = recorder.thread("main");
    let mut connection = accept(&listener);
    let outer = thread.call_at("shop.Orders.list", 1_000);
    thread.record("shop.Db.query", 2_000..3_000, &[]);
    read_until(&mut connection, b"<methodExit");
    drop(connection);
    let collector = thread::spawn(move || read_all(accept(&listener)));
    outer.end_at(9_000);
    drop(thread);
    recorder.close();
    let received = collector.join().expect("text");
    assert!(received.starts_with("<?xml"), "{received}");
    assert!(received.ends_with("</TRACE>\n"), "{received}");
    for word in [
        "<threadStart",
        "name=\"list\"",
        "<methodEntry",
        "<methodExit",
        "<threadEnd",
    ] {
        assert_eq!(received.matches(word).count(), 1, "{word}: {received}");
    }
}

#[test]
fn a_slow_collector_of_tptp_loses_nothing_in_silence() {
    let (listener, address) = listen();
    let recorder = recorder(xml(&address), 4096, PATIENCE);
    let thread = recorder.thread("main");
    let connection = accept(&listener);
    let mut n_calls = 0;
    // Until nothing fits into socket and buffer.
    while recorder.report().dropped == 0 {
        thread.record("shop.Db.query", n_calls..n_calls + 1, &[]);
        n_calls += 1;
    }
    let collector = thread::spawn(move || read_all(connection));
    assert!(recorder.flush(PATIENCE));
    thread.record("shop.Db.query", n_calls..n_calls + 1, &[]);
    n_calls += 1;
    drop(thread);
    let report = recorder.close();
    let received = collector.join().expect("text");
    let exits = received.matches("<methodExit").count() as u64;
    assert_eq!(report.written, exits);
    let (_, definition) = received
        .split_once("name=\"dropped events\"")
        .expect("a call of losses");
    let (_, id) = definition.split_once(" methodId=\"").expect("an id");
    let (id, _) = id.split_once('"').expect("an id");
    let exit = "<methodExit threadIdRef=\"1\" time=";
    let id = format!(" methodIdRef=\"{id}\"");
    let is_report = |line: &&str| line.starts_with(exit) && line.contains(&id);
    let reports = received.lines().filter(is_report).count() as u64;
    assert!(reports > 0, "{exits}");
    assert_eq!(exits - reports + report.dropped, n_calls);
}

/// Plays a collector of CDT until all streams are open.
fn open_streams(connection: &mut TcpStream) {
    let mut piece = [0; 4096];
    // Each request comes when the one before is answered.
    let n_bytes = connection.read(&mut piece).expect("an introduction");
    assert!(n_bytes > 0);
    connection
        .write_all(&100_605_u64.to_be_bytes())
        .expect("an answer");
    for stream in 1..=6_u8 {
        let n_bytes = connection.read(&mut piece).expect("a request");
        assert_eq!((n_bytes > 0, piece[0]), (true, 0x15));
        let terms = [[stream; 16].as_slice(), &[0; 20]].concat();
        connection.write_all(&terms).expect("an answer");
    }
}

fn link(address: &str) -> cdt::CollectorLink {
    cdt::CollectorLink::connect(address, "shop", "backend", "backend-1").expect("a connection")
}

#[test]
fn diagnostic_commands_of_a_collector_are_refused_and_the_trace_goes_on() {
    let (listener, address) = listen();
    let recorder = recorder(link(&address), 1 << 20, SOON);
    let thread = recorder.thread("main");
    let (tell, told) = channel();
    let collector = thread::spawn(move || {
        let mut connection = accept(&listener);
        open_streams(&mut connection);
        read_until(&mut connection, &[0x02]);
        // The first acknowledgement brings a command.
        let command = [&[1][..], &[7; 16], &2_u32.to_be_bytes(), b"td"].concat();
        connection.write_all(&command).expect("an answer");
        let refusal = [&[0x13][..], &[7; 16], &[0xff]].concat();
        read_until(&mut connection, &refusal);
        tell.send(()).expect("somebody listens");
    });
    thread.record("shop.Db.query", 2_000..3_000, &[]);
    told.recv_timeout(PATIENCE).expect("a refusal");
    collector.join().expect("it leaves");
    drop(thread);
}

#[test]
fn a_process_that_a_collector_does_not_want_is_counted_as_dropped() {
    let (listener, address) = listen();
    let collector = thread::spawn(move || {
        let mut connection = accept(&listener);
        let mut piece = [0; 4096];
        let n_bytes = connection.read(&mut piece).expect("an introduction");
        assert!(n_bytes > 0);
        connection
            .write_all(&88_888_888_u64.to_be_bytes())
            .expect("an answer");
        assert_eq!(connection.read(&mut piece).expect("an end"), 0);
    });
    let recorder = recorder(link(&address), 1 << 20, SOON);
    let thread = recorder.thread("main");
    collector.join().expect("it is left");
    for n in 0..10 {
        thread.record("shop.Db.query", n..n + 1, &[]);
    }
    drop(thread);
    let report = recorder.close();
    assert_eq!((report.written, report.dropped), (0, 10));
}
