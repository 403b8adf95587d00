//! What the guides show is what the program prints: every `console` block is run as a user would type it.

#![cfg(unix)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Stands behind a command that is shown to fail.
const FAILS: &str = " # exits with 1";

/// A line of a block: what is typed, and what is shown below it.
struct Shown {
    line: usize,
    command: String,
    output: Vec<String>,
}

/// Returns the commands of the `console` blocks of a document.
fn shown(text: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    let mut inside = false;
    for (at, line) in text.lines().enumerate() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ if !inside => {}
            _ => match (line.strip_prefix("$ "), all.last_mut()) {
                (Some(command), _) => all.push(Shown {
                    line: at + 1,
                    command: command.to_owned(),
                    output: Vec::new(),
                }),
                (None, Some(last)) => last.output.push(line.to_owned()),
                (None, None) => panic!("line {}: output without a command", at + 1),
            },
        }
    }
    all
}

/// Returns true if `printed` is `expected`, in which a line `…` stands for any lines.
fn matches(expected: &[String], printed: &[&str]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first == "…" => {
            (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..]))
        }
        Some((first, rest)) => match printed.split_first() {
            Some((line, left)) => first == line.trim_end() && matches(rest, left),
            None => false,
        },
    }
}

/// Runs the blocks of one document, one after another in a folder of its own; returns what is not as shown.
fn wrong(document: &Path, text: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let testdata = Path::new(ROOT).join("testdata").canonicalize();
    std::os::unix::fs::symlink(testdata.expect("testdata"), folder.path().join("testdata"))
        .expect("a link to testdata");
    let program = PathBuf::from(env!("CARGO_BIN_EXE_traceloom"));
    let beside = program.parent().expect("the folder of the program");
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(
        [beside.to_owned()]
            .into_iter()
            .chain(env::split_paths(&path)),
    );
    let path = path.expect("a search path");
    let mut wrong = String::new();
    for Shown {
        line,
        command,
        output,
    } in shown(text)
    {
        let (command, fails) = match command.strip_suffix(FAILS) {
            Some(command) => (command, true),
            None => (command.as_str(), false),
        };
        let ran = Command::new("sh")
            .args(["-c", &format!("{command} 2>&1")])
            .current_dir(folder.path())
            .env("PATH", &path)
            .env("COLUMNS", "200")
            .output()
            .expect("a shell");
        let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
        let lines: Vec<&str> = printed.lines().collect();
        let code = ran.status.code();
        if code != Some(i32::from(fails)) || !matches(&output, &lines) {
            let place = document.display();
            writeln!(
                wrong,
                "{place}:{line}: $ {command}\n(exit {code:?})\n{printed}"
            )
            .expect("a string");
        }
    }
    wrong
}

/// Returns the Markdown files in and below a folder.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of documents") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            all.extend(documents(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            all.push(path);
        }
    }
    all.sort();
    all
}

#[test]
fn commands_print_what_the_documents_show() {
    let mut all = documents(&Path::new(ROOT).join("docs"));
    all.push(Path::new(ROOT).join("README.md"));
    let mut n_commands = 0;
    let mut faults = String::new();
    for document in all {
        let text = fs::read_to_string(&document).expect("a document");
        n_commands += shown(&text).len();
        faults += &wrong(document.strip_prefix(ROOT).unwrap_or(&document), &text);
    }
    assert!(faults.is_empty(), "{faults}");
    assert!(n_commands > 20, "{n_commands} commands are shown");
}

#[test]
fn every_document_is_in_the_book() {
    let docs = Path::new(ROOT).join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).expect("a summary");
    for document in documents(&docs) {
        let name = document.strip_prefix(&docs).expect("a path in docs");
        let name = name.display().to_string();
        let listed = name == "SUMMARY.md" || summary.contains(&format!("({name})"));
        assert!(listed, "docs/SUMMARY.md does not list {name}");
    }
}
