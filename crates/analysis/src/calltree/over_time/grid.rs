//! Values in equal stretches of time, which grow until there are few enough.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use foldhash::fast::RandomState;
use traceloom_model::Timestamp;

/// Stretches at most: fine enough to look into a second of an hour.
const MOST_STRETCHES: i64 = 100_000;
/// Values that are kept apart, as long as there are more than so many stretches.
const MOST_CELLS: usize = 150_000;
const LEAST_STRETCHES: i64 = 64;
/// Values at most; of more nothing is kept where there would be fewer stretches than this.
const MOST_HELD: usize = 8 * MOST_CELLS;
const FEWEST_STRETCHES: i64 = 8;

/// What something came to by itself in one stretch of time on one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ThreadValue {
    pub own: i64,
    pub count: u64,
}

/// The number of a stretch since time zero, and a thread.
pub(super) type ThreadStretch = (i64, u32);

/// Values that are looked through one by one.
const FEW: usize = 8;

/// Values of one thread in one stretch, by what they are of. Of many threads each has few.
#[derive(Clone, Debug)]
enum ThreadCells {
    Few(Vec<(u32, ThreadValue)>),
    #[expect(
        clippy::box_collection,
        reason = "places of few values are many, and take no more room for it"
    )]
    Many(Box<HashMap<u32, ThreadValue, RandomState>>),
}

impl ThreadCells {
    fn len(&self) -> usize {
        match self {
            Self::Few(values) => values.len(),
            Self::Many(values) => values.len(),
        }
    }

    /// Puts all values behind `into`.
    fn list(&self, into: &mut Vec<(u32, ThreadValue)>) {
        match self {
            Self::Few(values) => into.extend_from_slice(values),
            Self::Many(values) => into.extend(values.iter().map(|(&of, &came)| (of, came))),
        }
    }

    /// Adds a value; returns true if there was none of it before.
    #[inline]
    fn put(&mut self, of: u32, came: ThreadValue) -> bool {
        let n_before = self.len();
        let cell = match self {
            Self::Many(values) => values.entry(of).or_default(),
            Self::Few(values) => match values.iter().position(|&(known, _)| known == of) {
                None if values.len() == FEW => {
                    let mut many: HashMap<_, _, RandomState> = values.drain(..).collect();
                    many.insert(of, came);
                    *self = Self::Many(Box::new(many));
                    return true;
                }
                None => {
                    values.push((of, came));
                    return true;
                }
                Some(at) => match values.get_mut(at) {
                    Some((_, cell)) => cell,
                    None => return false,
                },
            },
        };
        cell.own = cell.own.saturating_add(came.own);
        cell.count += came.count;
        self.len() > n_before
    }
}

/// Values by stretch, thread and what they are of.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    /// Nanoseconds of a stretch: 1, 2, 10, 20, 100 and so on.
    step: i64,
    /// The first and last time of anything.
    reach: Option<(Timestamp, Timestamp)>,
    /// By thread and stretch: what comes one after the other is of one thread and of few stretches, whose values lie together.
    cells: BTreeMap<(u32, i64), ThreadCells>,
    n_cells: usize,
    /// There was too much: nothing is kept.
    is_full: bool,
}

impl Default for Grid {
    fn default() -> Self {
        Self::of_step(1)
    }
}

impl Grid {
    /// A grid whose stretches have so many nanoseconds, the step of another grid, or more.
    pub fn of_step(step: i64) -> Self {
        Self {
            step,
            reach: None,
            cells: BTreeMap::new(),
            n_cells: 0,
            is_full: false,
        }
    }

    pub fn step(&self) -> i64 {
        self.step
    }

    pub fn is_empty(&self) -> bool {
        self.n_cells == 0
    }

    /// Tells the values, each with what it is of, in the order of their places.
    pub fn each(&self, mut tell: impl FnMut(ThreadStretch, &[(u32, ThreadValue)])) {
        let mut places: Vec<_> = self.cells.iter().collect();
        places.sort_unstable_by_key(|&(&(thread, stretch), _)| (stretch, thread));
        let mut values = Vec::new();
        for (&(thread, stretch), came) in places {
            values.clear();
            came.list(&mut values);
            values.sort_unstable_by_key(|&(of, _)| of);
            tell((stretch, thread), &values);
        }
    }

