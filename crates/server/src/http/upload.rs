//! Uploads: files as they are, in one request or in several, resumed where a connection broke.
//!
//! A request that begins an upload ends it too, unless it says `Upload-Complete: ?0`. Then its `Location` takes further
//! bytes: `HEAD` says how many of a file are safe, and `PATCH` goes on from there.

use std::collections::HashMap;
use std::future::Future;
use std::str::FromStr as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use http_body_util::BodyExt as _;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use traceloom_input::captures::upload::{DATA, INSTANCE, NAME, SERVICE, UPLOAD};
use traceloom_input::captures::{
    CaptureId, Captures, DataFolder, Event, SessionEnd, State as CaptureState,
};
use traceloom_log::Position;

use super::failure::{Failure, refused};
use super::{BODY_IDLE, Http, Peer, answer};
use crate::journal::{Journal, unix_ns};

/// Bytes of a record.
const PIECE: usize = 64 << 10;
/// Time that an upload waits to be resumed.
const RESUMABLE: Duration = Duration::from_secs(3600);
/// Uploads that are known at a time, those too that are complete and may be asked for.
const MOST_UPLOADS: usize = 10_000;
/// Files of an upload.
const MOST_FILES: u32 = 100_000;
/// Bytes of a name.
const LONGEST_NAME: usize = 4096;

const COMPLETE: HeaderName = HeaderName::from_static("upload-complete");
const OFFSET: HeaderName = HeaderName::from_static("upload-offset");

/// The uploads that may be resumed.
pub(crate) struct Uploads {
    /// Bytes that one may have.
    most_bytes: u64,
    known: Mutex<HashMap<CaptureId, Arc<UploadUnderWay>>>,
    /// Held while an upload of an earlier start is looked for.
    restoring: tokio::sync::Mutex<()>,
}

/// An upload, and who is busy with it.
struct UploadUnderWay {
    upload: tokio::sync::Mutex<Upload>,
    /// Counts requests: the newest one takes over from one whose connection may be broken.
    n_requests: watch::Sender<u64>,
    used: Mutex<Instant>,
}

struct Upload {
    id: CaptureId,
    /// Bytes of each file that are stored.
    files: Vec<u64>,
    /// The last record of it.
    last: Option<Position>,
    ended: Option<&'static str>,
}

impl Uploads {
    pub(crate) fn new(most_bytes: u64) -> Self {
        Self {
            most_bytes,
            known: Mutex::default(),
            restoring: tokio::sync::Mutex::default(),
        }
    }

    fn known(&self, id: CaptureId) -> Option<Arc<UploadUnderWay>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&id).cloned()
    }

    /// Finds an upload, also one that an earlier start of the collector began.
    async fn find(&self, http: &Http, id: &str) -> Result<Arc<UploadUnderWay>, Failure> {
        let unknown = || {
            let sentence = "there is no such upload, or it waited too long: begin it again";
            refused("unknown_upload", StatusCode::NOT_FOUND, sentence)
        };
        let id = CaptureId::from_str(id).map_err(|_| unknown())?;
        if let Some(known) = self.known(id) {
            return Ok(known);
        }
        if id.incarnation() >= http.ids.incarnation() {
            return Err(unknown());
        }
        let _one_at_a_time = self.restoring.lock().await;
        if let Some(known) = self.known(id) {
            return Ok(known);
        }
        let data = http.data.clone();
        let looked = tokio::task::spawn_blocking(move || left(&data, id)).await;
        let upload = looked.ok().flatten().ok_or_else(unknown)?;
        if upload.ended.is_none() && !http.resumer.resume(id).await {
            return Err(unknown());
        }
        self.insert(upload)
    }

    fn insert(&self, upload: Upload) -> Result<Arc<UploadUnderWay>, Failure> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_UPLOADS {
            let sentence = "too many uploads are open";
            let status = StatusCode::SERVICE_UNAVAILABLE;
            return Err(refused("too_many_uploads", status, sentence));
        }
        let id = upload.id;
        let new = Arc::new(UploadUnderWay {
            upload: tokio::sync::Mutex::new(upload),
            n_requests: watch::Sender::new(0),
            used: Mutex::new(Instant::now()),
        });
        known.insert(id, new.clone());
        Ok(new)
    }

    /// Ends the uploads that nobody went on with, and all of them at the end of the collector.
    pub(crate) async fn sweep(&self, journal: &Journal, reason: &'static str, all: bool) {
        let old: Vec<_> = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let is_old = |_: &CaptureId, one: &mut Arc<UploadUnderWay>| {
                let used = *one.used.lock().unwrap_or_else(PoisonError::into_inner);
                all || used.elapsed() >= RESUMABLE
            };
            known.extract_if(is_old).map(|(_, one)| one).collect()
        };
        for one in old {
            one.n_requests.send_modify(|n| *n += 1);
            // A log that failed takes no more; readers then see an interrupted capture.
            let _ = one.upload.lock().await.end(journal, reason, false).await;
        }
    }
}

