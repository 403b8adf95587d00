//! Saving: files appear whole or not at all.

mod folder;
mod partial;
mod writer;

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Component, Path, PathBuf};

use traceloom_formats::{Error as FormatError, Output};

use crate::Error;
use partial::{Partial, changing};
use writer::{BUFFER, CompressedFile};

pub use folder::MARKER;
pub use partial::remove_partials;

/// Files of a folder of which something is held that is not written yet: one that is compressed takes a third of a megabyte.
const MOST_HELD: usize = 64;

/// A file or folder being written beside its final name; [`Save::commit`] renames it.
///
/// Names that end in `.gz` are compressed, unless [`Save::verbatim`] says otherwise. What is not committed is removed. A device or a pipe is written
/// to as it is, and where a link leads to is replaced in place of the link. A folder gets a file [`MARKER`], which
/// names the files in it.
pub struct Save {
    /// As it was named.
    shown: PathBuf,
    /// Behind links.
    target: PathBuf,
    /// None for a device or a pipe: renaming would put a file in its place.
    partial: Option<Partial>,
    folder: bool,
    /// Nothing is compressed.
    verbatim: bool,
    /// Those that are being written, and when each was written last.
    files: HashMap<String, (u64, CompressedFile)>,
    /// Times that anything was written.
    n_writes: u64,
    /// Every file of a folder.
    names: BTreeSet<String>,
    written: u64,
}

impl Save {
    /// Starts writing `target`: a folder when the format writes many files.
    ///
    /// # Errors
    /// When it exists and `force` is not set, or cannot be created; when it is a folder that holds anything but what
    /// a run of this program wrote.
    pub fn start(target: &Path, folder: bool, force: bool) -> Result<Self, Error> {
        let shown = target.to_owned();
        let io = |error| Error::io(&shown, error);
        let (target, direct) = check(target, folder, force)?;
        let partial = match direct {
            true => None,
            false => Some(Partial::new(beside(&target, "partial").map_err(io)?)),
        };
        if let Some(partial) = partial.as_ref().filter(|_| folder) {
            fs::create_dir_all(partial.path()).map_err(io)?;
        }
        Ok(Self {
            shown,
            target,
            partial,
            folder,
            verbatim: false,
            files: HashMap::new(),
            n_writes: 0,
            names: BTreeSet::new(),
            written: 0,
        })
    }

    /// Writes bytes as they are, whatever their file is called: they are compressed already.
    #[must_use]
    pub fn verbatim(mut self) -> Self {
        self.verbatim = true;
        self
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
        let shown = self.shown.clone();
        let io = |error| Error::io(&shown, error);
        if !self.folder && self.files.is_empty() {
            self.file("").map_err(io)?;
        }
        for (_, (_, writer)) in self.files.drain() {
            writer.finish().map_err(io)?;
        }
        let Some(partial) = &self.partial else {
            return Ok(());
        };
        if self.folder {
            let names = self.names.iter().map(String::as_str);
            folder::mark(partial.path(), names).map_err(io)?;
        }
        self.replace(partial).map_err(io)
    }

    /// Puts what was written in the place of what was there before, which stays where that fails.
    fn replace(&self, partial: &Partial) -> io::Result<()> {
        let mut changing = changing();
        let before = match self.folder && self.target.is_dir() {
            true => {
                let before = beside(&self.target, "replaced")?;
                fs::rename(&self.target, &before)?;
                Some(before)
            }
            false => None,
        };
        let renamed = partial.rename(&self.target, &mut changing);
        match (&renamed, before) {
            (Ok(()), Some(before)) => fs::remove_dir_all(before)?,
            (Err(_), Some(before)) => fs::rename(before, &self.target)?,
            (_, None) => {}
        }
        renamed
    }

    fn failed(&self, error: &io::Error) -> FormatError {
        FormatError::writing(&self.shown.display().to_string(), error)
    }

    fn file(&mut self, name: &str) -> io::Result<&mut CompressedFile> {
        if !self.files.contains_key(name) {
            let path = match &self.partial {
                Some(partial) if self.folder => partial.path().join(inside(name)?),
                Some(partial) => partial.path().to_owned(),
                None => self.target.clone(),
            };
            let shown = if self.folder {
                Path::new(name)
            } else {
                self.shown.as_path()
            };
            let is_gz = shown.extension().is_some_and(|extension| extension == "gz");
            let packed = is_gz && !self.verbatim;
            if self.folder && self.files.len() >= MOST_HELD {
                self.let_go()?;
            }
            // A device may make whoever opens it wait, which must not keep others from being saved or removed.
            let changing = self.partial.as_ref().map(|_| changing());
            if let Some(folder) = path.parent().filter(|_| self.folder) {
                fs::create_dir_all(folder)?;
            }
            let writer = if self.folder {
                let is_new = self.names.insert(name.to_owned());
                CompressedFile::one_of_many(&path, packed, is_new)?
            } else {
                CompressedFile::create(&path, packed)?
            };
            drop(changing);
            self.files.insert(name.to_owned(), (0, writer));
        }
        self.n_writes += 1;
        let known = self.files.get_mut(name);
        let (last, writer) = known.ok_or(io::ErrorKind::NotFound)?;
        *last = self.n_writes;
        Ok(writer)
    }

