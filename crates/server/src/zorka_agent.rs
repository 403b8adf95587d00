//! Playing Zorka's agents: symbols first, then the traces that need them; what a collector refuses is sent again, with all symbols of
//! its session before it and under a new trace id, as agents do (SPEC.md §5 of the format).

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, RETRY_AFTER};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::post::PostOptions;
use crate::{Error, Latencies, Ledger, Stop};

/// Times that a post is tried, as agents try it.
const TRIES: u32 = 11;
/// Wait before the second try; it doubles with each.
const FIRST_WAIT: Duration = Duration::from_millis(125);
/// Longest wait before a try.
const LONGEST_WAIT: Duration = Duration::from_secs(8);
/// Time for a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// Time for an answer: an agent's own.
const ANSWER: Duration = Duration::from_secs(60);
/// Bytes of an answer that are read.
const MOST: usize = 64 << 10;
/// The content type that agents of every generation send.
const KIND: &str = "application/zorka+cbor+v1";

/// A generation of agents: what they call a session, and how they get one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentGeneration {
    /// 2017: a session from `/agent/auth`, bodies in base64.
    Zico,
    /// 2018 to 2019-04: registered, with a session.
    Registered,
    /// Since 2019-05: a session of its own making.
    Current,
}

impl AgentGeneration {
    const fn session_header(self) -> &'static str {
        match self {
            Self::Zico => "X-ZICO-Session-UUID",
            Self::Registered => "X-Zorka-Session-UUID",
            Self::Current => "X-Zorka-Session-ID",
        }
    }

    const fn trace_header(self) -> &'static str {
        match self {
            Self::Zico => "X-ZICO-Trace-UUID",
            Self::Registered => "X-Zorka-Trace-UUID",
            Self::Current => "X-Zorka-Trace-ID",
        }
    }
}

/// What an agent posts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentPost {
    /// Definitions; `true` where the session begins anew with them.
    Symbols(Vec<u8>, bool),
    /// A trace, with the id that it was recorded under.
    Trace(Vec<u8>, Option<u128>),
}

/// The posts of one session in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSession {
    /// The generation of its agent.
    pub generation: AgentGeneration,
    /// Its name, as it was recorded.
    pub name: String,
    /// What is posted.
    pub posts: Vec<AgentPost>,
}

/// How agents are played.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// To whom, and with which key where the collector asks for one.
    pub to: PostOptions,
    /// Agents at a time; where there are several, or each sends more than once, sessions and traces have names of their own.
    pub agents: u32,
    /// Times that every session is sent, each as another one; `None` for no end.
    pub times: Option<u64>,
    /// Bytes of traces and symbols a second, of all agents together.
    pub rate: Option<u64>,
}

/// What became of the posts.
#[derive(Debug, Default)]
pub struct AgentsSent {
    /// A row for each session: bytes of traces that were acknowledged, and that were sent.
    pub ledger: Vec<Ledger>,
    /// Traces that were acknowledged.
    pub traces: u64,
    /// Posts that were acknowledged, and their bytes.
    pub posts: u64,
    /// Bytes of those.
    pub bytes: u64,
    /// The number of posts that were sent again.
    pub again: u64,
    /// Why agents ended early, a sentence each.
    pub failures: Vec<String>,
    /// Times to an acknowledgement.
    pub answers: Latencies,
}

/// Posts every session from every agent, until the end or `stop`.
///
/// # Errors
/// When the system gives no threads.
pub fn send_as_agents(
    options: &AgentOptions,
    sessions: Vec<AgentSession>,
    stop: &Stop,
) -> Result<AgentsSent, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Error::new(format!("no threads: {error}")))?;
    let sessions: Arc<[AgentSession]> = sessions.into();
    runtime.block_on(async {
        let mut agents = JoinSet::new();
        for _ in 0..options.agents {
            let mut agent = PostingAgent::new(options.clone(), sessions.clone());
            let mut stopped = stop.watch();
            agents.spawn(async move {
                let ended = tokio::select! {
                    ended = agent.run() => ended,
                    _ = stopped.wait_for(|stopped| *stopped) => Ok(()),
                };
                (agent, ended)
            });
        }
        let mut sent = AgentsSent::default();
        while let Some(joined) = agents.join_next().await {
            match joined {
                Ok((agent, ended)) => {
                    sent.failures.extend(ended.err());
                    sent.add(agent.sent);
                }
                Err(error) => sent.failures.push(error.to_string()),
            }
        }
        sent.failures.sort();
        Ok(sent)
    })
}

