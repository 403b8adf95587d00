//! Runs the command that answers a question, and passes on what it prints.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::BytesMut;
use hyper::body::Frame;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use traceloom_analysis::query::PartialRead;

use super::problem;
use crate::http::Http;
use crate::questions::{LONGEST, Question, bound};

/// Questions that are answered at a time; more wait for their turn.
const AT_A_TIME: usize = 2;
/// Bytes of what it says on standard error that are passed on.
const SAID: u64 = 16 << 10;
/// Bytes of a page or a file.
const LARGEST_PAGE: u64 = 16 << 30;

/// Turns of questions.
#[derive(Clone)]
pub(crate) struct Workers(Arc<Semaphore>);

impl Default for Workers {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_A_TIME)))
    }
}

/// What an answer looks like.
#[derive(Clone)]
pub(super) enum Representation {
    /// `{"rows": […], "messages": […]}`: a JSON value a line of what is printed.
    Rows,
    /// A page as it is.
    Page,
    /// Bytes of a media type, under the name of a file.
    File(&'static str, String),
}

/// Answers a question.
pub(super) async fn answered(
    http: &Arc<Http>,
    question: &Question,
    form: Representation,
) -> Response {
    let run = tokio::time::timeout(LONGEST, begun(http, question)).await;
    let running = match run {
        Ok(Ok(running)) => running,
        Ok(Err(response)) => return response,
        Err(_) => {
            let detail = json!({"detail": "other questions are being answered; ask again"});
            let mut busy = problem(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many questions",
                &detail,
            );
            let later = HeaderValue::from_static("10");
            busy.headers_mut().insert(header::RETRY_AFTER, later);
            return busy;
        }
    };
    let partial = running.partial;
    let mut response = match form {
        Representation::Rows => rows(running).await,
        Representation::Page => page(running).await,
        Representation::File(kind, name) => file(running, kind, &name).await,
    };
    let said = partial.and_then(|partial| as_json(&partial).to_string().parse().ok());
    if let Some(said) = said {
        response.headers_mut().insert(PARTIAL, said);
    }
    response
}

/// The header of an answer that was not made from all that is chosen.
const PARTIAL: HeaderName = HeaderName::from_static("traceloom-partial");

/// Returns the numbers of a partial answer as an object.
fn as_json(partial: &PartialRead) -> Value {
    json!(BTreeMap::from(partial.fields()))
}

/// Puts into an answer what it was made from, where that is not all.
pub(super) fn put_partial(answer: &mut Value, partial: Option<&PartialRead>) {
    if let (Some(answer), Some(partial)) = (answer.as_object_mut(), partial) {
        answer.insert("partial".to_owned(), as_json(partial));
    }
}

/// Everything that a question is answered with.
pub(in crate::http) struct PrintedAnswer {
    /// A JSON value each.
    pub(in crate::http) lines: Vec<Bytes>,
    /// What was said on the way.
    pub(in crate::http) messages: Vec<String>,
    /// What it was made from, where that is not all.
    pub(in crate::http) partial: Option<PartialRead>,
}

/// Answers a question with lines that are kept in memory, at most `most` bytes of them.
pub(in crate::http) async fn lines(
    http: &Arc<Http>,
    question: &Question,
    most: usize,
) -> Result<PrintedAnswer, Response> {
    let read = async {
        let mut running = begun(http, question).await?;
        let mut lines = Vec::new();
        let mut n_bytes = 0;
        loop {
            let mut line = Vec::new();
            let read = running.out.read_until(b'\n', &mut line).await;
            if read.is_err() || line.is_empty() {
                break;
            }
            n_bytes += line.len();
            if n_bytes > most {
                let detail = json!({"detail": "the answer is too large; choose less"});
                let title = "the question is not answered";
                return Err(problem(StatusCode::UNPROCESSABLE_ENTITY, title, &detail));
            }
            line.truncate(line.trim_ascii_end().len());
            lines.push(Bytes::from(line));
        }
        let partial = running.partial;
        let (is_well, messages) = running.end().await;
        match is_well || !lines.is_empty() {
            true => Ok(PrintedAnswer {
                lines,
                messages,
                partial,
            }),
            false => Err(unanswered(&messages)),
        }
    };
    match tokio::time::timeout(LONGEST, read).await {
        Ok(answer) => answer,
        Err(_) => Err(too_long()),
    }
}

/// A process that answers, and its turn.
struct RunningAnswer {
    child: Child,
    out: BufReader<ChildStdout>,
    said: tokio::task::JoinHandle<Vec<String>>,
    partial: Option<PartialRead>,
    _turn: OwnedSemaphorePermit,
}

/// Waits for a turn and starts the process; it is ended when the answer is dropped.
async fn begun(http: &Http, question: &Question) -> Result<RunningAnswer, Response> {
    let failed = |detail: String| {
        let detail = json!({"detail": detail});
        problem(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the question is not answered",
            &detail,
        )
    };
    let Some(answers) = &http.answers else {
        let detail = json!({"detail": "this collector only receives"});
        return Err(problem(
            StatusCode::NOT_FOUND,
            "nobody answers questions here",
            &detail,
        ));
    };
    let turn = http.workers.0.clone().acquire_owned().await;
    let turn = turn.map_err(|error| failed(error.to_string()))?;
    let (make, catalog, asked) = (answers.clone(), http.catalog.clone(), question.clone());
    let made = tokio::task::spawn_blocking(move || (make.0)(&catalog, &asked)).await;
    let made = made.map_err(|error| failed(error.to_string()))?;
    let answer = made.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let detail = json!({"detail": error.to_string()});
            problem(
                StatusCode::NOT_FOUND,
                "there is nothing of the kind",
                &detail,
            )
        }
        _ => failed(error.to_string()),
    })?;
    let mut command = Command::from(answer.command);
    let stdin = match answer.input.is_empty() {
        true => Stdio::null(),
        false => Stdio::piped(),
    };
    command
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    if let Some(id) = child.id() {
        bound(id);
    }
    if let Some(mut stdin) = child.stdin.take() {
        let input = answer.input;
        // One that needs no more of it closes it.
        tokio::spawn(async move { stdin.write_all(&input).await });
    }
    let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(failed("the process has no output".to_owned()));
    };
    let said = tokio::spawn(async move {
        let mut said = Vec::new();
        let mut err = err;
        let _ = (&mut err).take(SAID).read_to_end(&mut said).await;
        // The rest is read too: a process that cannot say more would wait.
        let _ = tokio::io::copy(&mut err, &mut tokio::io::sink()).await;
        let said = String::from_utf8_lossy(&said);
        let lines = said.lines().map(|line| {
            let line = line.strip_prefix("traceloom: ").unwrap_or(line);
            line.to_owned()
        });
        lines.collect()
    });
    Ok(RunningAnswer {
        child,
        out: BufReader::new(out),
        said,
        partial: answer.partial,
        _turn: turn,
    })
}

