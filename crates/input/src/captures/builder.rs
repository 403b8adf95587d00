//! Puts a capture together from its manifest and the records behind it.

use traceloom_formats::PROTOCOLS;
use traceloom_formats::protocol::{Assemble, CaptureRules, Entry, Identity};
use traceloom_log::{Position, Record};
use traceloom_model::bounds::length_u32;

use super::posts::{Receipt, SENDERS, is_posts};
use super::upload::{REPEAT, UPLOAD};
use super::{
    CaptureId, ContextEntry, EVENTS, Event, Manifest, ManifestPart, SealReason, SessionEnd,
};

/// Finds how the captures of a protocol are read.
fn rules(number: u8) -> Option<&'static CaptureRules> {
    let sockets = PROTOCOLS.iter().map(|protocol| &protocol.captures);
    let mut known = sockets.chain([&UPLOAD]).chain(SENDERS);
    known.find(|rules| rules.number == number)
}

/// A capture being put together. Records that its manifest covers are passed over.
pub struct CaptureBuilder {
    pub(super) id: CaptureId,
    /// Revision of the manifest that it goes on from.
    revision: u64,
    /// Position behind the last record that is sealed.
    sealed_end: Position,
    /// The start of the collector in which more may come.
    incarnation: u64,
    pub(super) pinned: bool,
    pub(super) deleted: bool,
    pub(super) protocol: Option<&'static CaptureRules>,
    pub(super) assemble: Option<Box<dyn Assemble>>,
    pub(super) peer: String,
    pub(super) opened_ns: Option<i64>,
    pub(super) closed: Option<SessionEnd>,
    pub(super) doubts: Vec<String>,
    /// What is not sealed, for each part: places of its units, and bytes.
    pub(super) parts: Vec<UnsealedPart>,
    /// Posts that came again.
    pub(super) receipts: Vec<Receipt>,
    /// Entries that are no data and not sealed.
    context: Vec<ContextEntry>,
    /// Position of the first record that is not sealed.
    first_unsealed: Option<Position>,
    n_unsealed: u64,
}

/// What a part has that is not sealed.
#[derive(Clone, Debug, Default)]
pub struct UnsealedPart {
    /// Places and lengths of its units.
    pub pieces: Vec<(u64, u32)>,
    /// Bytes of all of them.
    pub n_bytes: u64,
}

/// What a capture has between two decisions to seal it.
#[derive(Debug)]
pub struct SealDraft {
    /// The manifest of it, without the chunks, and without a revision.
    pub manifest: Manifest,
    /// What the chunks hold, for each part of the manifest.
    pub parts: Vec<UnsealedPart>,
}

impl CaptureBuilder {
    /// Begins the capture of a session of the log.
    #[must_use]
    pub fn new(id: CaptureId) -> Self {
        Self {
            id,
            revision: 0,
            sealed_end: Position(0),
            incarnation: id.incarnation(),
            pinned: false,
            deleted: false,
            protocol: None,
            assemble: None,
            peer: String::new(),
            opened_ns: None,
            closed: None,
            doubts: Vec::new(),
            parts: Vec::new(),
            receipts: Vec::new(),
            context: Vec::new(),
            first_unsealed: None,
            n_unsealed: 0,
        }
    }

    /// Goes on where a manifest with all of its bases ends.
    #[must_use]
    pub fn resume(manifest: &Manifest) -> Self {
        let mut builder = Self::new(manifest.id);
        builder.open(manifest.protocol, manifest.opened_ns, &manifest.peer);
        for entry in &manifest.context {
            builder.receive(entry.kind, &entry.bytes);
            if let Some(assemble) = &mut builder.assemble {
                assemble.take(&Entry {
                    stream: entry.stream,
                    kind: entry.kind,
                    bytes: &entry.bytes,
                });
            }
        }
        builder
            .parts
            .resize_with(manifest.parts.len(), Default::default);
        builder.revision = manifest.revision;
        builder.sealed_end = manifest.end;
        builder.incarnation = manifest.incarnation;
        builder.pinned = manifest.pinned;
        builder.closed.clone_from(&manifest.closed);
        builder.doubts.clone_from(&manifest.doubts);
        builder
    }

    /// Takes a record of the session, whose bytes are at `place`.
    pub fn take(&mut self, position: Position, record: &Record<'_>, place: u64) {
        if position < self.sealed_end {
            return;
        }
        if record.stream == EVENTS {
            return self.event(position, record);
        }
        self.first_unsealed.get_or_insert(position);
        let Some(assemble) = &mut self.assemble else {
            return self.doubt("data of a session whose beginning is not known");
        };
        let entry = Entry {
            stream: record.stream,
            kind: record.kind,
            bytes: record.bytes,
        };
        let n_doubts = assemble.doubts().len();
        let part = assemble.take(&entry);
        let doubted = assemble.doubts().len() > n_doubts;
        if let Some(part) = part {
            let is_new = self.parts.len() <= part;
            if is_new {
                self.parts.resize_with(part + 1, Default::default);
            }
            let length = length_u32(record.bytes.len());
            if let Some(part) = self.parts.get_mut(part) {
                part.pieces.push((place, length));
                part.n_bytes += u64::from(length);
                self.n_unsealed += u64::from(length);
            }
            if !is_new && !doubted {
                return;
            }
        }
        self.receive(record.kind, record.bytes);
        // Of data, only that it began a part is needed again, unless its bytes are in doubt.
        let bytes = match part.is_some() && !doubted {
            true => Vec::new(),
            false => record.bytes.to_vec(),
        };
        self.context.push(ContextEntry {
            stream: record.stream,
            kind: record.kind,
            bytes,
        });
    }

