//! Where on a track a span is drawn: below the span around it, beside the spans it overlaps.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::Timestamp;

/// Lanes of a track, and levels within a lane, that are drawn.
pub(super) const MOST: usize = 1_000;

/// The lanes of one track.
///
/// What lies within what is open is drawn a level deeper; what overlaps it only partly needs another lane. The first
/// lane that fits is taken, the one of the parent before all others, so that a tree stays together where it can.
/// Spans come by their start, longer ones first: then a lane is a stack of ends and nothing is looked at twice.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    open: Vec<Vec<Timestamp>>,
}

/// A row of a track: lane and level.
pub(super) type Place = (usize, usize);

impl Lanes {
    /// Places what runs from `start` to `end`; none when there are more than [`MOST`] lanes or levels.
    pub(super) fn place(
        &mut self,
        start: Timestamp,
        end: Timestamp,
        parent: Option<usize>,
    ) -> Option<Place> {
        if let Some(lane) = parent
            && let Some(level) = self.fit(lane, start, end)
        {
            return Some((lane, level));
        }
        let mut lanes = 0..self.open.len();
        if let Some(place) = lanes.find_map(|lane| Some((lane, self.fit(lane, start, end)?))) {
            return Some(place);
        }
        if self.open.len() >= MOST {
            return None;
        }
        self.open.push(vec![end]);
        Some((self.open.len() - 1, 0))
    }

    fn fit(&mut self, lane: usize, start: Timestamp, end: Timestamp) -> Option<usize> {
        let open = self.open.get_mut(lane)?;
        while open.last().is_some_and(|&last| last <= start) {
            open.pop();
        }
        if open.last().is_some_and(|&last| last < end) || open.len() >= MOST {
            return None;
        }
        open.push(end);
        Some(open.len() - 1)
    }
}

/// The lanes of spans: those beyond the first are rare, only they are remembered.
#[derive(Debug, Default)]
pub(super) struct LaneOfSpan(HashMap<u64, usize, RandomState>);

impl LaneOfSpan {
    pub(super) fn of(&self, span: u64) -> Option<usize> {
        self.0.get(&span).copied()
    }

    pub(super) fn remember(&mut self, span: u64, lane: usize) {
        if lane > 0 {
            self.0.insert(span, lane);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_partly_gets_a_lane_and_what_lies_within_a_level() {
        let mut lanes = Lanes::default();
        let mut put = |start, end, parent| lanes.place(start, end, parent).unwrap();
        assert_eq!(put(0, 100, None), (0, 0));
        assert_eq!(put(10, 50, None), (0, 1));
        assert_eq!(put(20, 60, None), (1, 0));
        assert_eq!(put(30, 40, Some(1)), (1, 1));
        assert_eq!(put(50, 50, None), (0, 1));
        assert_eq!(put(50, 100, None), (0, 1));
        assert_eq!(put(100, 101, None), (0, 0));
    }

    #[test]
    fn lanes_and_levels_are_bounded() {
        let mut lanes = Lanes::default();
        for at in 0..2 * MOST {
            let at = i64::try_from(at).unwrap();
            let place = lanes.place(at, 10_000 + at, None);
            assert_eq!(place.is_some(), at < 1_000);
        }
        let mut lanes = Lanes::default();
        let placed = (0..2 * MOST).map(|at| {
            let at = i64::try_from(at).unwrap();
            lanes.place(at, 10_000 - at, None)
        });
        assert!(placed.flatten().all(|(_, level)| level < MOST));
    }
}
