//! OpenTelemetry's exporters: traces and profiles in protobuf and JSON, by the rules of OTLP over HTTP and over gRPC.

pub(super) mod grpc;
mod message;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Extension, Router};
use serde_json::json;
use traceloom_formats::protobuf::put_bytes;

use self::message::{Encoding, PROFILES, Signal, TRACES};
use super::body::{is_compressed, receive};
use super::failure::{Failure, refused, with_retry};
use super::guard::Sentence;
use super::sender::{Sender, text};
use super::{Http, Peer};

/// Bytes of a body.
const MOST: usize = 32 << 20;
const PROTOBUF: &str = "application/x-protobuf";
const JSON: &str = "application/json";

pub(super) fn routes() -> Router<Arc<Http>> {
    Router::new()
        .route(TRACES.path, post(traces))
        .route(PROFILES.path, post(profiles))
}

/// Says what the guard refuses as the protocol does.
pub(super) fn in_own_words(routes: Router<Arc<Http>>) -> Router<Arc<Http>> {
    let rephrase = async |request: Request, next: Next| {
        let encoding = encoding(request.headers()).unwrap_or(Encoding::Protobuf);
        let answered = next.run(request).await;
        let (head, body) = answered.into_parts();
        let Some(Sentence(sentence)) = head.extensions.get().copied() else {
            return Response::from_parts(head, body);
        };
        let mut refused = status(encoding, head.status, sentence);
        if let Some(scheme) = head.headers.get(header::WWW_AUTHENTICATE) {
            let headers = refused.headers_mut();
            headers.insert(header::WWW_AUTHENTICATE, scheme.clone());
        }
        refused
    };
    routes.route_layer(from_fn(rephrase))
}

async fn traces(
    State(http): State<Arc<Http>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    export(&http, peer, &headers, body, &TRACES).await
}

async fn profiles(
    State(http): State<Arc<Http>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    export(&http, peer, &headers, body, &PROFILES).await
}

async fn export(
    http: &Http,
    peer: Peer,
    headers: &HeaderMap,
    body: Body,
    signal: &Signal,
) -> Response {
    let encoding = encoding(headers);
    let kept = keep(http, peer, headers, body, signal).await;
    let encoding = encoding.unwrap_or(Encoding::Protobuf);
    match kept {
        Ok(warning) => {
            let body = match encoding {
                Encoding::Protobuf => response(warning.as_deref()),
                Encoding::Json => response_json(warning.as_deref()),
            };
            answer(encoding, StatusCode::OK, body)
        }
        Err(failure) => {
            let (reason, code, sentence) = failure.into_parts();
            http.counts.refused.add(reason);
            with_retry(status(encoding, code, &sentence))
        }
    }
}

async fn keep(
    http: &Http,
    peer: Peer,
    headers: &HeaderMap,
    body: Body,
    signal: &Signal,
) -> Result<Option<String>, Failure> {
    let Some(encoding) = encoding(headers) else {
        let sentence = "the Content-Type is neither application/x-protobuf nor application/json";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(refused("content_type", status, sentence));
    };
    let is_compressed = is_compressed(headers)?;
    let body = receive(http, headers, body, MOST).await?;
    let sender = Sender::of(http, headers, peer);
    let body = (&*body.bytes, is_compressed);
    signal.keep(http, &sender, body, encoding).await
}

/// Returns how the body of a request is encoded.
fn encoding(headers: &HeaderMap) -> Option<Encoding> {
    let kind = text(headers, header::CONTENT_TYPE);
    match kind.split(';').next().unwrap_or_default().trim() {
        PROTOBUF => Some(Encoding::Protobuf),
        JSON => Some(Encoding::Json),
        _ => None,
    }
}

fn answer(encoding: Encoding, status: StatusCode, body: Vec<u8>) -> Response {
    let kind = match encoding {
        Encoding::Protobuf => PROTOBUF,
        Encoding::Json => JSON,
    };
    let kind = (header::CONTENT_TYPE, HeaderValue::from_static(kind));
    (status, [kind], body).into_response()
}

/// Returns the response to a request that was taken. Nothing is rejected in part, so that it has a warning at most.
fn response(warning: Option<&str>) -> Vec<u8> {
    let mut response = Vec::new();
    if let Some(warning) = warning {
        let mut partial = Vec::new();
        put_bytes(&mut partial, 2, warning.as_bytes());
        put_bytes(&mut response, 1, &partial);
    }
    response
}

fn response_json(warning: Option<&str>) -> Vec<u8> {
    let response = match warning {
        Some(warning) => json!({"partialSuccess": {"errorMessage": warning}}),
        None => json!({}),
    };
    response.to_string().into_bytes()
}

/// Returns a refusal: a `google.rpc.Status` without a code, which is that of HTTP.
fn status(encoding: Encoding, code: StatusCode, sentence: &str) -> Response {
    let body = match encoding {
        Encoding::Protobuf => {
            let mut status = Vec::new();
            put_bytes(&mut status, 2, sentence.as_bytes());
            status
        }
        Encoding::Json => json!({"message": sentence}).to_string().into_bytes(),
    };
    answer(encoding, code, body)
}
