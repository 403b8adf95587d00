//! Decodes sealed captures and writes what that shows into the catalog and into indexes of calls.
//!
//! It is a consumer of what was sealed, on a thread of its own: no acknowledgement waits for it. This program decodes captures in a
//! process of its own, so that no bytes can take memory or life of the process that receives. A capture that cannot be decoded within
//! the limits has a row that says so. What a stopped collector left undone, the next start does.

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use traceloom_input::captures::call_index::{CallIndex, tidy_call_indexes};
use traceloom_input::captures::profile_index::tidy_profile_indexes;
use traceloom_input::captures::{CaptureId, DataFolder, FactsCatalog, FactsRow, Manifests};

use crate::catalog::Catalog;
use crate::counts::FactsCounts;
use crate::forward::Tell;
use crate::questions::{Answers, Question, bound, yield_to_others};
use crate::{Counts, Error};

/// Captures of one process.
const AT_A_TIME: usize = 200;
/// Bytes of captures of one process, unless one alone has more.
const BYTES_AT_A_TIME: u64 = 64 << 20;
/// Time for which captures are gathered.
const GATHERING: Duration = Duration::from_millis(100);
/// Bytes of the rows of one process.
const LARGEST: u64 = 1 << 20;

/// A capture whose manifest is durable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SealedRevision {
    pub(crate) id: CaptureId,
    /// Bytes of all parts.
    pub(crate) n_bytes: u64,
    /// Nothing more is to come.
    pub(crate) is_over: bool,
}

/// Takes what was sealed.
pub(crate) struct FactsQueue {
    queue: Sender<SealedRevision>,
    counts: Arc<Counts>,
}

impl FactsQueue {
    /// Takes a capture. There is no bound but the number of captures that are sealed.
    pub(crate) fn offer(&self, sealed: SealedRevision) {
        if self.queue.send(sealed).is_ok() {
            self.counts.facts.queued.add(1);
        }
    }
}

/// What the thread shares.
pub(crate) struct FactsShared {
    pub(crate) folder: DataFolder,
    pub(crate) answers: Answers,
    pub(crate) counts: Arc<Counts>,
    /// Chunks cannot be deleted while somebody reads: no process begins then.
    pub(crate) keep_out: Arc<AtomicBool>,
    pub(crate) tell: Tell,
}

/// Starts the thread. It ends with the process.
///
/// # Errors
/// When the system gives no thread.
pub(crate) fn start(shared: FactsShared) -> Result<FactsQueue, Error> {
    let (queue, sealed) = channel();
    let counts = shared.counts.clone();
    std::thread::Builder::new()
        .name("facts".to_owned())
        .spawn(move || FactsThread::new(shared).run(&sealed))
        .map_err(|error| Error::new(format!("no thread: {error}")))?;
    Ok(FactsQueue { queue, counts })
}

struct FactsThread {
    shared: FactsShared,
    /// Bytes of captures that go on, when they were decoded last.
    decoded: HashMap<CaptureId, u64>,
    waiting: VecDeque<SealedRevision>,
    failed: bool,
}

impl FactsThread {
    fn new(shared: FactsShared) -> Self {
        Self {
            shared,
            decoded: HashMap::new(),
            waiting: VecDeque::new(),
            failed: false,
        }
    }

    fn run(&mut self, sealed: &Receiver<SealedRevision>) {
        let missing = Deriver::of(&self.shared).missing();
        self.catch_up(missing);
        while let Ok(first) = sealed.recv() {
            self.take(first);
            while self.waiting.len() < AT_A_TIME
                && let Ok(next) = sealed.recv_timeout(GATHERING)
            {
                self.take(next);
            }
            while !self.waiting.is_empty() {
                let batch = self.next_batch();
                self.decode(&batch);
            }
        }
    }

    /// Decodes what earlier starts left.
    fn catch_up(&mut self, missing: Result<Vec<CaptureId>, Error>) {
        match missing {
            Ok(missing) => {
                for batch in missing.chunks(AT_A_TIME) {
                    self.decode(batch);
                }
            }
            Err(error) => self.tell(&error),
        }
    }

