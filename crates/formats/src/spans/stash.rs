//! Rows of spans that wait, such as their attributes or the bytes written of them: bounded by what is alive.

use traceloom_model::bounds::subslice;

/// Rows of any number for each span that waits, such as its attributes: one table, so that none of them has an
/// allocation of its own.
#[derive(Debug)]
pub(crate) struct Stash<T> {
    rows: Vec<T>,
    /// How many of them nobody needs any more.
    dead: usize,
}

/// Where the rows of a span are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Stashed {
    start: usize,
    len: u32,
}

impl Stashed {
    #[expect(clippy::cast_possible_truncation, reason = "no span has so many rows")]
    #[inline]
    pub(crate) const fn at(rows: std::ops::Range<usize>) -> Self {
        Self {
            start: rows.start,
            len: (rows.end - rows.start) as u32,
        }
    }

    /// Returns the number of rows.
    #[inline]
    pub(crate) const fn len(self) -> usize {
        self.len as usize
    }

    const fn range(self) -> std::ops::Range<usize> {
        self.start..self.start + self.len as usize
    }
}

/// Rows that may be dead before it is worth to look for them.
const DEAD: usize = 1 << 12;

impl<T> Default for Stash<T> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            dead: 0,
        }
    }
}

impl<T: Clone> Stash<T> {
    /// Takes rows over, and returns where the first of them is.
    pub(crate) fn take(&mut self, mut rows: Vec<T>) -> usize {
        let start = self.rows.len();
        if start == 0 {
            self.rows = rows;
        } else {
            self.rows.append(&mut rows);
        }
        start
    }

    /// Keeps copies of rows.
    pub(crate) fn keep(&mut self, rows: &[T]) -> Stashed {
        let start = self.rows.len();
        self.rows.extend_from_slice(rows);
        Stashed::at(start..self.rows.len())
    }

    /// Keeps what `append` adds.
    #[inline]
    pub(crate) fn keep_with(&mut self, append: impl FnOnce(&mut Vec<T>)) -> Stashed {
        let start = self.rows.len();
        append(&mut self.rows);
        Stashed::at(start..self.rows.len())
    }

    /// Moves the rows of a place to the end of `out`.
    #[inline]
    pub(crate) fn move_to(&mut self, place: Stashed, out: &mut Vec<T>) {
        out.extend_from_slice(self.of(place));
        self.release(place);
    }

    /// Returns the rows of a place.
    #[inline]
    pub(crate) fn of(&self, place: Stashed) -> &[T] {
        subslice(&self.rows, place.range())
    }

    /// Lends the rows of a place.
    #[inline]
    pub(crate) fn of_mut(&mut self, place: Stashed) -> &mut [T] {
        self.rows.get_mut(place.range()).unwrap_or(&mut [])
    }

    /// Gives the rows of a place up.
    #[inline]
    pub(crate) fn release(&mut self, place: Stashed) {
        if place.len == 0 {
            return;
        }
        self.dead += place.len as usize;
        if self.dead >= self.rows.len() {
            self.rows.clear();
            self.dead = 0;
        }
    }

    /// Returns true if most of it is dead, and enough to look for what is not in so many places.
    pub(crate) fn is_wasteful(&self, places: usize) -> bool {
        self.dead > DEAD.max(places) && self.dead > self.rows.len() / 2
    }

    /// Drops what is dead: all but what is in these places.
    ///
    /// At least half of it is dead when that is worth it, so that each row is moved once on average.
    pub(crate) fn compact<'p>(&mut self, places: impl Iterator<Item = &'p mut Stashed>) {
        let old = std::mem::take(self);
        self.rows.reserve(old.rows.len());
        for place in places {
            *place = self.keep(old.of(*place));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stash_keeps_what_is_alive() {
        let mut stash = Stash::default();
        let mut alive = Vec::new();
        for number in 0..20_000 {
            let place = stash.keep(&[number, number + 1]);
            if number % 10 == 0 {
                alive.push(place);
            } else {
                stash.release(place);
            }
            if stash.is_wasteful(alive.len()) {
                stash.compact(alive.iter_mut());
            }
        }
        assert!(stash.rows.len() < 16_000, "{}", stash.rows.len());
        for (number, place) in (0..).step_by(10).zip(&alive) {
            assert_eq!(stash.of(*place), [number, number + 1]);
        }
        alive.into_iter().for_each(|place| stash.release(place));
        assert!(stash.rows.is_empty());
    }

    #[test]
    fn bytes_leave_as_they_were_written() {
        let mut stash = Stash::default();
        let text = |number: usize| format!("{number}").repeat(9);
        let mut alive = Vec::new();
        for number in 0..20_000 {
            let place = stash.keep_with(|out| out.extend_from_slice(text(number).as_bytes()));
            if number % 100 == 0 {
                alive.push(place);
            } else {
                stash.move_to(place, &mut Vec::new());
            }
            if stash.is_wasteful(alive.len()) {
                stash.compact(alive.iter_mut());
            }
        }
        assert!(stash.rows.len() < 40_000, "{}", stash.rows.len());
        for (number, place) in (0..).step_by(100).zip(alive) {
            let mut out = Vec::new();
            stash.move_to(place, &mut out);
            assert_eq!(out, text(number).as_bytes());
            assert_eq!(out.len(), place.len());
        }
        assert!(stash.rows.is_empty());
    }
}
