//! Some captures of a data folder, as a path names them.

use std::path::{Path, PathBuf};

use super::{CaptureId, DataFolder};

/// What `DATA#1-7,1-9` names: a data folder, and captures of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenCaptures {
    /// The data folder.
    pub folder: PathBuf,
    /// The ids, in the order in which they were given.
    pub ids: Vec<CaptureId>,
}

impl ChosenCaptures {
    /// Reads a path; `None` where it is a file or a folder, or names no captures of a data folder.
    #[must_use]
    pub fn of(path: &str) -> Option<Self> {
        let (folder, ids) = path.rsplit_once('#')?;
        let folder = PathBuf::from(folder);
        if Path::new(path).exists() || !DataFolder::is_at(&folder) {
            return None;
        }
        let ids: Result<Vec<CaptureId>, _> = ids.split(',').map(str::parse).collect();
        Some(Self {
            folder,
            ids: ids.ok()?,
        })
    }
}
