//! The HTTP side: uploads, posts of senders, metrics, health.

mod body;
mod converse;
mod datakit;
mod failure;
mod guard;
mod inspection;
mod metrics;
mod otlp;
mod pyroscope;
mod sender;
mod upload;
mod views;
mod zico;
mod zipkin;
mod zorka;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, head, post, put};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::agent_commands::LiveAgents;
use crate::catalog::Catalog;
use crate::counts::ListenerCounts;
use crate::forward::Forwarder;
use crate::journal::Journal;
use crate::observer::Observer;
use crate::posts::Posts;
use crate::questions::Answers;
use crate::seal::Resumer;
use crate::session_ids::SessionIds;
use crate::tenants::Tenants;
use crate::tokens::{Right, Tokens};
use crate::{Counts, Stop};
pub(crate) use converse::{Version, converse};
pub(crate) use datakit::keep_pulled;
pub(crate) use upload::Uploads;
pub use views::document;
pub(crate) use views::{KeptLists, Sessions, Workers};
pub(crate) use zorka::Agents;

/// Returns the room for bodies that are being received.
pub(crate) fn room_for_bodies() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(body::ROOM_KIB))
}

/// Returns what each tenant may take of that room, and of time.
pub(crate) fn tenants(quota: Option<u64>) -> Arc<Tenants> {
    Arc::new(Tenants::new(body::ROOM_KIB, quota))
}

/// Returns the turns of messages that are looked at.
pub(crate) fn turns_to_look() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(inspection::AT_A_TIME))
}

/// Time between two pieces of a body.
const BODY_IDLE: Duration = Duration::from_secs(60);

