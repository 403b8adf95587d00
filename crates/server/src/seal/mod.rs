//! Sealing: what the log has of captures becomes chunks and manifests, and leaves the log.
//!
//! Order is everything. A decision to seal is a record, durable before anything else happens, so that sealing again
//! makes the same chunks. Chunks are durable before the manifest that lists them, the manifest before the record that
//! says so, and that before the log is truncated. Deleting goes the other way round.

mod clock;
mod delete;
mod requests;
mod rules;
mod thread;
mod write;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io;

use traceloom_input::captures::{
    CaptureBuilder, CaptureDisks, CaptureId, CapturedBytes, DataFolder, EVENTS, Event, Manifest,
    SealDraft,
};
use traceloom_log::{Position, ReadPlace, Snapshot};

use crate::Error;
use crate::facts::SealedRevision;

pub use requests::ask;
pub use rules::{SealRules, SlowRule};
pub(crate) use thread::{Resumer, SealThread, SealedBeside, SealingEvent};

/// The log as sealing needs it.
pub trait SealLog {
    /// Returns what is committed now.
    fn snapshot(&self) -> Snapshot;

    /// Stores events of captures. They are durable on return.
    ///
    /// # Errors
    /// When a write or sync failed.
    fn commit(&mut self, events: &[(CaptureId, Event)]) -> Result<(), Error>;

    /// Has the log forget what is before `position`.
    ///
    /// # Errors
    /// When a write or sync failed.
    fn truncate(&mut self, position: Position) -> Result<(), Error>;
}

/// What operators ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Retention leaves a capture alone.
    Pin(CaptureId),
    /// Retention may take a capture again.
    Unpin(CaptureId),
    /// A capture that ended is deleted.
    Delete(CaptureId),
    /// A session of an earlier start goes on.
    Resume(CaptureId),
}

/// A decision about a capture that the audit log is to hold.
pub(crate) struct Audited {
    pub(crate) what: &'static str,
    pub(crate) capture: CaptureId,
    /// The rule of retention; an operator asked where there is none.
    pub(crate) rule: Option<&'static str>,
    pub(crate) outcome: String,
}

/// Seals the captures of one log, and deletes them.
pub struct Sealer {
    disks: CaptureDisks,
    /// The data folder whose readers are respected; a simulation has none.
    folder: Option<DataFolder>,
    rules: SealRules,
    /// The start of the collector whose sessions may go on.
    incarnation: u64,
    /// Where the log is read on.
    next: Position,
    /// Where that is in its segment.
    place: Option<ReadPlace>,
    bytes: CapturedBytes,
    sessions: BTreeMap<CaptureId, TrackedCapture>,
    /// Newest revisions of all captures that have one.
    revisions: HashMap<CaptureId, u64>,
    /// Decisions that are to be carried out.
    drafts: Vec<SealDraft>,
    /// Manifests that are durable, but the log does not say so.
    unsaid: BTreeMap<CaptureId, Event>,
    /// Captures to be deleted, each with the position of its tombstone.
    deleted: BTreeMap<CaptureId, Position>,
    truncated: Position,
    retention: rules::RetentionClock,
    /// The time that retention goes by; the clock's where nobody says another.
    believed_ns: Option<i64>,
    events: Vec<String>,
    /// What became of requests, and what retention deletes.
    audited: Vec<Audited>,
    /// Bytes that were sealed, and bytes of the chunks that were written for them.
    sealed_bytes: u64,
    chunk_bytes: u64,
    /// Revisions that became durable.
    new_revisions: Vec<SealedRevision>,
}

/// A capture with records in the log.
struct TrackedCapture {
    builder: CaptureBuilder,
    /// The newest link of its manifests.
    link: Option<Manifest>,
    /// When the first record that is not sealed was seen.
    since_ns: Option<i64>,
}

/// Why sealing did not get on.
#[derive(Debug)]
pub(crate) enum SealFailure {
    /// The disk is full: what is deleted makes room.
    Full(String),
    /// Nothing can be trusted any more.
    Failed(Error),
}

impl<E: Into<Error>> From<E> for SealFailure {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

fn failed(doing: &str, error: &io::Error) -> SealFailure {
    let text = format!("{doing}: {error}");
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => SealFailure::Full(text),
        _ => SealFailure::Failed(Error::new(text)),
    }
}

