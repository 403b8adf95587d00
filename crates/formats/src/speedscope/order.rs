//! Spans of a track in the order in which they begin, callers before what they called.

use traceloom_model::bounds::row_number;

use super::places::SpanNumbers;
use super::spans::FrameSpans;
use crate::spans::by_start::ByStart;

/// Returns the places of spans by their start, of those that begin together as they nest. `numbers` knows no span,
/// neither before nor after.
pub(super) fn order(spans: &FrameSpans, numbers: &mut SpanNumbers) -> Vec<u32> {
    let count = row_number(spans.len());
    let mut by_start = ByStart::default();
    // What begins together stays in the order in which it ended.
    let places = by_start.order(|| {
        let starts = spans.iter().rev().map(|span| span.start);
        (0..count).rev().zip(starts)
    });
    let mut places = places.to_vec();
    let start = |&place: &u32| spans.get(place as usize).map(|span| span.start);
    let mut nest = SameStartOrder::default();
    for run in places.chunk_by_mut(|one, other| start(one) == start(other)) {
        if run.len() > 1 {
            nest.order(run, spans, numbers);
        }
    }
    places
}

/// Orders spans of one start; its lists serve one run after the other.
#[derive(Default)]
struct SameStartOrder {
    by_end: Vec<u32>,
    /// The span that ended last of those below one, and of each the one of its siblings that ended before.
    below: Vec<Option<u32>>,
    before: Vec<Option<u32>>,
    pending: Vec<u32>,
    seen: Vec<bool>,
    ordered: Vec<u32>,
}

impl SameStartOrder {
    /// Puts callers first, of siblings those that ended first.
    fn order(&mut self, run: &mut [u32], spans: &FrameSpans, numbers: &mut SpanNumbers) {
        let count = row_number(run.len());
        let span = |at: usize| spans.get(*run.get(at)? as usize);
        for at in 0..run.len() {
            if let Some(span) = span(at) {
                numbers.set(span.id, at);
            }
        }
        let end = |&at: &u32| span(at as usize).map(|span| span.end);
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
            let parent = span(at as usize).and_then(|span| numbers.get(span.parent?));
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
        for at in 0..run.len() {
            if let Some(span) = span(at) {
                numbers.remove(span.id);
            }
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
pub(super) mod tests {
    use super::*;
    use crate::speedscope::spans::FrameSpan;
    use proptest::prelude::*;
    use traceloom_model::SpanId;

    /// Spans that are opened and closed as on a stack and come as they are closed: a wait, a length, and how many are
    /// closed then.
    pub fn called(rows: &[(i64, i64, usize)]) -> Vec<FrameSpan> {
        let mut time = 0;
        let (mut open, mut spans) = (Vec::<FrameSpan>::new(), Vec::new());
        for (id, &(wait, length, leave)) in (0..).zip(rows) {
            time += wait;
            open.push(FrameSpan {
                id: SpanId(id),
                parent: open.last().map(|span| span.id),
                start: time,
                end: time,
                frame: 0,
            });
            time += length;
            for _ in 0..leave.min(open.len()) {
                spans.extend(open.pop().map(|span| FrameSpan { end: time, ..span }));
            }
        }
        spans.extend(
            open.into_iter()
                .rev()
                .map(|span| FrameSpan { end: time, ..span }),
        );
        spans
    }

    proptest! {
        #[test]
        fn calls_come_as_they_were_entered(
            rows in prop::collection::vec((0..3_i64, 0..4_i64, 0..4_usize), 1..60),
            shaken: bool,
        ) {
            let mut spans = called(&rows);
            if shaken {
                let half = spans.len() / 2;
                spans.rotate_left(half);
            }
            let spans: FrameSpans = spans.into_iter().collect();
            let mut numbers = SpanNumbers::of(&spans);
            let places = order(&spans, &mut numbers);
            prop_assert!((0..60).all(|id| numbers.get(SpanId(id)).is_none()));
            let ordered: Vec<FrameSpan> =
                places.iter().map(|&at| spans.get(at as usize).unwrap()).collect();
            prop_assert_eq!(ordered.len(), rows.len());
            let mut entered = std::collections::HashSet::new();
            for span in &ordered {
                prop_assert!(span.parent.is_none_or(|parent| entered.contains(&parent)));
                prop_assert!(entered.insert(span.id));
            }
            prop_assert!(ordered.is_sorted_by_key(|span| span.start));
            // Of calls without length beside each other, times do not tell which came first.
            prop_assert!(shaken || ordered.is_sorted_by_key(|span| span.id));
        }
    }
}
