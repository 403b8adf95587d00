//! The folder of a collector: readable by its owner alone, used by one process at a time.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use traceloom_log::disk::{
    Disk, Local, folders_for_owner_alone, for_owner_alone, keep_others_out, sync_folder,
};
use traceloom_log::{ErrorKind, Position, Recovered, Snapshot};

use super::{CaptureId, Manifests};
use crate::Error;

/// Where a collector keeps its data unless told otherwise.
pub const DEFAULT: &str = "traceloom-data";

/// The file by which a folder is known, and its text.
const MARKER: &str = "traceloom-data.txt";
const MARKED: &str = "The data of `traceloom serve`, version 1. Only traceloom writes here.\n";

const LOG: &str = "log";
const CHUNKS: &str = "chunks";
const MANIFESTS: &str = "captures";
const REQUESTS: &str = "requests";
/// The folder of indexes of calls, which is made when the first is written.
const CALLS: &str = "calls";
/// The folder of indexes of profiles, which is made when the first is written.
const PROFILES: &str = "profiles";
/// The file that readers of sealed captures lock.
const READERS: &str = "readers";

/// A data folder that exists.
#[derive(Clone, Debug)]
pub struct DataFolder {
    path: PathBuf,
}

/// The folders of sealed captures, and the lease of a reader.
#[derive(Clone)]
pub struct CaptureDisks {
    /// Chunks.
    pub chunks: Arc<dyn Disk>,
    /// Manifests.
    pub manifests: Manifests,
    /// While it is held, chunks of deleted captures stay.
    pub lease: Option<ReaderLease>,
}

impl CaptureDisks {
    /// Takes a lease of a folder.
    pub(super) fn leased(self, folder: &DataFolder) -> Result<Self, Error> {
        let path = folder.path.join(READERS);
        let lease = File::open(&path).and_then(|file| {
            file.lock_shared()?;
            Ok(file)
        });
        let lease = match lease {
            Ok(lease) => Some(ReaderLease(Arc::new(lease))),
            // A copy that no collector has used: nobody deletes there.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::io(&path, error)),
        };
        Ok(Self { lease, ..self })
    }
}

/// Held while sealed captures are read.
#[derive(Clone, Debug)]
pub struct ReaderLease(#[expect(dead_code, reason = "it is held")] Arc<File>);

/// Held while a collector uses a folder, while readers are kept out, or while a file is changed.
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
        folders_for_owner_alone(builder.recursive(true));
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
        keep_others_out(path).map_err(io)?;
        let mut is_new = false;
        for name in [LOG, CHUNKS, MANIFESTS, REQUESTS] {
            is_new |= !path.join(name).is_dir();
            builder.create(path.join(name)).map_err(io)?;
        }
        File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path.join(READERS))
            .map_err(io)?;
        if is_new {
            sync_folder(path).map_err(io)?;
        }
        if !Self::is_at(path) {
            let mut marker = File::create(path.join(MARKER)).map_err(io)?;
            marker.write_all(MARKED.as_bytes()).map_err(io)?;
            marker.sync_all().map_err(io)?;
            // The names of the folder, and its own.
            sync_folder(path).map_err(io)?;
            let above = fs::canonicalize(path).map_err(io)?;
            sync_folder(above.parent().unwrap_or(Path::new("/"))).map_err(io)?;
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
        self.path.join(LOG)
    }

    /// Returns the folder of manifests.
    pub(super) fn manifests(&self) -> PathBuf {
        self.path.join(MANIFESTS)
    }

    /// Returns the folder of indexes of calls.
    pub(super) fn call_indexes(&self) -> PathBuf {
        self.path.join(CALLS)
    }

    /// Returns the index of the calls of a capture.
    #[must_use]
    pub fn call_index(&self, id: CaptureId) -> PathBuf {
        self.call_indexes().join(id.to_string())
    }

    /// Returns the folder of indexes of profiles.
    pub(super) fn profile_indexes(&self) -> PathBuf {
        self.path.join(PROFILES)
    }

    /// Returns the index of the profiles of a capture.
    #[must_use]
    pub fn profile_index(&self, id: CaptureId) -> PathBuf {
        self.profile_indexes().join(id.to_string())
    }

    /// Returns the folder in which commands leave requests for a running collector.
    #[must_use]
    pub fn requests(&self) -> PathBuf {
        self.path.join(REQUESTS)
    }

    /// Returns the folders of sealed captures.
    ///
    /// # Errors
    /// When they cannot be opened.
    pub fn disks(&self) -> Result<CaptureDisks, Error> {
        let disk = |name: &str| -> Result<Arc<dyn Disk>, Error> {
            let path = self.path.join(name);
            match Local::new(&path) {
                Ok(disk) => Ok(Arc::new(disk)),
                Err(error) => Err(Error::io(&path, error)),
            }
        };
        Ok(CaptureDisks {
            chunks: disk(CHUNKS)?,
            manifests: Manifests::new(disk(MANIFESTS)?),
            lease: None,
        })
    }

    /// Keeps readers from opening sealed captures, unless one reads them.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn keep_readers_out(&self) -> Result<Option<Lock>, Error> {
        let path = self.path.join(READERS);
        let file = File::open(&path).map_err(|error| Error::io(&path, error))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(Error::io(&path, error)),
        }
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

    /// Waits until nobody else changes a file of the folder; others wait until what is returned is dropped.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn lock_changes(&self, name: &str) -> Result<Lock, Error> {
        let path = self.path.join(format!("{name}.lock"));
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let file = for_owner_alone(&mut options).open(&path);
        let locked = file.and_then(|file| file.lock().map(|()| Lock(file)));
        locked.map_err(|error| Error::io(&path, error))
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
        self.snapshot_from(Position(0))
    }

    /// As [`DataFolder::snapshot`], with as little as possible of what is before `position`.
    pub(super) fn snapshot_from(&self, position: Position) -> Result<(Snapshot, Recovered), Error> {
        /// A segment may be replaced while it is looked for.
        const TRIES: usize = 5;
        let log = self.log();
        let disk = Local::new(&log).map_err(|error| Error::io(&log, error))?;
        let mut tries = 0;
        loop {
            tries += 1;
            match Snapshot::open_from(&disk, position) {
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
