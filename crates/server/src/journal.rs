//! The log as sessions see it: records go in at once, and a watch tells when more are safe.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use traceloom_input::captures::{CaptureId, DataFolder, EVENTS, Event};
use traceloom_log::disk::Local;
use traceloom_log::{Log, Options, Position, Queue, Record, Recovered, Refused, Snapshot};
use traceloom_model::bounds::saturated_i64;

use crate::{Error, ballast};

/// The one writer of a log.
pub(crate) struct Journal {
    queue: Queue,
    /// Changes after each group, after a failure, and when sealing got on.
    progress: watch::Receiver<u64>,
    tell: Arc<watch::Sender<u64>>,
    /// Bytes of records that were taken.
    n_taken: AtomicU64,
    /// How many of these sealing has dealt with.
    n_dealt_with: AtomicU64,
    /// Bytes that sealing may be behind.
    most_behind: u64,
}

impl Journal {
    /// Recovers the log of a folder, or begins one. Ids of captures that are sealed are not given again. Of `log_bytes`
    /// sealing may be behind.
    pub(crate) fn open(
        folder: &DataFolder,
        log_bytes: u64,
        segment_bytes: u64,
    ) -> Result<(Self, Recovered), Error> {
        let path = folder.log();
        let failed =
            |error: &dyn std::fmt::Display| Error::new(format!("{}: {error}", path.display()));
        let sealed = folder.disks()?.manifests.list();
        let sealed = sealed.map_err(|error| failed(&error))?;
        let options = Options {
            after_incarnation: sealed.keys().next_back().map_or(0, |id| id.incarnation()),
            segment_bytes,
            ..Options::default()
        };
        let disk = Arc::new(Local::new(&path).map_err(|error| failed(&error))?);
        let mut opened = Log::open(disk.clone(), options.clone());
        if opened.as_ref().is_err_and(is_full) && ballast::release(folder) {
            opened = Log::open(disk, options);
        }
        let (log, recovered) = opened.map_err(|error| failed(&error))?;
        let (tell, progress) = watch::channel(0);
        let tell = Arc::new(tell);
        let of_queue = tell.clone();
        let told = Box::new(move || of_queue.send_modify(|n_changes| *n_changes += 1));
        let queue = Queue::start(log, told).map_err(|error| failed(&error))?;
        let journal = Self {
            queue,
            progress,
            tell,
            n_taken: AtomicU64::new(0),
            n_dealt_with: AtomicU64::new(0),
            most_behind: log_bytes,
        };
        Ok((journal, recovered))
    }

    /// Returns the bytes of records taken so far.
    pub(crate) fn n_taken(&self) -> u64 {
        self.n_taken.load(Ordering::Relaxed)
    }

    /// Learns that sealing has dealt with the first `n_bytes` of records.
    pub(crate) fn caught_up(&self, n_bytes: u64) {
        self.n_dealt_with.store(n_bytes, Ordering::Relaxed);
        self.tell.send_modify(|n_changes| *n_changes += 1);
    }

    /// Takes a record, unless sealing is too far behind: the log must not grow for as long as senders like.
    pub(crate) fn submit(
        &self,
        capture: CaptureId,
        stream: u32,
        kind: u8,
        bytes: &[u8],
    ) -> Result<Position, Refused> {
        self.check_sealing()?;
        let position = self.submit_at_once(capture, stream, kind, bytes)?;
        self.n_taken
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(position)
    }

    fn check_sealing(&self) -> Result<(), Refused> {
        let n_dealt_with = self.n_dealt_with.load(Ordering::Relaxed);
        let n_behind = self.n_taken().saturating_sub(n_dealt_with);
        match n_behind > self.most_behind {
            true => Err(Refused::Full),
            false => Ok(()),
        }
    }

    fn submit_at_once(
        &self,
        capture: CaptureId,
        stream: u32,
        kind: u8,
        bytes: &[u8],
    ) -> Result<Position, Refused> {
        self.queue.submit(&Record {
            session: capture.session(),
            stream,
            kind,
            bytes,
        })
    }

