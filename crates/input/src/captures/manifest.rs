//! Manifests: what a sealed capture is, and which chunks its parts consist of. `CAPTURES.md` has the bytes.

use traceloom_formats::protocol::Identity;
use traceloom_log::Position;
use traceloom_model::bounds::row_number;

use super::{CaptureId, ChunkRef, ContentHash};

/// The version that this program writes. Every version up to it is read.
const VERSION: u32 = 1;
const MAGIC: &[u8; 8] = b"tracecap";
/// Bytes of the hash at the end.
const HASH: usize = 32;

/// A revision of a capture: what was sealed since its base, or since the beginning where it has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The capture.
    pub id: CaptureId,
    /// Number of the decision to seal, from 1.
    pub revision: u64,
    /// The revision that this one continues; 0 for none.
    pub base: u64,
    /// Position in the log behind the last record that is sealed.
    pub end: Position,
    /// When sealing was decided, in Unix nanoseconds of the collector's clock.
    pub sealed_ns: i64,
    /// Retention leaves the capture alone.
    pub pinned: bool,
    /// Number of the protocol.
    pub protocol: u8,
    /// When it began.
    pub opened_ns: i64,
    /// Address that it came from.
    pub peer: String,
    /// Who sent.
    pub identity: Identity,
    /// How it ended, if it did.
    pub closed: Option<SessionEnd>,
    /// What the collector did not understand.
    pub doubts: Vec<String>,
    /// The parts.
    pub parts: Vec<ManifestPart>,
    /// Entries of the session that its data needs: names of streams, handles.
    pub context: Vec<ContextEntry>,
    /// The start of the collector in which the session went on last; that of its id unless it was resumed.
    pub incarnation: u64,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionEnd {
    /// When, in Unix nanoseconds of the collector's clock.
    pub at_ns: i64,
    /// The sender ended it as the protocol has it.
    pub orderly: bool,
    /// A word for why.
    pub reason: String,
}

/// A part as a manifest lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManifestPart {
    /// Its name.
    pub name: String,
    /// Units that its bytes came in.
    pub n_units: u64,
    /// Bytes.
    pub n_bytes: u64,
    /// The chunks, in order.
    pub chunks: Vec<ChunkRef>,
}

/// An entry of a session that is no data, as it was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextEntry {
    /// Stream.
    pub stream: u32,
    /// Kind.
    pub kind: u8,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Manifest {
    /// Returns the name of the file of a revision.
    #[must_use]
    pub fn file_name(id: CaptureId, revision: u64) -> String {
        format!("{id}.{revision}")
    }

    /// Reads the name of a manifest's file.
    #[must_use]
    pub fn of_file_name(name: &str) -> Option<(CaptureId, u64)> {
        let (id, number) = name.split_once('.')?;
        let (id, revision) = (id.parse().ok()?, number.parse().ok()?);
        (Self::file_name(id, revision) == name).then_some((id, revision))
    }

    /// Adds what a later revision sealed.
    #[must_use]
    pub fn with(mut self, later: Self) -> Self {
        let parts = std::mem::take(&mut self.parts);
        let mut context = std::mem::take(&mut self.context);
        let base = self.base;
        let mut joined = later;
        joined.base = base;
        for (before, part) in parts.into_iter().zip(&mut joined.parts) {
            part.n_units += before.n_units;
            part.n_bytes += before.n_bytes;
            let behind = std::mem::replace(&mut part.chunks, before.chunks);
            part.chunks.extend(behind);
        }
        context.append(&mut joined.context);
        joined.context = context;
        joined
    }

    /// Returns all chunks.
    pub fn chunks(&self) -> impl Iterator<Item = &ChunkRef> {
        self.parts.iter().flat_map(|part| &part.chunks)
    }

    /// Returns the bytes of the file.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = ManifestBytes(MAGIC.to_vec());
        out.int(VERSION);
        for field in [self.id.session(), self.revision, self.base, self.end.0] {
            out.long(field);
        }
        out.time(self.sealed_ns);
        out.0.extend([u8::from(self.pinned), self.protocol]);
        out.time(self.opened_ns);
        out.text(&self.peer);
        out.text(&self.identity.service);
        out.text(&self.identity.instance);
        out.text(&self.identity.namespace);
        out.0.push(u8::from(self.closed.is_some()));
        if let Some(closed) = &self.closed {
            out.time(closed.at_ns);
            out.0.push(u8::from(closed.orderly));
            out.text(&closed.reason);
        }
        out.count(self.doubts.len());
        for doubt in &self.doubts {
            out.text(doubt);
        }
        out.count(self.parts.len());
        for part in &self.parts {
            out.text(&part.name);
            out.long(part.n_units);
            out.long(part.n_bytes);
            out.count(part.chunks.len());
            for chunk in &part.chunks {
                out.0.extend(chunk.hash.0);
                out.int(chunk.n_bytes);
                out.int(chunk.n_stored);
            }
        }
        out.count(self.context.len());
        for entry in &self.context {
            out.int(entry.stream);
            out.0.push(entry.kind);
            out.bytes(&entry.bytes);
        }
        // Of one that was not resumed and has no version, the bytes are those of earlier programs.
        let version = &self.identity.version;
        if self.incarnation != self.id.incarnation() || !version.is_empty() {
            out.long(self.incarnation);
        }
        if !version.is_empty() {
            out.text(version);
        }
        let hash = ContentHash::of(&out.0);
        out.0.extend(hash.0);
        out.0
    }

    /// Reads a file.
    ///
    /// # Errors
    /// When its bytes are no manifest, or have changed, with the reason.
    pub fn decode(bytes: &[u8]) -> Result<Self, &'static str> {
        let behind_magic = bytes.strip_prefix(MAGIC).ok_or("it is no manifest")?;
        match ManifestFields(behind_magic).int() {
            Some(VERSION) => {}
            Some(version) if version > VERSION => {
                return Err("its version is newer than this program reads");
            }
            _ => return Err("it is no manifest"),
        }
        let (content, hash) = bytes
            .len()
            .checked_sub(HASH)
            .and_then(|at| bytes.split_at_checked(at))
            .ok_or("it is cut")?;
        if ContentHash::of(content).0 != hash {
            return Err("its checksum does not hold");
        }
        let mut fields = ManifestFields(content.get(MAGIC.len() + 4..).unwrap_or_default());
        fields.manifest().ok_or("a field of it is cut")
    }

    /// Returns the hash that is at the end of the file.
    #[must_use]
    pub fn hash(encoded: &[u8]) -> Option<ContentHash> {
        encoded.last_chunk().map(|hash| ContentHash(*hash))
    }
}

