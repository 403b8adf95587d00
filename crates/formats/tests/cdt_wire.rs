//! The conversation of §10 byte for byte, as agents and collectors of other products have it.
#![allow(missing_docs, reason = "a test")]
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::time::Duration;

use traceloom_formats::cdt::session::{
    Agent, Closed, Collector, Hello, OpenStream, PROTOCOL, Receiver, Reply, Terms, Unit, VERSION,
};
use traceloom_formats::cdt::tcp::{Granted, Handle};
use traceloom_formats::protocol::{CommandRefusal, Entry, Session, SessionOptions};

const NOW: Duration = Duration::from_secs(1);

/// Reads hexadecimal digits and texts in quotes; spaces and bars mean nothing.
fn bytes(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for (at, piece) in text.split('"').enumerate() {
        if at % 2 == 1 {
            out.extend(piece.as_bytes());
            continue;
        }
        let digits: Vec<u8> = piece.bytes().filter(u8::is_ascii_hexdigit).collect();
        for pair in digits.chunks(2) {
            let pair = std::str::from_utf8(pair).unwrap();
            out.push(u8::from_str_radix(pair, 16).unwrap());
        }
    }
    out
}

/// A session whose entries are safe when `safe` is called.
struct Wire {
    session: Box<dyn Session>,
    entries: Vec<(u32, u8, Vec<u8>)>,
}

impl Wire {
    fn new() -> Self {
        let options = SessionOptions {
            seed: 7,
            unwanted: vec!["test".to_owned()],
        };
        Self {
            session: (PROTOCOL.session)(&options, Duration::ZERO),
            entries: Vec::new(),
        }
    }

    /// Shows the session what an agent sends; returns what it answers at once.
    fn send(&mut self, text: &str) -> Vec<u8> {
        self.send_bytes(&bytes(text))
    }

    fn send_bytes(&mut self, request: &[u8]) -> Vec<u8> {
        let entries = &mut self.entries;
        let used = self.session.read(request, NOW, &mut |entry| {
            entries.push((entry.stream, entry.kind, entry.bytes.to_vec()));
            true
        });
        if self.session.closed().is_none() {
            assert_eq!(used, request.len(), "the request is whole");
        }
        self.take()
    }

    /// Everything so far is safe; returns what is answered then.
    fn safe(&mut self) -> Vec<u8> {
        self.session.durable(self.entries.len() as u64);
        self.take()
    }

    fn take(&mut self) -> Vec<u8> {
        let output = self.session.output().to_vec();
        self.session.sent(output.len());
        output
    }

    /// Begins a connection and opens the stream `trace`.
    fn connected() -> (Self, Vec<u8>) {
        let mut wire = Self::new();
        wire.send(HELLO);
        let answer = wire.send(OPEN_TRACE);
        (wire, answer[..16].to_vec())
    }

    fn data(&mut self, handle: &[u8], payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        self.send_bytes(&[&[2][..], handle, &length, payload].concat())
    }

    fn ended(&self) -> Option<&'static str> {
        self.session.closed().map(|ending| ending.reason)
    }
}

const HELLO: &str =
    r#"14 | 00000000000188fd | 00000012 "shop-1_16911673277" | 00000004 "shop" | 00000004 "prod""#;
const OPEN_TRACE: &str = r#"15 | 00000005 "trace" | 00000000 | 00000000"#;

#[test]
fn versions_are_answered_as_agents_take_them() {
    for (offered, answered) in [
        ("00000000000188fd", "00000000000188fd"),
        // An agent that could send posDictionary is to send dictionary.
        ("0000000000018961", "00000000000188fd"),
        ("0000000000018899", "0000000000018899"),
    ] {
        let mut wire = Wire::new();
        let hello = HELLO.replacen("00000000000188fd", offered, 1);
        assert_eq!(wire.send(&hello), bytes(answered));
    }
    assert_eq!(Wire::new().send("08"), bytes("0000000000018899"));
}

#[test]
fn every_stream_is_opened_with_a_handle_of_its_own_and_the_terms_of_its_kind() {
    let mut wire = Wire::new();
    wire.send(HELLO);
    let mut handles = Vec::new();
    for (name, terms) in [
        ("trace", "000000000036ee80 | 0000000000200000"),
        ("calls", "000000000036ee80 | 0000000000200000"),
        ("xml", "000000000036ee80 | 0000000000200000"),
        ("sql", "000000000036ee80 | 0000000000200000"),
        ("dictionary", "0000000000000000 | 0000000000000000"),
        ("posDictionary", "000000000036ee80 | 0000000000200000"),
        ("callsDictionary", "000000000036ee80 | 0000000000200000"),
        ("suspend", "000000000036ee80 | 0000000000200000"),
        ("gc", "000000000036ee80 | 0000000000200000"),
        ("params", "0000000000000000 | 0000000000000000"),
    ] {
        let length = name.len();
        let answer = wire.send(&format!(
            "15 | {length:08x} \"{name}\" | 00000002 | 00000001"
        ));
        let (handle, terms_given) = answer.split_at(16);
        assert_eq!(terms_given, bytes(&format!("{terms} | 00000002")), "{name}");
        assert_eq!((handle[6] >> 4, handle[8] >> 6), (4, 2), "a random UUID");
        assert!(!handles.contains(&handle.to_vec()));
        handles.push(handle.to_vec());
    }
    for (stream, handle) in (0_u32..).zip(&handles) {
        assert_eq!(wire.data(handle, b"x"), b"");
        let stored = wire.entries.last().unwrap();
        assert_eq!((stored.0, stored.2.as_slice()), (stream, &b"x"[..]));
    }
    assert_eq!(wire.safe(), [0; 10], "one byte each");
}

