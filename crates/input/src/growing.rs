//! Bytes that are still arriving: standard input, and a file that another process writes.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use traceloom_formats::{Chunk, Error as FormatError, Pull};
use traceloom_log::disk::{PlacedFile as _, is_same_file};

use crate::Error;

/// How often a file is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Bytes read at once.
const PIECE: usize = 256 << 10;

/// Bytes that may still come. Clones are the same bytes.
#[derive(Clone, Debug)]
pub struct Growing {
    path: String,
    file: Arc<File>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Nothing more comes, or nobody waits for it.
    ended: AtomicBool,
    /// Why standard input could not be read to its end.
    failure: Mutex<Option<io::Error>>,
    /// A regular file: it ends when it is truncated or replaced.
    is_followed: bool,
    /// Its longest length so far is what tells that it was truncated.
    longest: std::sync::atomic::AtomicU64,
}

/// What became of growing bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// There are this many now.
    Size(u64),
    /// Nothing more comes.
    Ended,
    /// The file is shorter than it was.
    Truncated,
    /// The path leads to another file.
    Replaced,
}

impl Growing {
    /// Takes standard input into a temporary file, on a thread of its own.
    ///
    /// # Errors
    /// When there is no temporary file.
    pub fn standard_input() -> Result<Self, Error> {
        let failed = |error| Error::io("standard input", error);
        let file = Arc::new(tempfile::tempfile().map_err(failed)?);
        let growing = Self {
            path: "-".to_owned(),
            file: Arc::clone(&file),
            shared: Arc::default(),
        };
        let shared = Arc::clone(&growing.shared);
        let taking = thread::Builder::new().name("input".to_owned());
        let taking = taking.spawn(move || {
            if let Err(error) = take(&file) {
                *shared
                    .failure
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
            shared.ended.store(true, Ordering::Release);
        });
        taking.map_err(failed)?;
        Ok(growing)
    }

    /// Opens a file that grows.
    ///
    /// # Errors
    /// When it cannot be opened, or is no regular file.
    pub fn follow(path: &str) -> Result<Self, Error> {
        let file = File::open(path).map_err(|error| Error::io(path, error))?;
        let metadata = file.metadata().map_err(|error| Error::io(path, error))?;
        if !metadata.is_file() {
            return Err(Error::about(path, "it is no file that can grow"));
        }
        Ok(Self {
            path: path.to_owned(),
            file: Arc::new(file),
            shared: Arc::new(Shared {
                is_followed: true,
                ..Shared::default()
            }),
        })
    }

    /// Returns the path; `-` for standard input.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the file that has the bytes.
    #[must_use]
    pub fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Has nobody wait any more: what is there is all.
    pub fn end(&self) {
        self.shared.ended.store(true, Ordering::Release);
    }

    /// Looks how many bytes there are.
    ///
    /// # Errors
    /// When the system does not say, or standard input failed.
    pub fn growth(&self) -> Result<Growth, Error> {
        let io = |error| Error::io(&self.path, error);
        // In this order: what came before the end is seen with it.
        let ended = self.shared.ended.load(Ordering::Acquire);
        let size = self.file.metadata().map_err(io)?.len();
        if let Some(error) = self.failure() {
            return Err(Error::io("standard input", error));
        }
        let longest = self.shared.longest.fetch_max(size, Ordering::AcqRel);
        if size < longest {
            return Ok(Growth::Truncated);
        }
        if ended {
            return Ok(Growth::Ended);
        }
        if self.shared.is_followed && size == longest && self.is_replaced().map_err(io)? {
            return Ok(Growth::Replaced);
        }
        Ok(Growth::Size(size))
    }

    /// Waits until there are more than `size` bytes, or something else happened, at the longest until `until`.
    ///
    /// # Errors
    /// As [`Growing::growth`].
    pub fn wait(&self, size: u64, until: Option<Instant>) -> Result<Growth, Error> {
        loop {
            let growth = self.growth()?;
            let is_late = until.is_some_and(|until| Instant::now() >= until);
            match growth {
                Growth::Size(now) if now <= size && !is_late => thread::sleep(LOOK),
                growth => return Ok(growth),
            }
        }
    }

    /// Returns the number of bytes, whatever happened to them.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn size(&self) -> Result<u64, Error> {
        let metadata = self.file.metadata();
        Ok(metadata
            .map_err(|error| Error::io(&self.path, error))?
            .len())
    }

