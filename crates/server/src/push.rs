//! The client of uploads: sends files, and goes on where a connection broke.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use http_body_util::{BodyExt as _, Either, Empty};
use hyper::body::{Body, Frame, SizeHint};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, HOST, LOCATION};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::Error;
use crate::tls::TlsClient;

/// Bytes read from a file at a time.
const PIECE: usize = 256 << 10;
/// Time for a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// First wait before another try; each is twice the one before.
const FIRST_WAIT: Duration = Duration::from_millis(200);
/// Longest wait before another try.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Where to push, and as whom.
#[derive(Clone, Debug)]
pub struct PushOptions {
    /// Address of the collector.
    pub to: SocketAddr,
    /// Host and port as the collector knows them.
    pub host: String,
    /// How TLS is spoken, where it is.
    pub tls: Option<TlsClient>,
    /// The token, where one is needed.
    pub token: Option<String>,
    /// Service that the recording is of.
    pub service: Option<String>,
    /// Process that the recording is of.
    pub instance: Option<String>,
    /// Time without progress after which the push is given up.
    pub patience: Duration,
}

/// A file to push.
#[derive(Clone, Debug)]
pub struct PushFile {
    /// Its name in the capture: a relative path.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

/// What became of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// Id of the capture.
    pub capture: String,
    /// Bytes sent and safe.
    pub bytes: u64,
    /// Times that the connection broke and the push went on.
    pub resumed: u64,
}

/// Pushes files as one capture; `sent` counts their bytes while they go.
///
/// # Errors
/// When a file cannot be read, the collector refuses, or cannot be reached for [`PushOptions::patience`].
pub fn push(
    options: &PushOptions,
    files: &[PushFile],
    sent: &Arc<AtomicU64>,
) -> Result<Pushed, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Error::new(format!("no runtime: {error}")))?;
    let mut pusher = Pusher {
        options,
        sent,
        capture: None,
        resumed: 0,
        began_again: false,
    };
    runtime.block_on(pusher.run(files))
}

struct Pusher<'p> {
    options: &'p PushOptions,
    sent: &'p Arc<AtomicU64>,
    capture: Option<String>,
    resumed: u64,
    /// The collector was started again and does not know the upload.
    began_again: bool,
}

/// Why a request did not do what it should.
enum FailedRequest {
    /// Another try may succeed.
    Lost(String),
    /// The collector does not know the upload.
    Forgotten,
    /// It will never succeed.
    Refused(Error),
}

/// What the collector has of a file.
struct StoredSoFar {
    n_bytes: u64,
    complete: bool,
}

type Sent = Either<FileBody, Empty<Bytes>>;

