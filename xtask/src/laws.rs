//! `cargo xtask laws --all`: the laws over every input and every cut, too long for each change.

use crate::cargo::{cargo, succeed};

/// Runs the laws of the registered formats in release mode, without sampling.
///
/// # Errors
/// When a law is broken.
pub fn run() -> Result<(), String> {
    let mut laws = cargo(["test", "--release", "--package", "traceloom-formats"]);
    laws.args(["--test", "laws"]);
    succeed(laws.env("TRACELOOM_LAWS", "all"))
}
