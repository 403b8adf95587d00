//! Listeners, and the way from start to end.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_rustls::server::TlsStream;
use traceloom_formats::protocol::Protocol;
use traceloom_input::captures::DataFolder;

use crate::agent_commands::LiveAgents;
use crate::audit::{Actor, Audit, AuditFile};
use crate::connection::{Connection, Shared};
use crate::counts::ListenerCounts;
use crate::datagrams::DatagramListener;
use crate::facts::{self, FactsQueue, FactsShared};
use crate::followed::FollowedFile;
use crate::forward::Forwarder;
use crate::http::{self, Agents, Http, Uploads};
use crate::journal::Journal;
use crate::log_events::{EventLog, Level, LogEvent, PrintedEvents};
use crate::observer::Observer;
use crate::posts::Posts;
use crate::pull::Puller;
use crate::seal::{Resumer, SealThread, SealedBeside, Told};
use crate::session_ids::SessionIds;
use crate::settings::{HttpOptions, Listen, Options, check, tls_keys};
use crate::tls::{Socket, TlsKeys, handshake};
use crate::tokens::Tokens;
use crate::{Counts, Error, Stop, files};

/// Takes a line for each listener.
type Say<'s> = dyn FnMut(&str) + 's;
/// Takes what an operator should know.
type SayEvent<'s> = dyn FnMut(&LogEvent) + 's;

fn warn(text: impl Into<String>) -> LogEvent {
    LogEvent::new(Level::Warn, text)
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
    event: &mut SayEvent<'_>,
) -> Result<Arc<Counts>, Error> {
    check(options)?;
    let event = &mut |told: &LogEvent| {
        if told.level >= options.log_level {
            event(told);
        }
    };
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
        event(&LogEvent::new(
            Level::Info,
            format!(
                "segment {} ended in {} bytes of an interrupted write at offset {:#x}, which nobody was told was safe",
                torn.segment, torn.bytes, torn.offset
            ),
        ));
    }
    let connections = files::allow(options.connections);
    if connections < options.connections {
        event(&warn(format!(
            "the system lets this process open files for {connections} connections, not {}; `ulimit -Hn` raises that",
            options.connections
        )));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Error::new(format!("no threads: {error}")))?;
    let journal = Arc::new(journal);
    let counts = Arc::new(Counts::default());
    let (log, printed) = EventLog::new(options.log_level);
    let failures = log.clone();
    let audit = Audit::start(AuditFile::of(folder.path()), move |failed| {
        failures.say(Level::Warn, || warn(failed));
    })?;
    let audit = Arc::new(audit);
    let observer = Observer {
        log,
        audit: audit.clone(),
    };
    let (resumer, resumes) = Resumer::new();
    let collector = Collector {
        options,
        observer,
        resumer,
        connections,
        ids: Arc::new(SessionIds::new(recovered.incarnation)),
        journal: journal.clone(),
        counts: counts.clone(),
        keys,
    };
    let ids = collector.ids.clone();
    let posts = Posts::open(&folder, journal.clone(), ids, options.forgets_repeats)?;
    let (tell, told) = mpsc::unbounded_channel();
    let tell_reload = tell.clone();
    let keep_out = Arc::default();
    let beside = SealedBeside {
        journal: journal.clone(),
        counts: counts.clone(),
        audit,
        resumes,
        facts: facts_queue(options, &folder, &counts, &keep_out, tell.clone())?,
        keep_out,
    };
    let sealing = SealThread::start(
        folder,
        options.seal.clone(),
        recovered.incarnation,
        beside,
        Box::new(move |what| drop(tell.send(what))),
    )?;
    let said = Said { told, printed };
    let ended =
        runtime.block_on(collector.run(tokens, posts, stop, (tell_reload, said), listening, event));
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

/// Starts what decodes sealed captures, where somebody answers questions about them.
fn facts_queue(
    options: &Options,
    folder: &DataFolder,
    counts: &Arc<Counts>,
    keep_out: &Arc<AtomicBool>,
    tell: mpsc::UnboundedSender<Told>,
) -> Result<Option<FactsQueue>, Error> {
    let Some(answers) = options.answers.clone() else {
        return Ok(None);
    };
    let shared = FactsShared {
        folder: folder.clone(),
        answers,
        counts: counts.clone(),
        keep_out: keep_out.clone(),
        tell: Box::new(move |text| drop(tell.send(Told::Event(text)))),
    };
    facts::start(shared).map(Some)
}

/// What threads and sessions say.
struct Said {
    told: mpsc::UnboundedReceiver<Told>,
    printed: PrintedEvents,
}