impl Pusher<'_> {
    async fn run(&mut self, files: &[PushFile]) -> Result<Pushed, Error> {
        let (mut next, mut bytes) = (0, 0);
        // Bytes of the file that are safe; unknown after a connection broke.
        let mut offset = Some(0);
        let mut wait = FIRST_WAIT;
        let mut until = Instant::now() + self.options.patience;
        let mut last_safe = 0;
        while let Some(file) = files.get(next) {
            let opened = File::open(&file.path).and_then(|file| {
                let length = file.metadata()?.len();
                Ok((Arc::new(file), length))
            });
            let (source, length) = opened.map_err(|error| unreadable(file, &error))?;
            let is_last = next + 1 == files.len();
            let turn = self.turn(file, next, source, length, is_last, &mut offset, bytes);
            match turn.await {
                Ok(()) => {
                    bytes += length;
                    next += 1;
                    offset = Some(0);
                    wait = FIRST_WAIT;
                    until = Instant::now() + self.options.patience;
                }
                Err(FailedRequest::Refused(error)) => return Err(error),
                Err(FailedRequest::Forgotten) if !self.began_again => {
                    self.began_again = true;
                    self.capture = None;
                    (next, bytes, offset) = (0, 0, Some(0));
                    self.sent.store(0, Ordering::Relaxed);
                }
                Err(FailedRequest::Forgotten) => {
                    let sentence = "the collector forgets the upload again and again";
                    return Err(Error::new(sentence));
                }
                Err(FailedRequest::Lost(reason)) => {
                    let safe = self.sent.load(Ordering::Relaxed);
                    if safe > last_safe {
                        until = Instant::now() + self.options.patience;
                        wait = FIRST_WAIT;
                    }
                    last_safe = safe;
                    if Instant::now() + wait > until {
                        return Err(Error::new(reason));
                    }
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(LONGEST_WAIT);
                    offset = None;
                }
            }
        }
        Ok(Pushed {
            capture: self.capture.clone().unwrap_or_default(),
            bytes,
            resumed: self.resumed,
        })
    }

    /// Sends what is missing of a file.
    #[expect(
        clippy::too_many_arguments,
        reason = "a file, where it stands, and what is known of it"
    )]
    async fn turn(
        &mut self,
        file: &PushFile,
        number: usize,
        source: Arc<File>,
        length: u64,
        is_last: bool,
        offset: &mut Option<u64>,
        before: u64,
    ) -> Result<(), FailedRequest> {
        let capture = match &self.capture {
            Some(capture) => capture.clone(),
            None => {
                let capture = self.begin(file).await?;
                self.capture.insert(capture).clone()
            }
        };
        let at = match *offset {
            Some(at) => at,
            None => {
                let stored = self.stored(&capture, number).await?;
                if stored.complete {
                    return Ok(());
                }
                self.resumed += 1;
                stored.n_bytes
            }
        };
        if at > length {
            let sentence = format!(
                "{}: it is shorter than when it was begun",
                file.path.display()
            );
            return Err(FailedRequest::Refused(Error::new(sentence)));
        }
        self.sent.store(before + at, Ordering::Relaxed);
        let body = FileBody {
            file: source,
            at,
            end: length,
            sent: self.sent.clone(),
        };
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("file", &number.to_string())
            .append_pair("name", &file.name)
            .finish();
        let request = self
            .request(Method::PATCH, &format!("{}?{query}", upload(&capture)))
            .header("upload-offset", at)
            .header("upload-complete", if is_last { "?1" } else { "?0" })
            .body(Either::Left(body));
        let response = self.ask(request).await?;
        *offset = None;
        accepted(response, StatusCode::OK).await.map(drop)
    }

    /// Begins the capture and returns its id.
    async fn begin(&self, first: &PushFile) -> Result<String, FailedRequest> {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("name", &first.name);
        let who = [
            ("service", &self.options.service),
            ("instance", &self.options.instance),
        ];
        for (key, value) in who {
            if let Some(value) = value {
                query.append_pair(key, value);
            }
        }
        let path = format!("/api/v1/upload?{}", query.finish());
        let request = self
            .request(Method::POST, &path)
            .header("upload-complete", "?0")
            .body(Either::Right(Empty::new()));
        let response = accepted(self.ask(request).await?, StatusCode::CREATED).await?;
        let location = response
            .headers()
            .get(LOCATION)
            .and_then(|at| at.to_str().ok());
        let capture = location.and_then(|at| at.strip_prefix("/api/v1/upload/"));
        let not_one =
            || FailedRequest::Refused(Error::new("what answers there is no traceloom collector"));
        capture.map(str::to_owned).ok_or_else(not_one)
    }

    /// Asks how much of a file is safe.
    async fn stored(&self, capture: &str, number: usize) -> Result<StoredSoFar, FailedRequest> {
        let path = format!("{}?file={number}", upload(capture));
        let request = self
            .request(Method::HEAD, &path)
            .body(Either::Right(Empty::new()));
        let response = accepted(self.ask(request).await?, StatusCode::NO_CONTENT).await?;
        let text = |name: &str| {
            response
                .headers()
                .get(name)
                .and_then(|value| value.to_str().ok())
        };
        let n_bytes = text("upload-offset").and_then(|offset| offset.parse().ok());
        Ok(StoredSoFar {
            n_bytes: n_bytes
                .ok_or_else(|| FailedRequest::Lost("the answer has no offset".to_owned()))?,
            complete: text("upload-complete") == Some("?1"),
        })
    }

    fn request(&self, method: Method, path: &str) -> hyper::http::request::Builder {
        let request = Request::builder().method(method).uri(path);
        let request = request.header(HOST, &self.options.host);
        match &self.options.token {
            Some(token) => request.header(AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        }
    }

    async fn ask(
        &self,
        request: Result<Request<Sent>, hyper::http::Error>,
    ) -> Result<Response<hyper::body::Incoming>, FailedRequest> {
        let refused =
            |error: &dyn std::fmt::Display| FailedRequest::Refused(Error::new(error.to_string()));
        let request = request.map_err(|error| refused(&error))?;
        let to = self.options.to;
        let connected = tokio::time::timeout(CONNECT, TcpStream::connect(to)).await;
        let socket = connected
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .map_err(|error| FailedRequest::Lost(format!("no collector at {to}: {error}")))?;
        let answered = match &self.options.tls {
            None => exchange(socket, request).await,
            Some(tls) => match tokio::time::timeout(CONNECT, tls.connect(socket)).await {
                Ok(Ok(socket)) => exchange(socket, request).await,
                Ok(Err(error)) => return Err(unanswered(to, &error)),
                Err(_) => {
                    let late = io::Error::from(io::ErrorKind::TimedOut);
                    return Err(unanswered(to, &late));
                }
            },
        };
        answered.map_err(|error| unanswered(to, &error))
    }
}

