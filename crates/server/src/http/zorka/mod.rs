//! Zorka's agents: `POST /agent/submit/agd` with symbols, `/agent/submit/trc` with a trace that needs them.
//!
//! What an agent posts is kept as lines of request dumps, one file a session and capture. A session that is not known here, after a
//! restart or because its capture takes no more, is asked to begin anew in the protocol's own words: then every capture has the
//! symbols that its traces need. Agents before 2019-05 ask for their session first ([`register`]).

mod agents;
mod register;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Router};
use serde_json::json;
use traceloom_formats::zorka::{AgentSymbols, PostFault, post_line, posted_body};
use traceloom_input::captures::CaptureId;
use traceloom_input::captures::posts::ZORKA;
use traceloom_model::Limits;

use super::body::{DecodedBudget, receive_of};
use super::failure::{Failure, refused};
use super::guard::refuse_token;
use super::sender::{PostIdentity, Sender, text};
use super::{Http, Peer, answer};
use crate::journal::unix_ns;
use crate::posts::Post;
use crate::tokens::Right;
pub(crate) use agents::Agents;
use agents::Session;

/// Bytes of a body.
const MOST: usize = 32 << 20;
/// Bytes of a session's or trace's name.
const LONGEST_NAME: usize = 128;
/// Bytes that the definitions of a session may take.
const MOST_OF_SESSION: usize = 64 << 20;

const SYMBOLS: &str = "/agent/submit/agd";
const TRACE: &str = "/agent/submit/trc";
const RESET: &str = "X-Zorka-Session-Reset";
/// Headers that name a session and a trace, the newest first, and what tells an agent of their time to send again.
const GENERATIONS: [(&str, &str, StatusCode); 3] = [
    (
        "X-Zorka-Session-ID",
        "X-Zorka-Trace-ID",
        StatusCode::UNAUTHORIZED,
    ),
    (
        "X-Zorka-Session-UUID",
        "X-Zorka-Trace-UUID",
        StatusCode::PRECONDITION_FAILED,
    ),
    (
        "X-ZICO-Session-UUID",
        "X-ZICO-Trace-UUID",
        StatusCode::PRECONDITION_FAILED,
    ),
];

pub(super) fn routes() -> Router<Arc<Http>> {
    Router::new()
        .route(SYMBOLS, post(symbols))
        .route(TRACE, post(trace))
        .route("/agent/register", post(register::register))
        .route("/agent/session", post(register::session))
        .route("/agent/auth", get(register::auth))
}

/// What the head of a post says.
struct PostHead<'h> {
    session: &'h str,
    /// Names and values as they are kept.
    headers: Vec<(&'static str, &'h str)>,
    resets: bool,
    /// Tells the agent to begin its session anew.
    again: StatusCode,
}

impl<'h> PostHead<'h> {
    fn read(headers: &'h HeaderMap, is_trace: bool) -> Result<Self, Failure> {
        let bad = |sentence: &str| refused("bad_request", StatusCode::BAD_REQUEST, sentence);
        let said = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or(""));
        let known = GENERATIONS
            .into_iter()
            .find_map(|(name, trace, again)| Some((name, said(name)?, trace, again)));
        // A page of another site cannot send such a header without asking first.
        let Some((name, session, trace_name, again)) = known else {
            let sentence = "the post names no session: X-Zorka-Session-ID";
            return Err(refused("no_session", StatusCode::UNAUTHORIZED, sentence));
        };
        if session.is_empty() || session.len() > LONGEST_NAME {
            return Err(bad("a session's name has 1 to 128 characters"));
        }
        let mut kept = vec![("Content-Type", text(headers, header::CONTENT_TYPE))];
        kept.retain(|(_, value)| !value.is_empty());
        kept.push((name, session));
        if let Some(trace) = said(trace_name).filter(|_| is_trace) {
            let digits = || trace.bytes().filter(|&byte| byte != b'-');
            let is_id = matches!(digits().count(), 16 | 32)
                && digits().all(|byte| byte.is_ascii_hexdigit());
            if !is_id {
                return Err(bad("a trace id has 16 or 32 hexadecimal digits"));
            }
            kept.push((trace_name, trace));
        }
        let resets = said(RESET).is_some_and(|value| value.eq_ignore_ascii_case("true"));
        Ok(Self {
            session,
            headers: kept,
            resets,
            again,
        })
    }

    /// Tells the agent to send its symbols again, and then the trace.
    fn again(&self, reason: &'static str, sentence: &str) -> Failure {
        refused(reason, self.again, sentence)
    }

    fn fault(&self, fault: PostFault) -> Failure {
        match fault {
            PostFault::Malformed => self.again("malformed", "the body is not what its path says"),
            PostFault::UnknownSymbols => self.again(
                "unknown_symbols",
                "the trace needs symbols that its session did not define",
            ),
            PostFault::TooMany => refused(
                "too_many_symbols",
                StatusCode::PAYLOAD_TOO_LARGE,
                "a session may define 64 MiB of symbols",
            ),
        }
    }
}

async fn symbols(
    State(http): State<Arc<Http>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    respond(&http, keep_symbols(&http, peer, &headers, body).await)
}

async fn trace(
    State(http): State<Arc<Http>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    respond(&http, keep_trace(&http, peer, &headers, body).await)
}

fn respond(http: &Http, kept: Result<(), Failure>) -> Response {
    match kept {
        Ok(()) => answer(StatusCode::ACCEPTED, &json!({"result": "ok"})),
        Err(failure) => failure.response(http),
    }
}

