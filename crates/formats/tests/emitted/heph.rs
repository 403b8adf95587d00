//! Spans of the Heph tracer.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use traceloom_emit::heph::{DROPPED, Options, Report, Sink, Tracer, Value};

use super::trace::{Event, Read, read};

fn tracer(path: &Path) -> Tracer {
    Tracer::start(Sink::file(path).expect("a file"), Options::default()).expect("a thread")
}

fn written(n: u64) -> Report {
    Report {
        written: n,
        ..Report::default()
    }
}

#[test]
fn every_type_is_read_back_as_it_was_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.heph");
    let tracer = tracer(&path);
    let (first, second) = (tracer.stream(), tracer.stream());
    let long = "ü".repeat(32_767);
    first.record(
        "everything",
        u64::MAX,
        5..u64::MAX,
        &[
            ("u", u64::MAX.into()),
            ("i", i64::MIN.into()),
            ("f", (-0.0).into()),
            ("nan", f64::from_bits(0x7ff8_0000_0000_0001).into()),
            ("s", "zażółć".into()),
            ("", "".into()),
            ("", (&long).into()),
            ("us", (&[0, u64::MAX][..]).into()),
            ("is", (&[-1_i64][..]).into()),
            ("fs", Value::F64s(&[])),
            ("ss", (&["a", "", "ü"][..]).into()),
            ("small", 200_u8.into()),
            ("negative", (-3_i16).into()),
            ("yes", true.into()),
        ],
    );
    second.record("", 0, 7..7, &[]);
    first.record("second", 3, 8..9, &[]);
    assert_eq!(tracer.close(), written(3));

    let text = |text: &str| Read::Text(text.to_owned());
    let attributes = vec![
        ("u", Read::U64(u64::MAX)),
        ("i", Read::I64(i64::MIN)),
        ("f", Read::F64(1 << 63)),
        ("nan", Read::F64(0x7ff8_0000_0000_0001)),
        ("s", text("zażółć")),
        ("", text("")),
        ("", text(&long)),
        ("us", Read::U64s(vec![0, u64::MAX])),
        ("is", Read::I64s(vec![-1])),
        ("fs", Read::F64s(vec![])),
        (
            "ss",
            Read::Texts(["a", "", "ü"].map(str::to_owned).to_vec()),
        ),
        ("small", Read::U64(200)),
        ("negative", Read::I64(-3)),
        ("yes", Read::U64(1)),
    ];
    let attributes = attributes
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    let event = |stream, counter, substream, (start, end), name: &str, attributes| Event {
        stream,
        counter,
        substream,
        start,
        end,
        name: name.to_owned(),
        attributes,
    };
    let trace = read(&std::fs::read(&path).expect("a trace"));
    assert_eq!(
        trace.events,
        [
            event(
                1,
                0,
                u64::MAX,
                (5, u64::MAX),
                "everything",
                attributes.collect()
            ),
            event(1, 1, 3, (8, 9), "second", vec![]),
            event(2, 0, 0, (7, 7), "", vec![]),
        ]
    );
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a clock")
        .as_nanos();
    let [epoch] = trace.epochs[..] else {
        panic!("{:?}", trace.epochs)
    };
    assert!(now.abs_diff(epoch.into()) < 60_000_000_000);
    assert_eq!(trace.notes, [""; 0]);
}

#[test]
fn spans_nest_and_carry_what_was_set() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.heph");
    let tracer = tracer(&path);
    let stream = tracer.stream();
    let before = stream.now();
    let mut outer = stream.span("outer");
    let mut inner = stream.span("inner");
    inner.set("n", 1_u32);
    inner.set_formatted("f", format_args!("{}-{}", 1, "x"));
    inner.set_substream(9);
    drop(inner);
    outer.set("n", 2_i64);
    drop(outer);
    let after = stream.now();
    assert!(tracer.flush(Duration::from_secs(20)));
    let trace = read(&std::fs::read(&path).expect("a trace"));
    let [inner, outer] = &trace.events[..] else {
        panic!("{:?}", trace.events)
    };
    assert_eq!(
        (&*inner.name, inner.substream, &*outer.name, outer.substream),
        ("inner", 9, "outer", 0)
    );
    let attributes = [("n", Read::U64(1)), ("f", Read::Text("1-x".to_owned()))];
    assert_eq!(
        inner.attributes,
        attributes.map(|(name, value)| (name.to_owned(), value))
    );
    assert_eq!(outer.attributes, [("n".to_owned(), Read::I64(2))]);
    let times = [
        before,
        outer.start,
        inner.start,
        inner.end,
        outer.end,
        after,
    ];
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!(tracer.close(), written(2));
    // It is the same trace behind itself.
    drop(stream.span("late"));
    assert_eq!(
        tracer.report(),
        Report {
            dropped: 1,
            ..written(2)
        }
    );
}