#[test]
fn a_rotated_stream_has_another_handle_and_its_old_one_stays_valid() {
    let (mut wire, first) = Wire::connected();
    wire.data(&first, b"end of the first file");
    assert_eq!(
        wire.send(r#"15 | 00000005 "trace" | 00000001 | 00000000"#),
        b""
    );
    let answer = wire.safe();
    assert_eq!(answer[0], 0, "the unit before it is acknowledged first");
    let second = &answer[1..17];
    assert_ne!(second, first);
    assert_eq!(
        answer[17..],
        bytes("000000000036ee80 | 0000000000200000 | 00000001")
    );
    wire.data(second, b"second");
    wire.data(&first, b"late");
    let streams: Vec<u32> = wire.entries.iter().rev().take(2).map(|one| one.0).collect();
    assert_eq!(streams, [0, 1]);
    assert_eq!(wire.safe(), [0, 0]);
}

#[test]
fn acknowledgements_are_one_byte_each_in_order_as_soon_as_units_are_safe() {
    let (mut wire, handle) = Wire::connected();
    assert_eq!(wire.data(&handle, b"one"), b"");
    assert_eq!(wire.data(&handle, &[7; 1024]), b"");
    assert_eq!(
        wire.send("11"),
        b"",
        "a flush waits for what was sent before it"
    );
    let n_before = wire.entries.len() as u64;
    wire.session.durable(n_before - 1);
    assert_eq!(wire.take(), [0]);
    assert_eq!(wire.safe(), [0, 0]);
    assert_eq!(wire.send("11"), [0], "nothing is before this one");
    // Reserved commands are owed nothing.
    assert_eq!(wire.send("10 | 12"), b"");
    assert_eq!(wire.data(&handle, b""), b"");
    assert_eq!(wire.safe(), [0], "an empty unit is one");
    assert_eq!(wire.send("04"), b"");
    assert_eq!(wire.ended(), Some("goodbye"));
}

#[test]
fn refusals_are_the_null_uuid_or_0xff_and_the_connection_ends() {
    let (mut wire, _) = Wire::connected();
    let unknown = r#"15 | 00000005 "metal" | 00000000 | 00000000"#;
    assert_eq!(wire.send(unknown), [0; 16], "the null UUID alone");
    assert_eq!(wire.ended(), Some("unknown_stream"));

    let handle = "aabbccdd00114222833344445555aabb";
    for (request, reason) in [
        (format!("02 | {handle} | 00000001 | 00"), "unknown_handle"),
        ("63".to_owned(), "no_request"),
        ("00".to_owned(), "no_request"),
    ] {
        let (mut wire, _) = Wire::connected();
        assert_eq!(wire.send(&request), [0xff], "{request}");
        assert_eq!(wire.ended(), Some(reason));
    }
    let (mut wire, handle) = Wire::connected();
    assert_eq!(wire.data(&handle, &[0; 1025]), [0xff]);

    let (mut wire, handle) = Wire::connected();
    wire.data(&handle, b"data");
    wire.session.storage_failed();
    assert_eq!(wire.take(), [0xff]);

    let (mut wire, handle) = Wire::connected();
    wire.data(&handle, b"data");
    wire.session.tick(NOW + Duration::from_secs(25));
    assert_eq!(wire.take(), [0xff], "before the 30 s of an agent are over");
    assert_eq!(wire.ended(), Some("stalled"));
}

#[test]
fn agents_of_an_unwanted_namespace_are_told_to_stop() {
    let mut wire = Wire::new();
    let answer = wire.send(&HELLO.replace("\"prod\"", "\"test\""));
    assert_eq!(answer, bytes("00000000054c5638"));
    assert_eq!(wire.ended(), Some("unwanted_namespace"));

    // Those that introduce themselves with a stream have no other word for it.
    let mut wire = Wire::new();
    let legacy = r#"01 | 00000004 "test" | 00000004 "shop" | 00000006 "shop-1" | 00000005 "trace" | 00000000 | 00000000"#;
    assert_eq!(wire.send(legacy), [0; 16]);
}

#[test]
fn legacy_streams_are_opened_as_those_of_version_2() {
    let mut wire = Wire::new();
    wire.send("08");
    let legacy = r#"01 | 00000004 "prod" | 00000004 "shop" | 00000006 "shop-1" | 00000005 "calls" | 00000003 | 00000000"#;
    let answer = wire.send(legacy);
    assert_eq!(
        answer[16..],
        bytes("000000000036ee80 | 0000000000200000 | 00000003")
    );
    wire.data(&answer[..16], b"row");
    assert_eq!(wire.safe(), [0]);
}

#[test]
fn diagnostic_commands_stand_behind_the_acknowledgement_that_counts_them() {
    let (mut wire, handle) = Wire::connected();
    let entries = &mut wire.entries;
    let mut keep = |entry: &Entry<'_>| {
        entries.push((entry.stream, entry.kind, entry.bytes.to_vec()));
        true
    };
    for (id, word) in [([0xa1; 16], "heap"), ([0xa2; 16], "td")] {
        assert_eq!(wire.session.command(id, word, &mut keep), Ok(()));
    }
    let unknown = wire.session.command([0xa3; 16], "rm", &mut keep);
    assert_eq!(
        unknown,
        Err(CommandRefusal::UnknownWord(&["heap", "td", "top"]))
    );
    assert_eq!(wire.take(), b"", "they wait for an acknowledgement");
    wire.data(&handle, b"data");
    let first = "a1".repeat(16);
    let second = "a2".repeat(16);
    assert_eq!(
        wire.safe(),
        bytes(&format!(
            "02 | {first} | 00000004 \"heap\" | {second} | 00000002 \"td\""
        ))
    );
    wire.data(&handle, b"more");
    assert_eq!(wire.safe(), [0], "each is sent once");

    assert_eq!(wire.send(&format!("13 | {first} | 4b")), b"");
    assert_eq!(wire.send(&format!("13 | {second} | ff")), b"");
    let mut assembled = (PROTOCOL.captures.assemble)();
    for (stream, kind, bytes) in &wire.entries {
        let (stream, kind) = (*stream, *kind);
        let entry = Entry {
            stream,
            kind,
            bytes,
        };
        assembled.take(&entry);
    }
    let kept: Vec<_> = assembled
        .commands()
        .iter()
        .map(|command| (command.id[0], command.word.as_str(), command.succeeded))
        .collect();
    assert_eq!(
        kept,
        [(0xa1, "heap", Some(true)), (0xa2, "td", Some(false))]
    );
    assert_eq!(assembled.doubts(), [""; 0]);
}

