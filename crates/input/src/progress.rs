//! How far reading has come, for a bar on a terminal.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Stored bytes read so far, shared by every reader of an input.
///
/// Counted before decompression, because that is the number whose end is known.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<AtomicU64>);

impl Progress {
    pub(crate) fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Returns the stored bytes read so far; more than the input holds when parts are read twice.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
