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
        Self {
            zero: Instant::now(),
            epoch: since_1970(),
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

/// Returns the nanoseconds from 1970 until now.
pub fn since_1970() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    // A clock before 1970 is set wrong: the trace then begins in 1970.
    since_1970.map_or(0, nanoseconds)
}

fn nanoseconds(duration: std::time::Duration) -> u64 {
    let seconds = duration.as_secs().saturating_mul(1_000_000_000);
    seconds.saturating_add(u64::from(duration.subsec_nanos()))
}
