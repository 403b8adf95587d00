//! Posted traces that wait, because a post may be repeated inside the trace around it.

use std::collections::VecDeque;

use traceloom_model::{BATCH_ROWS, Origin, SpanBatch};

use super::open_trace::FinishedRecord;

/// Records of the largest trace that is held back to see whether it is posted again.
pub(super) const MOST_RECORDS: usize = 4096;

/// Traces held back at once.
const MOST_TRACES: usize = 256;

/// A finished trace.
pub(super) struct HeldTrace {
    /// What identifies it wherever it is posted; 0 for one that is not marked, which nothing looks for.
    pub(super) print: u64,
    pub(super) origin: Origin,
    pub(super) rows: SpanBatch,
    pub(super) counted: Vec<FinishedRecord>,
}

/// Finished traces in the order in which they came.
#[derive(Default)]
pub(super) struct HeldTraces {
    traces: VecDeque<HeldTrace>,
    n_records: usize,
}

impl HeldTraces {
    /// Returns true if the oldest has to go.
    pub(super) fn is_full(&self) -> bool {
        self.traces.len() > MOST_TRACES || self.n_records > BATCH_ROWS
    }

    pub(super) fn push(&mut self, trace: HeldTrace) {
        self.n_records += trace.counted.len();
        self.traces.push_back(trace);
    }

    /// Takes the trace that is identified by `print`.
    pub(super) fn take(&mut self, print: u64) -> Option<HeldTrace> {
        let at = self.traces.iter().position(|held| held.print == print)?;
        let held = self.traces.remove(at)?;
        self.n_records -= held.counted.len();
        Some(held)
    }

    /// Takes the trace that came first.
    pub(super) fn pop(&mut self) -> Option<HeldTrace> {
        let held = self.traces.pop_front()?;
        self.n_records -= held.counted.len();
        Some(held)
    }
}
