//! Captures from manifests and the log: who sent what, and where its bytes are.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::Arc;

use traceloom_formats::protocol::{AgentCommand, CaptureRules, Identity};
use traceloom_formats::{info, warn};
use traceloom_log::{Position, Recovered, Snapshot};
use traceloom_model::Note;

use super::facts::{CaptureFacts, FactsCatalog, FactsRow};
use super::posts::Receipt;
use super::{
    CaptureBuilder, CaptureDisks, CapturedBytes, ContentHash, DataFolder, Manifest, Manifests,
    SessionEnd,
};
use crate::Error;

/// The id of a capture: the start of the collector that received it, from 1, and its number since then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CaptureId(u64);

impl CaptureId {
    /// Bits for the number.
    const NUMBER: u32 = 40;

    /// Makes the id of the session `number` of a start of the collector.
    #[must_use]
    pub fn new(incarnation: u64, number: u64) -> Self {
        Self(incarnation << Self::NUMBER | number & ((1 << Self::NUMBER) - 1))
    }

    /// Returns the id of a session of the log.
    #[must_use]
    pub fn of_session(session: u64) -> Self {
        Self(session)
    }

    /// Returns the number by which the log knows the session.
    #[must_use]
    pub fn session(self) -> u64 {
        self.0
    }

    /// Returns the start of the collector.
    #[must_use]
    pub fn incarnation(self) -> u64 {
        self.0 >> Self::NUMBER
    }
}

impl fmt::Display for CaptureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.0 & ((1 << Self::NUMBER) - 1);
        write!(f, "{}-{number}", self.incarnation())
    }
}

impl FromStr for CaptureId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('-').and_then(|(incarnation, number)| {
            let id = Self::new(incarnation.parse().ok()?, number.parse().ok()?);
            (id.to_string() == text).then_some(id)
        });
        parsed.ok_or_else(|| format!("`{text}` is no id of a capture, such as 1-7"))
    }
}

/// Where a capture stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The sender may send more.
    Open,
    /// The collector ended before the sender did.
    Interrupted,
    /// The session ended.
    Closed(SessionEnd),
}

/// What one sender sent over one connection.
#[derive(Debug)]
pub struct Capture {
    /// Its id.
    pub id: CaptureId,
    /// Its protocol; `None` for one that this program does not know.
    pub protocol: Option<&'static CaptureRules>,
    /// Who sent.
    pub identity: Identity,
    /// Address that it came from.
    pub peer: String,
    /// When it began, in Unix nanoseconds of the collector's clock.
    pub opened_ns: Option<i64>,
    /// Where it stands.
    pub state: State,
    /// The start of the collector in which it went on last.
    pub incarnation: u64,
    /// Revision of its manifest; 0 where nothing is sealed.
    pub revision: u64,
    /// Hash of the manifest, where it has one.
    pub manifest: Option<ContentHash>,
    /// The manifest has all of it.
    pub is_sealed: bool,
    /// What decoding it showed, as far as that was done.
    pub facts: Option<FactsRow>,
    /// Retention leaves it alone.
    pub pinned: bool,
    /// The streams.
    pub parts: Vec<CapturePart>,
    /// Commands that its sender was asked to carry out.
    pub commands: Vec<AgentCommand>,
    /// Posts that came again, and were not stored again.
    pub receipts: Vec<Receipt>,
    /// What was not understood, a sentence each.
    pub doubts: Vec<String>,
}

/// A stream of a capture.
#[derive(Debug)]
pub struct CapturePart {
    /// Its name: the sender's, then names that can be those of files.
    pub name: String,
    /// Where its bytes are in chunks and the log: place and length.
    pub(crate) pieces: Vec<(u64, u32)>,
    /// Units it came in.
    pub n_units: u64,
    /// Bytes it has.
    pub n_bytes: u64,
    /// Bytes that its chunks take on disk.
    pub n_stored: u64,
}

