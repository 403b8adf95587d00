//! The files inside a recorded request.

use std::collections::HashMap;

use traceloom_model::Limits;
use traceloom_model::bounds::length_u32;

use super::grouping::is_attachment;
use super::http::{BodyPart, HttpMessage, messages};
use super::ingest;
use super::metadata::INPUT_TAGS;
use super::push::is_push;
use crate::codec::whole;
use crate::{Error, Member, Pull};

pub(super) fn members(pull: &mut dyn Pull, limits: &Limits) -> Result<Vec<Member>, Error> {
    Ok(of_recording(whole(pull, limits)?.bytes))
}

/// Lists the members of a recording: each bundle in a folder of its own when there are several.
///
/// Pyroscope sends the profiles of one period one by one: those of the same session and end are one bundle
/// (SPEC.md §6).
pub(super) fn of_recording(bytes: &[u8]) -> Vec<Member> {
    let messages = messages(bytes);
    let requests = messages
        .iter()
        .filter(|message| !message.method.starts_with("HTTP/"));
    let mut sessions: HashMap<(String, String), usize> = HashMap::new();
    let mut n_bundles = 0;
    let mut bundled: Vec<(usize, Vec<Member>)> = Vec::new();
    for message in requests {
        let session = match ingest::is_ingest(message) {
            true => ingest::session(message),
            false => None,
        };
        let bundle = match session {
            Some(session) => *sessions.entry(session).or_insert_with(|| {
                n_bundles += 1;
                n_bundles
            }),
            None => {
                n_bundles += 1;
                n_bundles
            }
        };
        bundled.push((bundle, of_message(message)));
    }
    let mut taken: HashMap<String, usize> = HashMap::new();
    let mut all = Vec::new();
    for (bundle, members) in bundled {
        for mut member in members {
            if n_bundles > 1 {
                member.name = format!("request-{bundle}/{}", member.name);
            }
            let again = taken.entry(member.name.clone()).or_default();
            *again += 1;
            if *again > 1 {
                member.name = numbered(&member.name, *again);
            }
            all.push(member);
        }
    }
    all
}

/// Names the second of two equal names: `cpu.pprof` becomes `cpu-2.pprof`.
fn numbered(name: &str, number: usize) -> String {
    match name.rsplit_once('.') {
        Some((stem, extension)) => format!("{stem}-{number}.{extension}"),
        None => format!("{name}-{number}"),
    }
}

fn of_message(message: &HttpMessage<'_>) -> Vec<Member> {
    if is_push(message) {
        // Its labels belong to no file: it is lowered as it is.
        return Vec::new();
    }
    if ingest::is_ingest(message) {
        return ingest::members(message);
    }
    let mut members = Vec::new();
    if message.header(INPUT_TAGS).is_some() {
        members.push(request_head(message));
    }
    if message.parts.is_empty() && !message.body.is_empty() && message.is_multipart() {
        // Compressed as a whole: its files are found where it is opened (Content-Encoding).
        members.push(member("body", message.place(&(0..message.body.len()))));
        return members;
    }
    let values: Vec<&BodyPart<'_>> = message.parts.iter().filter(|part| !is_file(part)).collect();
    if !values.is_empty() {
        // With the closing boundary, which alone ends the last value.
        let closing = message.closing..message.body.len();
        let ranges = values
            .iter()
            .map(|part| &part.whole)
            .chain(std::iter::once(&closing));
        let pieces = ranges.flat_map(|range| message.place(range)).collect();
        members.push(member("form", pieces));
    }
    for part in message.parts.iter().filter(|part| is_file(part)) {
        let name = match part.name.as_ref() {
            "event" | "event.json" => "event.json",
            // Go's kinds of profiles are told by the field where the file has any name (SPEC.md §5).
            field if is_attachment(field) && !is_attachment(part.file_name()) => field,
            _ => part.file_name(),
        };
        // A name is no path: it cannot leave the bundle's folder.
        let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
        members.push(member(name, message.place(&part.content)));
    }
    members
}

/// Attachments have file names; `event` does not always.
fn is_file(part: &BodyPart<'_>) -> bool {
    part.file.is_some() || matches!(part.name.as_ref(), "event" | "event.json")
}

/// Returns the head of a request as a member.
pub(super) fn request_head(message: &HttpMessage<'_>) -> Member {
    let head = message.head.end - message.head.start;
    let length = length_u32(head);
    member("request", vec![(message.head.start as u64, length)])
}

pub(super) fn member(name: &str, pieces: Vec<(u64, u32)>) -> Member {
    Member {
        name: name.to_owned(),
        pieces,
        notes: Vec::new(),
    }
}
