//! Heph traces over TCP: what comes in odd pieces is what the file reader gives, after cuts and kills as well.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;
#[path = "../../formats/tests/corpus/mod.rs"]
mod corpus;

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use collected::http::{captures, metric};
use collected::{Collector, eventually, records, run, stdout, text};
use serde_json::Value;
use traceloom_input::captures::{Captures, DataFolder};

/// Traces to send: a made-up one, and a captured one where the corpus is.
fn traces() -> Vec<Vec<u8>> {
    let made = traceloom_samples::bytes("heph", 17, 20_000);
    let captured = corpus::file("heph/real/new_chain_plain_small.bin");
    [made].into_iter().chain(captured).collect()
}

fn connect(collector: &Collector) -> TcpStream {
    let address = collector.heph.strip_prefix("heph://").expect("an address");
    let socket = TcpStream::connect(address).expect("a connection");
    socket.set_nodelay(true).expect("pieces go at once");
    let timeout = Some(Duration::from_secs(20));
    socket.set_read_timeout(timeout).expect("a timeout");
    socket
}

/// Sends in pieces of odd sizes that have nothing to do with packets.
fn send_in_pieces(socket: &mut TcpStream, mut bytes: &[u8]) {
    let mut n = 0_usize;
    while !bytes.is_empty() {
        n += 1;
        let (piece, rest) = bytes.split_at((1 + n * n % 977).min(bytes.len()));
        socket.write_all(piece).expect("bytes are taken");
        bytes = rest;
    }
}

/// Closes this end and waits until the collector, which has stored everything, closes its own.
fn end(mut socket: TcpStream) {
    socket.shutdown(Shutdown::Write).expect("an end");
    assert_eq!(socket.read(&mut [0]).expect("an end"), 0);
}

/// The bytes of a capture's trace.
fn kept(data: &Path, id: &str) -> Vec<u8> {
    let captures = Captures::read(&DataFolder::open(data).expect("a folder")).expect("captures");
    let mut capture = captures.list.iter();
    let capture = capture.find(|capture| capture.id.to_string() == id);
    let [part] = &capture.expect("a capture").parts[..] else {
        panic!("one trace");
    };
    let mut bytes = Vec::new();
    let copied = captures.copy(part, &mut |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    });
    copied.expect("it can be read");
    bytes
}

/// Waits until the collector's metrics have a line.
fn wait_for_metric(http: &str, line: &str) {
    let (sample, value) = line.rsplit_once(' ').expect("a sample and its value");
    let wanted = value.parse().ok();
    eventually(|| (metric(http, sample) == wanted).then_some(()));
}

#[test]
fn what_came_in_odd_pieces_is_what_the_file_reader_gives() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let traces = traces();
    for (n, trace) in (1..).zip(&traces) {
        let file = scratch.path().join(format!("{n}.heph"));
        std::fs::write(&file, trace).expect("a file");
        let expected = records(text(&file), None);
        assert!(expected.len() > 5, "{} records", expected.len());

        let mut socket = connect(&collector);
        let half = trace.len() / 2;
        send_in_pieces(&mut socket, &trace[..half]);
        send_in_pieces(&mut socket, &trace[half..]);
        end(socket);
        let part = format!("1-{n}/trace.heph");
        assert!(records(text(&data), Some(&part)) == expected, "{part}");
        let out = scratch.path().join(format!("out{n}"));
        let id = format!("1-{n}");
        stdout(&["export", &id, "--data", text(&data), "-o", text(&out)]);
        let exported = std::fs::read(out.join("trace.heph")).expect("a trace");
        assert!(&exported == trace, "{id} as it was sent");
        for view in [&["calls", "--csv"][..], &["top", "--csv"]] {
            let of = |path: &Path| stdout(&[view, &[text(path)]].concat());
            assert!(of(&out.join("trace.heph")) == of(&file), "{view:?}");
        }
    }
    let listed = captures(&data);
    assert_eq!(listed.len(), traces.len());
    for capture in &listed {
        assert_eq!(
            (&capture["protocol"], &capture["state"]),
            (&"heph".into(), &"end_of_stream".into())
        );
    }
    let graph = scratch.path().join("graph.svg");
    stdout(&["flame", text(&data), "-o", text(&graph)]);
    assert!(stdout(&["info", text(&data)]).contains("Heph trace"));
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(" 0 acknowledged, "), "{said}");
    assert!(said.contains(" stored without acknowledgement"), "{said}");
}

