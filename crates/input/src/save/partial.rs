//! Outputs that are not whole yet, so that a signal can remove them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Every partial output of the process.
///
/// Global because a signal ends the process and not one caller, and because whoever handles it knows none of the
/// writers.
static PARTIALS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Held while files of a partial output are made, moved or removed.
pub(super) type Changing = MutexGuard<'static, Vec<PathBuf>>;

pub(super) fn changing() -> Changing {
    PARTIALS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file or folder that is removed unless it is moved to its final name.
#[derive(Debug)]
pub(super) struct Partial(PathBuf);

impl Partial {
    pub(super) fn new(path: PathBuf) -> Self {
        changing().push(path.clone());
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Moves it to its final name; from then on it is no longer partial.
    pub(super) fn rename(&self, to: &Path, partials: &mut Changing) -> io::Result<()> {
        fs::rename(&self.0, to)?;
        partials.retain(|path| *path != self.0);
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        let mut partials = changing();
        if partials.contains(&self.0) {
            remove(&self.0);
            partials.retain(|path| *path != self.0);
        }
    }
}

/// Removes every partial output. What is being saved can neither be written on nor committed while the value that comes
/// back lives: call this before the process ends.
#[must_use = "writers go on when the value is dropped"]
pub fn remove_partials() -> impl Sized {
    let partials = changing();
    partials.iter().for_each(|path| remove(path));
    partials
}

fn remove(path: &Path) {
    let _ = match path.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
}
