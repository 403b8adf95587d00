//! Which items a page holds: of too many, the shortest are drawn together.

use std::ops::Range;

use traceloom_model::Timestamp;
use traceloom_model::bounds::{in_memory, saturated_u32, saturated_u64};

use super::{Items, Timeline};

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
    /// Nanoseconds that they fill.
    pub(super) filled: u64,
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
    /// Everything has a place of its own.
    shows_all: bool,
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
            shows_all: short.is_none() && items.count.iter().all(|&count| count == 1),
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
        self.shows_all
    }

    /// Returns the items of a row that the page holds.
    pub(super) fn row(&self, timeline: &Timeline, row: Range<usize>) -> Vec<Shown> {
        let items = &timeline.items;
        let mut shown: Vec<Shown> = Vec::new();
        // How long the longest item of the last one is, while others may join it; what was held together counts by what it
        // fills.
        let mut open = None::<u64>;
        let starts = items.start.get(row.clone()).unwrap_or_default();
        let ends = items.end.get(row.clone()).unwrap_or_default();
        for (item, (&start, &end)) in row.zip(starts.iter().zip(ends)) {
            let length = end.abs_diff(start);
            let count = items.count.get(item).copied().unwrap_or(1);
            let filled = items.filled.get(item).copied().unwrap_or(length);
            let is_short = |short| count > 1 || length <= short;
            let joins = self.short.is_some_and(is_short) && length <= self.stretch;
            if let (true, Some(longest), Some(last)) = (joins, open, shown.last_mut())
                && end.abs_diff(last.start) <= self.stretch
            {
                last.end = end;
                last.stands_for += u64::from(count);
                last.filled = last.filled.saturating_add(filled);
                if filled > longest {
                    last.item = item;
                    open = Some(filled);
                }
                continue;
            }
            open = joins.then_some(filled);
            shown.push(Shown {
                item,
                start,
                end,
                stands_for: count.into(),
                filled,
            });
        }
        shown
    }
}

impl Timeline {
    /// Holds short neighbours as one where the recordings together have too many items.
    pub(super) fn thin(&mut self) {
        if self.items.start.len() <= self.most {
            return;
        }
        let (start, end) = self.times().unwrap_or_default();
        let room = self.most / 2;
        let mut fold = Fold::of(self, room);
        loop {
            self.keep(&fold);
            let held = self.items.start.len();
            if held <= self.most / 4 * 3 {
                return;
            }
            if !fold.draws_apart(end.abs_diff(start)) {
                // Many rows of few items each.
                self.most = self.most.max(held.saturating_mul(2));
                return;
            }
            fold = fold.coarser(self, held, room);
        }
    }

    fn keep(&mut self, fold: &Fold) {
        let mut kept = Items::default();
        for at in 0..self.rows.len() {
            let from = kept.start.len();
            let items = self.rows.get(at).map(|row| row.items.clone());
            for shown in fold.row(self, items.unwrap_or_default()) {
                kept.push(&self.items, &shown);
            }
            if let Some(row) = self.rows.get_mut(at) {
                row.items = from..kept.start.len();
            }
        }
        self.items = kept;
    }
}

impl Items {
    /// Makes room for so many more.
    pub(super) fn reserve(&mut self, more: usize) {
        self.start.reserve(more);
        self.end.reserve(more);
        self.name.reserve(more);
        self.detail.reserve(more);
        self.covered.reserve(more);
        self.flags.reserve(more);
        self.count.reserve(more);
        self.filled.reserve(more);
    }

    fn push(&mut self, of: &Self, shown: &Shown) {
        let number = |column: &[u32]| column.get(shown.item).copied().unwrap_or_default();
        let is_single = shown.stands_for == 1;
        let covered = of.covered.get(shown.item).filter(|_| is_single);
        let flags = of.flags.get(shown.item).filter(|_| is_single);
        self.start.push(shown.start);
        self.end.push(shown.end);
        self.name.push(number(&of.name));
        self.detail
            .push(if is_single { number(&of.detail) } else { 0 });
        self.covered.push(covered.copied().unwrap_or_default());
        self.flags.push(flags.copied().unwrap_or_default());
        self.count.push(saturated_u32(shown.stands_for));
        self.filled.push(shown.filled);
    }
}
