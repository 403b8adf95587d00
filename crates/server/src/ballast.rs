//! Room for sealing and deleting on a full disk: a file that is removed when there is no other.

use std::fs;
use std::io;
use std::path::PathBuf;

use traceloom_input::captures::DataFolder;

/// Bytes of the file: several groups, chunks and manifests.
const BALLAST: u64 = 32 << 20;

fn path(folder: &DataFolder) -> PathBuf {
    folder.path().join("ballast")
}

/// Gives the room away; returns `false` if there is none.
pub(crate) fn release(folder: &DataFolder) -> bool {
    fs::remove_file(path(folder)).is_ok()
}

/// Takes room, unless that would fill a quarter of what is left.
///
/// # Errors
/// When the system refuses.
pub(crate) fn take(folder: &DataFolder) -> io::Result<()> {
    let path = path(folder);
    let free = rustix::fs::statvfs(folder.path())?;
    if path.exists() || free.f_bavail.saturating_mul(free.f_frsize) < 4 * BALLAST {
        return Ok(());
    }
    let file = fs::File::create(&path)?;
    let taken = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, BALLAST);
    if taken.is_err() {
        fs::remove_file(&path)?;
    }
    Ok(())
}
