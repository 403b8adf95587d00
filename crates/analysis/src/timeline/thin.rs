//! Fewer rows while a recording is read: of too many, short neighbours are held as one.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::Timestamp;
use traceloom_model::bounds::row_number;

use super::collect::NONE;
use super::held::{HeldRow, HeldRows, Spans, get, set};
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
    pub(super) fn next(self, lengths: &mut [u64], whole: u64, most: usize) -> Self {
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

    /// Returns true if longer rows are held together than by another rule.
    pub(super) fn takes_more_than(self, other: Self) -> bool {
        self.short > other.short
    }

    /// Returns true if what came after the rows before may be held together by itself.
    pub(super) fn is_local(self) -> bool {
        self.by_parent
    }

    /// Returns true if it holds together what is as long as a recording that is `whole` long.
    pub(super) fn reaches(self, whole: u64) -> bool {
        self.stretch >= whole
    }

    /// Returns true for what may be held together with others.
    pub(super) fn is_short(self, row: HeldRow) -> bool {
        self.stretch > 0 && self.takes(row)
    }

    fn takes(self, row: HeldRow) -> bool {
        row.count > 1 || row.end.abs_diff(row.start) <= self.short
    }
}

/// A row that those after it may join, where it lies, and how long the longest is that it holds.
#[derive(Clone, Copy, Debug)]
struct OpenRow {
    at: u32,
    /// The row around it, or [`NONE`].
    around: u32,
    longest: u64,
}

/// The rows of one track on their way to fewer.
#[derive(Debug, Default)]
struct ThinnedTrack {
    lanes: Lanes,
    /// The last row of each lane and level.
    last: Vec<Vec<OpenRow>>,
}

/// What became of a row.
enum Placed {
    /// No page draws it.
    Nowhere,
    /// The one before it holds it, in this lane.
    Joined(usize),
    /// It stays, in this lane and in this row or [`NONE`].
    Kept(usize, u32),
}

impl ThinnedTrack {
    /// Puts a row behind those that began before it.
    ///
    /// It joins the one before it in its lane and level when both lie in the same row: what lies in them is held
    /// together too then, and what is long keeps what lies in it for itself. Those in no row have to be `siblings`.
    fn put(
        &mut self,
        rows: &mut HeldRows,
        at: u32,
        (lane, siblings): (Option<usize>, impl Fn(u32, u32) -> bool),
        rule: Thinning,
    ) -> Placed {
        let row = rows.row(at);
        let Some((lane, level)) = self.lanes.place(row.start, row.end, lane) else {
            return Placed::Nowhere;
        };
        if self.last.len() <= lane {
            self.last.resize(lane + 1, Vec::new());
        }
        let Some(levels) = self.last.get_mut(lane) else {
            return Placed::Nowhere;
        };
        let above = level.checked_sub(1).and_then(|above| levels.get(above));
        let around = above.map_or(NONE, |above| above.at);
        if let Some(last) = levels.get_mut(level) {
            let before = rows.row(last.at);
            if rule.takes(before)
                && rule.takes(row)
                // What lasted no time has its place where the one before it ended, also when it lies in that one.
                && (row.end <= before.end
                    || last.around == around
                        && row.end.abs_diff(before.start) <= rule.stretch
                        && (around != NONE || siblings(last.at, at)))
            {
                rows.join(last.at, row);
                if row.filled > last.longest {
                    last.longest = row.filled;
                    let name = get(&rows.name, at);
                    set(&mut rows.name, last.at, name);
                }
                return Placed::Joined(lane);
            }
        }
        let open = OpenRow {
            at,
            around,
            longest: row.filled,
        };
        match levels.get_mut(level) {
            Some(last) => *last = open,
            None => levels.push(open),
        }
        Placed::Kept(lane, around)
    }
}

/// Memory that one thinning leaves to the next: asked for anew each time, clearing its pages is a seventh of all work.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// The rows that stay.
    kept: Vec<u32>,
    bytes: Vec<u8>,
    numbers: Vec<u32>,
    pub(super) longs: Vec<u64>,
    times: Vec<Timestamp>,
}

/// The last row of each track and depth, and how long the longest span is that it holds.
#[derive(Debug, Default)]
pub(super) struct LastRows(HashMap<(u32, u32), (u32, u64), RandomState>);

impl LastRows {
    /// Forgets them: rows have other numbers now.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

/// A span that comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewSpan {
    pub(super) times: (Timestamp, Timestamp),
    pub(super) track: u32,
    pub(super) depth: u32,
    pub(super) parent: u64,
    pub(super) function: u32,
}

