//! Which items a page holds: of too many, the shortest are drawn together.

use std::ops::Range;

use traceloom_model::Timestamp;
use traceloom_model::bounds::{in_memory, saturated_u64};

use super::Timeline;

/// Stretches of the whole that items drawn together are at most long, for each row of a page that has room.
const STRETCHES: u64 = 4_000;

/// An item of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shown {
    /// Its number in the columns of the timeline; of items drawn together, that of the longest.
    pub(super) item: usize,
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
    /// How many items it stands for: 1 unless they are drawn together.
    pub(super) stands_for: u64,
}

/// Chooses what is left out of a page, once for all rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fold {
    /// Items up to this long are drawn together; none when all have room.
    short: Option<u64>,
    /// How long what is drawn together may be.
    stretch: u64,
    /// Items that it was to leave single.
    most: usize,
}

impl Fold {
    /// Leaves about `most` items single.
    pub(super) fn of(timeline: &Timeline, most: usize) -> Self {
        let items = &timeline.items;
        let length = |(start, end): (&Timestamp, &Timestamp)| end.abs_diff(*start);
        let mut short = None;
        if items.start.len() > most {
            let mut lengths: Vec<u64> = items.start.iter().zip(&items.end).map(length).collect();
            let longest_left_out = lengths.len() - most - 1;
            let (_, &mut border, _) = lengths.select_nth_unstable(longest_left_out);
            short = Some(border);
        }
        let all = timeline
            .times()
            .map_or(0, |(start, end)| end.abs_diff(start));
        Self {
            short,
            stretch: (all / STRETCHES).max(1),
            most,
        }
    }

    /// Leaves fewer items single, and draws together what is longer, for a page that had `bytes` of them and has room
    /// for fewer.
    pub(super) fn coarser(&self, timeline: &Timeline, bytes: usize, room: usize) -> Self {
        // A tenth less than would fit, so that once more is seldom needed.
        let (more, less) = (bytes as u128 * 10, (room as u128 * 9).max(1));
        let most = self.most.min(timeline.items.start.len()) as u128 * less / more.max(1);
        let stretch = saturated_u64(u128::from(self.stretch) * more / less);
        Self {
            stretch: stretch.max(self.stretch.saturating_add(1)),
            ..Self::of(timeline, in_memory(most))
        }
    }

    /// Returns true if items of a row can still be drawn together that are not.
    pub(super) fn draws_apart(&self, longest: u64) -> bool {
        self.most > 0 || self.stretch < longest
    }

    /// Returns true if everything is shown one by one.
    pub(super) fn shows_all(&self) -> bool {
        self.short.is_none()
    }

    /// Returns the items of a row that the page holds.
    pub(super) fn row(&self, timeline: &Timeline, row: Range<usize>) -> Vec<Shown> {
        let items = &timeline.items;
        let mut shown: Vec<Shown> = Vec::new();
        // The length of the longest item of the last one, while others may join it.
        let mut open = None::<u64>;
        let starts = items.start.get(row.clone()).unwrap_or_default();
        let ends = items.end.get(row.clone()).unwrap_or_default();
        for (item, (&start, &end)) in row.zip(starts.iter().zip(ends)) {
            let length = end.abs_diff(start);
            let joins = self.short.is_some_and(|short| length <= short) && length <= self.stretch;
            if let (true, Some(longest), Some(last)) = (joins, open, shown.last_mut())
                && end.abs_diff(last.start) <= self.stretch
            {
                last.end = end;
                last.stands_for += 1;
                if length > longest {
                    last.item = item;
                    open = Some(length);
                }
                continue;
            }
            open = joins.then_some(length);
            shown.push(Shown {
                item,
                start,
                end,
                stands_for: 1,
            });
        }
        shown
    }
}