impl CapturePart {
    /// Leaves the first bytes.
    pub(crate) fn cut(&mut self, n_bytes: u64) {
        let mut left = n_bytes;
        for (_, length) in &mut self.pieces {
            *length = u32::try_from(left).map_or(*length, |left| left.min(*length));
            left -= u64::from(*length);
        }
        self.pieces.retain(|&(_, length)| length > 0);
        self.n_bytes = self.n_bytes.min(n_bytes);
    }
}

impl Capture {
    /// Returns the facts of all of it: of a capture that ended, sealed and decoded as it is now.
    #[must_use]
    pub fn whole_facts(&self) -> Option<&CaptureFacts> {
        let row = self.facts.as_ref()?;
        let is_whole = self.is_sealed && self.manifest == Some(row.manifest);
        row.facts
            .as_ref()
            .filter(|_| is_whole && self.state != State::Open)
    }

    /// Returns what a reader of the capture should know.
    pub(crate) fn notes(&self) -> Vec<Note> {
        let doubts = self.doubts.iter();
        let mut notes: Vec<Note> = doubts
            .map(|doubt| warn("not_understood", 0, format!("capture {}: {doubt}", self.id)))
            .collect();
        if self.state == State::Open {
            let text = format!("capture {} is being sent: this is its beginning", self.id);
            notes.push(info("capture_open", 0, text));
        }
        notes
    }
}

/// All captures of a data folder at one moment.
#[derive(Debug)]
pub struct Captures {
    /// In the order in which they began.
    pub list: Vec<Capture>,
    /// What was found in the log.
    pub recovered: Recovered,
    pub(crate) bytes: Arc<CapturedBytes>,
}

impl Captures {
    /// Reads the manifests and the log of a data folder.
    ///
    /// # Errors
    /// When it is damaged, or cannot be read.
    pub fn read(folder: &DataFolder) -> Result<Self, Error> {
        // Asked before: a collector that ends meanwhile leaves nothing open.
        let in_use = folder.is_in_use();
        // Taken before: what is deleted meanwhile stays until this is read to its end.
        let disks = folder.disks()?.leased(folder)?;
        let (snapshot, recovered) = folder.snapshot()?;
        let read = Self::of(&snapshot, recovered, in_use, &disks);
        let mut read = read.map_err(|error| Error::about(folder.path(), error.to_string()))?;
        let mut facts = FactsCatalog::read(folder)?;
        for capture in &mut read.list {
            capture.facts = facts.remove(&capture.id);
        }
        Ok(read)
    }

    /// Reads some captures of a data folder: their manifests, and the log behind what these have sealed. Captures that are not there
    /// are not in the list.
    ///
    /// # Errors
    /// When what is read is damaged, or cannot be read.
    pub fn read_chosen(folder: &DataFolder, ids: &[CaptureId]) -> Result<Self, Error> {
        let in_use = folder.is_in_use();
        let disks = folder.disks()?.leased(folder)?;
        let about = |error: io::Error| Error::about(folder.path(), error.to_string());
        let ids = ids.iter().copied().collect();
        // Of a capture that goes on, the end may be farther when the log is opened, and is never nearer.
        let sealed = newest(&disks.manifests, Some(&ids)).map_err(about)?;
        let end = |id| match sealed.get(id) {
            Some(Ok(sealed)) => sealed.manifest.end,
            _ => Position(0),
        };
        let from = ids.iter().map(end).min().unwrap_or(Position(0));
        let (snapshot, recovered) = folder.snapshot_from(from)?;
        let sealed = up_to_date(sealed, &disks.manifests, &ids).map_err(about)?;
        Self::join(&snapshot, recovered, in_use, &disks, sealed, Some(&ids)).map_err(about)
    }

