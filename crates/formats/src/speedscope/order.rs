//! Spans of a track in the order in which they begin.

use traceloom_model::{SpanId, Timestamp};

use super::places::SpanNumbers;
use super::spans::{FrameSpan, FrameSpans};

/// Returns the places of spans in the order in which they begin, when they came by their ends and each lies within its
/// parent and beside its siblings; none where one does not.
///
/// Backwards, a span comes before what it encloses, and the end of the order is known first.
pub(super) fn preorder(spans: &FrameSpans) -> Option<Vec<u32>> {
    struct EnclosingSpan {
        id: SpanId,
        start: Timestamp,
        place: u32,
    }
    let mut places = vec![0; spans.len()];
    let mut free = places.iter_mut().rev();
    let mut open: Vec<EnclosingSpan> = Vec::new();
    let mut last = Timestamp::MAX;
    let places_of = (0..u32::try_from(spans.len()).ok()?).rev();
    for (place, span) in places_of.zip(spans.iter().rev()) {
        while let Some(after) = open.pop_if(|top| Some(top.id) != span.parent) {
            if after.start < span.end {
                return None;
            }
            *free.next()? = after.place;
        }
        let is_within = match open.last() {
            Some(parent) => parent.start <= span.start,
            None => span.parent.is_none(),
        };
        if !is_within || span.end > last {
            return None;
        }
        last = span.end;
        open.push(EnclosingSpan {
            id: span.id,
            start: span.start,
            place,
        });
    }
    for top in open.iter().rev() {
        *free.next()? = top.place;
    }
    drop(free);
    Some(places)
}

/// Returns spans by their start, and those that begin together as they nest. `rows` knows no span, neither before nor
/// after.
pub(super) fn sorted(spans: &FrameSpans, rows: &mut SpanNumbers) -> Vec<FrameSpan> {
    let mut sorted: Vec<FrameSpan> = spans.iter().collect();
    sort(&mut sorted, rows);
    sorted
}

/// Sorts spans by their start, and those that begin together as they nest.
fn sort(spans: &mut [FrameSpan], rows: &mut SpanNumbers) {
    // Stable: what begins together stays in the order in which it ended.
    spans.sort_by_key(|span| span.start);
    let mut nest = SameStartOrder::default();
    for run in spans.chunk_by_mut(|one, other| one.start == other.start) {
        if run.len() > 1 {
            nest.order(run, rows);
        }
    }
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
    ordered: Vec<FrameSpan>,
}

impl SameStartOrder {
    /// Puts callers first, of siblings those that ended first.
    fn order(&mut self, run: &mut [FrameSpan], rows: &mut SpanNumbers) {
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
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

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
        fn walking_the_tree_gives_what_sorting_gives(
            rows in prop::collection::vec((0..3_i64, 0..4_i64, 0..4_usize), 1..60),
            shaken: bool,
        ) {
            let mut spans = called(&rows);
            if shaken {
                let half = spans.len() / 2;
                spans.rotate_left(half);
            }
            let rows: FrameSpans = spans.into_iter().collect();
            let mut places = SpanNumbers::of(&rows);
            let expected = sorted(&rows, &mut places);
            prop_assert!((0..60).all(|id| places.get(SpanId(id)).is_none()));
            match preorder(&rows) {
                Some(places) => {
                    let found: Vec<FrameSpan> = places.iter().map(|&at| rows.get(at as usize).unwrap()).collect();
                    prop_assert_eq!(found, expected);
                }
                None => prop_assert!(shaken),
            }
        }
    }
}
