//! Datagrams: a thread of their own receives them, so that nothing else makes the system drop one.

use std::collections::HashMap;
use std::io::IoSliceMut;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::socket::sockopt::{RcvBuf, RxqOvfl};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt};
use traceloom_formats::protocol::{DatagramRules, Datagrams, Entry, Protocol};
use traceloom_input::captures::{CaptureId, Event};
use traceloom_log::Refused;

use crate::counts::ListenerCounts;
use crate::journal::{Journal, unix_ns};
use crate::session_ids::SessionIds;
use crate::{Error, Stop};

/// Bytes of the longest datagram.
const LONGEST: usize = 64 << 10;
/// Bytes that the system is asked to keep for this thread.
const SYSTEM_BUFFER: usize = 8 << 20;
/// Time after which somebody may have asked to stop.
const TURN: Duration = Duration::from_millis(100);
/// Time until there may be room in the log.
const ROOM: Duration = Duration::from_micros(500);
/// Peers at a time.
const MOST_PEERS: usize = 1024;
/// Silence after which a peer's capture ends.
const IDLE: Duration = Duration::from_secs(600);

/// Receives the datagrams of a socket.
pub(crate) struct DatagramListener {
    pub(crate) socket: UdpSocket,
    pub(crate) protocol: &'static Protocol,
    pub(crate) rules: DatagramRules,
    pub(crate) journal: Arc<Journal>,
    pub(crate) ids: Arc<SessionIds>,
    pub(crate) counts: Arc<ListenerCounts>,
    pub(crate) stop: Stop,
}

/// Who sends.
struct DatagramPeer {
    id: CaptureId,
    received: Box<dyn Datagrams>,
    last: Instant,
}

impl DatagramListener {
    /// Prepares the socket.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn prepare(&self) -> Result<(), Error> {
        let failed = |error: &dyn std::fmt::Display| Error::new(format!("a UDP socket: {error}"));
        self.socket
            .set_read_timeout(Some(TURN))
            .map_err(|error| failed(&error))?;
        setsockopt(&self.socket, RxqOvfl, &1).map_err(|error| failed(&error))?;
        // The system gives what it allows.
        let _ = setsockopt(&self.socket, RcvBuf, &SYSTEM_BUFFER);
        Ok(())
    }

    /// Receives until the collector ends, or nothing can be stored any more.
    pub(crate) fn run(self) {
        let mut peers = HashMap::new();
        let mut buffer = vec![0; LONGEST];
        let (mut dropped, mut swept) = (0_u32, Instant::now());
        loop {
            // Asked before: what the system still holds then is received once more.
            let stopping = self.stop.is_asked() || self.journal.failure().is_some();
            let received = self.receive(&mut buffer, &mut dropped);
            if let Some((length, peer)) = received {
                let datagram = buffer.get(..length).unwrap_or_default();
                if self.take(&mut peers, peer, datagram).is_err() {
                    break;
                }
            } else if stopping {
                break;
            }
            if swept.elapsed() >= IDLE / 10 {
                swept = Instant::now();
                let idle =
                    peers.extract_if(|_, peer: &mut DatagramPeer| peer.last.elapsed() >= IDLE);
                for (_, peer) in idle {
                    let _ = self.close(&peer, "idle");
                }
            }
        }
        for peer in peers.values() {
            // A log that failed takes no more; readers then see an interrupted capture.
            let _ = self.close(peer, "collector_stopped");
        }
    }

    /// Waits for a datagram; `None` after a while without one. The system tells how many it dropped so far.
    fn receive(&self, buffer: &mut [u8], dropped: &mut u32) -> Option<(usize, SocketAddr)> {
        let mut told = nix::cmsg_space!(u32);
        let mut pieces = [IoSliceMut::new(buffer)];
        let socket = self.socket.as_raw_fd();
        let message =
            recvmsg::<SockaddrStorage>(socket, &mut pieces, Some(&mut told), MsgFlags::empty());
        let message = message.ok()?;
        for control in message.cmsgs().ok()? {
            if let ControlMessageOwned::RxqOvfl(n) = control {
                let new = n.wrapping_sub(*dropped);
                self.counts.lost.add_many("system", u64::from(new));
                *dropped = n;
            }
        }
        let from = message.address?;
        let peer = match (from.as_sockaddr_in(), from.as_sockaddr_in6()) {
            (Some(peer), _) => SocketAddr::V4((*peer).into()),
            (None, Some(peer)) => SocketAddr::V6((*peer).into()),
            (None, None) => return None,
        };
        self.counts.received_bytes.add(message.bytes as u64);
        Some((message.bytes, peer))
    }

    fn take(
        &self,
        peers: &mut HashMap<SocketAddr, DatagramPeer>,
        address: SocketAddr,
        datagram: &[u8],
    ) -> Result<(), Refused> {
        let is_full = peers.len() >= MOST_PEERS;
        let known = peers.get_mut(&address);
        let (mut begun, is_new) = (None, known.is_none());
        let peer = match known {
            Some(peer) => peer,
            None if is_full => {
                self.counts.refused.add("too_many_peers");
                return Ok(());
            }
            None => begun.insert(DatagramPeer {
                id: self.ids.next(),
                received: (self.rules.begin)(),
                last: Instant::now(),
            }),
        };
        peer.last = Instant::now();
        // The capture begins with the first datagram that is one of the protocol.
        let mut opened = is_new.then(|| Event::Opened {
            protocol: self.protocol.captures.number,
            at_ns: unix_ns(),
            peer: address.to_string(),
        });
        let mut stored = Ok(());
        let id = peer.id;
        let counts = peer.received.take(datagram, &mut |entry| {
            if let (Some(opened), Ok(())) = (opened.take(), stored) {
                stored = self.store_event(id, &opened);
            }
            stored = stored.and_then(|()| self.store(id, entry));
            stored.is_ok()
        });
        stored?;
        let Some(counts) = counts else {
            self.counts.refused.add("no_packet");
            return Ok(());
        };
        self.counts.received.add(counts.units);
        self.counts.decoded.add(counts.units);
        self.counts.stored.add(counts.units - counts.repeated);
        self.counts.suppressed.add(counts.repeated);
        self.counts.late.add(counts.late);
        self.counts.lost.add_many("counter", counts.missing);
        if let Some(begun) = begun {
            self.counts.sessions.add(1);
            peers.insert(address, begun);
        }
        Ok(())
    }

    fn close(&self, peer: &DatagramPeer, reason: &'static str) -> Result<(), Refused> {
        self.counts.ended.add(reason);
        let closed = Event::Closed {
            at_ns: unix_ns(),
            orderly: false,
            reason: reason.to_owned(),
        };
        self.store_event(peer.id, &closed)
    }

    fn store_event(&self, id: CaptureId, event: &Event) -> Result<(), Refused> {
        let (kind, bytes) = event.encode();
        self.store(
            id,
            &Entry {
                stream: traceloom_input::captures::EVENTS,
                kind,
                bytes: &bytes,
            },
        )
    }

    /// Stores an entry once there is room for it: meanwhile the system keeps what comes, as far as it can.
    fn store(&self, id: CaptureId, entry: &Entry<'_>) -> Result<(), Refused> {
        loop {
            match self
                .journal
                .submit(id, entry.stream, entry.kind, entry.bytes)
            {
                Ok(_) => return Ok(()),
                Err(Refused::Full) => std::thread::sleep(ROOM),
                Err(refused) => return Err(refused),
            }
        }
    }
}