/// Returns what an agent encoded: posts of 2017 are base64, and a proxy may compress.
fn decoded(headers: &HeaderMap, body: &[u8]) -> Result<Vec<u8>, Failure> {
    let body = match text(headers, header::CONTENT_ENCODING) {
        "" | "identity" => body.to_vec(),
        _ => {
            let whole = DecodedBudget::of(body.len()).whole(body)?;
            let sentence = "the compressed body is damaged";
            whole.ok_or_else(|| refused("bad_request", StatusCode::BAD_REQUEST, sentence))?
        }
    };
    Ok(posted_body(body))
}

/// Returns who sends: a session that was opened with a token is sent by who opened it.
fn sender(http: &Http, headers: &HeaderMap, peer: Peer, session: &str) -> Result<Sender, Failure> {
    if let Some(tenant) = http.agents.opened(session) {
        let peer = peer.0.to_string();
        return Ok(Sender { tenant, peer });
    }
    match refuse_token(http, Right::Upload, headers) {
        None => Ok(Sender::of(http, headers, peer)),
        Some((reason, status, sentence)) => Err(refused(reason, status, sentence)),
    }
}

async fn keep_symbols(
    http: &Http,
    peer: Peer,
    headers: &HeaderMap,
    body: Body,
) -> Result<(), Failure> {
    let mut said = PostHead::read(headers, false)?;
    let sender = sender(http, headers, peer, said.session)?;
    let body = receive_of(http, &sender.tenant, headers, body, MOST).await?;
    let limits = Limits::default();
    let body = tokio::task::block_in_place(|| decoded(headers, &body.bytes))?;
    let size = tokio::task::block_in_place(|| AgentSymbols::size_of(&body, &limits))
        .map_err(|fault| said.fault(fault))?;
    let key = (sender.tenant.clone(), said.session.to_owned());
    let session = http.agents.find_or_begin(&key);
    let mut session = session.lock().await;
    if said.resets {
        *session = Session::default();
    }
    if session.symbols.n_bytes() + size > MOST_OF_SESSION {
        return Err(said.fault(PostFault::TooMany));
    }
    if session.kept.is_none() {
        // Readers forget what an earlier beginning of it defined, as is done here.
        said.headers.push((RESET, "true"));
    }
    let within = session.kept.map(|(capture, _)| capture);
    let began_ns = session.kept.map_or_else(unix_ns, |(_, began_ns)| began_ns);
    let mut identity = PostIdentity::new(SYMBOLS, &sender.tenant);
    // Another beginning of the session needs its symbols again.
    identity.add(&began_ns.to_le_bytes());
    identity.add(&body);
    let capture = keep(http, &sender, &said, (SYMBOLS, &body), identity, within).await?;
    let Some(capture) = capture else {
        http.agents.forget(&key);
        return Err(said.again("session_ended", "the session begins anew"));
    };
    session.kept = Some((within.unwrap_or(capture), began_ns));
    tokio::task::block_in_place(|| session.symbols.define(&body, &limits));
    http.agents.measure(&key, session.symbols.n_bytes());
    Ok(())
}

async fn keep_trace(
    http: &Http,
    peer: Peer,
    headers: &HeaderMap,
    body: Body,
) -> Result<(), Failure> {
    let said = PostHead::read(headers, true)?;
    let sender = sender(http, headers, peer, said.session)?;
    let body = receive_of(http, &sender.tenant, headers, body, MOST).await?;
    let body = tokio::task::block_in_place(|| decoded(headers, &body.bytes))?;
    let key = (sender.tenant.clone(), said.session.to_owned());
    let unknown = || said.again("unknown_session", "the session is not known");
    let session = http.agents.find(&key).ok_or_else(unknown)?;
    // A trace resets nothing, whatever its head says: its symbols came before it.
    let session = session.lock().await;
    let (capture, _) = session.kept.ok_or_else(unknown)?;
    let limits = Limits::default();
    let resolved = tokio::task::block_in_place(|| session.symbols.resolve(&body, &limits));
    let resolved = resolved.map_err(|fault| said.fault(fault))?;
    let mut identity = PostIdentity::new(TRACE, &sender.tenant);
    identity.add(said.session.as_bytes());
    identity.add(&resolved);
    drop(resolved);
    let post = (TRACE, &*body);
    let kept = keep(http, &sender, &said, post, identity, Some(capture)).await?;
    if kept.is_none() {
        http.agents.forget(&key);
        return Err(said.again("session_ended", "the session begins anew"));
    }
    Ok(())
}

/// Stores a post and returns its capture once it is safe; `None` where `within` takes no more.
async fn keep(
    http: &Http,
    sender: &Sender,
    said: &PostHead<'_>,
    (uri, body): (&str, &[u8]),
    identity: PostIdentity,
    within: Option<CaptureId>,
) -> Result<Option<CaptureId>, Failure> {
    let mut line = Vec::new();
    post_line(&mut line, uri, &said.headers, body);
    let post = Post {
        rules: &ZORKA,
        tenant: &sender.tenant,
        service: said.session,
        version: "",
        kind: "",
        peer: &sender.peer,
        extension: "requests.jsonl",
        pieces: &[&line],
        identity: identity.finish(),
    };
    http.counts.decoded.add(1);
    http.posts.sweep();
    let Some(kept) = http.posts.keep_within(&post, within).await? else {
        return Ok(None);
    };
    match kept.repeats {
        true => http.counts.suppressed.add(1),
        false => http.counts.acknowledged.add(1),
    }
    Ok(Some(kept.id.capture))
}
