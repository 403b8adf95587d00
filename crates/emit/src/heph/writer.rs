//! The thread between buffers and sink.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::packet;
use super::sink::{Progress, Sink};
use super::stream::StreamBuffer;
use super::tracer::Shared;

/// The longest pause while a peer has no room.
const PAUSE: Duration = Duration::from_millis(10);

/// Takes what streams hold and writes it.
pub struct Writer {
    shared: Arc<Shared>,
    sink: Sink,
    streams: Vec<Arc<StreamBuffer>>,
    /// The packets that are being written, and whose they are; empty between two buffers.
    taken: Vec<u8>,
    owner: Option<Arc<StreamBuffer>>,
    /// Bytes of `taken` that the sink took.
    n_taken: usize,
    /// Events that were found to be lost meanwhile.
    n_lost: u64,
}

impl Writer {
    pub fn new(shared: Arc<Shared>, mut sink: Sink) -> Self {
        sink.begin(packet::epoch(shared.clock.epoch()));
        Self {
            taken: StreamBuffer::room(shared.options.buffer),
            shared,
            sink,
            streams: Vec::new(),
            owner: None,
            n_taken: 0,
            n_lost: 0,
        }
    }

    pub fn run(mut self) {
        while !self.shared.is_closing.load(Ordering::Acquire) {
            let is_done = self.round();
            let interval = self.shared.options.interval;
            std::thread::park_timeout(if is_done {
                interval
            } else {
                interval.min(PAUSE)
            });
        }
        let until = Instant::now().checked_add(self.shared.options.patience);
        while !self.round() && until.is_none_or(|until| Instant::now() < until) {
            std::thread::sleep(PAUSE);
        }
        self.end();
        self.sink.finish(until);
    }

    /// Writes everything that streams hold; returns `false` if the sink has no room for all of it.
    fn round(&mut self) -> bool {
        let flush = self.shared.wanted_flush();
        let mut is_done = self.sink.lead() && self.write();
        let mut streams = std::mem::take(&mut self.streams);
        self.shared.list_streams(&mut streams);
        for stream in &streams {
            if !is_done {
                break;
            }
            if stream.take(&mut self.taken) {
                self.owner = Some(stream.clone());
                is_done = self.write();
            }
        }
        streams.clear();
        self.streams = streams;
        if is_done {
            self.shared.finish_flush(flush);
        }
        is_done
    }

    /// Goes on with the buffer that was taken; returns `true` once it is written.
    fn write(&mut self) -> bool {
        while self.n_taken < self.taken.len() {
            match self.sink.write(&self.taken, &mut self.n_taken) {
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

    /// Counts what nobody takes any more as dropped.
    fn end(&mut self) {
        let whole = packet::whole(&self.taken, self.n_taken);
        let now = self.shared.clock.now();
        if let Some(owner) = &self.owner {
            owner.lose(packet::count(&self.taken[whole..]), now);
        }
        self.settle(whole);
        self.shared.close_streams(|stream, left| {
            stream.lose(packet::count(left), now);
        });
        self.shared.end_flushes();
    }
}
