//! Fewer rows while a recording is read: of too many, short neighbours are held as one.

use traceloom_model::Timestamp;
use traceloom_model::bounds::row_number;

use super::collect::NONE;
use super::held::{Marks, Spans, get};
use super::nest::{LaneOfSpan, Lanes};

/// Stretches of the whole that what is held as one is at most long: four times as many as a page has.
const STRETCHES: u64 = 16_000;

/// Which neighbours are held as one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Thinning {
    /// Rows up to this long are held together with others.
    short: u64,
    /// How long what is held together may be.
    stretch: u64,
    /// What has not ended yet comes later: only what lies in the same span is held together until then.
    by_parent: bool,
}

impl Thinning {
    /// Leaves about `most` rows of these lengths single, in a recording that is `whole` long; holds together what was so
    /// far.
    pub(super) fn next(self, mut lengths: Vec<u64>, whole: u64, most: usize) -> Self {
        let mut border = 0;
        if let Some(last) = lengths.len().checked_sub(most + 1) {
            border = *lengths.select_nth_unstable(last).1;
        }
        Self {
            short: self.short.max(border),
            stretch: self.stretch.max(whole / STRETCHES).max(1),
            by_parent: self.by_parent,
        }
    }

    /// Holds spans of different parents apart, unless these are held together, where they come before their parents.
    pub(super) fn by_parent(self, by_parent: bool) -> Self {
        Self { by_parent, ..self }
    }

    /// Holds together what is longer.
    pub(super) fn coarser(self) -> Self {
        Self {
            stretch: self.stretch.saturating_mul(4),
            ..self
        }
    }

    /// Returns true if it holds together what is as long as a recording that is `whole` long.
    pub(super) fn reaches(self, whole: u64) -> bool {
        self.stretch >= whole
    }

    fn takes(self, row: &HeldGroup) -> bool {
        row.count > 1 || row.end.abs_diff(row.start) <= self.short
    }
}

/// Neighbours that are held as one.
#[derive(Clone, Copy, Debug)]
struct HeldGroup {
    /// The row of the first.
    first: u32,
    /// The row of the one that fills most.
    pick: u32,
    most_filled: u64,
    start: Timestamp,
    end: Timestamp,
    filled: u64,
    count: u32,
    /// The number of the group that it lies in, or [`NONE`].
    around: u32,
}

impl HeldGroup {
    fn of(row: u32, (start, end): (Timestamp, Timestamp), filled: u64, count: u32) -> Self {
        Self {
            first: row,
            pick: row,
            most_filled: filled,
            start,
            end,
            filled,
            count,
            around: NONE,
        }
    }

    fn join(&mut self, next: &Self) {
        self.end = next.end;
        self.filled = self.filled.saturating_add(next.filled);
        self.count = self.count.saturating_add(next.count);
        if next.most_filled > self.most_filled {
            (self.pick, self.most_filled) = (next.pick, next.most_filled);
        }
    }

    /// What only a row has that is one span or mark.
    fn own<T: Default>(&self, value: T) -> T {
        if self.count == 1 { value } else { T::default() }
    }
}

/// The rows of one track on their way to fewer.
#[derive(Debug, Default)]
struct ThinnedTrack {
    lanes: Lanes,
    /// The last group of each lane and level.
    last: Vec<Vec<u32>>,
}

impl ThinnedTrack {
    /// Puts a row behind those that began before it and returns its lane; none when no page draws it.
    ///
    /// It joins the one before it in its lane and level when both lie in the same group: what lies in them is held
    /// together too then, and what is long keeps what lies in it for itself. Those in no group have to be `siblings`.
    fn put(
        &mut self,
        mut row: HeldGroup,
        (lane, siblings): (Option<usize>, impl Fn(u32, u32) -> bool),
        rule: Thinning,
        groups: &mut Vec<HeldGroup>,
    ) -> Option<usize> {
        let (lane, level) = self.lanes.place(row.start, row.end, lane)?;
        if self.last.len() <= lane {
            self.last.resize(lane + 1, Vec::new());
        }
        let levels = self.last.get_mut(lane)?;
        let above = level.checked_sub(1);
        let around = above.and_then(|above| levels.get(above).copied());
        row.around = around.unwrap_or(NONE);
        let last = levels.get(level);
        if let Some(last) = last.and_then(|&last| groups.get_mut(last as usize))
            && rule.takes(last)
            && rule.takes(&row)
            // What lasted no time has its place where the one before it ended, also when it lies in that one.
            && (row.end <= last.end
                || last.around == row.around
                    && row.end.abs_diff(last.start) <= rule.stretch
                    && (around.is_some() || siblings(last.first, row.first)))
        {
            last.join(&row);
            return Some(lane);
        }
        let number = row_number(groups.len());
        groups.push(row);
        match levels.get_mut(level) {
            Some(last) => *last = number,
            None => levels.push(number),
        }
        Some(lane)
    }
}

