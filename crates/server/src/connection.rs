//! One connection: moves bytes between a socket, a session and the log.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use traceloom_formats::protocol::{Ending, Entry, Protocol, Session, SessionOptions, UnitCounts};
use traceloom_input::captures::{CaptureId, Event};
use traceloom_log::{Position, Refused};
use traceloom_model::bounds::subslice;

use crate::agent_commands::{AgentOrder, LiveAgents};
use crate::audit::Actor;
use crate::counts::ListenerCounts;
use crate::journal::{Journal, unix_ms, unix_ns};
use crate::observer::Observer;
use crate::tls::Socket;

/// Bytes of a connection that wait for being understood or stored.
const WINDOW: usize = 64 << 10;
/// Bytes that wait for a sender to read them; beyond, nothing of it is read.
const MOST_OUTPUT: usize = 64 << 10;
/// Entries of a connection that are not safe; beyond, nothing of it is read.
const MOST_IN_FLIGHT: usize = 16 << 10;
/// Time for the last answers of a session that has ended.
const LINGER: Duration = Duration::from_secs(5);

/// What every connection of a listener shares.
pub(crate) struct Shared {
    pub(crate) protocol: &'static Protocol,
    pub(crate) journal: Arc<Journal>,
    pub(crate) counts: Arc<ListenerCounts>,
    pub(crate) unwanted: Vec<String>,
    pub(crate) agents: Arc<LiveAgents>,
    pub(crate) observer: Observer,
}

pub(crate) struct Connection {
    shared: Arc<Shared>,
    id: CaptureId,
    socket: Socket,
    session: Box<dyn Session>,
    start: Instant,
    window: Box<[u8]>,
    filled: usize,
    /// Positions of entries that are not known to be safe.
    in_flight: VecDeque<Position>,
    n_durable: u64,
    /// Units that were counted.
    counted: UnitCounts,
    /// The log had no room for an entry.
    full: bool,
    eof: bool,
    /// The sender's end is gone without having been closed.
    reset: bool,
}

/// Endings of sessions that were refused: what came is none of the protocol, or not wanted.
const REFUSED: [&str; 6] = [
    "no_request",
    "unknown_handle",
    "unknown_stream",
    "unwanted_namespace",
    "no_packet",
    "no_trace",
];

/// The connection was lost.
const LOST: Ending = Ending {
    reason: "connection_lost",
    orderly: false,
};
/// The collector was asked to end.
const STOPPED: Ending = Ending {
    reason: "collector_stopped",
    orderly: false,
};

impl Connection {
    pub(crate) fn new(shared: Arc<Shared>, id: CaptureId, socket: Socket, seed: u128) -> Self {
        let options = SessionOptions {
            seed,
            unwanted: shared.unwanted.clone(),
        };
        let session = (shared.protocol.session)(&options, Duration::ZERO);
        Self {
            shared,
            id,
            socket,
            session,
            start: Instant::now(),
            window: vec![0; WINDOW].into(),
            filled: 0,
            in_flight: VecDeque::new(),
            n_durable: 0,
            counted: UnitCounts::default(),
            full: false,
            eof: false,
            reset: false,
        }
    }

    /// Serves the connection to its end.
    pub(crate) async fn run(mut self, peer: String, mut stop: watch::Receiver<bool>) {
        // Answers are small and due at once.
        let _ = self.socket.tcp().set_nodelay(true);
        let mut progress = self.shared.journal.progress();
        let name = self.shared.protocol.captures.name;
        let fields = [
            ("listener", name.to_owned()),
            ("capture", self.id.to_string()),
            ("peer", peer.clone()),
        ];
        let observer = &self.shared.observer;
        observer.connection("connection opened", &fields);
        let opened = Event::Opened {
            protocol: self.shared.protocol.captures.number,
            at_ns: unix_ns(),
            peer: peer.clone(),
        };
        if self.shared.journal.event(self.id, &opened).await.is_err() {
            return self.shared.counts.ended.add("storage_failed");
        }
        let live = self.shared.agents.clone();
        let mut orders = live.connected(self.id);
        let ending = self
            .exchange(&mut progress, &mut stop, &mut orders.receiver)
            .await;
        drop(orders);
        self.socket.say_goodbye();
        let closed = Event::Closed {
            at_ns: unix_ns(),
            orderly: ending.orderly,
            reason: ending.reason.to_owned(),
        };
        // Nothing more can be said in a log that failed.
        let _ = self.shared.journal.event(self.id, &closed).await;
        self.shared.counts.ended.add(ending.reason);
        let observer = &self.shared.observer;
        let [listener, capture, peer_field] = fields;
        let fields = [
            listener,
            capture,
            peer_field,
            ("reason", ending.reason.to_owned()),
        ];
        observer.connection("connection ended", &fields);
        if REFUSED.contains(&ending.reason) {
            observer.refused(Actor::peer(&peer, None), name, ending.reason);
        }
    }

