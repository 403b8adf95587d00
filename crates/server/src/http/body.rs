//! Bodies of posts: read to their end within limits, and decoded to look at what they hold.

use std::io::Read as _;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, SemaphorePermit};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use traceloom_input::Wrapper;

use super::failure::{Failure, refused};
use super::sender::tenant;
use super::{BODY_IDLE, Http};

/// Bytes of all bodies that are being received, in KiB.
pub(super) const ROOM_KIB: usize = 256 << 10;
/// Bytes that a body takes of that at a time, in KiB.
const STEP_KIB: u32 = 256;
/// Time that a request waits for room and for its quota, all together. The log may let it wait for five seconds more: three of four
/// SDKs give up after ten, and do not send again.
const PATIENCE: Duration = Duration::from_secs(4);
/// Time for a whole body.
const WHOLE: Duration = Duration::from_secs(300);

/// Decoded bytes that are never too many for what they were compressed to.
const ANY_RATIO: u64 = 16 << 20;
/// Decoded bytes for each stored one, beyond that.
const RATIO: u64 = 1000;
/// Decoded bytes of a post.
const MOST_DECODED: u64 = 256 << 20;
/// Decoded bytes that are kept in memory.
const MOST_IN_MEMORY: u64 = 64 << 20;

/// A body, and the room that it takes: of its tenant's, and of all.
pub(super) struct Received<'h> {
    pub(super) bytes: Vec<u8>,
    _room: Vec<(OwnedSemaphorePermit, SemaphorePermit<'h>)>,
}

/// Reads a body to its end, of who the token of its request says.
pub(super) async fn receive<'h>(
    http: &'h Http,
    headers: &HeaderMap,
    body: Body,
    most: usize,
) -> Result<Received<'h>, Failure> {
    receive_of(http, &tenant(http, headers), headers, body, most).await
}

/// Reads a body of a tenant to its end.
pub(super) async fn receive_of<'h>(
    http: &'h Http,
    tenant: &str,
    headers: &HeaderMap,
    mut body: Body,
    most: usize,
) -> Result<Received<'h>, Failure> {
    let tenant = http.tenants.find(tenant);
    let length = headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    check(length.unwrap_or(0), most)?;
    let (mut bytes, mut room) = (Vec::new(), Vec::new());
    let mut patience = PATIENCE;
    let until = Instant::now() + WHOLE;
    loop {
        let frame = timeout_at(until, timeout(BODY_IDLE, body.frame()));
        let Ok(Ok(frame)) = frame.await else {
            return Err(Failure::Lost("stalled"));
        };
        let new = match frame {
            None => break,
            Some(Err(_)) => return Err(Failure::Lost("connection_lost")),
            Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
        };
        check(bytes.len() + new.len(), most)?;
        while room.len() * STEP_KIB as usize * 1024 < bytes.len() + new.len() {
            // One's own room first, so that who has none waits in nobody's way.
            let began = Instant::now();
            let step = timeout(patience, async {
                let own = tenant.room.clone().acquire_many_owned(STEP_KIB).await;
                let step = http.bodies.acquire_many(STEP_KIB).await;
                Some((own.ok()?, step.ok()?))
            });
            let Ok(Some(step)) = step.await else {
                let sentence = "too many bodies are being received";
                let status = StatusCode::SERVICE_UNAVAILABLE;
                return Err(refused("no_room", status, sentence));
            };
            patience = patience.saturating_sub(began.elapsed());
            room.push(step);
        }
        bytes.extend_from_slice(&new);
    }
    let until = Instant::now() + patience;
    while let Err(wait) = tenant.take(bytes.len(), std::time::Instant::now()) {
        if Instant::now() + wait > until {
            let sentence = "the quota of this sender is used up; it comes back over a minute";
            let status = StatusCode::TOO_MANY_REQUESTS;
            return Err(refused("quota", status, sentence));
        }
        sleep(wait).await;
    }
    http.counts.received.add(1);
    http.counts.received_bytes.add(bytes.len() as u64);
    Ok(Received { bytes, _room: room })
}

fn check(n_bytes: usize, most: usize) -> Result<(), Failure> {
    if n_bytes <= most {
        return Ok(());
    }
    let sentence = format!("a body has at most {most} bytes");
    let status = StatusCode::PAYLOAD_TOO_LARGE;
    Err(refused("too_large", status, sentence))
}

/// Returns `true` if a body is compressed, as readers of captures open it.
///
/// # Errors
/// When it is compressed as they do not.
pub(super) fn is_compressed(headers: &HeaderMap) -> Result<bool, Failure> {
    let encoding = headers.get(header::CONTENT_ENCODING);
    match encoding.map_or("", |encoding| encoding.to_str().unwrap_or("?")) {
        "" | "identity" => Ok(false),
        "gzip" | "x-gzip" | "zstd" | "deflate" => Ok(true),
        _ => {
            let sentence = "the Content-Encoding is none of gzip, zstd and deflate";
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            Err(refused("content_encoding", status, sentence))
        }
    }
}

/// What may come out of the parts of one post.
pub(super) struct DecodedBudget {
    left: u64,
}

impl DecodedBudget {
    /// Returns the budget of a post of so many bytes.
    pub(super) fn of(n_bytes: usize) -> Self {
        let by_ratio = (n_bytes as u64).saturating_mul(RATIO).max(ANY_RATIO);
        Self {
            left: by_ratio.min(MOST_DECODED),
        }
    }

    /// Returns the hash of what bytes decode to; of the bytes themselves, where they are damaged.
    pub(super) fn hash(&mut self, bytes: &[u8]) -> Result<blake3::Hash, Failure> {
        let mut hasher = blake3::Hasher::new();
        let whole = self.decode(bytes, &mut |piece| {
            hasher.update(piece);
            Ok(())
        })?;
        match whole {
            true => Ok(hasher.finalize()),
            false => Ok(blake3::hash(bytes)),
        }
    }

    /// Returns what bytes decode to; `None` where they are damaged.
    pub(super) fn whole(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let mut decoded = Vec::new();
        let whole = self.decode(bytes, &mut |piece| {
            if (decoded.len() + piece.len()) as u64 > MOST_IN_MEMORY {
                return Err(too_much());
            }
            decoded.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(whole.then_some(decoded))
    }

    /// Hands decoded bytes out in pieces; returns `false` where they end in damage.
    fn decode(
        &mut self,
        bytes: &[u8],
        take: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        let (wrapper, mut decoding) = Wrapper::reader_of(bytes);
        let mut piece = vec![0; 64 << 10];
        loop {
            let n_read = match decoding.read(&mut piece) {
                Ok(0) => return Ok(true),
                Ok(n_read) => n_read,
                Err(_) => return Ok(false),
            };
            if wrapper.is_some() {
                let left = self.left.checked_sub(n_read as u64);
                self.left = left.ok_or_else(too_much)?;
            }
            take(piece.get(..n_read).unwrap_or_default())?;
        }
    }
}

fn too_much() -> Failure {
    let sentence = "more comes out of the compressed bytes than is taken";
    refused("too_much_decoded", StatusCode::PAYLOAD_TOO_LARGE, sentence)
}