/// Returns an upload as an earlier start of the collector left it; `None` for one that is gone or ended otherwise.
fn left(data: &std::path::Path, id: CaptureId) -> Option<Upload> {
    let captures = Captures::read_chosen(&DataFolder::open(data).ok()?, &[id]).ok()?;
    let capture = captures.list.iter().find(|capture| capture.id == id)?;
    if capture.protocol?.number != UPLOAD.number {
        return None;
    }
    let ended = match &capture.state {
        CaptureState::Closed(SessionEnd { reason, .. }) => match reason.as_str() {
            "complete" => Some("complete"),
            "collector_stopped" => None,
            _ => return None,
        },
        CaptureState::Interrupted => None,
        CaptureState::Open => return None,
    };
    Some(Upload {
        id,
        files: capture.parts.iter().map(|part| part.n_bytes).collect(),
        last: None,
        ended,
    })
}

impl UploadUnderWay {
    /// Waits for the upload, after having asked whoever has it to let go, and runs `work` until somebody asks for it.
    async fn take_over<T>(
        &self,
        work: impl AsyncFnOnce(&mut Upload, &mut watch::Receiver<u64>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.n_requests.send_modify(|n| *n += 1);
        let mut newer = self.n_requests.subscribe();
        let mut upload = self.upload.lock().await;
        work(&mut upload, &mut newer).await
    }
}

impl Upload {
    async fn store(
        &mut self,
        journal: &Journal,
        stream: u32,
        kind: u8,
        bytes: &[u8],
    ) -> Result<(), Failure> {
        let stored = journal.submit_when_room(self.id, stream, kind, bytes);
        self.last = Some(stored.await?);
        Ok(())
    }

    async fn until_safe(&self, journal: &Journal) -> Result<(), Failure> {
        match self.last {
            Some(last) => Ok(journal.until_safe(last).await?),
            None => Ok(()),
        }
    }

    async fn end(
        &mut self,
        journal: &Journal,
        reason: &'static str,
        orderly: bool,
    ) -> Result<(), Failure> {
        if self.ended.is_some() {
            return Ok(());
        }
        let closed = Event::Closed {
            at_ns: unix_ns(),
            orderly,
            reason: reason.to_owned(),
        };
        self.last = Some(journal.event(self.id, &closed).await?);
        self.ended = Some(reason);
        Ok(())
    }

