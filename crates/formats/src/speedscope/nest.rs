//! The spans of a track as enters and exits that nest (SPEC.md, "Written").

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use traceloom_model::{SpanId, Timestamp};

use super::places::Places;

/// What of a span is written, in the order in which spans came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub id: SpanId,
    pub parent: Option<SpanId>,
    pub start: Timestamp,
    pub end: Timestamp,
    /// What is shown; its meaning is the caller's.
    pub frame: u32,
}

/// A span entered, or the one entered last left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub at: Timestamp,
    pub frame: u32,
    pub enter: bool,
}

/// Turns the spans of one track into steps, a list for each lane.
///
/// A lane takes a span within its parent, or when nothing is open on it; a span whose parent is on no lane
/// (it lies on another track, or was not recorded) may lie within whatever is open. What overlaps a sibling
/// so goes to a lane of its own. Spans that begin together keep the order in which they ended, a caller
/// before what it called, which their times alone do not tell. `of_open` knows no span, neither before nor after.
pub(super) fn lanes(spans: &mut [Kept], of_open: &mut Places) -> Vec<Vec<Step>> {
    order(spans, of_open);
    let mut lanes: Vec<Lane> = Vec::new();
    // Lanes by the time at which nothing is open on them any more.
    let mut ends: BinaryHeap<Reverse<(Timestamp, usize)>> = BinaryHeap::new();
    let mut free: BinaryHeap<Reverse<usize>> = BinaryHeap::new();
    for span in spans.iter() {
        let end = span.end.max(span.start);
        let mut held = None;
        while let Some(&Reverse((until, at))) = ends.peek()
            && until <= span.start
        {
            ends.pop();
            let Some(lane) = lanes.get_mut(at) else {
                continue;
            };
            // A parent without duration is open for the children that share its time.
            if span.parent.and_then(|id| of_open.get(id)) == Some(at) {
                held = Some(Reverse((until, at)));
                continue;
            }
            lane.leave(None, None, of_open);
            free.push(Reverse(at));
        }
        ends.extend(held);
        let parent = span.parent.and_then(|id| of_open.get(id));
        let stranger = span.parent.is_some() && parent.is_none();
        let near = parent.or(stranger.then_some(0)).filter(|&at| {
            let Some(lane) = lanes.get_mut(at) else {
                return false;
            };
            lane.leave(Some(span.start), span.parent, of_open);
            let top = lane.open.last();
            let related = stranger || top.map(|open| open.id) == span.parent;
            related && top.is_some_and(|open| end <= open.end)
        });
        let at = near.unwrap_or_else(|| {
            let at = free.pop().map_or(lanes.len(), |Reverse(at)| at);
            if at == lanes.len() {
                lanes.push(Lane::default());
            }
            ends.push(Reverse((end, at)));
            at
        });
        if let Some(lane) = lanes.get_mut(at) {
            lane.open.push(Open {
                id: span.id,
                end,
                frame: span.frame,
            });
            lane.steps.push(Step {
                at: span.start,
                frame: span.frame,
                enter: true,
            });
            of_open.set(span.id, at);
        }
    }
    let finished = lanes.into_iter().map(|mut lane| {
        lane.leave(None, None, of_open);
        lane.steps
    });
    finished.collect()
}

#[derive(Clone, Copy)]
struct Open {
    id: SpanId,
    end: Timestamp,
    frame: u32,
}

#[derive(Default)]
struct Lane {
    open: Vec<Open>,
    steps: Vec<Step>,
}

impl Lane {
    /// Leaves what ended by `time`, everything for none, up to the parent of what comes next.
    fn leave(&mut self, time: Option<Timestamp>, parent: Option<SpanId>, of_open: &mut Places) {
        while let Some(&top) = self.open.last() {
            let over = time.is_none_or(|time| top.end <= time);
            if !over || Some(top.id) == parent {
                break;
            }
            self.open.pop();
            of_open.remove(top.id);
            self.steps.push(Step {
                at: top.end,
                frame: top.frame,
                enter: false,
            });
        }
    }
}

