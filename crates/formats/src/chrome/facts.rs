//! What our writer says of a thread beside its name: the member `track` of its `thread_name`.

use traceloom_model::TrackKind;
use traceloom_model::bounds::saturated_u32;

use super::survey::{Thread, numeric};
use crate::text::json::{Kind, Value};

/// A track as our writer describes it.
#[derive(Clone, Debug, Default)]
pub(super) struct WrittenTrackFacts {
    pub(super) kind: TrackKind,
    pub(super) lane: u32,
    /// The track above it.
    pub(super) parent: Option<Thread>,
    /// The thread whose spans it holds, because they overlap others there.
    pub(super) of: Option<Thread>,
    pub(super) id: Option<u64>,
    /// The thread id of the operating system, where it is not `tid`.
    pub(super) os_id: Option<Option<u64>>,
    /// The name, where it is not that of the thread.
    pub(super) name: Option<Option<Box<[u8]>>>,
}

impl WrittenTrackFacts {
    pub(super) fn read(row: Value<'_>) -> Self {
        let number = |value: Value<'_>| numeric(&value.word());
        let thread = |key: &str| {
            let row = row.get(key)?;
            Some((row.get("pid")?.owned_word(), row.get("tid")?.owned_word()))
        };
        let kind = row.get("kind").and_then(Value::bytes);
        let lane = row.get("lane").and_then(number).unwrap_or(0);
        Self {
            kind: match kind.as_deref() {
                Some(b"stream") => TrackKind::Stream,
                Some(b"async") => TrackKind::Async,
                Some(b"lane") => TrackKind::Lane,
                _ => TrackKind::Thread,
            },
            lane: saturated_u32(lane),
            parent: thread("parent"),
            of: thread("of"),
            id: row.get("id").and_then(number),
            os_id: row.get("os_id").map(number),
            name: row.get("name").map(|name| {
                let text = name.kind() == Kind::String;
                text.then(|| name.owned_word())
            }),
        }
    }
}
