//! Datakit's agents, which are Datadog's: `POST /profiling/v1/input`, and `GET /info` that says so.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::post;
use axum::{Extension, Router};
use serde_json::json;
use traceloom_formats::datakit::{INPUT_TAGS, Upload};
use traceloom_input::captures::posts::DATAKIT;
use traceloom_model::Limits;

use super::body::{DecodedBudget, receive};
use super::failure::{Failure, refused};
use super::sender::{About, PostIdentity, Sender, head, text};
use super::{Http, Peer, answer};
use crate::journal::unix_ms;
use crate::posts::KeptPost;

/// Bytes of a body: Datakit's own limit.
const MOST: usize = 32 << 20;
/// Where profiles go.
const INPUT: &str = "/profiling/v1/input";

pub(super) fn routes() -> Router<Arc<Http>> {
    Router::new().route(INPUT, post(input))
}

/// What tracers ask before they send: they look for the endpoint.
pub(super) async fn info() -> Response {
    let known = json!({"version": env!("CARGO_PKG_VERSION"), "endpoints": [INPUT]});
    answer(StatusCode::OK, &known)
}

async fn input(
    State(http): State<Arc<Http>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    match keep(&http, peer, &headers, body).await {
        // Scripts look for the word, tracers for the status.
        Ok(kept) => {
            let id = kept.id.to_string();
            answer(StatusCode::OK, &json!({"content": {"ProfileID": id}}))
        }
        Err(failure) => failure.response(&http),
    }
}

async fn keep(
    http: &Http,
    peer: Peer,
    headers: &HeaderMap,
    body: Body,
) -> Result<KeptPost, Failure> {
    let body = receive(http, headers, body, MOST).await?;
    let sender = Sender::of(http, headers, peer);
    store(http, &sender, headers, body.bytes).await
}

/// Stores an upload that this collector made of what it pulled, and returns once it is safe. The sender is the tenant, and where it was
/// pulled from.
///
/// # Errors
/// A word for counters, and a sentence.
pub(crate) async fn keep_pulled(
    http: &Http,
    (tenant, peer): (&str, &str),
    content_type: &str,
    body: Vec<u8>,
) -> Result<(), (&'static str, String)> {
    let sender = Sender {
        tenant: tenant.to_owned(),
        peer: peer.to_owned(),
    };
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_str(content_type) {
        headers.insert(header::CONTENT_TYPE, value);
    }
    http.counts.received.add(1);
    http.counts.received_bytes.add(body.len() as u64);
    let kept = store(http, &sender, &headers, body).await;
    let told = |failure: Failure| {
        let (reason, _, sentence) = failure.into_parts();
        (reason, sentence)
    };
    kept.map(drop).map_err(told)
}

/// Stores an upload, and returns where once it is safe.
async fn store(
    http: &Http,
    sender: &Sender,
    headers: &HeaderMap,
    mut body: Vec<u8>,
) -> Result<KeptPost, Failure> {
    let content_type = text(headers, header::CONTENT_TYPE);
    let looked = tokio::task::block_in_place(|| look(sender, content_type, &body))?;
    if let Some(end_ns) = looked.end_ns {
        http.counts.clock.told(end_ns / 1_000_000, unix_ms());
    }
    let mut kept_headers = headers.clone();
    if !http.input_tags.is_empty() {
        // Tags and what they are about are read together, which compression around it all would keep apart.
        if let Some(decoded) = looked.decoded {
            body = decoded;
            kept_headers.remove(header::CONTENT_ENCODING);
        }
    }
    let mut head = head("POST", INPUT, &kept_headers, body.len());
    if !http.input_tags.is_empty() {
        let line = format!("{INPUT_TAGS}: {}\r\n\r\n", http.input_tags);
        head.truncate(head.len() - 2);
        head.push_str(&line);
    }
    let known = (looked.identity, &looked.about);
    let request = [head.as_bytes(), &body];
    let kept = sender.keep_request(http, &DATAKIT, known, request).await?;
    // A repeat has its points from the first time.
    if let Some(forwarder) = http.forwarder.as_ref().filter(|_| !kept.repeats) {
        forwarder.offer(kept.id);
    }
    Ok(kept)
}

/// What is known of an upload.
struct LookedAt {
    identity: blake3::Hash,
    about: About,
    /// When its recording ended, by its sender's clock.
    end_ns: Option<i64>,
    /// Its body, where that was compressed as a whole.
    decoded: Option<Vec<u8>>,
}

/// Returns what an upload is known by, and what it is about.
fn look(sender: &Sender, content_type: &str, bytes: &[u8]) -> Result<LookedAt, Failure> {
    let bad = |sentence: &str| refused("bad_request", StatusCode::BAD_REQUEST, sentence);
    let mut budget = DecodedBudget::of(bytes.len());
    let decoded = match Upload::read(content_type, bytes) {
        Ok(_) => None,
        // It may be compressed as a whole.
        Err(_) => budget.whole(bytes)?,
    };
    let body = decoded.as_deref().unwrap_or(bytes);
    let upload = Upload::read(content_type, body).map_err(bad)?;
    let mut event = None;
    let mut files = Vec::new();
    for part in upload.parts() {
        if part.is_event() && event.is_none() {
            let whole = budget.whole(part.content)?;
            event = Some(whole.unwrap_or_else(|| part.content.to_vec()));
        } else {
            files.push((part.file.to_owned(), budget.hash(part.content)?));
        }
    }
    let metadata = upload.metadata(event.as_deref(), &Limits::default());
    let is_dated = metadata.sequence().iter().any(|said| !said.is_empty());
    if event.is_none() && !is_dated && metadata.tags.is_empty() {
        return Err(bad(
            "an upload has a part `event`, or the values of an older form",
        ));
    }
    files.sort_unstable_by(|a, b| (&a.0, a.1.as_bytes()).cmp(&(&b.0, b.1.as_bytes())));
    let mut identity = PostIdentity::new(INPUT, &sender.tenant);
    for said in metadata.sequence() {
        identity.add(said.as_bytes());
    }
    for (name, hash) in &files {
        identity.add(name.as_bytes());
        identity.add(hash.as_bytes());
    }
    if !is_dated {
        // Nothing but its words tells it from another.
        identity.add(event.as_deref().unwrap_or_default());
    }
    Ok(LookedAt {
        identity: identity.finish(),
        about: About {
            service: metadata.get("service").to_owned(),
            version: metadata.get("version").to_owned(),
            ..About::default()
        },
        end_ns: metadata.end_ns(),
        decoded,
    })
}
