//! The spans of a track as enters and exits that nest (SPEC.md, "Written").

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use traceloom_model::{SpanId, Timestamp};

use super::order::order;
use super::places::SpanNumbers;
use super::spans::{FrameSpan, FrameSpans};

/// A span entered, or the one entered last left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FrameStep {
    pub at: Timestamp,
    pub frame: u32,
    pub enter: bool,
}

/// Turns the spans of one track into steps, each told with its lane: a lane's own come in their order.
///
/// A lane takes a span within its parent, or when nothing is open on it; a span whose parent is on no lane
/// (it lies on another track, or was not recorded) may lie within whatever is open. What overlaps a sibling
/// so goes to a lane of its own. Spans that begin together keep the order in which they ended, a caller
/// before what it called, which their times alone do not tell.
pub(super) fn lanes(spans: &FrameSpans, put: &mut impl FnMut(usize, FrameStep)) {
    let mut numbers = SpanNumbers::of(spans);
    let places = order(spans, &mut numbers);
    let ordered = || places.iter().filter_map(|&at| spans.get(at as usize));
    if is_nested(ordered()) {
        return nested(ordered(), &mut |step| put(0, step));
    }
    overlapping(ordered(), &mut numbers, put);
}

/// Returns true if each span, in the order in which they begin, lies within its parent and beside its siblings.
fn is_nested(spans: impl Iterator<Item = FrameSpan>) -> bool {
    let mut open: Vec<FrameInterval> = Vec::new();
    for span in spans {
        while let Some(before) = open.pop_if(|top| Some(top.id) != span.parent) {
            if before.end > span.start {
                return false;
            }
        }
        let is_within = match open.last() {
            Some(parent) => span.end <= parent.end,
            None => span.parent.is_none(),
        };
        if !is_within {
            return false;
        }
        open.push(FrameInterval::of(&span));
    }
    true
}

/// Steps of spans in the order in which they begin, each within its parent and beside its siblings.
#[inline]
fn nested(spans: impl Iterator<Item = FrameSpan>, put: &mut impl FnMut(FrameStep)) {
    let mut open: Vec<FrameInterval> = Vec::new();
    for span in spans {
        while let Some(top) = open.pop_if(|top| Some(top.id) != span.parent) {
            put(top.leave());
        }
        let entered = FrameInterval::of(&span);
        put(entered.enter(span.start));
        open.push(entered);
    }
    open.iter().rev().for_each(|top| put(top.leave()));
}

/// Steps of spans in the order in which they begin. `of_open` knows no span, neither before nor after.
fn overlapping(
    spans: impl Iterator<Item = FrameSpan>,
    of_open: &mut SpanNumbers,
    put: &mut impl FnMut(usize, FrameStep),
) {
    let mut lanes: Vec<Lane> = Vec::new();
    // Lanes by the time at which nothing is open on them any more.
    let mut ends: BinaryHeap<Reverse<(Timestamp, usize)>> = BinaryHeap::new();
    let mut free: BinaryHeap<Reverse<usize>> = BinaryHeap::new();
    for span in spans {
        let end = span.end;
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
            lane.leave(None, None, of_open, &mut |step| put(at, step));
            free.push(Reverse(at));
        }
        ends.extend(held);
        let parent = span.parent.and_then(|id| of_open.get(id));
        let stranger = span.parent.is_some() && parent.is_none();
        let near = parent.or(stranger.then_some(0)).filter(|&at| {
            let Some(lane) = lanes.get_mut(at) else {
                return false;
            };
            let put = &mut |step| put(at, step);
            lane.leave(Some(span.start), span.parent, of_open, put);
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
            let entered = FrameInterval::of(&span);
            put(at, entered.enter(span.start));
            lane.open.push(entered);
            of_open.set(span.id, at);
        }
    }
    for (at, lane) in lanes.iter_mut().enumerate() {
        lane.leave(None, None, of_open, &mut |step| put(at, step));
    }
}

#[derive(Clone, Copy)]
struct FrameInterval {
    id: SpanId,
    end: Timestamp,
    frame: u32,
}

impl FrameInterval {
    fn of(span: &FrameSpan) -> Self {
        Self {
            id: span.id,
            end: span.end,
            frame: span.frame,
        }
    }

    fn enter(&self, at: Timestamp) -> FrameStep {
        FrameStep {
            at,
            frame: self.frame,
            enter: true,
        }
    }

    fn leave(&self) -> FrameStep {
        FrameStep {
            at: self.end,
            frame: self.frame,
            enter: false,
        }
    }
}

#[derive(Default)]
struct Lane {
    open: Vec<FrameInterval>,
}

impl Lane {
    /// Leaves what ended by `time`, everything for none, up to the parent of what comes next.
    #[inline]
    fn leave(
        &mut self,
        time: Option<Timestamp>,
        parent: Option<SpanId>,
        of_open: &mut SpanNumbers,
        put: &mut impl FnMut(FrameStep),
    ) {
        while let Some(&top) = self.open.last() {
            let over = time.is_none_or(|time| top.end <= time);
            if !over || Some(top.id) == parent {
                break;
            }
            self.open.pop();
            of_open.remove(top.id);
            put(top.leave());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    use crate::speedscope::order::tests::called;

    fn span(id: u64, parent: Option<u64>, start: i64, end: i64) -> FrameSpan {
        FrameSpan {
            id: SpanId(id),
            parent: parent.map(SpanId),
            start,
            end,
            frame: u32::try_from(id).unwrap(),
        }
    }

    /// Lanes as text, and that each nests and never goes back.
    fn shown(spans: Vec<FrameSpan>) -> Vec<String> {
        let mut found: Vec<Vec<FrameStep>> = Vec::new();
        let spans: FrameSpans = spans.into_iter().collect();
        lanes(&spans, &mut |lane, step| {
            found.resize_with(found.len().max(lane + 1), Vec::new);
            found.get_mut(lane).unwrap().push(step);
        });
        let mut slowly: Vec<Vec<FrameStep>> = vec![Vec::new(); found.len()];
        let mut places = SpanNumbers::of(&spans);
        let ordered = order(&spans, &mut places);
        let ordered = ordered.iter().filter_map(|&at| spans.get(at as usize));
        overlapping(ordered, &mut places, &mut |lane, step| {
            slowly.get_mut(lane).unwrap().push(step);
        });
        assert_eq!(found, slowly);
        let mut steps = 0;
        let shown = found.iter().map(|lane| {
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
        fn spans_that_nest_are_on_one_lane(
            rows in prop::collection::vec((0..3_i64, 0..4_i64, 0..4_usize), 1..60),
        ) {
            let mut spans = called(&rows);
            (0..).zip(&mut spans).for_each(|(frame, span)| span.frame = frame);
            prop_assert_eq!(shown(spans).len(), 1);
        }

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
