//! Exact calls as a sampled profile has them: merged by their path, with their own time.
//!
//! Targets that hold stacks and values use it to write traces. The tree has a node for each distinct
//! path, so its size depends on the program and not on the length of the trace.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{FunctionId, Order, SpanBatch, SpanId, StepBatch, Timestamp, TrackId};

const NONE: u32 = u32::MAX;

/// Takes a path, its calls and its own nanoseconds.
pub(crate) type SeePath<'s> = dyn FnMut(&[Option<FunctionId>], i64, i64) + 's;

/// A path: what ran, how often, for how long by itself.
#[derive(Clone, Copy)]
struct Node {
    function: Option<FunctionId>,
    count: i64,
    own: i64,
    first_child: u32,
    next_sibling: u32,
}

/// Merges spans or steps into a tree of paths.
///
/// Spans come children first, so a subtree grows below a node whose function becomes known when its
/// span ends. Hanging a node below another either links it or, where a child of that function exists,
/// takes it apart into that child; a node is taken apart once, which bounds all merging by the spans.
#[derive(Default)]
pub(crate) struct Calls {
    nodes: Vec<Node>,
    free: Vec<u32>,
    children: HashMap<(u32, Option<FunctionId>), u32, RandomState>,
    roots: HashMap<TrackId, u32, RandomState>,
    pending: HashMap<SpanId, Pending, RandomState>,
    running: HashMap<TrackId, Vec<Running>, RandomState>,
    order: Order,
    /// Spans that came in no order at all, until the end.
    unordered: Vec<Unordered>,
    stepped: bool,
}

#[derive(Default)]
struct Pending {
    node: Option<u32>,
    /// Nanoseconds of children that cannot overlap.
    inside: i64,
    /// Those of children that can.
    covered: Cover,
}

struct Running {
    node: u32,
    start: Timestamp,
    inside: i64,
}

struct Unordered {
    depth: u32,
    id: SpanId,
    parent: Option<SpanId>,
    track: TrackId,
    function: Option<FunctionId>,
    start: Timestamp,
    end: Timestamp,
}

/// The union of intervals.
#[derive(Default)]
struct Cover {
    parts: Vec<(Timestamp, Timestamp)>,
}

impl Cover {
    fn add(&mut self, start: Timestamp, end: Timestamp) {
        let from = self.parts.partition_point(|part| part.1 < start);
        let to = self.parts.partition_point(|part| part.0 <= end);
        let touched = self.parts.get(from..to).unwrap_or(&[]);
        let joined = touched.iter().fold((start, end), |all, part| {
            (all.0.min(part.0), all.1.max(part.1))
        });
        self.parts.splice(from..to, [joined]);
    }

    fn within(&self, start: Timestamp, end: Timestamp) -> i64 {
        let parts = self.parts.iter();
        let lengths = parts.map(|part| part.1.min(end).saturating_sub(part.0.max(start)).max(0));
        lengths.fold(0, i64::saturating_add)
    }
}

impl Calls {
    pub(crate) fn begin(&mut self, order: Order) {
        self.order = order;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.unordered.is_empty()
    }

    /// Takes spans; after steps they repeat what the steps said.
    pub(crate) fn spans(&mut self, batch: &SpanBatch) {
        if self.stepped {
            return;
        }
        for span in batch.iter() {
            let row = Unordered {
                depth: span.depth,
                id: span.id,
                parent: span.parent,
                track: span.track,
                function: span.function,
                start: span.start,
                end: span.end.max(span.start),
            };
            if self.order == Order::None {
                self.unordered.push(row);
            } else {
                self.span(&row);
            }
        }
    }

    fn span(&mut self, span: &Unordered) {
        let pending = self.pending.remove(&span.id).unwrap_or_default();
        let node = pending.node.unwrap_or_else(|| self.new_node());
        let duration = span.end.saturating_sub(span.start);
        let inside = pending.covered.within(span.start, span.end);
        let own = duration
            .saturating_sub(inside)
            .saturating_sub(pending.inside)
            .max(0);
        if let Some(node) = self.node_mut(node) {
            node.function = span.function;
            node.count = 1;
            node.own = own;
        }
        let above = match span.parent {
            None => self.root(span.track),
            Some(parent) => {
                let nested = self.order == Order::Nested;
                let pending = self.pending.entry(parent).or_default();
                if nested {
                    pending.inside = pending.inside.saturating_add(duration);
                } else {
                    pending.covered.add(span.start, span.end);
                }
                match pending.node {
                    Some(node) => node,
                    None => {
                        let node = self.new_node();
                        self.pending.entry(parent).or_default().node = Some(node);
                        node
                    }
                }
            }
        };
        self.hang(above, node);
    }

