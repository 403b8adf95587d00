//! One file that is being written.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Bytes gathered for a write. Targets of one file hand out as many at once, which are written as they are.
pub(super) const BUFFER: usize = 1 << 16;

/// A file, compressed or not.
pub(super) enum CompressedFile {
    Plain(BufWriter<Handle>),
    Gzip(Box<GzEncoder<BufWriter<Handle>>>),
}

impl CompressedFile {
    /// Creates a file.
    pub(super) fn create(path: &Path, packed: bool) -> io::Result<Self> {
        Ok(Self::of(Handle::Open(File::create(path)?), packed))
    }

    /// Goes on with one of many files, which is made where it `is_new`. It does not stay open, because a folder may have more
    /// files than a process may open. A compressed one goes on with another member.
    pub(super) fn one_of_many(path: &Path, packed: bool, is_new: bool) -> io::Result<Self> {
        if is_new {
            File::create(path)?;
        }
        Ok(Self::of(Handle::Reopened(path.to_owned()), packed))
    }

    fn of(handle: Handle, packed: bool) -> Self {
        let file = BufWriter::with_capacity(BUFFER, handle);
        if packed {
            Self::Gzip(Box::new(GzEncoder::new(file, Compression::default())))
        } else {
            Self::Plain(file)
        }
    }

    pub(super) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.write_all(bytes),
            Self::Gzip(file) => file.write_all(bytes),
        }
    }

    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(mut file) => file.flush(),
            Self::Gzip(file) => file.finish()?.flush(),
        }
    }
}

/// Where the buffer of a [`CompressedFile`] goes.
pub(super) enum Handle {
    Open(File),
    /// Opened for each buffer, which costs little beside writing it.
    Reopened(PathBuf),
}

impl Write for Handle {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Open(file) => file.write(bytes),
            Self::Reopened(path) => {
                let mut file = OpenOptions::new().append(true).open(path)?;
                file.write_all(bytes)?;
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
