//! What of a trace a sink has a use for.

use traceloom_model::{Asks, BATCH_ROWS, Wants};

/// What of a trace its sink has a use for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Rows at all, and what they are named.
    pub(crate) rows: bool,
    /// What spans have besides a function and times: a sink of steps has no use for it, and a span that is pushed in their
    /// place none of it.
    pub(crate) details: bool,
    /// Events and points of counters.
    pub(crate) events: bool,
}

impl Wanted {
    pub(crate) fn of(asks: Asks) -> Self {
        let rows = !asks.notes_only;
        Self {
            rows,
            details: rows && asks.wants != Wants::Steps { calls: false },
            events: rows && asks.events,
        }
    }

    /// Returns how many rows are worth a push: few are still in the processor's cache when they are folded, of many there
    /// are fewer batches to write.
    pub(crate) const fn least_rows(self) -> usize {
        if self.details { BATCH_ROWS } else { 4096 }
    }
}