    /// Takes enters and exits.
    pub(crate) fn steps(&mut self, batch: &StepBatch) {
        self.stepped = true;
        for (track, range) in batch.runs() {
            let root = self.root(track);
            let mut running = self.running.remove(&track).unwrap_or_default();
            let times = batch.time.get(range.clone()).unwrap_or(&[]);
            let functions = batch.function.get(range).unwrap_or(&[]);
            for (&time, &function) in times.iter().zip(functions) {
                if function.is_some() {
                    let above = running.last().map_or(root, |top| top.node);
                    running.push(Running {
                        node: self.child(above, function),
                        start: time,
                        inside: 0,
                    });
                } else if let Some(top) = running.pop() {
                    let duration = time.saturating_sub(top.start).max(0);
                    if let Some(node) = self.node_mut(top.node) {
                        node.count = node.count.saturating_add(1);
                        let own = duration.saturating_sub(top.inside).max(0);
                        node.own = node.own.saturating_add(own);
                    }
                    if let Some(outer) = running.last_mut() {
                        outer.inside = outer.inside.saturating_add(duration);
                    }
                }
            }
            self.running.insert(track, running);
        }
    }

    /// Shows every path with its calls and own nanoseconds: the functions from the root on. Tracks for
    /// which `take` is false are left out.
    pub(crate) fn finish(mut self, take: &dyn Fn(TrackId) -> bool, see: &mut SeePath<'_>) {
        let mut unordered = std::mem::take(&mut self.unordered);
        unordered.sort_by_key(|span| std::cmp::Reverse(span.depth));
        unordered.iter().for_each(|span| self.span(span));
        // Spans whose parent never came are roots of their own; the track is not known any more.
        let mut roots: Vec<u32> = Vec::new();
        let mut tracks: Vec<_> = self.roots.iter().collect();
        tracks.sort();
        roots.extend(
            tracks
                .iter()
                .filter(|&&(&track, _)| take(track))
                .map(|&(_, &root)| root),
        );
        let mut orphans: Vec<_> = self.pending.iter().collect();
        orphans.sort_by_key(|&(&id, _)| id);
        roots.extend(orphans.iter().filter_map(|(_, pending)| pending.node));
        let all = self.new_node();
        for root in roots {
            for child in self.take_children(root) {
                self.hang(all, child);
            }
        }
        let mut path = Vec::new();
        let mut walk: Vec<(u32, usize)> = self
            .take_children(all)
            .into_iter()
            .map(|node| (node, 0))
            .collect();
        walk.reverse();
        while let Some((node, depth)) = walk.pop() {
            let Some(&row) = self.nodes.get(node as usize) else {
                continue;
            };
            path.truncate(depth);
            path.push(row.function);
            see(&path, row.count, row.own);
            let children = self.take_children(node);
            walk.extend(children.into_iter().rev().map(|child| (child, depth + 1)));
        }
    }

    fn node_mut(&mut self, node: u32) -> Option<&mut Node> {
        self.nodes.get_mut(node as usize)
    }

    fn root(&mut self, track: TrackId) -> u32 {
        if let Some(&root) = self.roots.get(&track) {
            return root;
        }
        let root = self.new_node();
        self.roots.insert(track, root);
        root
    }

    fn child(&mut self, above: u32, function: Option<FunctionId>) -> u32 {
        if let Some(&known) = self.children.get(&(above, function)) {
            return known;
        }
        let node = self.new_node();
        if let Some(row) = self.node_mut(node) {
            row.function = function;
        }
        self.hang(above, node);
        node
    }

    fn new_node(&mut self) -> u32 {
        let node = Node {
            function: None,
            count: 0,
            own: 0,
            first_child: NONE,
            next_sibling: NONE,
        };
        if let Some(free) = self.free.pop() {
            if let Some(slot) = self.node_mut(free) {
                *slot = node;
            }
            return free;
        }
        self.nodes.push(node);
        u32::try_from(self.nodes.len() - 1).unwrap_or(NONE)
    }

    /// Hangs `node` below `above`, merging it into the child of its function if there is one.
    fn hang(&mut self, above: u32, node: u32) {
        let mut work = vec![(above, node)];
        while let Some((above, node)) = work.pop() {
            let Some(&row) = self.nodes.get(node as usize) else {
                continue;
            };
            match self.children.get(&(above, row.function)).copied() {
                Some(twin) => {
                    if let Some(twin) = self.node_mut(twin) {
                        twin.count = twin.count.saturating_add(row.count);
                        twin.own = twin.own.saturating_add(row.own);
                    }
                    let children = self.take_children(node);
                    work.extend(children.into_iter().map(|child| (twin, child)));
                    self.free.push(node);
                }
                None => {
                    self.children.insert((above, row.function), node);
                    let next = self
                        .node_mut(above)
                        .map(|above| std::mem::replace(&mut above.first_child, node));
                    if let Some(row) = self.node_mut(node) {
                        row.next_sibling = next.unwrap_or(NONE);
                    }
                }
            }
        }
    }

