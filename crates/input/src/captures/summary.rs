//! What is known of every capture of a data folder without its bytes, held in memory.
//!
//! Manifests are read once: a revision never changes. The log is read on from where it was read before, and the file of facts behind its
//! last line. What another process changed is seen in the folder itself: a manifest that came or went, a file of facts that was written
//! again. It takes some 400 bytes a capture.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use traceloom_formats::protocol::{CaptureRules, Identity};
use traceloom_log::{Position, ReadPlace, Snapshot};

use super::facts::{CATALOG, CaptureFacts, FactsRow};
use super::{
    Capture, CaptureBuilder, CaptureId, ContentHash, DataFolder, EVENTS, Event, Manifest,
    Manifests, State,
};

/// A capture without its bytes.
#[derive(Clone, Debug)]
pub struct CaptureSummary {
    /// Its id.
    pub id: CaptureId,
    /// Its protocol; `None` for one that this program does not know.
    pub protocol: Option<&'static CaptureRules>,
    /// Who sent.
    pub identity: Identity,
    /// When it began, in Unix nanoseconds of the collector's clock.
    pub opened_ns: Option<i64>,
    /// Where it stands.
    pub state: State,
    /// The start of the collector in which it went on last.
    pub incarnation: u64,
    /// Hash of the manifest, where it has one.
    pub manifest: Option<ContentHash>,
    /// The manifest has all of it.
    pub is_sealed: bool,
    /// Bytes of its parts.
    pub n_bytes: u64,
    /// Bytes that its chunks take on disk.
    pub n_stored: u64,
    /// What decoding it showed, as far as that was done.
    pub facts: Option<FactsRow>,
}

impl CaptureSummary {
    /// Returns the facts of all of it: of a capture that ended, sealed and decoded as it is now.
    #[must_use]
    pub fn whole_facts(&self) -> Option<&CaptureFacts> {
        let row = self.facts.as_ref()?;
        let is_whole = self.is_sealed && self.manifest == Some(row.manifest);
        row.facts
            .as_ref()
            .filter(|_| is_whole && self.state != State::Open)
    }

    fn of(builder: &CaptureBuilder, sealed: Option<&Sealed>, running: Option<u64>) -> Self {
        let unfinished = match running == Some(builder.incarnation()) {
            true => State::Open,
            false => State::Interrupted,
        };
        let n_sealed = sealed.map_or(0, |sealed| sealed.n_bytes);
        Self {
            id: builder.id,
            protocol: builder.protocol,
            identity: builder.identity(),
            opened_ns: builder.opened_ns,
            state: builder.closed.clone().map_or(unfinished, State::Closed),
            incarnation: builder.incarnation(),
            manifest: sealed.and_then(|sealed| sealed.hash),
            is_sealed: sealed.is_some_and(|sealed| sealed.hash.is_some())
                && builder.first_unsealed().is_none(),
            n_bytes: n_sealed + builder.n_unsealed(),
            n_stored: sealed.map_or(0, |sealed| sealed.n_stored),
            facts: None,
        }
    }
}

impl From<&Capture> for CaptureSummary {
    fn from(capture: &Capture) -> Self {
        Self {
            id: capture.id,
            protocol: capture.protocol,
            identity: capture.identity.clone(),
            opened_ns: capture.opened_ns,
            state: capture.state.clone(),
            incarnation: capture.incarnation,
            manifest: capture.manifest,
            is_sealed: capture.is_sealed,
            n_bytes: capture.parts.iter().map(|part| part.n_bytes).sum(),
            n_stored: capture.parts.iter().map(|part| part.n_stored).sum(),
            facts: capture.facts.clone(),
        }
    }
}

/// What the newest manifest of a capture says.
struct Sealed {
    revision: u64,
    /// Position in the log behind the last record that is sealed.
    end: Position,
    /// `None` where the manifest cannot be read.
    hash: Option<ContentHash>,
    n_bytes: u64,
    n_stored: u64,
}

/// What is known of a capture.
struct Known {
    /// What its newest manifest says, if it has one.
    sealed: Option<Sealed>,
    /// It with what the log has behind the manifest, while there is such.
    unsealed: Option<CaptureBuilder>,
    summary: Arc<CaptureSummary>,
}

/// All captures of a data folder, without their bytes.
pub struct HeldCaptures {
    folder: DataFolder,
    manifests: Manifests,
    /// The start of the collector that runs.
    running: Option<u64>,
    known: BTreeMap<CaptureId, Known>,
    /// Positions of tombstones that are in the log.
    deleted: BTreeMap<CaptureId, Position>,
    /// Where the log is read on.
    next: Position,
    place: Option<ReadPlace>,
    /// When the folder of manifests changed last, where that is long enough ago that a later change has another time.
    listed: Option<SystemTime>,
    facts: FactsFollower,
    /// Facts of captures that are not known yet.
    early: BTreeMap<CaptureId, FactsRow>,
}

