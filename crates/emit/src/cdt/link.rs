//! A connection to a collector (protocol V2).

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::conversation::{LinkAnswer, LinkConversation};
use super::drain::DumpDrain;
use super::params::DeclaredParams;
use super::streams::{DumpStream, StreamStore};
use crate::calls::buffer::CallBuffer;
use crate::calls::bytes::Readiness;
use crate::calls::{RecorderState, TraceOutput, sealed::Drains};
use crate::clock;
use crate::engine::{Drain, SharedState, socket};

/// Bytes of requests that wait for the socket, and units that wait for an acknowledgement, before nothing is added.
const MOST_BYTES: usize = 256 << 10;
const MOST_UNITS: usize = 4096;

/// A collector hears from the agent this often, and answers in this time.
const BETWEEN_FLUSHES: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection to a collector such as `traceloom serve`, whose port is 1715.
///
/// A connection is a start of the process for the collector: it has streams of its own, and its name ends in the time at which it
/// was made. One that breaks is made anew, once a second: open calls begin anew there, and calls that the collector has not
/// acknowledged are counted as dropped. Files of trace and calls begin anew where the collector asks for it.
///
/// ```no_run
/// use traceloom_emit::{Options, Recorder, cdt};
///
/// let collector = cdt::CollectorLink::connect("127.0.0.1:1715", "shop", "backend", "backend-1")?;
/// let recorder = Recorder::start(collector.indexed(&["user"]), Options::default())?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct CollectorLink {
    peer: SocketAddr,
    socket: TcpStream,
    labels: ProcessLabels,
    rotate: u64,
    params: DeclaredParams,
}

/// Who the process is.
#[derive(Debug)]
struct ProcessLabels {
    namespace: String,
    service: String,
    pod: String,
}

/// Bytes of a name that a collector takes.
const LONGEST_NAME: usize = 900;

impl CollectorLink {
    /// Connects to a collector, for a process that is known by the names of its namespace, its service and its pod.
    ///
    /// # Errors
    /// When nobody listens there, or a name is empty or longer than 900 bytes.
    pub fn connect(
        peer: impl ToSocketAddrs,
        namespace: &str,
        service: &str,
        pod: &str,
    ) -> io::Result<Self> {
        let is_name = |name: &&str| (1..=LONGEST_NAME).contains(&name.len());
        if ![namespace, service, pod].iter().all(is_name) {
            let error = "names have 1 to 900 bytes";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
        }
        let (peer, socket) = socket::connect_any(peer)?;
        Ok(Self {
            peer,
            socket,
            labels: ProcessLabels {
                namespace: namespace.to_owned(),
                service: service.to_owned(),
                // The last underscore stands before the time.
                pod: pod.replace('_', "-"),
            },
            rotate: u64::MAX,
            params: DeclaredParams::default(),
        })
    }

    /// Begins files of trace and calls anew at a size in bytes, if the collector does not ask for less.
    #[must_use]
    pub fn rotate_at(mut self, bytes: u64) -> Self {
        self.rotate = bytes;
        self
    }

    /// Names attributes that are copied to the rows of calls, where readers filter by them.
    #[must_use]
    pub fn indexed(mut self, names: &[&str]) -> Self {
        self.params.indexed = names.iter().map(|&name| name.to_owned()).collect();
        self
    }

    /// Names attributes whose values are written once for many calls, such as statements. Those that are [indexed](Self::indexed) are not.
    #[must_use]
    pub fn deduplicated(mut self, names: &[&str]) -> Self {
        self.params.deduplicated = names.iter().map(|&name| name.to_owned()).collect();
        self
    }
}

impl TraceOutput for CollectorLink {}

impl Drains for CollectorLink {
    fn drain(self, state: RecorderState) -> Box<dyn Drain<CallBuffer>> {
        let mut store = LinkStore {
            shared: state.shared.clone(),
            peer: self.peer,
            labels: self.labels,
            rotate: self.rotate,
            socket: None,
            next_try: Instant::now(),
            conversation: LinkConversation::default(),
            phase: LinkPhase::Down,
            unconfirmed: VecDeque::new(),
            last_flush: Instant::now(),
        };
        store.begin(self.socket);
        DumpDrain::boxed(state, store, self.params)
    }
}

/// How far a connection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LinkPhase {
    Down,
    /// The collector does not want this process.
    Unwanted,
    Introduced,
    /// This stream is being opened, for the first time.
    Opening(DumpStream),
    /// All streams are open and nothing was sent.
    Open,
    Up,
    /// Another file of this stream is due.
    Rotating(DumpStream),
    /// It is there.
    Rotated(DumpStream),
}

struct LinkStore {
    shared: Arc<SharedState<CallBuffer>>,
    peer: SocketAddr,
    labels: ProcessLabels,
    rotate: u64,
    socket: Option<TcpStream>,
    next_try: Instant,
    conversation: LinkConversation,
    phase: LinkPhase,
    /// Calls by the number of the unit whose acknowledgement confirms them.
    unconfirmed: VecDeque<(u64, Arc<CallBuffer>, u64)>,
    last_flush: Instant,
}

impl LinkStore {
    /// Introduces the process on a new connection.
    fn begin(&mut self, socket: TcpStream) {
        let start = clock::since_1970() / 1_000_000;
        let ProcessLabels {
            namespace,
            service,
            pod,
        } = &self.labels;
        self.socket = Some(socket);
        self.conversation = LinkConversation::default();
        let pod = format!("{pod}_{start}");
        self.conversation.introduce(&pod, service, namespace);
        self.phase = LinkPhase::Introduced;
        self.last_flush = Instant::now();
    }

