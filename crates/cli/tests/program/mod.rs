//! The program under test, run to its end.

#![allow(dead_code, reason = "each test uses a part of it")]

pub mod running;

use std::path::Path;
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
