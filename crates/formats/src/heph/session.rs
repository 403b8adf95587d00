//! Both ends of a live trace (§6.10), without sockets and without a clock.
//!
//! The bytes of a connection are one trace. Nothing is answered, so nothing is acknowledged: a *unit* is a piece of
//! bytes as it arrived, and units are stored in order.

use std::time::Duration;

use super::datagrams::{REPEAT, Received};
use super::{FORMAT, parse};
use crate::codec::protocol::{
    Assemble, AssembledPart, CaptureRules, DatagramRules, Ending, Entry, FIRST_KIND, Identity,
    Keep, Protocol, Sender, Session, SessionOptions,
};
use crate::{Error, Part};

/// The protocol, for a collector.
pub const PROTOCOL: Protocol = Protocol {
    captures: CaptureRules {
        name: "heph",
        number: 2,
        assemble: || Box::new(Assembled::default()),
    },
    port: 1716,
    acknowledges: false,
    sent_as: "heph",
    settings: |host, port| format!("tail -c +1 -f TRACE | nc {host} {port}"),
    session: |_: &SessionOptions, now| Box::new(Stored::new(now)),
    datagrams: Some(DatagramRules {
        name: "heph_udp",
        begin: || Box::new(Received::default()),
    }),
    sender: |_, parts| Ok(Box::new(Player::new(parts)?)),
};

/// The kind of stored entries: bytes of the trace.
pub(super) const DATA: u8 = FIRST_KIND;

/// Bytes of the longest unit.
const LONGEST_UNIT: usize = 32 << 10;

/// Bytes in which a packet must begin: a sender may join within a long one.
const LONGEST_LEAD: usize = 1 << 20;

/// Time for the first byte; later silence is a program that does nothing.
const IDLE: Duration = Duration::from_secs(40);

/// Bytes of a sender that wait for its socket.
const MOST_OUTPUT: usize = 64 << 10;

/// The collector's end of a connection.
struct Stored {
    started: Duration,
    n_units: u64,
    n_safe: u64,
    lead: Lead,
    closed: Option<Ending>,
}

/// Looks for the beginning of a packet in what came so far.
#[derive(Default)]
struct Lead {
    n_bytes: usize,
    /// The last bytes, which may begin a magic.
    tail: Vec<u8>,
    found: bool,
}

impl Lead {
    fn take(&mut self, bytes: &[u8]) {
        if self.found {
            return;
        }
        const MAGIC: usize = 4;
        self.tail
            .extend_from_slice(bytes.get(..MAGIC - 1).unwrap_or(bytes));
        self.found =
            parse::find_magic(&self.tail, 0).is_some() || parse::find_magic(bytes, 0).is_some();
        if bytes.len() >= MAGIC {
            self.tail.clear();
            let last = bytes.len() - (MAGIC - 1);
            self.tail
                .extend_from_slice(bytes.get(last..).unwrap_or_default());
        } else {
            let surplus = self.tail.len().saturating_sub(MAGIC - 1);
            self.tail.drain(..surplus);
        }
        self.n_bytes += bytes.len();
    }

    fn is_too_long(&self) -> bool {
        !self.found && self.n_bytes >= LONGEST_LEAD
    }
}

impl Stored {
    fn new(now: Duration) -> Self {
        Self {
            started: now,
            n_units: 0,
            n_safe: 0,
            lead: Lead::default(),
            closed: None,
        }
    }

    fn close(&mut self, reason: &'static str, orderly: bool) {
        self.closed.get_or_insert(Ending { reason, orderly });
    }

    /// Stores units and returns how many bytes they have.
    fn store(&mut self, bytes: &[u8], keep: &mut Keep<'_>) -> usize {
        let mut used = 0;
        for unit in bytes.chunks(LONGEST_UNIT) {
            let entry = Entry {
                stream: 0,
                kind: DATA,
                bytes: unit,
            };
            if !keep(&entry) {
                break;
            }
            self.lead.take(unit);
            self.n_units += 1;
            used += unit.len();
        }
        used
    }
}

impl Session for Stored {
    fn read(&mut self, window: &[u8], _now: Duration, keep: &mut Keep<'_>) -> usize {
        if self.closed.is_some() {
            return window.len();
        }
        let used = self.store(window, keep);
        if self.lead.is_too_long() {
            self.close("no_packet", false);
        }
        used
    }

    fn finish(&mut self, rest: &[u8], keep: &mut Keep<'_>) -> bool {
        let is_stored = self.closed.is_some() || self.store(rest, keep) == rest.len();
        if is_stored {
            self.close("end_of_stream", true);
        }
        is_stored
    }

    fn durable(&mut self, n_entries: u64) {
        self.n_safe = n_entries;
    }

    fn storage_failed(&mut self) {
        self.close("storage_failed", false);
    }

    fn tick(&mut self, now: Duration) {
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            self.close("idle", false);
        }
    }

    fn deadline(&self) -> Option<Duration> {
        (self.n_units == 0 && self.closed.is_none()).then_some(self.started + IDLE)
    }

    fn output(&self) -> &[u8] {
        &[]
    }

    fn sent(&mut self, _n_bytes: usize) {}

    fn closed(&self) -> Option<Ending> {
        self.closed
    }

    fn units(&self) -> (u64, u64) {
        (self.n_units, self.n_safe)
    }
}

