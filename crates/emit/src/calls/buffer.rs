//! The events of a thread on their way to the writer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::event::{self, EXIT_SIZE, LOST_SIZE};
use super::put;
use crate::engine::{PendingLosses, RecordedBytes, ThreadBuffer};

/// What a thread recorded and the writer has not taken.
#[derive(Debug)]
pub struct CallBuffer {
    /// Number of the thread in its trace, from 1.
    pub id: u32,
    /// Name of the thread.
    pub name: Box<str>,
    /// When it began to record, in nanoseconds since the trace began.
    pub since: u64,
    pub is_abandoned: AtomicBool,
    /// Its calls are pauses of the process.
    pub is_of_pauses: bool,
    contents: Mutex<BufferContents>,
}

#[derive(Debug)]
struct BufferContents {
    recorded: RecordedBytes,
    /// Calls that were begun here and not ended: there is always room for their ends.
    n_open: usize,
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
            recorded: RecordedBytes::new(Self::room(capacity), capacity),
            n_open: 0,
        };
        Self {
            id,
            name: name.into(),
            since,
            is_abandoned: AtomicBool::new(false),
            is_of_pauses: false,
            contents: Mutex::new(contents),
        }
    }

    /// Says that the calls are pauses of the process.
    pub fn of_pauses(self) -> Self {
        Self {
            is_of_pauses: true,
            ..self
        }
    }

    /// Returns an empty buffer of the size that [`CallBuffer::take`] exchanges.
    pub fn room(capacity: usize) -> Vec<u8> {
        Vec::with_capacity(capacity + LOST_SIZE)
    }

    /// Adds the beginning of a call, or drops the call.
    pub fn enter(&self, enter: &[u8], time: u64) -> Stored {
        let mut contents = self.lock();
        let BufferContents { recorded, n_open } = &mut *contents;
        let ends = EXIT_SIZE * (*n_open + 1);
        if !recorded.fits(enter.len() + ends) {
            recorded.lose(1, time);
            return Stored::No;
        }
        *n_open += 1;
        Stored::yes(recorded.put(enter))
    }

    /// Adds a whole call, or drops it.
    pub fn call(&self, call: &[u8], time: u64, is_cut: bool) -> Stored {
        let mut contents = self.lock();
        let BufferContents { recorded, n_open } = &mut *contents;
        if !recorded.fits(call.len() + EXIT_SIZE * *n_open) {
            recorded.lose(1, time);
            return Stored::No;
        }
        recorded.cut(is_cut.into());
        Stored::yes(recorded.put(call))
    }

    /// Adds the attributes and the end of a call that was begun here. Attributes without room are cut.
    pub fn exit(&self, attributes_and_exit: &[u8], time: u64, is_cut: bool) -> Stored {
        let mut contents = self.lock();
        let BufferContents { recorded, n_open } = &mut *contents;
        *n_open = n_open.saturating_sub(1);
        if recorded.is_closed() {
            recorded.lose(1, time);
            return Stored::No;
        }
        let fits = recorded.fits(attributes_and_exit.len() + EXIT_SIZE * *n_open);
        let from = match fits {
            true => 0,
            false => attributes_and_exit.len().saturating_sub(EXIT_SIZE),
        };
        recorded.cut((is_cut || !fits).into());
        Stored::yes(recorded.put(&attributes_and_exit[from..]))
    }

    /// Exchanges the events for an empty buffer; returns `false` if there are none.
    pub fn take(&self, empty: &mut Vec<u8>) -> bool {
        let recorded = &mut self.lock().recorded;
        if let Some(losses) = recorded.unreported.take() {
            let PendingLosses {
                n_spans,
                first,
                last,
            } = losses;
            put::put_lost(&mut recorded.bytes, n_spans, first, last);
        }
        recorded.take(empty)
    }

    /// Counts calls that were taken and could not be written.
    pub fn lose(&self, n_spans: u64, now: u64) {
        self.lock().recorded.lose(n_spans, now);
    }

    /// Counts calls that were written without a part of what was recorded.
    pub fn cut(&self, n_spans: u64) {
        self.lock().recorded.cut(n_spans);
    }

    fn lock(&self) -> MutexGuard<'_, BufferContents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stored {
    fn yes(is_due: bool) -> Self {
        match is_due {
            true => Self::YesAndDue,
            false => Self::Yes,
        }
    }
}

impl ThreadBuffer for CallBuffer {
    fn is_done(&self) -> bool {
        self.is_abandoned.load(Ordering::Acquire) && self.lock().recorded.is_empty()
    }

    fn counts(&self) -> (u64, u64) {
        self.lock().recorded.counts()
    }

    fn close(&self, now: u64) {
        let recorded = &mut self.lock().recorded;
        let n_left = event::count_ends(&recorded.bytes);
        recorded.close(n_left, now);
    }
}
