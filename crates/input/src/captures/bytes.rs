//! The bytes of captures, in segments of a log and in chunks, readable from any offset.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use traceloom_log::Snapshot;
use traceloom_log::disk::{Disk, File};
use traceloom_model::bounds::in_memory;

use super::{ChunkRef, ReaderLease};

/// Bits for an offset within a segment or a chunk.
const OFFSET: u32 = 36;
/// Set in the places of chunks.
const IN_CHUNK: u64 = 1 << 63;

/// Decoded chunks that are kept for readers that come back to them.
const CACHED: usize = 16;

/// Segments and chunks as one range of bytes. A place is a number of a segment or chunk and an offset in it.
#[derive(Default)]
pub struct CapturedBytes {
    segments: HashMap<u64, Arc<dyn File>>,
    folder: Option<Arc<dyn Disk>>,
    chunks: Vec<ChunkRef>,
    cached: Mutex<VecDeque<(u64, Arc<Vec<u8>>)>>,
    /// While it is held, chunks stay.
    _lease: Option<ReaderLease>,
}

impl CapturedBytes {
    /// Reads chunks from `folder`.
    #[must_use]
    pub fn new(folder: Arc<dyn Disk>, lease: Option<ReaderLease>) -> Self {
        Self {
            folder: Some(folder),
            _lease: lease,
            ..Self::default()
        }
    }

    /// Takes the segments of a snapshot in place of those before.
    pub fn set_segments(&mut self, snapshot: &Snapshot) {
        let files = snapshot.files();
        self.segments = files.map(|(number, _, file)| (number, file)).collect();
    }

    /// Returns the place of an offset of a segment.
    #[must_use]
    pub fn in_segment(number: u64, offset: u64) -> u64 {
        number << OFFSET | offset
    }

    /// Adds a chunk and returns its place.
    pub(super) fn add_chunk(&mut self, chunk: ChunkRef) -> u64 {
        self.chunks.push(chunk);
        IN_CHUNK | (self.chunks.len() as u64 - 1) << OFFSET
    }

    /// Reads at a place, within one segment or chunk.
    ///
    /// # Errors
    /// When a file cannot be read, or a chunk is damaged.
    pub fn read_at(&self, buffer: &mut [u8], place: u64) -> io::Result<usize> {
        let offset = place & ((1 << OFFSET) - 1);
        if place & IN_CHUNK == 0 {
            let file = self.segments.get(&(place >> OFFSET));
            return file.map_or(Ok(0), |file| file.read_at(buffer, offset));
        }
        let chunk = self.chunk((place & !IN_CHUNK) >> OFFSET)?;
        let from = in_memory(offset);
        let rest = chunk.get(from..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..length), rest.get(..length)) {
            to.copy_from_slice(from);
        }
        Ok(length)
    }

    /// Fills `buffer` from a place.
    ///
    /// # Errors
    /// As [`CapturedBytes::read_at`]; when there are fewer bytes.
    pub fn read_exact_at(&self, buffer: &mut [u8], place: u64) -> io::Result<()> {
        let mut filled = 0;
        while let Some(room) = buffer.get_mut(filled..).filter(|room| !room.is_empty()) {
            match self.read_at(room, place + filled as u64)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n_read => filled += n_read,
            }
        }
        Ok(())
    }

    fn chunk(&self, number: u64) -> io::Result<Arc<Vec<u8>>> {
        let lock = || self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, chunk)) = lock().iter().find(|(cached, _)| *cached == number) {
            return Ok(chunk.clone());
        }
        let found = usize::try_from(number)
            .ok()
            .and_then(|at| self.chunks.get(at));
        let (Some(chunk), Some(folder)) = (found, &self.folder) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let name = chunk.file_name();
        let file = folder.open(&name).map_err(|error| {
            io::Error::new(error.kind(), format!("chunk {}: {error}", chunk.hash))
        })?;
        let decoded = Arc::new(chunk.decode(&*file)?);
        let mut cached = lock();
        if cached.len() >= CACHED {
            cached.pop_front();
        }
        cached.push_back((number, decoded.clone()));
        Ok(decoded)
    }
}

impl fmt::Debug for CapturedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CapturedBytes")
            .field("segments", &self.segments.len())
            .field("chunks", &self.chunks.len())
            .finish_non_exhaustive()
    }
}
