//! Bytes between a traced thread and the writer.

use super::PendingLosses;

/// What a thread recorded and the writer has not taken, and what became of the rest.
#[derive(Debug)]
pub struct RecordedBytes {
    /// Of whole records.
    pub bytes: Vec<u8>,
    /// What was lost and not reported in the trace.
    pub unreported: PendingLosses,
    capacity: usize,
    /// The writer was woken for these bytes.
    is_announced: bool,
    /// Nobody will take what is put in.
    is_closed: bool,
    n_dropped: u64,
    n_cut: u64,
}

impl RecordedBytes {
    /// `bytes` is empty and has room for `capacity` bytes and a report of losses.
    pub fn new(bytes: Vec<u8>, capacity: usize) -> Self {
        Self {
            bytes,
            unreported: PendingLosses::default(),
            capacity,
            is_announced: false,
            is_closed: false,
            n_dropped: 0,
            n_cut: 0,
        }
    }

    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    pub fn fits(&self, n_bytes: usize) -> bool {
        !self.is_closed && self.bytes.len() + n_bytes <= self.capacity
    }

    /// Adds a record; returns `true` if the writer should be woken.
    pub fn put(&mut self, record: &[u8]) -> bool {
        self.bytes.extend_from_slice(record);
        let is_due = !self.is_announced && self.bytes.len() > self.capacity / 2;
        self.is_announced |= is_due;
        is_due
    }

    /// Counts spans that are dropped.
    pub fn lose(&mut self, n_spans: u64, time: u64) {
        if n_spans > 0 {
            self.n_dropped += n_spans;
            self.unreported.add(n_spans, time);
        }
    }

    /// Counts spans that lack a part of what was recorded.
    pub fn cut(&mut self, n_spans: u64) {
        self.n_cut += n_spans;
    }

    /// Exchanges the bytes for an empty buffer; returns `false` if there are none.
    pub fn take(&mut self, empty: &mut Vec<u8>) -> bool {
        self.is_announced = false;
        if self.bytes.is_empty() {
            return false;
        }
        std::mem::swap(&mut self.bytes, empty);
        true
    }

    /// Drops what was not taken, so many spans, and whatever comes.
    pub fn close(&mut self, n_spans: u64, now: u64) {
        self.is_closed = true;
        self.bytes = Vec::new();
        self.lose(n_spans, now);
    }

    /// Returns `true` if everything was taken and reported.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.unreported.n_spans == 0
    }

    /// Returns the number of dropped and of cut spans.
    pub fn counts(&self) -> (u64, u64) {
        (self.n_dropped, self.n_cut)
    }
}