    /// Takes records of captures into one group, unless sealing is too far behind: a crash leaves all of them or none.
    /// Returns the position of the last.
    pub(crate) fn submit_together(&self, records: &[Record<'_>]) -> Result<Position, Refused> {
        self.check_sealing()?;
        let position = self.submit_together_at_once(records)?;
        let n_bytes: usize = records.iter().map(|record| record.bytes.len()).sum();
        self.n_taken.fetch_add(n_bytes as u64, Ordering::Relaxed);
        Ok(position)
    }

    /// As [`Journal::submit_together`], however far sealing is behind: for the few bytes that end captures.
    pub(crate) fn submit_together_at_once(
        &self,
        records: &[Record<'_>],
    ) -> Result<Position, Refused> {
        self.queue.submit_together(records)
    }

    /// Takes a record once there is room for it.
    ///
    /// # Errors
    /// When nothing is stored any more, or the record is too large.
    pub(crate) async fn submit_when_room(
        &self,
        capture: CaptureId,
        stream: u32,
        kind: u8,
        bytes: &[u8],
    ) -> Result<Position, Refused> {
        let mut progress = self.progress();
        loop {
            progress.mark_unchanged();
            match self.submit(capture, stream, kind, bytes) {
                Err(Refused::Full) => {}
                done => return done,
            }
            progress.changed().await.map_err(|_| Refused::Ended)?;
        }
    }

    /// Stores an event of a session once there is room for it.
    ///
    /// # Errors
    /// When nothing is stored any more.
    pub(crate) async fn event(
        &self,
        capture: CaptureId,
        event: &Event,
    ) -> Result<Position, Refused> {
        let (kind, bytes) = event.encode();
        self.submit_when_room(capture, EVENTS, kind, &bytes).await
    }

    /// Waits until the record at `position` is safe.
    ///
    /// # Errors
    /// When writing ended before.
    pub(crate) async fn until_safe(&self, position: Position) -> Result<(), Refused> {
        let mut progress = self.progress();
        loop {
            progress.mark_unchanged();
            if self.durable() > position {
                return Ok(());
            }
            if self.failure().is_some() {
                return Err(Refused::Ended);
            }
            progress.changed().await.map_err(|_| Refused::Ended)?;
        }
    }

    /// Returns the number of segments of the log, and their bytes.
    pub(crate) fn size(&self) -> (u64, u64) {
        let snapshot = self.queue.snapshot();
        let sizes = snapshot.segments().map(|segment| segment.bytes);
        sizes.fold((0, 0), |(n, sum), bytes| (n + 1, sum + bytes))
    }

    /// Stores events and waits until they are safe.
    pub(crate) fn commit(&self, events: &[(CaptureId, Event)]) -> Result<(), Error> {
        let ended = |_| Error::new("the log failed");
        let mut last = None;
        for (capture, event) in events {
            let (kind, bytes) = event.encode();
            loop {
                match self.submit_at_once(*capture, EVENTS, kind, &bytes) {
                    Ok(position) => {
                        last = Some(position);
                        break;
                    }
                    Err(Refused::Full) => std::thread::sleep(Duration::from_millis(1)),
                    Err(refused) => return Err(ended(refused)),
                }
            }
        }
        last.map_or(Ok(()), |last| self.queue.wait(last).map_err(ended))
    }

    /// Returns what is committed now.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.queue.snapshot()
    }

    /// Has the log forget what is before `position`.
    ///
    /// # Errors
    /// When the file system refuses.
    pub(crate) fn truncate(&self, position: Position) -> Result<(), Error> {
        let truncated = self.queue.truncate(position);
        truncated.map_err(|error| Error::new(format!("the log failed: {error}")))
    }

    /// Returns the position behind the last safe record.
    pub(crate) fn durable(&self) -> Position {
        self.queue.durable()
    }

    pub(crate) fn failure(&self) -> Option<String> {
        self.queue.failure().map(|error| error.to_string())
    }

    pub(crate) fn progress(&self) -> watch::Receiver<u64> {
        self.progress.clone()
    }

    /// Waits until everything is safe, and ends.
    pub(crate) fn close(self) -> Result<(), Error> {
        let closed = self.queue.close().map(drop);
        closed.map_err(|error| Error::new(format!("the log failed: {error}")))
    }
}

/// Returns `true` if the disk has no room.
fn is_full(error: &traceloom_log::Error) -> bool {
    let source = std::error::Error::source(error);
    let source = source.and_then(|source| source.downcast_ref::<std::io::Error>());
    source.is_some_and(|source| source.kind() == std::io::ErrorKind::StorageFull)
}

/// Returns the Unix time in nanoseconds, 0 before 1970.
pub(crate) fn unix_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| saturated_i64(since.as_nanos()))
}

/// Returns the Unix time in milliseconds, 0 before 1970.
pub(crate) fn unix_ms() -> i64 {
    unix_ns() / 1_000_000
}
