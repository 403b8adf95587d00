//! Listeners, and the way from start to end.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_rustls::server::TlsStream;
use traceloom_formats::protocol::Protocol;
use traceloom_input::captures::DataFolder;

use crate::connection::{Connection, Shared};
use crate::counts::ListenerCounts;
use crate::datagrams::DatagramListener;
use crate::http::{self, Agents, Http, Uploads};
use crate::journal::Journal;
use crate::posts::Posts;
use crate::questions::Answers;
use crate::seal::{SealRules, SealThread, Told};
use crate::session_ids::SessionIds;
use crate::tls::{Socket, TlsKeys, TlsOptions, handshake};
use crate::tokens::Tokens;
use crate::{Counts, Error, Stop, files};

/// How to run a collector.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its data folder.
    pub data: PathBuf,
    /// Where it listens.
    pub listeners: Vec<Listen>,
    /// Where datagrams are received, in protocols that have them.
    pub datagrams: Vec<Listen>,
    /// Where HTTP is spoken.
    pub http: Option<HttpOptions>,
    /// OpenTelemetry's exporters over gRPC, if they are listened to.
    pub otlp_grpc: Option<HttpOptions>,
    /// Bytes that an upload may have.
    pub upload_bytes: u64,
    /// Who answers questions about what was received.
    pub answers: Option<Answers>,
    /// It may listen where other machines reach it, although senders do not say who they are.
    pub allow_remote: bool,
    /// Connections at a time.
    pub connections: usize,
    /// Namespaces whose senders are told to stop.
    pub unwanted: Vec<String>,
    /// Time that connections have for their end once the collector is asked to stop.
    pub grace: Duration,
    /// When captures are sealed, and how long they are kept.
    pub seal: SealRules,
    /// Keys of the listeners that speak TLS.
    pub tls: Option<TlsOptions>,
    /// The settings as an operator knows them, by name; pages show them.
    pub settings: serde_json::Value,
}

/// A listener.
#[derive(Clone, Debug)]
pub struct Listen {
    /// What is spoken.
    pub protocol: &'static Protocol,
    /// Where.
    pub address: SocketAddr,
    /// It speaks TLS.
    pub tls: bool,
}

/// The HTTP side.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Where it listens.
    pub address: SocketAddr,
    /// It speaks TLS.
    pub tls: bool,
    /// Requests need a token on this machine too; from other machines they always do.
    pub requires_token: bool,
}

/// What a collector says while it runs, a line each.
type Say<'s> = dyn FnMut(&str) + 's;

/// Checks settings before anything is made or opened.
///
/// # Errors
/// When other machines would reach what does not ask who they are, a data folder is none, or TLS has no usable keys.
pub fn check(options: &Options) -> Result<(), Error> {
    tls_keys(options)?;
    let asks_for_certificates = options
        .tls
        .as_ref()
        .is_some_and(|tls| tls.client_ca.is_some());
    for listener in options.listeners.iter().chain(&options.datagrams) {
        let address = listener.address;
        let is_known = listener.tls && asks_for_certificates;
        if !address.ip().is_loopback() && !options.allow_remote && !is_known {
            return Err(Error::new(format!(
                "{address} can be reached from other machines, and senders of {} do not say who they are: \
                 --tls-client-ca asks them for certificates, and --allow-remote listens there all the same",
                listener.protocol.captures.name
            )));
        }
    }
    for http in options.http.iter().chain(&options.otlp_grpc) {
        let is_known = http.address.ip().is_loopback() || (http.tls && asks_for_certificates);
        if !is_known && !has_token(&options.data)? {
            return Err(Error::new(format!(
                "{} can be reached from other machines, and there is no token: `traceloom token add NAME --data {}` makes one",
                http.address,
                options.data.display()
            )));
        }
    }
    Ok(())
}

