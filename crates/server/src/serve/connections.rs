//! Connections: taken by listeners, held to their end.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::{self, JoinSet};
use tokio_rustls::server::TlsStream;
use traceloom_input::captures::CaptureId;

use super::{SayEvent, warn};
use crate::Stop;
use crate::audit::Actor;
use crate::connection::{Connection, Shared};
use crate::counts::{ListenerCounts, TlsCounts};
use crate::http::{self, Http};
use crate::log_events::{Level, LogEvent};
use crate::observer::Observer;
use crate::session_ids::SessionIds;
use crate::tls::{Socket, TlsKeys, handshake};

/// What a connection is for.
#[derive(Clone)]
pub(super) enum Purpose {
    Session(Arc<Shared>),
    Requests(Arc<Http>, Router, http::Version),
}

impl Purpose {
    fn name(&self) -> &'static str {
        match self {
            Self::Session(shared) => shared.protocol.captures.name,
            Self::Requests(_, _, version) => version.name(),
        }
    }

    fn counts(&self) -> &ListenerCounts {
        match self {
            Self::Session(shared) => &shared.counts,
            Self::Requests(http, ..) => &http.counts,
        }
    }
}

/// A connection that was taken.
pub(super) struct Arrival {
    purpose: Purpose,
    keys: Option<Arc<TlsKeys>>,
    socket: TcpStream,
    peer: SocketAddr,
}

impl Arrival {
    /// Closes it at once.
    pub(super) fn refuse(self, reason: &'static str, observer: &Observer) {
        self.purpose.counts().refused.add(reason);
        let who = Actor::peer(&self.peer.to_string(), None);
        observer.refused(who, self.purpose.name(), reason);
    }
}

/// The tasks that take connections, one a listener.
pub(super) struct Acceptors {
    tasks: JoinSet<()>,
    connected: mpsc::Sender<Arrival>,
}

impl Acceptors {
    /// Returns them and what they take.
    pub(super) fn new() -> (Self, mpsc::Receiver<Arrival>) {
        let (connected, arrivals) = mpsc::channel(16);
        let tasks = JoinSet::new();
        (Self { tasks, connected }, arrivals)
    }

    /// Takes the connections of a listener.
    pub(super) fn accept(
        &mut self,
        socket: TcpListener,
        purpose: Purpose,
        keys: Option<Arc<TlsKeys>>,
    ) {
        let connected = self.connected.clone();
        self.tasks.spawn(accept(socket, purpose, keys, connected));
    }

    /// Reads certificates again when they change.
    pub(super) fn watch_keys(
        &mut self,
        keys: Arc<TlsKeys>,
        counts: Arc<TlsCounts>,
        told: impl Fn(String) + Send + 'static,
    ) {
        self.tasks.spawn(keys.watch(counts, told));
    }

    /// Closes the listeners.
    pub(super) fn close(&mut self) {
        self.tasks.abort_all();
    }
}

