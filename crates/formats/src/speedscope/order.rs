//! Spans of a track in the order in which they begin.

use traceloom_model::Timestamp;

use super::nest::Kept;
use super::places::Places;
use crate::pieces::Pieces;

/// The order of spans by their start, and of those that begin together as they nest.
pub(super) enum Ordered {
    /// Places of the spans.
    Places(Vec<u32>),
    /// The spans themselves.
    Spans(Vec<Kept>),
}

/// Finds the order of spans. `rows` knows no span, neither before nor after.
pub(super) fn order(spans: &Pieces<Kept>, rows: &mut Places) -> Ordered {
    if let Some(places) = preorder(spans, rows) {
        return Ordered::Places(places);
    }
    // What waits for parents that came before, or never.
    for span in spans.iter() {
        span.parent.into_iter().for_each(|id| rows.remove(id));
    }
    let mut sorted = spans.iter().copied().collect::<Vec<_>>();
    sort(&mut sorted, rows);
    Ordered::Spans(sorted)
}

/// Returns the places of spans that came as they ended by walking the tree of their parents: a sort would compare
/// each of them many times. None where that is not the order of their starts, or children came after their parents.
fn preorder(spans: &Pieces<Kept>, rows: &mut Places) -> Option<Vec<u32>> {
    if !spans.iter().is_sorted_by_key(|span| span.end) {
        return None;
    }
    // The child of each that came last, and the one of its siblings that came before.
    let mut below = Vec::with_capacity(spans.len());
    let mut before = Vec::with_capacity(spans.len());
    let mut roots = None;
    for (at, span) in (0..).zip(spans.iter()) {
        below.push(rows.take(span.id));
        before.push(match span.parent {
            Some(parent) => rows.replace(parent, at),
            None => roots.replace(at),
        });
    }
    let mut ordered = Vec::with_capacity(spans.len());
    let mut pending = Vec::new();
    let mut next = roots;
    let mut last = Timestamp::MIN;
    loop {
        // Those that came first are on top.
        while let Some(at) = next {
            pending.push(at);
            next = before.get(at as usize).copied().flatten();
        }
        let Some(at) = pending.pop() else { break };
        let start = spans.get(at as usize)?.start;
        if start < last {
            return None;
        }
        last = start;
        ordered.push(at);
        next = below.get(at as usize).copied().flatten();
    }
    (ordered.len() == spans.len()).then_some(ordered)
}

/// Sorts spans by their start, and those that begin together as they nest.
fn sort(spans: &mut [Kept], rows: &mut Places) {
    // Stable: what begins together stays in the order in which it ended.
    spans.sort_by_key(|span| span.start);
    let mut nest = Nest::default();
    for run in spans.chunk_by_mut(|one, other| one.start == other.start) {
        if run.len() > 1 {
            nest.order(run, rows);
        }
    }
}

/// Orders spans of one start; its lists serve one run after the other.
#[derive(Default)]
struct Nest {
    by_end: Vec<u32>,
    /// The span that ended last of those below one, and of each the one of its siblings that ended before.
    below: Vec<Option<u32>>,
    before: Vec<Option<u32>>,
    pending: Vec<u32>,
    seen: Vec<bool>,
    ordered: Vec<Kept>,
}

impl Nest {
    /// Puts callers first, of siblings those that ended first.
    fn order(&mut self, run: &mut [Kept], rows: &mut Places) {
        let count = u32::try_from(run.len()).unwrap_or(u32::MAX);
        for (at, span) in run.iter().enumerate() {
            rows.set(span.id, at);
        }
        let end = |&at: &u32| run.get(at as usize).map(|span| span.end);
        self.by_end.clear();
        self.by_end.extend(0..count);
        if !self.by_end.is_sorted_by_key(end) {
            self.by_end.sort_by_key(end);
        }
        for list in [&mut self.below, &mut self.before] {
            list.clear();
            list.resize(run.len(), None);
        }
        self.pending.clear();
        for &at in &self.by_end {
            let span = run.get(at as usize);
            let parent = span.and_then(|span| rows.get(span.parent?));
            match parent.filter(|&parent| parent != at as usize) {
                Some(parent) => {
                    let last = self.below.get_mut(parent).and_then(|last| last.replace(at));
                    if let Some(before) = self.before.get_mut(at as usize) {
                        *before = last;
                    }
                }
                None => self.pending.push(at),
            }
        }
        self.pending.reverse();
        for span in run.iter() {
            rows.remove(span.id);
        }
        self.seen.clear();
        self.seen.resize(run.len(), false);
        self.ordered.clear();
        // Spans that are each other's parents hang below no root.
        let mut left = 0..count;
        loop {
            let next = self.pending.pop();
            let seen = &mut self.seen;
            let unseen = |at: &u32| seen.get(*at as usize) == Some(&false);
            let Some(at) = next.or_else(|| left.find(unseen)) else {
                break;
            };
            match seen.get_mut(at as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            self.ordered.extend(run.get(at as usize));
            let mut below = self.below.get(at as usize).copied().flatten();
            while let Some(at) = below {
                self.pending.push(at);
                below = self.before.get(at as usize).copied().flatten();
            }
        }
        run.copy_from_slice(&self.ordered);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use traceloom_model::SpanId;

    use super::*;

    proptest! {
        #[test]
        fn walking_the_tree_gives_what_sorting_gives(
            rows in prop::collection::vec((0..3_i64, 0..4_i64, 0..4_usize), 1..60),
            shaken: bool,
        ) {
            // Spans are opened and closed as on a stack, and come as they are closed.
            let mut time = 0;
            let (mut open, mut spans) = (Vec::<Kept>::new(), Vec::new());
            for (id, (wait, length, leave)) in (0..).zip(rows) {
                time += wait;
                open.push(Kept {
                    id: SpanId(id),
                    parent: open.last().map(|span| span.id),
                    start: time,
                    end: time,
                    frame: 0,
                });
                time += length;
                for _ in 0..leave.min(open.len()) {
                    spans.extend(open.pop().map(|span| Kept { end: time, ..span }));
                }
            }
            spans.extend(open.into_iter().rev().map(|span| Kept { end: time, ..span }));
            if shaken {
                let half = spans.len() / 2;
                spans.rotate_left(half);
            }
            let mut places = Places::of(spans.len(), SpanId(0), SpanId(60));
            let mut sorted = spans.clone();
            sort(&mut sorted, &mut places);
            let rows: Pieces<Kept> = spans.into_iter().collect();
            let ids = match order(&rows, &mut places) {
                Ordered::Places(at) => at.iter().map(|&at| rows.get(at as usize).unwrap().id).collect(),
                Ordered::Spans(spans) => {
                    prop_assert!(shaken);
                    spans.iter().map(|span| span.id).collect::<Vec<_>>()
                }
            };
            let expected: Vec<SpanId> = sorted.iter().map(|span| span.id).collect();
            prop_assert_eq!(ids, expected);
            prop_assert!((0..60).all(|id| places.get(SpanId(id)).is_none()));
        }
    }
}
