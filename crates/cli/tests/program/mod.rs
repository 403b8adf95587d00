//! The program under test, run to its end.

#![allow(dead_code, reason = "each test uses a part of it")]

pub mod running;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// The dump of the shop that comes with the repository.
pub const SHOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");

/// Returns the program with arguments.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_traceloom"));
    command.args(args);
    command
}

/// Runs the program, however it ends.
pub fn run(args: &[&str]) -> Output {
    command(args).output().expect("the program runs")
}

/// Returns what a stream holds as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns a path as an argument.
pub fn path_text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

/// Copies a folder with everything in it.
pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let to = to.join(path.file_name().expect("a name"));
        match path.is_dir() {
            true => copy_folder(&path, &to),
            false => drop(fs::copy(&path, &to).expect("a copy")),
        }
    }
}

/// Returns the file that a script of `packaging/` wrote to the folder which a variable names; says so where none is named.
pub fn packaged(variable: &str, script: &str, end: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os(variable) else {
        eprintln!("skipped: {variable} names no folder that packaging/{script} wrote to");
        return None;
    };
    let files = fs::read_dir(&folder).expect("a folder");
    let mut files = files.map(|file| file.expect("a file").path());
    let found = files.find(|file| file.to_string_lossy().ends_with(end));
    Some(found.unwrap_or_else(|| panic!("{end} in {}", Path::new(&folder).display())))
}

/// Runs the program, which must succeed, and returns what it prints.
pub fn stdout(args: &[&str]) -> String {
    let output = run(args);
    let told = text(&output.stderr);
    assert!(output.status.success(), "{args:?}: {told}");
    text(&output.stdout)
}

/// Runs the program, which must succeed, and returns the JSON values that it prints, one a line.
pub fn json_lines(args: &[&str]) -> Vec<Value> {
    values(stdout(args).as_bytes())
}

/// Returns the JSON values of an output, one a line.
pub fn json_rows(output: &Output) -> Vec<Value> {
    values(&output.stdout)
}

fn values(lines: &[u8]) -> Vec<Value> {
    let lines = text(lines);
    let parsed = lines.lines().map(serde_json::from_str);
    parsed.collect::<Result<_, _>>().expect("JSON Lines")
}

/// Returns made-up data of a format, about so many bytes.
pub fn sample(format: &str, seed: u64, size: u64) -> Vec<u8> {
    let make = traceloom_samples::by_name(format).expect("a sample");
    let mut bytes = Vec::new();
    make(seed, size, &mut |piece| bytes.extend_from_slice(piece));
    bytes
}