/// Sorts spans by their start, and those that begin together as they nest.
fn order(spans: &mut [Kept], rows: &mut Places) {
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
    use super::*;
    use proptest::prelude::*;

    fn span(id: u64, parent: Option<u64>, start: i64, end: i64) -> Kept {
        Kept {
            id: SpanId(id),
            parent: parent.map(SpanId),
            start,
            end,
            frame: u32::try_from(id).unwrap(),
        }
    }

    /// Lanes as text, and that each nests and never goes back.
    fn shown(mut spans: Vec<Kept>) -> Vec<String> {
        // Few are near, so that both ways are gone.
        let mut places = Places::of(1, SpanId(1), SpanId(9));
        let lanes = lanes(&mut spans, &mut places);
        let mut steps = 0;
        let shown = lanes.iter().map(|lane| {
            let mut open = Vec::new();
            let mut last = i64::MIN;
            let words = lane.iter().map(|step| {
                assert!(step.at >= last);
                last = step.at;
                steps += 1;
                if step.enter {
                    open.push(step.frame);
                    format!("+{}", step.frame)
                } else {
                    assert_eq!(open.pop(), Some(step.frame));
                    format!("-{}", step.frame)
                }
            });
            let words: Vec<_> = words.collect();
            assert!(open.is_empty());
            words.join(" ")
        });
        let shown: Vec<_> = shown.collect();
        assert_eq!(steps, spans.len() * 2);
        shown
    }

    #[test]
    fn what_begins_together_nests_as_its_parents_say() {
        let spans = vec![
            span(2, Some(1), 5, 5),
            span(4, Some(3), 5, 5),
            span(5, Some(3), 5, 8),
            span(3, Some(1), 5, 10),
            span(1, None, 5, 10),
        ];
        assert_eq!(shown(spans), ["+1 +2 -2 +3 +4 -4 +5 -5 -3 -1"]);
    }

    #[test]
    fn siblings_of_one_start_come_by_their_ends() {
        let spans = vec![
            span(1, None, 5, 20),
            span(3, Some(1), 5, 9),
            span(2, Some(1), 5, 5),
            span(4, Some(2), 5, 5),
        ];
        assert_eq!(shown(spans), ["+1 +2 +4 -4 -2 +3 -3 -1"]);
    }

    #[test]
    fn calls_without_duration_hold_their_children() {
        let spans = vec![
            span(3, Some(2), 7, 7),
            span(2, Some(1), 7, 7),
            span(4, Some(1), 7, 7),
            span(1, None, 7, 7),
            span(5, None, 7, 9),
        ];
        assert_eq!(shown(spans), ["+1 +2 +3 -3 -2 +4 -4 -1 +5 -5"]);
    }

    #[test]
    fn overlapping_siblings_get_lanes() {
        let spans = vec![
            span(2, Some(1), 0, 6),
            span(6, Some(3), 5, 6),
            span(3, Some(1), 4, 8),
            span(4, Some(1), 7, 9),
            span(1, None, 0, 10),
        ];
        assert_eq!(shown(spans), ["+1 +2 -2 +4 -4 -1", "+3 +6 -6 -3"]);
    }

    #[test]
    fn a_child_of_another_track_lies_in_what_is_open() {
        let spans = vec![span(2, Some(99), 2, 3), span(1, None, 0, 10)];
        assert_eq!(shown(spans), ["+1 +2 -2 -1"]);
        let circle = vec![span(1, Some(2), 0, 4), span(2, Some(1), 0, 4)];
        assert_eq!(shown(circle).len(), 1);
    }

    proptest! {
        #[test]
        fn every_span_begins_and_ends_once(
            rows in prop::collection::vec((0..40_i64, 0..12_i64, 0..8_u64), 0..80),
        ) {
            let spans = rows.iter().enumerate().map(|(at, &(start, length, parent))| {
                let at = at as u64;
                span(at, (parent > 0).then(|| at / 2 + parent), start, start + length)
            });
            shown(spans.collect());
        }
    }
}