impl AgentsSent {
    fn add(&mut self, other: Self) {
        self.ledger.extend(other.ledger);
        self.traces += other.traces;
        self.posts += other.posts;
        self.bytes += other.bytes;
        self.again += other.again;
        self.failures.extend(other.failures);
        self.answers.merge(&other.answers);
    }
}

struct PostingAgent {
    options: AgentOptions,
    sessions: Arc<[AgentSession]>,
    connection: Option<SendRequest<Full<Bytes>>>,
    started: Instant,
    /// Bytes that were posted, again or not.
    posted: u64,
    sent: AgentsSent,
}

/// A session that is being sent.
struct SendingSession<'s> {
    recorded: &'s AgentSession,
    name: String,
    /// It has the names that it was recorded with.
    as_recorded: bool,
    /// Definitions since it began, as far as they were posted.
    symbols: Vec<&'s [u8]>,
}

/// Why a post was not taken.
struct RefusedPost {
    sentence: String,
    wait: Option<Duration>,
}

impl PostingAgent {
    fn new(options: AgentOptions, sessions: Arc<[AgentSession]>) -> Self {
        Self {
            options,
            sessions,
            connection: None,
            started: Instant::now(),
            posted: 0,
            sent: AgentsSent::default(),
        }
    }

    async fn run(&mut self) -> Result<(), String> {
        let sessions = self.sessions.clone();
        let as_recorded = self.options.agents == 1 && self.options.times == Some(1);
        let mut round = 0;
        while self.options.times.is_none_or(|times| round < times) {
            for recorded in sessions.iter() {
                self.send(recorded, as_recorded).await?;
            }
            round += 1;
        }
        Ok(())
    }

    async fn send(&mut self, recorded: &AgentSession, as_recorded: bool) -> Result<(), String> {
        let name = match as_recorded {
            true => recorded.name.clone(),
            false => format!("{:016x}", random()? as u64),
        };
        let mut session = SendingSession {
            recorded,
            name,
            as_recorded,
            symbols: Vec::new(),
        };
        if recorded.generation != AgentGeneration::Current {
            session.name = self.open(recorded.generation).await?;
        }
        self.sent.ledger.push(Ledger {
            instance: session.name.clone(),
            part: "traces".to_owned(),
            acknowledged: 0,
            sent: 0,
        });
        let mut is_new = true;
        for post in &recorded.posts {
            self.wait_for_rate().await;
            match post {
                AgentPost::Symbols(body, resets) => {
                    if *resets {
                        session.symbols.clear();
                    }
                    session.symbols.push(body);
                    let resets = *resets || std::mem::take(&mut is_new);
                    if let Err(refused) = self.symbols(&session, body, resets).await {
                        self.resend_until_taken(&mut session, None, refused).await?;
                    }
                }
                AgentPost::Trace(body, id) => {
                    if let Some(row) = self.sent.ledger.last_mut() {
                        row.sent += body.len() as u64;
                    }
                    let id = id.filter(|_| session.as_recorded);
                    let id = id.map_or_else(random, Ok)?;
                    match self.trace(&session, body, id).await {
                        Ok(()) => {}
                        Err(refused) => {
                            self.resend_until_taken(&mut session, Some(body), refused)
                                .await?
                        }
                    }
                    self.sent.traces += 1;
                    if let Some(row) = self.sent.ledger.last_mut() {
                        row.acknowledged += body.len() as u64;
                    }
                }
            }
        }
        Ok(())
    }

    /// Waits until the rate allows another post.
    async fn wait_for_rate(&self) {
        if let Some(rate) = self.options.rate {
            let rate = rate as f64 / f64::from(self.options.agents);
            let due = Duration::from_secs_f64(self.posted as f64 / rate);
            tokio::time::sleep_until(self.started + due).await;
        }
    }