#[test]
fn the_sender_of_the_program_sends_a_trace_as_often_as_asked() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let trace = traces().remove(0);
    let file = scratch.path().join("a.heph");
    std::fs::write(&file, &trace).expect("a file");
    let more = ["--agents", "3", "--times", "40"];
    let send = ["send", text(&file), "--to", &collector.heph];
    let sent = run(&[&send[..], &more].concat());
    let said = String::from_utf8_lossy(&sent.stderr).into_owned();
    assert!(sent.status.success(), "{said}");
    assert!(said.contains("heph has no acknowledgement"), "{said}");
    // The collector closed each connection after the last sync.
    for id in ["1-1", "1-2", "1-3"] {
        assert!(kept(&data, id) == trace.repeat(40), "{id}");
    }
}

#[test]
fn a_cut_connection_leaves_what_came_before() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let trace = traces().pop().expect("a trace");
    // Within the head of the last packet.
    let cut = &trace[..trace.len() - 30];
    let file = scratch.path().join("cut.heph");
    std::fs::write(&file, cut).expect("a file");
    let mut socket = connect(&collector);
    send_in_pieces(&mut socket, cut);
    end(socket);
    let part = records(text(&data), Some("1-1/trace.heph"));
    assert!(part == records(text(&file), None));
    // What the reader says of a cut file it says of the capture.
    let (of_data, of_file) = (run(&["check", text(&data)]), run(&["check", text(&file)]));
    assert_eq!(of_data.status.code(), Some(1));
    assert_eq!(of_file.status.code(), Some(1));
    assert!(kept(&data, "1-1") == cut);
}