/// Reads the keys for TLS, if any listener speaks it.
fn tls_keys(options: &Options) -> Result<Option<TlsKeys>, Error> {
    let listeners = options
        .listeners
        .iter()
        .map(|listener| (listener.address, listener.tls));
    let http = options.http.iter().chain(&options.otlp_grpc);
    let http = http.map(|http| (http.address, http.tls));
    let speaks = listeners.chain(http).find(|(_, tls)| *tls);
    match (&options.tls, speaks) {
        (Some(tls), _) => TlsKeys::load(tls).map(Some),
        (None, None) => Ok(None),
        (None, Some((address, _))) => Err(Error::new(format!(
            "{address} is to speak TLS, and has no certificate: --tls-cert and --tls-key name one"
        ))),
    }
}

/// Returns `true` if a data folder has a token; one that is not there yet has none.
fn has_token(data: &Path) -> Result<bool, Error> {
    if !data.exists() {
        return Ok(false);
    }
    Ok(!Tokens::open(&DataFolder::open(data)?)?.list().is_empty())
}

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
    check(options)?;
    let keys = tls_keys(options)?.map(Arc::new);
    let folder = DataFolder::create(&options.data)?;
    let tokens = Tokens::open(&folder)?;
    let _lock = folder.lock()?;
    let (journal, recovered) = Journal::open(
        &folder,
        options.seal.log_bytes,
        options.seal.segment_bytes(),
    )?;
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
        ids: Arc::new(SessionIds::new(recovered.incarnation)),
        journal: journal.clone(),
        counts: counts.clone(),
        keys,
    };
    let posts = Posts::open(&folder, journal.clone(), collector.ids.clone())?;
    let (tell, told) = mpsc::unbounded_channel();
    let tell_reload = tell.clone();
    let sealing = SealThread::start(
        folder,
        options.seal.clone(),
        recovered.incarnation,
        journal.clone(),
        counts.clone(),
        Box::new(move |what| drop(tell.send(what))),
    )?;
    let ended =
        runtime.block_on(collector.run(tokens, posts, stop, (tell_reload, told), listening, event));
    drop(sealing);
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
    ids: Arc<SessionIds>,
    journal: Arc<Journal>,
    counts: Arc<Counts>,
    keys: Option<Arc<TlsKeys>>,
}

/// What a connection is for.
#[derive(Clone)]
enum Purpose {
    Session(Arc<Shared>),
    Requests(Arc<Http>, Router, http::Version),
}

impl Purpose {
    fn counts(&self) -> &ListenerCounts {
        match self {
            Self::Session(shared) => &shared.counts,
            Self::Requests(http, ..) => &http.counts,
        }
    }
}

/// A connection that was taken.
type Arrival = (Purpose, Option<Arc<TlsKeys>>, TcpStream, SocketAddr);

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
                let arrival = (purpose.clone(), keys.clone(), socket, peer);
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
) -> Option<TlsStream<TcpStream>> {
    let done = tokio::select! {
        done = handshake(keys, alpn, socket) => done,
        _ = stop.wait_for(|stopped| *stopped) => Err("collector_stopped"),
    };
    done.map_err(|reason| counts.refused.add(reason)).ok()
}

/// Returns a listening socket and its address.
async fn bind(name: &str, address: SocketAddr) -> Result<(TcpListener, SocketAddr), Error> {
    let bound = TcpListener::bind(address).await;
    let bound = bound.and_then(|socket| Ok((socket.local_addr()?, socket)));
    let (at, socket) =
        bound.map_err(|error| Error::new(format!("{name} cannot listen on {address}: {error}")))?;
    Ok((socket, at))
}