struct Collector<'o> {
    options: &'o Options,
    observer: Observer,
    resumer: Resumer,
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
        (tell, mut said): (mpsc::UnboundedSender<Told>, Said),
        listening: &mut Say<'_>,
        event: &mut SayEvent<'_>,
    ) -> Result<(), Error> {
        let mut ended = Ok(());
        let mut accepting = JoinSet::new();
        let (connected, mut connections) = mpsc::channel(16);
        let mut send_to = Vec::new();
        let live_agents = Arc::<LiveAgents>::default();
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
                agents: live_agents.clone(),
                observer: self.observer.clone(),
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
            live_agents,
            observer: self.observer.clone(),
            resumer: self.resumer.clone(),
            forwarder: self.forwarder(tell.clone())?,
            input_tags: self.options.input_tags.as_str().into(),
            tenants: http::tenants(self.options.tenant_bytes),
            bodies: http::room_for_bodies(),
            looks: http::turns_to_look(),
            data: self.options.data.clone(),
            answers: self.options.answers.clone(),
            send_to: send_to.into(),
            workers: http::Workers::default(),
            kept: Arc::default(),
            sessions: Arc::default(),
            is_tls: false,
            settings: Arc::new(self.options.settings.clone()),
            shown: Arc::new(self.options.shown.clone()),
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
        for (protocol, path) in &self.options.followed {
            receiving.push(self.follow(protocol, path, stop, listening)?);
        }
        let mut pulling = self.pull(&http, stop, listening);
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
                        let reason = "too_many_connections";
                        purpose.counts().refused.add(reason);
                        let who = Actor::peer(&peer.to_string(), None);
                        self.observer.refused(who, purpose.name(), reason);
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
                                    Some(keys) => {
                                        let name = shared.protocol.captures.name;
                                        let refused = |reason: &str| shared.observer.refused(Actor::peer(&peer.to_string(), None), name, reason);
                                        secure(&keys, None, socket, stop.clone(), &shared.counts, refused).await.map(Socket::from)
                                    }
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
                                        let refused = |reason: &str| http.observer.refused(Actor::peer(&peer.to_string(), None), version.name(), reason);
                                        if let Some(socket) = secure(&keys, version.alpn(), socket, stop.clone(), &http.counts, refused).await {
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
                Some(ended) = pulling.join_next() => if ended.is_err() {
                    let text = "a bug in traceloom ended the pulling of profiles from a program: please report it";
                    event(&LogEvent::new(Level::Error, text));
                },
                Some(told) = said.printed.next() => event(&told),
                Some(told) = said.told.recv() => match told {
                    Told::Event(text) => event(&warn(text)),
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
                    event(&warn(format!(
                        "{} connections did not end in time and are cut; what they were told is safe is safe",
                        sessions.len()
                    )));
                    break;
                }
            }
        }
        sessions.shutdown().await;
        // What is being pulled is not acknowledged to anybody.
        pulling.shutdown().await;
        for thread in receiving {
            if thread.join().is_err() {
                event(&LogEvent::new(
                    Level::Error,
                    "a bug in traceloom ended a receiver of datagrams or of a file: please report it",
                ));
            }
        }
        http.uploads
            .sweep(&self.journal, "collector_stopped", true)
            .await;
        http.posts.end().await;
        while let Some(told) = said.printed.pending() {
            event(&told);
        }
        ended
    }

    /// Starts what sends points on, if that is asked for.
    fn forwarder(
        &self,
        tell: mpsc::UnboundedSender<Told>,
    ) -> Result<Option<Arc<Forwarder>>, Error> {
        let Some((forward, answers)) = self
            .options
            .forward
            .clone()
            .zip(self.options.answers.clone())
        else {
            return Ok(None);
        };
        let (data, counts) = (self.options.data.clone(), self.counts.clone());
        let told: crate::forward::Tell = Box::new(move |text| drop(tell.send(Told::Event(text))));
        Forwarder::start(forward, data, answers, counts, told).map(|one| Some(Arc::new(one)))
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

    /// Starts pulling profiles.
    fn pull(&self, http: &Http, stop: &Stop, listening: &mut Say<'_>) -> JoinSet<()> {
        let mut pulling = JoinSet::new();
        for target in &self.options.pulled {
            listening(&target.sentence());
            let http = Arc::new(Http {
                counts: self.counts.listener("pull"),
                ..http.clone()
            });
            let puller = Puller::new(target.clone(), http);
            pulling.spawn(puller.run(stop.watch()));
        }
        pulling
    }

    /// Starts the thread that receives a file as it grows.
    fn follow(
        &self,
        protocol: &'static Protocol,
        path: &std::path::Path,
        stop: &Stop,
        listening: &mut Say<'_>,
    ) -> Result<std::thread::JoinHandle<()>, Error> {
        let name = protocol.captures.name;
        let file = FollowedFile {
            path: path.to_owned(),
            protocol,
            data: self.options.data.clone(),
            journal: self.journal.clone(),
            ids: self.ids.clone(),
            counts: self.counts.listener("file"),
            observer: self.observer.clone(),
            resumer: self.resumer.clone(),
            stop: stop.clone(),
        };
        listening(&format!("{name} from {}: as it grows", path.display()));
        let thread = std::thread::Builder::new().name("file".to_owned());
        let thread = thread.spawn(move || file.run());
        thread.map_err(|error| Error::new(format!("no threads: {error}")))
    }

    /// Learns that a session's task ended; a panic is a bug that ends its session alone.
    fn ended(
        &self,
        ended: Result<(tokio::task::Id, ()), tokio::task::JoinError>,
        running: &mut HashMap<tokio::task::Id, (String, Arc<ListenerCounts>)>,
        event: &mut SayEvent<'_>,
    ) {
        let (task, panicked) = match &ended {
            Ok((task, ())) => (*task, false),
            Err(error) => (error.id(), error.is_panic()),
        };
        let known = running.remove(&task);
        if let (true, Some((what, counts))) = (panicked, known) {
            counts.ended.add("bug");
            event(&LogEvent::new(
                Level::Error,
                format!("a bug in traceloom ended {what}; the others go on: please report it"),
            ));
        }
    }
}
