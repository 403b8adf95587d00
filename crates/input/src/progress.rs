//! How far reading has come, for a bar on a terminal.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Stored bytes read so far, of how many; shared by every reader of an input.
///
/// Counted before decompression, because that is the number whose end is known. A byte counts the first
/// time it is read, so that a format which looks at a part twice does not seem to be done before it is;
/// what is read again counts apart.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<ProgressCounters>);

#[derive(Debug, Default)]
struct ProgressCounters {
    read: AtomicU64,
    again: AtomicU64,
    total: AtomicU64,
    kept: AtomicU64,
}

/// Decoded bytes that an input keeps at most.
const KEPT: u64 = 32 << 20;

impl Progress {
    pub(crate) fn add(&self, bytes: u64) {
        self.0.read.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns true if so many decoded bytes may be kept for a second reading, and counts them if so.
    pub(crate) fn keep(&self, bytes: usize) -> bool {
        let before = self.0.kept.fetch_add(bytes as u64, Ordering::Relaxed);
        before.saturating_add(bytes as u64) <= KEPT
    }

    pub(crate) fn add_again(&self, bytes: u64) {
        self.0.again.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Begins a pass over `total` bytes.
    pub(crate) fn begin(&self, total: u64) {
        self.0.read.store(0, Ordering::Relaxed);
        self.0.again.store(0, Ordering::Relaxed);
        self.0.total.store(total, Ordering::Relaxed);
    }

    /// Returns the stored bytes read so far, each once.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.0.read.load(Ordering::Relaxed)
    }

    /// Returns the stored bytes read once more, each as often as it was.
    #[must_use]
    pub fn read_again(&self) -> u64 {
        self.0.again.load(Ordering::Relaxed)
    }

    /// Returns how many there are to read, none when nobody knows: standard input.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        Some(self.0.total.load(Ordering::Relaxed)).filter(|&total| total > 0)
    }
}

/// How far into some bytes reading has come.
#[derive(Debug, Default)]
pub(crate) struct ProgressMark(AtomicU64);

impl ProgressMark {
    /// Reading has come `bytes` further, to `end`: what is new counts, the rest is read again.
    pub(crate) fn reach(&self, end: u64, bytes: u64, progress: &Progress) {
        let before = self.0.fetch_max(end, Ordering::Relaxed);
        let new = end.saturating_sub(before);
        progress.add(new);
        progress.add_again(bytes.saturating_sub(new));
    }

    /// Reading has come to `end`; returns how many bytes of that are new.
    pub(crate) fn advance(&self, end: u64) -> u64 {
        let before = self.0.fetch_max(end, Ordering::Relaxed);
        end.saturating_sub(before)
    }

    pub(crate) fn restart(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_counts_once() {
        let (progress, mark) = (Progress::default(), ProgressMark::default());
        progress.begin(100);
        for (end, bytes) in [(10, 10), (40, 30), (20, 20), (40, 20), (70, 30)] {
            mark.reach(end, bytes, &progress);
        }
        assert_eq!((progress.read(), progress.total()), (70, Some(100)));
        assert_eq!(progress.read_again(), 40);
        progress.begin(100);
        assert_eq!((progress.read(), progress.read_again()), (0, 0));
    }
}
