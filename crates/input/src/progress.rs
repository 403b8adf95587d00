//! How far reading has come, for a bar on a terminal.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Stored bytes read so far, shared by every reader of an input.
///
/// Counted before decompression, because that is the number whose end is known.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    read: AtomicU64,
    kept: AtomicU64,
}

/// Decoded bytes that an input keeps at most.
const KEPT: u64 = 32 << 20;

impl Progress {
    pub(crate) fn add(&self, bytes: usize) {
        self.0.read.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Tells whether so many decoded bytes may be kept for a second reading, and counts them if so.
    pub(crate) fn keep(&self, bytes: usize) -> bool {
        let before = self.0.kept.fetch_add(bytes as u64, Ordering::Relaxed);
        before.saturating_add(bytes as u64) <= KEPT
    }

    /// Returns the stored bytes read so far; more than the input holds when parts are read twice.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.0.read.load(Ordering::Relaxed)
    }
}