    /// Moves bytes until the session ends.
    async fn exchange(
        &mut self,
        progress: &mut watch::Receiver<u64>,
        stop: &mut watch::Receiver<bool>,
        orders: &mut mpsc::Receiver<AgentOrder>,
    ) -> Ending {
        let mut closing: Option<(Ending, Instant)> = None;
        loop {
            let stopping = *stop.borrow_and_update();
            // Marked as seen before the state is looked at, so that no change is missed.
            progress.mark_unchanged();
            if (!stopping || self.owes()) && self.in_flight.len() < MOST_IN_FLIGHT {
                self.feed();
            }
            self.settle();
            if let Err(ending) = self.write() {
                return closing.map_or(ending, |(ending, _)| ending);
            }
            let quiet = self.in_flight.is_empty() && !self.has_output() && !self.owes();
            let now = Instant::now();
            if closing.is_none() {
                let ended = self.session.closed();
                let ended = ended.or_else(|| (stopping && quiet).then_some(STOPPED));
                let ended = ended.or_else(|| {
                    let at_end = self.eof && quiet && self.take_rest();
                    // Some protocols have no other goodbye.
                    let goodbye = self.session.closed().filter(|_| !self.reset);
                    at_end.then_some(goodbye.unwrap_or(LOST))
                });
                closing = ended.map(|ending| (ending, now + LINGER));
            }
            let deadline = match closing {
                Some((ending, _)) if !self.has_output() => return ending,
                Some((ending, until)) if now >= until => return ending,
                Some((_, until)) => Some(until),
                None => self.session.deadline().map(|at| self.start + at),
            };
            let wants_bytes = closing.is_none()
                && !stopping
                && !self.eof
                && self.filled < self.window.len()
                && self.in_flight.len() < MOST_IN_FLIGHT
                && self.session.output().len() < MOST_OUTPUT;
            let waits_for_log = self.full || !self.in_flight.is_empty();
            let timer = async {
                match deadline {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                ready = self.socket.readable(), if wants_bytes => {
                    if ready.is_err() || self.fill().is_err() {
                        self.eof = true;
                        self.reset = true;
                    }
                }
                ready = self.socket.writable(), if self.has_output() => {
                    if ready.is_err() {
                        return LOST;
                    }
                }
                _ = progress.changed(), if waits_for_log => {}
                Some(order) = orders.recv(), if closing.is_none() => self.command(order),
                () = timer => self.session.tick(self.start.elapsed()),
                _ = stop.changed(), if !stopping => {}
            }
        }
    }

    /// Returns `true` while answers wait for the sender to read them.
    fn has_output(&self) -> bool {
        !self.session.output().is_empty() || self.socket.has_pending()
    }

    /// Returns `true` while bytes wait for the log that nobody will send again.
    fn owes(&self) -> bool {
        !self.shared.protocol.acknowledges && self.filled > 0
    }

    /// Shows the session what was received.
    fn feed(&mut self) {
        if self.filled == 0 {
            return;
        }
        let Self {
            shared,
            id,
            session,
            in_flight,
            full,
            ..
        } = self;
        *full = false;
        let Some(window) = self.window.get(..self.filled) else {
            return;
        };
        let used = session.read(window, self.start.elapsed(), &mut |entry| {
            let stored = submit(&shared.journal, *id, entry, in_flight);
            *full |= !stored;
            stored
        });
        self.window.copy_within(used..self.filled, 0);
        self.filled -= used;
        self.count();
    }

    /// Has a command sent to the agent.
    fn command(&mut self, order: AgentOrder) {
        let Self {
            shared,
            id,
            session,
            in_flight,
            full,
            ..
        } = self;
        let taken = session.command(order.id, order.word, &mut |entry| {
            // Without room the session keeps it, and stores it before the next request.
            let stored = submit(&shared.journal, *id, entry, in_flight);
            *full |= !stored;
            stored
        });
        // Whoever asked may be gone.
        let _ = order.answer.send(taken);
    }

    /// Stores what is left behind the last whole request; returns `false` if there is no room yet.
    fn take_rest(&mut self) -> bool {
        let (journal, id) = (&self.shared.journal, self.id);
        let rest = subslice(&self.window, ..self.filled);
        let done = self.session.finish(rest, &mut |entry| {
            !matches!(
                journal.submit(id, entry.stream, entry.kind, entry.bytes),
                Err(Refused::Full)
            )
        });
        self.full = !done;
        done
    }

    /// Tells the session what is safe.
    fn settle(&mut self) {
        let durable = self.shared.journal.durable();
        while self.in_flight.front().is_some_and(|&at| at < durable) {
            self.in_flight.pop_front();
            self.n_durable += 1;
        }
        self.session.durable(self.n_durable);
        if (self.full || !self.in_flight.is_empty()) && self.shared.journal.failure().is_some() {
            self.session.storage_failed();
            self.in_flight.clear();
            self.full = false;
        }
        self.count();
    }

    fn count(&mut self) {
        let units = self.session.units();
        let counts = &self.shared.counts;
        let of_safe = match self.shared.protocol.acknowledges {
            true => &counts.acknowledged,
            false => &counts.stored,
        };
        counts.received.add(units.received - self.counted.received);
        counts.decoded.add(units.decoded - self.counted.decoded);
        of_safe.add(units.safe - self.counted.safe);
        self.counted = units;
        if let Some(sender_ms) = self.session.sender_ms() {
            counts.clock.told(sender_ms, unix_ms());
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        let Some(room) = self.window.get_mut(self.filled..) else {
            return Ok(());
        };
        match self.socket.try_read(room) {
            Ok(0) => self.eof = true,
            Ok(n_bytes) => {
                self.filled += n_bytes;
                self.shared.counts.received_bytes.add(n_bytes as u64);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), Ending> {
        while !self.session.output().is_empty() {
            match self.socket.try_write(self.session.output()) {
                Ok(n_bytes) => self.session.sent(n_bytes),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(_) => return Err(LOST),
            }
        }
        match self.socket.flush() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(LOST),
            _ => Ok(()),
        }
    }
}

/// Submits an entry of a session to the log; returns false where the log has no room for it.
fn submit(
    journal: &Journal,
    id: CaptureId,
    entry: &Entry<'_>,
    in_flight: &mut VecDeque<Position>,
) -> bool {
    let position = journal.submit(id, entry.stream, entry.kind, entry.bytes);
    in_flight.extend(position.as_ref().ok());
    position.is_ok()
}
