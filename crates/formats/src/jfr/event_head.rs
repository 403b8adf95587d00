//! The size and the type of an event, and events behind it that begin alike.

use std::ops::ControlFlow;

use super::scan::Scan;
use super::words::{AlikeHeads, head_at};

/// Type id of the metadata event.
pub(super) const METADATA: u64 = 0;
/// Type id of checkpoint events.
pub(super) const CHECKPOINT: u64 = 1;

/// The first two fields of every event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct EventHead {
    /// Where the event begins in the chunk.
    pub(super) at: usize,
    /// Where it ends.
    pub(super) end: usize,
    /// Where its fields begin.
    pub(super) body: usize,
    pub(super) type_id: u64,
}

/// Reads an event's size and type; none when they do not fit the chunk.
#[inline(always)]
pub(super) fn head(chunk: &[u8], at: usize, compressed: bool) -> Option<EventHead> {
    if compressed && let Some((size, type_id, body)) = head_at(chunk, at) {
        return event_head(chunk, at, body, size, type_id);
    }
    let mut scan = Scan::new(chunk, compressed);
    scan.seek(at);
    // All bits count: a size above 32 bits is damage, not a smaller size.
    let (size, _) = scan.integer(4).ok()?;
    let type_id = scan.long().ok()?;
    event_head(chunk, at, scan.at(), size, type_id)
}

#[inline(always)]
fn event_head(chunk: &[u8], at: usize, body: usize, size: u64, type_id: u64) -> Option<EventHead> {
    let size = usize::try_from(size).ok()?;
    let end = at.checked_add(size)?;
    if end > chunk.len() || end < body {
        return None;
    }
    Some(EventHead {
        at,
        end,
        body,
        type_id,
    })
}

/// Returns where the events behind the one at `head` end that are of its type, as far as their sizes are written alike.
#[inline]
pub(super) fn after_alike(chunk: &[u8], head: &EventHead, compressed: bool) -> usize {
    let alike = compressed.then(|| AlikeHeads::of(chunk, head.at)).flatten();
    alike.map_or(head.end, |alike| alike.after(chunk, head.end))
}

/// Takes the event at `head` and those behind it that begin as [`AlikeHeads`] knows, while `take` says true to them. Goes on where
/// another one begins, or breaks where `take` said false. Integers of the chunk are compressed.
#[inline(always)]
pub(super) fn take_alike(
    chunk: &[u8],
    head: &EventHead,
    mut take: impl FnMut(&EventHead) -> bool,
) -> ControlFlow<usize, usize> {
    let alike = AlikeHeads::of(chunk, head.at);
    let mut head = *head;
    while take(&head) {
        let at = head.end;
        let Some((body, end)) = alike.and_then(|alike| alike.at(chunk, at)) else {
            return ControlFlow::Continue(at);
        };
        head = EventHead {
            at,
            end,
            body,
            ..head
        };
    }
    ControlFlow::Break(head.at)
}
