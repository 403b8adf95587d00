//! The folder of a collector: readable by its owner alone, used by one process at a time.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use traceloom_log::disk::Local;
use traceloom_log::{ErrorKind, Recovered, Snapshot};

use crate::Error;

/// Where a collector keeps its data unless told otherwise.
pub const DEFAULT: &str = "traceloom-data";

/// The file by which a folder is known, and its text.
const MARKER: &str = "traceloom-data.txt";
const MARKED: &str = "The data of `traceloom serve`, version 1. Only traceloom writes here.\n";

/// A data folder that exists.
#[derive(Clone, Debug)]
pub struct DataFolder {
    path: PathBuf,
}

/// Held while a collector uses a folder.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "it is held")] File);

impl DataFolder {
    /// Returns `true` if `path` is a data folder.
    #[must_use]
    pub fn is_at(path: &Path) -> bool {
        path.join(MARKER).is_file()
    }

    /// Opens a data folder for reading.
    ///
    /// # Errors
    /// When it is none, or a newer program made it.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let marker = path.join(MARKER);
        let text = fs::read_to_string(&marker).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if path.is_dir() => {
                Error::about(path, "this is no data folder of `traceloom serve`")
            }
            io::ErrorKind::NotFound => Error::io(path, error),
            _ => Error::io(&marker, error),
        })?;
        if text != MARKED {
            return Err(Error::about(
                path,
                "the data folder has a version that this program does not read",
            ));
        }
        let path = path.to_owned();
        Ok(Self { path })
    }

    /// Opens a data folder for writing, and makes it where there is none. Nobody but its owner may read it.
    ///
    /// # Errors
    /// When it is a folder of something else, or the system refuses.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let io = |error| Error::io(path, error);
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(path).map_err(io)?;
        if !Self::is_at(path) {
            let mut entries = fs::read_dir(path).map_err(io)?;
            if entries.next().is_some() {
                return Err(Error::about(
                    path,
                    "the folder holds something else; name an empty one",
                ));
            }
        }
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(io)?;
        builder.create(path.join("log")).map_err(io)?;
        if !Self::is_at(path) {
            let mut marker = File::create(path.join(MARKER)).map_err(io)?;
            marker.write_all(MARKED.as_bytes()).map_err(io)?;
            marker.sync_all().map_err(io)?;
            // The names of the folder, and its own.
            File::open(path)
                .and_then(|folder| folder.sync_all())
                .map_err(io)?;
            let above = fs::canonicalize(path).map_err(io)?;
            let above = above.parent().unwrap_or(Path::new("/")).to_owned();
            File::open(above)
                .and_then(|folder| folder.sync_all())
                .map_err(io)?;
        }
        Self::open(path)
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder of the log.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    /// Takes the folder for this process.
    ///
    /// # Errors
    /// When another process has it.
    pub fn lock(&self) -> Result<Lock, Error> {
        let path = self.path.join("lock");
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let file = options
            .open(&path)
            .map_err(|error| Error::io(&path, error))?;
        match file.try_lock() {
            Ok(()) => Ok(Lock(file)),
            Err(TryLockError::WouldBlock) => Err(Error::about(
                &self.path,
                "another collector is using this data folder",
            )),
            Err(TryLockError::Error(error)) => Err(Error::io(&path, error)),
        }
    }

    /// Returns `true` while a collector uses the folder.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        let Ok(file) = File::open(self.path.join("lock")) else {
            return false;
        };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    /// Reads what is committed to the log, without changing anything.
    ///
    /// # Errors
    /// When the log is damaged, or cannot be read.
    pub fn snapshot(&self) -> Result<(Snapshot, Recovered), Error> {
        /// A segment may be replaced while it is looked for.
        const TRIES: usize = 5;
        let log = self.log();
        let disk = Local::new(&log).map_err(|error| Error::io(&log, error))?;
        let mut tries = 0;
        loop {
            tries += 1;
            match Snapshot::open(&disk) {
                Ok(opened) => return Ok(opened),
                Err(error) if error.kind() == ErrorKind::UnknownVersion || tries == TRIES => {
                    return Err(Error::about(&log, error.to_string()));
                }
                Err(_) if self.is_in_use() => {}
                Err(error) => return Err(Error::about(&log, error.to_string())),
            }
        }
    }
}
