//! Plain events of a trace added up instead of shown one by one: for sinks that only count records.

use traceloom_model::bounds::subslice;

use crate::cdt::head::{Head, value_len};

/// A run of plain events: what their heads and the lengths of their values tell, added up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct EventSums {
    /// Bytes they take.
    pub(super) len: usize,
    pub(super) enters: u64,
    pub(super) exits: u64,
    pub(super) tags: u64,
    /// Milliseconds from the timer's start to the last of them.
    pub(super) elapsed: i32,
    /// The least and the most of these milliseconds.
    pub(super) range: Option<(i32, i32)>,
    /// How many methods are open behind them.
    pub(super) depth: u32,
}

impl EventSums {
    /// Adds up what `bytes` begin with, up to an event that [`Head::read`] or [`value_len`] leaves to others.
    ///
    /// `elapsed` and `depth` are those before the first event.
    pub(super) fn of(bytes: &[u8], string_limit: usize, elapsed: i32, depth: u32) -> Self {
        let (mut at, mut elapsed, mut depth) = (0, elapsed, depth);
        let (mut enters, mut tags, mut events) = (0_u64, 0_u64, 0_u64);
        let (mut least, mut most) = (i32::MAX, i32::MIN);
        loop {
            let rest = subslice(bytes, at..);
            let word = rest.first_chunk().copied().map(u64::from_le_bytes);
            let Some(head) = word.and_then(Head::read) else {
                break;
            };
            if head.tag {
                let Some(len) = value_len(subslice(rest, head.len..), string_limit) else {
                    break;
                };
                at += head.len + len;
                tags += 1;
            } else {
                at += head.len;
                let entered = depth.saturating_add(1);
                let left = depth.saturating_sub(1);
                depth = if head.enter { entered } else { left };
                enters += u64::from(head.enter);
            }
            events += 1;
            elapsed = elapsed.wrapping_add(head.elapsed);
            (least, most) = (least.min(elapsed), most.max(elapsed));
        }
        Self {
            len: at,
            enters,
            exits: events - tags - enters,
            tags,
            elapsed,
            range: (events > 0).then_some((least, most)),
            depth,
        }
    }
}