    /// Returns the values with their stretches, threads and what they are of.
    #[cfg(test)]
    pub fn cells(&self) -> Vec<((i64, u32, u32), ThreadValue)> {
        let mut cells = Vec::new();
        self.each(|(stretch, thread), values| {
            let values = values.iter();
            cells.extend(values.map(|&(of, came)| ((stretch, thread, of), came)));
        });
        cells
    }

    /// Returns how many stretches there are from the first time to the last.
    fn stretches(&self) -> i64 {
        self.reach.map_or(0, |(first, last)| {
            let stretches = last.div_euclid(self.step);
            stretches
                .saturating_sub(first.div_euclid(self.step))
                .saturating_add(1)
        })
    }

    /// Makes room for times.
    pub fn extend(&mut self, first: Timestamp, last: Timestamp) {
        let (start, end) = self.reach.get_or_insert((first, last));
        (*start, *end) = (first.min(*start), last.max(*end));
        while self.stretches() > MOST_STRETCHES {
            self.coarsen();
        }
    }

    /// Returns the stretch of a time, from its beginning to before its end.
    pub fn stretch_of(&self, time: Timestamp) -> Range<Timestamp> {
        let start = time.div_euclid(self.step).saturating_mul(self.step);
        start..start.saturating_add(self.step)
    }

    /// Joins stretches: two of a round number, five of twice as much.
    fn coarsen(&mut self) {
        let is_round = self.step.to_string().starts_with('1');
        let ratio = if is_round { 2 } else { 5 };
        self.step = self.step.saturating_mul(ratio);
        let mut joined: Vec<((u32, i64), ThreadCells)> = Vec::new();
        for ((thread, stretch), mut came) in std::mem::take(&mut self.cells) {
            let place = (thread, stretch.div_euclid(ratio));
            let Some((_, known)) = joined.last_mut().filter(|(last, _)| *last == place) else {
                joined.push((place, came));
                continue;
            };
            // The fewer ones move.
            if known.len() < came.len() {
                std::mem::swap(known, &mut came);
            }
            let mut move_one = |(of, came)| self.n_cells -= usize::from(!known.put(of, came));
            match came {
                ThreadCells::Few(values) => values.into_iter().for_each(&mut move_one),
                ThreadCells::Many(values) => values.into_iter().for_each(&mut move_one),
            }
        }
        self.cells = joined.into_iter().collect();
    }

    /// Makes fewer of many values, or gives them up.
    fn bound(&mut self) {
        let stretches = self.stretches();
        if stretches > LEAST_STRETCHES {
            self.coarsen();
        } else if self.n_cells >= MOST_HELD {
            if stretches > FEWEST_STRETCHES {
                self.coarsen();
            } else {
                self.is_full = true;
                self.cells = BTreeMap::new();
                self.n_cells = 0;
            }
        }
    }

    /// Adds a value that came at one time.
    pub fn add(&mut self, time: Timestamp, thread: u32, of: u32, came: ThreadValue) {
        self.add_values(time, thread, &[(of, came)]);
    }

    /// Adds what came at one time on one thread, each value with what it is of.
    pub fn add_values(&mut self, time: Timestamp, thread: u32, came: &[(u32, ThreadValue)]) {
        if came.is_empty() {
            return;
        }
        self.extend(time, time);
        let mut came = came.iter();
        while let Some(&(of, value)) = came.next() {
            if self.n_cells >= MOST_CELLS {
                self.bound();
            }
            if self.is_full {
                return;
            }
            // Up to so many values stretches stay as long as they are.
            let most = match self.stretches() > LEAST_STRETCHES {
                true => MOST_CELLS,
                false => MOST_HELD,
            };
            let place = (thread, time.div_euclid(self.step));
            let cells = self.cells.entry(place);
            let cells = cells.or_insert_with(|| ThreadCells::Few(Vec::with_capacity(1)));
            self.n_cells += usize::from(cells.put(of, value));
            while self.n_cells < most
                && let Some(&(of, value)) = came.next()
            {
                self.n_cells += usize::from(cells.put(of, value));
            }
        }
    }