impl Spans {
    /// Holds short neighbours as one; `undrawn` is told of those that no page draws: their track, and how many.
    pub(super) fn thin(&mut self, rule: Thinning, mut undrawn: impl FnMut(u32, u64)) {
        let mut groups = Vec::new();
        for (track, numbers) in self.by_start() {
            let mut thinned = ThinnedTrack::default();
            let mut lanes = LaneOfSpan::default();
            for at in numbers {
                let times = (get(&self.start, at), get(&self.end, at));
                let row = HeldGroup::of(at, times, get(&self.filled, at), get(&self.count, at));
                let parent = |at| get(&self.parent, at);
                let siblings = |one, other| !rule.by_parent || parent(one) == parent(other);
                let lane = (lanes.of(parent(at)), siblings);
                match thinned.put(row, lane, rule, &mut groups) {
                    Some(lane) => lanes.remember(get(&self.id, at), lane),
                    None => undrawn(track, row.count.into()),
                }
            }
        }
        let first = |group: &HeldGroup| group.first;
        self.function = gather(&groups, |group| get(&self.function, group.pick));
        self.detail = gather(&groups, |group| group.own(get(&self.detail, first(group))));
        self.flags = gather(&groups, |group| group.own(get(&self.flags, first(group))));
        self.track = gather(&groups, |group| get(&self.track, first(group)));
        self.id = gather(&groups, |group| get(&self.id, first(group)));
        self.parent = gather(&groups, |group| get(&self.parent, first(group)));
        self.place = gather(&groups, |group| get(&self.place, first(group)));
        // Of rows with the same times, the one around comes first: as deep as they are placed, at least.
        let mut depths: Vec<u32> = Vec::with_capacity(groups.len());
        for group in &groups {
            let around = depths.get(group.around as usize);
            let least = around.map_or(0, |around| around.saturating_add(1));
            depths.push(get(&self.depth, first(group)).max(least));
        }
        self.depth = depths;
        self.start = gather(&groups, |group| group.start);
        self.end = gather(&groups, |group| group.end);
        self.count = gather(&groups, |group| group.count);
        self.filled = gather(&groups, |group| group.filled);
    }
}

impl Marks {
    /// Holds short neighbours as one; `undrawn` is told of those that no page draws: their track, and how many.
    pub(super) fn thin(&mut self, rule: Thinning, mut undrawn: impl FnMut(u32, u64)) {
        let mut groups = Vec::new();
        for (track, numbers) in self.by_start() {
            let mut thinned = ThinnedTrack::default();
            for at in numbers {
                let times = (get(&self.start, at), get(&self.end, at));
                let row = HeldGroup::of(at, times, get(&self.filled, at), get(&self.count, at));
                let put = thinned.put(row, (None, |_, _| true), rule, &mut groups);
                if put.is_none() {
                    undrawn(track, row.count.into());
                }
            }
        }
        self.name = gather(&groups, |group| get(&self.name, group.pick));
        self.detail = gather(&groups, |group| group.own(get(&self.detail, group.first)));
        self.track = gather(&groups, |group| get(&self.track, group.first));
        self.start = gather(&groups, |group| group.start);
        self.end = gather(&groups, |group| group.end);
        self.count = gather(&groups, |group| group.count);
        self.filled = gather(&groups, |group| group.filled);
    }
}

fn gather<T>(groups: &[HeldGroup], of: impl Fn(&HeldGroup) -> T) -> Vec<T> {
    groups.iter().map(of).collect()
}
