//! From the streams' buffers to the sink.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::packet;
use super::sink::{Progress, Sink};
use super::stream::StreamBuffer;
use crate::engine::{Drain, SharedState};

/// Takes the packets of streams and writes them as they are.
pub struct PacketDrain {
    shared: Arc<SharedState<StreamBuffer>>,
    sink: Option<Sink>,
    /// The packets that are being written, and whose they are; empty between two buffers.
    taken: Vec<u8>,
    owner: Option<Arc<StreamBuffer>>,
    /// Bytes of `taken` that the sink took.
    n_taken: usize,
    /// Events that were found to be lost meanwhile.
    n_lost: u64,
}

impl PacketDrain {
    pub fn new(shared: Arc<SharedState<StreamBuffer>>, mut sink: Sink) -> Self {
        sink.begin(packet::epoch(shared.clock.epoch()));
        Self {
            taken: StreamBuffer::room(shared.options.buffer),
            shared,
            sink: Some(sink),
            owner: None,
            n_taken: 0,
            n_lost: 0,
        }
    }

    /// Goes on with the buffer that was taken; returns `true` once it is written.
    fn write(&mut self) -> bool {
        while self.n_taken < self.taken.len() {
            let Some(sink) = &mut self.sink else {
                return false;
            };
            match sink.write(&self.taken, &mut self.n_taken) {
                Progress::Wrote => {}
                Progress::Lost(n_events) => self.lose(n_events),
                Progress::Later => return false,
            }
        }
        self.settle(self.taken.len());
        true
    }

    /// Counts the packets before `end` as written, and lets go of the buffer.
    fn settle(&mut self, end: usize) {
        let n_events = packet::count(&self.taken[..end]);
        let n_written = &self.shared.n_written;
        n_written.fetch_add(n_events, Ordering::AcqRel);
        // Some may have been counted with the buffer before.
        n_written.fetch_sub(self.n_lost, Ordering::AcqRel);
        self.taken.clear();
        self.n_taken = 0;
        self.n_lost = 0;
        self.owner = None;
    }

    fn lose(&mut self, n_events: u64) {
        self.n_lost += n_events;
        if let Some(owner) = &self.owner {
            owner.lose(n_events, self.shared.clock.now());
        }
    }
}

impl Drain<StreamBuffer> for PacketDrain {
    fn proceed(&mut self) -> bool {
        self.sink.as_mut().is_some_and(Sink::lead) && self.write()
    }

    fn take(&mut self, buffer: &Arc<StreamBuffer>) {
        if buffer.take(&mut self.taken) {
            self.owner = Some(buffer.clone());
        }
    }

    fn end(&mut self) {
        let whole = packet::whole(&self.taken, self.n_taken);
        if let Some(owner) = &self.owner {
            let n_left = packet::count(&self.taken[whole..]);
            owner.lose(n_left, self.shared.clock.now());
        }
        self.settle(whole);
    }

    fn finish(&mut self, until: Option<Instant>) {
        if let Some(sink) = self.sink.take() {
            sink.finish(until);
        }
    }
}
