use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::system::{self, PlacedFile as _};
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
        options.read(true).append(true).create_new(true);
        system::for_owner_alone(&mut options);
        let file = options.open(self.folder.join(name))?;
        Ok(Arc::new(LocalFile { file }))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let file = fs::File::open(self.folder.join(name))?;
        Ok(Arc::new(LocalFile { file }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.folder.join(from), self.folder.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.folder.join(name))
    }

    fn sync_files(&self, files: &[Arc<dyn File>]) -> io::Result<()> {
        /// Syncs at a time. Those that wait together share the writes of the file system's journal and the flushes of the
        /// disk's cache, which is most of what one of a small file waits for.
        const AT_A_TIME: usize = 8;
        if files.len() < 2 {
            return files.iter().try_for_each(|file| file.sync());
        }
        let share = files.len().div_ceil(AT_A_TIME);
        std::thread::scope(|scope| {
            let sync = |files: &[Arc<dyn File>]| files.iter().try_for_each(|file| file.sync());
            let threads = files.chunks(share).map(|files| {
                let thread = std::thread::Builder::new().name("sync".to_owned());
                // Where the system gives no thread, this one does it.
                let spawned = thread.spawn_scoped(scope, move || sync(files));
                spawned.map_err(|_| sync(files))
            });
            let threads: Vec<_> = threads.collect();
            // Those that are left are joined by the scope.
            threads.into_iter().try_for_each(|thread| match thread {
                Ok(thread) => thread
                    .join()
                    .unwrap_or_else(|_| Err(io::Error::other("a bug ended a sync"))),
                Err(synced) => synced,
            })
        })
    }

    fn sync_folder(&self) -> io::Result<()> {
        system::sync_folder(&self.folder)
    }
}

struct LocalFile {
    file: fs::File,
}

impl File for LocalFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        use io::Write as _;
        (&self.file).write_all(bytes)
    }

    fn begin_writing(&self) {
        // Linux begins to write whatever part of a file is said not to be needed in memory. Where a system does not, a
        // sync does it all.
        #[cfg(unix)]
        let _ = rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::DontNeed);
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}
