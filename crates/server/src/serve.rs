//! Listeners, and the way from start to end.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinSet;
use traceloom_formats::protocol::Protocol;
use traceloom_input::captures::{CaptureId, DataFolder};

use crate::connection::{Connection, Shared};
use crate::journal::Journal;
use crate::{Counts, Error, Stop, files};

/// How to run a collector.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its data folder.
    pub data: PathBuf,
    /// Where it listens.
    pub listeners: Vec<Listen>,
    /// It may listen where other machines reach it, although senders do not say who they are.
    pub allow_remote: bool,
    /// Connections at a time.
    pub connections: usize,
    /// Namespaces whose senders are told to stop.
    pub unwanted: Vec<String>,
    /// Time that connections have for their end once the collector is asked to stop.
    pub grace: Duration,
}

/// A listener.
#[derive(Clone, Debug)]
pub struct Listen {
    /// What is spoken.
    pub protocol: &'static Protocol,
    /// Where.
    pub address: SocketAddr,
}

/// What a collector says while it runs, a line each.
type Say<'s> = dyn FnMut(&str) + 's;

/// Collects until `stop`, and returns what it did.
///
/// `listening` gets a line for each listener, which says how to send to it; `event` what an operator should know.
///
/// # Errors
/// When the data folder is used by another collector or damaged, an address cannot be had, or a write or sync of the
/// log failed: then nothing was acknowledged since, and a new start recovers the log.
pub fn serve(
    options: &Options,
    stop: &Stop,
    listening: &mut Say<'_>,
    event: &mut Say<'_>,
) -> Result<Arc<Counts>, Error> {
    for listener in &options.listeners {
        let address = listener.address;
        if !address.ip().is_loopback() && !options.allow_remote {
            return Err(Error::new(format!(
                "{address} can be reached from other machines, and senders of {} do not say who they are: \
                 --allow-remote listens there all the same",
                listener.protocol.name
            )));
        }
    }
    let folder = DataFolder::create(&options.data)?;
    let _lock = folder.lock()?;
    let (journal, recovered) = Journal::open(&folder.log())?;
    if let Some(torn) = &recovered.torn {
        event(&format!(
            "segment {} ended in {} bytes of an interrupted write at offset {:#x}, which nobody was told was safe",
            torn.segment, torn.bytes, torn.offset
        ));
    }
    let connections = files::allow(options.connections);
    if connections < options.connections {
        event(&format!(
            "the system lets this process open files for {connections} connections, not {}; `ulimit -Hn` raises that",
            options.connections
        ));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Error::new(format!("no threads: {error}")))?;
    let journal = Arc::new(journal);
    let counts = Arc::new(Counts::default());
    let collector = Collector {
        options,
        connections,
        incarnation: recovered.incarnation,
        journal: journal.clone(),
        counts: counts.clone(),
    };
    let ended = runtime.block_on(collector.run(stop, listening, event));
    // Tasks hold the log: they are gone when this returns.
    runtime.shutdown_timeout(Duration::from_secs(1));
    let failure = journal.failure();
    if let Some(journal) = Arc::into_inner(journal)
        && failure.is_none()
    {
        journal.close()?;
    }
    ended?;
    match failure {
        Some(failure) => Err(Error::new(format!(
            "the log failed, and nothing was acknowledged since: {failure}"
        ))),
        None => Ok(counts),
    }
}

struct Collector<'o> {
    options: &'o Options,
    /// Connections at a time, as far as the system allows.
    connections: usize,
    incarnation: u64,
    journal: Arc<Journal>,
    counts: Arc<Counts>,
}

impl Collector<'_> {
    async fn run(
        self,
        stop: &Stop,
        listening: &mut Say<'_>,
        event: &mut Say<'_>,
    ) -> Result<(), Error> {
        let mut accepting = JoinSet::new();
        let (connected, mut connections) = tokio::sync::mpsc::channel(16);
        for listener in &self.options.listeners {
            let protocol = listener.protocol;
            let bound = TcpListener::bind(listener.address).await;
            let bound = bound.and_then(|socket| Ok((socket.local_addr()?, socket)));
            let (address, socket) = bound.map_err(|error| {
                Error::new(format!(
                    "{} cannot listen on {}: {error}",
                    protocol.name, listener.address
                ))
            })?;
            listening(&format!(
                "{name} on {address}: {settings}, or: traceloom send FILE --to {name}://{address}",
                name = protocol.name,
                settings = (protocol.settings)(&address.ip().to_string(), address.port())
            ));
            let shared = Arc::new(Shared {
                protocol,
                journal: self.journal.clone(),
                counts: self.counts.clone(),
                unwanted: self.options.unwanted.clone(),
            });
            let connected = connected.clone();
            accepting.spawn(async move {
                loop {
                    match socket.accept().await {
                        Ok((socket, peer)) => {
                            if connected
                                .send((shared.clone(), socket, peer))
                                .await
                                .is_err()
                            {
                                return;
                            }
                        }
                        // No more files, or a client that went: the next try is soon enough.
                        Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                    }
                }
            });
        }
        drop(connected);

        let mut stopped = stop.watch();
        let mut progress = self.journal.progress();
        let mut sessions = JoinSet::new();
        let mut running = HashMap::new();
        let mut n_sessions = 0_u64;
        let unpredictable = RandomState::new();
        while !*stopped.borrow_and_update() && self.journal.failure().is_none() {
            tokio::select! {
                Some((shared, socket, peer)) = connections.recv() => {
                    if sessions.len() >= self.connections {
                        Counts::add(&self.counts.refused, 1);
                        continue;
                    }
                    n_sessions += 1;
                    Counts::add(&self.counts.sessions, 1);
                    let id = CaptureId::new(self.incarnation, n_sessions);
                    let half = |at: u8| u128::from(unpredictable.hash_one((id.session(), at)));
                    let seed = half(0) << 64 | half(1);
                    let connection = Connection::new(shared, id, socket, seed);
                    let task = sessions.spawn(connection.run(peer.to_string(), stop.watch()));
                    running.insert(task.id(), id);
                }
                Some(ended) = sessions.join_next_with_id() => self.ended(ended, &mut running, event),
                _ = progress.changed() => {}
                _ = stopped.changed() => {}
            }
        }
        accepting.abort_all();
        // A log that failed ends every session, those too that wait for nothing.
        stop.now();
        let until = tokio::time::Instant::now() + self.options.grace;
        loop {
            tokio::select! {
                ended = sessions.join_next_with_id() => match ended {
                    Some(ended) => self.ended(ended, &mut running, event),
                    None => break,
                },
                () = tokio::time::sleep_until(until) => {
                    event(&format!(
                        "{} connections did not end in time and are cut; what they were told is safe is safe",
                        sessions.len()
                    ));
                    break;
                }
            }
        }
        sessions.shutdown().await;
        Ok(())
    }

    /// Learns that a session's task ended; a panic is a bug that ends its session alone.
    fn ended(
        &self,
        ended: Result<(tokio::task::Id, ()), tokio::task::JoinError>,
        running: &mut HashMap<tokio::task::Id, CaptureId>,
        event: &mut Say<'_>,
    ) {
        let (task, panicked) = match &ended {
            Ok((task, ())) => (*task, false),
            Err(error) => (error.id(), error.is_panic()),
        };
        let id = running.remove(&task);
        if panicked {
            self.counts.ended("bug");
            let id = id.map(|id| id.to_string()).unwrap_or_default();
            event(&format!(
                "a bug in traceloom ended capture {id}; the others go on: please report it"
            ));
        }
    }
}
