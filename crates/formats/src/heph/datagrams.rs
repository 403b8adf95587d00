//! A live trace in datagrams of whole packets (§6.9, §6.10): packets that came before, and those that did not come.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::BuildHasher as _;

use super::parse;
use super::record::{EVENT, Layout, METADATA};
use super::session::DATA;
use crate::codec::protocol::{DatagramCounts, Datagrams, Entry, Keep};

/// The kind of an entry in place of a packet that was stored before: its stream and counter.
pub(super) const REPEAT: u8 = DATA + 1;

/// Packets of a peer that are remembered.
const WINDOW: usize = 4096;

/// Streams of a peer whose counters are followed; the packets of others are stored all the same.
const MOST_STREAMS: usize = 1024;

/// What one peer sent.
#[derive(Default)]
pub(super) struct PeerStreams {
    hasher: foldhash::quality::RandomState,
    /// The epoch of the run.
    epoch: Option<Vec<u8>>,
    streams: HashMap<u32, PacketCounters>,
    /// The last packets: stream, counter and hash.
    known: HashSet<(u32, u32, u64)>,
    order: VecDeque<(u32, u32, u64)>,
}

/// The counters of a stream so far.
struct PacketCounters {
    /// The counter that comes next.
    next: u32,
    /// A counter other than 0 was seen: the sender counts.
    counts: bool,
}

/// A packet of a datagram.
struct ReceivedPacket<'d> {
    bytes: &'d [u8],
    /// Stream and counter of an event.
    event: Option<(u32, u32)>,
}

/// Returns the packets of a datagram; `None` if it is anything but whole packets.
fn packets(datagram: &[u8]) -> Option<Vec<ReceivedPacket<'_>>> {
    let mut packets = Vec::new();
    let mut rest = datagram;
    while !rest.is_empty() {
        let magic: [u8; 4] = *rest.first_chunk()?;
        let size = u32::from_be_bytes(*rest.get(4..)?.first_chunk()?);
        let (bytes, behind) = rest.split_at_checked(usize::try_from(size).ok()?)?;
        let event = match magic {
            EVENT => {
                let event = parse::event(bytes, 0, Layout::Substream, 0);
                let event = event.or_else(|| parse::event(bytes, 0, Layout::NoSubstream, 0))?;
                Some((event.stream, event.counter))
            }
            METADATA => {
                parse::metadata(bytes, 0)?;
                None
            }
            _ => return None,
        };
        packets.push(ReceivedPacket { bytes, event });
        rest = behind;
    }
    (!packets.is_empty()).then_some(packets)
}

impl PeerStreams {
    /// Begins another run where the epoch is another one: a process that was started again on the same port.
    fn metadata(&mut self, packet: &[u8]) {
        let Some(metadata) = parse::metadata(packet, 0).filter(|one| one.name == b"epoch") else {
            return;
        };
        if self
            .epoch
            .as_deref()
            .is_some_and(|known| known != metadata.value)
        {
            self.streams.clear();
            self.known.clear();
            self.order.clear();
        }
        self.epoch = Some(metadata.value.to_vec());
    }

    /// Returns `true` if the packet was stored before.
    fn is_repeat(&mut self, stream: u32, counter: u32, packet: &[u8]) -> bool {
        let counts = self.streams.get(&stream).is_some_and(|one| one.counts);
        let key = (stream, counter, self.hasher.hash_one(packet));
        if self.known.insert(key) {
            self.order.push_back(key);
            if self.order.len() > WINDOW
                && let Some(oldest) = self.order.pop_front()
            {
                self.known.remove(&oldest);
            }
            return false;
        }
        // A sender that does not count has equal packets.
        counter != 0 || counts
    }

    /// Follows the counters of a stream.
    fn count(&mut self, stream: u32, counter: u32, counts: &mut DatagramCounts) {
        let n_streams = self.streams.len();
        let Some(known) = self.streams.get_mut(&stream) else {
            if n_streams < MOST_STREAMS {
                let first = PacketCounters {
                    next: counter.wrapping_add(1),
                    counts: counter != 0,
                };
                self.streams.insert(stream, first);
            }
            return;
        };
        if counter == 0 && !known.counts {
            return;
        }
        known.counts = true;
        let ahead = counter.wrapping_sub(known.next);
        // The nearer way round tells what is early and what is late.
        if ahead < 1 << 31 {
            counts.missing += u64::from(ahead);
            known.next = counter.wrapping_add(1);
        } else {
            counts.late += 1;
        }
    }
}