/// Takes connections until the collector ends.
async fn accept(
    socket: TcpListener,
    purpose: Purpose,
    keys: Option<Arc<TlsKeys>>,
    connected: mpsc::Sender<Arrival>,
) {
    loop {
        match socket.accept().await {
            Ok((socket, peer)) => {
                let (purpose, keys) = (purpose.clone(), keys.clone());
                let arrival = Arrival {
                    purpose,
                    keys,
                    socket,
                    peer,
                };
                if connected.send(arrival).await.is_err() {
                    return;
                }
            }
            // No more files, or a client that went: the next try is soon enough.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Does the handshake of TLS; counts why there is no connection.
async fn secure(
    keys: &TlsKeys,
    alpn: Option<&[u8]>,
    socket: TcpStream,
    mut stop: watch::Receiver<bool>,
    counts: &ListenerCounts,
    refused: impl FnOnce(&str),
) -> Option<TlsStream<TcpStream>> {
    let done = tokio::select! {
        done = handshake(keys, alpn, socket) => done,
        _ = stop.wait_for(|stopped| *stopped) => Err("collector_stopped"),
    };
    let done = done.map_err(|reason| {
        counts.refused.add(reason);
        refused(reason);
    });
    done.ok()
}

/// The connections that are open, each in a task of its own.
pub(super) struct OpenConnections {
    tasks: JoinSet<()>,
    /// What each task is called, and where its end is counted.
    named: HashMap<task::Id, (String, Arc<ListenerCounts>)>,
    ids: Arc<SessionIds>,
    /// Secrets of sessions come from it.
    unpredictable: RandomState,
}

/// The end of a task: a panic is an error.
pub(super) type TaskEnd = Result<(task::Id, ()), task::JoinError>;

impl OpenConnections {
    pub(super) fn new(ids: Arc<SessionIds>) -> Self {
        Self {
            tasks: JoinSet::new(),
            named: HashMap::new(),
            ids,
            unpredictable: RandomState::new(),
        }
    }

    /// Returns the number of open connections.
    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Starts the task of a connection.
    pub(super) fn start(&mut self, arrival: Arrival, stop: &Stop) {
        let Arrival {
            purpose,
            keys,
            socket,
            peer,
        } = arrival;
        purpose.counts().sessions.add(1);
        match purpose {
            Purpose::Session(shared) => {
                let id = self.ids.next();
                let half = |at: u8| u128::from(self.unpredictable.hash_one((id.session(), at)));
                let seed = half(0) << 64 | half(1);
                let counts = shared.counts.clone();
                let task = converse(shared, (id, seed), keys, socket, peer, stop.watch());
                self.spawn(format!("capture {id}"), counts, task);
            }
            Purpose::Requests(http, routes, version) => {
                let counts = http.counts.clone();
                let _ = socket.set_nodelay(true);
                let task = answer(http, (routes, version), keys, socket, peer, stop.watch());
                self.spawn(format!("the connection of {peer}"), counts, task);
            }
        }
    }

    fn spawn(
        &mut self,
        name: String,
        counts: Arc<ListenerCounts>,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        let task = self.tasks.spawn(task);
        self.named.insert(task.id(), (name, counts));
    }

    /// Waits for the next task to end; `None` when there is none.
    pub(super) async fn next_ended(&mut self) -> Option<TaskEnd> {
        self.tasks.join_next_with_id().await
    }

    /// Learns that a task ended; a panic is a bug that ends its connection alone.
    pub(super) fn ended(&mut self, ended: TaskEnd, event: &mut SayEvent<'_>) {
        let (task, panicked) = match &ended {
            Ok((task, ())) => (*task, false),
            Err(error) => (error.id(), error.is_panic()),
        };
        let known = self.named.remove(&task);
        if let (true, Some((what, counts))) = (panicked, known) {
            counts.ended.add("bug");
            event(&LogEvent::new(
                Level::Error,
                format!("a bug in traceloom ended {what}; the others go on: please report it"),
            ));
        }
    }

    /// Waits for the connections to end; cuts those that are open after `grace`.
    pub(super) async fn drain(&mut self, grace: Duration, event: &mut SayEvent<'_>) {
        let until = tokio::time::Instant::now() + grace;
        loop {
            tokio::select! {
                ended = self.tasks.join_next_with_id() => match ended {
                    Some(ended) => self.ended(ended, event),
                    None => break,
                },
                () = tokio::time::sleep_until(until) => {
                    event(&warn(format!(
                        "{} connections did not end in time and are cut; what they were told is safe is safe",
                        self.tasks.len()
                    )));
                    break;
                }
            }
        }
        self.tasks.shutdown().await;
    }
}

/// Speaks a profiler's own protocol on a connection, to its end.
async fn converse(
    shared: Arc<Shared>,
    (id, seed): (CaptureId, u128),
    keys: Option<Arc<TlsKeys>>,
    socket: TcpStream,
    peer: SocketAddr,
    stop: watch::Receiver<bool>,
) {
    let peer = peer.to_string();
    let socket = match keys {
        None => Some(Socket::Plain(socket)),
        Some(keys) => {
            let name = shared.protocol.captures.name;
            let refused = |reason: &str| {
                let who = Actor::peer(&peer, None);
                shared.observer.refused(who, name, reason);
            };
            let secured = secure(&keys, None, socket, stop.clone(), &shared.counts, refused);
            secured.await.map(Socket::from)
        }
    };
    if let Some(socket) = socket {
        let connection = Connection::new(shared, id, socket, seed);
        connection.run(peer, stop).await;
    }
}

/// Answers the requests of a connection, to its end.
async fn answer(
    http: Arc<Http>,
    (routes, version): (Router, http::Version),
    keys: Option<Arc<TlsKeys>>,
    socket: TcpStream,
    peer: SocketAddr,
    stop: watch::Receiver<bool>,
) {
    let Some(keys) = keys else {
        return http::converse(routes, version, socket, peer, stop).await;
    };
    let refused = |reason: &str| {
        let who = Actor::peer(&peer.to_string(), None);
        http.observer.refused(who, version.name(), reason);
    };
    let alpn = version.alpn();
    let secured = secure(&keys, alpn, socket, stop.clone(), &http.counts, refused);
    if let Some(socket) = secured.await {
        http::converse(routes, version, socket, peer, stop).await;
    }
}
