//! Both ends of a live trace (§6.10), without sockets and without a clock.
//!
//! The bytes of a connection are one trace.

use super::datagrams::{PeerStreams, REPEAT};
use super::{FORMAT, parse};
use crate::codec::one_way::{ConnectionAssembler, ConnectionFormat, StoringEnd, TracePlayer};
use crate::codec::protocol::{CaptureRules, DatagramRules, FIRST_KIND, Protocol, SessionOptions};

/// The protocol, for a collector.
pub const PROTOCOL: Protocol = Protocol {
    captures: CaptureRules {
        name: "heph",
        number: 2,
        assemble: || Box::new(ConnectionAssembler::new(&[(DATA, "trace.heph")], &[REPEAT])),
    },
    port: 1716,
    acknowledges: false,
    repeatable: true,
    sent_as: "heph",
    settings: |host, port| format!("tail -c +1 -f TRACE | nc {host} {port}"),
    session: |_: &SessionOptions, now| Box::new(StoringEnd::new(Lead::default(), now)),
    datagrams: Some(DatagramRules {
        name: "heph_udp",
        begin: || Box::new(PeerStreams::default()),
    }),
    control: None,
    sender: |_, parts| Ok(Box::new(TracePlayer::new("Heph", &[FORMAT.name], parts)?)),
};

/// The kind of stored entries: bytes of the trace.
pub(super) const DATA: u8 = FIRST_KIND;

/// Bytes in which a packet must begin: a sender may join within a long one.
const LONGEST_LEAD: usize = 1 << 20;

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

impl ConnectionFormat for Lead {
    fn kind(&mut self, _window: &[u8], _is_end: bool) -> Option<u8> {
        Some(DATA)
    }

    fn stored(&mut self, unit: &[u8]) -> Option<&'static str> {
        self.take(unit);
        self.is_too_long().then_some("no_packet")
    }

    fn is_trace(&self) -> bool {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::codec::one_way::LONGEST_UNIT;
    use crate::codec::protocol::Session;

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
        let counts = session.units();
        assert!(counts.received >= 4 && counts.safe == 0, "{counts:?}");
        assert_eq!(counts.decoded, counts.received);
        session.durable(counts.received - 1);
        assert_eq!(session.units().safe, counts.received - 1);
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
            (
                session.closed().map(|ending| ending.reason),
                session.units(),
            )
        };
        let (ending, counts) = reason(10, 5_000, b"");
        assert_eq!((ending, counts.decoded), (Some("no_packet"), 0));
        for chunk in [1, 2, 3, 5, 7, 5_000] {
            let (ending, counts) = reason(1_001, chunk, EPOCH);
            assert_eq!(ending, None, "pieces of {chunk}");
            // The magic ends in the piece with byte 1,004.
            let before = 1_004 / chunk as u64;
            assert_eq!(
                counts.decoded,
                counts.received - before,
                "pieces of {chunk}"
            );
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
