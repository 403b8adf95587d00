//! Sealing on a thread of its own, beside the listeners.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use traceloom_input::captures::{CaptureId, DataFolder, Event};
use traceloom_log::{Position, Snapshot};

use super::{SealLog, SealRules, Sealer, requests};
use crate::audit::Audit;
use crate::journal::{Journal, unix_ns};
use crate::{Counts, Error, SealCounts, ballast};

/// Time between two looks at the log.
const EVERY: Duration = Duration::from_millis(200);

/// What the thread tells whoever runs it.
pub(crate) enum Told {
    /// What an operator should know.
    Event(String),
    /// Sealing ended, and so must collecting.
    Failed(Error),
}

/// The thread; it ends when this is dropped.
pub(crate) struct SealThread {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl SealThread {
    /// Starts it; `tell` runs on it.
    ///
    /// # Errors
    /// When the folders of sealed captures cannot be read, or the system gives no thread.
    pub(crate) fn start(
        folder: DataFolder,
        rules: SealRules,
        incarnation: u64,
        journal: Arc<Journal>,
        counts: Arc<Counts>,
        audit: Arc<Audit>,
        tell: Box<dyn Fn(Told) + Send>,
    ) -> Result<Self, Error> {
        let segment_bytes = rules.segment_bytes();
        let sealer = Sealer::new(folder.disks()?, Some(folder.clone()), rules, incarnation)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::Builder::new().name("seal".to_owned());
        let thread = thread.spawn(move || {
            if let Err(error) = run(
                sealer,
                segment_bytes,
                &folder,
                &journal,
                (&counts, &audit),
                &stopped,
                &tell,
            ) {
                tell(Told::Failed(error));
            }
        });
        let thread = thread.map_err(|error| Error::new(format!("no threads: {error}")))?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for SealThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It has told what it failed with.
            let _ = thread.join();
        }
    }
}

fn run(
    mut sealer: Sealer,
    segment_bytes: u64,
    folder: &DataFolder,
    journal: &Arc<Journal>,
    (counts, audit): (&Counts, &Audit),
    stopped: &AtomicBool,
    tell: &dyn Fn(Told),
) -> Result<(), Error> {
    let mut log = SealedJournal(journal.clone());
    let mut said = None;
    while !stopped.load(Ordering::Relaxed) {
        let (asked, files) = requests::read(folder)?;
        let n_taken = journal.n_taken();
        let done = sealer.step(&mut log, unix_ns(), &asked);
        // A log that failed is its owner's to tell.
        if journal.failure().is_some() {
            return Ok(());
        }
        done?;
        journal.caught_up(n_taken);
        count(&sealer, &counts.sealing);
        let asking = requests::who(&files);
        for audited in sealer.take_audited() {
            audit.note(audited.line(&asking));
        }
        requests::finish(&files)?;
        for event in sealer.take_events() {
            if said.as_ref() != Some(&event) {
                tell(Told::Event(event.clone()));
                said = Some(event);
            }
        }
        let taken = ballast::take(folder, segment_bytes);
        taken.map_err(|error| Error::new(format!("the ballast: {error}")))?;
        std::thread::park_timeout(EVERY);
    }
    Ok(())
}

fn count(sealer: &Sealer, counts: &SealCounts) {
    let (sealed, chunks) = sealer.n_sealed();
    let oldest = sealer.oldest_unsealed_ns().unwrap_or(0);
    counts.oldest_unsealed_ns.store(oldest, Ordering::Relaxed);
    let values = [
        (&counts.unsealed_bytes, sealer.n_unsealed()),
        (&counts.sealed_bytes, sealed),
        (&counts.chunk_bytes, chunks),
    ];
    for (count, value) in values {
        count.store(value, Ordering::Relaxed);
    }
}

/// The log of a collector, written by its own thread.
pub(super) struct SealedJournal(pub(super) Arc<Journal>);

impl SealLog for SealedJournal {
    fn snapshot(&self) -> Snapshot {
        self.0.snapshot()
    }

    fn commit(&mut self, events: &[(CaptureId, Event)]) -> Result<(), Error> {
        self.0.commit(events)
    }

    fn truncate(&mut self, position: Position) -> Result<(), Error> {
        self.0.truncate(position);
        Ok(())
    }
}