#[test]
fn a_file_takes_one_trace_behind_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.heph");
    for _ in 0..2 {
        let tracer = tracer(&path);
        tracer.stream().record("a", 0, 1..2, &[]);
    }
    let trace = read(&std::fs::read(&path).expect("a trace"));
    assert_eq!((trace.epochs.len(), trace.events.len()), (2, 2));
}

#[test]
fn what_is_too_long_is_cut_and_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.heph");
    let options = Options {
        buffer: 4 << 20,
        ..Options::default()
    };
    let tracer = Tracer::start(Sink::file(&path).expect("a file"), options).expect("a thread");
    let stream = tracer.stream();
    // The last character begins at byte 65,534 and has two bytes.
    let long = format!("a{}", "ü".repeat(40_000));
    let list = vec![7_u64; 70_000];
    stream.record(
        &long,
        0,
        1..2,
        &[("l", (&list[..]).into()), ("t", (&long).into())],
    );
    let mut span = stream.span("f");
    span.set_formatted("t", format_args!("{long}{long}"));
    drop(span);
    stream.record("whole", 0, 1..2, &[]);
    assert_eq!(
        tracer.close(),
        Report {
            cut: 2,
            ..written(3)
        }
    );
    let trace = read(&std::fs::read(&path).expect("a trace"));
    let cut = format!("a{}", "ü".repeat(32_767));
    assert_eq!(trace.events[0].name, cut);
    assert_eq!(trace.events[0].attributes[0].1, Read::U64s(vec![7; 65_535]));
    assert_eq!(trace.events[0].attributes[1].1, Read::Text(cut.clone()));
    assert_eq!(trace.events[1].attributes[0].1, Read::Text(cut));
    assert_eq!(trace.events[2].name, "whole");
}

#[test]
fn a_slow_peer_loses_nothing_in_silence() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let sink = Sink::tcp(listener.local_addr().expect("an address")).expect("a connection");
    let options = Options {
        buffer: 16 << 10,
        patience: Duration::from_secs(60),
        ..Options::default()
    };
    let tracer = Tracer::start(sink, options).expect("a thread");
    let (mut socket, _) = listener.accept().expect("a peer");
    // Nobody reads meanwhile: the system takes some megabytes, and then nothing.
    const N: u64 = 200_000;
    let text = "x".repeat(200);
    let first = tracer.stream();
    let mut n_first = 0;
    loop {
        for n in 0..50 {
            first.record(&text, 0, n..n + 1, &[]);
        }
        n_first += 50;
        if !tracer.flush(Duration::from_millis(20)) {
            break;
        }
    }
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let stream = tracer.stream();
            let text = &text;
            scope.spawn(move || {
                for n in 0..N {
                    stream.record(text, 0, n..n + 1, &[("n", n.into())]);
                }
            });
        }
    });
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        socket.read_to_end(&mut bytes).expect("all of it");
        bytes
    });
    let report = tracer.close();
    let trace = read(&reader.join().expect("a trace"));
    assert!(report.dropped > 0, "{report:?}");
    assert_eq!(trace.events.len() as u64, report.written);

    let mut streams: BTreeMap<u32, Vec<&Event>> = BTreeMap::new();
    for event in &trace.events {
        streams.entry(event.stream).or_default().push(event);
    }
    assert_eq!(streams.len(), 3);
    let (mut n_spans, mut n_reported) = (0, 0);
    for events in streams.values() {
        let mut next = 0;
        for event in events {
            let gap = u64::from(event.counter - next);
            next = event.counter + 1;
            if event.name == DROPPED {
                // It stands behind the gap.
                assert_eq!(event.attributes, [("events".to_owned(), Read::U64(gap))]);
                n_reported += gap;
            } else {
                assert_eq!(gap, 0, "{event:?}");
                n_spans += 1;
            }
        }
    }
    assert_eq!(n_reported, report.dropped);
    assert_eq!(n_spans + n_reported, n_first + 2 * N);
}

