use std::fs;
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Disk, File};

/// A folder of the machine. Files are readable by their owner alone.
#[derive(Debug)]
pub struct Local {
    folder: PathBuf,
}

impl Local {
    /// Names a folder that exists.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn new(folder: &Path) -> io::Result<Self> {
        let folder = fs::canonicalize(folder)?;
        if !folder.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { folder })
    }
}

impl Disk for Local {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if let (true, Ok(name)) = (
                entry.file_type()?.is_file(),
                entry.file_name().into_string(),
            ) {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let mut options = fs::OpenOptions::new();
        options.read(true).append(true).create_new(true).mode(0o600);
        Ok(Arc::new(LocalFile::new(
            options.open(self.folder.join(name))?,
        )?))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(LocalFile::new(fs::File::open(
            self.folder.join(name),
        )?)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.folder.join(from), self.folder.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.folder.join(name))
    }

    fn sync_folder(&self) -> io::Result<()> {
        fs::File::open(&self.folder)?.sync_all()
    }
}

struct LocalFile {
    file: fs::File,
    /// Bytes whose pages have left the page cache.
    dropped: AtomicU64,
}

/// Synced bytes that stay in the page cache before they are dropped from it, so that readers of the newest
/// records do not go to the disk. A power of two, much larger than a group.
const KEPT_IN_CACHE: u64 = 8 << 20;

impl LocalFile {
    fn new(file: fs::File) -> io::Result<Self> {
        let dropped = AtomicU64::new(0);
        Ok(Self { file, dropped })
    }
}

impl File for LocalFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        use io::Write as _;
        (&self.file).write_all(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()?;
        // Appending into fresh pages is what limits a log; pages that are given back are fresh no more.
        let synced = self.length()?;
        let dropped = self.dropped.load(Ordering::Relaxed);
        if synced.saturating_sub(dropped) >= 2 * KEPT_IN_CACHE {
            let end = synced - KEPT_IN_CACHE;
            let length = std::num::NonZeroU64::new(end - dropped);
            let advice = rustix::fs::Advice::DontNeed;
            // It is advice: a file system that does not take it keeps the pages.
            let _ = rustix::fs::fadvise(&self.file, dropped, length, advice);
            self.dropped.store(end, Ordering::Relaxed);
        }
        Ok(())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}
