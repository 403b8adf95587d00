//! Chunks and manifests of decisions that are durable.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use traceloom_input::captures::{CHUNK_BYTES, ChunkRef, ContentHash, Event, Manifest};
use traceloom_log::disk::{Disk, File};

use super::{SealFailure, SealLog, Sealer, failed};

/// Bytes of data that are sealed before their manifests are written.
const BATCH_BYTES: u64 = 128 << 20;
/// Files that are written before they are synced.
const UNSYNCED_FILES: usize = 128;
/// Chunks in a manifest after which the next revision begins a list of its own.
const LINK_CHUNKS: usize = 4096;

impl Sealer {
    /// Makes chunks and manifests of all drafts durable, and says so in the log.
    pub(super) fn seal_drafts(&mut self, log: &mut dyn SealLog) -> Result<(), SealFailure> {
        while !self.drafts.is_empty() {
            let batch = self.next_batch();
            let mut chunks = ChunkWriter::new(&*self.disks.chunks, self.rules.level);
            let mut manifests = Vec::new();
            for draft in self.drafts.get(..batch).unwrap_or_default() {
                let id = draft.manifest.id;
                let link = self
                    .sessions
                    .get(&id)
                    .and_then(|tracked| tracked.link.as_ref());
                let mut sealed = draft.manifest.clone();
                for (part, unsealed) in sealed.parts.iter_mut().zip(&draft.parts) {
                    let mut buffer = Vec::with_capacity(CHUNK_BYTES);
                    for &(place, length) in &unsealed.pieces {
                        let (mut place, mut left) = (place, length as usize);
                        while left > 0 {
                            let start = buffer.len();
                            let taken = left.min(CHUNK_BYTES - start);
                            buffer.resize(start + taken, 0);
                            let room = buffer.get_mut(start..).unwrap_or_default();
                            let read = self.bytes.read_exact_at(room, place);
                            read.map_err(|error| failed("cannot read the log", &error))?;
                            (place, left) = (place + taken as u64, left - taken);
                            if buffer.len() == CHUNK_BYTES {
                                part.chunks.push(chunks.write(&buffer)?);
                                buffer.clear();
                            }
                        }
                    }
                    if !buffer.is_empty() {
                        part.chunks.push(chunks.write(&buffer)?);
                    }
                }
                manifests.push(following(link, sealed));
            }
            chunks.finish()?;
            self.write_manifests(log, manifests)?;
            self.drafts.drain(..batch);
        }
        let unsaid: Vec<_> = std::mem::take(&mut self.unsaid).into_iter().collect();
        if !unsaid.is_empty() {
            log.commit(&unsaid)?;
        }
        Ok(())
    }

    /// Returns the number of drafts to seal together: of each capture one at most.
    fn next_batch(&self) -> usize {
        let mut captures = std::collections::HashSet::new();
        let mut n_bytes = 0;
        let fits = self.drafts.iter().take_while(|draft| {
            let is_first = captures.is_empty();
            let fits = is_first || n_bytes < BATCH_BYTES;
            let parts = draft.parts.iter().map(|part| part.n_bytes);
            n_bytes += parts.sum::<u64>();
            captures.insert(draft.manifest.id) && fits
        });
        fits.count().max(1)
    }

    fn write_manifests(
        &mut self,
        log: &mut dyn SealLog,
        manifests: Vec<Manifest>,
    ) -> Result<(), SealFailure> {
        let folder = self.disks.manifests.clone();
        let mut said = Vec::new();
        let mut files = NewFiles::new(folder.folder());
        for manifest in &manifests {
            let bytes = manifest.encode();
            files.write(Manifest::file_name(manifest.id, manifest.revision), &bytes)?;
            let sealed = Event::Sealed {
                revision: manifest.revision,
                manifest: Manifest::hash(&bytes).unwrap_or(ContentHash([0; 32])),
            };
            said.push((manifest.id, sealed));
        }
        files.finish()?;
        log.commit(&said)?;
        for manifest in manifests {
            let (id, revision, base) = (manifest.id, manifest.revision, manifest.base);
            let before = self.revisions.insert(id, revision);
            if let Some(before) = before.filter(|before| *before != base) {
                // One that stays is passed over: the newest counts.
                let _ = folder.folder().remove(&Manifest::file_name(id, before));
            }
            if let Some(tracked) = self.sessions.get_mut(&id) {
                tracked.link = Some(manifest);
            }
        }
        Ok(())
    }
}