    /// Queues a capture: one that goes on only when it is twice as long as it was, so that the work is at most that of reading it twice.
    fn take(&mut self, sealed: SealedRevision) {
        let counts = &self.shared.counts.facts;
        let before = self.decoded.get(&sealed.id).copied().unwrap_or(0);
        if sealed.is_over {
            self.decoded.remove(&sealed.id);
        } else if before > 0 && sealed.n_bytes < before.saturating_mul(2) {
            counts.taken.add(1);
            return;
        } else {
            self.decoded.insert(sealed.id, sealed.n_bytes.max(1));
        }
        self.waiting.push_back(sealed);
    }

    /// Takes the captures of the next process.
    fn next_batch(&mut self) -> Vec<CaptureId> {
        let (mut batch, mut n_bytes, mut n_taken) = (Vec::new(), 0_u64, 0);
        while let Some(next) = self.waiting.front() {
            n_bytes = n_bytes.saturating_add(next.n_bytes);
            if !batch.is_empty() && (batch.len() >= AT_A_TIME || n_bytes > BYTES_AT_A_TIME) {
                break;
            }
            if !batch.contains(&next.id) {
                batch.push(next.id);
            }
            self.waiting.pop_front();
            n_taken += 1;
        }
        self.shared.counts.facts.taken.add(n_taken);
        batch
    }

    fn decode(&mut self, batch: &[CaptureId]) {
        let keep_out = self.shared.keep_out.clone();
        while keep_out.load(Ordering::Relaxed) {
            std::thread::sleep(GATHERING);
        }
        match Deriver::of(&self.shared).derive(batch) {
            Ok(()) => self.failed = false,
            Err(error) => self.tell(&error),
        }
    }

    fn tell(&mut self, error: &Error) {
        if !self.failed {
            (self.shared.tell)(format!("facts of captures are not kept: {error}"));
        }
        self.failed = true;
    }
}

/// Decodes captures of a folder in processes of their own, and adds rows to its catalog.
struct Deriver<'d> {
    folder: &'d DataFolder,
    answers: &'d Answers,
    counts: &'d FactsCounts,
}

impl<'d> Deriver<'d> {
    fn of(shared: &'d FactsShared) -> Self {
        Self {
            folder: &shared.folder,
            answers: &shared.answers,
            counts: &shared.counts.facts,
        }
    }

    /// Returns the captures whose newest manifests have no row or no index of calls, and removes what is known of captures that are gone.
    fn missing(&self) -> Result<Vec<CaptureId>, Error> {
        let manifests = self.manifests()?;
        let newest = newest(&manifests)?;
        self.tidy(|id| newest.contains_key(&id))?;
        let rows = FactsCatalog::read(self.folder)?;
        let is_known = |id: &CaptureId, revision: u64| {
            let row = rows.get(id).filter(|row| row.revision == revision);
            let row = row.filter(|row| manifests.hash(*id, revision).ok() == Some(row.manifest));
            row.is_some_and(|row| {
                row.facts.is_none() || CallIndex::is_made(self.folder, *id, row.manifest)
            })
        };
        let missing = newest
            .iter()
            .filter(|(id, revision)| !is_known(id, **revision));
        let mut missing: Vec<CaptureId> = missing.map(|(id, _)| *id).collect();
        missing.sort_unstable();
        Ok(missing)
    }

    /// Removes what is known of captures that are gone.
    fn tidy(&self, keep: impl Fn(CaptureId) -> bool) -> Result<(), Error> {
        FactsCatalog::of(self.folder).tidy(&keep)?;
        let failed = |error| Error::new(format!("cannot tidy indexes: {error}"));
        tidy_call_indexes(self.folder, &keep).map_err(failed)?;
        tidy_profile_indexes(self.folder, keep).map_err(failed)
    }

    fn manifests(&self) -> Result<Manifests, Error> {
        Ok(self.folder.disks()?.manifests)
    }

    /// Decodes captures, and adds their rows. One that no process decodes has a row without facts.
    fn derive(&self, ids: &[CaptureId]) -> Result<(), Error> {
        let catalog = FactsCatalog::of(self.folder);
        let mut left = ids.to_vec();
        // After a failure the first one has a process of its own.
        let mut alone = false;
        while !left.is_empty() {
            let together = if alone { 1 } else { left.len() };
            let asked = left.get(..together).unwrap_or_default();
            let (rows, is_well) = self.decode(asked)?;
            if !rows.is_empty() {
                catalog.add(&rows)?;
                self.counts.decoded.add(rows.len() as u64);
            }
            match (is_well, rows.first()) {
                // Those without a row are gone.
                (true, _) => drop(left.drain(..together)),
                (false, Some(_)) => left.retain(|id| rows.iter().all(|row| row.id != *id)),
                (false, None) if together > 1 => {}
                (false, None) => {
                    let failed = left.remove(0);
                    self.counts.undecodable.add(1);
                    catalog.add(&self.without_facts(failed)?)?;
                }
            }
            alone = !is_well && !alone;
        }
        Ok(())
    }