impl RunningAnswer {
    /// Waits for the end; returns whether nothing was wrong, and what was said.
    async fn end(mut self) -> (bool, Vec<String>) {
        let status = self.child.wait().await;
        let said = self.said.await.unwrap_or_default();
        (status.is_ok_and(|status| status.success()), said)
    }
}

/// Answers with the lines, each a JSON value, as they come.
async fn rows(running: RunningAnswer) -> Response {
    let (first, running) = match begins(running).await {
        Ok(begun) => begun,
        Err(response) => return response,
    };
    if !first.is_empty() {
        return streamed("application/json", |send| write_rows(running, first, send));
    }
    let partial = running.partial;
    let (is_well, messages) = running.end().await;
    if !is_well {
        return unanswered(&messages);
    }
    let mut nothing = json!({"rows": [], "messages": messages});
    put_partial(&mut nothing, partial.as_ref());
    crate::http::answer(StatusCode::OK, &nothing)
}

/// Answers with a page as it is.
async fn page(running: RunningAnswer) -> Response {
    let (first, running) = match begins(running).await {
        Ok(begun) => begun,
        Err(response) => return response,
    };
    if first.is_empty() {
        let (_, messages) = running.end().await;
        return unanswered(&messages);
    }
    let kind = "text/html; charset=utf-8";
    let mut response = streamed(kind, |send| write_page(running, first, send));
    // The page brings a policy of its own, by the hashes of what is in it.
    let frame = HeaderValue::from_static("frame-ancestors 'self'");
    response
        .headers_mut()
        .insert(header::CONTENT_SECURITY_POLICY, frame);
    response
}

