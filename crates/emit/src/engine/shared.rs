//! What the threads of a traced program and the writer share.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

use super::writer::{Drain, ThreadBuffer, Writer};
use super::{Options, Report};
use crate::clock::Clock;

/// A running trace: the threads' buffers, and the thread that empties them. Dropping it closes it.
#[derive(Debug)]
pub struct Engine<B: ThreadBuffer> {
    pub shared: Arc<SharedState<B>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl<B: ThreadBuffer> Engine<B> {
    /// Begins a trace whose buffers go to what `drain` returns.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start<D: Drain<B>>(
        options: Options,
        drain: impl FnOnce(&Arc<SharedState<B>>) -> D,
    ) -> io::Result<Self> {
        let options = Options {
            buffer: options.buffer.clamp(4096, u32::MAX as usize),
            ..options
        };
        let shared = Arc::new(SharedState::new(options));
        let writer = Writer::new(shared.clone(), drain(&shared));
        let thread = std::thread::Builder::new().name("traceloom-emit".to_owned());
        let thread = thread.spawn(move || writer.run())?;
        // The only call of `set`.
        let _ = shared.writer.set(thread.thread().clone());
        Ok(Self {
            shared,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Writes what is left and ends the trace.
    pub fn close(&self) -> Report {
        self.shared.is_closing.store(true, Ordering::Release);
        self.shared.wake();
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread {
            // The writer does not panic; if it did, what it held is counted as neither written nor dropped.
            let _ = thread.join();
        }
        self.shared.report()
    }
}

impl<B: ThreadBuffer> Drop for Engine<B> {
    fn drop(&mut self) {
        self.close();
    }
}

/// What traced threads and the writer share.
#[derive(Debug)]
pub struct SharedState<B> {
    pub clock: Clock,
    pub options: Options,
    pub is_closing: AtomicBool,
    pub n_written: AtomicU64,
    writer: OnceLock<Thread>,
    next_buffer: AtomicU32,
    buffers: Mutex<OpenBuffers<B>>,
    flushes: Mutex<Flushes>,
    flushed: Condvar,
}

#[derive(Debug)]
struct OpenBuffers<B> {
    open: Vec<Arc<B>>,
    /// Counts of buffers that are done.
    ended: Report,
    is_closed: bool,
}

#[derive(Debug, Default)]
struct Flushes {
    wanted: u64,
    done: u64,
    /// The writer has ended.
    is_ended: bool,
}

impl<B: ThreadBuffer> SharedState<B> {
    fn new(options: Options) -> Self {
        Self {
            clock: Clock::start(),
            options,
            is_closing: AtomicBool::new(false),
            n_written: AtomicU64::new(0),
            writer: OnceLock::new(),
            next_buffer: AtomicU32::new(1),
            buffers: Mutex::new(OpenBuffers {
                open: Vec::new(),
                ended: Report::default(),
                is_closed: false,
            }),
            flushes: Mutex::default(),
            flushed: Condvar::new(),
        }
    }

    /// Adds a buffer, made for its number: 1 for the first.
    pub fn open_buffer(&self, new: impl FnOnce(u32) -> B) -> Arc<B> {
        let buffer = Arc::new(new(self.next_buffer.fetch_add(1, Ordering::Relaxed)));
        let mut buffers = lock(&self.buffers);
        if buffers.is_closed {
            buffer.close(self.clock.now());
        }
        buffers.open.push(buffer.clone());
        buffer
    }

    pub fn wake(&self) {
        if let Some(writer) = self.writer.get() {
            writer.unpark();
        }
    }

    /// Lists the buffers that have something or will.
    pub fn list_buffers(&self, list: &mut Vec<Arc<B>>) {
        let mut buffers = lock(&self.buffers);
        let OpenBuffers { open, ended, .. } = &mut *buffers;
        open.retain(|buffer| {
            let is_done = buffer.is_done();
            if is_done {
                let (dropped, cut) = buffer.counts();
                ended.dropped += dropped;
                ended.cut += cut;
            }
            !is_done
        });
        list.clear();
        list.extend_from_slice(open);
    }

    /// Ends all buffers, and lets nobody wait for a flush any longer.
    pub fn close_buffers(&self, now: u64) {
        let mut buffers = lock(&self.buffers);
        buffers.is_closed = true;
        for buffer in &buffers.open {
            buffer.close(now);
        }
        drop(buffers);
        lock(&self.flushes).is_ended = true;
        self.flushed.notify_all();
    }

    pub fn wanted_flush(&self) -> u64 {
        lock(&self.flushes).wanted
    }

    /// Wakes those who wait for a flush up to this one.
    pub fn finish_flush(&self, number: u64) {
        let mut flushes = lock(&self.flushes);
        if flushes.done < number {
            flushes.done = number;
            self.flushed.notify_all();
        }
    }

    /// Waits until everything that was recorded before is written; returns `false` if it is not within `patience`.
    pub fn flush(&self, patience: Duration) -> bool {
        let until = Instant::now().checked_add(patience);
        let mut flushes = lock(&self.flushes);
        flushes.wanted += 1;
        let number = flushes.wanted;
        self.wake();
        while flushes.done < number {
            let left = match until {
                Some(until) => until.saturating_duration_since(Instant::now()),
                None => patience,
            };
            if left.is_zero() || flushes.is_ended {
                return false;
            }
            let waited = self.flushed.wait_timeout(flushes, left);
            (flushes, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        true
    }

    pub fn report(&self) -> Report {
        let buffers = lock(&self.buffers);
        let mut report = buffers.ended;
        for buffer in &buffers.open {
            let (dropped, cut) = buffer.counts();
            report.dropped += dropped;
            report.cut += cut;
        }
        report.written = self.n_written.load(Ordering::Acquire);
        report
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