impl Collector<'_> {
    async fn run(
        self,
        tokens: Tokens,
        posts: Posts,
        stop: &Stop,
        (tell, mut told): (mpsc::UnboundedSender<Told>, mpsc::UnboundedReceiver<Told>),
        listening: &mut Say<'_>,
        event: &mut Say<'_>,
    ) -> Result<(), Error> {
        let mut ended = Ok(());
        let mut accepting = JoinSet::new();
        let (connected, mut connections) = mpsc::channel(16);
        let mut send_to = Vec::new();
        for listener in &self.options.listeners {
            let protocol = listener.protocol;
            let name = protocol.captures.name;
            let (socket, address) = bind(name, listener.address).await?;
            let settings = (protocol.settings)(&address.ip().to_string(), address.port());
            listening(&match listener.tls {
                false => format!(
                    "{name} on {address}: {settings}, or: traceloom send FILE --to {name}://{address}"
                ),
                true => format!(
                    "{name} over TLS on {address}: traceloom send FILE --to {name}s://{address} --tls-ca CA"
                ),
            });
            let shared = Arc::new(Shared {
                protocol,
                journal: self.journal.clone(),
                counts: self.counts.listener(name),
                unwanted: self.options.unwanted.clone(),
            });
            let purpose = Purpose::Session(shared);
            let scheme = if listener.tls { "s" } else { "" };
            send_to.push((name, format!("{name}{scheme}://{address}")));
            let keys = self.keys.clone().filter(|_| listener.tls);
            accepting.spawn(accept(socket, purpose, keys, connected.clone()));
        }
        let http = Http {
            journal: self.journal.clone(),
            ids: self.ids.clone(),
            counts: Arc::default(),
            all_counts: self.counts.clone(),
            tokens: Arc::new(tokens),
            stop: stop.clone(),
            requires_token: true,
            is_loopback: false,
            uploads: Arc::new(Uploads::new(self.options.upload_bytes)),
            posts: Arc::new(posts),
            agents: Arc::new(Agents::default()),
            bodies: http::room_for_bodies(),
            looks: http::turns_to_look(),
            data: self.options.data.clone(),
            answers: self.options.answers,
            send_to: send_to.into(),
            workers: http::Workers::default(),
            kept: Arc::default(),
            sessions: Arc::default(),
            is_tls: false,
            settings: Arc::new(self.options.settings.clone()),
        };
        let sides = [
            (&self.options.http, http::Version::Http1),
            (&self.options.otlp_grpc, http::Version::Http2),
        ];
        for (options, version) in sides {
            let Some(options) = options else { continue };
            let name = version.name();
            let (socket, address) = bind(name, options.address).await?;
            let keys = self.keys.clone().filter(|_| options.tls);
            listening(&version.settings(address, options.tls));
            let http = Arc::new(self.listener(&http, options, name, address));
            let routes = match version {
                http::Version::Http1 => http::routes(&http),
                http::Version::Http2 => http::grpc_routes(&http),
            };
            let purpose = Purpose::Requests(http, routes, version);
            accepting.spawn(accept(socket, purpose, keys, connected.clone()));
        }
        let mut receiving = Vec::new();
        for listener in &self.options.datagrams {
            receiving.extend(self.receive(listener, stop, listening)?);
        }
        drop(connected);
        if let Some(keys) = &self.keys {
            let told = move |text| drop(tell.send(Told::Event(text)));
            accepting.spawn(keys.clone().watch(self.counts.tls.clone(), told));
        }

        let mut stopped = stop.watch();
        let mut progress = self.journal.progress();
        let mut sessions = JoinSet::new();
        let mut running = HashMap::new();
        let unpredictable = RandomState::new();
        while !*stopped.borrow_and_update() && self.journal.failure().is_none() {
            tokio::select! {
                Some((purpose, keys, socket, peer)) = connections.recv() => {
                    if sessions.len() >= self.connections {
                        purpose.counts().refused.add("too_many_connections");
                        continue;
                    }
                    purpose.counts().sessions.add(1);
                    match purpose {
                        Purpose::Session(shared) => {
                            let id = self.ids.next();
                            let half = |at: u8| u128::from(unpredictable.hash_one((id.session(), at)));
                            let seed = half(0) << 64 | half(1);
                            let counts = shared.counts.clone();
                            let stop = stop.watch();
                            let task = sessions.spawn(async move {
                                let socket = match keys {
                                    None => Some(Socket::Plain(socket)),
                                    Some(keys) => secure(&keys, None, socket, stop.clone(), &shared.counts).await.map(Socket::from),
                                };
                                if let Some(socket) = socket {
                                    let connection = Connection::new(shared, id, socket, seed);
                                    connection.run(peer.to_string(), stop).await;
                                }
                            });
                            running.insert(task.id(), (format!("capture {id}"), counts));
                        }
                        Purpose::Requests(http, routes, version) => {
                            let counts = http.counts.clone();
                            let stop = stop.watch();
                            let _ = socket.set_nodelay(true);
                            let task = sessions.spawn(async move {
                                match keys {
                                    None => http::converse(routes, version, socket, peer, stop).await,
                                    Some(keys) => {
                                        if let Some(socket) = secure(&keys, version.alpn(), socket, stop.clone(), &http.counts).await {
                                            http::converse(routes, version, socket, peer, stop).await;
                                        }
                                    }
                                }
                            });
                            running.insert(task.id(), (format!("the connection of {peer}"), counts));
                        }
                    }
                }
                Some(ended) = sessions.join_next_with_id() => self.ended(ended, &mut running, event),
                Some(told) = told.recv() => match told {
                    Told::Event(text) => event(&text),
                    Told::Failed(error) => {
                        ended = Err(error);
                        break;
                    }
                },
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
        for thread in receiving {
            if thread.join().is_err() {
                event("a bug in traceloom ended the receiver of datagrams: please report it");
            }
        }
        http.uploads
            .sweep(&self.journal, "collector_stopped", true)
            .await;
        http.posts.sweep(true).await;
        ended
    }

    /// Returns what the requests of a listener share.
    fn listener(
        &self,
        http: &Http,
        options: &HttpOptions,
        name: &'static str,
        address: SocketAddr,
    ) -> Http {
        let is_loopback = address.ip().is_loopback();
        let tls = self.options.tls.as_ref().filter(|_| options.tls);
        let asks_for_certificates = tls.is_some_and(|tls| tls.client_ca.is_some());
        Http {
            counts: self.counts.listener(name),
            requires_token: options.requires_token || !(is_loopback || asks_for_certificates),
            is_loopback,
            is_tls: options.tls,
            ..http.clone()
        }
    }

    /// Starts the thread that receives the datagrams of a listener.
    fn receive(
        &self,
        listener: &Listen,
        stop: &Stop,
        listening: &mut Say<'_>,
    ) -> Result<Option<std::thread::JoinHandle<()>>, Error> {
        let (protocol, address) = (listener.protocol, listener.address);
        let name = protocol.captures.name;
        let Some(rules) = protocol.datagrams else {
            return Ok(None);
        };
        let failed = |error: std::io::Error| {
            Error::new(format!(
                "{name} cannot receive datagrams on {address}: {error}"
            ))
        };
        let socket = UdpSocket::bind(address).map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let receiver = DatagramListener {
            socket,
            protocol,
            rules,
            journal: self.journal.clone(),
            ids: self.ids.clone(),
            counts: self.counts.listener(rules.name),
            stop: stop.clone(),
        };
        receiver.prepare()?;
        listening(&format!(
            "{name} over UDP on {address}: whole packets, one or more a datagram"
        ));
        let thread = std::thread::Builder::new().name("datagrams".to_owned());
        thread
            .spawn(move || receiver.run())
            .map(Some)
            .map_err(failed)
    }

    /// Learns that a session's task ended; a panic is a bug that ends its session alone.
    fn ended(
        &self,
        ended: Result<(tokio::task::Id, ()), tokio::task::JoinError>,
        running: &mut HashMap<tokio::task::Id, (String, Arc<ListenerCounts>)>,
        event: &mut Say<'_>,
    ) {
        let (task, panicked) = match &ended {
            Ok((task, ())) => (*task, false),
            Err(error) => (error.id(), error.is_panic()),
        };
        let known = running.remove(&task);
        if let (true, Some((what, counts))) = (panicked, known) {
            counts.ended.add("bug");
            event(&format!(
                "a bug in traceloom ended {what}; the others go on: please report it"
            ));
        }
    }
}