    /// Sends all symbols of a session again, and then a trace that was refused, until they are taken.
    async fn resend_until_taken(
        &mut self,
        session: &mut SendingSession<'_>,
        trace: Option<&[u8]>,
        refused: RefusedPost,
    ) -> Result<(), String> {
        let mut refused = refused;
        let mut wait = FIRST_WAIT;
        for _ in 1..TRIES {
            tokio::time::sleep(refused.wait.unwrap_or(wait).min(LONGEST_WAIT)).await;
            wait *= 2;
            self.sent.again += 1;
            match self.resend_once(session, trace).await {
                Ok(()) => return Ok(()),
                Err(again) => refused = again,
            }
        }
        Err(format!("session {}: {}", session.name, refused.sentence))
    }

    async fn resend_once(
        &mut self,
        session: &mut SendingSession<'_>,
        trace: Option<&[u8]>,
    ) -> Result<(), RefusedPost> {
        let hopeless = |sentence| RefusedPost {
            sentence,
            wait: None,
        };
        if session.recorded.generation != AgentGeneration::Current {
            session.name = self
                .open(session.recorded.generation)
                .await
                .map_err(hopeless)?;
        }
        let symbols = std::mem::take(&mut session.symbols);
        let mut sent = Ok(());
        for (at, body) in symbols.iter().enumerate() {
            sent = self.symbols(session, body, at == 0).await;
            if sent.is_err() {
                break;
            }
        }
        session.symbols = symbols;
        sent?;
        match trace {
            // Nobody outside knows the id of a trace that begins here: agents take another one.
            Some(body) => self.trace(session, body, random().map_err(hopeless)?).await,
            None => Ok(()),
        }
    }

    async fn symbols(
        &mut self,
        session: &SendingSession<'_>,
        body: &[u8],
        resets: bool,
    ) -> Result<(), RefusedPost> {
        let generation = session.recorded.generation;
        let resets = match resets {
            true => "true",
            false => "false",
        };
        let mut headers = vec![(generation.session_header(), session.name.clone())];
        if generation == AgentGeneration::Current {
            headers.push(("X-Zorka-Session-Reset", resets.to_owned()));
        }
        self.submit("/agent/submit/agd", generation, &headers, body)
            .await
    }

    async fn trace(
        &mut self,
        session: &SendingSession<'_>,
        body: &[u8],
        id: u128,
    ) -> Result<(), RefusedPost> {
        let generation = session.recorded.generation;
        let mut headers = vec![(generation.session_header(), session.name.clone())];
        if generation == AgentGeneration::Current {
            headers.push(("X-Zorka-Session-Reset", "false".to_owned()));
        }
        headers.push((generation.trace_header(), format!("{id:032x}")));
        self.submit("/agent/submit/trc", generation, &headers, body)
            .await
    }

    async fn submit(
        &mut self,
        path: &'static str,
        generation: AgentGeneration,
        headers: &[(&str, String)],
        body: &[u8],
    ) -> Result<(), RefusedPost> {
        let wire = match generation {
            AgentGeneration::Zico => STANDARD.encode(body).into_bytes(),
            _ => body.to_vec(),
        };
        self.posted += body.len() as u64;
        let began = Instant::now();
        self.ask(Method::POST, path, KIND, headers, wire).await?;
        self.sent.answers.add(began.elapsed());
        self.sent.posts += 1;
        self.sent.bytes += body.len() as u64;
        Ok(())
    }

