//! Playing senders: load, demonstrations, and tests that know what was acknowledged.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWrite as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;
use traceloom_formats::Part;
use traceloom_formats::protocol::{Identity, Protocol, Sender};
use traceloom_model::bounds::in_memory;

use crate::tls::{Socket, TlsClient};
use crate::{Error, Latencies};

/// What is sent: parts of one recording with their bytes.
#[derive(Debug)]
pub struct Streams {
    /// The parts.
    pub parts: Vec<Part>,
    /// The bytes of each.
    pub bytes: Vec<Vec<u8>>,
}

/// How to send.
#[derive(Clone, Debug)]
pub struct SendOptions {
    /// What is spoken.
    pub protocol: &'static Protocol,
    /// To whom.
    pub to: SocketAddr,
    /// How TLS is spoken, where it is.
    pub tls: Option<TlsClient>,
    /// Who sends; each agent has a number and the time behind its instance.
    pub identity: Identity,
    /// Connections at a time.
    pub agents: u32,
    /// Bytes a second of all agents together, who begin within a second; as fast as possible without.
    pub rate: Option<u64>,
    /// Times that every part is sent, behind itself; `None` for no end.
    pub times: Option<u64>,
    /// Each agent begins elsewhere in the parts: all send different bytes, which are no recording.
    pub stagger: bool,
}

/// What a collector acknowledged of one stream of one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    /// Instance of the agent.
    pub instance: String,
    /// Part that it sent.
    pub part: String,
    /// Bytes acknowledged, from the beginning.
    pub acknowledged: u64,
    /// Bytes sent.
    pub sent: u64,
}

/// What became of all agents.
#[derive(Debug, Default)]
pub struct Sent {
    /// A row for each stream of each agent.
    pub ledger: Vec<Ledger>,
    /// Why agents ended early, a sentence each.
    pub failures: Vec<String>,
    /// Times from a request to acknowledge everything to its answer.
    pub flushes: Latencies,
}

/// Bytes between the places where two agents begin: in no number of agents a multiple of a chunk's.
const STAGGER: u64 = 1_000_003;
/// Time within which all agents of a rate begin, one after another.
const DELAYS: Duration = Duration::from_secs(1);

/// Sends from every agent to its end, or until `stop`.
///
/// # Errors
/// When the parts are none that the protocol sends, or the system gives no threads.
pub fn send(options: &SendOptions, streams: Streams, stop: &crate::Stop) -> Result<Sent, Error> {
    // Asked once, for a sentence in place of one an agent.
    let first = (options.protocol.sender)(&options.identity, &streams.parts);
    first.map_err(|error| Error::new(error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Error::new(format!("no threads: {error}")))?;
    let agents = in_memory(options.agents);
    let allowed = crate::files::allow(agents);
    if allowed < agents {
        return Err(Error::new(format!(
            "the system lets this process open files for {allowed} connections, not {agents}"
        )));
    }
    let streams = Arc::new(streams);
    runtime.block_on(async {
        let mut agents = JoinSet::new();
        for number in 0..options.agents {
            let agent = PlayedAgent::new(number, options, streams.clone());
            let mut stopped = stop.watch();
            agents.spawn(async move {
                let mut agent = agent;
                let ended = tokio::select! {
                    ended = agent.run() => ended,
                    _ = stopped.wait_for(|stopped| *stopped) => Ok(()),
                };
                (agent, ended)
            });
        }
        let mut sent = Sent::default();
        while let Some(joined) = agents.join_next().await {
            match joined {
                Ok((agent, ended)) => {
                    if let Err(error) = ended {
                        let failure = format!("{}: {error}", agent.identity.instance);
                        sent.failures.push(failure);
                    }
                    sent.ledger.extend(agent.ledger());
                    sent.flushes.merge(&agent.flushed);
                }
                Err(error) => sent.failures.push(error.to_string()),
            }
        }
        sent.ledger
            .sort_by(|a, b| (&a.instance, &a.part).cmp(&(&b.instance, &b.part)));
        sent.failures.sort();
        Ok(sent)
    })
}

/// Closes this end and waits for the other one: a collector closes its own when it has stored everything.
pub(crate) async fn end_of_stream(socket: &mut Socket) -> io::Result<()> {
    /// Time for what is on its way.
    const PATIENCE: Duration = Duration::from_secs(30);
    while socket.has_pending() {
        socket.writable().await?;
        match socket.flush() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
    }
    socket.say_goodbye();
    let tcp = socket.tcp();
    std::future::poll_fn(|context| Pin::new(&mut *tcp).poll_shutdown(context)).await?;
    let closed = async {
        let mut answer = [0; 64];
        loop {
            socket.readable().await?;
            match socket.try_read(&mut answer) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    };
    match tokio::time::timeout(PATIENCE, closed).await {
        Ok(closed) => closed,
        Err(_) => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the collector did not close it",
        )),
    }
}

