//! Folders that a run of this program wrote: what a later run may replace.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::{Error, walk};

/// The file that says which files of its folder were written by this program. No reader takes it for a part.
pub const MARKER: &str = ".traceloom-output";

/// The first line of a marker; after it comes a line for each file.
const HEAD: &str =
    "Files written by traceloom: --force replaces this folder while it holds no other.";

/// Writes the marker of a folder that holds `files`.
pub(super) fn mark<'f>(folder: &Path, files: impl Iterator<Item = &'f str>) -> io::Result<()> {
    let mut text = format!("{HEAD}\n");
    for file in files {
        let _ = writeln!(text, "{file}");
    }
    fs::write(folder.join(MARKER), text)
}

/// Checks that a folder holds nothing but what a run of this program wrote: it may be replaced.
///
/// # Errors
/// A sentence that names a file which would be lost.
pub(super) fn check_replaceable(folder: &Path) -> Result<(), Error> {
    let refuse = |reason: String| Err(Error::about(folder, reason));
    let listing = walk::files(folder)?;
    if let Some(error) = listing.unread.into_iter().next() {
        return Err(error);
    }
    let mut others = listing.files.into_iter().chain(listing.others);
    let written = match fs::read_to_string(folder.join(MARKER)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match others.next() {
                None => Ok(()),
                Some((name, _)) => refuse(format!(
                    "--force replaces only folders that traceloom wrote, and this one was not: it holds `{name}`; name another"
                )),
            };
        }
        Err(error) => return Err(Error::io(folder.join(MARKER), error)),
    };
    let mut lines = written.lines();
    if lines.next() != Some(HEAD) {
        return refuse(format!(
            "its {MARKER} is not one that traceloom wrote; name another"
        ));
    }
    let own: BTreeSet<&str> = lines.collect();
    match others.find(|(name, _)| name != MARKER && !own.contains(name.as_str())) {
        Some((name, _)) => refuse(format!(
            "it holds `{name}`, which traceloom did not write and --force would delete; move that away or name another"
        )),
        None => Ok(()),
    }
}

/// Returns the path that a chain of links leads to, which need not exist.
pub(super) fn behind_links(path: &Path) -> io::Result<PathBuf> {
    /// As many as Linux follows.
    const MOST: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST {
        match fs::symlink_metadata(&path) {
            Ok(found) if found.file_type().is_symlink() => {
                let to = fs::read_link(&path)?;
                path = path.parent().unwrap_or(Path::new("")).join(to);
            }
            _ => return Ok(path),
        }
    }
    Err(io::Error::other("too many levels of symbolic links"))
}
