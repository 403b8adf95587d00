//! Bytes that cannot be read twice or from the middle, kept where they can.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use traceloom_log::disk::PlacedFile as _;
use traceloom_model::bounds::{in_memory, subslice};

use crate::captures::CapturedBytes;
use crate::intake::Intake;

/// Bytes that are taken in at once.
const CHUNK: usize = 8 << 20;

/// Bytes readable from any offset.
#[derive(Clone, Debug)]
pub(crate) enum Spool {
    Memory(Arc<Vec<u8>>),
    File {
        file: Arc<File>,
        size: u64,
    },
    /// In the temporary file of an input, chunk by chunk, where each begins.
    Spilled {
        file: Arc<File>,
        chunks: Arc<[u64]>,
        size: u64,
    },
    /// The captures of a collector, at places that only their parts know.
    Captures(Arc<CapturedBytes>),
    /// A range of other bytes.
    Slice {
        whole: Arc<Spool>,
        start: u64,
        size: u64,
    },
}

impl Spool {
    /// Reads `from` to its end, or to an error, which comes back beside the bytes before it.
    pub(crate) fn fill(
        mut from: impl Read,
        intake: &Intake,
    ) -> io::Result<(Self, Option<io::Error>)> {
        let mut chunks = Vec::new();
        let (mut temporary, mut size) = (None, 0);
        loop {
            let mut bytes = Vec::new();
            let read = from.by_ref().take(CHUNK as u64).read_to_end(&mut bytes);
            let end = read.is_err() || bytes.len() < CHUNK;
            let error = read.err();
            size += bytes.len() as u64;
            if end && chunks.is_empty() && intake.keep(bytes.len()) {
                return Ok((Self::Memory(bytes.into()), error));
            }
            if !bytes.is_empty() || temporary.is_none() {
                let (file, at) = intake.spill(&bytes)?;
                chunks.push(at);
                temporary = Some(file);
            }
            if let Some(file) = temporary.clone().filter(|_| end) {
                let chunks = chunks.into();
                return Ok((Self::Spilled { file, chunks, size }, error));
            }
        }
    }

    /// Returns the bytes from `start` on, `size` of them.
    pub(crate) fn slice(&self, start: u64, size: u64) -> Self {
        let whole = Arc::new(self.clone());
        Self::Slice { whole, start, size }
    }

    pub(crate) fn file(file: File) -> io::Result<Self> {
        let size = file.metadata()?.len();
        Ok(Self::File {
            file: Arc::new(file),
            size,
        })
    }

    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File { size, .. } | Self::Spilled { size, .. } | Self::Slice { size, .. } => {
                *size
            }
            Self::Captures(_) => u64::MAX,
        }
    }

    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::Memory(bytes) => {
                let from = in_memory(offset).min(bytes.len());
                let mut rest = subslice(bytes, from..);
                rest.read(buffer)
            }
            Self::File { file, .. } => file.read_at(buffer, offset),
            Self::Spilled { file, chunks, size } => {
                let number = in_memory(offset / CHUNK as u64);
                let Some(chunk) = chunks.get(number) else {
                    return Ok(0);
                };
                let into = offset % CHUNK as u64;
                let left = size.saturating_sub(offset).min(CHUNK as u64 - into);
                let len = buffer.len().min(in_memory(left));
                file.read_at(buffer.get_mut(..len).unwrap_or(&mut []), chunk + into)
            }
            Self::Captures(captures) => captures.read_at(buffer, offset),
            Self::Slice { whole, start, size } => {
                let left = size.saturating_sub(offset);
                let len = buffer.len().min(in_memory(left));
                whole.read_at(buffer.get_mut(..len).unwrap_or(&mut []), start + offset)
            }
        }
    }
}

/// Reads a spool from an offset on.
#[derive(Debug)]
pub(crate) struct SpoolReader {
    spool: Spool,
    at: u64,
}

impl SpoolReader {
    pub(crate) fn new(spool: Spool, at: u64) -> Self {
        Self { spool, at }
    }
}

impl Read for SpoolReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.spool.read_at(buffer, self.at)?;
        self.at += len as u64;
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_together_keep_little_in_memory_and_read_back() {
        let intake = Intake::default();
        let spools: Vec<Spool> = (0..100_u8)
            .map(|number| {
                let bytes = vec![number; 1 << 20];
                Spool::fill(bytes.as_slice(), &intake).unwrap().0
            })
            .collect();
        let in_memory = |spool: &&Spool| matches!(spool, Spool::Memory(_));
        assert_eq!(spools.iter().filter(in_memory).count(), 64);
        for (number, spool) in (0_u8..).zip(&spools) {
            let mut last = [0; 3];
            assert_eq!(spool.read_at(&mut last, (1 << 20) - 2).unwrap(), 2);
            assert_eq!(last, [number, number, 0]);
        }
    }

    #[test]
    fn chunks_of_a_long_stream_are_one_range_of_bytes() {
        let intake = Intake::default();
        let bytes: Vec<u8> = (0..5_000_000_u32).flat_map(u32::to_le_bytes).collect();
        let (spool, error) = Spool::fill(bytes.as_slice(), &intake).unwrap();
        assert!(error.is_none() && matches!(spool, Spool::Spilled { .. }));
        let slice = spool.slice(8, spool.size() - 16);
        let mut read = Vec::new();
        SpoolReader::new(slice, 0).read_to_end(&mut read).unwrap();
        assert!(read == bytes[8..bytes.len() - 8]);
    }
}
