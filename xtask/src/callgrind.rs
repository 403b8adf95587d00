//! Instructions of a command, counted by valgrind.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::cargo::{program, succeeds_within};

/// Returns true if valgrind is installed.
pub fn is_installed() -> bool {
    succeeds_within(
        program("valgrind").arg("--version"),
        Duration::from_secs(60),
    )
}

/// Returns the number of instructions that a command takes, started in `folder`.
///
/// # Errors
/// When it fails, or valgrind does not say.
pub fn instructions(traceloom: &Path, args: &[&str], folder: &Path) -> Result<u64, String> {
    let mut run = program("valgrind");
    run.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    run.arg(traceloom).args(args).current_dir(folder);
    let done = run.stdin(Stdio::null()).stdout(Stdio::null()).output();
    let done = done.map_err(|error| format!("cannot start valgrind: {error}"))?;
    let said = String::from_utf8_lossy(&done.stderr);
    if !done.status.success() {
        return Err(format!("{args:?} ended with {}: {said}", done.status));
    }
    let total = said
        .lines()
        .find_map(|line| line.split_once("Collected :"))
        .and_then(|(_, total)| total.trim().parse().ok());
    total.ok_or_else(|| format!("valgrind does not say how many instructions {args:?} took"))
}
