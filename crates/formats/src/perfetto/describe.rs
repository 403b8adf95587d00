//! Facts of a track for which descriptors have no field, as words in its `description` (SPEC.md §4).

use traceloom_model::bounds::saturated_u32;
use traceloom_model::{Tables, Track, TrackKind, Unit};

/// What a track is a line of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TrackScope {
    Stream,
    Async,
    Lane(u32),
    /// Spans that overlap others on the track above, by the number of the line.
    Overlap(u32),
    /// Events with an end, which may lie across the slices of their track.
    Events,
}

/// What a description says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct TrackDescription {
    pub(super) kind: Option<TrackScope>,
    /// The number that the producer gave the track.
    pub(super) id: Option<u64>,
    /// The thread id of the operating system, where the descriptor has another or none is known.
    pub(super) thread_id: Option<Option<u64>>,
    /// There is no process, the descriptor only gives its threads one id.
    pub(super) no_process: bool,
    /// The process id of the descriptor was made up.
    pub(super) no_pid: bool,
}

impl TrackDescription {
    /// Reads a description; words it does not know say nothing.
    pub(super) fn parse(text: &[u8]) -> Self {
        let mut said = Self::default();
        let text = std::str::from_utf8(text).unwrap_or("");
        for part in text.split("; ") {
            let number = |prefix| {
                part.strip_prefix(prefix)
                    .and_then(|rest: &str| rest.parse().ok())
            };
            match part {
                "stream" => said.kind = Some(TrackScope::Stream),
                "async" => said.kind = Some(TrackScope::Async),
                "events" => said.kind = Some(TrackScope::Events),
                "no thread id" => said.thread_id = Some(None),
                "no process" => said.no_process = true,
                "no process id" => said.no_pid = true,
                _ => {
                    if let Some(lane) = number("lane ") {
                        let lane = saturated_u32(lane);
                        said.kind = Some(TrackScope::Lane(lane));
                    } else if let Some(number) = number("overlap ") {
                        let number = saturated_u32(number);
                        said.kind = Some(TrackScope::Overlap(number));
                    } else if let Some(id) = number("thread id ") {
                        said.thread_id = Some(Some(id));
                    } else if let Some(id) = number("id ") {
                        said.id = Some(id);
                    }
                }
            }
        }
        said
    }
}

/// Describes a track that is written with this thread id, if it is written as a thread.
pub(super) fn describe(track: &Track, thread_id: Option<u64>) -> String {
    let mut parts: Vec<String> = Vec::new();
    match track.kind {
        TrackKind::Thread => {}
        TrackKind::Stream => parts.push("stream".to_owned()),
        TrackKind::Async => parts.push("async".to_owned()),
        TrackKind::Lane => parts.push(format!("lane {}", track.lane)),
    }
    match (track.os_id, thread_id) {
        (Some(own), Some(written)) if own == written => {}
        (Some(own), _) => parts.push(format!("thread id {own}")),
        (None, Some(_)) => parts.push("no thread id".to_owned()),
        (None, None) => {}
    }
    if let Some(id) = track.id {
        parts.push(format!("id {id}"));
    }
    parts.join("; ")
}

/// The unit of a counter track by the name it was written with.
pub(super) fn unit(unit: Unit, tables: &Tables) -> Unit {
    match unit {
        Unit::Other(name) => match tables.string_bytes(name) {
            b"chars" => Unit::Chars,
            b"percent" => Unit::Percent,
            _ => unit,
        },
        known => known,
    }
}