impl Spans {
    /// Holds a short span together with the short sibling before it as soon as it comes; returns false where it needs a
    /// row, which has to be pushed then.
    pub(super) fn join(&mut self, span: &NewSpan, rule: Thinning, last: &mut LastRows) -> bool {
        if !rule.by_parent {
            return false;
        }
        let row = HeldRow::single(span.times.0, span.times.1);
        let next = row_number(self.rows.len());
        let known = last.0.entry((span.track, span.depth));
        let (at, longest) = known.or_insert((next, row.filled));
        let before = self.rows.row(*at);
        let joins = *at < next
            && rule.takes(before)
            && rule.takes(row)
            && get(&self.parent, *at) == span.parent
            && row.start >= before.end
            && row.end.abs_diff(before.start) <= rule.stretch;
        if !joins {
            (*at, *longest) = (next, row.filled);
            return false;
        }
        self.rows.join(*at, row);
        set(&mut self.flags, *at, 0);
        if row.filled > *longest {
            *longest = row.filled;
            set(&mut self.rows.name, *at, span.function);
        }
        true
    }

    /// Holds short neighbours as one, from row `from` on; `undrawn` is told of those that no page draws: their track, and
    /// how many.
    pub(super) fn thin(
        &mut self,
        (rule, from): (Thinning, usize),
        scratch: &mut Scratch,
        mut undrawn: impl FnMut(u32, u64),
    ) {
        scratch.kept.clear();
        for (track, numbers) in self.by_start(from, |_| true) {
            let mut thinned = ThinnedTrack::default();
            let mut lanes = LaneOfSpan::default();
            for at in numbers {
                let parent = |at| get(&self.parent, at);
                let siblings = |one, other| !rule.by_parent || parent(one) == parent(other);
                let lane = (lanes.of(parent(at)), siblings);
                let lane = match thinned.put(&mut self.rows, at, lane, rule) {
                    Placed::Nowhere => {
                        undrawn(track, get(&self.rows.count, at).into());
                        continue;
                    }
                    Placed::Joined(lane) => lane,
                    Placed::Kept(lane, around) => {
                        scratch.kept.push(at);
                        // Of rows with the same times, the one around comes first: as deep as they are placed, at least.
                        let around = self.depth.get(around as usize).copied();
                        let least = around.map_or(0, |around| around.saturating_add(1));
                        let depth = get(&self.depth, at).max(least);
                        set(&mut self.depth, at, depth);
                        lane
                    }
                };
                lanes.remember(get(&self.id, at), lane);
            }
        }
        for (flags, &count) in self.flags.iter_mut().zip(&self.rows.count) {
            if count > 1 {
                *flags = 0;
            }
        }
        gather(&mut self.flags, &mut scratch.bytes, (&scratch.kept, from));
        gather(&mut self.depth, &mut scratch.numbers, (&scratch.kept, from));
        gather(&mut self.id, &mut scratch.longs, (&scratch.kept, from));
        gather(&mut self.parent, &mut scratch.longs, (&scratch.kept, from));
        gather(&mut self.place, &mut scratch.longs, (&scratch.kept, from));
        self.rows.gather(scratch, from);
    }
}

impl HeldRows {
    /// Holds short neighbours as one; `undrawn` is told of those that no page draws: their track, and how many.
    pub(super) fn thin(
        &mut self,
        rule: Thinning,
        scratch: &mut Scratch,
        mut undrawn: impl FnMut(u32, u64),
    ) {
        scratch.kept.clear();
        for (track, numbers) in self.by_start() {
            let mut thinned = ThinnedTrack::default();
            for at in numbers {
                match thinned.put(self, at, (None, |_, _| true), rule) {
                    Placed::Nowhere => undrawn(track, get(&self.count, at).into()),
                    Placed::Joined(_) => {}
                    Placed::Kept(..) => scratch.kept.push(at),
                }
            }
        }
        self.gather(scratch, 0);
    }

    /// Keeps the rows that stay of those from row `from` on, in the order in which they were placed.
    fn gather(&mut self, scratch: &mut Scratch, from: usize) {
        let kept = (scratch.kept.as_slice(), from);
        gather(&mut self.start, &mut scratch.times, kept);
        gather(&mut self.end, &mut scratch.times, kept);
        gather(&mut self.track, &mut scratch.numbers, kept);
        gather(&mut self.name, &mut scratch.numbers, kept);
        gather(&mut self.detail, &mut scratch.numbers, kept);
        gather(&mut self.count, &mut scratch.numbers, kept);
        gather(&mut self.filled, &mut scratch.longs, kept);
    }
}

fn gather<T: Copy + Default>(
    column: &mut Vec<T>,
    scratch: &mut Vec<T>,
    (kept, from): (&[u32], usize),
) {
    scratch.clear();
    scratch.extend(kept.iter().map(|&at| get(column, at)));
    column.truncate(from);
    column.extend_from_slice(scratch);
}
