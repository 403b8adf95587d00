//! `cargo xtask book`: the documents as a site, with pages made from the code beside them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::cargo::{output, program, root, succeed, succeeds_within};

const BOOK: &str = "\
[book]
title = \"traceloom\"
language = \"en\"
src = \"src\"

[output.html]
no-section-label = true
";

/// Returns true if mdBook is there to build with.
pub fn is_possible() -> bool {
    succeeds_within(program("mdbook").arg("--version"), Duration::from_secs(60))
}

/// Builds the site in `target/book/html`, with the pages that a built program makes.
///
/// # Errors
/// When the program is not there, a page cannot be made, or mdBook is missing or fails.
pub fn run(traceloom: &Path) -> Result<(), String> {
    let folder = root().join("target/book");
    let source = folder.join("src");
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    if source.exists() {
        fs::remove_dir_all(&source).map_err(|error| failed(&source, error))?;
    }
    copied(&root().join("docs"), &source)?;
    let formats = source.join("format");
    succeed(
        Command::new(traceloom)
            .args(["formats", "--pages"])
            .arg(&formats),
    )?;
    let commands = output(Command::new(traceloom).args(["man", "--markdown"]));
    let commands = commands.ok_or("traceloom man failed")?;
    let page = source.join("commands.md");
    fs::write(&page, commands).map_err(|error| failed(&page, error))?;

    let summary = source.join("SUMMARY.md");
    let mut text = fs::read_to_string(&summary).map_err(|error| failed(&summary, error))?;
    text += "- [Commands](commands.md)\n\n# Formats\n\n";
    for path in files(&formats)? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let _ = writeln!(text, "- [{name}](format/{name}.md)");
    }
    fs::write(&summary, text).map_err(|error| failed(&summary, error))?;
    let settings = folder.join("book.toml");
    fs::write(&settings, BOOK).map_err(|error| failed(&settings, error))?;
    let mut build = program("mdbook");
    build.args(["build", "--dest-dir"]).arg(folder.join("html"));
    succeed(build.arg(&folder))
}

/// Copies the documents and pictures of a folder.
fn copied(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    fs::create_dir_all(to).map_err(|error| failed(to, error))?;
    for path in files(from)? {
        let Some(name) = path.file_name() else {
            continue;
        };
        let to = to.join(name);
        if path.is_dir() {
            copied(&path, &to)?;
        } else {
            fs::copy(&path, &to).map_err(|error| failed(&path, error))?;
        }
    }
    Ok(())
}

/// Returns what a folder holds, sorted.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        all.push(entry.map_err(failed)?.path());
    }
    all.sort();
    Ok(all)
}
