#![allow(clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::time::Duration;

use super::PROTOCOL;
use crate::codec::protocol::{Entry, Identity, Sender, Session, SessionOptions};
use crate::{Part, cdt};

const NOW: Duration = Duration::from_secs(1);

fn identity() -> Identity {
    Identity {
        service: "shop".to_owned(),
        instance: "shop-1_1700000000000".to_owned(),
        namespace: "prod".to_owned(),
        version: String::new(),
    }
}

fn part(name: &str, format: &'static crate::Format) -> Part {
    Part {
        name: name.to_owned(),
        format: Some(format),
        size: None,
    }
}

fn received_and_safe(session: &dyn Session) -> (u64, u64) {
    let units = session.units();
    (units.received, units.safe)
}

/// Entries with room for some of them at a time.
#[derive(Default)]
struct Log {
    entries: Vec<(u32, u8, Vec<u8>)>,
    room: usize,
}

impl Log {
    fn keep(&mut self, entry: &Entry<'_>) -> bool {
        if self.room == 0 {
            return false;
        }
        self.room -= 1;
        let bytes = entry.bytes.to_vec();
        self.entries.push((entry.stream, entry.kind, bytes));
        true
    }

    /// Puts the entries together: parts by name, and what was not understood.
    fn assembled(&self) -> (Identity, BTreeMap<String, Vec<u8>>, Vec<String>) {
        let mut assemble = (PROTOCOL.captures.assemble)();
        let mut bytes: Vec<Vec<u8>> = Vec::new();
        for (stream, kind, entry) in &self.entries {
            let entry = Entry {
                stream: *stream,
                kind: *kind,
                bytes: entry,
            };
            if let Some(part) = assemble.take(&entry) {
                bytes.resize(bytes.len().max(part + 1), Vec::new());
                bytes[part].extend_from_slice(entry.bytes);
            }
        }
        let names = assemble.parts().into_iter().map(|part| part.name);
        let parts = names.zip(bytes).collect();
        let (identity, doubts) = (assemble.identity().clone(), assemble.doubts().to_vec());
        (identity, parts, doubts)
    }
}

/// Moves bytes both ways until neither side has any; entries become safe `lag` behind.
fn exchange(sender: &mut dyn Sender, session: &mut dyn Session, log: &mut Log, room: usize) {
    let mut wire: Vec<u8> = Vec::new();
    for _ in 0..100_000 {
        wire.extend_from_slice(sender.output());
        sender.sent(sender.output().len());
        log.room = room;
        let used = session.read(&wire, NOW, &mut |entry| log.keep(entry));
        wire.drain(..used);
        session.durable(log.entries.len() as u64);
        let replies = session.output().to_vec();
        let read = sender.read(&replies).unwrap();
        session.sent(read);
        if used == 0 && replies.is_empty() && wire.is_empty() && sender.output().is_empty() {
            return;
        }
    }
    panic!("the conversation does not end");
}

#[test]
fn what_a_sender_puts_in_comes_out_of_the_entries_whatever_the_room() {
    let parts = [
        part("x/trace/000003", &cdt::TRACE),
        part("calls.bin", &cdt::CALLS),
    ];
    let trace: Vec<u8> = (0..5_000_u32).flat_map(u32::to_be_bytes).collect();
    for room in [1, 2, 1_000_000] {
        let mut sender = (PROTOCOL.sender)(&identity(), &parts).unwrap();
        let mut session = (PROTOCOL.session)(&SessionOptions::default(), NOW);
        let mut log = Log::default();
        assert_eq!(sender.put(0, &trace), 0, "the stream is not open");
        exchange(&mut *sender, &mut *session, &mut log, room);
        assert_eq!(sender.put(0, &trace), trace.len());
        assert_eq!(sender.put(1, b"rows"), 4);
        sender.finish();
        assert!(!sender.is_finished(), "nothing is acknowledged");
        exchange(&mut *sender, &mut *session, &mut log, room);
        assert!(sender.is_finished());
        assert_eq!(sender.acknowledged(), [20_000, 4]);
        assert_eq!(received_and_safe(&*session), (21, 21));
        assert_eq!(
            session.closed().map(|ending| ending.reason),
            Some("goodbye")
        );
        let (who, parts, doubts) = log.assembled();
        assert_eq!(who, identity());
        assert_eq!(parts["shop-1_1700000000000/trace/000003"], trace);
        assert_eq!(parts["shop-1_1700000000000/calls/000001"], b"rows");
        assert_eq!(doubts, [""; 0]);
    }
}