/// Returns the revision behind `link` that adds what a draft sealed.
fn following(link: Option<&Manifest>, mut sealed: Manifest) -> Manifest {
    let Some(link) = link else {
        sealed.revision = 1;
        return sealed;
    };
    sealed.revision = link.revision + 1;
    if link.chunks().count() >= LINK_CHUNKS {
        sealed.base = link.revision;
        return sealed;
    }
    link.clone().with(sealed)
}

/// Writes the chunks that are not there.
struct ChunkWriter<'d> {
    files: NewFiles<'d>,
    level: i32,
    written: HashMap<ContentHash, ChunkRef>,
}

impl<'d> ChunkWriter<'d> {
    fn new(folder: &'d dyn Disk, level: i32) -> Self {
        Self {
            files: NewFiles::new(folder),
            level,
            written: HashMap::new(),
        }
    }

    fn write(&mut self, decoded: &[u8]) -> Result<ChunkRef, SealFailure> {
        let hash = ContentHash::of(decoded);
        if let Some(written) = self.written.get(&hash) {
            return Ok(*written);
        }
        let mut chunk = ChunkRef {
            hash,
            n_bytes: u32::try_from(decoded.len()).unwrap_or(u32::MAX),
            n_stored: 0,
        };
        let name = chunk.file_name();
        let n_stored = match self.files.folder.open(&name).and_then(|file| file.length()) {
            Ok(n_stored) => n_stored,
            Err(_) => {
                let encoded = ChunkRef::encode(decoded, self.level);
                let encoded = encoded.map_err(|error| failed("cannot compress", &error))?;
                self.files.write(name, &encoded)?;
                encoded.len() as u64
            }
        };
        chunk.n_stored = u32::try_from(n_stored).unwrap_or(u32::MAX);
        self.written.insert(hash, chunk);
        Ok(chunk)
    }

    fn finish(self) -> Result<(), SealFailure> {
        self.files.finish()
    }
}

/// Files of a folder that get their names when their bytes are durable.
struct NewFiles<'d> {
    folder: &'d dyn Disk,
    unsynced: Vec<(Arc<dyn File>, String)>,
}

impl<'d> NewFiles<'d> {
    fn new(folder: &'d dyn Disk) -> Self {
        Self {
            folder,
            unsynced: Vec::new(),
        }
    }

    fn write(&mut self, name: String, bytes: &[u8]) -> Result<(), SealFailure> {
        let io = |error: io::Error| failed(&format!("cannot write {name}"), &error);
        let new = new_name(&name);
        let file = match self.folder.create(&new) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // Of an attempt that was interrupted.
                self.folder.remove(&new).map_err(io)?;
                self.folder.create(&new).map_err(io)?
            }
            created => created.map_err(io)?,
        };
        file.append(bytes).map_err(io)?;
        self.unsynced.push((file, name));
        match self.unsynced.len() < UNSYNCED_FILES {
            true => Ok(()),
            false => self.name(),
        }
    }

    /// Makes the bytes durable and gives the files their names.
    fn name(&mut self) -> Result<(), SealFailure> {
        for (file, name) in self.unsynced.drain(..) {
            let io = |error: io::Error| failed(&format!("cannot write {name}"), &error);
            file.sync().map_err(io)?;
            self.folder.rename(&new_name(&name), &name).map_err(io)?;
        }
        Ok(())
    }

    /// Makes the names durable too, those as well that were there before.
    fn finish(mut self) -> Result<(), SealFailure> {
        self.name()?;
        let synced = self.folder.sync_folder();
        synced.map_err(|error| failed("cannot sync a folder", &error))
    }
}

fn new_name(name: &str) -> String {
    format!("{name}.new")
}
