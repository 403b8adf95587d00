//! Listeners, and the way from start to end.

mod connections;

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use traceloom_formats::protocol::Protocol;
use traceloom_input::captures::DataFolder;

use crate::agent_commands::LiveAgents;
use crate::audit::{Audit, AuditFile};
use crate::catalog::Catalog;
use crate::connection::Shared;
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
use crate::seal::{Resumer, SealThread, SealedBeside, SealingEvent};
use crate::session_ids::SessionIds;
use crate::settings::{HttpOptions, Listen, Options, check, tls_keys};
use crate::tls::TlsKeys;
use crate::tokens::Tokens;
use crate::{Counts, Error, Stop, files};
use connections::{Acceptors, Arrival, OpenConnections, Purpose};

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
    let catalog = Catalog::beside(folder.clone(), journal.clone(), recovered.incarnation)?;
    let collector = RunningCollector {
        options,
        catalog: Arc::new(catalog),
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
    let said = Announcements { told, printed };
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
    tell: mpsc::UnboundedSender<SealingEvent>,
) -> Result<Option<FactsQueue>, Error> {
    let Some(answers) = options.answers.clone() else {
        return Ok(None);
    };
    let shared = FactsShared {
        folder: folder.clone(),
        answers,
        counts: counts.clone(),
        keep_out: keep_out.clone(),
        tell: Box::new(move |text| drop(tell.send(SealingEvent::Event(text)))),
    };
    facts::start(shared).map(Some)
}

/// What threads and sessions say.
struct Announcements {
    told: mpsc::UnboundedReceiver<SealingEvent>,
    printed: PrintedEvents,
}

struct RunningCollector<'o> {
    options: &'o Options,
    catalog: Arc<Catalog>,
    observer: Observer,
    resumer: Resumer,
    /// Connections at a time, as far as the system allows.
    connections: usize,
    ids: Arc<SessionIds>,
    journal: Arc<Journal>,
    counts: Arc<Counts>,
    keys: Option<Arc<TlsKeys>>,
}

/// Returns a listening socket and its address.
async fn bind(name: &str, address: SocketAddr) -> Result<(TcpListener, SocketAddr), Error> {
    let bound = TcpListener::bind(address).await;
    let bound = bound.and_then(|socket| Ok((socket.local_addr()?, socket)));
    let (at, socket) =
        bound.map_err(|error| Error::new(format!("{name} cannot listen on {address}: {error}")))?;
    Ok((socket, at))
}

/// A socket on which requests will be taken.
struct BoundForRequests<'o> {
    options: &'o HttpOptions,
    version: http::Version,
    socket: TcpListener,
    address: SocketAddr,
}

impl BoundForRequests<'_> {
    /// Returns the listener's name and its address as senders take it.
    fn send_to(&self) -> (&'static str, String) {
        let scheme = if self.options.tls { "https" } else { "http" };
        (self.version.name(), format!("{scheme}://{}", self.address))
    }
}