impl Sealer {
    /// Begins where the log begins. Manifests that are there are durable when this returns.
    ///
    /// # Errors
    /// When a folder cannot be read or synced.
    pub fn new(
        disks: CaptureDisks,
        folder: Option<DataFolder>,
        rules: SealRules,
        incarnation: u64,
    ) -> Result<Self, Error> {
        // A name that is seen may be in memory only, and the log is truncated because of it.
        let synced = disks.chunks.sync_folder();
        let synced = synced.and_then(|()| disks.manifests.folder().sync_folder());
        synced.map_err(|error| Error::new(format!("cannot sync sealed captures: {error}")))?;
        let listed = disks.manifests.list();
        let listed =
            listed.map_err(|error| Error::new(format!("cannot list captures: {error}")))?;
        let newest = listed.into_iter().filter_map(|(id, revisions)| {
            let newest = revisions.last().copied();
            newest.map(|newest| (id, newest))
        });
        Ok(Self {
            bytes: CapturedBytes::new(disks.chunks.clone(), None),
            revisions: newest.collect(),
            disks,
            folder,
            rules,
            incarnation,
            next: Position(0),
            place: None,
            sessions: BTreeMap::new(),
            drafts: Vec::new(),
            unsaid: BTreeMap::new(),
            deleted: BTreeMap::new(),
            truncated: Position(0),
            retention: rules::RetentionClock::default(),
            believed_ns: None,
            events: Vec::new(),
            audited: Vec::new(),
            sealed_bytes: 0,
            chunk_bytes: 0,
            new_revisions: Vec::new(),
        })
    }

    /// Seals what is due, carries out what was asked for, and truncates the log. `now_ns` is the collector's clock.
    ///
    /// # Errors
    /// When something cannot be made durable, or the log or a manifest is damaged. A full disk is no error: it is an
    /// event, and tried again.
    pub fn step(
        &mut self,
        log: &mut dyn SealLog,
        now_ns: i64,
        requests: &[Request],
    ) -> Result<(), Error> {
        self.read(log, now_ns)?;
        self.carry_out(log)?;
        let mut decisions = self.due(log, now_ns);
        decisions.extend(self.asked(requests, now_ns));
        decisions.extend(self.expired(now_ns)?);
        if !decisions.is_empty() {
            log.commit(&decisions)?;
            self.read(log, now_ns)?;
            self.carry_out(log)?;
            // What was just stored says nothing that is needed.
            self.read(log, now_ns)?;
        }
        self.truncate(log)
    }

    /// Has retention go by another time than that of the clock.
    pub(crate) fn believe(&mut self, now_ns: i64) {
        self.believed_ns = Some(now_ns);
    }

    /// Takes what an operator should know.
    pub fn take_events(&mut self) -> Vec<String> {
        std::mem::take(&mut self.events)
    }

    /// Takes the revisions that became durable.
    pub(crate) fn take_new_revisions(&mut self) -> Vec<SealedRevision> {
        std::mem::take(&mut self.new_revisions)
    }

    /// Returns `true` if captures are to be deleted, and readers have kept their chunks.
    pub(crate) fn waits_for_readers(&self) -> bool {
        !self.deleted.is_empty()
    }

    /// Takes what the audit log is to hold.
    pub(crate) fn take_audited(&mut self) -> Vec<Audited> {
        std::mem::take(&mut self.audited)
    }

    /// Returns the bytes of data that are in the log and not sealed.
    #[must_use]
    pub fn n_unsealed(&self) -> u64 {
        let sessions = self.sessions.values();
        sessions.map(|tracked| tracked.builder.n_unsealed()).sum()
    }

    /// Returns when the oldest record that is not sealed was seen.
    pub(crate) fn oldest_unsealed_ns(&self) -> Option<i64> {
        let sessions = self.sessions.values();
        sessions.filter_map(|tracked| tracked.since_ns).min()
    }

    /// Returns the bytes that were sealed, and the bytes of the chunks that were written for them.
    pub(crate) fn n_sealed(&self) -> (u64, u64) {
        (self.sealed_bytes, self.chunk_bytes)
    }

