//! The files inside a recorded request.

use std::collections::HashMap;

use traceloom_model::Limits;

use super::http::{BodyPart, Message, messages, query};
use crate::gather::whole;
use crate::json::{Document, Value};
use crate::{Error, Member, Pull};

pub(super) fn members(pull: &mut dyn Pull, limits: &Limits) -> Result<Vec<Member>, Error> {
    Ok(of_recording(&whole(pull, limits)?))
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
        let session = if super::is_ingest(message) {
            session(message)
        } else {
            None
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

fn session(message: &Message<'_>) -> Option<(String, String)> {
    let query = query(message.target);
    let value = |wanted: &str| {
        let found = query.iter().find(|(key, _)| key == wanted);
        found.map(|(_, value)| value.clone())
    };
    let name = value("name").unwrap_or_default();
    let labelled = name
        .split(['{', ',', '}'])
        .find_map(|label| label.strip_prefix("__session_id__="));
    let session = value("__session_id__").or_else(|| labelled.map(str::to_owned))?;
    Some((session, value("until")?))
}

fn of_message(message: &Message<'_>) -> Vec<Member> {
    if super::is_ingest(message) {
        return of_ingest(message);
    }
    let mut members = Vec::new();
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

fn member(name: &str, pieces: Vec<(u64, u32)>) -> Member {
    Member {
        name: name.to_owned(),
        pieces,
    }
}

fn of_ingest(message: &Message<'_>) -> Vec<Member> {
    let query = query(message.target);
    let value = |wanted: &str| {
        let found = query.iter().find(|(key, _)| key == wanted);
        found.map_or("", |(_, value)| value.as_str())
    };
    let java = value("spyName").to_ascii_lowercase().starts_with("java");
    let jfr = value("format") == "jfr" || value("format").is_empty() && java;
    let plain = if jfr { "auto.jfr" } else { "auto.pprof" };
    let mut members = Vec::new();
    if !message.head.is_empty() {
        let head = message.head.end - message.head.start;
        let pieces = vec![(
            message.head.start as u64,
            u32::try_from(head).unwrap_or(u32::MAX),
        )];
        members.push(member("request", pieces));
    }
    if message.parts.is_empty() {
        members.push(member(plain, message.place(&(0..message.body.len()))));
        return members;
    }
    let go = value("spyName").to_ascii_lowercase().starts_with("go");
    let config = message
        .parts
        .iter()
        .find(|part| part.name == "sample_type_config");
    let config = config.map(|part| message.slice(&part.content));
    let bare = message.head.is_empty();
    for part in &message.parts {
        let name = match part.name.as_ref() {
            "profile" if go || bare => go_file(config),
            "profile" | "jfr" => plain,
            other => other,
        };
        members.push(member(name, message.place(&part.content)));
    }
    members
}

/// The file a Go profile is, by the sample types it configures.
fn go_file(config: Option<&[u8]>) -> &'static str {
    let Some(config) = config else {
        return "cpu.pprof";
    };
    let document = Document::parse(config, &Limits::default());
    let Some(root) = document.root() else {
        return "cpu.pprof";
    };
    for item in root.items() {
        let key = item.key().unwrap_or_default();
        match key.as_ref() {
            b"goroutine" | b"goroutines" => return "goroutines.pprof",
            b"contentions" | b"delay" => {
                let shown = item
                    .get("display-name")
                    .and_then(Value::text)
                    .unwrap_or_default();
                let mutex = shown.contains("mutex");
                return if mutex {
                    "delta-mutex.pprof"
                } else {
                    "delta-block.pprof"
                };
            }
            key if key.starts_with(b"alloc_") || key.starts_with(b"inuse_") => {
                return "delta-heap.pprof";
            }
            _ => {}
        }
    }
    "cpu.pprof"
}
