//! One request of a profile: bounded in time and bytes, and never to another place than the configured one.

use std::io::Read as _;
use std::time::Duration;

use axum::body::Bytes;
use http_body_util::{BodyExt as _, Empty, LengthLimitError, Limited};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, HOST, USER_AGENT};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use traceloom_input::Wrapper;

use super::PullTarget;

/// Time that an answer may take beyond the seconds that are recorded.
const PATIENCE: Duration = Duration::from_secs(15);
/// Bytes of a profile as it comes.
const MOST: usize = 16 << 20;
/// Bytes of a profile that is decompressed.
const MOST_DECODED: u64 = 64 << 20;

/// Why a profile did not come: a word for counters, and a sentence.
#[derive(Debug)]
pub(super) struct PullFailure {
    pub(super) reason: &'static str,
    pub(super) sentence: String,
}

impl PullFailure {
    pub(super) fn new(reason: &'static str, sentence: impl Into<String>) -> Self {
        let sentence = sentence.into();
        Self { reason, sentence }
    }
}

/// Fetches a profile that takes `recording` to record.
pub(super) async fn fetch(
    target: &PullTarget,
    path: &str,
    recording: Duration,
) -> Result<Vec<u8>, PullFailure> {
    let within = recording + PATIENCE;
    let answered = timeout(within, connect(target, path)).await;
    answered.unwrap_or_else(|_| {
        let sentence = format!("there is no whole answer within {} s", within.as_secs());
        Err(PullFailure::new("timeout", sentence))
    })
}

async fn connect(target: &PullTarget, path: &str) -> Result<Vec<u8>, PullFailure> {
    let unreachable = |error: std::io::Error| PullFailure::new("unreachable", error.to_string());
    let socket = TcpStream::connect(&*target.host);
    let socket = socket.await.map_err(unreachable)?;
    match &target.tls {
        None => ask(socket, target, path).await,
        Some(tls) => {
            ask(
                tls.connect(socket).await.map_err(unreachable)?,
                target,
                path,
            )
            .await
        }
    }
}

async fn ask(
    socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    target: &PullTarget,
    path: &str,
) -> Result<Vec<u8>, PullFailure> {
    let broken = |error: hyper::Error| PullFailure::new("connection_lost", error.to_string());
    let agent = concat!("traceloom/", env!("CARGO_PKG_VERSION"));
    let mut request = Request::get(path)
        .header(HOST, &*target.host)
        .header(USER_AGENT, agent);
    if let Some(authorization) = &target.authorization {
        request = request.header(AUTHORIZATION, authorization);
    }
    let request = request.body(Empty::<Bytes>::new());
    let request = request.map_err(|error| PullFailure::new("bad_path", error.to_string()))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(socket))
        .await
        .map_err(broken)?;
    // It ends with the sender, which this function drops.
    tokio::spawn(connection);
    let answer = sender.send_request(request).await.map_err(broken)?;
    check(answer.status())?;
    let body = Limited::new(answer.into_body(), MOST).collect().await;
    let body = body.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
        Some(_) => too_large(MOST as u64),
        None => PullFailure::new("connection_lost", error.to_string()),
    })?;
    Ok(body.to_bytes().to_vec())
}

/// A redirect is a failure like any other: it may lead to what the collector alone can reach.
fn check(status: StatusCode) -> Result<(), PullFailure> {
    if status.is_redirection() {
        let sentence = format!("the answer is {status}, and redirects are not followed");
        return Err(PullFailure::new("redirect", sentence));
    }
    match status {
        StatusCode::OK => Ok(()),
        _ => Err(PullFailure::new(
            "status",
            format!("the answer is {status}"),
        )),
    }
}

fn too_large(most: u64) -> PullFailure {
    let sentence = format!("the profile has more than {} MiB", most >> 20);
    PullFailure::new("too_large", sentence)
}

/// Returns a profile without the compression around it.
pub(super) fn decoded(bytes: &[u8]) -> Result<Vec<u8>, PullFailure> {
    let (_, reader) = Wrapper::reader_of(bytes);
    let mut decoded = Vec::new();
    let read = reader.take(MOST_DECODED + 1).read_to_end(&mut decoded);
    if read.is_err() {
        let sentence = "the compression of the profile is damaged";
        return Err(PullFailure::new("no_profile", sentence));
    }
    match decoded.len() as u64 > MOST_DECODED {
        true => Err(too_large(MOST_DECODED)),
        false => Ok(decoded),
    }
}