#[test]
fn entries_that_are_no_units_pay_no_acknowledgement() {
    let mut session = (PROTOCOL.session)(&SessionOptions::default(), NOW);
    let parts = [part("calls.bin", &cdt::CALLS)];
    let mut sender = (PROTOCOL.sender)(&identity(), &parts).unwrap();
    let mut log = Log::default();
    exchange(&mut *sender, &mut *session, &mut log, 10);
    let n_handshake = log.entries.len() as u64;
    assert_eq!(n_handshake, 2);
    sender.put(0, b"row");
    let bytes = sender.output().to_vec();
    log.room = 10;
    session.read(&bytes, NOW, &mut |entry| log.keep(entry));
    session.durable(n_handshake);
    assert_eq!(received_and_safe(&*session), (1, 0));
    assert_eq!(session.output(), [0_u8; 0]);
    session.durable(n_handshake + 1);
    assert_eq!(
        (received_and_safe(&*session), session.output()),
        ((1, 1), &[0_u8][..])
    );
}

#[test]
fn what_is_no_request_is_kept_and_told() {
    let mut session = (PROTOCOL.session)(&SessionOptions::default(), NOW);
    let mut log = Log {
        room: 10,
        ..Log::default()
    };
    let garbage = [&[0x63][..], &[7; 9_000]].concat();
    session.read(&garbage, NOW, &mut |entry| log.keep(entry));
    assert_eq!(session.closed().unwrap().reason, "no_request");
    assert_eq!(log.entries[0].2, garbage[..super::LONGEST_UNREAD]);
    let (_, _, doubts) = log.assembled();
    assert!(doubts[0].starts_with("4096 bytes that are no request"));

    let mut session = (PROTOCOL.session)(&SessionOptions::default(), NOW);
    let mut log = Log {
        room: 10,
        ..Log::default()
    };
    assert_eq!(
        session.read(&[0x14, 0], NOW, &mut |entry| log.keep(entry)),
        0
    );
    assert!(session.finish(&[0x14, 0], &mut |entry| log.keep(entry)));
    assert_eq!(log.entries, [(0, super::kind::UNREAD, vec![0x14, 0])]);
}

#[test]
fn handles_are_random_and_differ() {
    let options = |seed| SessionOptions {
        seed,
        unwanted: vec!["test".to_owned()],
    };
    let opened = |seed, n_streams: usize| {
        let mut session = (PROTOCOL.session)(&options(seed), NOW);
        let parts: Vec<Part> = (0..n_streams)
            .map(|n| part(&format!("trace/{:06}", n + 1), &cdt::TRACE))
            .collect();
        let mut sender = (PROTOCOL.sender)(&identity(), &parts).unwrap();
        let bytes = sender.output().to_vec();
        sender.sent(bytes.len());
        session.read(&bytes, NOW, &mut |_| true);
        let replies = session.output()[8..].to_vec();
        let handles: Vec<Vec<u8>> = replies.chunks(36).map(|one| one[..16].to_vec()).collect();
        handles
    };
    let (one, other) = (opened(1, 300), opened(2, 300));
    let all: std::collections::BTreeSet<_> = one.iter().chain(&other).collect();
    assert_eq!(all.len(), 600);
    assert!(
        all.iter()
            .all(|handle| handle[6] >> 4 == 4 && handle[8] >> 6 == 2)
    );
}
