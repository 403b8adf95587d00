//! Sealing on a thread of its own, beside the listeners.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

use traceloom_input::captures::{CaptureId, DataFolder, Event};
use traceloom_log::{Position, Snapshot};

use super::clock::BelievedClock;
use super::delete::RESUME;
use super::{Request, SealLog, SealRules, Sealer, requests};
use crate::audit::Audit;
use crate::facts::FactsQueue;
use crate::journal::{Journal, unix_ns};
use crate::{Counts, Error, SealCounts, ballast};

/// Time between two looks at the log.
const EVERY: Duration = Duration::from_millis(200);

/// A session of an earlier start that is to go on, and who waits for that.
pub(crate) type AskedResume = (CaptureId, oneshot::Sender<bool>);

/// Has sessions of earlier starts go on. The thread decides, because it deletes captures too.
#[derive(Clone)]
pub(crate) struct Resumer(mpsc::Sender<AskedResume>);

impl Resumer {
    /// Returns both ends.
    pub(crate) fn new() -> (Self, mpsc::Receiver<AskedResume>) {
        let (sender, receiver) = mpsc::channel();
        (Self(sender), receiver)
    }

    /// Returns `true` once a session may go on; `false` where it goes on already, or is gone.
    pub(crate) async fn resume(&self, id: CaptureId) -> bool {
        let (answer, answered) = oneshot::channel();
        self.0.send((id, answer)).is_ok() && answered.await.unwrap_or(false)
    }

    /// As [`Resumer::resume`], on a thread that may wait.
    pub(crate) fn resume_blocking(&self, id: CaptureId) -> bool {
        let (answer, answered) = oneshot::channel();
        self.0.send((id, answer)).is_ok() && answered.blocking_recv().unwrap_or(false)
    }
}

/// What the thread tells whoever runs it.
pub(crate) enum SealingEvent {
    /// What an operator should know.
    Event(String),
    /// Sealing ended, and so must collecting.
    Failed(Error),
}

/// What the thread shares with those that receive.
pub(crate) struct SealedBeside {
    pub(crate) journal: Arc<Journal>,
    pub(crate) counts: Arc<Counts>,
    pub(crate) audit: Arc<Audit>,
    pub(crate) resumes: mpsc::Receiver<AskedResume>,
    /// Where what was sealed is decoded.
    pub(crate) facts: Option<FactsQueue>,
    /// Set while chunks wait to be deleted until nobody reads.
    pub(crate) keep_out: Arc<AtomicBool>,
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
        beside: SealedBeside,
        tell: Box<dyn Fn(SealingEvent) + Send>,
    ) -> Result<Self, Error> {
        let segment_bytes = rules.segment_bytes();
        let clock = BelievedClock::open(&folder, rules.trusts_clock);
        let sealer = Sealer::new(folder.disks()?, Some(folder.clone()), rules, incarnation)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::Builder::new().name("seal".to_owned());
        let thread = thread.spawn(move || {
            let thread = SealWork {
                segment_bytes,
                folder: &folder,
                beside: &beside,
                stopped: &stopped,
                tell: &tell,
            };
            if let Err(error) = thread.run(sealer, clock) {
                tell(SealingEvent::Failed(error));
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

/// What the thread works with.
struct SealWork<'t> {
    segment_bytes: u64,
    folder: &'t DataFolder,
    beside: &'t SealedBeside,
    stopped: &'t AtomicBool,
    tell: &'t dyn Fn(SealingEvent),
}

impl SealWork<'_> {
    fn run(&self, mut sealer: Sealer, mut clock: BelievedClock) -> Result<(), Error> {
        let mut log = SealedJournal(self.beside.journal.clone());
        let mut said = None;
        while !self.stopped.load(Ordering::Relaxed) {
            let (mut asked, files) = requests::read(self.folder)?;
            let resumes: Vec<AskedResume> = self.beside.resumes.try_iter().collect();
            asked.extend(resumes.iter().map(|(id, _)| Request::Resume(*id)));
            let n_taken = self.beside.journal.n_taken();
            let now_ns = unix_ns();
            let (believed_ns, alarm) = clock.believe(now_ns);
            sealer.believe(believed_ns);
            if let Some(alarm) = alarm {
                (self.tell)(SealingEvent::Event(alarm));
            }
            let done = sealer.step(&mut log, now_ns, &asked);
            // A log that failed is its owner's to tell.
            if self.beside.journal.failure().is_some() {
                return Ok(());
            }
            done?;
            self.beside.journal.caught_up(n_taken);
            count(&sealer, &self.beside.counts.sealing);
            self.beside
                .counts
                .sealing
                .clock_is_wrong
                .store(clock.is_wrong(), Ordering::Relaxed);
            self.pass_on(&mut sealer);
            self.answer(&mut sealer, resumes, &files);
            requests::finish(&files)?;
            for event in sealer.take_events() {
                if said.as_ref() != Some(&event) {
                    (self.tell)(SealingEvent::Event(event.clone()));
                    said = Some(event);
                }
            }
            let taken = ballast::take(self.folder, self.segment_bytes);
            taken.map_err(|error| Error::new(format!("the ballast: {error}")))?;
            std::thread::park_timeout(EVERY);
        }
        Ok(())
    }

    /// Has what was sealed decoded, and those who decode wait where chunks are to be deleted.
    fn pass_on(&self, sealer: &mut Sealer) {
        let waits = sealer.waits_for_readers();
        self.beside.keep_out.store(waits, Ordering::Relaxed);
        for sealed in sealer.take_new_revisions() {
            if let Some(facts) = &self.beside.facts {
                facts.offer(sealed);
            }
        }
    }

    /// Tells those who asked, and the audit log, what became of requests.
    fn answer(&self, sealer: &mut Sealer, resumes: Vec<AskedResume>, files: &[PathBuf]) {
        let asking = requests::who(files);
        let mut resumed = Vec::new();
        for audited in sealer.take_audited() {
            match audited.what {
                RESUME if audited.outcome == "done" => resumed.push(audited.capture),
                RESUME => {}
                _ => self.beside.audit.note(audited.line(&asking)),
            }
        }
        for (id, answer) in resumes {
            // Of two who ask for the same one, the first has it.
            let found = resumed.iter().position(|done| *done == id);
            let _ = answer.send(found.is_some());
            if let Some(at) = found {
                resumed.swap_remove(at);
            }
        }
    }
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
        self.0.truncate(position)
    }
}
