//! A stream of a connection.

use std::time::{Duration, Instant};

/// A stream on its way, as the collector knows it.
#[derive(Default)]
pub struct LinkStream {
    pub handle: [u8; 16],
    /// Number of the file, from 0.
    pub sequence: u32,
    /// Bytes of the file so far, without the lengths of phrases.
    pub size: u64,
    /// Size and age at which the collector wants another file; 0 where it does not.
    pub rotation_size: u64,
    pub rotation_ms: u64,
    pub since: Option<Instant>,
    /// Records that are not sent, behind the bytes of their length.
    pub phrase: Vec<u8>,
}

impl LinkStream {
    /// Returns the number of the file in records, from 1.
    pub fn file(&self) -> u32 {
        self.sequence.saturating_add(1)
    }

    /// Returns the size at which the collector wants another file.
    pub fn most_bytes(&self) -> u64 {
        match self.rotation_size {
            0 => u64::MAX,
            size => size,
        }
    }

    /// Returns `true` if the collector wants another file by now.
    pub fn is_old(&self) -> bool {
        let age = self.since.map_or(Duration::ZERO, |since| since.elapsed());
        self.rotation_ms > 0 && age >= Duration::from_millis(self.rotation_ms)
    }
}