struct PlayedAgent {
    identity: Identity,
    protocol: &'static Protocol,
    to: SocketAddr,
    tls: Option<TlsClient>,
    streams: Arc<Streams>,
    /// Bytes of each part that were taken for sending.
    sent: Vec<u64>,
    acknowledged: Vec<u64>,
    times: Option<u64>,
    /// Bytes a second of this agent.
    rate: Option<f64>,
    /// Time that it waits first: agents of a rate that send in step would send bursts.
    delay: Duration,
    /// Where in each part it begins.
    first: u64,
    /// When each request to flush that is not answered was made.
    flushing: VecDeque<Instant>,
    flushed: Latencies,
}

impl PlayedAgent {
    fn new(number: u32, options: &SendOptions, streams: Arc<Streams>) -> Self {
        let mut identity = options.identity.clone();
        let now_ms = crate::journal::unix_ns() / 1_000_000;
        identity.instance = format!("{}-{number}_{now_ms}", identity.instance);
        Self {
            identity,
            protocol: options.protocol,
            to: options.to,
            tls: options.tls.clone(),
            sent: vec![0; streams.parts.len()],
            acknowledged: vec![0; streams.parts.len()],
            streams,
            times: options.times,
            rate: options
                .rate
                .map(|rate| rate as f64 / f64::from(options.agents)),
            delay: match options.rate {
                Some(_) => DELAYS.mul_f64(f64::from(number) / f64::from(options.agents)),
                None => Duration::ZERO,
            },
            first: match options.stagger {
                true => u64::from(number) * STAGGER,
                false => 0,
            },
            flushing: VecDeque::new(),
            flushed: Latencies::default(),
        }
    }

