//! Room for sealing and deleting on a full disk: a file that is removed when there is no other.

use std::fs;
use std::io;
use std::path::PathBuf;

use traceloom_input::captures::DataFolder;

/// Bytes of several groups, chunks and manifests.
const WORKING_ROOM: u64 = 32 << 20;

fn path(folder: &DataFolder) -> PathBuf {
    folder.path().join("ballast")
}

/// Gives the room away; returns `false` if there is none.
pub(crate) fn release(folder: &DataFolder) -> bool {
    fs::remove_file(path(folder)).is_ok()
}

/// Takes room, unless that would fill a quarter of what is left: a start copies a segment of the log, and then seals.
///
/// # Errors
/// When the system refuses.
pub(crate) fn take(folder: &DataFolder, segment_bytes: u64) -> io::Result<()> {
    let path = path(folder);
    let n_bytes = segment_bytes + WORKING_ROOM;
    let free = rustix::fs::statvfs(folder.path())?;
    if path.exists() || free.f_bavail.saturating_mul(free.f_frsize) < 4 * n_bytes {
        return Ok(());
    }
    let file = fs::File::create(&path)?;
    let taken = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, n_bytes);
    if taken.is_err() {
        fs::remove_file(&path)?;
    }
    Ok(())
}
