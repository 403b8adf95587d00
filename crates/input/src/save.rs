//! Saving: files appear whole or not at all.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::path::{Component, Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use traceloom_formats::{Error as FormatError, Output};

use crate::Error;

/// Bytes gathered for a write. Targets of one file hand out as many at once, which are written as they are.
const BUFFER: usize = 1 << 16;

enum Writer {
    Plain(BufWriter<File>),
    Gzip(Box<GzEncoder<BufWriter<File>>>),
}

impl Writer {
    fn create(path: &Path, packed: bool) -> io::Result<Self> {
        let file = BufWriter::with_capacity(BUFFER, File::create(path)?);
        Ok(if packed {
            Self::Gzip(Box::new(GzEncoder::new(file, Compression::default())))
        } else {
            Self::Plain(file)
        })
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.write_all(bytes),
            Self::Gzip(file) => file.write_all(bytes),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(mut file) => file.flush(),
            Self::Gzip(file) => file.finish()?.flush(),
        }
    }
}

/// A file or folder being written beside its final name; [`Save::commit`] renames it.
///
/// Names that end in `.gz` are compressed. What is not committed is removed. A device or a pipe is written
/// to as it is.
pub struct Save {
    target: PathBuf,
    partial: PathBuf,
    folder: bool,
    files: HashMap<String, Writer>,
    written: u64,
    committed: bool,
    /// A device or a pipe: written as it is, because renaming would put a file in its place.
    direct: bool,
}

impl Save {
    /// Starts writing `target`: a folder when the format writes many files.
    ///
    /// # Errors
    /// When it exists and `force` is not set, or cannot be created.
    pub fn start(target: &Path, folder: bool, force: bool) -> Result<Self, Error> {
        let found = fs::metadata(target);
        let direct = found.is_ok_and(|found| !found.is_file() && !found.is_dir());
        if direct && folder {
            return Err(Error::about(target, "is no place for a folder"));
        }
        if target.exists() && !force && !direct {
            return Err(Error::about(
                target,
                "exists already; --force overwrites it",
            ));
        }
        let name = target.file_name();
        let name = name.ok_or_else(|| Error::about(target, "is not a name to write to"))?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.partial", std::process::id()));
        let partial = if direct {
            target.to_owned()
        } else {
            target.with_file_name(hidden)
        };
        if folder {
            fs::create_dir_all(&partial).map_err(|error| Error::io(target, error))?;
        }
        let target = target.to_owned();
        let files = HashMap::new();
        Ok(Self {
            target,
            partial,
            folder,
            files,
            written: 0,
            committed: false,
            direct,
        })
    }

    /// Returns the bytes written so far, before compression.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Finishes every file and moves the whole to its final name.
    ///
    /// # Errors
    /// When a file cannot be finished or moved.
    pub fn commit(mut self) -> Result<(), Error> {
        let target = self.target.clone();
        let io = |error| Error::io(&target, error);
        if !self.folder && self.files.is_empty() {
            self.file("").map_err(io)?;
        }
        for (_, writer) in self.files.drain() {
            writer.finish().map_err(io)?;
        }
        if self.folder && self.target.is_dir() {
            fs::remove_dir_all(&self.target).map_err(io)?;
        }
        if !self.direct {
            fs::rename(&self.partial, &self.target).map_err(io)?;
        }
        self.committed = true;
        Ok(())
    }

    fn failed(&self, error: &io::Error) -> FormatError {
        FormatError::io(format!("{}: {error}", self.target.display()))
    }

    fn file(&mut self, name: &str) -> io::Result<&mut Writer> {
        if !self.files.contains_key(name) {
            let path = if self.folder {
                self.partial.join(inside(name)?)
            } else {
                self.partial.clone()
            };
            if let Some(folder) = path.parent().filter(|_| self.folder) {
                fs::create_dir_all(folder)?;
            }
            let shown = if self.folder {
                Path::new(name)
            } else {
                self.target.as_path()
            };
            let packed = shown.extension().is_some_and(|extension| extension == "gz");
            self.files
                .insert(name.to_owned(), Writer::create(&path, packed)?);
        }
        self.files
            .get_mut(name)
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Refuses names that would leave the folder.
fn inside(name: &str) -> io::Result<&Path> {
    let path = Path::new(name);
    let plain = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if plain {
        Ok(path)
    } else {
        Err(io::Error::other(format!("unsafe file name `{name}`")))
    }
}

impl Output for Save {
    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), FormatError> {
        self.written += bytes.len() as u64;
        let written = self.file(name).and_then(|file| file.write_all(bytes));
        written.map_err(|error| self.failed(&error))
    }

    fn end(&mut self, name: &str) -> Result<(), FormatError> {
        let finished = self.files.remove(name).map_or(Ok(()), Writer::finish);
        finished.map_err(|error| self.failed(&error))
    }
}

impl Drop for Save {
    fn drop(&mut self) {
        if !self.committed && !self.direct {
            self.files.clear();
            let _ = if self.folder {
                fs::remove_dir_all(&self.partial)
            } else {
                fs::remove_file(&self.partial)
            };
        }
    }
}

/// Writes a target of one file to standard output.
#[derive(Debug, Default)]
pub struct Stdout(Option<BufWriter<File>>);

/// Returns standard output as a file: the library's own looks for the ends of lines in all that is written.
fn stdout() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

impl Output for Stdout {
    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), FormatError> {
        if !name.is_empty() {
            return Err(FormatError::usage(
                "this format writes a folder; name it with -o",
            ));
        }
        let io = |error| FormatError::io(format!("standard output: {error}"));
        let out = match &mut self.0 {
            Some(out) => out,
            none => none.insert(BufWriter::with_capacity(BUFFER, stdout().map_err(io)?)),
        };
        out.write_all(bytes).map_err(io)
    }
}

impl Stdout {
    /// Writes out what is buffered.
    ///
    /// # Errors
    /// When standard output is closed.
    pub fn flush(&mut self) -> Result<(), Error> {
        let out = self.0.as_mut();
        out.map_or(Ok(()), |out| {
            out.flush()
                .map_err(|error| Error::io("standard output", error))
        })
    }
}
