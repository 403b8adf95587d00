//! Spans that wait for the span around them, and what belongs to each.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use traceloom_model::{Attribute, SpanId, SpanMap, SpanRow, Value, ValueTypeId};

const NONE: u32 = u32::MAX;

/// Finished spans, each in the list of the parent it waits for, and what is kept of each.
///
/// The rows are one table whose places are used again: a list for each parent would be allocated and freed for
/// most spans there are.
#[derive(Debug)]
pub(crate) struct Waiting<N> {
    rows: Vec<Row<N>>,
    free: Vec<u32>,
    /// The last row of each parent.
    last: SpanMap<u32>,
}

/// A span as its writer keeps it.
pub(crate) trait Waits {
    fn id(&self) -> SpanId;

    /// What siblings are told in the order of.
    fn order(&self) -> (i64, i64);

    /// Where its attributes and counters are.
    fn own(&self) -> Own;

    fn own_mut(&mut self) -> &mut Own;
}

#[derive(Debug)]
struct Row<N> {
    /// The row before in the list of the same parent.
    before: u32,
    node: Option<N>,
}

impl<N> Default for Waiting<N> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            free: Vec::new(),
            last: SpanMap::default(),
        }
    }
}

impl<N: Waits> Waiting<N> {
    /// Keeps a span for `parent`.
    pub(crate) fn push(&mut self, parent: SpanId, node: N) {
        let next = u32::try_from(self.rows.len()).unwrap_or(NONE);
        let at = self.free.pop().unwrap_or(next);
        let row = Row {
            before: self.last.insert(parent, at).unwrap_or(NONE),
            node: Some(node),
        };
        match self.rows.get_mut(at as usize) {
            Some(slot) => *slot = row,
            None => self.rows.push(row),
        }
    }

    /// Tells whether something waits for `parent`.
    pub(crate) fn has(&self, parent: SpanId) -> bool {
        self.last.get(parent).is_some()
    }

    /// Appends the places of a parent's spans in their order, those of one place in it as they came.
    ///
    /// They are to be taken: nothing finds them any more.
    pub(crate) fn of(&mut self, parent: SpanId, places: &mut Vec<u32>) {
        let from = places.len();
        let mut next = self.last.remove(parent).unwrap_or(NONE);
        while let Some(row) = self.rows.get(next as usize) {
            places.push(next);
            next = row.before;
        }
        let own = places.get_mut(from..).unwrap_or(&mut []);
        if own.len() < 2 {
            return;
        }
        own.reverse();
        let order = |&at: &u32| self.node(at).map(Waits::order);
        if !own.is_sorted_by_key(order) {
            own.sort_by_key(order);
        }
    }

    /// Lends the span at a place.
    pub(crate) fn node(&self, at: u32) -> Option<&N> {
        self.rows.get(at as usize)?.node.as_ref()
    }

    /// Takes the span at a place that [`Self::of`] gave.
    pub(crate) fn take(&mut self, at: u32) -> Option<N> {
        let node = self.rows.get_mut(at as usize)?.node.take()?;
        self.free.push(at);
        Some(node)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    /// Returns all that waits.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &N> {
        self.rows.iter().filter_map(|row| row.node.as_ref())
    }

    /// Lends all that waits.
    pub(crate) fn nodes_mut(&mut self) -> impl Iterator<Item = &mut N> {
        self.rows.iter_mut().filter_map(|row| row.node.as_mut())
    }

    /// Takes the spans whose parent waits for nothing itself, by the parent; none is left where parents are in a
    /// circle, which no recorder makes and no tree can hold.
    pub(crate) fn take_tops(&mut self) -> Vec<N> {
        let ids: HashSet<SpanId, RandomState> = self.nodes().map(Waits::id).collect();
        let parents = self.last.iter().map(|(parent, _)| parent);
        let mut tops: Vec<SpanId> = parents.filter(|parent| !ids.contains(parent)).collect();
        tops.sort_unstable();
        let mut places = Vec::new();
        tops.into_iter().for_each(|top| self.of(top, &mut places));
        places.into_iter().filter_map(|at| self.take(at)).collect()
    }
}

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
    start: u32,
    len: u32,
}

