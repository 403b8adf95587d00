//! Zipkin's reporters: `POST /api/v2/spans` in JSON and protobuf.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Extension, Router};
use traceloom_input::captures::posts::ZIPKIN;

use super::body::{DecodedBudget, is_compressed, receive};
use super::failure::{Failure, refused};
use super::inspection::{Inspection, in_turn, inspect};
use super::sender::{PostIdentity, Sender, text};
use super::{Http, Peer};
use crate::posts::Post;

/// Bytes of a body.
const MOST: usize = 32 << 20;
const SPANS: &str = "/api/v2/spans";

pub(super) fn routes() -> Router<Arc<Http>> {
    Router::new().route(SPANS, post(spans))
}

async fn spans(
    State(http): State<Arc<Http>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    match keep(&http, peer, &headers, body).await {
        Ok(()) => StatusCode::ACCEPTED.into_response(),
        Err(failure) => failure.response(&http),
    }
}

async fn keep(http: &Http, peer: Peer, headers: &HeaderMap, body: Body) -> Result<(), Failure> {
    let Some(format) = format(headers) else {
        let sentence = "the Content-Type is neither application/json nor application/x-protobuf";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(refused("content_type", status, sentence));
    };
    let is_compressed = is_compressed(headers)?;
    let body = receive(http, headers, body, MOST).await?;
    let sender = Sender::of(http, headers, peer);
    let look = || look(&sender, format, &body.bytes, is_compressed);
    let (identity, inspection) = in_turn(http, look).await?;
    if inspection.n_rows == 0 {
        // An empty list.
        return Ok(());
    }
    let post = Post {
        rules: &ZIPKIN,
        tenant: &sender.tenant,
        service: &inspection.about.service,
        version: &inspection.about.version,
        kind: "",
        peer: &sender.peer,
        extension: format,
        pieces: &[&body.bytes],
        identity,
    };
    sender.keep(http, &post).await.map(drop)
}

/// Returns the format of a request's list, which is how the names of its files end too.
fn format(headers: &HeaderMap) -> Option<&'static str> {
    let kind = text(headers, header::CONTENT_TYPE);
    match kind.split(';').next().unwrap_or_default().trim() {
        "application/json" => Some("zipkin"),
        "application/x-protobuf" => Some("zipkin-protobuf"),
        _ => None,
    }
}

/// Returns what a list is known by, and what is in it.
fn look(
    sender: &Sender,
    format: &str,
    body: &[u8],
    is_compressed: bool,
) -> Result<(blake3::Hash, Inspection), Failure> {
    let bad = |sentence| refused("bad_request", StatusCode::BAD_REQUEST, sentence);
    let decoded = match is_compressed {
        true => {
            let whole = DecodedBudget::of(body.len()).whole(body)?;
            Some(whole.ok_or_else(|| bad("the compressed body is damaged".to_owned()))?)
        }
        false => None,
    };
    let list = decoded.as_deref().unwrap_or(body);
    let inspection = inspect(format, list);
    let inspection =
        inspection.map_err(|reason| bad(format!("the body is no list of spans: {reason}")))?;
    let mut identity = PostIdentity::new(SPANS, &sender.tenant);
    identity.add(list);
    Ok((identity.finish(), inspection))
}
