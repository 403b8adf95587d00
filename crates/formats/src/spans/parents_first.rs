//! Parents first: spans wait for the span around them, each with what belongs to it.

use std::collections::HashSet;

use super::stash::{Stash, Stashed};
use foldhash::fast::RandomState;
use traceloom_model::{Attribute, SpanBatch, SpanId, SpanMap, Value, ValueTypeId};

const NONE: u32 = u32::MAX;

/// Finished spans, each in the list of the parent it waits for, and what is kept of each.
///
/// The rows are one table whose places are used again: a list for each parent would be allocated and freed for
/// most spans there are.
#[derive(Debug)]
pub(crate) struct ParentLists<N> {
    rows: Vec<ListSlot<N>>,
    /// The first place that is free; each tells of the next.
    free: u32,
    /// What waits for each parent that has not come; late children of one that has.
    lists: SpanMap<List>,
}

/// A span as its writer keeps it.
pub(crate) trait PendingSpan {
    fn id(&self) -> SpanId;

    /// Returns the key by which siblings are ordered.
    fn order(&self) -> (i64, i64);
}

/// A span whose attributes and counters are kept in [`PendingSpans`].
pub(crate) trait HoldsValues: PendingSpan {
    /// Returns where its attributes and counters are.
    fn own(&self) -> ValuesAt;

    fn own_mut(&mut self) -> &mut ValuesAt;
}

#[derive(Debug)]
struct ListSlot<N> {
    /// The row after it in the list of the same parent.
    next: u32,
    node: Option<N>,
    /// What waited for it.
    children: List,
}

/// The spans of one parent.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
    is_sorted: bool,
}

impl List {
    const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
        is_sorted: true,
    };
}

/// Spans of one parent that are still to be taken, in their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Children(u32);

impl Children {
    /// Returns true if there is none.
    pub(crate) const fn is_empty(self) -> bool {
        self.0 == NONE
    }
}

impl<N> Default for ParentLists<N> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            free: NONE,
            lists: SpanMap::default(),
        }
    }
}

impl<N: PendingSpan> ParentLists<N> {
    /// Keeps a span for `parent`.
    #[inline]
    pub(crate) fn push(&mut self, parent: SpanId, node: N) {
        let order = node.order();
        let row = ListSlot {
            next: NONE,
            children: self.lists.remove(node.id()).unwrap_or(List::EMPTY),
            node: Some(node),
        };
        let at = match self.rows.get_mut(self.free as usize) {
            Some(slot) => {
                let at = std::mem::replace(&mut self.free, slot.next);
                *slot = row;
                at
            }
            None => {
                self.rows.push(row);
                u32::try_from(self.rows.len() - 1).unwrap_or(NONE)
            }
        };
        let Some(list) = self.lists.get_mut(parent) else {
            let list = List {
                first: at,
                last: at,
                is_sorted: true,
            };
            self.lists.insert(parent, list);
            return;
        };
        if let Some(last) = self.rows.get_mut(list.last as usize) {
            last.next = at;
            let before = last.node.as_ref().map(PendingSpan::order);
            list.is_sorted &= before.is_none_or(|before| before <= order);
        }
        list.last = at;
    }

    /// Returns the spans of a parent that does not wait itself, in their order, those of one place in it as they
    /// came.
    ///
    /// They are to be taken: nothing finds them any more.
    #[inline]
    pub(crate) fn of(&mut self, parent: SpanId) -> Children {
        self.late(parent, List::EMPTY)
    }

    /// Returns children that came before their parent, and those that came after it.
    #[inline]
    fn late(&mut self, parent: SpanId, mut list: List) -> Children {
        if !self.lists.is_empty()
            && let Some(late) = self.lists.remove(parent)
        {
            list = self.join(list, late);
        }
        if list.is_sorted {
            return Children(list.first);
        }
        self.sort(list)
    }

    fn join(&mut self, list: List, late: List) -> List {
        match self.rows.get_mut(list.last as usize) {
            Some(last) => {
                last.next = late.first;
                List {
                    first: list.first,
                    last: late.last,
                    is_sorted: false,
                }
            }
            None => late,
        }
    }

    #[cold]
    fn sort(&mut self, list: List) -> Children {
        let mut places = Vec::new();
        let mut next = list.first;
        while let Some(row) = self.rows.get(next as usize) {
            places.push((row.node.as_ref().map(PendingSpan::order), next));
            next = row.next;
        }
        places.sort_by_key(|&(order, _)| order);
        let mut first = NONE;
        for (_, at) in places.into_iter().rev() {
            if let Some(row) = self.rows.get_mut(at as usize) {
                row.next = std::mem::replace(&mut first, at);
            }
        }
        Children(first)
    }

    /// Lends the next of a parent's spans.
    #[inline]
    pub(crate) fn peek(&self, children: Children) -> Option<&N> {
        self.rows.get(children.0 as usize)?.node.as_ref()
    }

    /// Returns those of a parent's spans that come after the next one.
    pub(crate) fn after(&self, children: Children) -> Children {
        let row = self.rows.get(children.0 as usize);
        Children(row.map_or(NONE, |row| row.next))
    }