    fn ledger(&self) -> impl Iterator<Item = Ledger> + '_ {
        let parts = self.streams.parts.iter();
        let counts = self.sent.iter().zip(&self.acknowledged);
        parts
            .zip(counts)
            .map(|(part, (&sent, &acknowledged))| Ledger {
                instance: self.identity.instance.clone(),
                part: part.name.clone(),
                acknowledged,
                sent,
            })
    }

    async fn run(&mut self) -> Result<(), String> {
        tokio::time::sleep(self.delay).await;
        let parts = &self.streams.parts;
        let sender = (self.protocol.sender)(&self.identity, parts);
        let mut sender = sender.map_err(|error| error.to_string())?;
        self.converse(&mut *sender).await
    }

    async fn converse(&mut self, sender: &mut dyn Sender) -> Result<(), String> {
        let lost = |error: io::Error| format!("the connection is lost: {error}");
        let socket = TcpStream::connect(self.to).await;
        let socket = socket.map_err(|error| format!("no collector at {}: {error}", self.to))?;
        let _ = socket.set_nodelay(true);
        let mut socket = match &self.tls {
            None => Socket::Plain(socket),
            Some(tls) => {
                let secured = tls.connect(socket).await;
                let failed = |error| format!("no TLS with {}: {error}", self.to);
                Socket::from(secured.map_err(failed)?)
            }
        };
        let start = Instant::now();
        let mut window = vec![0; 16 << 10];
        let mut filled = 0;
        loop {
            let due = self.put(sender, start);
            self.time_flushes(sender);
            while !sender.output().is_empty() {
                match socket.try_write(sender.output()) {
                    Ok(n_bytes) => sender.sent(n_bytes),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(lost(error)),
                }
            }
            match socket.flush() {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(lost(error)),
                _ => {}
            }
            let has_output = !sender.output().is_empty() || socket.has_pending();
            if sender.is_finished() && !has_output {
                socket.say_goodbye();
                return match self.protocol.acknowledges {
                    true => Ok(()),
                    false => end_of_stream(&mut socket).await.map_err(lost),
                };
            }
            if !self.protocol.acknowledges && due.is_none() && !has_output {
                // No answer will say that there is room: there is.
                tokio::task::yield_now().await;
                continue;
            }
            let timer = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                ready = socket.readable() => {
                    ready.map_err(lost)?;
                    let room = window.get_mut(filled..).unwrap_or_default();
                    match socket.try_read(room) {
                        Ok(0) => return Err("the collector closed the connection".to_owned()),
                        Ok(n_bytes) => filled += n_bytes,
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        Err(error) => return Err(lost(error)),
                    }
                    let replies = window.get(..filled).unwrap_or_default();
                    let read = sender.read(replies);
                    // An agent that is stopped ends at any wait: the ledger has what was told until then.
                    self.acknowledged.copy_from_slice(sender.acknowledged());
                    self.time_flushes(sender);
                    let used = read.map_err(|error| error.to_string())?;
                    window.copy_within(used..filled, 0);
                    filled -= used;
                }
                ready = socket.writable(), if has_output => ready.map_err(lost)?,
                () = timer => {}
            }
        }
    }

    /// Notes when requests to flush are made and answered.
    fn time_flushes(&mut self, sender: &dyn Sender) {
        let (asked, answered) = sender.flushes();
        let n_answered = self.flushed.count();
        let n_asked = n_answered + self.flushing.len() as u64;
        if (asked, answered) == (n_asked, n_answered) {
            return;
        }
        let now = Instant::now();
        self.flushing.extend((n_asked..asked).map(|_| now));
        for _ in n_answered..answered {
            let since = self.flushing.pop_front().unwrap_or(now);
            self.flushed.add(now - since);
        }
    }

    /// Hands the sender what it takes, a turn for each part; returns when the rate allows more.
    fn put(&mut self, sender: &mut dyn Sender, start: Instant) -> Option<Instant> {
        /// Bytes of a part at a turn.
        const TURN: usize = 16 << 10;
        /// Bytes that wait for the socket.
        const MOST_OUTPUT: usize = 64 << 10;
        let mut moved = true;
        while moved && sender.output().len() < MOST_OUTPUT {
            moved = false;
            if let Some(rate) = self.rate {
                let total: u64 = self.sent.iter().sum();
                let due = start + Duration::from_secs_f64(total as f64 / rate);
                if due > Instant::now() {
                    return Some(due);
                }
            }
            for (part, bytes) in self.streams.bytes.iter().enumerate() {
                let Some(sent) = self.sent.get_mut(part) else {
                    continue;
                };
                let length = bytes.len() as u64;
                let end = self
                    .times
                    .map_or(u64::MAX, |times| length.saturating_mul(times));
                if length == 0 || *sent >= end {
                    continue;
                }
                let at = usize::try_from((self.first + *sent) % length).unwrap_or(0);
                let rest = bytes.get(at..).unwrap_or_default();
                let taken = sender.put(part, rest.get(..TURN).unwrap_or(rest));
                *sent += taken as u64;
                moved |= taken > 0;
            }
        }
        let is_all = |(bytes, &sent): (&Vec<u8>, &u64)| {
            let end = self
                .times
                .map(|times| times.saturating_mul(bytes.len() as u64));
            bytes.is_empty() || end.is_some_and(|end| sent >= end)
        };
        if self.streams.bytes.iter().zip(&self.sent).all(is_all) {
            sender.finish();
        }
        None
    }
}