    /// Writes out what is held of the file that was written the longest ago.
    fn let_go(&mut self) -> io::Result<()> {
        let oldest = self.files.iter().min_by_key(|(_, (last, _))| *last);
        let oldest = oldest.map(|(name, _)| name.clone());
        let held = oldest.and_then(|name| self.files.remove(&name));
        held.map_or(Ok(()), |(_, writer)| writer.finish())
    }
}

/// Checks that [`Save::start`] would not refuse the target, for commands that read for long before they write. Returns
/// where links lead to, and whether that is a device or a pipe.
///
/// # Errors
/// Those of [`Save::start`].
pub fn check(target: &Path, folder: bool, force: bool) -> Result<(PathBuf, bool), Error> {
    let shown = target.to_owned();
    let io = |error| Error::io(&shown, error);
    let found = fs::metadata(target).ok();
    if found.is_some_and(|found| !found.is_file() && !found.is_dir()) {
        return match folder {
            true => Err(Error::about(&shown, "is no place for a folder")),
            // Opened by this name: what /dev/stdout links to has none.
            false => Ok((shown, true)),
        };
    }
    let target = folder::behind_links(target).map_err(io)?;
    if let Ok(found) = fs::metadata(&target) {
        if !force {
            return Err(Error::about(
                &shown,
                "exists already; --force overwrites it",
            ));
        }
        match (folder, found.is_dir()) {
            (true, true) => folder::check_replaceable(&target)?,
            (true, false) => {
                let reason = "is a file, and what is to be written is a folder; name another";
                return Err(Error::about(&shown, reason));
            }
            (false, true) => {
                let reason = "is a folder, and what is to be written is a file; name another";
                return Err(Error::about(&shown, reason));
            }
            (false, false) => {}
        }
    }
    Ok((target, false))
}

/// Returns a hidden name beside `target` that no other process uses.
fn beside(target: &Path, ending: &str) -> io::Result<PathBuf> {
    let name = target.file_name();
    let name = name.ok_or_else(|| io::Error::other("is not a name to write to"))?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.{ending}", std::process::id()));
    Ok(target.with_file_name(hidden))
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
        let finished = self
            .files
            .remove(name)
            .map_or(Ok(()), |(_, writer)| writer.finish());
        finished.map_err(|error| self.failed(&error))
    }
}

/// Writes a target of one file to standard output.
#[derive(Debug, Default)]
pub struct Stdout(Option<BufWriter<File>>);

/// Returns standard output as a file: the library's own looks for the ends of lines in all that is written.
fn stdout() -> io::Result<File> {
    #[cfg(unix)]
    let owned = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned()?;
    #[cfg(windows)]
    let owned = std::os::windows::io::AsHandle::as_handle(&io::stdout()).try_clone_to_owned()?;
    Ok(File::from(owned))
}

impl Output for Stdout {
    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), FormatError> {
        if !name.is_empty() {
            return Err(FormatError::usage(
                "this format writes a folder; name it with -o",
            ));
        }
        let io = |error| FormatError::writing("standard output", &error);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_held_of_many_files() {
        let scratch = tempfile::tempdir().unwrap();
        let mut save = Save::start(&scratch.path().join("out"), true, false).unwrap();
        for nth in 0..3 * MOST_HELD {
            for name in ["kept.gz".to_owned(), format!("{nth}.gz")] {
                save.write(&name, b"something").unwrap();
                assert!(save.files.len() <= MOST_HELD && save.files.contains_key(&name));
            }
            // What is written all the time is not let go.
            assert!(save.files.contains_key("kept.gz"));
        }
        save.commit().unwrap();
        let kept = fs::read(scratch.path().join("out/kept.gz")).unwrap();
        let mut text = String::new();
        let member = &mut flate2::read::GzDecoder::new(&kept[..]);
        io::Read::read_to_string(member, &mut text).unwrap();
        assert_eq!(text, "something".repeat(3 * MOST_HELD));
    }
}
