//! Bytes that cannot be read twice or from the middle, kept where they can.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Largest amount kept in memory; more goes to a temporary file.
const IN_MEMORY: usize = 8 << 20;

/// Bytes readable from any offset.
#[derive(Clone, Debug)]
pub(crate) enum Spool {
    Memory(Arc<Vec<u8>>),
    File { file: Arc<File>, size: u64 },
}

impl Spool {
    /// Reads `from` to its end, or to an error, which comes back beside the bytes before it.
    pub(crate) fn fill(mut from: impl Read) -> io::Result<(Self, Option<io::Error>)> {
        let mut memory = Vec::new();
        let taken = from
            .by_ref()
            .take(IN_MEMORY as u64)
            .read_to_end(&mut memory);
        if let Err(error) = taken {
            return Ok((Self::Memory(memory.into()), Some(error)));
        }
        if memory.len() < IN_MEMORY {
            return Ok((Self::Memory(memory.into()), None));
        }
        let mut file = tempfile::tempfile()?;
        file.write_all(&memory)?;
        let mut size = memory.len() as u64;
        let mut buffer = memory;
        loop {
            match from.read(&mut buffer) {
                Ok(0) => {
                    return Ok((
                        Self::File {
                            file: Arc::new(file),
                            size,
                        },
                        None,
                    ));
                }
                Ok(len) => {
                    file.write_all(buffer.get(..len).unwrap_or(&[]))?;
                    size += len as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Ok((
                        Self::File {
                            file: Arc::new(file),
                            size,
                        },
                        Some(error),
                    ));
                }
            }
        }
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
            Self::File { size, .. } => *size,
        }
    }

    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::Memory(bytes) => {
                let from = usize::try_from(offset)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len());
                let mut rest = bytes.get(from..).unwrap_or(&[]);
                rest.read(buffer)
            }
            Self::File { file, .. } => file.read_at(buffer, offset),
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
