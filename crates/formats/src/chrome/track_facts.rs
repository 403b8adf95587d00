//! What the metadata of a trace says of a track.

use super::places::{OutputLine, OutputLines};
use super::value::JsonNames;
use crate::text::scalars;
use traceloom_model::{Track, TrackId, TrackKind};

/// Returns members that say what a thread's name and id do not, none where they say all.
pub(super) fn facts(
    names: &JsonNames,
    places: &OutputLines,
    (id, track): (TrackId, &Track),
    place: &OutputLine,
    label: &[u8],
) -> Vec<u8> {
    let mut out = Vec::new();
    let line = |out: &mut Vec<u8>, key: &str, place: &OutputLine| {
        let (pid, tid) = (place.pid, place.tid);
        separate(out);
        out.extend_from_slice(format!("\"{key}\":{{\"pid\":{pid},\"tid\":{tid}}}").as_bytes());
    };
    if place.overlap > 0 {
        if let Some(own) = places.known(id) {
            line(&mut out, "of", own);
        }
        return out;
    }
    let kind = match track.kind {
        TrackKind::Thread => None,
        TrackKind::Stream => Some("stream"),
        TrackKind::Async => Some("async"),
        TrackKind::Lane => Some("lane"),
    };
    if let Some(kind) = kind {
        out.extend_from_slice(format!("\"kind\":\"{kind}\"").as_bytes());
    }
    if let Some(parent) = track.parent.and_then(|parent| places.known(parent)) {
        line(&mut out, "parent", parent);
    }
    if track.lane > 0 {
        separate(&mut out);
        out.extend_from_slice(b"\"lane\":");
        scalars::digits(u64::from(track.lane), &mut out);
    }
    for (key, number, implied) in [
        ("os_id", track.os_id, Some(place.tid)),
        ("id", track.id, None),
    ] {
        if number == implied {
            continue;
        }
        separate(&mut out);
        out.extend_from_slice(format!("\"{key}\":").as_bytes());
        match number {
            Some(number) => scalars::unsigned(number, &mut out),
            None => out.extend_from_slice(b"null"),
        }
    }
    let mut own = Vec::new();
    if let Some(name) = track.name {
        names.inner(name, &mut own);
    }
    if track.name.is_none() || own != label {
        separate(&mut out);
        out.extend_from_slice(b"\"name\":");
        match track.name {
            Some(name) => names.string(name, &mut out),
            None => out.extend_from_slice(b"null"),
        }
    }
    out
}

/// Separates a member from the one before it, if there is one.
pub(super) fn separate(out: &mut Vec<u8>) {
    if !out.is_empty() {
        out.push(b',');
    }
}

/// Returns a track's ancestors, outermost first, and itself. Ids fall towards the root, so that a loop
/// ends; more than 16 levels order by the innermost ones.
pub(super) fn ancestors(names: &JsonNames, id: TrackId) -> Vec<TrackId> {
    let mut chain = vec![id];
    let mut next = names.tracks.get(&id).and_then(|track| track.parent);
    while let Some(parent) = next.filter(|parent| chain.len() < 16 && chain.last() > Some(parent)) {
        chain.push(parent);
        next = names.tracks.get(&parent).and_then(|track| track.parent);
    }
    chain.reverse();
    chain
}

pub(super) fn label(names: &JsonNames, track: &Track, out: &mut Vec<u8>) {
    let kind = match track.kind {
        TrackKind::Thread => "thread",
        TrackKind::Stream => "stream",
        TrackKind::Async => "substream",
        TrackKind::Lane => "",
    };
    let owner = (track.kind == TrackKind::Lane)
        .then_some(track.parent)
        .flatten()
        .and_then(|parent| names.tracks.get(&parent))
        .filter(|owner| owner.kind != TrackKind::Lane);
    match (track.name, owner) {
        (Some(name), _) => {
            names.inner(name, out);
            if let (TrackKind::Async, Some(id)) = (track.kind, track.id) {
                out.push(b' ');
                scalars::digits(id, out);
            }
        }
        (None, Some(owner)) => label(names, owner, out),
        (None, None) => {
            out.extend_from_slice(kind.as_bytes());
            if let Some(id) = track.id.or(track.os_id) {
                out.push(b' ');
                scalars::digits(id, out);
            }
        }
    }
    if track.kind == TrackKind::Lane {
        out.extend_from_slice(b" lane ");
        scalars::digits(u64::from(track.lane), out);
    }
}
