//! Chunks and manifests of decisions that are durable.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use traceloom_input::captures::{
    CHUNK_BYTES, CapturedBytes, ChunkEncoder, ChunkRef, ContentHash, Event, Manifest, UnsealedPart,
};
use traceloom_log::disk::{Disk, File};
use traceloom_model::bounds::{in_memory, length_u32};

use super::{SealFailure, SealLog, Sealer, failed};
use crate::facts::SealedRevision;

/// Bytes of data that are sealed before their manifests are written.
const BATCH_BYTES: u64 = 128 << 20;
/// Files that are written before they are synced: 16 MiB at most, because whoever syncs the log beside this may wait for them.
const UNSYNCED_FILES: usize = 64;
/// Chunks in a manifest after which the next revision begins a list of its own.
const LINK_CHUNKS: usize = 4096;

impl Sealer {
    /// Makes chunks and manifests of all drafts durable, and says so in the log.
    pub(super) fn seal_drafts(&mut self, log: &mut dyn SealLog) -> Result<(), SealFailure> {
        while !self.drafts.is_empty() {
            let batch = self.next_batch();
            let mut chunks = ChunkWriter::new(&*self.disks.chunks, self.rules.level)?;
            let mut manifests = Vec::new();
            for draft in self.drafts.get(..batch).unwrap_or_default() {
                let id = draft.manifest.id;
                let link = self
                    .sessions
                    .get(&id)
                    .and_then(|tracked| tracked.link.as_ref());
                let mut sealed = draft.manifest.clone();
                for (part, unsealed) in sealed.parts.iter_mut().zip(&draft.parts) {
                    part.chunks = chunks.write_part(&self.bytes, unsealed)?;
                }
                manifests.push(following(link, sealed));
            }
            self.sealed_bytes += chunks.n_bytes;
            self.chunk_bytes += chunks.n_stored;
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
            let tracked = self.sessions.get_mut(&id);
            self.new_revisions.push(SealedRevision {
                id,
                n_bytes: manifest.parts.iter().map(|part| part.n_bytes).sum(),
                is_over: manifest.closed.is_some() || manifest.incarnation != self.incarnation,
            });
            if let Some(tracked) = tracked {
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
    encoder: ChunkEncoder,
    written: HashMap<ContentHash, ChunkRef>,
    /// What was read from the log at once.
    run: Vec<u8>,
    n_bytes: u64,
    n_stored: u64,
}

impl<'d> ChunkWriter<'d> {
    fn new(folder: &'d dyn Disk, level: i32) -> Result<Self, SealFailure> {
        let encoder = ChunkEncoder::new(level);
        let encoder = encoder.map_err(|error| failed("cannot compress", &error))?;
        Ok(Self {
            files: NewFiles::new(folder),
            encoder,
            written: HashMap::new(),
            run: Vec::new(),
            n_bytes: 0,
            n_stored: 0,
        })
    }

    /// Writes what a part has in the log.
    fn write_part(
        &mut self,
        bytes: &CapturedBytes,
        part: &UnsealedPart,
    ) -> Result<Vec<ChunkRef>, SealFailure> {
        let mut chunks = Vec::new();
        let mut buffer = Vec::with_capacity(CHUNK_BYTES);
        let mut pieces = part.pieces.as_slice();
        while !pieces.is_empty() {
            let (run, rest) = pieces.split_at(run_length(pieces));
            pieces = rest;
            let (Some(&(start, _)), Some(&(last, length))) = (run.first(), run.last()) else {
                break;
            };
            let n_bytes = usize::try_from(last - start).unwrap_or(0) + length as usize;
            let mut read = std::mem::take(&mut self.run);
            read.resize(n_bytes, 0);
            bytes
                .read_exact_at(&mut read, start)
                .map_err(|error| failed("cannot read the log", &error))?;
            for &(place, length) in run {
                let from = in_memory(place - start);
                let piece = read.get(from..).unwrap_or_default();
                let mut piece = piece.get(..length as usize).unwrap_or(piece);
                while !piece.is_empty() {
                    let room = CHUNK_BYTES - buffer.len();
                    let (taken, rest) = piece.split_at(room.min(piece.len()));
                    buffer.extend_from_slice(taken);
                    piece = rest;
                    if buffer.len() == CHUNK_BYTES {
                        chunks.push(self.write(&buffer)?);
                        buffer.clear();
                    }
                }
            }
            self.run = read;
        }
        if !buffer.is_empty() {
            chunks.push(self.write(&buffer)?);
        }
        Ok(chunks)
    }

    fn write(&mut self, decoded: &[u8]) -> Result<ChunkRef, SealFailure> {
        self.n_bytes += decoded.len() as u64;
        let hash = ContentHash::of(decoded);
        if let Some(written) = self.written.get(&hash) {
            return Ok(*written);
        }
        let mut chunk = ChunkRef {
            hash,
            n_bytes: length_u32(decoded.len()),
            n_stored: 0,
        };
        let name = chunk.file_name();
        let n_stored = match self.files.folder.open(&name).and_then(|file| file.length()) {
            Ok(n_stored) => n_stored,
            Err(_) => {
                let encoded = self.encoder.encode(decoded);
                let encoded = encoded.map_err(|error| failed("cannot compress", &error))?;
                self.files.write(name, &encoded)?;
                self.n_stored += encoded.len() as u64;
                encoded.len() as u64
            }
        };
        chunk.n_stored = u32::try_from(n_stored)
            .map_err(|error| failed("a stored chunk is too long", &io::Error::other(error)))?;
        self.written.insert(hash, chunk);
        Ok(chunk)
    }

    fn finish(self) -> Result<(), SealFailure> {
        self.files.finish()
    }
}

/// Returns how many of the first pieces are read at once: those that lie near each other in one segment.
fn run_length(pieces: &[(u64, u32)]) -> usize {
    /// Bytes between two pieces that are read with them.
    const GAP: u64 = 4 << 10;
    let Some(&(first, length)) = pieces.first() else {
        return 0;
    };
    let mut end = first + u64::from(length);
    for (n_before, &(place, length)) in pieces.iter().enumerate().skip(1) {
        let next_end = place + u64::from(length);
        let is_near = (end..=end + GAP).contains(&place);
        if !is_near || next_end > first + CHUNK_BYTES as u64 {
            return n_before;
        }
        end = next_end;
    }
    pieces.len()
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
        let mut created = self.folder.create(&new);
        if created.as_ref().is_err_and(is_out_of_files) {
            self.name()?;
            created = self.folder.create(&new);
        }
        let file = match created {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // Of an attempt that was interrupted.
                self.folder.remove(&new).map_err(io)?;
                self.folder.create(&new).map_err(io)?
            }
            created => created.map_err(io)?,
        };
        file.append(bytes).map_err(io)?;
        file.begin_writing();
        self.unsynced.push((file, name));
        match self.unsynced.len() < UNSYNCED_FILES {
            true => Ok(()),
            false => self.name(),
        }
    }

    /// Makes the bytes durable and gives the files their names.
    fn name(&mut self) -> Result<(), SealFailure> {
        let files = self.unsynced.iter().map(|(file, _)| file.clone());
        let synced = self.folder.sync_files(&files.collect::<Vec<_>>());
        synced.map_err(|error| failed("cannot sync new files", &error))?;
        for (_, name) in self.unsynced.drain(..) {
            let io = |error: io::Error| failed(&format!("cannot name {name}"), &error);
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

/// Returns `true` if connections have all the files that this process may open.
fn is_out_of_files(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error())
}

fn new_name(name: &str) -> String {
    format!("{name}.new")
}