/// Waits for the first line.
async fn begins(mut running: RunningAnswer) -> Result<(Vec<u8>, RunningAnswer), Response> {
    let mut first = Vec::new();
    match tokio::time::timeout(LONGEST, first_piece(&mut running.out, &mut first)).await {
        Ok(Ok(_)) => Ok((first, running)),
        _ => Err(too_long()),
    }
}

/// Reads a line, or as much of what has none as is a piece.
async fn first_piece(out: &mut BufReader<ChildStdout>, first: &mut Vec<u8>) -> io::Result<usize> {
    const LONGEST_FIRST: u64 = 64 << 20;
    out.take(LONGEST_FIRST).read_until(b'\n', first).await
}

fn too_long() -> Response {
    let detail = json!({"detail": "it took too long; choose less"});
    let title = "the question is not answered";
    problem(StatusCode::GATEWAY_TIMEOUT, title, &detail)
}

/// Answers with bytes as they are.
async fn file(running: RunningAnswer, kind: &'static str, name: &str) -> Response {
    let (first, running) = match begins(running).await {
        Ok(begun) => begun,
        Err(response) => return response,
    };
    if first.is_empty() {
        let (_, messages) = running.end().await;
        return unanswered(&messages);
    }
    let mut response = streamed(kind, |send| write_page(running, first, send));
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || "-._".contains(c) {
            c
        } else {
            '_'
        }
    };
    let name: String = name.chars().map(safe).collect();
    let disposition = HeaderValue::from_str(&format!("attachment; filename=\"{name}\""));
    let headers = response.headers_mut();
    if let Ok(disposition) = disposition {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    // What a capture says is no page of this origin.
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("sandbox; default-src 'none'; style-src 'unsafe-inline'"),
    );
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}

fn unanswered(messages: &[String]) -> Response {
    let detail = json!({"detail": messages.join("; ")});
    let title = "the question is not answered";
    problem(StatusCode::UNPROCESSABLE_ENTITY, title, &detail)
}

type Sender = mpsc::Sender<io::Result<Bytes>>;

async fn write_rows(running: RunningAnswer, first: Vec<u8>, send: Sender) -> Option<()> {
    let mut running = running;
    let mut line = first;
    let mut before: &[u8] = b"{\"rows\":[";
    while !line.is_empty() {
        let row = [before, line.trim_ascii_end()].concat();
        send.send(Ok(row.into())).await.ok()?;
        before = b",\n";
        line.clear();
        running.out.read_until(b'\n', &mut line).await.ok()?;
    }
    let partial = running.partial;
    let (_, messages) = running.end().await;
    let mut end = json!({"messages": messages});
    put_partial(&mut end, partial.as_ref());
    let end = end.to_string();
    let end = format!("],{}\n", end.trim_start_matches('{'));
    send.send(Ok(end.into())).await.ok()
}

async fn write_page(running: RunningAnswer, first: Vec<u8>, send: Sender) -> Option<()> {
    const PIECE: usize = 64 << 10;
    let mut running = running;
    send.send(Ok(first.into())).await.ok()?;
    let mut left = LARGEST_PAGE;
    while left > 0 {
        let mut piece = BytesMut::with_capacity(PIECE);
        let read = running.out.read_buf(&mut piece).await.ok()?;
        if read == 0 {
            return Some(());
        }
        left = left.saturating_sub(read as u64);
        send.send(Ok(piece.freeze())).await.ok()?;
    }
    None
}

/// Answers with what `write` sends. It is dropped, and the process ended, when the reader goes away or takes too long.
fn streamed<W>(kind: &'static str, write: impl FnOnce(Sender) -> W) -> Response
where
    W: Future<Output = Option<()>> + Send + 'static,
{
    let (send, receive) = mpsc::channel(4);
    let written = write(send.clone());
    tokio::spawn(async move {
        if !matches!(tokio::time::timeout(LONGEST, written).await, Ok(Some(()))) {
            // Half an answer ends as one: the connection is cut.
            let error = io::Error::other("the answer did not come to its end");
            let _ = send.send(Err(error)).await;
        }
    });
    let kind = (header::CONTENT_TYPE, HeaderValue::from_static(kind));
    ([kind], Body::new(StreamedBody(receive))).into_response()
}

/// A body that comes in pieces.
struct StreamedBody(mpsc::Receiver<io::Result<Bytes>>);

impl hyper::body::Body for StreamedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let piece = self.0.poll_recv(context);
        piece.map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}