#[test]
fn a_connection_that_breaks_is_made_anew_with_whole_packets() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let sink = Sink::tcp(listener.local_addr().expect("an address")).expect("a connection");
    let tracer = Tracer::start(sink, Options::default()).expect("a thread");
    let stream = tracer.stream();
    let (mut first, _) = listener.accept().expect("a peer");
    stream.record("before", 0, 1..2, &[]);
    assert!(tracer.flush(Duration::from_secs(20)));
    let mut bytes = [0; 23 + 48];
    first.read_exact(&mut bytes).expect("a packet");
    drop(first);
    assert_eq!(read(&bytes).events[0].name, "before");
    let (mut second, _) = listener.accept().expect("the peer comes again");
    stream.record("after", 0, 3..4, &[]);
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        second.read_to_end(&mut bytes).expect("all of it");
        bytes
    });
    assert_eq!(tracer.close(), written(2));
    let trace = read(&reader.join().expect("a trace"));
    assert_eq!(trace.epochs.len(), 1);
    let after: Vec<_> = trace
        .events
        .iter()
        .map(|event| (&*event.name, event.counter))
        .collect();
    assert_eq!(after, [("after", 1)]);
}

#[test]
fn an_absent_peer_is_waited_for_no_longer_than_asked() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let sink = Sink::tcp(listener.local_addr().expect("an address")).expect("a connection");
    let options = Options {
        patience: Duration::from_millis(50),
        ..Options::default()
    };
    let tracer = Tracer::start(sink, options).expect("a thread");
    let stream = tracer.stream();
    drop(listener.accept().expect("a peer"));
    drop(listener);
    std::thread::sleep(Duration::from_millis(100));
    for n in 0..10 {
        stream.record("nobody takes it", 0, n..n, &[]);
    }
    let report = tracer.close();
    assert_eq!(
        report,
        Report {
            dropped: 10,
            ..Report::default()
        }
    );
}

#[test]
fn datagrams_hold_whole_packets() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a timeout");
    let sink = Sink::udp(socket.local_addr().expect("an address")).expect("a socket");
    let tracer = Tracer::start(sink, Options::default()).expect("a thread");
    let stream = tracer.stream();
    // Beside the tracer: what waits in a socket is lost where it is more than the system holds for it.
    let reader = std::thread::spawn(move || {
        let (mut events, mut n_datagrams) = (Vec::new(), 0);
        let mut datagram = vec![0; 1 << 16];
        // Behind the last one there may be the report of a loss.
        while events.iter().all(|event: &Event| event.name != "last") {
            let n_bytes = socket.recv(&mut datagram).expect("a datagram");
            let mut trace = read(&datagram[..n_bytes]);
            assert!(n_bytes <= 1_400 || trace.events.len() == 1, "{n_bytes}");
            assert_eq!(trace.epochs.len(), usize::from(n_datagrams == 0));
            n_datagrams += 1;
            events.append(&mut trace.events);
        }
        events
    });
    let (large, larger) = ("x".repeat(60_000), "x".repeat(65_500));
    for n in 0..50 {
        stream.record("small", 0, n..n + 1, &[("n", n.into())]);
    }
    stream.record("large", 0, 50..51, &[("text", (&large).into())]);
    stream.record("none", 0, 51..52, &[("text", (&larger).into())]);
    stream.record("last", 0, 52..53, &[]);
    let report = tracer.close();
    assert_eq!(report.dropped, 1);
    // A loss that is noticed before the end is reported by an event of its own.
    assert!((52..=53).contains(&report.written), "{report:?}");
    let events = reader.join().expect("all datagrams");
    let n_spans = events.iter().filter(|event| event.name != DROPPED).count();
    assert_eq!(n_spans, 52);
    let counters: Vec<u32> = events.iter().map(|event| event.counter).collect();
    let expected = (0..51).chain(52..).take(counters.len());
    assert_eq!(counters, expected.collect::<Vec<u32>>());
}
