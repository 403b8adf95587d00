//! What nodes came to on one thread in one stretch of time, before a grid takes it.

use traceloom_model::Timestamp;
use traceloom_model::bounds::row_number;

use super::grid::{Grid, ThreadValue};

/// Values by node. A call runs the same functions again and again, so that fewer values reach the grid.
#[derive(Debug, Default)]
pub(super) struct PathSums {
    rows: Vec<(u32, ThreadValue)>,
    /// The row of each node that has one, and anything for the others.
    places: Vec<u32>,
}

impl PathSums {
    /// Adds time that the node itself took.
    #[inline]
    pub(super) fn add_time(&mut self, node: u32, (from, to): (Timestamp, Timestamp)) {
        let sum = self.of(node);
        sum.own = sum.own.saturating_add(to.saturating_sub(from));
    }

    /// Counts a call of the node.
    #[inline]
    pub(super) fn count(&mut self, node: u32) {
        self.of(node).count += 1;
    }

    #[inline]
    #[expect(
        clippy::indexing_slicing,
        reason = "the place of a node is made if there is none, and its row pushed where it is not the node's"
    )]
    fn of(&mut self, node: u32) -> &mut ThreadValue {
        let node_at = node as usize;
        if self.places.len() <= node_at {
            self.places.resize(2 * node_at + 1, 0);
        }
        let place = &mut self.places[node_at];
        let is_here = self
            .rows
            .get(*place as usize)
            .is_some_and(|&(of, _)| of == node);
        if !is_here {
            *place = row_number(self.rows.len());
            self.rows.push((node, ThreadValue::default()));
        }
        &mut self.rows[*place as usize].1
    }

    /// Moves all of it to the stretch of `time`.
    pub(super) fn flush(&mut self, grid: &mut Grid, time: Timestamp, thread: u32) {
        grid.add_values(time, thread, &self.rows);
        self.rows.clear();
    }
}