    /// Takes the receipt of a post that came again.
    fn receive(&mut self, kind: u8, bytes: &[u8]) {
        let holds_posts = self.protocol.is_some_and(|rules| is_posts(rules.number));
        if holds_posts && kind == REPEAT {
            self.receipts.extend(Receipt::decode(bytes));
        }
    }

    fn event(&mut self, position: Position, record: &Record<'_>) {
        match Event::decode(record.kind, record.bytes) {
            Some(Event::Opened {
                protocol,
                at_ns,
                peer,
            }) => {
                self.first_unsealed.get_or_insert(position);
                self.open(protocol, at_ns, &peer);
            }
            Some(Event::Closed {
                at_ns,
                orderly,
                reason,
            }) => {
                self.first_unsealed.get_or_insert(position);
                self.closed = Some(SessionEnd {
                    at_ns,
                    orderly,
                    reason,
                });
            }
            Some(Event::Resumed { incarnation, .. }) if self.opened_ns.is_some() => {
                self.first_unsealed.get_or_insert(position);
                self.incarnation = incarnation;
                self.closed = None;
            }
            Some(Event::Deleted { .. }) => self.deleted = true,
            Some(Event::Sealed { revision, .. }) if revision > self.revision => {
                self.doubt(&format!("its manifest, revision {revision}, is missing"));
            }
            Some(Event::Seal { .. } | Event::Sealed { .. } | Event::Resumed { .. }) => {}
            None => self.doubt("an event of the collector that this program does not know"),
        }
    }

    fn open(&mut self, protocol: u8, at_ns: i64, peer: &str) {
        let known = rules(protocol);
        self.protocol = known;
        self.assemble = known.map(|known| (known.assemble)());
        self.opened_ns = Some(at_ns);
        peer.clone_into(&mut self.peer);
        if known.is_none() {
            self.doubt("a protocol that this program does not know");
        }
    }

    pub(super) fn doubt(&mut self, doubt: &str) {
        if !self.doubts.iter().any(|known| known == doubt) {
            self.doubts.push(doubt.to_owned());
        }
    }

    /// Returns who sends, as far as it is known.
    #[must_use]
    pub fn identity(&self) -> Identity {
        let assembled = self.assemble.as_ref();
        assembled.map_or_else(Identity::default, |assemble| assemble.identity().clone())
    }

    /// Returns the position of the first record that is not sealed.
    #[must_use]
    pub fn first_unsealed(&self) -> Option<Position> {
        self.first_unsealed
    }

    /// Returns the bytes of data that are not sealed.
    #[must_use]
    pub fn n_unsealed(&self) -> u64 {
        self.n_unsealed
    }

    /// Returns the position behind the last record that is sealed.
    #[must_use]
    pub fn sealed_end(&self) -> Position {
        self.sealed_end
    }

    /// Returns `true` if more may come while the start `running` of the collector runs.
    #[must_use]
    pub fn may_go_on(&self, running: u64) -> bool {
        self.incarnation == running && self.closed.is_none()
    }

    /// Returns the start of the collector in which more may come.
    #[must_use]
    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// Returns `true` if nothing is lost by sealing: the protocol and the session's beginning are known.
    #[must_use]
    pub fn can_seal(&self) -> bool {
        self.assemble.is_some() && self.opened_ns.is_some()
    }

    /// Ends a piece in front of `end`, because a decision to seal is the record before it.
    pub fn cut(&mut self, end: Position, sealed_ns: i64, why: SealReason) -> SealDraft {
        match why {
            SealReason::Pin => self.pinned = true,
            SealReason::Unpin => self.pinned = false,
            _ => {}
        }
        let names = self.part_names();
        let mut parts = std::mem::take(&mut self.parts);
        parts.resize_with(names.len(), Default::default);
        // Parts that are known keep their numbers.
        self.parts.resize_with(parts.len(), Default::default);
        let listed = names
            .into_iter()
            .zip(&parts)
            .map(|(name, part)| ManifestPart {
                name,
                n_units: part.pieces.len() as u64,
                n_bytes: part.n_bytes,
                chunks: Vec::new(),
            });
        let manifest = Manifest {
            id: self.id,
            revision: 0,
            base: 0,
            end,
            sealed_ns,
            pinned: self.pinned,
            protocol: self.protocol.map_or(0, |protocol| protocol.number),
            opened_ns: self.opened_ns.unwrap_or_default(),
            peer: self.peer.clone(),
            identity: self.identity(),
            closed: self.closed.clone(),
            doubts: self.doubts.clone(),
            parts: listed.collect(),
            context: std::mem::take(&mut self.context),
            incarnation: self.incarnation,
        };
        // Those that are sealed are in the manifest.
        self.receipts.clear();
        self.sealed_end = end;
        self.first_unsealed = None;
        self.n_unsealed = 0;
        SealDraft { manifest, parts }
    }

    /// Returns the names of the parts.
    pub(super) fn part_names(&self) -> Vec<String> {
        let assembled = self.assemble.as_ref();
        let parts = assembled.map_or_else(Vec::new, |assemble| assemble.parts());
        parts.into_iter().map(|part| part.name).collect()
    }
}