    /// Adds the time from `from` to `to`, each part to its stretch.
    pub fn add_time(&mut self, (from, to): (Timestamp, Timestamp), thread: u32, of: u32) {
        if self.is_full {
            return;
        }
        self.extend(from, to);
        let mut at = from;
        while at < to && !self.is_full {
            let next = (at.div_euclid(self.step) + 1).saturating_mul(self.step);
            let end = next.min(to);
            let own = end.saturating_sub(at);
            self.add(at, thread, of, ThreadValue { own, count: 0 });
            at = end;
        }
    }

    /// Adds what another grid holds, whose threads and things have other numbers here.
    pub fn add_all(&mut self, other: &Self, thread: impl Fn(u32) -> u32, of: impl Fn(u32) -> u32) {
        let Some((first, last)) = other.reach.filter(|_| !other.is_full) else {
            return;
        };
        self.extend(first, last);
        while self.step < other.step {
            self.coarsen();
        }
        let mut here = Vec::new();
        other.each(|(stretch, on), came| {
            let time = stretch.saturating_mul(other.step).clamp(first, last);
            here.clear();
            here.extend(came.iter().map(|&(what, came)| (of(what), came)));
            self.add_values(time, thread(on), &here);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_all_ages_take_no_long_walk() {
        let mut grid = Grid::default();
        grid.add_time((i64::MIN, 5), 0, 0);
        grid.add_time((0, i64::MAX), 0, 1);
        grid.add(i64::MAX, 0, 2, ThreadValue::default());
        assert!(grid.cells().len() <= MOST_CELLS, "{}", grid.cells().len());
        // What a value cannot hold is cut.
        let of = |what| {
            let cells = grid.cells().into_iter();
            let own = cells.filter(|((.., of), _)| *of == what);
            own.map(|(_, came)| i128::from(came.own)).sum::<i128>()
        };
        assert_eq!((of(0), of(1)), (5 - i128::from(i64::MIN), i64::MAX.into()));
    }

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn stretches_grow_until_they_are_few() {
        let mut grid = Grid::default();
        grid.add(9_000 * SECOND, 0, 7, ThreadValue::default());
        for second in 0..100 {
            grid.add_time((second * SECOND, second * SECOND + 150_000_000), 0, 7);
        }
        assert_eq!(grid.step(), 100_000_000);
        let cells = grid.cells();
        let own: i64 = cells.iter().map(|(_, came)| came.own).sum();
        assert_eq!(own, 100 * 150_000_000);
        let came = |own| ThreadValue { own, count: 0 };
        assert_eq!(cells[2], ((10, 0, 7), came(100_000_000)));
        assert_eq!(cells[3], ((11, 0, 7), came(50_000_000)));
        let mut other = Grid::default();
        other.add(-5, 3, 1, ThreadValue { own: 4, count: 2 });
        other.add_all(&grid, |thread| thread + 1, |of| of);
        assert_eq!(
            other.cells()[0],
            ((-1, 3, 1), ThreadValue { own: 4, count: 2 })
        );
        assert_eq!(other.cells()[1].0, (0, 1, 7));
    }

    #[test]
    fn a_day_among_nanoseconds_takes_no_long_walk() {
        let mut grid = Grid::default();
        grid.add_time((0, 86_400 * SECOND), 0, 0);
        assert_eq!(grid.step(), SECOND);
        assert_eq!(grid.cells().len(), 86_400);
        for thread in 1..4 {
            grid.add_time((0, 86_400 * SECOND), thread, 0);
        }
        assert!(grid.cells().len() < MOST_CELLS, "{}", grid.cells().len());
    }

    #[test]
    fn too_many_values_are_given_up() {
        let mut grid = Grid::default();
        for of in 0..1_300_000 {
            grid.add(i64::from(of) * SECOND, 0, of, ThreadValue::default());
            assert!(grid.n_cells <= MOST_HELD + 8);
        }
        assert_eq!((grid.cells().len(), grid.is_full), (0, true));
        let mut few = Grid::default();
        few.add(0, 0, 0, ThreadValue { own: 1, count: 1 });
        few.add_all(&grid, |thread| thread, |of| of);
        assert_eq!(few.cells().len(), 1);
    }
}