/// Waits until the first capture has bytes in the log, and returns how many.
fn wait_for(data: &Path, n_bytes: u64) -> u64 {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let listed = captures(data);
        let part = listed.first().map(|capture| &capture["parts"][0]["bytes"]);
        match part.and_then(Value::as_u64) {
            Some(there) if there >= n_bytes => return there,
            _ => assert!(Instant::now() < until, "bytes reach the log"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_was_synced_outlasts_a_kill_and_is_a_prefix() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let mut collector = Collector::start(&data, &[]);
    let trace = traces().remove(0).repeat(2_000);
    let mut socket = connect(&collector);
    let sent = trace.clone();
    let sender = std::thread::spawn(move || {
        for piece in sent.chunks(333) {
            if socket.write_all(piece).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    });
    let seen = wait_for(&data, 20_000);
    collector.child.kill().expect("it runs");
    collector.child.wait().expect("an end");
    sender.join().expect("no panic");
    let after = kept(&data, "1-1");
    assert!(after.len() as u64 >= seen, "{} of {seen}", after.len());
    assert!(after.len() < trace.len(), "it was killed while it received");
    assert!(trace.starts_with(&after));
    assert_eq!(captures(&data)[0]["state"], "interrupted");
    // The next start recovers the same, and appends nothing to it.
    let collector = Collector::start(&data, &[]);
    assert!(kept(&data, "1-1") == after);
    let mut socket = connect(&collector);
    send_in_pieces(&mut socket, &trace[..1_000]);
    end(socket);
    assert!(kept(&data, "2-1") == trace[..1_000]);
    assert!(kept(&data, "1-1") == after);
}

#[test]
fn garbage_disturbs_no_other_and_is_told() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let trace = traces().remove(0);
    let mut good = connect(&collector);
    let (first, rest) = trace.split_at(trace.len() / 3);
    send_in_pieces(&mut good, first);
    let silent: Vec<TcpStream> = (0..100).map(|_| connect(&collector)).collect();
    let mut short = connect(&collector);
    short.write_all(&[0x63; 5_000]).expect("bytes are taken");
    end(short);
    // More than may lie before a packet: the collector closes the connection.
    let mut flood = connect(&collector);
    while flood.write_all(&[0x63; 64 << 10]).is_ok() {}
    send_in_pieces(&mut good, rest);
    end(good);
    drop(silent);
    assert_eq!(collector.terminate().0, Some(0));

    assert!(kept(&data, "1-1") == trace);
    let listed = captures(&data);
    let of = |n_bytes: &dyn Fn(u64) -> bool| {
        let mut rows = listed.iter();
        let row = rows.find(|row| row["parts"][0]["bytes"].as_u64().is_some_and(n_bytes));
        row.expect("a capture")["state"].clone()
    };
    assert_eq!(of(&|n_bytes| n_bytes == 5_000), "end_of_stream");
    assert_eq!(of(&|n_bytes| n_bytes >= 1 << 20), "no_packet");
    let flood = |row: &Value| row["parts"][0]["bytes"].as_u64() > Some((1 << 20) + (64 << 10));
    assert!(!listed.iter().any(flood), "it is bounded");
    let checked = run(&["check", text(&data)]);
    let told = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert_eq!(checked.status.code(), Some(1), "{told}");
    assert!(told.contains("/trace.heph"), "{told}");
}

/// Cuts a trace into its packets.
fn packets(trace: &[u8]) -> Vec<&[u8]> {
    let (mut packets, mut rest) = (Vec::new(), trace);
    while let Some(size) = rest.get(4..8) {
        let size = u32::from_be_bytes(size.try_into().expect("four bytes")) as usize;
        let (packet, behind) = rest.split_at(size);
        packets.push(packet);
        rest = behind;
    }
    packets
}

#[test]
fn datagrams_become_a_trace_whatever_order_they_come_in() {
    let trace = traceloom_samples::bytes("heph", 17, 20_000);
    let packets = packets(&trace);
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &["--heph-udp", "127.0.0.1:0"]);
    let to = collector.heph_udp();
    let (sender, other) = (
        std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket"),
        std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket"),
    );
    other.send_to(b"no packet", &to).expect("bytes are taken");
    // Two packets a datagram, one pair later than the next, one pair twice, and one not at all.
    let pairs: Vec<Vec<u8>> = packets.chunks(2).map(<[&[u8]]>::concat).collect();
    let mut sent = 0;
    let mut order: Vec<usize> = (0..pairs.len()).filter(|&at| at != 20).collect();
    order.swap(10, 11);
    order.insert(16, 14);
    for at in order {
        sender.send_to(&pairs[at], &to).expect("bytes are taken");
        sent += packets[2 * at..].len().min(2);
        // The test is about what was received.
        if sent % 64 < 2 {
            let line = format!("traceloom_received_units_total{{listener=\"heph_udp\"}} {sent}");
            wait_for_metric(&collector.http, &line);
        }
    }
    let line = format!("traceloom_received_units_total{{listener=\"heph_udp\"}} {sent}");
    wait_for_metric(&collector.http, &line);
    wait_for_metric(
        &collector.http,
        "traceloom_refused_total{listener=\"heph_udp\",reason=\"no_packet\"} 1",
    );
    wait_for_metric(
        &collector.http,
        "traceloom_suppressed_units_total{listener=\"heph_udp\"} 2",
    );
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
    let listed = captures(&data);
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0]["state"], "collector_stopped");
    let id = listed[0]["id"].as_str().expect("an id");
    let mut expected: Vec<Vec<u8>> = pairs;
    expected.swap(10, 11);
    expected.remove(20);
    assert!(kept(&data, id) == expected.concat());
    // The lost pair is said as any reader says it.
    let checked = run(&["check", text(&data)]);
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(said.contains("missing") || said.contains("lost"), "{said}");
}