    /// Returns `true` if a request is not carried out to its end.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        !self.drafts.is_empty() || !self.deleted.is_empty()
    }

    /// Seals and deletes as far as there is room.
    fn carry_out(&mut self, log: &mut dyn SealLog) -> Result<(), Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            // Deleting makes room, and needs none.
            let deleted = self.delete_marked();
            match deleted.and_then(|()| self.seal_drafts(log)) {
                Ok(()) => return Ok(()),
                Err(SealFailure::Failed(error)) => return Err(error),
                Err(SealFailure::Full(why)) => {
                    let freed = self.folder.as_ref().is_some_and(crate::ballast::release);
                    if !freed || tries > 1 {
                        self.events
                            .push(format!("the disk is full, and sealing waits: {why}"));
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Reads what was committed since.
    fn read(&mut self, log: &dyn SealLog, now_ns: i64) -> Result<(), Error> {
        let snapshot = log.snapshot();
        self.bytes.set_segments(&snapshot);
        let mut reader = match &self.place {
            Some(place) => snapshot.reader_behind(place),
            None => snapshot.reader_from(self.next),
        };
        let mut missing = Vec::new();
        let failed = |error: traceloom_log::Error| Error::new(format!("the log failed: {error}"));
        while let Some(group) = reader.next_group().map_err(failed)? {
            let (start, segment) = (group.start.0, group.segment);
            for (position, (offset, record)) in (start..).zip(group.located()) {
                let position = Position(position);
                if position < self.next {
                    continue;
                }
                let id = CaptureId::of_session(record.session);
                let event = match record.stream {
                    EVENTS => Event::decode(record.kind, record.bytes),
                    _ => None,
                };
                match event {
                    Some(Event::Sealed { revision, .. }) => {
                        if self
                            .revisions
                            .get(&id)
                            .is_none_or(|newest| *newest < revision)
                        {
                            missing.push((id, revision));
                        }
                        self.unsaid.remove(&id);
                        continue;
                    }
                    Some(Event::Deleted { .. }) => {
                        self.drafts.retain(|draft| draft.manifest.id != id);
                        self.unsaid.remove(&id);
                        self.deleted.insert(id, position);
                        continue;
                    }
                    _ => {}
                }
                let tracked = match self.sessions.entry(id) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => {
                        let revision = self.revisions.get(&id).copied();
                        new.insert(TrackedCapture::of(id, revision, &self.disks)?)
                    }
                };
                if let Some(Event::Seal { at_ns, why }) = event {
                    let end = Position(position.0 + 1);
                    if end > tracked.builder.sealed_end() {
                        self.drafts.push(tracked.builder.cut(end, at_ns, why));
                        tracked.since_ns = None;
                    } else if let Some(link) = &tracked.link
                        && link.end == end
                        && let Some(manifest) = Manifest::hash(&link.encode())
                    {
                        let revision = link.revision;
                        self.unsaid.insert(id, Event::Sealed { revision, manifest });
                    }
                    continue;
                }
                let place = CapturedBytes::in_segment(segment, offset);
                tracked.builder.take(position, &record, place);
                if tracked.builder.first_unsealed().is_some() {
                    tracked.since_ns.get_or_insert(now_ns);
                }
            }
            self.next = Position(start + group.records().count() as u64);
        }
        self.place = reader.place();
        self.next = self.next.max(snapshot.end());
        let deleted = &self.deleted;
        missing.retain(|(id, _)| !deleted.contains_key(id));
        if let Some((id, revision)) = missing.first() {
            return Err(Error::new(format!(
                "capture {id} was sealed, and its manifest, revision {revision}, is missing"
            )));
        }
        self.sessions.retain(|id, _| !deleted.contains_key(id));
        Ok(())
    }

    /// Has the log forget what nobody needs from it.
    fn truncate(&mut self, log: &mut dyn SealLog) -> Result<(), Error> {
        if !self.drafts.is_empty() {
            return Ok(());
        }
        let unsealed = self.sessions.values();
        let unsealed = unsealed.filter_map(|tracked| tracked.builder.first_unsealed());
        let needed = unsealed.chain(self.deleted.values().copied()).min();
        let position = needed.unwrap_or(self.next).min(self.next);
        if position > self.truncated {
            self.truncated = position;
            log.truncate(position)?;
        }
        // What has nothing in the log is opened again from its manifest.
        let running = self.incarnation;
        self.sessions.retain(|_, tracked| {
            let builder = &tracked.builder;
            builder.may_go_on(running) || builder.first_unsealed().is_some()
        });
        Ok(())
    }
}

impl TrackedCapture {
    fn of(id: CaptureId, revision: Option<u64>, disks: &CaptureDisks) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::new(error.to_string());
        let (builder, link) = match revision {
            None => (CaptureBuilder::new(id), None),
            Some(revision) => {
                let whole = disks.manifests.read(id, revision).map_err(failed)?;
                let link = disks.manifests.read_one(id, revision).map_err(failed)?;
                (CaptureBuilder::resume(&whole), Some(link))
            }
        };
        Ok(Self {
            builder,
            link,
            since_ns: None,
        })
    }
}
