//! Spans that were not written.

/// Losses of a thread that are not reported in the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PendingLosses {
    pub n_spans: u64,
    /// Nanoseconds since the trace began.
    pub first: u64,
    pub last: u64,
}

impl PendingLosses {
    pub fn add(&mut self, n_spans: u64, time: u64) {
        if self.n_spans == 0 {
            self.first = time;
        }
        self.n_spans += n_spans;
        self.last = self.last.max(time);
    }

    /// Returns the losses, which are reported then; `None` if there are none.
    pub fn take(&mut self) -> Option<Self> {
        let losses = std::mem::take(self);
        (losses.n_spans > 0).then_some(losses)
    }
}
