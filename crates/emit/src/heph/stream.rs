//! What a thread records, and the buffer that the writer takes it from.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::packet::{self, Packet};
use crate::engine::{DROPPED, RecordedBytes, SharedState, ThreadBuffer};
use crate::value::Value;

/// Spans of one thread, with a packet counter of their own.
///
/// Spans of a stream that lie within each other are read back as calls within calls; those of two streams are not
/// related. Several threads may share a stream, but their spans are then told apart by substreams alone.
#[derive(Debug)]
pub struct Stream {
    tracer: Arc<SharedState<StreamBuffer>>,
    buffer: Arc<StreamBuffer>,
}

impl Stream {
    pub(super) fn new(tracer: Arc<SharedState<StreamBuffer>>) -> Self {
        let capacity = tracer.options.buffer;
        let buffer = tracer.open_buffer(|id| StreamBuffer::new(id, capacity));
        Self { tracer, buffer }
    }

    /// Returns the stream's id in the trace: 1 for the first stream.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.buffer.id
    }

    /// Returns the nanoseconds since the trace began.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.tracer.clock.now()
    }

    /// Begins a span, which is recorded when it is dropped.
    ///
    /// ```
    /// # use traceloom_emit::heph::{Options, Sink, Tracer};
    /// # let folder = tempfile::tempdir()?;
    /// # let sink = Sink::file(folder.path().join("a.heph"))?;
    /// # let tracer = Tracer::start(sink, Options::default())?;
    /// let stream = tracer.stream();
    /// let request = 41;
    /// let mut outer = stream.span("GET /orders");
    /// // What the program does at the same time, or waits for in between, has substreams of its own.
    /// outer.set_substream(request);
    /// drop(stream.span("parse"));
    /// outer.set("rows", 3_u64);
    /// outer.set("tags", &["a", "b"][..]);
    /// drop(outer);
    /// assert_eq!(tracer.close().written, 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn span(&self, name: &str) -> Span<'_> {
        Span {
            stream: self,
            substream: 0,
            packet: Packet::begin(name, self.now()),
        }
    }

    /// Records a span whose times are known, in nanoseconds since the trace began.
    ///
    /// ```
    /// # use traceloom_emit::heph::{Options, Sink, Tracer};
    /// # let folder = tempfile::tempdir()?;
    /// # let sink = Sink::file(folder.path().join("a.heph"))?;
    /// # let tracer = Tracer::start(sink, Options::default())?;
    /// let stream = tracer.stream();
    /// stream.record("query", 0, 1_000..5_000, &[("rows", 3_u64.into()), ("sql", "SELECT 1".into())]);
    /// # assert_eq!(tracer.close().written, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn record(
        &self,
        name: &str,
        substream: u64,
        times: Range<u64>,
        attributes: &[(&str, Value<'_>)],
    ) {
        let mut packet = Packet::begin(name, times.start);
        for &(name, value) in attributes {
            packet.attribute(name, value);
        }
        self.end(&mut packet, substream, times.end);
    }

    pub(crate) fn end(&self, packet: &mut Packet, substream: u64, end: u64) {
        packet.end(self.buffer.id, substream, end);
        if self.buffer.put(packet, end) {
            self.tracer.wake();
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.buffer.is_abandoned.store(true, Ordering::Release);
    }
}

/// A call that has not ended. Dropping it ends it.
#[must_use = "a span ends when it is dropped"]
#[derive(Debug)]
pub struct Span<'s> {
    stream: &'s Stream,
    substream: u64,
    packet: Packet,
}

impl Span<'_> {
    /// Adds an attribute. One of the same name stays beside it.
    pub fn set<'v>(&mut self, name: &str, value: impl Into<Value<'v>>) {
        self.packet.attribute(name, value.into());
    }

    /// Adds a text attribute without making a `String` of it.
    ///
    /// ```
    /// # use traceloom_emit::heph::{Options, Sink, Tracer};
    /// # let folder = tempfile::tempdir()?;
    /// # let sink = Sink::file(folder.path().join("a.heph"))?;
    /// # let tracer = Tracer::start(sink, Options::default())?;
    /// let stream = tracer.stream();
    /// let mut span = stream.span("connect");
    /// span.set_formatted("peer", format_args!("{}:{}", "db", 5432));
    /// # drop(span);
    /// # assert_eq!(tracer.close().written, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_formatted(&mut self, name: &str, value: fmt::Arguments<'_>) {
        self.packet.formatted(name, value);
    }

    /// Puts the span into a substream: an actor, a request, a task. 0 is the thread itself.
    pub fn set_substream(&mut self, substream: u64) {
        self.substream = substream;
    }
}

impl Drop for Span<'_> {
    fn drop(&mut self) {
        let end = self.stream.now();
        self.stream.end(&mut self.packet, self.substream, end);
    }
}

/// The finished packets of a stream.
#[derive(Debug)]
pub struct StreamBuffer {
    id: u32,
    is_abandoned: AtomicBool,
    contents: Mutex<Contents>,
}

#[derive(Debug)]
struct Contents {
    recorded: RecordedBytes,
    /// Counter of the next packet.
    counter: u32,
}

/// Bytes behind the capacity, for the packet that reports losses.
const REPORT: usize = 128;

impl StreamBuffer {
    pub fn new(id: u32, capacity: usize) -> Self {
        let contents = Contents {
            recorded: RecordedBytes::new(Self::room(capacity), capacity),
            counter: 0,
        };
        Self {
            id,
            is_abandoned: AtomicBool::new(false),
            contents: Mutex::new(contents),
        }
    }

    /// Returns an empty buffer of the size that [`StreamBuffer::take`] exchanges.
    pub fn room(capacity: usize) -> Vec<u8> {
        Vec::with_capacity(capacity + REPORT)
    }

    /// Adds a packet, or drops it. Returns `true` if the writer should be woken.
    fn put(&self, packet: &mut Packet, end: u64) -> bool {
        let mut contents = self.lock();
        let Contents { recorded, counter } = &mut *contents;
        packet.set_counter(*counter);
        *counter = counter.wrapping_add(1);
        recorded.cut(packet.is_cut().into());
        if !recorded.fits(packet.bytes().len()) {
            recorded.lose(1, end);
            return false;
        }
        recorded.put(packet.bytes())
    }

    /// Exchanges the packets for an empty buffer; returns `false` if there are none.
    pub fn take(&self, empty: &mut Vec<u8>) -> bool {
        let mut contents = self.lock();
        contents.report(self.id);
        contents.recorded.take(empty)
    }

    /// Counts events that were taken and could not be written.
    pub fn lose(&self, n_events: u64, now: u64) {
        self.lock().recorded.lose(n_events, now);
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ThreadBuffer for StreamBuffer {
    fn is_done(&self) -> bool {
        self.is_abandoned.load(Ordering::Acquire) && self.lock().recorded.is_empty()
    }

    fn counts(&self) -> (u64, u64) {
        self.lock().recorded.counts()
    }

    fn close(&self, now: u64) {
        let mut contents = self.lock();
        let n_left = packet::count(&contents.recorded.bytes);
        contents.recorded.close(n_left, now);
    }
}

impl Contents {
    /// Appends the packet that reports losses.
    fn report(&mut self, stream: u32) {
        let Some(losses) = self.recorded.unreported.take() else {
            return;
        };
        let mut packet = Packet::begin(DROPPED, losses.first);
        packet.attribute("events", Value::U64(losses.n_spans));
        packet.end(stream, 0, losses.last);
        packet.set_counter(self.counter);
        self.counter = self.counter.wrapping_add(1);
        self.recorded.bytes.extend_from_slice(packet.bytes());
    }
}
