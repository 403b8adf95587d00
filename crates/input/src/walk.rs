//! Files of a folder, in the order of their names.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;

/// Most files taken from one folder: beyond it somebody named the wrong folder.
const MOST_FILES: usize = 1_000_000;

/// What a folder holds, by names relative to it, sorted.
#[derive(Debug, Default)]
pub struct Listing {
    /// Regular files, and links to such.
    pub files: Vec<(String, PathBuf)>,
    /// Pipes, sockets, devices, and links to nothing or to folders, which are not followed.
    pub others: Vec<(String, PathBuf)>,
    /// Folders that could not be listed.
    pub unread: Vec<Error>,
}

/// Lists what is under `root`.
///
/// # Errors
/// When `root` itself cannot be listed, or holds too many files.
pub fn files(root: &Path) -> Result<Listing, Error> {
    let mut listing = Listing::default();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if folder == root => return Err(Error::io(&folder, error)),
            Err(error) => {
                listing.unread.push(Error::io(&folder, error));
                continue;
            }
        };
        for entry in entries {
            let entry = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)));
            let (path, kind) = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    listing.unread.push(Error::io(&folder, error));
                    continue;
                }
            };
            let name = relative(root, &path);
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() || (kind.is_symlink() && path.is_file()) {
                listing.files.push((name, path));
            } else {
                listing.others.push((name, path));
            }
            if listing.files.len() > MOST_FILES {
                return Err(Error::about(root, format!("more than {MOST_FILES} files")));
            }
        }
    }
    listing.files.sort();
    listing.others.sort();
    Ok(listing)
}

fn relative(root: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}