    /// Returns the row of a capture that could not be decoded, if it is still there.
    fn without_facts(&self, id: CaptureId) -> Result<Vec<FactsRow>, Error> {
        let manifests = self.manifests()?;
        let revision = newest(&manifests)?.get(&id).copied();
        let row = revision.and_then(|revision| {
            let manifest = manifests.hash(id, revision).ok()?;
            Some(FactsRow {
                id,
                revision,
                manifest,
                facts: None,
            })
        });
        Ok(row.into_iter().collect())
    }

    /// Has a process decode captures. Returns the rows that it printed, and `true` if it came to its end.
    fn decode(&self, ids: &[CaptureId]) -> Result<(Vec<FactsRow>, bool), Error> {
        let failed = |error: std::io::Error| Error::new(format!("no process decodes: {error}"));
        let question = Question::Facts(ids.to_vec());
        let mut command =
            (self.answers.0)(&Catalog::of(self.folder.clone()), &question).map_err(failed)?;
        let mut child = command
            .command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        bound(child.id());
        yield_to_others(child.id());
        let mut rows = Vec::new();
        if let Some(out) = child.stdout.take() {
            let lines = BufReader::new(out.take(LARGEST)).lines();
            let parsed = lines.map_while(Result::ok).map(|line| line.parse().ok());
            rows.extend(
                parsed
                    .flatten()
                    .filter(|row: &FactsRow| ids.contains(&row.id)),
            );
        }
        // What prints more than its rows is stopped by the closed pipe.
        let status = child.wait().map_err(failed)?;
        Ok((rows, status.success()))
    }
}

/// Returns the newest revision of each capture.
fn newest(manifests: &Manifests) -> Result<HashMap<CaptureId, u64>, Error> {
    let listed = manifests.list();
    let listed = listed.map_err(|error| Error::new(format!("cannot list captures: {error}")))?;
    let newest = listed.into_iter().filter_map(|(id, revisions)| {
        let newest = revisions.last().copied();
        newest.map(|newest| (id, newest))
    });
    Ok(newest.collect())
}

