//! The files the rules look at: those of the repository, not those it ignores.

use crate::cargo::{output, program};
use std::fs;
use std::path::Path;

/// The files of the repository, sorted by path.
pub struct Tree {
    files: Vec<RepoFile>,
}

/// A file with its path from the root of the repository, separated by `/`.
pub struct RepoFile {
    pub path: String,
    /// The whole file; bytes that are not UTF-8 are replaced.
    pub text: String,
    /// Whether the bytes are not UTF-8, so that lines mean nothing.
    pub binary: bool,
}

impl Tree {
    /// Reads what git tracks or would track, or without git every file in the folder.
    ///
    /// # Errors
    /// When a folder or a file cannot be read.
    pub fn read(root: &Path) -> Result<Self, String> {
        let mut paths = match listed_by_git(root) {
            Some(paths) => paths,
            None => found_in_folder(root)?,
        };
        paths.sort();
        paths.dedup();
        let mut files = Vec::new();
        for path in paths {
            let full = root.join(&path);
            // Links and submodules are not ours to read; a deleted file is still listed by git.
            if !full.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
                continue;
            }
            let bytes = fs::read(&full).map_err(|error| format!("{path}: {error}"))?;
            files.push(RepoFile::new(path, bytes));
        }
        Ok(Self { files })
    }

    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let file = |&(path, text): &(&str, &str)| RepoFile::new(path.to_owned(), text.into());
        Self {
            files: files.iter().map(file).collect(),
        }
    }

    /// Every file, binary ones too.
    pub fn all(&self) -> impl Iterator<Item = &RepoFile> {
        self.files.iter()
    }

    /// The text files this project writes: vectors and snapshots hold what they must hold.
    pub fn written(&self) -> impl Iterator<Item = &RepoFile> {
        let kept_as_is = |file: &RepoFile| {
            file.binary || file.path.starts_with("testdata/") || file.path.ends_with(".snap")
        };
        self.files.iter().filter(move |file| !kept_as_is(file))
    }

    /// The written files whose name ends in a dot and one of the extensions.
    pub fn with_extension(&self, extensions: &'static [&str]) -> impl Iterator<Item = &RepoFile> {
        self.written()
            .filter(|file| extensions.contains(&file.extension()))
    }

    /// Whether a file or a folder is there, the path given as in [`RepoFile::path`].
    pub fn contains(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        let is_here = |file: &RepoFile| file.path == path || file.path.starts_with(&folder);
        path.is_empty() || self.files.iter().any(is_here)
    }
}

impl RepoFile {
    fn new(path: String, bytes: Vec<u8>) -> Self {
        let (text, binary) = match String::from_utf8(bytes) {
            Ok(text) => (text, false),
            Err(error) => (String::from_utf8_lossy(error.as_bytes()).into(), true),
        };
        Self { path, text, binary }
    }

    /// The last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// What follows the last dot of the name, or nothing.
    pub fn extension(&self) -> &str {
        self.name().rsplit_once('.').map_or("", |(_, after)| after)
    }

    /// The lines with their numbers, which start at 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }
}

/// Nothing when this is no repository, or git is absent or distrusts the folder's owner.
fn listed_by_git(root: &Path) -> Option<Vec<String>> {
    let mut git = program("git");
    git.current_dir(root);
    git.args(["ls-files", "-z", "-co", "--exclude-standard"]);
    let listing = String::from_utf8(output(&mut git)?).ok()?;
    let paths = listing.split_terminator('\0').map(str::to_owned);
    Some(paths.collect())
}

fn found_in_folder(root: &Path) -> Result<Vec<String>, String> {
    const NOT_OURS: &[&str] = &[".git", "target", "node_modules", "fuzz/corpus"];
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let unreadable = |error| format!("{}: {error}", root.join(&folder).display());
        for entry in fs::read_dir(root.join(&folder)).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = match folder.as_str() {
                "" => name.clone(),
                folder => format!("{folder}/{name}"),
            };
            if NOT_OURS.contains(&name.as_str()) || NOT_OURS.contains(&path.as_str()) {
                continue;
            }
            if entry.file_type().map_err(unreadable)?.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cargo::root;

    #[test]
    fn without_git_the_folder_is_walked() {
        let here = root().join("xtask");
        let mut found = found_in_folder(&here).unwrap();
        found.retain(|path| path.starts_with("src/tidy/tr"));
        assert_eq!(found, ["src/tidy/tree.rs"]);
    }

    #[test]
    fn the_tree_holds_this_file() {
        let tree = Tree::read(&root()).unwrap();
        assert!(tree.contains("xtask/src/tidy/tree.rs"));
        assert!(tree.contains("xtask/src"));
        assert!(!tree.contains("xtask/sr"));
        assert!(!tree.contains("target"));
    }

    #[test]
    fn bytes_that_are_not_text_are_known_as_such() {
        let file = RepoFile::new("testdata/a.b".to_owned(), vec![0xff, 0xfe]);
        assert!(file.binary);
        assert_eq!((file.name(), file.extension()), ("a.b", "b"));
    }

    #[test]
    fn vectors_and_snapshots_are_not_held_to_the_rules_of_prose() {
        let tree = Tree::of(&[("testdata/a.txt", ""), ("a.snap", ""), ("a.md", "")]);
        let written: Vec<&str> = tree.written().map(RepoFile::name).collect();
        assert_eq!(written, ["a.md"]);
        assert_eq!(tree.all().count(), 3);
    }
}