    /// Reads from the beginning, and waits for what comes.
    #[must_use]
    pub fn pull(&self) -> GrowingPull<'_> {
        GrowingPull {
            growing: self,
            buffer: Vec::new(),
            offset: 0,
        }
    }

    fn failure(&self) -> Option<io::Error> {
        let failure = &self.shared.failure;
        failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Returns `true` if the path leads to another file. One that is gone may be about to be replaced.
    fn is_replaced(&self) -> io::Result<bool> {
        let own = self.file.metadata()?;
        match fs::metadata(&self.path) {
            Ok(other) => Ok(!is_same_file(&own, &other)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Copies standard input piece by piece.
fn take(mut file: &File) -> io::Result<()> {
    let mut stdin = io::stdin().lock();
    let mut piece = vec![0; PIECE];
    loop {
        match stdin.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(n_bytes) => file.write_all(piece.get(..n_bytes).unwrap_or_default())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Windows over growing bytes: each has what is there, and at least what was asked for unless it is the last.
#[derive(Debug)]
pub struct GrowingPull<'g> {
    growing: &'g Growing,
    buffer: Vec<u8>,
    offset: u64,
}

impl GrowingPull<'_> {
    /// Reads one piece behind the buffer; returns `false` if there is none.
    fn read(&mut self) -> io::Result<bool> {
        let filled = self.buffer.len();
        self.buffer.resize(filled + PIECE, 0);
        let space = self.buffer.get_mut(filled..).unwrap_or_default();
        let read = self
            .growing
            .file
            .read_at(space, self.offset + filled as u64);
        self.buffer
            .truncate(filled + read.as_ref().map_or(0, |&n_bytes| n_bytes));
        read.map(|n_bytes| n_bytes > 0)
    }
}

impl Pull for GrowingPull<'_> {
    fn pull(&mut self, consumed: usize, need: usize) -> Result<Chunk<'_>, FormatError> {
        let io = |error: &dyn std::fmt::Display| FormatError::io(error.to_string());
        let consumed = consumed.min(self.buffer.len());
        self.buffer.drain(..consumed);
        self.offset += consumed as u64;
        let mut eof = false;
        // A reader that used nothing has seen what there is.
        let need = need.max(1);
        while !eof && self.buffer.len() < need {
            if self.read().map_err(|error| io(&error))? {
                continue;
            }
            let there = self.offset + self.buffer.len() as u64;
            let growth = self.growing.wait(there, None);
            eof = match growth.map_err(|error| io(&error))? {
                Growth::Size(_) => false,
                // What was written before the end.
                Growth::Ended | Growth::Replaced => !self.read().map_err(|error| io(&error))?,
                Growth::Truncated => true,
            };
        }
        Ok(Chunk {
            bytes: &self.buffer,
            offset: self.offset,
            eof,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn append(path: &std::path::Path, bytes: &[u8]) {
        let file = File::options().append(true).create(true).open(path);
        file.unwrap().write_all(bytes).unwrap();
    }

    #[test]
    fn windows_wait_for_what_comes_and_end_where_the_file_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        append(&path, b"abc");
        let growing = Growing::follow(path.to_str().unwrap()).unwrap();
        let mut pull = growing.pull();
        let chunk = pull.pull(0, 1).unwrap();
        assert_eq!(
            (chunk.bytes, chunk.offset, chunk.eof),
            (&b"abc"[..], 0, false)
        );
        let writer = path.clone();
        let later = thread::spawn(move || {
            thread::sleep(Duration::from_millis(120));
            append(&writer, b"def");
        });
        let chunk = pull.pull(2, 3).unwrap();
        assert_eq!(
            (chunk.bytes, chunk.offset, chunk.eof),
            (&b"cdef"[..], 2, false)
        );
        later.join().unwrap();
        growing.end();
        let chunk = pull.pull(4, 1).unwrap();
        assert_eq!((chunk.bytes, chunk.eof), (&b""[..], true));
    }

    #[test]
    fn a_file_that_is_cut_or_replaced_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        append(&path, b"abcdef");
        let name = path.to_str().unwrap();
        let growing = Growing::follow(name).unwrap();
        assert_eq!(growing.growth().unwrap(), Growth::Size(6));
        File::create(&path).unwrap();
        append(&path, b"abc");
        assert_eq!(growing.growth().unwrap(), Growth::Truncated);
        assert!(growing.pull().pull(0, 10).unwrap().eof);

        let growing = Growing::follow(name).unwrap();
        fs::rename(&path, folder.path().join("a.1")).unwrap();
        assert_eq!(growing.growth().unwrap(), Growth::Size(3));
        append(&folder.path().join("a.1"), b"d");
        append(&path, b"new");
        // What is in the old one comes first.
        assert_eq!(growing.growth().unwrap(), Growth::Size(4));
        assert_eq!(growing.wait(4, None).unwrap(), Growth::Replaced);
    }
}
