//! Times of a trace.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A monotonic clock and the time of day at which it was 0.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    zero: Instant,
    epoch: u64,
}

impl Clock {
    pub fn start() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            zero: Instant::now(),
            // A clock before 1970 is set wrong: the trace then begins in 1970.
            epoch: since_1970.map_or(0, nanoseconds),
        }
    }

    /// Nanoseconds since the epoch.
    pub fn now(&self) -> u64 {
        nanoseconds(self.zero.elapsed())
    }

    /// Nanoseconds from 1970 to the epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
}

fn nanoseconds(duration: std::time::Duration) -> u64 {
    let seconds = duration.as_secs().saturating_mul(1_000_000_000);
    seconds.saturating_add(u64::from(duration.subsec_nanos()))
}
