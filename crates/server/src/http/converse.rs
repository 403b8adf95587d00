//! Connections of the HTTP side: HTTP/1.1, and HTTP/2 for gRPC.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use super::Peer;

/// Time for the head of a request.
const HEAD: Duration = Duration::from_secs(10);
/// Bytes of the head of a request.
const LONGEST_HEAD: usize = 64 << 10;
/// The same for HTTP/2, decoded.
const LONGEST_HEADERS: u32 = 16 << 10;
/// Requests of a connection of HTTP/2 at a time.
const STREAMS: u32 = 32;
/// Time without a frame after which a peer of HTTP/2 is asked whether it is still there, and time for its answer.
const PING: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(20));

/// What is spoken on a listener.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    Http1,
    Http2,
}

impl Version {
    /// Returns the listener's name in addresses and counts.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Http1 => "http",
            Self::Http2 => "otlp-grpc",
        }
    }

    /// Returns what has to be agreed on in a handshake of TLS.
    pub(crate) const fn alpn(self) -> Option<&'static [u8]> {
        match self {
            Self::Http1 => None,
            Self::Http2 => Some(b"h2"),
        }
    }

    /// Returns how to send to a listener.
    pub(crate) fn settings(self, address: SocketAddr, tls: bool) -> String {
        match (self, tls) {
            (Self::Http1, false) => format!(
                "http on {address}: traceloom push FILE --to http://{address}; pages at http://{address}/, metrics at /metrics"
            ),
            (Self::Http1, true) => format!(
                "http over TLS on {address}: traceloom push FILE --to https://{address} --tls-ca CA; pages at https://{address}/, metrics at /metrics"
            ),
            (Self::Http2, false) => {
                format!("otlp-grpc on {address}: OTEL_EXPORTER_OTLP_ENDPOINT=http://{address}")
            }
            (Self::Http2, true) => format!(
                "otlp-grpc over TLS on {address}: OTEL_EXPORTER_OTLP_ENDPOINT=https://{address}"
            ),
        }
    }
}

/// Serves the requests of a connection to its end.
pub(crate) async fn converse(
    routes: Router,
    version: Version,
    socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: SocketAddr,
    stop: watch::Receiver<bool>,
) {
    let routes = routes.layer(axum::Extension(Peer(peer)));
    match version {
        Version::Http1 => converse_http1(routes, socket, stop).await,
        Version::Http2 => converse_http2(routes, socket, stop).await,
    }
}

async fn converse_http1(
    routes: Router,
    socket: impl AsyncRead + AsyncWrite + Unpin,
    mut stop: watch::Receiver<bool>,
) {
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(LONGEST_HEAD);
    let connection =
        server.serve_connection(TokioIo::new(socket), TowerToHyperService::new(routes));
    tokio::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => {}
        () = asked(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

async fn converse_http2(
    routes: Router,
    socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    mut stop: watch::Receiver<bool>,
) {
    let spoke = Arc::new(AtomicBool::new(false));
    let heard = spoke.clone();
    let routes = routes.layer(from_fn(move |request: Request, next: Next| {
        heard.store(true, Ordering::Relaxed);
        next.run(request)
    }));
    let mut server = http2::Builder::new(TokioExecutor::new());
    server
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(LONGEST_HEADERS)
        .keep_alive_interval(PING.0)
        .keep_alive_timeout(PING.1);
    let connection =
        server.serve_connection(TokioIo::new(socket), TowerToHyperService::new(routes));
    tokio::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = asked(&mut stop) => {}
        // Pings begin behind the greeting, which some never send.
        () = tokio::time::sleep(HEAD) => {
            if !spoke.load(Ordering::Relaxed) {
                return;
            }
            tokio::select! {
                _ = connection.as_mut() => return,
                () = asked(&mut stop) => {}
            }
        }
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

/// Waits until the collector is asked to end.
async fn asked(stop: &mut watch::Receiver<bool>) {
    while !*stop.borrow_and_update() {
        if stop.changed().await.is_err() {
            return;
        }
    }
}
