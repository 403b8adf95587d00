//! Some captures of a data folder, as a path names them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::posts::PostId;
use super::{CaptureId, DataFolder};

/// What `DATA#1-7,1-9.3,1-11@4096` names: a data folder, captures of it, posts of captures, and the first bytes of captures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenCaptures {
    /// The data folder.
    pub folder: PathBuf,
    /// The ids, in the order in which they were given.
    pub ids: Vec<CaptureId>,
    /// The posts that are meant of captures that are not meant as a whole.
    posts: BTreeMap<CaptureId, BTreeSet<u32>>,
    /// Of captures of which only the beginning is meant, its bytes.
    beginnings: BTreeMap<CaptureId, u64>,
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
        let mut chosen = Self::whole(folder, Vec::new());
        let mut whole = BTreeSet::new();
        for id in ids.split(',') {
            let (id, beginning) = match id.split_once('@') {
                Some((id, n_bytes)) => (id, Some(n_bytes.parse::<u64>().ok()?)),
                None => (id, None),
            };
            let (capture, post) = match id.parse::<PostId>() {
                Ok(_) if beginning.is_some() => return None,
                Ok(post) => (post.capture, Some(post.number)),
                Err(_) => (id.parse::<CaptureId>().ok()?, None),
            };
            chosen
                .beginnings
                .extend(beginning.map(|n_bytes| (capture, n_bytes)));
            if !chosen.ids.contains(&capture) {
                chosen.ids.push(capture);
            }
            match post {
                Some(number) => drop(chosen.posts.entry(capture).or_default().insert(number)),
                None => drop(whole.insert(capture)),
            }
        }
        chosen.posts.retain(|capture, _| !whole.contains(capture));
        Some(chosen)
    }

    /// Chooses whole captures.
    #[must_use]
    pub fn whole(folder: PathBuf, ids: Vec<CaptureId>) -> Self {
        Self {
            folder,
            ids,
            posts: BTreeMap::new(),
            beginnings: BTreeMap::new(),
        }
    }

    /// Returns the path that names these captures of the chosen ones, with the posts that are meant of them.
    #[must_use]
    pub fn path(&self, ids: &[CaptureId]) -> String {
        let mut names = Vec::new();
        for &capture in ids {
            match (self.posts.get(&capture), self.beginnings.get(&capture)) {
                (None, None) => names.push(capture.to_string()),
                (None, Some(&n_bytes)) => names.push(beginning_name(capture, n_bytes)),
                (Some(posts), _) => names.extend(posts.iter().map(|&number| {
                    let post = PostId { capture, number };
                    post.to_string()
                })),
            }
        }
        format!("{}#{}", self.folder.display(), names.join(","))
    }

    /// Chooses the first bytes of a capture that is chosen.
    #[must_use]
    pub fn beginning(mut self, capture: CaptureId, n_bytes: u64) -> Self {
        self.beginnings.insert(capture, n_bytes);
        self
    }

    /// Returns `true` if all of a capture is meant, and not some of its posts, or its beginning.
    #[must_use]
    pub fn has_whole(&self, capture: CaptureId) -> bool {
        !self.posts.contains_key(&capture) && !self.beginnings.contains_key(&capture)
    }

    /// Returns how many bytes are meant of a capture of which only the beginning is.
    pub(crate) fn n_beginning(&self, capture: CaptureId) -> Option<u64> {
        self.beginnings.get(&capture).copied()
    }

    /// Returns the posts that are meant of a capture; `None` where all of it is.
    pub(crate) fn posts(&self, capture: CaptureId) -> Option<&BTreeSet<u32>> {
        self.posts.get(&capture)
    }
}

/// Returns what names the first bytes of a capture in a path.
#[must_use]
pub fn beginning_name(capture: CaptureId, n_bytes: u64) -> String {
    format!("{capture}@{n_bytes}")
}
