use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::Position;
use crate::disk::Disk;
use crate::frame::{GroupBuffer, Record};
use crate::log::{self, Options};
use crate::read::{Segments, Snapshot};
use crate::{Error, Log};

/// A thread that commits what others submit: a group is what arrived while the previous one was synced.
///
/// Submitting copies the record and returns its position at once; the record is durable when
/// [`Queue::durable`] is behind that position.
pub struct Queue {
    shared: Arc<QueueShared>,
    disk: Arc<dyn Disk>,
    segments: Segments,
    options: Options,
    thread: Option<JoinHandle<Log>>,
}

/// Why a record was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The next group is full: wait until one is committed.
    Full,
    /// The record is larger than the log takes.
    TooLarge,
    /// A write or sync failed, or the queue is closed.
    Ended,
}

/// Called after each group and each segment that [`Queue::truncate`] has begun, and once after a failure.
pub type Progress = Box<dyn Fn() + Send>;

struct QueueShared {
    state: Mutex<QueueState>,
    /// Something for the committing thread to do.
    wake: Condvar,
    /// A group was committed, or writing ended.
    progress: Condvar,
}

struct QueueState {
    pending: GroupBuffer,
    /// Position of the record that is submitted next.
    next: u64,
    /// Position behind the last durable record.
    durable: u64,
    /// A segment is to begin at this position, if nothing was committed since.
    begin_at: Option<Position>,
    closing: bool,
    failure: Option<Arc<Error>>,
}

impl QueueShared {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        // Every change of the state is made whole under the lock, and none of them panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// Starts the thread. `progress` runs on it, so it must not wait for anything.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(log: Log, progress: Progress) -> io::Result<Self> {
        let end = log.snapshot().end().0;
        let (disk, segments, options) = (log.disk(), log.segments(), log.options().clone());
        let shared = Arc::new(QueueShared {
            state: Mutex::new(QueueState {
                pending: GroupBuffer::new(),
                next: end,
                durable: end,
                begin_at: None,
                closing: false,
                failure: None,
            }),
            wake: Condvar::new(),
            progress: Condvar::new(),
        });
        let of_thread = shared.clone();
        let thread = std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || commit_all(log, &of_thread, &progress))?;
        Ok(Self {
            shared,
            disk,
            segments,
            options,
            thread: Some(thread),
        })
    }

    /// Takes a record into the next group and returns its position.
    ///
    /// # Errors
    /// When it cannot be taken; [`Refused::Full`] passes when the group is committed.
    pub fn submit(&self, record: &Record<'_>) -> Result<Position, Refused> {
        self.submit_together(std::slice::from_ref(record))
    }

    /// Takes records into one group, so that a crash leaves all of them or none, and returns the position of the last.
    /// Records that are larger than a group is otherwise are a group of their own.
    ///
    /// # Errors
    /// As [`Queue::submit`]; then none is taken.
    pub fn submit_together(&self, records: &[Record<'_>]) -> Result<Position, Refused> {
        for record in records {
            self.options.check(record).map_err(|_| Refused::TooLarge)?;
        }
        let mut state = self.shared.lock();
        if state.failure.is_some() || state.closing {
            return Err(Refused::Ended);
        }
        let was_empty = state.pending.is_empty();
        if !was_empty && self.options.is_full(state.pending.len(), records) {
            return Err(Refused::Full);
        }
        for record in records {
            state.pending.push(record);
        }
        state.next += records.len() as u64;
        let position = Position(state.next.saturating_sub(1));
        drop(state);
        if was_empty && !records.is_empty() {
            self.shared.wake.notify_one();
        }
        Ok(position)
    }

    /// Returns the position behind the last durable record.
    #[must_use]
    pub fn durable(&self) -> Position {
        Position(self.shared.lock().durable)
    }

    /// Returns why writing ended, if it did.
    #[must_use]
    pub fn failure(&self) -> Option<Arc<Error>> {
        self.shared.lock().failure.clone()
    }

    /// Waits until the record at `position` is durable.
    ///
    /// # Errors
    /// When writing ended before.
    pub fn wait(&self, position: Position) -> Result<(), Refused> {
        let mut state = self.shared.lock();
        while state.durable <= position.0 {
            if state.failure.is_some() {
                return Err(Refused::Ended);
            }
            let woken = self.shared.progress.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    /// Deletes the segments all of whose records are before `position`. Where these are all records that are durable,
    /// a new segment is begun first.
    ///
    /// This is done on the caller's thread: the names of deleted files are synced, and no group waits for that.
    ///
    /// # Errors
    /// When the file system refuses, or writing ended before.
    pub fn truncate(&self, position: Position) -> Result<(), Error> {
        let mut state = self.shared.lock();
        if state.durable <= position.0 {
            state.begin_at = Some(position);
            self.shared.wake.notify_one();
        }
        while state.begin_at.is_some() {
            if state.failure.is_some() {
                return Err(Error::poisoned(0));
            }
            let woken = self.shared.progress.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        log::remove_before(&self.segments, &*self.disk, position)
    }

    /// Returns what is committed now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.segments.snapshot()
    }

    /// Commits what was submitted, ends the thread, and returns the log.
    ///
    /// # Errors
    /// When a write or sync failed.
    pub fn close(mut self) -> Result<Log, Arc<Error>> {
        let log = self.finish();
        match (self.failure(), log) {
            (None, Some(log)) => Ok(log),
            (Some(failure), _) => Err(failure),
            (None, None) => Err(Arc::new(Error::poisoned(0))),
        }
    }

    fn finish(&mut self) -> Option<Log> {
        self.shared.lock().closing = true;
        self.shared.wake.notify_one();
        self.thread.take()?.join().ok()
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.finish();
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let durable = self.durable();
        f.debug_struct("Queue")
            .field("durable", &durable)
            .finish_non_exhaustive()
    }
}

/// The committing thread: returns the log when the queue is closed or writing failed.
fn commit_all(mut log: Log, shared: &QueueShared, progress: &Progress) -> Log {
    let mut group = GroupBuffer::new();
    loop {
        let mut state = shared.lock();
        while state.pending.is_empty() && state.begin_at.is_none() && !state.closing {
            let woken = shared.wake.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        if state.pending.is_empty() && state.begin_at.is_none() {
            return log;
        }
        group.clear();
        std::mem::swap(&mut state.pending, &mut group);
        let (end, begin_at) = (state.next, state.begin_at);
        drop(state);

        let committed = log.commit_group(&mut group).map(drop);
        let failed = committed.is_err();
        tell(shared, progress, committed, |state| state.durable = end);
        if failed {
            return log;
        }
        let Some(position) = begin_at else { continue };
        let begun = match position == log.snapshot().end() {
            true => log.begin_segment(),
            false => Ok(()),
        };
        let failed = begun.is_err();
        tell(shared, progress, begun, |state| state.begin_at = None);
        if failed {
            return log;
        }
    }
}

/// Changes the state after success, or ends writing.
fn tell(
    shared: &QueueShared,
    progress: &Progress,
    done: Result<(), Error>,
    change: impl FnOnce(&mut QueueState),
) {
    let mut state = shared.lock();
    match done {
        Ok(()) => change(&mut state),
        Err(error) => state.failure = Some(Arc::new(error)),
    }
    drop(state);
    shared.progress.notify_all();
    progress();
}