    /// Asks for a session, as agents before [`AgentGeneration::Current`] do.
    async fn open(&mut self, generation: AgentGeneration) -> Result<String, String> {
        let key = self.options.to.authorization.as_deref().unwrap_or_default();
        let key = key.trim_start_matches("Bearer ").to_owned();
        let failed = |refused: RefusedPost| format!("no session: {}", refused.sentence);
        if generation == AgentGeneration::Zico {
            let id = format!("{:032x}", random()?);
            let headers = [("X-ZICO-Agent-UUID", id), ("X-ZICO-Auth-Key", key)];
            let session = self.ask(Method::GET, "/agent/auth", KIND, &headers, Vec::new());
            let session = session.await.map_err(failed)?;
            return String::from_utf8(session).map_err(|error| error.to_string());
        }
        const JSON: &str = "application/json";
        let agent = json!({"rkey": key, "name": "traceloom", "app": "traceloom", "env": "test"});
        let agent = agent.to_string().into_bytes();
        let agent = self.ask(Method::POST, "/agent/register", JSON, &[], agent);
        let agent: Value = serde_json::from_slice(&agent.await.map_err(failed)?)
            .map_err(|error| format!("no registration: {error}"))?;
        let asked = json!({"uuid": agent["uuid"], "id": agent["id"], "authkey": agent["authkey"]});
        let asked = asked.to_string().into_bytes();
        let session = self.ask(Method::POST, "/agent/session", JSON, &[], asked);
        let session: Value = serde_json::from_slice(&session.await.map_err(failed)?)
            .map_err(|error| format!("no session: {error}"))?;
        let session = session["session"].as_str();
        session
            .map(str::to_owned)
            .ok_or_else(|| "no session in the answer".to_owned())
    }

    /// Sends a request and returns the body of an answer below 300.
    async fn ask(
        &mut self,
        method: Method,
        path: &str,
        kind: &str,
        headers: &[(&str, String)],
        body: Vec<u8>,
    ) -> Result<Vec<u8>, RefusedPost> {
        let to = self.options.to.to;
        let lost = |error: &dyn std::fmt::Display| RefusedPost {
            sentence: format!("the connection to {to} broke: {error}"),
            wait: None,
        };
        let mut request = Request::builder().method(method).uri(path);
        request = request
            .header(HOST, &self.options.to.host)
            .header(CONTENT_TYPE, kind);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        if let Some(authorization) = &self.options.to.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| lost(&error))?;
        let mut connection = match self.connection.take().filter(|known| !known.is_closed()) {
            Some(known) => known,
            None => self.connect().await.map_err(|error| lost(&error))?,
        };
        let answered = timeout(ANSWER, async {
            connection.ready().await?;
            connection.send_request(request).await
        });
        let answer = match answered.await {
            Ok(answer) => answer.map_err(|error| lost(&error))?,
            Err(_) => return Err(lost(&io::Error::from(io::ErrorKind::TimedOut))),
        };
        let status = answer.status();
        let wait = answer.headers().get(RETRY_AFTER);
        let wait = wait.and_then(|wait| wait.to_str().ok()?.parse().ok());
        let said = Limited::new(answer.into_body(), MOST).collect();
        let said = timeout(ANSWER, said).await.ok().and_then(Result::ok);
        let said = said
            .map(|said| said.to_bytes().to_vec())
            .unwrap_or_default();
        self.connection = Some(connection);
        if status < StatusCode::MULTIPLE_CHOICES {
            return Ok(said);
        }
        Err(RefusedPost {
            sentence: format!(
                "the collector answers {status}: {}",
                String::from_utf8_lossy(&said).trim()
            ),
            wait: wait.map(Duration::from_secs),
        })
    }

    async fn connect(&self) -> io::Result<SendRequest<Full<Bytes>>> {
        let connected = timeout(CONNECT, TcpStream::connect(self.options.to.to)).await;
        let socket = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
        let _ = socket.set_nodelay(true);
        match &self.options.to.tls {
            None => begin_http(socket).await,
            Some(tls) => {
                let secured = timeout(CONNECT, tls.connect(socket)).await;
                begin_http(secured.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?).await
            }
        }
    }
}

/// Begins to speak HTTP over a connection.
async fn begin_http(
    socket: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
) -> io::Result<SendRequest<Full<Bytes>>> {
    let (sender, connection) = http1::handshake(TokioIo::new(socket))
        .await
        .map_err(io::Error::other)?;
    tokio::spawn(connection);
    Ok(sender)
}

/// Returns the random name of a session or trace.
fn random() -> Result<u128, String> {
    let mut bits = [0; 16];
    let filled = getrandom::fill(&mut bits);
    filled.map_err(|error| format!("the system has no random bytes: {error}"))?;
    Ok(u128::from_le_bytes(bits))
}