impl Datagrams for PeerStreams {
    fn take(&mut self, datagram: &[u8], keep: &mut Keep<'_>) -> Option<DatagramCounts> {
        let packets = packets(datagram)?;
        let mut counts = DatagramCounts::default();
        let mut stored = Vec::with_capacity(datagram.len());
        for packet in packets {
            counts.units += 1;
            let Some((stream, counter)) = packet.event else {
                self.metadata(packet.bytes);
                stored.extend_from_slice(packet.bytes);
                continue;
            };
            if self.is_repeat(stream, counter, packet.bytes) {
                counts.repeated += 1;
                let mut receipt = stream.to_be_bytes().to_vec();
                receipt.extend_from_slice(&counter.to_be_bytes());
                keep(&Entry {
                    stream: 0,
                    kind: REPEAT,
                    bytes: &receipt,
                });
                continue;
            }
            self.count(stream, counter, &mut counts);
            stored.extend_from_slice(packet.bytes);
        }
        if !stored.is_empty() {
            keep(&Entry {
                stream: 0,
                kind: DATA,
                bytes: &stored,
            });
        }
        Some(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(stream: u32, counter: u32, text: &str) -> Vec<u8> {
        let mut packet = EVENT.to_vec();
        let length = u16::try_from(text.len()).unwrap();
        packet.extend((42 + u32::from(length)).to_be_bytes());
        packet.extend(stream.to_be_bytes());
        packet.extend(counter.to_be_bytes());
        packet.extend([0; 24]);
        packet.extend(length.to_be_bytes());
        packet.extend(text.as_bytes());
        packet
    }

    fn epoch(value: u64) -> Vec<u8> {
        let mut packet = METADATA.to_vec();
        packet.extend(23_u32.to_be_bytes());
        packet.extend(5_u16.to_be_bytes());
        packet.extend(b"epoch");
        packet.extend(value.to_be_bytes());
        packet
    }

    /// Takes datagrams and returns the sum of their counts, and what was stored.
    fn take(
        received: &mut PeerStreams,
        datagrams: &[Vec<u8>],
    ) -> (DatagramCounts, Vec<(u8, usize)>) {
        let (mut sum, mut stored) = (DatagramCounts::default(), Vec::new());
        for datagram in datagrams {
            let counts = received.take(datagram, &mut |entry| {
                stored.push((entry.kind, entry.bytes.len()));
                true
            });
            let counts = counts.unwrap();
            sum.units += counts.units;
            sum.repeated += counts.repeated;
            sum.missing += counts.missing;
            sum.late += counts.late;
        }
        (sum, stored)
    }

    fn counts(units: u64, repeated: u64, missing: u64, late: u64) -> DatagramCounts {
        DatagramCounts {
            units,
            repeated,
            missing,
            late,
        }
    }

    #[test]
    fn repeats_leave_a_receipt_and_gaps_are_counted() {
        let mut received = PeerStreams::default();
        let two = [event(1, 0, "a"), event(1, 1, "b")].concat();
        let sent = [
            two.clone(),
            event(1, 4, "e"),
            two,
            event(1, 3, "d"),
            event(2, 9, "joined late"),
        ];
        let (sum, stored) = take(&mut received, &sent);
        assert_eq!(sum, counts(7, 2, 2, 1));
        let (event, late) = ((DATA, 43), (DATA, 53));
        let receipt = (REPEAT, 8);
        assert_eq!(stored, [(DATA, 86), event, receipt, receipt, event, late]);
    }

    #[test]
    fn equal_packets_of_a_sender_that_does_not_count_are_all_kept() {
        let mut received = PeerStreams::default();
        let (sum, stored) = take(&mut received, &vec![event(3, 0, "x"); 5]);
        assert_eq!(sum, counts(5, 0, 0, 0));
        assert_eq!(stored.len(), 5);
    }

    #[test]
    fn a_counter_that_came_again_with_another_packet_is_no_repeat() {
        let mut received = PeerStreams::default();
        let sent = [event(1, 7, "a"), event(1, 7, "b"), event(1, u32::MAX, "c")];
        let (sum, _) = take(&mut received, &sent);
        assert_eq!(sum, counts(3, 0, 0, 2));
        let mut wrapping = PeerStreams::default();
        let sent = [event(1, u32::MAX, "a"), event(1, 0, "b"), event(1, 1, "c")];
        assert_eq!(take(&mut wrapping, &sent).0, counts(3, 0, 0, 0));
    }

    #[test]
    fn another_epoch_begins_another_run_and_the_same_one_does_not() {
        let run = |value| vec![epoch(value), event(1, 0, "a"), event(1, 1, "b")];
        let mut received = PeerStreams::default();
        assert_eq!(take(&mut received, &run(5)).0, counts(3, 0, 0, 0));
        assert_eq!(take(&mut received, &run(5)).0.repeated, 2);
        assert_eq!(take(&mut received, &run(6)).0, counts(3, 0, 0, 0));
    }

    #[test]
    fn what_is_no_whole_packet_is_not_stored() {
        let mut received = PeerStreams::default();
        let whole = event(1, 0, "a");
        let cut = whole.split_last().unwrap().1;
        let long = [whole.clone(), b"x".to_vec()].concat();
        for datagram in [&b""[..], b"x", cut, &long, &[0; 100]] {
            let taken = received.take(datagram, &mut |_| panic!("nothing is stored"));
            assert_eq!(taken, None);
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut received = PeerStreams::default();
        for number in 1..20_000 {
            take(&mut received, &[event(number, number, "x")]);
        }
        assert_eq!(
            (received.known.len(), received.order.len()),
            (WINDOW, WINDOW)
        );
        assert_eq!(received.streams.len(), MOST_STREAMS);
    }
}
