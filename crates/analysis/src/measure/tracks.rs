//! The tracks that spans of a measure are of.

use super::{MeasureUnit, amount, grouped};

/// The tracks that a measure of spans is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tracks {
    /// Thread tracks, or all where that was asked for.
    #[default]
    Threads,
    /// Thread tracks, beside which the calls of async tracks are left out and worth a remark.
    ThreadsWithout(AsyncCalls),
    /// Async tracks and lanes, because there is nothing on thread tracks.
    Async,
}

/// Calls on async tracks and lanes: how many, and nanoseconds they took together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AsyncCalls {
    /// How many there are.
    pub calls: u64,
    /// Nanoseconds they took together.
    pub total: i64,
}

impl AsyncCalls {
    /// Adds a call.
    pub(crate) fn take(&mut self, duration: i64) {
        self.calls += 1;
        self.total = self.total.saturating_add(duration);
    }

    /// Adds the calls of another input.
    pub fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.total = self.total.saturating_add(other.total);
    }
}

impl Tracks {
    /// Returns what is said of a measure of these tracks, nothing where they are threads.
    pub(super) fn remark(self) -> Option<String> {
        match self {
            Self::Threads => None,
            Self::Async => Some("(async tracks)".to_owned()),
            Self::ThreadsWithout(left) => Some(format!(
                "(without {} async {} of {}: --async)",
                grouped(left.calls),
                if left.calls == 1 { "call" } else { "calls" },
                amount(&MeasureUnit::Nanoseconds, left.total)
            )),
        }
    }
}