/// How long a time of a folder has to be over before an equal one means that nothing changed.
const SETTLED: Duration = Duration::from_secs(2);

impl HeldCaptures {
    /// Knows nothing yet; `running` is the start of the collector whose captures may go on.
    ///
    /// # Errors
    /// When the folders of sealed captures cannot be opened.
    pub fn new(folder: &DataFolder, running: Option<u64>) -> Result<Self, crate::Error> {
        Ok(Self {
            folder: folder.clone(),
            manifests: folder.disks()?.manifests,
            running,
            known: BTreeMap::new(),
            deleted: BTreeMap::new(),
            next: Position(0),
            place: None,
            listed: None,
            facts: FactsFollower::default(),
            early: BTreeMap::new(),
        })
    }

    /// Returns the captures, in the order in which they began, as they are in a snapshot of the log and in the folder now.
    ///
    /// # Errors
    /// When the folder or the log cannot be read.
    pub fn refresh(&mut self, log: &Snapshot) -> io::Result<Vec<Arc<CaptureSummary>>> {
        let changed = self.read_manifests()?;
        self.follow(log, &changed)?;
        for row in self.facts.read_on(&self.folder)? {
            match self.known.get_mut(&row.id) {
                Some(known) => Arc::make_mut(&mut known.summary).facts = Some(row),
                // It was sealed and decoded since manifests were listed.
                None => drop(self.early.insert(row.id, row)),
            }
        }
        let present = self.known.iter();
        let present = present.filter(|(id, _)| !self.deleted.contains_key(id));
        Ok(present.map(|(_, known)| known.summary.clone()).collect())
    }

