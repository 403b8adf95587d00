//! The same over gRPC: a call has one message each way, and its status in trailers.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Extension, Router};
use http_body_util::{BodyExt as _, Full};

use traceloom_model::bounds::length_u32;

use super::super::body::receive;
use super::super::failure::{Failure, refused};
use super::super::guard::Sentence;
use super::super::sender::{Sender, text};
use super::super::{Http, Peer};
use super::message::{Encoding, PROFILES, Signal, TRACES};
use super::{MOST, response};

const GRPC: &str = "application/grpc";
/// Bytes in front of a message: whether it is compressed, and its length.
const PREFIX: usize = 5;
const STATUS: &str = "grpc-status";
const MESSAGE: &str = "grpc-message";
const ENCODING: &str = "grpc-encoding";
const ACCEPTED: (&str, &str) = ("grpc-accept-encoding", "identity,gzip,deflate,zstd");

pub(in super::super) fn routes() -> Router<Arc<Http>> {
    Router::new()
        .route(TRACES.method, post(traces))
        .route(PROFILES.method, post(profiles))
        .fallback(unknown)
}

/// Says what the guard refuses as the protocol does.
pub(in super::super) fn in_own_words(routes: Router<Arc<Http>>) -> Router<Arc<Http>> {
    let rephrase = async |request: Request, next: Next| {
        let answered = next.run(request).await;
        let sentence = answered.extensions().get::<Sentence>().copied();
        match sentence {
            Some(Sentence(sentence)) => failed(code(answered.status()), sentence),
            None => answered,
        }
    };
    routes.layer(from_fn(rephrase))
}

async fn unknown(State(http): State<Arc<Http>>) -> Response {
    http.counts.refused.add("unknown_path");
    failed(
        UNIMPLEMENTED,
        "there are the services of traces and of profiles",
    )
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
    match keep(http, peer, headers, body, signal).await {
        Ok(warning) => done(&response(warning.as_deref())),
        Err(failure) => {
            let (reason, status, sentence) = failure.into_parts();
            http.counts.refused.add(reason);
            failed(code(status), &sentence)
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
    let kind = text(headers, header::CONTENT_TYPE);
    if kind != GRPC && kind != "application/grpc+proto" {
        let sentence = "the content-type is not application/grpc";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(refused("content_type", status, sentence));
    }
    let body = receive(http, headers, body, MOST + PREFIX).await?;
    let (message, is_compressed) = message(&body.bytes)?;
    if is_compressed {
        let encoding = headers.get(ENCODING).and_then(|name| name.to_str().ok());
        if !matches!(encoding, Some("gzip" | "deflate" | "zstd")) {
            let sentence = "the grpc-encoding is none of gzip, deflate and zstd";
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Err(refused("content_encoding", status, sentence));
        }
    }
    let sender = Sender::of(http, headers, peer);
    let body = (message, is_compressed);
    signal.keep(http, &sender, body, Encoding::Protobuf).await
}

/// Returns the one message of a call, and whether it is compressed.
fn message(body: &[u8]) -> Result<(&[u8], bool), Failure> {
    let bad = |sentence| refused("bad_request", StatusCode::BAD_REQUEST, sentence);
    let Some((prefix, message)) = body.split_first_chunk::<PREFIX>() else {
        return Err(bad("the call has no message"));
    };
    let [flag, length @ ..] = *prefix;
    if u32::from_be_bytes(length) as usize != message.len() {
        return Err(bad(
            "the call has not one message of the length that it says",
        ));
    }
    match flag {
        0 => Ok((message, false)),
        1 => Ok((message, true)),
        _ => Err(bad("the message is neither plain nor compressed")),
    }
}

const OK: u16 = 0;
const INVALID_ARGUMENT: u16 = 3;
const PERMISSION_DENIED: u16 = 7;
const UNIMPLEMENTED: u16 = 12;
const INTERNAL: u16 = 13;
const UNAVAILABLE: u16 = 14;
const UNAUTHENTICATED: u16 = 16;

/// Returns the code of gRPC for a status of HTTP. Exporters send again what is unavailable, and nothing else.
fn code(status: StatusCode) -> u16 {
    match status {
        StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE => INVALID_ARGUMENT,
        StatusCode::UNAUTHORIZED => UNAUTHENTICATED,
        StatusCode::FORBIDDEN => PERMISSION_DENIED,
        StatusCode::UNSUPPORTED_MEDIA_TYPE => UNIMPLEMENTED,
        StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::REQUEST_TIMEOUT
        | StatusCode::TOO_MANY_REQUESTS => UNAVAILABLE,
        _ => INTERNAL,
    }
}

/// Returns the answer to a call that was carried out.
fn done(message: &[u8]) -> Response {
    let length = length_u32(message.len());
    let mut framed = vec![0];
    framed.extend(length.to_be_bytes());
    framed.extend_from_slice(message);
    let mut trailers = HeaderMap::new();
    trailers.insert(STATUS, HeaderValue::from(OK));
    let trailers = async { Some(Ok::<_, Infallible>(trailers)) };
    let body = Full::new(Bytes::from(framed)).with_trailers(trailers);
    let kind = (header::CONTENT_TYPE, HeaderValue::from_static(GRPC));
    ([kind], Body::new(body)).into_response()
}

/// Returns the answer to a call that was not: the status alone.
fn failed(code: u16, sentence: &str) -> Response {
    let mut escaped = String::new();
    for &byte in sentence.as_bytes() {
        match byte {
            b' '..=b'~' if byte != b'%' => escaped.push(char::from(byte)),
            _ => drop(write!(escaped, "%{byte:02X}")),
        }
    }
    let mut response = StatusCode::OK.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(GRPC));
    headers.insert(STATUS, HeaderValue::from(code));
    headers.insert(ACCEPTED.0, HeaderValue::from_static(ACCEPTED.1));
    if let Ok(message) = HeaderValue::from_str(&escaped) {
        headers.insert(MESSAGE, message);
    }
    response
}