    /// Reads what is committed to a log and what was sealed of it since; `in_use` while it is being written. The snapshot
    /// is older than the look into the folders, so that nothing is sealed and truncated between the two.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(
        snapshot: &Snapshot,
        recovered: Recovered,
        in_use: bool,
        disks: &CaptureDisks,
    ) -> io::Result<Self> {
        let sealed = newest(&disks.manifests, None)?;
        Self::join(snapshot, recovered, in_use, disks, sealed, None)
    }

    /// Puts captures together from manifests and a snapshot that is older: all, or the `chosen` ones.
    fn join(
        snapshot: &Snapshot,
        recovered: Recovered,
        in_use: bool,
        disks: &CaptureDisks,
        sealed: SealedCaptures,
        chosen: Option<&BTreeSet<CaptureId>>,
    ) -> io::Result<Self> {
        let mut bytes = CapturedBytes::new(disks.chunks.clone(), disks.lease.clone());
        bytes.set_segments(snapshot);
        let mut captures = BTreeMap::new();
        for (id, read) in sealed {
            let (builder, sealed) = match read {
                Ok(sealed) => (CaptureBuilder::resume(&sealed.manifest), Some(sealed)),
                Err(error) => {
                    let mut builder = CaptureBuilder::new(id);
                    builder.doubt(&error.to_string());
                    (builder, None)
                }
            };
            captures.insert(id, (builder, sealed));
        }
        let from = match chosen {
            None => snapshot.start(),
            Some(ids) => {
                let ends = ids.iter().map(|id| match captures.get(id) {
                    Some((builder, _)) => builder.sealed_end(),
                    None => Position(0),
                });
                ends.min().unwrap_or(snapshot.end())
            }
        };
        let mut reader = snapshot.reader_from(from);
        let about = |error: traceloom_log::Error| io::Error::other(error.to_string());
        while let Some(group) = reader.next_group().map_err(about)? {
            for (position, (offset, record)) in (group.start.0..).zip(group.located()) {
                let id = CaptureId::of_session(record.session);
                if chosen.is_some_and(|ids| !ids.contains(&id)) {
                    continue;
                }
                let new = || (CaptureBuilder::new(id), None);
                let (capture, _) = captures.entry(id).or_insert_with(new);
                let place = CapturedBytes::in_segment(group.segment, offset);
                capture.take(Position(position), &record, place);
            }
        }
        captures.retain(|_, (builder, _)| !builder.deleted);
        let running = recovered.incarnation;
        let list = captures.into_iter().map(|(id, (builder, sealed))| {
            let is_open = in_use && builder.incarnation() == running;
            builder.into_capture(id, sealed, &mut bytes, is_open)
        });
        Ok(Self {
            list: list.collect(),
            recovered,
            bytes: Arc::new(bytes),
        })
    }

    /// Hands out the bytes of a part of a capture, in pieces.
    ///
    /// # Errors
    /// When the log cannot be read; what `write` fails with.
    pub fn copy(
        &self,
        part: &CapturePart,
        write: &mut dyn FnMut(&[u8]) -> Result<(), traceloom_formats::Error>,
    ) -> Result<(), traceloom_formats::Error> {
        let mut buffer = Vec::new();
        for &(place, length) in &part.pieces {
            buffer.resize(length as usize, 0);
            let read = self.bytes.read_exact_at(&mut buffer, place);
            read.map_err(|error| traceloom_formats::Error::io(error.to_string()))?;
            write(&buffer)?;
        }
        Ok(())
    }
}

/// A manifest with all of its bases, and the hash of its file.
struct SealedCapture {
    manifest: Manifest,
    hash: ContentHash,
}

/// Sealed captures; one that is damaged hides no other.
type SealedCaptures = BTreeMap<CaptureId, io::Result<SealedCapture>>;