/// Writes fields behind each other.
struct ManifestBytes(Vec<u8>);

impl ManifestBytes {
    fn int(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    fn count(&mut self, n: usize) {
        self.int(row_number(n));
    }

    fn long(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    fn time(&mut self, value: i64) {
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.extend(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }
}

/// Reads fields behind each other; `None` where they end too early.
struct ManifestFields<'a>(&'a [u8]);

impl<'a> ManifestFields<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*field)
    }

    fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn int(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn long(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn time(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.int()? as usize;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let n_items = self.int()?;
        (0..n_items).map(|_| item(self)).collect()
    }

    fn manifest(&mut self) -> Option<Manifest> {
        let id = CaptureId::of_session(self.long()?);
        let mut manifest = Manifest {
            id,
            revision: self.long()?,
            base: self.long()?,
            end: Position(self.long()?),
            sealed_ns: self.time()?,
            pinned: self.byte()? != 0,
            protocol: self.byte()?,
            opened_ns: self.time()?,
            peer: self.text()?,
            identity: Identity {
                service: self.text()?,
                instance: self.text()?,
                namespace: self.text()?,
                version: String::new(),
            },
            closed: match self.byte()? {
                0 => None,
                _ => Some(SessionEnd {
                    at_ns: self.time()?,
                    orderly: self.byte()? != 0,
                    reason: self.text()?,
                }),
            },
            doubts: self.list(Self::text)?,
            parts: self.list(|fields| {
                Some(ManifestPart {
                    name: fields.text()?,
                    n_units: fields.long()?,
                    n_bytes: fields.long()?,
                    chunks: fields.list(|fields| {
                        Some(ChunkRef {
                            hash: ContentHash(fields.array()?),
                            n_bytes: fields.int()?,
                            n_stored: fields.int()?,
                        })
                    })?,
                })
            })?,
            context: self.list(|fields| {
                Some(ContextEntry {
                    stream: fields.int()?,
                    kind: fields.byte()?,
                    bytes: fields.bytes()?.to_vec(),
                })
            })?,
            // Earlier programs end here.
            incarnation: self.long().unwrap_or(id.incarnation()),
        };
        manifest.identity.version = self.text().unwrap_or_default();
        Some(manifest)
    }
}
