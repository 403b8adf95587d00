//! The client of posts: sends whole requests, each until it is answered.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, RETRY_AFTER};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::Error;
use crate::tls::TlsClient;

/// Time for a connection, and for a handshake of TLS.
const CONNECT: Duration = Duration::from_secs(10);
/// Time for an answer: a collector may wait for its disk.
const ANSWER: Duration = Duration::from_secs(60);
/// Wait before another try, where the answer names none.
const WAIT: Duration = Duration::from_millis(500);
/// Bytes of an answer that are read.
const MOST: usize = 64 << 10;

/// Where to post, and as whom.
#[derive(Clone, Debug)]
pub struct PostOptions {
    /// Address of the collector.
    pub to: SocketAddr,
    /// Host and port as the collector knows them.
    pub host: String,
    /// How TLS is spoken, where it is.
    pub tls: Option<TlsClient>,
    /// Scheme and credentials, such as `Bearer TOKEN`, where they are needed.
    pub authorization: Option<String>,
    /// Time for one request, all tries together.
    pub patience: Duration,
}

/// A request.
#[derive(Clone, Debug)]
pub struct PostRequest {
    /// Its path.
    pub path: String,
    /// What its body is.
    pub content_type: String,
    /// Its body.
    pub body: Vec<u8>,
}

/// Why a try failed.
enum FailedTry {
    /// Another try may succeed, after this time where the collector said so.
    Later(String, Option<Duration>),
    Refused(Error),
}

/// Posts requests one after the other; those that the collector cannot take now, and those whose answer was lost, again.
///
/// # Errors
/// When the collector refuses one, or does not take it within [`PostOptions::patience`].
pub fn post(options: &PostOptions, requests: &[PostRequest]) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Error::new(format!("no runtime: {error}")))?;
    runtime.block_on(async {
        for request in requests {
            deliver(options, request).await?;
        }
        Ok(())
    })
}

/// Posts a request once, and returns the body of the answer.
///
/// # Errors
/// When the collector cannot be reached, refuses it, or the answer is lost.
pub fn post_once(options: &PostOptions, request: &PostRequest) -> Result<Vec<u8>, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Error::new(format!("no runtime: {error}")))?;
    match runtime.block_on(attempt(options, request)) {
        Ok(body) => Ok(body),
        Err(FailedTry::Refused(error)) => Err(error),
        Err(FailedTry::Later(reason, _)) => Err(Error::new(reason)),
    }
}

async fn deliver(options: &PostOptions, request: &PostRequest) -> Result<(), Error> {
    let until = Instant::now() + options.patience;
    loop {
        match attempt(options, request).await {
            Ok(_) => return Ok(()),
            Err(FailedTry::Refused(error)) => return Err(error),
            Err(FailedTry::Later(reason, wait)) => {
                let next = Instant::now() + wait.unwrap_or(WAIT);
                if next > until {
                    return Err(Error::new(reason));
                }
                tokio::time::sleep_until(next).await;
            }
        }
    }
}

async fn attempt(options: &PostOptions, request: &PostRequest) -> Result<Vec<u8>, FailedTry> {
    let to = options.to;
    let lost = |error: &dyn std::fmt::Display| {
        FailedTry::Later(format!("the connection to {to} broke: {error}"), None)
    };
    let connected = timeout(CONNECT, TcpStream::connect(to)).await;
    let connected = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    let socket = connected
        .map_err(|error| FailedTry::Later(format!("no collector at {to}: {error}"), None))?;
    match &options.tls {
        None => exchange(socket, options, request).await,
        Some(tls) => match timeout(CONNECT, tls.connect(socket)).await {
            Ok(Ok(socket)) => exchange(socket, options, request).await,
            Ok(Err(error)) => {
                let sentence = format!("no TLS with {to}: {error}");
                Err(FailedTry::Refused(Error::new(sentence)))
            }
            Err(_) => Err(lost(&io::Error::from(io::ErrorKind::TimedOut))),
        },
    }
}

async fn exchange(
    socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    options: &PostOptions,
    request: &PostRequest,
) -> Result<Vec<u8>, FailedTry> {
    let lost = |error: &dyn std::fmt::Display| {
        let sentence = format!("the connection to {} broke: {error}", options.to);
        FailedTry::Later(sentence, None)
    };
    let mut built = Request::post(&*request.path)
        .header(HOST, &options.host)
        .header(CONTENT_TYPE, &*request.content_type);
    if let Some(authorization) = &options.authorization {
        built = built.header(AUTHORIZATION, authorization);
    }
    let built = built.body(Full::new(Bytes::from(request.body.clone())));
    let built = built.map_err(|error| FailedTry::Refused(Error::new(error.to_string())))?;
    let answered = timeout(ANSWER, async {
        let (mut sender, connection) = http1::handshake(TokioIo::new(socket)).await?;
        tokio::spawn(connection);
        sender.send_request(built).await
    });
    let answer = match answered.await {
        Ok(answer) => answer.map_err(|error| lost(&error))?,
        Err(_) => return Err(lost(&io::Error::from(io::ErrorKind::TimedOut))),
    };
    let status = answer.status();
    let wait = answer.headers().get(RETRY_AFTER);
    let wait = wait.and_then(|wait| wait.to_str().ok()?.parse().ok());
    let body = http_body_util::Limited::new(answer.into_body(), MOST).collect();
    let said = timeout(ANSWER, body).await.ok().and_then(Result::ok);
    let said = said.map(|said| said.to_bytes()).unwrap_or_default();
    if status.is_success() {
        return Ok(said.to_vec());
    }
    let sentence = format!(
        "the collector answers {status}: {}",
        String::from_utf8_lossy(&said).trim()
    );
    let later = [
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::REQUEST_TIMEOUT,
        StatusCode::BAD_GATEWAY,
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::GATEWAY_TIMEOUT,
    ];
    Err(match later.contains(&status) {
        true => FailedTry::Later(sentence, wait.map(Duration::from_secs)),
        false => FailedTry::Refused(Error::new(sentence)),
    })
}