    /// Reads manifests that are new, and forgets those that are gone. Returns the captures whose manifests are new.
    fn read_manifests(&mut self) -> io::Result<BTreeSet<CaptureId>> {
        /// A revision may be replaced while it is looked for.
        const TRIES: usize = 5;
        let mut changed = BTreeSet::new();
        let modified = fs::metadata(self.folder.manifests()).and_then(|folder| folder.modified());
        let modified = modified.ok();
        if modified.is_some() && modified == self.listed {
            return Ok(changed);
        }
        let now = SystemTime::now();
        self.listed = modified.filter(|&at| now.duration_since(at).is_ok_and(|age| age > SETTLED));
        for tries in 1..=TRIES {
            let listed = self.manifests.list()?;
            self.known
                .retain(|id, known| known.sealed.is_none() || listed.contains_key(id));
            let mut is_replaced = false;
            for (id, revisions) in listed {
                let Some(&revision) = revisions.last() else {
                    continue;
                };
                let held = self.known.get(&id).and_then(|known| known.sealed.as_ref());
                if held.is_some_and(|sealed| sealed.revision == revision && sealed.hash.is_some()) {
                    continue;
                }
                match self.manifests.read_hashed(id, revision) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound && tries < TRIES => {
                        is_replaced = true;
                    }
                    read => {
                        // One that is damaged may be mended.
                        if read.is_err() {
                            self.listed = None;
                        }
                        self.take_manifest(id, revision, read.ok());
                        changed.insert(id);
                    }
                }
            }
            if !is_replaced {
                break;
            }
        }
        Ok(changed)
    }

    fn take_manifest(
        &mut self,
        id: CaptureId,
        revision: u64,
        read: Option<(Manifest, ContentHash)>,
    ) {
        let (builder, sealed) = match read {
            Some((manifest, hash)) => {
                let stored = manifest.chunks().map(|chunk| u64::from(chunk.n_stored));
                let sealed = Sealed {
                    revision,
                    end: manifest.end,
                    hash: Some(hash),
                    n_bytes: manifest.parts.iter().map(|part| part.n_bytes).sum(),
                    n_stored: stored.sum(),
                };
                (CaptureBuilder::resume(&manifest), sealed)
            }
            None => {
                let sealed = Sealed {
                    revision,
                    end: Position(0),
                    hash: None,
                    n_bytes: 0,
                    n_stored: 0,
                };
                (CaptureBuilder::new(id), sealed)
            }
        };
        let mut summary = CaptureSummary::of(&builder, Some(&sealed), self.running);
        let before = self
            .known
            .get(&id)
            .and_then(|known| known.summary.facts.clone());
        summary.facts = self.early.remove(&id).or(before);
        let known = Known {
            sealed: Some(sealed),
            unsealed: None,
            summary: Arc::new(summary),
        };
        self.known.insert(id, known);
    }

    /// Takes the records of the log that are new: behind those that were read, and behind what the `changed` captures have sealed.
    fn follow(&mut self, log: &Snapshot, changed: &BTreeSet<CaptureId>) -> io::Result<()> {
        if self.next < log.start() {
            // What was not read is sealed by now.
            self.known.retain(|_, known| known.sealed.is_some());
            self.next = log.start();
            self.place = None;
        }
        self.deleted.retain(|_, position| *position >= log.start());
        let ends = changed.iter().filter_map(|id| self.sealed_end(*id));
        let from = ends.fold(self.next, Position::min).max(log.start());
        let mut reader = match &self.place {
            Some(place) if from == self.next => log.reader_behind(place),
            _ => log.reader_from(from),
        };
        let about = |error: traceloom_log::Error| io::Error::other(error.to_string());
        let mut grown = BTreeSet::new();
        while let Some(group) = reader.next_group().map_err(about)? {
            for (position, (_, record)) in (group.start.0..).zip(group.located()) {
                let (position, id) = (Position(position), CaptureId::of_session(record.session));
                let is_read = position < self.next && !changed.contains(&id);
                let is_sealed = self.sealed_end(id).is_some_and(|end| position < end);
                if is_read || is_sealed || self.deleted.contains_key(&id) {
                    continue;
                }
                if record.stream == EVENTS {
                    match Event::decode(record.kind, record.bytes) {
                        Some(Event::Deleted { .. }) => {
                            self.deleted.insert(id, position);
                            self.known.remove(&id);
                            continue;
                        }
                        // What they say is in the manifest.
                        Some(Event::Seal { .. } | Event::Sealed { .. }) => continue,
                        _ => {}
                    }
                }
                self.builder(id)?.take(position, &record, 0);
                grown.insert(id);
            }
        }
        self.place = reader.place();
        self.next = self.next.max(log.end());
        for id in grown {
            let Some(known) = self.known.get_mut(&id) else {
                continue;
            };
            let Known {
                sealed,
                unsealed: Some(builder),
                summary,
            } = known
            else {
                continue;
            };
            let facts = summary.facts.clone();
            *summary = Arc::new(CaptureSummary {
                facts,
                ..CaptureSummary::of(builder, sealed.as_ref(), self.running)
            });
        }
        Ok(())
    }

    fn sealed_end(&self, id: CaptureId) -> Option<Position> {
        let sealed = self.known.get(&id)?.sealed.as_ref()?;
        Some(sealed.end)
    }

    /// Returns what takes the records of a capture that are not sealed.
    fn builder(&mut self, id: CaptureId) -> io::Result<&mut CaptureBuilder> {
        let Self {
            manifests,
            known,
            running,
            ..
        } = self;
        let known = known.entry(id).or_insert_with(|| {
            let builder = CaptureBuilder::new(id);
            Known {
                sealed: None,
                summary: Arc::new(CaptureSummary::of(&builder, None, *running)),
                unsealed: Some(builder),
            }
        });
        let builder = match (&known.sealed, known.unsealed.take()) {
            (_, Some(builder)) => builder,
            (Some(sealed), None) if sealed.hash.is_some() => {
                CaptureBuilder::resume(&manifests.read(id, sealed.revision)?)
            }
            (_, None) => CaptureBuilder::new(id),
        };
        Ok(known.unsealed.insert(builder))
    }
}

/// Reads the file of facts on where it grew.
#[derive(Default)]
struct FactsFollower {
    /// Bytes that were read.
    n_read: u64,
    /// The last of them: a file that was written again has others there, because each line has a checksum.
    last: Vec<u8>,
}

/// Bytes of the last lines that are compared.
const COMPARED: usize = 64;

impl FactsFollower {
    /// Returns the rows that are new.
    fn read_on(&mut self, folder: &DataFolder) -> io::Result<Vec<FactsRow>> {
        let mut file = match File::open(folder.path().join(CATALOG)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                *self = Self::default();
                return Ok(Vec::new());
            }
            opened => opened?,
        };
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(self.n_read - self.last.len() as u64))?;
        file.read_to_end(&mut bytes)?;
        if !bytes.starts_with(&self.last) {
            *self = Self::default();
            bytes.clear();
            file.seek(SeekFrom::Start(0))?;
            file.read_to_end(&mut bytes)?;
        }
        // A line that is being written is read once it is whole.
        let end = bytes.iter().rposition(|&byte| byte == b'\n');
        let end = end.map_or(0, |at| at + 1).max(self.last.len());
        let new = bytes.get(self.last.len()..end).unwrap_or_default();
        let lines = new.split(|&byte| byte == b'\n');
        let rows = lines.filter_map(FactsRow::of_line).collect();
        self.n_read += new.len() as u64;
        let last = bytes.get(end.saturating_sub(COMPARED)..end);
        self.last = last.unwrap_or_default().to_vec();
        Ok(rows)
    }
}
