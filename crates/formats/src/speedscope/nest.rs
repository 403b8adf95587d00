//! The spans of a track as enters and exits that nest (SPEC.md, "Written").

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use foldhash::fast::RandomState;
use traceloom_model::{SpanId, Timestamp};

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
/// before what it called, which their times alone do not tell.
pub(super) fn lanes(spans: &mut [Kept]) -> Vec<Vec<Step>> {
    order(spans);
    let mut lanes: Vec<Lane> = Vec::new();
    let mut of_open: HashMap<SpanId, usize, RandomState> = HashMap::default();
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
            if span.parent.and_then(|id| of_open.get(&id)) == Some(&at) {
                held = Some(Reverse((until, at)));
                continue;
            }
            lane.leave(None, None, &mut of_open);
            free.push(Reverse(at));
        }
        ends.extend(held);
        let parent = span.parent.and_then(|id| of_open.get(&id).copied());
        let stranger = span.parent.is_some() && parent.is_none();
        let near = parent.or(stranger.then_some(0)).filter(|&at| {
            let Some(lane) = lanes.get_mut(at) else {
                return false;
            };
            lane.leave(Some(span.start), span.parent, &mut of_open);
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
            of_open.insert(span.id, at);
        }
    }
    let finished = lanes.into_iter().map(|mut lane| {
        lane.leave(None, None, &mut of_open);
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
    fn leave(
        &mut self,
        time: Option<Timestamp>,
        parent: Option<SpanId>,
        of_open: &mut HashMap<SpanId, usize, RandomState>,
    ) {
        while let Some(&top) = self.open.last() {
            let over = time.is_none_or(|time| top.end <= time);
            if !over || Some(top.id) == parent {
                break;
            }
            self.open.pop();
            of_open.remove(&top.id);
            self.steps.push(Step {
                at: top.end,
                frame: top.frame,
                enter: false,
            });
        }
    }
}

/// Sorts spans by their start, and those that begin together as they nest.
fn order(spans: &mut [Kept]) {
    // Stable: what begins together stays in the order in which it ended.
    spans.sort_by_key(|span| span.start);
    let mut from = 0;
    while let Some(first) = spans.get(from) {
        let rest = spans.get(from..).unwrap_or(&[]);
        let count = rest.iter().take_while(|span| span.start == first.start);
        let to = from + count.count();
        if to > from + 1
            && let Some(run) = spans.get_mut(from..to)
        {
            nest(run);
        }
        from = to;
    }
}

/// Orders spans of one start: callers first, of siblings those first that ended first.
fn nest(run: &mut [Kept]) {
    let rows: HashMap<SpanId, usize, RandomState> = run
        .iter()
        .enumerate()
        .map(|(at, span)| (span.id, at))
        .collect();
    let mut children: HashMap<usize, Vec<usize>, RandomState> = HashMap::default();
    let mut roots = Vec::new();
    for (at, span) in run.iter().enumerate() {
        match span.parent.and_then(|parent| rows.get(&parent)) {
            Some(&parent) if parent != at => children.entry(parent).or_default().push(at),
            _ => roots.push(at),
        }
    }
    let by_end = |siblings: &mut Vec<usize>| {
        siblings.sort_by_key(|&at| Reverse((run.get(at).map(|span| span.end), at)));
    };
    let mut ordered = Vec::with_capacity(run.len());
    let mut seen = vec![false; run.len()];
    by_end(&mut roots);
    let mut pending = roots;
    // Spans that are each other's parents hang below no root.
    let mut left = 0..run.len();
    while let Some(at) = pending
        .pop()
        .or_else(|| left.find(|&at| seen.get(at) == Some(&false)))
    {
        match seen.get_mut(at) {
            Some(seen) if !*seen => *seen = true,
            _ => continue,
        }
        ordered.extend(run.get(at));
        if let Some(mut below) = children.remove(&at) {
            by_end(&mut below);
            pending.extend(below);
        }
    }
    run.copy_from_slice(&ordered);
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
        let lanes = lanes(&mut spans);
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
