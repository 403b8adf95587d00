//! The file system as the log sees it: whole-file names in one folder, appends, syncs.

mod local;
#[cfg(any(test, feature = "simulated"))]
mod simulated;
mod system;

pub use local::Local;
#[cfg(any(test, feature = "simulated"))]
pub use simulated::{DiskFault, Simulated, Survivors};
pub use system::{
    PlacedFile, folders_for_owner_alone, for_owner_alone, is_same_file, keep_others_out,
    sync_folder,
};

use std::io;
use std::sync::Arc;

/// A folder of files that are created, appended to, synced, renamed and removed.
///
/// Nothing is durable before it is synced: bytes of a file by [`File::sync`], its name, a rename or a removal
/// by [`Disk::sync_folder`].
pub trait Disk: Send + Sync {
    /// Returns the names of all files, in no order.
    ///
    /// # Errors
    /// When the folder cannot be read.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Creates an empty file.
    ///
    /// # Errors
    /// When it exists, or cannot be created.
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>>;

    /// Opens a file for reading.
    ///
    /// # Errors
    /// When it does not exist, or cannot be opened.
    fn open(&self, name: &str) -> io::Result<Arc<dyn File>>;

    /// Gives a file another name, replacing a file of that name.
    ///
    /// # Errors
    /// When the file system refuses.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file. Handles that are open stay readable.
    ///
    /// # Errors
    /// When the file system refuses.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes everything appended so far to files of this folder durable, as [`File::sync`] does for one.
    ///
    /// # Errors
    /// When the file system refuses for one of them; what is durable of any is unknown then.
    fn sync_files(&self, files: &[Arc<dyn File>]) -> io::Result<()> {
        files.iter().try_for_each(|file| file.sync())
    }

    /// Makes names durable: creations, renames and removals.
    ///
    /// # Errors
    /// When the file system refuses; what is durable is unknown then.
    fn sync_folder(&self) -> io::Result<()>;
}

/// An open file. Reads may run beside appends.
pub trait File: Send + Sync {
    /// Writes `bytes` behind the last byte.
    ///
    /// # Errors
    /// When the file system refuses; a part of `bytes` may have been written then.
    fn append(&self, bytes: &[u8]) -> io::Result<()>;

    /// Has the system begin to write what was appended, so that a sync has less to wait for. Nothing is durable by this.
    fn begin_writing(&self) {}

    /// Makes everything appended so far durable.
    ///
    /// # Errors
    /// When the file system refuses. What was appended since the last success may be lost, although it can be
    /// read, and a later success says nothing about it.
    fn sync(&self) -> io::Result<()>;

    /// Reads from `offset` into `buffer` and returns the number of bytes read, 0 only at the end.
    ///
    /// # Errors
    /// When the file system refuses.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Returns the number of bytes in the file.
    ///
    /// # Errors
    /// When the file system refuses.
    fn length(&self) -> io::Result<u64>;
}

/// Fills `buffer` from `offset`.
///
/// # Errors
/// When the file ends before, or cannot be read.
pub(crate) fn read_exact_at(file: &dyn File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n_read => filled += n_read,
        }
    }
    Ok(())
}