/// What every request of a listener shares.
#[derive(Clone)]
pub(crate) struct Http {
    pub(crate) journal: Arc<Journal>,
    pub(crate) ids: Arc<SessionIds>,
    /// What this listener did.
    pub(crate) counts: Arc<ListenerCounts>,
    /// What every listener did.
    pub(crate) all_counts: Arc<Counts>,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) stop: Stop,
    /// Requests without a token are refused.
    pub(crate) requires_token: bool,
    /// Only this machine reaches it.
    pub(crate) is_loopback: bool,
    pub(crate) observer: Observer,
    pub(crate) resumer: Resumer,
    pub(crate) uploads: Arc<Uploads>,
    pub(crate) posts: Arc<Posts>,
    /// Sessions of Zorka's agents.
    pub(crate) agents: Arc<Agents>,
    /// Agents whose connection is open.
    pub(crate) live_agents: Arc<LiveAgents>,
    /// Where points of profiles go.
    pub(crate) forwarder: Option<Arc<Forwarder>>,
    /// Tags that Datakit's input sets, such as `env:prod,zone:b`.
    pub(crate) input_tags: Arc<str>,
    /// What each tenant may take.
    pub(crate) tenants: Arc<Tenants>,
    /// Room for bodies that are being received, in KiB.
    pub(crate) bodies: Arc<Semaphore>,
    /// Turns of messages that are looked at.
    pub(crate) looks: Arc<Semaphore>,
    /// The data folder.
    pub(crate) data: PathBuf,
    /// What is known of its captures.
    pub(crate) catalog: Arc<Catalog>,
    /// Who answers questions about it.
    pub(crate) answers: Option<Answers>,
    pub(crate) workers: Workers,
    /// Lists of calls that next pages are asked of.
    pub(crate) kept: Arc<KeptLists>,
    /// Sessions of people.
    pub(crate) sessions: Arc<Sessions>,
    /// It speaks TLS.
    pub(crate) is_tls: bool,
    /// How the collector is set, by the names of flags.
    pub(crate) settings: Arc<serde_json::Value>,
    /// What pages show and go by.
    pub(crate) shown: Arc<serde_json::Value>,
    /// What `traceloom send` takes for each listener of sessions, by the protocol's name.
    pub(crate) send_to: Arc<[(&'static str, String)]>,
}

/// Returns the routes of gRPC.
pub(crate) fn grpc_routes(http: &Arc<Http>) -> Router {
    let guard = from_fn_with_state((http.clone(), Some(Right::Upload)), guard::check);
    let services = otlp::grpc::routes().route_layer(guard);
    otlp::grpc::in_own_words(services).with_state(http.clone())
}

/// Returns the routes. Each says what a token must allow.
pub(crate) fn routes(http: &Arc<Http>) -> Router {
    let guarded = |right| from_fn_with_state((http.clone(), right), guard::check);
    let health = Router::new()
        .route("/healthz", get(healthy))
        .route("/readyz", get(ready))
        .route("/info", get(datakit::info))
        .merge(views::pages())
        .route_layer(guarded(None));
    let read = Router::new()
        .route("/metrics", get(metrics::text))
        .merge(views::routes(http))
        .merge(zico::routes())
        .route_layer(guarded(Some(Right::Read)));
    let changes = views::changes().route_layer(guarded(Some(Right::Write)));
    let upload = Router::new()
        .route("/api/v1/upload", post(upload::create))
        .route("/diagnostic/{*path}", put(upload::dump))
        .route(
            "/api/v1/upload/{id}",
            head(upload::offset).patch(upload::append),
        )
        .route_layer(guarded(Some(Right::Upload)));
    let senders = datakit::routes()
        .merge(pyroscope::routes())
        .merge(zipkin::routes());
    let senders = senders.route_layer(guarded(Some(Right::Upload)));
    // Agents have keys and sessions where other senders have a header with a token.
    let agents = zorka::routes().route_layer(guarded(None));
    // Who is on this machine is not its operator.
    let strict = Arc::new(Http {
        requires_token: true,
        ..http.as_ref().clone()
    });
    let guard = from_fn_with_state((strict, Some(Right::Write)), guard::check);
    let commands = views::commands().route_layer(guard);
    let otlp = otlp::routes().route_layer(guarded(Some(Right::Upload)));
    health
        .merge(read)
        .merge(changes)
        .merge(upload)
        .merge(commands)
        .merge(senders)
        .merge(agents)
        .merge(otlp::in_own_words(otlp))
        .fallback(unknown)
        .with_state(http.clone())
}

/// Who sent a request.
#[derive(Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// Answers with a sentence that says what is wrong: as RFC 9457 has it, and as `error` for who does not know that.
pub(crate) fn refusal(status: StatusCode, sentence: &str) -> Response {
    let title = status.canonical_reason().unwrap_or("refused");
    let body =
        json!({"error": sentence, "status": status.as_u16(), "title": title, "detail": sentence});
    let mut response = answer(status, &body);
    let kind = HeaderValue::from_static("application/problem+json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// Answers with JSON.
pub(crate) fn answer(status: StatusCode, body: &serde_json::Value) -> Response {
    let kind = (header::CONTENT_TYPE, "application/json");
    (status, [kind], format!("{body}\n")).into_response()
}

/// Tracers ask for much that is not here; that does not stop their profiles.
async fn unknown(State(http): State<Arc<Http>>) -> Response {
    http.counts.refused.add("unknown_path");
    let known = "there are POST /api/v1/upload, the paths of senders (docs/durability.md), GET /metrics, \
                 /healthz and /readyz";
    refusal(StatusCode::NOT_FOUND, known)
}

/// The process works: it can store what it receives.
async fn healthy(State(http): State<Arc<Http>>) -> Response {
    match http.journal.failure() {
        None => answer(StatusCode::OK, &json!({"status": "ok"})),
        Some(failure) => refusal(StatusCode::SERVICE_UNAVAILABLE, &failure),
    }
}

/// The process takes new senders.
async fn ready(state: State<Arc<Http>>) -> Response {
    if state.stop.is_asked() {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, "the collector is stopping");
    }
    healthy(state).await
}
