//! Files of a folder, in the order of their names.

use std::path::{Path, PathBuf};

use crate::Error;

/// Most files taken from one folder: beyond it somebody named the wrong folder.
const MOST_FILES: usize = 1_000_000;

/// Lists the regular files under `root` with their names relative to it, sorted, without following
/// links to folders.
pub(crate) fn files(root: &Path) -> Result<Vec<(String, PathBuf)>, Error> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let io = |error| Error::io(&folder, error);
        for entry in std::fs::read_dir(&folder).map_err(io)? {
            let entry = entry.map_err(io)?;
            let path = entry.path();
            let kind = entry.file_type().map_err(io)?;
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() || (kind.is_symlink() && path.is_file()) {
                files.push((relative(root, &path), path));
            }
            if files.len() > MOST_FILES {
                return Err(Error::about(root, format!("more than {MOST_FILES} files")));
            }
        }
    }
    files.sort();
    Ok(files)
}

fn relative(root: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}
