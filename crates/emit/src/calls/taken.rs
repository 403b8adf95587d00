//! What the writer took from a thread.

use std::sync::Arc;

use super::buffer::CallBuffer;
use super::event::{CallEvents, count_ends};

/// The events that are being encoded, and whose they are; empty between two buffers.
pub struct TakenEvents {
    bytes: Vec<u8>,
    n_encoded: usize,
    owner: Option<Arc<CallBuffer>>,
}

impl TakenEvents {
    pub fn new(capacity: usize) -> Self {
        Self {
            bytes: CallBuffer::room(capacity),
            n_encoded: 0,
            owner: None,
        }
    }

    /// Takes what a buffer holds; returns `false` if that is nothing.
    pub fn take(&mut self, buffer: &Arc<CallBuffer>) -> bool {
        let is_taken = buffer.take(&mut self.bytes);
        if is_taken {
            self.owner = Some(buffer.clone());
        }
        is_taken
    }

    /// Returns the buffer that the events were taken from.
    pub fn owner(&self) -> Option<Arc<CallBuffer>> {
        self.owner.clone()
    }

    /// Returns what is not encoded.
    pub fn events(&self) -> CallEvents<'_> {
        CallEvents(&self.bytes[self.n_encoded..])
    }

    /// Notes that so many bytes are still to be encoded.
    pub fn keep_last(&mut self, n_bytes: usize) {
        self.n_encoded = self.bytes.len() - n_bytes;
    }

    pub fn is_encoded(&self) -> bool {
        self.n_encoded == self.bytes.len()
    }

    /// Forgets what is encoded: another buffer can be taken.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.n_encoded = 0;
        self.owner = None;
    }

    /// Counts what is not encoded as dropped.
    pub fn lose(&mut self, now: u64) {
        if let Some(owner) = &self.owner {
            owner.lose(count_ends(self.events().0), now);
        }
        self.clear();
    }
}
