//! By start: the rows of a track in the order in which they begin, once all of them have come.

use traceloom_model::Timestamp;

/// The order of one track's rows after the other, in the same memory.
#[derive(Default)]
pub(crate) struct ByStart {
    places: Vec<u32>,
    open: Vec<(Timestamp, u32)>,
}

impl ByStart {
    /// Returns the places of rows in the order of their starts, those that begin together as they came.
    ///
    /// `backwards` gives the place and start of each, the last one first. Spans nearly always came as they ended, so
    /// that backwards each comes behind what encloses it and what begins after it, and has to wait until one comes
    /// that begins before it; rows that came otherwise are sorted.
    pub(crate) fn order<I: Iterator<Item = (u32, Timestamp)>>(
        &mut self,
        backwards: impl Fn() -> I,
    ) -> &[u32] {
        if self.walk(backwards()).is_none() {
            self.open.clear();
            self.open
                .extend(backwards().map(|(place, start)| (start, place)));
            self.open.sort_unstable();
            self.places.clear();
            self.places
                .extend(self.open.drain(..).map(|(_, place)| place));
        }
        &self.places
    }

    /// Orders rows that came as they ended; none for others.
    fn walk(&mut self, backwards: impl Iterator<Item = (u32, Timestamp)>) -> Option<()> {
        let Self { places, open } = self;
        places.clear();
        open.clear();
        let mut least = Timestamp::MAX;
        for (place, start) in backwards {
            while let Some(&(last, _)) = open.last()
                && last > start
            {
                leave(open, places);
                least = last;
            }
            if start > least {
                return None;
            }
            open.push((start, place));
        }
        while !open.is_empty() {
            leave(open, places);
        }
        places.reverse();
        Some(())
    }
}

/// Moves the rows that begin last from those that wait to the others, those first that came last.
#[inline]
fn leave(open: &mut Vec<(Timestamp, u32)>, places: &mut Vec<u32>) {
    let Some((last, place)) = open.pop() else {
        return;
    };
    let begin_together = |&(start, _): &(Timestamp, u32)| start == last;
    if open.last().is_some_and(begin_together) {
        let before = open.iter().rposition(|row| !begin_together(row));
        let from = before.map_or(0, |before| before + 1);
        places.extend(open.drain(from..).map(|(_, place)| place));
    }
    places.push(place);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_are_ordered_as_a_sort_would(
            steps in prop::collection::vec((0..3_i64, 0..4_usize), 0..60),
            shaken: bool,
        ) {
            // Spans are opened and closed as on a stack, and come as they are closed.
            let (mut now, mut open, mut rows) = (0, Vec::new(), Vec::new());
            for (wait, leave) in steps {
                now += wait;
                open.push(now);
                for _ in 0..leave.min(open.len()) {
                    now += wait / 2;
                    rows.extend(open.pop());
                }
            }
            if shaken {
                let half = rows.len() / 2;
                rows.rotate_left(half);
            }
            let rows: Vec<(u32, i64)> = (0..).zip(rows).collect();
            let mut expected = rows.clone();
            expected.sort_by_key(|&(_, start)| start);
            let expected: Vec<u32> = expected.into_iter().map(|(place, _)| place).collect();
            let mut order = ByStart::default();
            let backwards = || rows.iter().rev().copied();
            if !shaken {
                prop_assert!(order.walk(backwards()).is_some());
            }
            prop_assert_eq!(order.order(backwards), &expected);
            // Again, in the memory of the last.
            prop_assert_eq!(order.order(backwards), &expected);
        }
    }
}