    /// Unhangs the children of a node, in the order they were hung.
    fn take_children(&mut self, node: u32) -> Vec<u32> {
        let mut children = Vec::new();
        let first = self
            .node_mut(node)
            .map(|row| std::mem::replace(&mut row.first_child, NONE));
        let mut next = first.unwrap_or(NONE);
        while let Some(&row) = self.nodes.get(next as usize) {
            children.push(next);
            self.children.remove(&(node, row.function));
            next = row.next_sibling;
        }
        children.reverse();
        children
    }
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use traceloom_model::{SpanRow, Tables, Track};

    use super::*;

    type Row = (Vec<u32>, i64, i64);

    fn rows(calls: Calls) -> Vec<Row> {
        let mut rows = Vec::new();
        calls.finish(&|_| true, &mut |path, count, own| {
            let path = path.iter().flatten().map(|id| id.raw()).collect();
            rows.push((path, count, own));
        });
        rows.sort();
        rows
    }

    #[test]
    fn spans_and_steps_agree() {
        let (a, b, c) = (FunctionId::new(1), FunctionId::new(2), FunctionId::new(3));
        let mut tables = Tables::new();
        let track = tables.track(Track::default());
        let mut steps = StepBatch::default();
        steps.track(track);
        let mut spans = SpanBatch::default();
        let ids: Vec<SpanId> = (0..5).map(SpanId).collect();
        // a(b(c) b) twice, the second time without c.
        let rows_in = [
            (ids[2], Some(ids[1]), c, 2, 3),
            (ids[1], Some(ids[0]), b, 1, 5),
            (ids[3], Some(ids[0]), b, 6, 8),
            (ids[0], None, a, 0, 10),
            (ids[4], None, a, 20, 21),
        ];
        for (id, parent, function, start, end) in rows_in {
            let row = SpanRow {
                parent,
                ..SpanRow::call(id, track, function, start, end)
            };
            spans.push(&row);
        }
        for (time, function) in [
            (0, Some(a)),
            (1, Some(b)),
            (2, Some(c)),
            (3, None),
            (5, None),
            (6, Some(b)),
            (8, None),
            (10, None),
            (20, Some(a)),
            (21, None),
        ] {
            match function {
                Some(function) => steps.enter(time, function),
                None => steps.exit(time),
            }
        }
        let expected: [Row; 3] = [(vec![1], 2, 5), (vec![1, 2], 2, 5), (vec![1, 2, 3], 1, 1)];
        let mut by_spans = Calls::default();
        by_spans.spans(&spans);
        assert_eq!(rows(by_spans), expected);
        let mut by_steps = Calls::default();
        by_steps.steps(&steps);
        assert_eq!(rows(by_steps), expected);
        let mut unordered = Calls::default();
        unordered.begin(Order::None);
        let mut deep = SpanBatch::default();
        for (row, depth) in spans.iter().zip([2, 1, 1, 0, 0]).rev_by_start() {
            deep.push(&SpanRow { depth, ..row });
        }
        unordered.spans(&deep);
        assert_eq!(rows(unordered), expected);
    }

    trait RevByStart<'a>: Iterator<Item = (SpanRow<'a>, u32)> + Sized {
        fn rev_by_start(self) -> Vec<(SpanRow<'a>, u32)> {
            let mut all: Vec<_> = self.collect();
            all.sort_by_key(|(row, _)| row.start);
            all
        }
    }

    impl<'a, I: Iterator<Item = (SpanRow<'a>, u32)>> RevByStart<'a> for I {}

    #[test]
    fn own_time_is_the_duration_without_the_union_of_the_children() {
        let mut cover = Cover::default();
        for (start, end) in [(5, 8), (1, 3), (7, 12), (3, 4), (20, 30)] {
            cover.add(start, end);
        }
        assert_eq!(cover.parts, [(1, 4), (5, 12), (20, 30)]);
        assert_eq!(cover.within(2, 25), 2 + 7 + 5);
    }

    #[test]
    fn a_deep_trace_needs_no_deep_stack() {
        let track = Tables::new().track(Track::default());
        let mut steps = StepBatch::default();
        steps.track(track);
        for time in 0..300_000 {
            steps.enter(time, FunctionId::new(1));
        }
        for time in 300_000..600_000 {
            steps.exit(time);
        }
        let mut calls = Calls::default();
        calls.steps(&steps);
        let (mut deepest, mut total) = (0, 0);
        calls.finish(&|_| true, &mut |path, _, own| {
            deepest = deepest.max(path.len());
            total += own;
        });
        assert_eq!((deepest, total), (300_000, 599_999));
    }
}