/// Reads the newest revision of each sealed capture, or of the `chosen` ones.
fn newest(
    manifests: &Manifests,
    chosen: Option<&BTreeSet<CaptureId>>,
) -> io::Result<SealedCaptures> {
    /// A revision may be replaced while it is looked for.
    const TRIES: usize = 5;
    let mut found = BTreeMap::new();
    for tries in 1..=TRIES {
        let mut replaced = false;
        for (id, revisions) in manifests.list()? {
            let is_chosen = chosen.is_none_or(|ids| ids.contains(&id));
            let (Some(&revision), None, true) = (revisions.last(), found.get(&id), is_chosen)
            else {
                continue;
            };
            match manifests.read_hashed(id, revision) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries < TRIES => {
                    replaced = true;
                }
                read => {
                    let read = read.map(|(manifest, hash)| SealedCapture { manifest, hash });
                    found.insert(id, read);
                }
            }
        }
        if !replaced {
            break;
        }
    }
    Ok(found)
}

/// Reads captures again where one was sealed or deleted since.
fn up_to_date(
    sealed: SealedCaptures,
    manifests: &Manifests,
    ids: &BTreeSet<CaptureId>,
) -> io::Result<SealedCaptures> {
    let is_newest = |id: &CaptureId| match sealed.get(id) {
        Some(Ok(sealed)) => {
            let revision = sealed.manifest.revision;
            manifests.has(*id, revision) && !manifests.has(*id, revision + 1)
        }
        Some(Err(_)) => false,
        // What is in the log alone may be sealed by now.
        None => !manifests.has(*id, 1),
    };
    match ids.iter().all(is_newest) {
        true => Ok(sealed),
        false => newest(manifests, Some(ids)),
    }
}

impl CaptureBuilder {
    /// Returns the capture: what is sealed, then what is not.
    fn into_capture(
        self,
        id: CaptureId,
        sealed: Option<SealedCapture>,
        bytes: &mut CapturedBytes,
        is_open: bool,
    ) -> Capture {
        let names = self.part_names();
        let identity = self.identity();
        let incarnation = self.incarnation();
        let is_sealed = sealed.is_some() && self.first_unsealed().is_none();
        let (mut doubts, receipts) = (self.doubts, self.receipts);
        let mut commands = Vec::new();
        if let Some(assemble) = &self.assemble {
            doubts.extend_from_slice(assemble.doubts());
            commands.extend_from_slice(assemble.commands());
        }
        let manifest = sealed.as_ref().map(|sealed| sealed.hash);
        let (revision, sealed) = sealed.map_or((0, Vec::new()), |sealed| {
            (sealed.manifest.revision, sealed.manifest.parts)
        });
        let mut unsealed = self.parts;
        unsealed.resize_with(names.len(), Default::default);
        let mut parts: Vec<CapturePart> = names
            .into_iter()
            .zip(unsealed)
            .map(|(name, unsealed)| CapturePart {
                name,
                n_units: unsealed.pieces.len() as u64,
                n_bytes: unsealed.n_bytes,
                n_stored: 0,
                pieces: unsealed.pieces,
            })
            .collect();
        for (part, sealed) in parts.iter_mut().zip(sealed) {
            part.n_units += sealed.n_units;
            part.n_bytes += sealed.n_bytes;
            let mut pieces = Vec::with_capacity(sealed.chunks.len() + part.pieces.len());
            for chunk in sealed.chunks {
                part.n_stored += u64::from(chunk.n_stored);
                pieces.push((bytes.add_chunk(chunk), chunk.n_bytes));
            }
            pieces.append(&mut part.pieces);
            part.pieces = pieces;
        }
        let unfinished = match is_open {
            true => State::Open,
            false => State::Interrupted,
        };
        Capture {
            id,
            protocol: self.protocol,
            identity,
            peer: self.peer,
            opened_ns: self.opened_ns,
            state: self.closed.map_or(unfinished, State::Closed),
            incarnation,
            revision,
            manifest,
            is_sealed,
            facts: None,
            pinned: self.pinned,
            parts,
            commands,
            receipts,
            doubts,
        }
    }
}
