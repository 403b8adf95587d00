//! The trace of a process.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

use super::clock::Clock;
use super::sink::Sink;
use super::stream::{Stream, StreamBuffer};
use super::writer::Writer;

/// Limits of a tracer.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Bytes of finished spans that a stream holds, at least 4 KiB. The tracer has one more buffer of this size.
    pub buffer: usize,
    /// The longest time that a finished span waits for the writer.
    pub interval: Duration,
    /// The longest time that [`Tracer::close`] waits for a slow or absent peer.
    pub patience: Duration,
}

impl Default for Options {
    /// 1 MiB, 100 ms, 2 s.
    fn default() -> Self {
        Self {
            buffer: 1 << 20,
            interval: Duration::from_millis(100),
            patience: Duration::from_secs(2),
        }
    }
}

/// What became of the spans of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Events that the sink took: spans, and reports of dropped ones.
    pub written: u64,
    /// Events that were dropped.
    pub dropped: u64,
    /// Spans with a text or a list that was too long for the format.
    pub cut: u64,
}

/// A running trace. Dropping it closes it.
#[derive(Debug)]
pub struct Tracer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Tracer {
    /// Begins a trace: its time 0 is this call.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(sink: Sink, options: Options) -> io::Result<Self> {
        let options = Options {
            buffer: options.buffer.clamp(4096, u32::MAX as usize),
            ..options
        };
        let shared = Arc::new(Shared::new(options));
        let writer = Writer::new(shared.clone(), sink);
        let thread = std::thread::Builder::new().name("traceloom-emit".to_owned());
        let thread = thread.spawn(move || writer.run())?;
        // The only call of `set`.
        let _ = shared.writer.set(thread.thread().clone());
        Ok(Self {
            shared,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Begins a stream; each thread should have its own.
    #[must_use]
    pub fn stream(&self) -> Stream {
        self.shared.stream()
    }

    /// Returns the nanoseconds since the trace began.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.shared.clock.now()
    }

    /// Waits until the sink took everything that was recorded before this call. Returns `false` if it did not within
    /// `patience`.
    pub fn flush(&self, patience: Duration) -> bool {
        self.shared.flush(patience)
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn report(&self) -> Report {
        self.shared.report()
    }

    /// Writes what is left, for at most [`Options::patience`], and ends the trace. Spans that end later are dropped.
    ///
    /// `std::process::exit` drops nothing: a program that ends by it calls this before.
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

impl Drop for Tracer {
    fn drop(&mut self) {
        self.close();
    }
}

/// What the tracer, its streams and its writer share.
#[derive(Debug)]
pub struct Shared {
    pub clock: Clock,
    pub options: Options,
    pub is_closing: AtomicBool,
    pub n_written: AtomicU64,
    writer: OnceLock<Thread>,
    next_stream: AtomicU32,
    streams: Mutex<OpenStreams>,
    flushes: Mutex<Flushes>,
    flushed: Condvar,
}

#[derive(Debug, Default)]
struct OpenStreams {
    open: Vec<Arc<StreamBuffer>>,
    /// Counts of streams that ended.
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

impl Shared {
    fn new(options: Options) -> Self {
        Self {
            clock: Clock::start(),
            options,
            is_closing: AtomicBool::new(false),
            n_written: AtomicU64::new(0),
            writer: OnceLock::new(),
            next_stream: AtomicU32::new(1),
            streams: Mutex::default(),
            flushes: Mutex::default(),
            flushed: Condvar::new(),
        }
    }

    fn stream(self: &Arc<Self>) -> Stream {
        let id = self.next_stream.fetch_add(1, Ordering::Relaxed);
        let buffer = Arc::new(StreamBuffer::new(id, self.options.buffer));
        let mut streams = lock(&self.streams);
        if streams.is_closed {
            buffer.close();
        }
        streams.open.push(buffer.clone());
        Stream::new(self.clone(), buffer)
    }

    pub fn wake(&self) {
        if let Some(writer) = self.writer.get() {
            writer.unpark();
        }
    }

    /// Returns the streams that have something or will.
    pub fn list_streams(&self, list: &mut Vec<Arc<StreamBuffer>>) {
        let mut streams = lock(&self.streams);
        let OpenStreams { open, ended, .. } = &mut *streams;
        open.retain(|stream| {
            let is_done = stream.is_done();
            if is_done {
                let (dropped, cut) = stream.counts();
                ended.dropped += dropped;
                ended.cut += cut;
            }
            !is_done
        });
        list.clear();
        list.extend_from_slice(open);
    }

    /// Ends all streams; what they hold goes to `left`.
    pub fn close_streams(&self, mut left: impl FnMut(&StreamBuffer, &[u8])) {
        let mut streams = lock(&self.streams);
        streams.is_closed = true;
        for stream in &streams.open {
            left(stream, &stream.close());
        }
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

    /// Lets nobody wait any longer.
    pub fn end_flushes(&self) {
        lock(&self.flushes).is_ended = true;
        self.flushed.notify_all();
    }

    fn flush(&self, patience: Duration) -> bool {
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

    fn report(&self) -> Report {
        let streams = lock(&self.streams);
        let mut report = streams.ended;
        for stream in &streams.open {
            let (dropped, cut) = stream.counts();
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
