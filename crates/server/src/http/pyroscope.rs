//! Pyroscope's agents: `POST /ingest`, and `POST /push.v1.PusherService/Push` by the rules of Connect.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Extension, Router};
use serde_json::json;
use traceloom_formats::datakit::{IngestHead, PushRequest};
use traceloom_input::captures::posts::PYROSCOPE;

use super::body::{DecodedBudget, receive};
use super::failure::{Failure, refused, with_retry};
use super::sender::{About, PostIdentity, Sender, head, text};
use super::{Http, Peer, answer};
use crate::posts::KeptPost;

/// Bytes of a body.
const MOST: usize = 32 << 20;
const PUSH: &str = "/push.v1.PusherService/Push";

pub(super) fn routes() -> Router<Arc<Http>> {
    Router::new()
        .route("/ingest", post(ingest))
        .route(PUSH, post(push))
}

async fn ingest(
    State(http): State<Arc<Http>>,
    Extension(peer): Extension<Peer>,
    target: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let target = target.path_and_query().map_or("", |target| target.as_str());
    match keep_ingest(&http, peer, target, &headers, body).await {
        Ok(_) => StatusCode::OK.into_response(),
        Err(failure) => failure.response(&http),
    }
}

async fn keep_ingest(
    http: &Http,
    peer: Peer,
    target: &str,
    headers: &HeaderMap,
    body: Body,
) -> Result<KeptPost, Failure> {
    let body = receive(http, headers, body, MOST).await?;
    let sender = Sender::of(http, headers, peer);
    let head = head("POST", target, headers, body.bytes.len());
    let ingest = IngestHead::read(head.as_bytes());
    let ingest = ingest.map_err(bad_request)?;
    let mut identity = PostIdentity::new("/ingest", &sender.tenant);
    identity.add(target.as_bytes());
    // Without its port, which is another one when the sender dials again.
    identity.add(peer.0.ip().to_string().as_bytes());
    identity.add(blake3::hash(&body.bytes).as_bytes());
    let about = About {
        service: ingest.service,
        version: ingest.version,
        ..About::default()
    };
    let known = (identity.finish(), &about);
    let request = [head.as_bytes(), &body.bytes];
    sender.keep_request(http, &PYROSCOPE, known, request).await
}

async fn push(
    State(http): State<Arc<Http>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let kind = text(&headers, header::CONTENT_TYPE);
    let is_json = kind.starts_with("application/json");
    match keep_push(&http, peer, &headers, body).await {
        Ok(_) if is_json => answer(StatusCode::OK, &json!({})),
        // A message without fields has no bytes.
        Ok(_) => ([(header::CONTENT_TYPE, "application/proto")], "").into_response(),
        Err(failure) => {
            let (reason, status, message) = failure.into_parts();
            http.counts.refused.add(reason);
            let body = json!({"code": connect_code(status), "message": message});
            with_retry(answer(status, &body))
        }
    }
}

async fn keep_push(
    http: &Http,
    peer: Peer,
    headers: &HeaderMap,
    body: Body,
) -> Result<KeptPost, Failure> {
    let content_type = text(headers, header::CONTENT_TYPE);
    if !["application/proto", "application/json"]
        .iter()
        .any(|known| content_type.starts_with(known))
    {
        let sentence = "the Content-Type is neither application/proto nor application/json";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(refused("content_type", status, sentence));
    }
    let mut body = receive(http, headers, body, MOST).await?;
    let sender = Sender::of(http, headers, peer);
    let mut headers = headers.clone();
    let encoding = headers.remove(header::CONTENT_ENCODING);
    if encoding.is_some_and(|encoding| encoding != "identity") {
        // The message is what is kept: no reader opens what is around it.
        let mut budget = DecodedBudget::of(body.bytes.len());
        let decoded = tokio::task::block_in_place(|| budget.whole(&body.bytes))?;
        body.bytes = decoded.ok_or_else(|| bad_request("the body is damaged"))?;
    }
    let content_type = text(&headers, header::CONTENT_TYPE);
    let (identity, about) =
        tokio::task::block_in_place(|| look(&sender, content_type, &body.bytes))?;
    let head = head("POST", PUSH, &headers, body.bytes.len());
    let known = (identity, &about);
    let request = [head.as_bytes(), &body.bytes];
    sender.keep_request(http, &PYROSCOPE, known, request).await
}

/// Returns what a push is known by, and what it is about.
fn look(
    sender: &Sender,
    content_type: &str,
    body: &[u8],
) -> Result<(blake3::Hash, About), Failure> {
    let request = PushRequest::read(content_type, body).map_err(bad_request)?;
    let mut known = Vec::new();
    let mut about = About::default();
    for series in &request.series {
        // The first series that says it.
        if about.service.is_empty() {
            series.label("service_name").clone_into(&mut about.service);
        }
        if about.version.is_empty() {
            series.label("version").clone_into(&mut about.version);
        }
        if about.kind.is_empty() {
            series.label("__name__").clone_into(&mut about.kind);
        }
        for profile in &series.profiles {
            known.push(match &*profile.id {
                "" => blake3::hash(&profile.bytes).as_bytes().to_vec(),
                id => id.as_bytes().to_vec(),
            });
        }
    }
    if known.is_empty() {
        return Err(bad_request("the PushRequest has no profile"));
    }
    known.sort_unstable();
    let mut identity = PostIdentity::new(PUSH, &sender.tenant);
    for id in &known {
        identity.add(id);
    }
    Ok((identity.finish(), about))
}

fn bad_request(sentence: &str) -> Failure {
    refused("bad_request", StatusCode::BAD_REQUEST, sentence)
}

/// Returns Connect's word for a status.
fn connect_code(status: StatusCode) -> &'static str {
    match status {
        StatusCode::BAD_REQUEST | StatusCode::UNSUPPORTED_MEDIA_TYPE => "invalid_argument",
        StatusCode::PAYLOAD_TOO_LARGE | StatusCode::TOO_MANY_REQUESTS => "resource_exhausted",
        StatusCode::REQUEST_TIMEOUT => "deadline_exceeded",
        _ => "unavailable",
    }
}
