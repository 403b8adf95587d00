//! What a collector makes of the bodies of requests, over any bytes: shared by a test and a fuzz target.

use traceloom_formats::datakit::{IngestHead, Metadata, PushRequest, Upload};
use traceloom_formats::pprof;
use traceloom_formats::zorka::{AgentSymbols, posted_body};
use traceloom_model::Limits;

/// A reader of requests, and what holds of it.
pub type BodyReader = fn(&[u8]) -> Result<(), String>;

/// All of them, by name.
pub const READERS: [(&str, BodyReader); 7] = [
    ("upload", upload),
    ("event", event),
    ("symbols", symbols),
    ("trace", trace),
    ("ingest", ingest),
    ("push", push),
    ("difference", gained),
];

fn holds(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}

/// A multipart form with the boundary `b`.
fn upload(body: &[u8]) -> Result<(), String> {
    let Ok(upload) = Upload::read("multipart/form-data; boundary=b", body) else {
        return Ok(());
    };
    let (mut n_parts, mut n_bytes, mut event) = (0, 0, None);
    for part in upload.parts() {
        n_parts += 1;
        n_bytes += part.content.len();
        if part.is_event() {
            event = Some(part.content);
        }
    }
    holds(n_parts <= 256, "more than 256 parts")?;
    holds(n_bytes <= body.len(), "parts are longer than the body")?;
    said(&upload.metadata(event, &Limits::default()), body)
}

/// An `event.json`.
fn event(body: &[u8]) -> Result<(), String> {
    said(&Metadata::from_event(body, &Limits::default()), body)
}

/// Metadata are texts of the body; bad UTF-8 grows to three bytes a byte, and escapes do not grow.
fn said(metadata: &Metadata, body: &[u8]) -> Result<(), String> {
    let texts = metadata.tags.iter();
    let n_bytes: usize = texts.map(|(key, value)| key.len() + value.len()).sum();
    let n_named: usize = metadata.attachments.iter().map(String::len).sum();
    holds(
        n_bytes + n_named <= 8 * body.len() + 64,
        "metadata are longer than their document",
    )?;
    let (profile, _) = metadata.profile();
    holds(profile.duration >= 0, "a duration is below zero")
}

/// Symbols of Zorka's agents, binary or in base64.
fn symbols(body: &[u8]) -> Result<(), String> {
    let limits = Limits::default();
    let body = posted_body(body.to_vec());
    let Ok(size) = AgentSymbols::size_of(&body, &limits) else {
        return Ok(());
    };
    let mut symbols = AgentSymbols::default();
    symbols.define(&body, &limits);
    holds(
        symbols.n_bytes() <= size,
        "symbols take more than was said before",
    )
}

/// Symbols, and a trace behind them: the first byte says where it begins.
fn trace(body: &[u8]) -> Result<(), String> {
    let Some((&first, body)) = body.split_first() else {
        return Ok(());
    };
    let limits = Limits::default();
    let (defined, trace) = body.split_at(usize::from(first).min(body.len()));
    let mut symbols = AgentSymbols::default();
    symbols.define(defined, &limits);
    let Ok(resolved) = symbols.resolve(trace, &limits) else {
        return Ok(());
    };
    holds(
        resolved.len() <= 32 * (body.len() + 64),
        "a trace grows without bound when its symbols are resolved",
    )?;
    let again = symbols.resolve(trace, &limits);
    holds(
        again.is_ok_and(|again| again == resolved),
        "a trace resolves to something else the second time",
    )
}

/// The head of a request of Pyroscope.
fn ingest(head: &[u8]) -> Result<(), String> {
    let Ok(head_of) = IngestHead::read(head) else {
        return Ok(());
    };
    holds(
        head_of.service.len() <= 3 * head.len(),
        "a service is longer than the head",
    )
}

/// A push, in protobuf and in JSON.
fn push(body: &[u8]) -> Result<(), String> {
    for kind in ["application/proto", "application/json"] {
        let Ok(request) = PushRequest::read(kind, body) else {
            continue;
        };
        let profiles = request.series.iter().flat_map(|series| &series.profiles);
        let n_bytes: usize = profiles.map(|profile| profile.bytes.len()).sum();
        holds(n_bytes <= body.len(), "profiles are longer than the push")?;
    }
    Ok(())
}

/// Two profiles, one behind the other, and half of the body each.
fn gained(body: &[u8]) -> Result<(), String> {
    let (earlier, later) = body.split_at(body.len() / 2);
    let limits = Limits::default();
    for (earlier, later) in [(earlier, later), (body, body)] {
        if let Ok(gained) = pprof::difference(earlier, later, &limits) {
            let again = pprof::difference(&gained, &gained, &limits);
            holds(again.is_ok(), "a difference is no profile")?;
        }
    }
    Ok(())
}