/// Sends a request and returns the answer.
async fn exchange(
    socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Sent>,
) -> hyper::Result<Response<hyper::body::Incoming>> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(socket)).await?;
    tokio::spawn(connection);
    sender.send_request(request).await
}

/// Returns what an error of a connection means: what TLS refuses is refused the next time, too.
fn unanswered(to: SocketAddr, error: &(dyn std::error::Error + 'static)) -> FailedRequest {
    let causes = std::iter::successors(Some(error), |error| error.source());
    for cause in causes {
        let inner = cause
            .downcast_ref::<io::Error>()
            .and_then(|error| error.get_ref());
        if inner.is_some_and(|inner| inner.is::<rustls::Error>()) {
            return FailedRequest::Refused(Error::new(format!("no TLS with {to}: {cause}")));
        }
    }
    FailedRequest::Lost(format!("the connection to {to} broke: {error}"))
}

fn upload(capture: &str) -> String {
    format!("/api/v1/upload/{capture}")
}

fn unreadable(file: &PushFile, error: &io::Error) -> Error {
    Error::new(format!("{}: {error}", file.path.display()))
}

/// Returns the response if it has the status that is expected.
async fn accepted(
    response: Response<hyper::body::Incoming>,
    expected: StatusCode,
) -> Result<Response<hyper::body::Incoming>, FailedRequest> {
    let status = response.status();
    if status == expected {
        return Ok(response);
    }
    let body = response.into_body().collect().await;
    let body = body
        .map(http_body_util::Collected::to_bytes)
        .unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let said = body["error"].as_str().unwrap_or("no reason is given");
    let sentence = format!("the collector answers {status}: {said}");
    Err(match status {
        StatusCode::NOT_FOUND => FailedRequest::Forgotten,
        // Another request still has the upload, or the offset moved meanwhile: asking again tells.
        StatusCode::CONFLICT | StatusCode::REQUEST_TIMEOUT => FailedRequest::Lost(sentence),
        status if status.is_server_error() => FailedRequest::Lost(sentence),
        _ => FailedRequest::Refused(Error::new(sentence)),
    })
}

/// A file from an offset on, read while it is sent.
struct FileBody {
    file: Arc<File>,
    at: u64,
    end: u64,
    sent: Arc<AtomicU64>,
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let left = self.end.saturating_sub(self.at);
        if left == 0 {
            return Poll::Ready(None);
        }
        let length = usize::try_from(left).map_or(PIECE, |left| left.min(PIECE));
        let mut bytes = vec![0; length];
        let read = self.file.read_exact_at(&mut bytes, self.at);
        Poll::Ready(Some(read.map(|()| {
            self.at += length as u64;
            self.sent.fetch_add(length as u64, Ordering::Relaxed);
            Frame::data(bytes.into())
        })))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.end.saturating_sub(self.at))
    }
}
