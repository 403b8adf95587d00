//! How much of a span its children cover.

use traceloom_model::bounds::subslice;

/// Intervals kept apart; more are folded into a sum, oldest first.
const KEPT: usize = 1024;

/// The union of the children's intervals, in bounded memory.
///
/// Children of a nested recording arrive by end and do not overlap: they extend or follow the last
/// interval. Overlapping ones are sorted in. Beyond [`KEPT`] gaps the older half becomes a sum, and what
/// would still fall before it counts as covered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cover {
    folded: i64,
    floor: Option<i64>,
    open: Vec<(i64, i64)>,
}

impl Cover {
    pub fn add(&mut self, start: i64, end: i64) {
        let start = self.floor.map_or(start, |floor| start.max(floor));
        if end <= start {
            return;
        }
        match self.open.last_mut() {
            Some(last) if start == last.1 => last.1 = end,
            Some(last) if start < last.1 => self.insert(start, end),
            _ => self.open.push((start, end)),
        }
        if self.open.len() > KEPT {
            self.fold();
        }
    }

    /// Merges an interval that does not come after all others.
    fn insert(&mut self, start: i64, end: i64) {
        let from = self.open.partition_point(|&(_, e)| e < start);
        let to = self.open.partition_point(|&(s, _)| s <= end);
        let touched = subslice(&self.open, from..to);
        let start = touched.first().map_or(start, |&(s, _)| s.min(start));
        let end = touched.last().map_or(end, |&(_, e)| e.max(end));
        self.open.splice(from..to, [(start, end)]);
    }

    fn fold(&mut self) {
        for (start, end) in self.open.drain(..KEPT / 2) {
            self.folded = self.folded.saturating_add(end.saturating_sub(start));
            self.floor = Some(end);
        }
    }

    /// Returns the nanoseconds covered between `start` and `end`.
    pub fn within(&self, start: i64, end: i64) -> i64 {
        let open = self
            .open
            .iter()
            .map(|&(s, e)| e.min(end).saturating_sub(s.max(start)).max(0));
        open.fold(self.folded, i64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn union_of_overlapping_children() {
        let mut cover = Cover::default();
        for (start, end) in [(10, 20), (30, 40), (15, 32), (50, 60), (0, 5), (60, 61)] {
            cover.add(start, end);
        }
        assert_eq!(cover.open, [(0, 5), (10, 40), (50, 61)]);
        assert_eq!(cover.within(0, 100), 46);
        assert_eq!(cover.within(12, 55), 33);
    }

    #[test]
    fn a_million_gaps_stay_bounded_and_exact() {
        let mut cover = Cover::default();
        for at in 0..1_000_000 {
            cover.add(at * 10, at * 10 + 3);
        }
        assert!(cover.open.len() <= KEPT);
        assert_eq!(cover.within(0, 10_000_000), 3_000_000);
    }
}
