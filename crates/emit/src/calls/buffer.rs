//! The events of a thread on their way to the writer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::event::{self, EXIT_SIZE, LOST_SIZE};
use super::put;
use crate::engine::{PendingLosses, ThreadBuffer};

/// What a thread recorded and the writer has not taken.
#[derive(Debug)]
pub struct CallBuffer {
    /// Number of the thread in its trace, from 1.
    pub id: u32,
    /// Name of the thread.
    pub name: Box<str>,
    /// When it began to record, in nanoseconds since the trace began.
    pub since: u64,
    capacity: usize,
    pub is_abandoned: AtomicBool,
    contents: Mutex<BufferContents>,
}

#[derive(Debug)]
struct BufferContents {
    bytes: Vec<u8>,
    /// Calls that were begun here and not ended: there is always room for their ends.
    n_open: usize,
    /// The writer was woken for these bytes.
    is_announced: bool,
    /// Nobody will take what is put in.
    is_closed: bool,
    unreported: PendingLosses,
    n_dropped: u64,
    n_cut: u64,
}

/// What became of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stored {
    Yes,
    /// And the writer should be woken.
    YesAndDue,
    No,
}

impl CallBuffer {
    pub fn new(id: u32, name: &str, since: u64, capacity: usize) -> Self {
        let contents = BufferContents {
            bytes: Self::room(capacity),
            n_open: 0,
            is_announced: false,
            is_closed: false,
            unreported: PendingLosses::default(),
            n_dropped: 0,
            n_cut: 0,
        };
        Self {
            id,
            name: name.into(),
            since,
            capacity,
            is_abandoned: AtomicBool::new(false),
            contents: Mutex::new(contents),
        }
    }

    /// Returns an empty buffer of the size that [`CallBuffer::take`] exchanges.
    pub fn room(capacity: usize) -> Vec<u8> {
        Vec::with_capacity(capacity + LOST_SIZE)
    }

    /// Adds the beginning of a call, or drops the call.
    pub fn enter(&self, enter: &[u8], time: u64) -> Stored {
        let mut contents = self.lock();
        let ends = EXIT_SIZE * (contents.n_open + 1);
        if !contents.fits(enter.len() + ends, self.capacity) {
            contents.lose(1, time);
            return Stored::No;
        }
        contents.n_open += 1;
        contents.put(enter, self.capacity)
    }

    /// Adds a whole call, or drops it.
    pub fn call(&self, call: &[u8], time: u64, is_cut: bool) -> Stored {
        let mut contents = self.lock();
        let ends = EXIT_SIZE * contents.n_open;
        if !contents.fits(call.len() + ends, self.capacity) {
            contents.lose(1, time);
            return Stored::No;
        }
        contents.n_cut += u64::from(is_cut);
        contents.put(call, self.capacity)
    }

    /// Adds the attributes and the end of a call that was begun here. Attributes without room are cut.
    pub fn exit(&self, attributes_and_exit: &[u8], time: u64, is_cut: bool) -> Stored {
        let mut contents = self.lock();
        contents.n_open = contents.n_open.saturating_sub(1);
        if contents.is_closed {
            contents.lose(1, time);
            return Stored::No;
        }
        let ends = EXIT_SIZE * contents.n_open;
        let fits = contents.fits(attributes_and_exit.len() + ends, self.capacity);
        let from = match fits {
            true => 0,
            false => attributes_and_exit.len().saturating_sub(EXIT_SIZE),
        };
        contents.n_cut += u64::from(is_cut || !fits);
        contents.put(&attributes_and_exit[from..], self.capacity)
    }

    /// Exchanges the events for an empty buffer; returns `false` if there are none.
    pub fn take(&self, empty: &mut Vec<u8>) -> bool {
        let mut contents = self.lock();
        contents.is_announced = false;
        if let Some(losses) = contents.unreported.take() {
            let PendingLosses {
                n_spans,
                first,
                last,
            } = losses;
            put::put_lost(&mut contents.bytes, n_spans, first, last);
        }
        if contents.bytes.is_empty() {
            return false;
        }
        std::mem::swap(&mut contents.bytes, empty);
        true
    }

    /// Counts calls that were taken and could not be written.
    pub fn lose(&self, n_spans: u64, now: u64) {
        self.lock().lose(n_spans, now);
    }

    /// Counts calls that were written without a part of what was recorded.
    pub fn cut(&self, n_spans: u64) {
        self.lock().n_cut += n_spans;
    }

    fn lock(&self) -> MutexGuard<'_, BufferContents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ThreadBuffer for CallBuffer {
    fn is_done(&self) -> bool {
        let is_abandoned = self.is_abandoned.load(Ordering::Acquire);
        let contents = self.lock();
        is_abandoned && contents.bytes.is_empty() && contents.unreported.n_spans == 0
    }

    fn counts(&self) -> (u64, u64) {
        let contents = self.lock();
        (contents.n_dropped, contents.n_cut)
    }

    fn close(&self, now: u64) {
        let mut contents = self.lock();
        contents.is_closed = true;
        let left = std::mem::take(&mut contents.bytes);
        contents.lose(event::count_ends(&left), now);
    }
}

impl BufferContents {
    fn fits(&self, n_bytes: usize, capacity: usize) -> bool {
        !self.is_closed && self.bytes.len() + n_bytes <= capacity
    }

    fn put(&mut self, bytes: &[u8], capacity: usize) -> Stored {
        self.bytes.extend_from_slice(bytes);
        if self.is_announced || self.bytes.len() <= capacity / 2 {
            return Stored::Yes;
        }
        self.is_announced = true;
        Stored::YesAndDue
    }

    fn lose(&mut self, n_spans: u64, time: u64) {
        if n_spans > 0 {
            self.n_dropped += n_spans;
            self.unreported.add(n_spans, time);
        }
    }
}
