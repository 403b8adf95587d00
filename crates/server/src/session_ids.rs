use std::sync::atomic::{AtomicU64, Ordering};

use traceloom_input::captures::CaptureId;

/// Gives each session of a start of the collector its id.
#[derive(Debug)]
pub(crate) struct SessionIds {
    incarnation: u64,
    n_given: AtomicU64,
}

impl SessionIds {
    pub(crate) fn new(incarnation: u64) -> Self {
        Self {
            incarnation,
            n_given: AtomicU64::new(0),
        }
    }

    /// Returns the number of the collector's start.
    pub(crate) const fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// Returns the next id.
    pub(crate) fn next(&self) -> CaptureId {
        let number = self.n_given.fetch_add(1, Ordering::Relaxed) + 1;
        CaptureId::new(self.incarnation, number)
    }
}
