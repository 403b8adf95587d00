//! The thread between buffers and output.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::shared::SharedState;

/// The longest pause while a peer has no room.
const PAUSE: Duration = Duration::from_millis(10);

/// What a traced thread records into.
pub trait ThreadBuffer: Send + Sync + 'static {
    /// Returns `true` if nobody records here any more and everything was taken.
    fn is_done(&self) -> bool;

    /// Returns the number of dropped and of cut spans.
    fn counts(&self) -> (u64, u64);

    /// Drops what is recorded from here on, and counts what was not taken as dropped.
    fn close(&self, now: u64);
}

/// Where the contents of buffers go. All of it happens on the writer's thread.
pub trait Drain<B>: Send + 'static {
    /// Goes on with what was taken; returns `true` once the output has it, so that more can be taken.
    fn proceed(&mut self) -> bool;

    /// Takes what a buffer holds, if that is something.
    fn take(&mut self, buffer: &Arc<B>);

    /// Returns `true` if the peer has confirmed everything, where peers do.
    fn is_confirmed(&mut self) -> bool {
        true
    }

    /// Puts the end of the trace behind everything.
    fn conclude(&mut self) {}

    /// Counts what the output did not take as dropped.
    fn end(&mut self);

    /// Says goodbye to the peer.
    fn finish(&mut self, until: Option<Instant>) {
        let _ = until;
    }
}

/// Takes what threads hold and writes it.
pub struct Writer<B, D> {
    shared: Arc<SharedState<B>>,
    drain: D,
    buffers: Vec<Arc<B>>,
}

impl<B: ThreadBuffer, D: Drain<B>> Writer<B, D> {
    pub fn new(shared: Arc<SharedState<B>>, drain: D) -> Self {
        Self {
            shared,
            drain,
            buffers: Vec::new(),
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
        let is_late = || until.is_some_and(|until| Instant::now() >= until);
        while !self.round() && !is_late() {
            std::thread::sleep(PAUSE);
        }
        self.drain.conclude();
        while !self.is_settled() && !is_late() {
            std::thread::sleep(PAUSE);
        }
        self.drain.end();
        let now = self.shared.clock.now();
        self.shared.close_buffers(now);
        self.drain.finish(until);
    }

    /// Goes on with what was taken; returns `true` once the output has all of it and confirmed it.
    fn is_settled(&mut self) -> bool {
        self.drain.proceed() && self.drain.is_confirmed()
    }

    /// Writes everything that threads hold; returns `false` if the output has no room for all of it.
    fn round(&mut self) -> bool {
        let flush = self.shared.wanted_flush();
        let mut is_done = self.drain.proceed();
        let mut buffers = std::mem::take(&mut self.buffers);
        self.shared.list_buffers(&mut buffers);
        for buffer in &buffers {
            if !is_done {
                break;
            }
            self.drain.take(buffer);
            is_done = self.drain.proceed();
        }
        buffers.clear();
        self.buffers = buffers;
        is_done = is_done && self.drain.is_confirmed();
        if is_done {
            self.shared.finish_flush(flush);
        }
        is_done
    }
}
