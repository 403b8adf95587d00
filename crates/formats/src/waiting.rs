//! Spans that wait for the span around them.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use traceloom_model::SpanId;

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
    last: HashMap<SpanId, u32, RandomState>,
}

#[derive(Debug)]
struct Row<N> {
    id: SpanId,
    order: (i64, i64),
    /// The row before in the list of the same parent.
    before: u32,
    node: Option<N>,
}

impl<N> Default for Waiting<N> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            free: Vec::new(),
            last: HashMap::default(),
        }
    }
}

impl<N> Waiting<N> {
    /// Keeps a span for `parent`; siblings are told in the order of `order`.
    pub(crate) fn push(&mut self, parent: SpanId, id: SpanId, order: (i64, i64), node: N) {
        let next = u32::try_from(self.rows.len()).unwrap_or(NONE);
        let at = self.free.pop().unwrap_or(next);
        let row = Row {
            id,
            order,
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
        self.last.contains_key(&parent)
    }

    /// Appends the places of a parent's spans in their order, those of one place in it as they came.
    ///
    /// They are to be taken: nothing finds them any more.
    pub(crate) fn of(&mut self, parent: SpanId, places: &mut Vec<u32>) {
        let from = places.len();
        let mut next = self.last.remove(&parent).unwrap_or(NONE);
        while let Some(row) = self.rows.get(next as usize) {
            places.push(next);
            next = row.before;
        }
        let own = places.get_mut(from..).unwrap_or(&mut []);
        own.reverse();
        let order = |&at: &u32| self.rows.get(at as usize).map(|row| row.order);
        if !own.is_sorted_by_key(order) {
            own.sort_by_key(order);
        }
    }

    /// Lends the span at a place.
    pub(crate) fn node(&mut self, at: u32) -> Option<&mut N> {
        self.rows.get_mut(at as usize)?.node.as_mut()
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

    /// Takes the spans whose parent waits for nothing itself, by the parent; none is left where parents are in a
    /// circle, which no recorder makes and no tree can hold.
    pub(crate) fn take_tops(&mut self) -> Vec<N> {
        let waiting = self.rows.iter().filter(|row| row.node.is_some());
        let ids: HashSet<SpanId, RandomState> = waiting.map(|row| row.id).collect();
        let parents = self.last.keys().copied();
        let mut tops: Vec<SpanId> = parents.filter(|parent| !ids.contains(parent)).collect();
        tops.sort_unstable();
        let mut places = Vec::new();
        tops.into_iter().for_each(|top| self.of(top, &mut places));
        places.into_iter().filter_map(|at| self.take(at)).collect()
    }
}
