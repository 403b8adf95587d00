//! OpenTelemetry's exporters: `POST /v1development/profiles` in protobuf, by the rules of OTLP over HTTP.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Extension, Router};
use traceloom_formats::otlp::{self, ProfilesDictionary, SampleLists};
use traceloom_input::captures::posts::OTLP;
use traceloom_model::{Flow, Level, Limits, Note};

use super::body::{DecodedBudget, receive};
use super::failure::{Failure, refused, with_retry};
use super::sender::{PostIdentity, Sender, text};
use super::{Http, Peer};
use crate::posts::Post;

/// Bytes of a body.
const MOST: usize = 32 << 20;
const PROFILES: &str = "/v1development/profiles";
const PROTOBUF: &str = "application/x-protobuf";

pub(super) fn routes() -> Router<Arc<Http>> {
    Router::new().route(PROFILES, post(profiles))
}

async fn profiles(
    State(http): State<Arc<Http>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    match keep(&http, peer, &headers, body).await {
        // Nothing is rejected in part: the response has no field, and so no byte.
        Ok(()) => message(StatusCode::OK, Vec::new()),
        Err(failure) => {
            let (reason, status, sentence) = failure.into_parts();
            http.counts.refused.add(reason);
            with_retry(message(status, status_message(&sentence)))
        }
    }
}

fn message(status: StatusCode, body: Vec<u8>) -> Response {
    (status, [(header::CONTENT_TYPE, PROTOBUF)], body).into_response()
}

/// Returns a `google.rpc.Status` that holds a message alone, which is shorter than a varint's second byte reaches.
fn status_message(sentence: &str) -> Vec<u8> {
    const MESSAGE: u8 = 2 << 3 | 2;
    let text: Vec<u8> = sentence.bytes().take(127).collect();
    let length = u8::try_from(text.len()).unwrap_or(127);
    [vec![MESSAGE, length], text].concat()
}

async fn keep(http: &Http, peer: Peer, headers: &HeaderMap, body: Body) -> Result<(), Failure> {
    let content_type = text(headers, header::CONTENT_TYPE);
    if !content_type.starts_with(PROTOBUF) {
        let sentence = "the Content-Type is not application/x-protobuf";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(refused("content_type", status, sentence));
    }
    let body = receive(http, headers, body, MOST).await?;
    let sender = Sender::of(http, headers, peer);
    let is_encoded = !matches!(text(headers, header::CONTENT_ENCODING), "" | "identity");
    let known = tokio::task::block_in_place(|| look(&sender, &body.bytes, is_encoded))?;
    let Some(identity) = known else {
        // There is nothing to keep.
        return Ok(());
    };
    let post = Post {
        rules: &OTLP,
        tenant: &sender.tenant,
        service: "",
        peer: &sender.peer,
        extension: "otlp-profiles",
        pieces: &[&body.bytes],
        identity,
    };
    sender.keep(http, &post).await.map(drop)
}

/// Reads a message, and learns whether it is one to its end.
#[derive(Default)]
struct Readable {
    is_damaged: bool,
}

impl otlp::Visit for Readable {
    fn sample(&mut self, _: &ProfilesDictionary, _: &SampleLists) -> Flow {
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.is_damaged |= note.level == Level::Damage;
        Flow::Continue(())
    }
}

/// Returns what a message is known by; `None` for one without bytes.
fn look(sender: &Sender, body: &[u8], is_encoded: bool) -> Result<Option<blake3::Hash>, Failure> {
    let bad = |sentence| refused("bad_request", StatusCode::BAD_REQUEST, sentence);
    let decoded = match is_encoded {
        true => {
            let whole = DecodedBudget::of(body.len()).whole(body)?;
            Some(whole.ok_or_else(|| bad("the compressed body is damaged"))?)
        }
        false => None,
    };
    let message = decoded.as_deref().unwrap_or(body);
    if message.is_empty() {
        return Ok(None);
    }
    let mut readable = Readable::default();
    let read = otlp::read(message, &Limits::default(), &mut readable);
    if read.is_err() || readable.is_damaged {
        return Err(bad("the body is no ExportProfilesServiceRequest"));
    }
    let mut identity = PostIdentity::new(PROFILES, &sender.tenant);
    identity.add(message);
    Ok(Some(identity.finish()))
}