    /// Takes the next of a parent's spans, with its own.
    #[inline(always)]
    pub(crate) fn take(&mut self, children: &mut Children) -> Option<(N, Children)> {
        let at = children.0;
        let row = self.rows.get_mut(at as usize)?;
        *children = Children(row.next);
        row.next = std::mem::replace(&mut self.free, at);
        let node = row.node.take()?;
        let own = row.children;
        let own = self.late(node.id(), own);
        Some((node, own))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Returns the number of spans there is room for without another allocation.
    pub(crate) fn capacity(&self) -> usize {
        self.rows.capacity()
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
    pub(crate) fn take_tops(&mut self) -> Vec<(N, Children)> {
        let ids: HashSet<SpanId, RandomState> = self.nodes().map(PendingSpan::id).collect();
        let parents = self.lists.iter().map(|(parent, _)| parent);
        let mut parents: Vec<SpanId> = parents.filter(|parent| !ids.contains(parent)).collect();
        parents.sort_unstable();
        let mut tops = Vec::new();
        for parent in parents {
            let mut children = self.of(parent);
            while let Some(top) = self.take(&mut children) {
                tops.push(top);
            }
        }
        tops
    }
}

/// Where the attributes and counters of a span are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ValuesAt {
    pub(crate) attributes: Stashed,
    pub(crate) counters: Stashed,
}

/// Finished spans, and what belongs to them.
#[derive(Debug)]
pub(crate) struct PendingSpans<N> {
    pub(crate) waiting: ParentLists<N>,
    /// Spans without a parent that wait for the end.
    pub(crate) roots: Vec<N>,
    pub(crate) attributes: Stash<Attribute>,
    pub(crate) counters: Stash<(ValueTypeId, i64)>,
}

impl<N> Default for PendingSpans<N> {
    fn default() -> Self {
        Self {
            waiting: ParentLists::default(),
            roots: Vec::new(),
            attributes: Stash::default(),
            counters: Stash::default(),
        }
    }
}

/// Where what belongs to the spans of a batch is, one span after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TakenColumns {
    row: usize,
    /// Where that of the first span begins.
    first: [usize; 2],
    /// How much of it the spans before the next one have.
    gone: [usize; 2],
}

impl TakenColumns {
    /// Returns where what belongs to the next span of the batch is.
    #[inline(always)]
    pub(crate) fn next(&mut self, batch: &SpanBatch) -> ValuesAt {
        let ends = [batch.attributes.end(self.row), batch.counter_end(self.row)];
        let starts = std::mem::replace(&mut self.gone, ends);
        self.row += 1;
        let ([attributes, counters], [start, counters_start]) = (self.first, starts);
        let [end, counters_end] = ends;
        ValuesAt {
            attributes: Stashed::at(attributes + start..attributes + end),
            counters: Stashed::at(counters + counters_start..counters + counters_end),
        }
    }
}

impl<N: HoldsValues> PendingSpans<N> {
    /// Takes over what belongs to the spans of a batch, until it is released for each.
    pub(crate) fn take(&mut self, batch: &mut SpanBatch) -> TakenColumns {
        let attributes = self.attributes.take(batch.attributes.take_all());
        let counters = self.counters.take(batch.take_counters());
        TakenColumns {
            row: 0,
            first: [attributes, counters],
            gone: [0, 0],
        }
    }

    /// Gives up what belongs to a span that was written.
    #[inline]
    pub(crate) fn release(&mut self, own: ValuesAt) {
        self.attributes.release(own.attributes);
        self.counters.release(own.counters);
    }

    /// Drops what belongs to spans that were written, once there is much of it; none is being written.
    pub(crate) fn tidy(&mut self) {
        let places = self.waiting.rows.len() + self.roots.len();
        if self.attributes.is_wasteful(places) {
            let held = self.waiting.nodes_mut().chain(&mut self.roots);
            let places = held.map(|node| &mut node.own_mut().attributes);
            self.attributes.compact(places);
        }
        if self.counters.is_wasteful(places) {
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

    /// A span whose number is its start.
    struct Number(u64);

    impl PendingSpan for Number {
        fn id(&self) -> SpanId {
            SpanId(self.0)
        }

        fn order(&self) -> (i64, i64) {
            (self.0.cast_signed(), 0)
        }
    }

    #[test]
    fn children_come_by_start_whatever_their_order_was() {
        let mut waiting = ParentLists::default();
        let all = |waiting: &mut ParentLists<Number>, parent| {
            let mut children = waiting.of(SpanId(parent));
            std::iter::from_fn(|| waiting.take(&mut children).map(|(node, _)| node.0)).collect()
        };
        for round in 0..3 {
            for (parent, number) in [(1, 5), (2, 6), (1, 7), (1, 3), (2, 9), (1, 4)] {
                waiting.push(SpanId(parent), Number(number + round));
            }
            let [first, second]: [Vec<u64>; 2] = [1, 2].map(|parent| all(&mut waiting, parent));
            assert_eq!(first, [3, 4, 5, 7].map(|number| number + round));
            assert_eq!(second, [6, 9].map(|number| number + round));
            assert!(all(&mut waiting, 1).is_empty() && waiting.is_empty());
        }
        assert_eq!(waiting.rows.len(), 6, "places are used again");
    }

    #[test]
    fn children_may_come_after_their_parent() {
        let mut waiting = ParentLists::default();
        for (parent, number) in [(2, 5), (1, 2), (2, 4), (5, 6), (9, 10)] {
            waiting.push(SpanId(parent), Number(number));
        }
        let mut left = vec![waiting.of(SpanId(1))];
        let mut seen = Vec::new();
        while let Some(mut children) = left.pop() {
            if let Some((node, own)) = waiting.take(&mut children) {
                seen.push(node.0);
                left.extend([children, own]);
            }
        }
        assert_eq!(seen, [2, 4, 5, 6]);
        let tops = waiting.take_tops();
        assert!(matches!(tops.as_slice(), [(Number(10), own)] if own.is_empty()));
    }
}