    fn n_bytes(&self) -> u64 {
        self.files.iter().sum()
    }
}

/// What a request says beside its bytes.
struct DeclaredUpload {
    name: Option<String>,
    service: Option<String>,
    instance: Option<String>,
    file: u32,
    completes: bool,
}

impl DeclaredUpload {
    fn read(query: Option<&str>, headers: &HeaderMap) -> Result<Self, Failure> {
        let bad = |sentence: String| refused("bad_request", StatusCode::BAD_REQUEST, sentence);
        let mut asked = Self {
            name: None,
            service: None,
            instance: None,
            file: 0,
            completes: true,
        };
        for (key, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            if value.len() > LONGEST_NAME {
                return Err(bad(format!("`{key}` is longer than {LONGEST_NAME} bytes")));
            }
            match &*key {
                "name" => asked.name = Some(value.into_owned()),
                "service" => asked.service = Some(value.into_owned()),
                "instance" => asked.instance = Some(value.into_owned()),
                "file" => {
                    let number = value.parse().ok().filter(|&number| number < MOST_FILES);
                    asked.file = number.ok_or_else(|| {
                        bad(format!(
                            "`file` is a number below {MOST_FILES}, not `{value}`"
                        ))
                    })?;
                }
                _ => {
                    let known = "name, service, instance and file";
                    return Err(bad(format!(
                        "`{key}` means nothing here; there are {known}"
                    )));
                }
            }
        }
        asked.completes = match headers.get(COMPLETE).map(HeaderValue::as_bytes) {
            None | Some(b"?1") => true,
            Some(b"?0") => false,
            Some(_) => return Err(bad("Upload-Complete is ?1 or ?0".to_owned())),
        };
        Ok(asked)
    }
}

/// `POST`: begins an upload.
pub(super) async fn create(
    State(http): State<Arc<Http>>,
    Extension(peer): Extension<Peer>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let created = async {
        let asked = DeclaredUpload::read(query.as_deref(), &headers)?;
        refuse_forms(&headers)?;
        begin(&http, peer, asked, &headers, body).await
    };
    respond(&http, created).await
}

/// `PUT`: a thread, top or heap dump of a CDT agent, on the path that its tools use.
pub(super) async fn dump(
    State(http): State<Arc<Http>>,
    Extension(peer): Extension<Peer>,
    Path(path): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let created = async {
        let Some((name, instance)) = dump_name(&path) else {
            let sentence = "a dump is put at /diagnostic/NAMESPACE/yyyy/MM/dd/HH/mm/ss/POD_MILLISECONDS/\
                            yyyyMMddTHHmmss.td.txt, .top.txt or .hprof.zip";
            return Err(refused("bad_request", StatusCode::BAD_REQUEST, sentence));
        };
        let asked = DeclaredUpload {
            name: Some(name),
            service: None,
            instance: Some(instance),
            file: 0,
            completes: true,
        };
        begin(&http, peer, asked, &headers, body).await
    };
    respond(&http, created).await
}

/// Returns the file name and the process that the path of a dump names.
fn dump_name(path: &str) -> Option<(String, String)> {
    let segments: Vec<&str> = path.split('/').collect();
    let &[namespace, ref time @ .., pod, file] = segments.as_slice() else {
        return None;
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let widths = [4, 2, 2, 2, 2, 2];
    let is_time = time.len() == widths.len()
        && time
            .iter()
            .zip(widths)
            .all(|(text, width)| text.len() == width && is_number(text));
    let (name, started) = pod.rsplit_once('_')?;
    let (taken, kind) = file.split_once('.')?;
    let (day, second) = taken.split_once('T')?;
    let is_dump = is_time
        && !namespace.is_empty()
        && !name.is_empty()
        && is_number(started)
        && (day.len(), second.len()) == (8, 6)
        && is_number(day)
        && is_number(second)
        && ["td.txt", "top.txt", "hprof.zip"].contains(&kind)
        && path.len() <= LONGEST_NAME;
    is_dump.then(|| (format!("{namespace}/{pod}/{file}"), pod.to_owned()))
}

/// Begins an upload and stores its first file.
async fn begin(
    http: &Arc<Http>,
    peer: Peer,
    asked: DeclaredUpload,
    headers: &HeaderMap,
    body: Body,
) -> Result<(StatusCode, CaptureId, bool), Failure> {
    let Some(name) = &asked.name else {
        let sentence = "the file needs a name: POST /api/v1/upload?name=FILE";
        return Err(refused("bad_request", StatusCode::BAD_REQUEST, sentence));
    };
    http.uploads.check_length(0, headers)?;
    http.uploads.sweep(&http.journal, "abandoned", false).await;
    let id = http.ids.next();
    let known = http.uploads.insert(Upload {
        id,
        files: Vec::new(),
        last: None,
        ended: None,
    })?;
    let stored = known.take_over(async |upload, newer| {
        let opened = Event::Opened {
            protocol: UPLOAD.number,
            at_ns: unix_ns(),
            peer: peer.0.to_string(),
        };
        upload.last = Some(http.journal.event(id, &opened).await?);
        let who = [(SERVICE, &asked.service), (INSTANCE, &asked.instance)];
        for (kind, value) in who {
            if let Some(value) = value {
                upload
                    .store(&http.journal, 0, kind, value.as_bytes())
                    .await?;
            }
        }
        upload
            .store(&http.journal, 0, NAME, name.as_bytes())
            .await?;
        upload.files.push(0);
        let received = receive(http, upload, 0, body, newer, asked.completes).await;
        if let (Err(failure), true) = (&received, asked.completes) {
            // Nobody knows its address: nobody goes on with it.
            let reason = match failure {
                Failure::Refused(reason, ..) | Failure::Lost(reason) => reason,
                Failure::Storage => "storage_failed",
            };
            upload.end(&http.journal, reason, false).await?;
        }
        received
    });
    let complete = stored.await?;
    Ok((StatusCode::CREATED, id, complete))
}

/// `PATCH`: goes on with an upload, at the end of one of its files or with another one.
pub(super) async fn append(
    State(http): State<Arc<Http>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let appended = async {
        let asked = DeclaredUpload::read(query.as_deref(), &headers)?;
        let offset = headers.get(OFFSET).and_then(|offset| offset.to_str().ok());
        let Some(offset) = offset.and_then(|offset| offset.parse::<u64>().ok()) else {
            let sentence = "Upload-Offset says where the bytes belong";
            return Err(refused("bad_request", StatusCode::BAD_REQUEST, sentence));
        };
        let known = http.uploads.find(&http, &id).await?;
        let stored = known.take_over(async |upload, newer| {
            http.uploads.check_length(upload.n_bytes(), &headers)?;
            if upload.ended.is_some() {
                let sentence = "the upload has ended";
                return Err(refused("ended", StatusCode::CONFLICT, sentence));
            }
            let n_files = upload.files.len();
            let at = asked.file as usize;
            if let (true, Some(name)) = (at == n_files, &asked.name) {
                upload
                    .store(&http.journal, asked.file, NAME, name.as_bytes())
                    .await?;
                upload.files.push(0);
            }
            let Some(&stored) = upload.files.get(at) else {
                let sentence = format!("the next file is {n_files}, and needs a name");
                return Err(refused("bad_request", StatusCode::BAD_REQUEST, sentence));
            };
            if stored != offset {
                let sentence = format!("{stored} bytes of the file are stored, not {offset}");
                return Err(refused("wrong_offset", StatusCode::CONFLICT, sentence));
            }
            let complete = receive(&http, upload, asked.file, body, newer, asked.completes).await?;
            Ok((StatusCode::OK, upload.id, complete))
        });
        stored.await
    };
    respond(&http, appended).await
}

/// `HEAD`: says how many bytes of a file are safe.
pub(super) async fn offset(
    State(http): State<Arc<Http>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let asked = async {
        let asked = DeclaredUpload::read(query.as_deref(), &headers)?;
        let known = http.uploads.find(&http, &id).await?;
        let stored = known.take_over(async |upload, _| {
            upload.until_safe(&http.journal).await?;
            let stored = upload.files.get(asked.file as usize);
            Ok((
                stored.copied().unwrap_or(0),
                upload.ended == Some("complete"),
            ))
        });
        stored.await
    };
    let (stored, complete) = match asked.await {
        Ok(stored) => stored,
        Err(failure) => return failure.response(&http),
    };
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(OFFSET, HeaderValue::from(stored));
    headers.insert(
        COMPLETE,
        HeaderValue::from_static(if complete { "?1" } else { "?0" }),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Refuses forms of browsers and of `curl -F`, whose parts are not taken out.
fn refuse_forms(headers: &HeaderMap) -> Result<(), Failure> {
    let kind = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    match kind.is_some_and(|kind| kind.starts_with(b"multipart/")) {
        false => Ok(()),
        true => Err(refused(
            "form",
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the body is the file itself, not a form: curl --data-binary @FILE, or traceloom push FILE",
        )),
    }
}

impl Uploads {
    /// Refuses early what says that it is too long.
    fn check_length(&self, stored: u64, headers: &HeaderMap) -> Result<(), Failure> {
        let length = headers.get(header::CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        self.check_size(stored.saturating_add(length.unwrap_or(0)))
    }

    fn check_size(&self, n_bytes: u64) -> Result<(), Failure> {
        let most = self.most_bytes;
        if n_bytes <= most {
            return Ok(());
        }
        let sentence =
            format!("an upload has at most {most} bytes; --upload-bytes sets another limit");
        Err(refused(
            "too_large",
            StatusCode::PAYLOAD_TOO_LARGE,
            sentence,
        ))
    }
}

/// Stores the bytes of a body, and returns whether the upload is complete, once all of it is safe.
async fn receive(
    http: &Http,
    upload: &mut Upload,
    file: u32,
    mut body: Body,
    newer: &mut watch::Receiver<u64>,
    completes: bool,
) -> Result<bool, Failure> {
    newer.mark_unchanged();
    let mut n_units = 0;
    loop {
        let frame = tokio::select! {
            frame = timeout(BODY_IDLE, body.frame()) => frame,
            _ = newer.changed() => return Err(Failure::Lost("taken_over")),
        };
        let Ok(frame) = frame else {
            return Err(Failure::Lost("stalled"));
        };
        let bytes = match frame {
            None => break,
            Some(Err(_)) => return Err(Failure::Lost("connection_lost")),
            Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
        };
        http.uploads
            .check_size(upload.n_bytes() + bytes.len() as u64)?;
        for piece in bytes.chunks(PIECE) {
            upload.store(&http.journal, file, DATA, piece).await?;
            if let Some(n_bytes) = upload.files.get_mut(file as usize) {
                *n_bytes += piece.len() as u64;
            }
            n_units += 1;
            http.counts.received.add(1);
            http.counts.received_bytes.add(piece.len() as u64);
        }
    }
    if completes {
        upload.end(&http.journal, "complete", true).await?;
    }
    upload.until_safe(&http.journal).await?;
    http.counts.acknowledged.add(n_units);
    Ok(completes)
}

async fn respond(
    http: &Http,
    stored: impl Future<Output = Result<(StatusCode, CaptureId, bool), Failure>>,
) -> Response {
    match stored.await {
        Ok((status, id, complete)) => {
            let body = json!({"capture": id.to_string(), "complete": complete});
            let mut response = answer(status, &body);
            if let Ok(location) = HeaderValue::from_str(&format!("/api/v1/upload/{id}")) {
                response.headers_mut().insert(header::LOCATION, location);
            }
            response
        }
        Err(failure) => failure.response(http),
    }
}
