//! The corpus of real captures, where it is there.

#![allow(
    clippy::disallowed_methods,
    reason = "the library reads no files or settings, its tests do"
)]

use std::path::{Path, PathBuf};

/// Reads a file of the corpus; `None` where there is no corpus.
///
/// The corpus lies in `TRACELOOM_CORPUS`, else beside the project in `../shared/corpus`. With
/// `TRACELOOM_CORPUS_REQUIRED=1` its absence is a failure.
///
/// # Panics
/// When the corpus is required and absent, or present without the file.
#[allow(dead_code, reason = "not every test needs every way in")]
pub fn file(path: &str) -> Option<Vec<u8>> {
    let path = root()?.join(path);
    Some(std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// Lists the files under a folder of the corpus, sorted; `None` where there is no corpus.
///
/// # Panics
/// When the corpus is required and absent, or the folder cannot be read.
#[allow(dead_code, reason = "not every test needs every way in")]
pub fn files(folder: &str) -> Option<Vec<String>> {
    let root = root()?;
    Some(below(&root, folder))
}

/// Reads every file below a folder of the project, with its name in it, sorted.
///
/// # Panics
/// When a folder or file cannot be read.
#[allow(dead_code, reason = "not every test needs every way in")]
pub fn files_below(root: &Path) -> Vec<(String, Vec<u8>)> {
    let read = |name: String| {
        let bytes = std::fs::read(root.join(&name)).expect("a file of the project");
        (name, bytes)
    };
    below(root, "").into_iter().map(read).collect()
}

fn below(root: &Path, folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries {
            let path = entry.expect("an entry of a folder").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).expect("below the root");
                found.push(name.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    found.sort();
    found
}

/// Returns the folder of the corpus; `None` where there is none.
///
/// # Panics
/// When the corpus is required and absent.
#[allow(dead_code, reason = "not every test needs every way in")]
pub fn root() -> Option<PathBuf> {
    let beside = || {
        PathBuf::from(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../../shared/corpus"
        ))
    };
    let root = std::env::var_os("TRACELOOM_CORPUS").map_or_else(beside, PathBuf::from);
    if root.is_dir() {
        return Some(root);
    }
    let required = std::env::var_os("TRACELOOM_CORPUS_REQUIRED").is_some_and(|value| value == "1");
    assert!(!required, "there is no corpus at {}", root.display());
    println!("corpus not found, skipped");
    None
}