impl Stashed {
    /// Returns how many there are.
    pub(crate) const fn len(self) -> usize {
        self.len as usize
    }

    fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
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
    /// Keeps copies of rows.
    #[inline]
    pub(crate) fn keep(&mut self, rows: &[T]) -> Stashed {
        let start = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        self.rows.extend_from_slice(rows);
        let len = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        Stashed { start, len }
    }

    /// Returns the rows of a place.
    #[inline]
    pub(crate) fn of(&self, place: Stashed) -> &[T] {
        self.rows.get(place.range()).unwrap_or(&[])
    }

    /// Lends the rows of a place.
    #[inline]
    pub(crate) fn of_mut(&mut self, place: Stashed) -> &mut [T] {
        self.rows.get_mut(place.range()).unwrap_or(&mut [])
    }

    /// Gives the rows of a place up.
    #[inline]
    pub(crate) fn release(&mut self, place: Stashed) {
        self.dead += place.len as usize;
        if self.dead >= self.rows.len() {
            self.rows.clear();
            self.dead = 0;
        }
    }

    /// Tells whether most of it is dead.
    pub(crate) fn is_wasteful(&self) -> bool {
        self.dead > DEAD && self.dead > self.rows.len() / 2
    }

    /// Drops what is dead: all but what is in these places.
    pub(crate) fn compact<'p>(&mut self, places: impl Iterator<Item = &'p mut Stashed>) {
        let old = std::mem::take(self);
        for place in places {
            *place = self.keep(old.of(*place));
        }
    }
}

/// Where the attributes and counters of a span are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Own {
    pub(crate) attributes: Stashed,
    pub(crate) counters: Stashed,
}

/// Finished spans, and what belongs to them.
#[derive(Debug)]
pub(crate) struct Kept<N> {
    pub(crate) waiting: Waiting<N>,
    /// Spans without a parent that wait for the end.
    pub(crate) roots: Vec<N>,
    pub(crate) attributes: Stash<Attribute>,
    pub(crate) counters: Stash<(ValueTypeId, i64)>,
}

impl<N> Default for Kept<N> {
    fn default() -> Self {
        Self {
            waiting: Waiting::default(),
            roots: Vec::new(),
            attributes: Stash::default(),
            counters: Stash::default(),
        }
    }
}

impl<N: Waits> Kept<N> {
    /// Keeps what belongs to a span.
    #[inline]
    pub(crate) fn keep(&mut self, row: &SpanRow<'_>) -> Own {
        Own {
            attributes: self.attributes.keep(row.attributes),
            counters: self.counters.keep(row.counters),
        }
    }

    /// Gives up what belongs to a span that was written.
    #[inline]
    pub(crate) fn release(&mut self, own: Own) {
        self.attributes.release(own.attributes);
        self.counters.release(own.counters);
    }

    /// Drops what belongs to spans that were written, once there is much of it; none is being written.
    pub(crate) fn tidy(&mut self) {
        if self.attributes.is_wasteful() {
            let held = self.waiting.nodes_mut().chain(&mut self.roots);
            let places = held.map(|node| &mut node.own_mut().attributes);
            self.attributes.compact(places);
        }
        if self.counters.is_wasteful() {
            let held = self.waiting.nodes_mut().chain(&mut self.roots);
            let places = held.map(|node| &mut node.own_mut().counters);
            self.counters.compact(places);
        }
    }

    /// Returns the values of the attributes of all that is held.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Value> {
        let held = self.waiting.nodes().chain(&self.roots);
        let attributes = held.flat_map(|node| self.attributes.of(node.own().attributes));
        attributes.map(|attribute| &attribute.value)
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
            if stash.is_wasteful() {
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
}