impl RunningCollector<'_> {
    async fn run(
        self,
        tokens: Tokens,
        posts: Posts,
        stop: &Stop,
        (tell, mut said): (mpsc::UnboundedSender<SealingEvent>, Announcements),
        listening: &mut Say<'_>,
        event: &mut SayEvent<'_>,
    ) -> Result<(), Error> {
        let (mut acceptors, mut arrivals) = Acceptors::new();
        let live_agents = Arc::<LiveAgents>::default();
        let send_to = self.listen_for_sessions(&live_agents, &mut acceptors, listening);
        let mut send_to = send_to.await?;
        let bound = self.bind_for_requests().await?;
        send_to.extend(bound.iter().map(BoundForRequests::send_to));
        let forwarder = self.forwarder(tell.clone())?;
        let http = Http {
            live_agents,
            forwarder,
            send_to: send_to.into(),
            ..self.http(tokens, posts, stop)
        };
        self.listen_for_requests(&http, bound, &mut acceptors, listening);
        let receiving = self.receive_beside(stop, listening)?;
        let mut pulling = self.pull(&http, stop, listening);
        if let Some(keys) = &self.keys {
            let told = move |text| drop(tell.send(SealingEvent::Event(text)));
            acceptors.watch_keys(keys.clone(), self.counts.tls.clone(), told);
        }
        let mut open = OpenConnections::new(self.ids.clone());
        let ended = self
            .take_arrivals(
                &mut arrivals,
                &mut open,
                &mut pulling,
                &mut said,
                stop,
                event,
            )
            .await;
        acceptors.close();
        // A log that failed ends every session, those too that wait for nothing.
        stop.now();
        open.drain(self.options.grace, event).await;
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

    /// Takes connections and tells events until the collector stops or its log fails.
    ///
    /// # Errors
    /// When the sealing thread failed.
    async fn take_arrivals(
        &self,
        arrivals: &mut mpsc::Receiver<Arrival>,
        open: &mut OpenConnections,
        pulling: &mut JoinSet<()>,
        said: &mut Announcements,
        stop: &Stop,
        event: &mut SayEvent<'_>,
    ) -> Result<(), Error> {
        let mut stopped = stop.watch();
        let mut progress = self.journal.progress();
        while !*stopped.borrow_and_update() && self.journal.failure().is_none() {
            tokio::select! {
                Some(arrival) = arrivals.recv() => {
                    if open.len() < self.connections {
                        open.start(arrival, stop);
                    } else {
                        arrival.refuse("too_many_connections", &self.observer);
                    }
                }
                Some(ended) = open.next_ended() => open.ended(ended, event),
                Some(ended) = pulling.join_next() => if ended.is_err() {
                    let text = "a bug in traceloom ended the pulling of profiles from a program: please report it";
                    event(&LogEvent::new(Level::Error, text));
                },
                Some(told) = said.printed.next() => event(&told),
                Some(told) = said.told.recv() => match told {
                    SealingEvent::Event(text) => event(&warn(text)),
                    SealingEvent::Failed(error) => return Err(error),
                },
                _ = progress.changed() => {}
                _ = stopped.changed() => {}
            }
        }
        Ok(())
    }

    /// Opens the listeners of the profilers' own protocols; returns how to send to each.
    async fn listen_for_sessions(
        &self,
        live_agents: &Arc<LiveAgents>,
        acceptors: &mut Acceptors,
        listening: &mut Say<'_>,
    ) -> Result<Vec<(&'static str, String)>, Error> {
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
                agents: live_agents.clone(),
                observer: self.observer.clone(),
            });
            let scheme = if listener.tls { "s" } else { "" };
            send_to.push((name, format!("{name}{scheme}://{address}")));
            let keys = self.keys.clone().filter(|_| listener.tls);
            acceptors.accept(socket, Purpose::Session(shared), keys);
        }
        Ok(send_to)
    }

    /// Opens the sockets of requests.
    async fn bind_for_requests(&self) -> Result<Vec<BoundForRequests<'_>>, Error> {
        let sides = [
            (&self.options.http, http::Version::Http1),
            (&self.options.otlp_grpc, http::Version::Http2),
        ];
        let mut bound = Vec::new();
        for (options, version) in sides {
            let Some(options) = options else { continue };
            let (socket, address) = bind(version.name(), options.address).await?;
            bound.push(BoundForRequests {
                options,
                version,
                socket,
                address,
            });
        }
        Ok(bound)
    }

    /// Takes requests from these sockets.
    fn listen_for_requests(
        &self,
        http: &Http,
        bound: Vec<BoundForRequests<'_>>,
        acceptors: &mut Acceptors,
        listening: &mut Say<'_>,
    ) {
        for side in bound {
            let (options, version) = (side.options, side.version);
            let keys = self.keys.clone().filter(|_| options.tls);
            listening(&version.settings(side.address, options.tls));
            let http = Arc::new(self.listener(http, options, version.name(), side.address));
            let routes = match version {
                http::Version::Http1 => http::routes(&http),
                http::Version::Http2 => http::grpc_routes(&http),
            };
            let purpose = Purpose::Requests(http, routes, version);
            acceptors.accept(side.socket, purpose, keys);
        }
    }

    /// Returns what the requests of every listener share.
    fn http(&self, tokens: Tokens, posts: Posts, stop: &Stop) -> Http {
        Http {
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
            live_agents: Arc::default(),
            observer: self.observer.clone(),
            resumer: self.resumer.clone(),
            forwarder: None,
            input_tags: self.options.input_tags.as_str().into(),
            tenants: http::tenants(self.options.tenant_bytes),
            bodies: http::room_for_bodies(),
            looks: http::turns_to_look(),
            catalog: self.catalog.clone(),
            data: self.options.data.clone(),
            answers: self.options.answers.clone(),
            send_to: Arc::default(),
            workers: http::Workers::default(),
            kept: Arc::default(),
            sessions: Arc::default(),
            is_tls: false,
            settings: Arc::new(self.options.settings.clone()),
            shown: Arc::new(self.options.shown.clone()),
        }
    }

    /// Starts the threads that receive datagrams and files as they grow.
    fn receive_beside(
        &self,
        stop: &Stop,
        listening: &mut Say<'_>,
    ) -> Result<Vec<std::thread::JoinHandle<()>>, Error> {
        let mut receiving = Vec::new();
        for listener in &self.options.datagrams {
            receiving.extend(self.receive(listener, stop, listening)?);
        }
        for (protocol, path) in &self.options.followed {
            receiving.push(self.follow(protocol, path, stop, listening)?);
        }
        Ok(receiving)
    }

    /// Starts what sends points on, if that is asked for.
    fn forwarder(
        &self,
        tell: mpsc::UnboundedSender<SealingEvent>,
    ) -> Result<Option<Arc<Forwarder>>, Error> {
        let Some((forward, answers)) = self
            .options
            .forward
            .clone()
            .zip(self.options.answers.clone())
        else {
            return Ok(None);
        };
        let (catalog, counts) = (self.catalog.clone(), self.counts.clone());
        let told: crate::forward::Tell =
            Box::new(move |text| drop(tell.send(SealingEvent::Event(text))));
        Forwarder::start(forward, catalog, answers, counts, told).map(|one| Some(Arc::new(one)))
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
}