/// Decodes every sealed capture of a folder again, and adds their rows to the catalog. `progress` learns how many of how many are done.
///
/// # Errors
/// When the folder cannot be read, the catalog cannot be written, or no process starts.
pub fn rebuild_catalog(
    folder: &DataFolder,
    answers: &Answers,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<usize, Error> {
    let counts = FactsCounts::default();
    let deriver = Deriver {
        folder,
        answers,
        counts: &counts,
    };
    let mut ids: Vec<CaptureId> = newest(&deriver.manifests()?)?.into_keys().collect();
    ids.sort_unstable();
    let mut n_done = 0;
    for batch in ids.chunks(AT_A_TIME) {
        deriver.derive(batch)?;
        n_done += batch.len();
        progress(n_done, ids.len());
    }
    deriver.tidy(|id| ids.binary_search(&id).is_ok())?;
    Ok(n_done)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use traceloom_formats::protocol::Identity;
    use traceloom_input::captures::call_index::CallIndexWriter;
    use traceloom_input::captures::{CaptureFacts, Manifest};
    use traceloom_log::Position;

    use super::*;

    fn id(number: u64) -> CaptureId {
        CaptureId::new(1, number)
    }

    /// Writes the manifest of an empty capture, and returns the row that a process prints of it.
    fn seal(folder: &DataFolder, number: u64) -> FactsRow {
        let manifest = Manifest {
            id: id(number),
            revision: 1,
            base: 0,
            end: Position(number),
            sealed_ns: 1,
            pinned: false,
            protocol: 1,
            opened_ns: 1,
            peer: String::new(),
            identity: Identity::default(),
            closed: None,
            doubts: Vec::new(),
            parts: Vec::new(),
            context: Vec::new(),
            incarnation: 1,
        };
        let bytes = manifest.encode();
        let name = Manifest::file_name(manifest.id, 1);
        fs::write(folder.path().join("captures").join(name), &bytes).unwrap();
        FactsRow {
            id: manifest.id,
            revision: 1,
            manifest: Manifest::hash(&bytes).unwrap(),
            facts: Some(CaptureFacts {
                n_records: number,
                ..CaptureFacts::default()
            }),
        }
    }

    /// Answers with rows that stand in files; a capture without a file is gone, and one whose file is empty ends the process.
    fn answers(rows: &Path) -> Answers {
        const PRINT: &str = r#"for id; do
            [ -e "$id" ] || continue
            [ -s "$id" ] || kill -KILL $$
            cat "$id"
        done"#;
        let rows = rows.to_owned();
        Answers(Arc::new(move |_: &Catalog, question: &Question| {
            let Question::Facts(ids) = question else {
                return Err(std::io::ErrorKind::Unsupported.into());
            };
            let mut command = Command::new("sh");
            command.current_dir(&rows).args(["-c", PRINT, "sh"]);
            command.args(ids.iter().map(CaptureId::to_string));
            Ok(command.into())
        }))
    }

    #[test]
    fn a_capture_that_ends_its_process_takes_no_other_along() {
        let scratch = tempfile::tempdir().unwrap();
        let printed = scratch.path().join("rows");
        fs::create_dir(&printed).unwrap();
        let folder = DataFolder::create(&scratch.path().join("data")).unwrap();
        for number in 1..=9 {
            let row = seal(&folder, number);
            let line = match number {
                4 | 5 | 9 => String::new(),
                7 => continue,
                _ => format!("{row}\n"),
            };
            fs::write(printed.join(row.id.to_string()), line).unwrap();
        }
        let mut progress = Vec::new();
        let rebuilt = rebuild_catalog(&folder, &answers(&printed), &mut |n_done, n_all| {
            progress.push((n_done, n_all));
        });
        assert_eq!((rebuilt.unwrap(), progress), (9, vec![(9, 9)]));
        let rows = FactsCatalog::read(&folder).unwrap();
        let of = |number| {
            rows.get(&id(number))
                .map(|row| row.facts.map(|facts| facts.n_records))
        };
        for number in [1, 2, 3, 6, 8] {
            assert_eq!(of(number), Some(Some(number)));
        }
        for number in [4, 5, 9] {
            assert_eq!(of(number), Some(None), "{number}");
        }
        assert_eq!(of(7), None);
    }

    #[test]
    fn what_the_catalog_has_is_not_decoded_again() {
        let scratch = tempfile::tempdir().unwrap();
        let printed = scratch.path().join("rows");
        fs::create_dir(&printed).unwrap();
        let folder = DataFolder::create(&scratch.path().join("data")).unwrap();
        let rows: Vec<FactsRow> = (1..=3).map(|number| seal(&folder, number)).collect();
        let other = FactsRow {
            manifest: rows[0].manifest,
            ..rows[1].clone()
        };
        FactsCatalog::of(&folder)
            .add(&[rows[0].clone(), other])
            .unwrap();
        for row in &rows[..2] {
            let index = CallIndexWriter::new(&folder, row.id, row.manifest).unwrap();
            index.finish().unwrap();
        }
        let counts = FactsCounts::default();
        let answers = answers(&printed);
        let deriver = Deriver {
            folder: &folder,
            answers: &answers,
            counts: &counts,
        };
        assert_eq!(deriver.missing().unwrap(), [id(2), id(3)]);
        // Facts without an index of calls are made again.
        fs::remove_file(folder.call_index(id(1))).unwrap();
        assert_eq!(deriver.missing().unwrap(), [id(1), id(2), id(3)]);
    }

    #[test]
    fn a_capture_that_goes_on_is_decoded_whenever_it_has_doubled() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = DataFolder::create(&scratch.path().join("data")).unwrap();
        let mut thread = FactsThread::new(FactsShared {
            folder,
            answers: answers(scratch.path()),
            counts: Arc::default(),
            keep_out: Arc::default(),
            tell: Box::new(|_| ()),
        });
        let mut queued = |n_bytes: u64, is_over: bool| {
            let id = id(1);
            thread.take(SealedRevision {
                id,
                n_bytes,
                is_over,
            });
            thread.next_batch().len()
        };
        let goes_on: Vec<usize> = [10, 11, 19, 20, 39, 41, 50]
            .map(|n| queued(n, false))
            .into();
        assert_eq!(goes_on, [1, 0, 0, 1, 0, 1, 0]);
        assert_eq!((queued(51, true), queued(51, true)), (1, 1));
    }
}