    /// Drops the connection: what was not confirmed is lost.
    fn down(&mut self) {
        self.socket = None;
        if self.phase != LinkPhase::Unwanted {
            self.phase = LinkPhase::Down;
        }
        self.next_try = Instant::now() + socket::BETWEEN_TRIES;
        self.lose_unconfirmed();
    }

    fn lose_unconfirmed(&mut self) {
        let now = self.shared.clock.now();
        for (_, owner, n_calls) in self.unconfirmed.drain(..) {
            owner.lose(n_calls, now);
        }
    }

    /// Reads answers and writes requests, as far as that goes without waiting.
    fn pump(&mut self) {
        let Some(socket) = &mut self.socket else {
            return;
        };
        let mut answers = Vec::new();
        let exchanged = self.conversation.exchange(socket, &mut answers);
        for answer in answers {
            self.answered(answer);
        }
        if exchanged.is_err() || self.conversation.waits_since(PATIENCE) {
            self.down();
        }
        self.settle();
    }

    fn answered(&mut self, answer: LinkAnswer) {
        match (answer, self.phase) {
            (LinkAnswer::Welcome, LinkPhase::Introduced) => self.open(DumpStream::ALL[0]),
            (LinkAnswer::Unwanted, _) => {
                self.phase = LinkPhase::Unwanted;
                self.down();
            }
            (LinkAnswer::Opened, LinkPhase::Opening(stream)) => {
                match DumpStream::ALL.get(stream.place() + 1) {
                    Some(&next) => self.open(next),
                    None => self.phase = LinkPhase::Open,
                }
            }
            (LinkAnswer::Opened, LinkPhase::Rotating(stream)) => {
                self.phase = LinkPhase::Rotated(stream);
            }
            (LinkAnswer::Welcome | LinkAnswer::Opened, _) => {}
        }
    }

    fn open(&mut self, stream: DumpStream) {
        self.conversation.open(stream, 0);
        self.phase = LinkPhase::Opening(stream);
    }

    /// Counts the calls that are confirmed as written.
    fn settle(&mut self) {
        let n_confirmed = self.conversation.n_confirmed;
        while let Some((unit, _, n_calls)) = self.unconfirmed.front()
            && *unit <= n_confirmed
        {
            self.shared.n_written.fetch_add(*n_calls, Ordering::AcqRel);
            self.unconfirmed.pop_front();
        }
    }

    /// Returns `true` if everything was sent and confirmed, and asks for that.
    fn is_settled(&mut self) -> bool {
        self.conversation.end_phrases();
        if self.conversation.n_units_waiting() > 0 && !self.conversation.is_flushing {
            self.conversation.flush();
            self.last_flush = Instant::now();
        }
        self.pump();
        self.conversation.is_settled()
    }
}

impl StreamStore for LinkStore {
    fn ready(&mut self) -> Readiness {
        if self.phase == LinkPhase::Down && Instant::now() >= self.next_try {
            self.next_try = Instant::now() + socket::BETWEEN_TRIES;
            if let Ok(socket) = socket::connect(self.peer) {
                self.begin(socket);
            }
        }
        self.pump();
        match self.phase {
            LinkPhase::Open => {
                self.phase = LinkPhase::Up;
                Readiness::New
            }
            LinkPhase::Up | LinkPhase::Rotating(_) | LinkPhase::Rotated(_) => Readiness::Ready,
            _ => Readiness::Wait,
        }
    }

    fn file(&self, stream: DumpStream) -> u32 {
        self.conversation.stream(stream).file()
    }

    fn size(&self, stream: DumpStream) -> u64 {
        self.conversation.stream(stream).size
    }

    fn is_full(&self, stream: DumpStream) -> bool {
        if let LinkPhase::Rotating(due) | LinkPhase::Rotated(due) = self.phase {
            return due == stream;
        }
        let stream = self.conversation.stream(stream);
        stream.size >= self.rotate.min(stream.most_bytes()) || stream.is_old()
    }

    fn rotate(&mut self, stream: DumpStream) -> bool {
        if self.phase == LinkPhase::Rotated(stream) {
            self.phase = LinkPhase::Up;
            return true;
        }
        // Collectors want everything acknowledged before.
        if self.phase != LinkPhase::Up || !self.is_settled() {
            return false;
        }
        // The connection may have broken meanwhile.
        if self.phase == LinkPhase::Up {
            let next = self.conversation.stream(stream).file();
            self.conversation.open(stream, next);
            self.phase = LinkPhase::Rotating(stream);
            self.pump();
        }
        false
    }

    fn put(&mut self, stream: DumpStream, bytes: &[u8]) {
        self.conversation.put(stream, bytes);
    }

    fn owe(&mut self, owner: &Arc<CallBuffer>, n_calls: u64) {
        let last_unit = self.conversation.n_sent;
        self.unconfirmed
            .push_back((last_unit, owner.clone(), n_calls));
    }

    fn flush(&mut self) -> bool {
        self.pump();
        let is_up = matches!(
            self.phase,
            LinkPhase::Up | LinkPhase::Rotating(_) | LinkPhase::Rotated(_)
        );
        is_up
            && self.conversation.n_bytes_waiting() < MOST_BYTES
            && self.conversation.n_units_waiting() < MOST_UNITS
    }

    fn is_confirmed(&mut self) -> bool {
        if self.phase == LinkPhase::Up && self.last_flush.elapsed() >= BETWEEN_FLUSHES {
            self.conversation.flush();
            self.last_flush = Instant::now();
        }
        let is_settled = self.is_settled();
        is_settled && self.phase == LinkPhase::Up
    }

    fn end(&mut self) {
        self.lose_unconfirmed();
    }

    fn finish(&mut self, until: Option<Instant>) {
        if let Some(socket) = self.socket.take() {
            self.conversation.close(socket, until);
        }
    }
}