/// The trace of a connection.
#[derive(Default)]
struct Assembled {
    identity: Identity,
    parts: Vec<AssembledPart>,
    doubts: Vec<String>,
}

impl Assemble for Assembled {
    fn take(&mut self, entry: &Entry<'_>) -> Option<usize> {
        if entry.kind == REPEAT {
            return None;
        }
        if entry.kind != DATA {
            let doubt = format!("an entry of the unknown kind {}", entry.kind);
            if !self.doubts.contains(&doubt) {
                self.doubts.push(doubt);
            }
            return None;
        }
        if self.parts.is_empty() {
            let name = "trace.heph".to_owned();
            self.parts.push(AssembledPart { name });
        }
        Some(0)
    }

    fn parts(&self) -> Vec<AssembledPart> {
        self.parts.clone()
    }

    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn doubts(&self) -> &[String] {
        &self.doubts
    }
}

/// The sender's end of a connection: a trace that exists already.
struct Player {
    output: Vec<u8>,
    acknowledged: [u64; 1],
    finished: bool,
}

impl Player {
    fn new(parts: &[Part]) -> Result<Self, Error> {
        match parts {
            [part] if part.format.is_some_and(|format| format.name == FORMAT.name) => Ok(Self {
                output: Vec::new(),
                acknowledged: [0],
                finished: false,
            }),
            _ => Err(Error::usage("a connection sends one Heph trace")),
        }
    }
}

impl Sender for Player {
    fn put(&mut self, _part: usize, bytes: &[u8]) -> usize {
        let room = MOST_OUTPUT.saturating_sub(self.output.len());
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.output.extend_from_slice(taken);
        taken.len()
    }

    fn finish(&mut self) {
        self.finished = true;
    }

    fn output(&self) -> &[u8] {
        &self.output
    }

    fn sent(&mut self, n_bytes: usize) {
        self.output.drain(..n_bytes.min(self.output.len()));
    }

    fn read(&mut self, window: &[u8]) -> Result<usize, Error> {
        match window {
            [] => Ok(0),
            _ => Err(Error::io(
                "the collector answered, which Heph has no place for",
            )),
        }
    }

    fn acknowledged(&self) -> &[u64] {
        &self.acknowledged
    }

    fn is_finished(&self) -> bool {
        self.finished
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPOCH: &[u8] = &[0x75, 0xd1, 0x1d, 0x4d, 0, 0, 0, 10, 0, 0];

    fn session() -> Box<dyn Session> {
        (PROTOCOL.session)(&SessionOptions::default(), Duration::from_secs(5))
    }

    #[test]
    fn units_are_bounded_in_order_and_wait_for_room() {
        let bytes: Vec<u8> = EPOCH.iter().copied().cycle().take(100_000).collect();
        let mut session = session();
        let mut assembled = (PROTOCOL.captures.assemble)();
        let (mut kept, mut sent, mut room) = (Vec::new(), 0, 0);
        while sent < bytes.len() {
            let (_, rest) = bytes.split_at(sent);
            let window = rest.get(..40_000).unwrap_or(rest);
            // Room for every second unit.
            sent += session.read(window, Duration::ZERO, &mut |entry| {
                room += 1;
                let has_room = room % 2 == 0;
                if has_room {
                    assert!(entry.bytes.len() <= LONGEST_UNIT);
                    assert_eq!(assembled.take(entry), Some(0));
                    kept.extend_from_slice(entry.bytes);
                }
                has_room
            });
        }
        assert!(kept == bytes);
        assert_eq!(assembled.parts().len(), 1);
        let (received, safe) = session.units();
        assert!(received >= 4 && safe == 0, "{received} {safe}");
        session.durable(received - 1);
        assert_eq!(session.units(), (received, received - 1));
        assert_eq!(session.closed(), None);
        assert!(!session.finish(b"rest", &mut |_| false));
        assert_eq!(session.closed(), None);
        assert!(session.finish(b"rest", &mut |_| true));
        assert!(session.closed().is_some_and(|ending| ending.orderly));
    }

    #[test]
    fn a_connection_without_a_packet_ends_and_one_that_joins_late_does_not() {
        let reason = |lead: usize, chunk: usize, magic: &[u8]| {
            let bytes = [&vec![0x63; lead], magic, &vec![0x63; LONGEST_LEAD]].concat();
            let mut session = session();
            for window in bytes.chunks(chunk) {
                assert_eq!(
                    session.read(window, Duration::ZERO, &mut |_| true),
                    window.len()
                );
            }
            session.closed().map(|ending| ending.reason)
        };
        assert_eq!(reason(10, 5_000, b""), Some("no_packet"));
        for chunk in [1, 2, 3, 5, 7, 5_000] {
            assert_eq!(reason(1_001, chunk, EPOCH), None, "pieces of {chunk}");
        }
    }

    #[test]
    fn silence_ends_a_connection_that_never_spoke_alone() {
        let mut silent = session();
        assert_eq!(silent.deadline(), Some(Duration::from_secs(45)));
        silent.tick(Duration::from_secs(44));
        assert_eq!(silent.closed(), None);
        silent.tick(Duration::from_secs(45));
        assert_eq!(silent.closed().map(|ending| ending.reason), Some("idle"));
        let mut slow = session();
        slow.read(EPOCH, Duration::from_secs(6), &mut |_| true);
        assert_eq!(slow.deadline(), None);
    }
}