#[test]
fn commands_that_nobody_fetches_do_not_pile_up() {
    let (mut wire, _) = Wire::connected();
    let mut keep = |_: &Entry<'_>| true;
    for _ in 0..16 {
        assert_eq!(wire.session.command([1; 16], "top", &mut keep), Ok(()));
    }
    let refused = wire.session.command([1; 16], "top", &mut keep);
    assert_eq!(refused, Err(CommandRefusal::TooMany));
    assert_eq!(wire.send("11")[0], 16);
    wire.send("04");
    let refused = wire.session.command([1; 16], "top", &mut keep);
    assert_eq!(refused, Err(CommandRefusal::Ending));
}

/// Gives streams other numbers than agents ask for.
struct Renumbering;

impl Receiver for Renumbering {
    fn hello(&mut self, _: &Hello<'_>) -> bool {
        true
    }

    fn open(&mut self, open: &OpenStream<'_>) -> Option<(Handle, Granted)> {
        let granted = Granted {
            rotation_period: 300_000,
            rotation_size: 4 << 20,
            sequence: open.requested_sequence + 40,
        };
        Some(([0x11; 16], granted))
    }

    fn unit(&mut self, _: &Unit<'_>) -> bool {
        true
    }

    fn command_result(&mut self, _: &Handle, _: bool) {}
}

#[test]
fn the_collector_may_give_a_stream_another_sequence_than_the_agent_asked_for() {
    let mut collector = Collector::new(Terms::default(), NOW);
    let open = r#"15 | 00000005 "trace" | 00000002 | 00000000"#;
    let request = [bytes(HELLO), bytes(open)].concat();
    assert_eq!(
        collector.read(&request, NOW, &mut Renumbering),
        request.len()
    );
    let handle = "11".repeat(16);
    assert_eq!(
        collector.output(),
        bytes(&format!(
            "00000000000188fd | {handle} | 00000000000493e0 | 0000000000400000 | 0000002a"
        ))
    );
    // Its own agent takes the number that was given.
    let mut agent = Agent::default();
    agent.hello(VERSION, b"shop-1", b"shop", b"prod");
    agent.open(b"trace", 2, false);
    let mut sequence = None;
    let output = collector.output().to_vec();
    agent
        .read(&output, &mut |reply| {
            if let Reply::Opened { granted, .. } = reply {
                sequence = Some(granted.sequence);
            }
        })
        .unwrap();
    assert_eq!((sequence, collector.closed()), (Some(42), None::<&Closed>));
}
