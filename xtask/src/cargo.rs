//! Child processes, started in the root of the workspace.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The directory that holds the workspace's `Cargo.toml`.
pub fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_path_buf()
}

/// A `cargo` call.
pub fn cargo<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    let mut command = program("cargo");
    command.args(args);
    command
}

/// A call of a program found on the search path.
pub fn program(name: &str) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root());
    command
}

/// Builds the program and an example of its inputs for release; returns where the target directory is.
///
/// # Errors
/// When one does not build.
pub fn release(example: &str) -> Result<PathBuf, String> {
    let built = release_program()?;
    succeed(
        cargo(["build", "--release", "--package", "traceloom-input"]).args(["--example", example]),
    )?;
    Ok(built)
}

/// Builds the program for release; returns where the target directory is.
///
/// # Errors
/// When it does not build.
pub fn release_program() -> Result<PathBuf, String> {
    succeed(&mut cargo(["build", "--release", "--package", "traceloom"]))?;
    Ok(target())
}

/// Returns the target directory.
pub fn target() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    target.map_or_else(|| root().join("target"), Into::into)
}

/// Runs a command to its end, its output going where ours goes.
///
/// # Errors
/// When it cannot be started or does not exit with 0.
pub fn succeed(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .map_err(|error| format!("cannot start {name}: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{name} ended with {status}"))
    }
}

/// Runs a command without its output. Returns true if it exits with 0 within the time given.
pub fn succeeds_within(command: &mut Command, patience: Duration) -> bool {
    let spawned = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = spawned else {
        return false;
    };
    let deadline = Instant::now() + patience;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Ok(None) | Err(_) => break,
        }
    }
    // The answer is "no" whether or not the child could still be ended and reaped.
    let _ = child.kill();
    let _ = child.wait();
    false
}

/// What a command prints on its standard output, if it exits with 0.
pub fn output(command: &mut Command) -> Option<Vec<u8>> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    output.status.success().then_some(output.stdout)
}

/// Returns the processor time of children that ended, in hundredths of a second, as the kernel counts it (Linux).
///
/// # Errors
/// Where there is no such count.
pub fn ticks() -> Result<u64, String> {
    let text = fs::read_to_string("/proc/self/stat").map_err(|error| error.to_string())?;
    // The name of the program stands in parentheses and may hold anything.
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    let mut numbers = fields.split_whitespace().skip(13);
    let mut number = || numbers.next().and_then(|number| number.parse::<u64>().ok());
    match (number(), number()) {
        (Some(user), Some(system)) => Ok(user + system),
        _ => Err("/proc/self/stat does not tell times of children".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_command_names_itself_and_its_status() {
        let mut command = cargo(["no-such-subcommand-of-cargo"]);
        let error = succeed(command.stderr(Stdio::null())).unwrap_err();
        assert!(error.starts_with("cargo ended with exit status"), "{error}");
    }

    #[test]
    fn patience_ends_a_command_that_hangs() {
        let start = Instant::now();
        let mut hangs = program("sleep");
        hangs.arg("60");
        assert!(!succeeds_within(&mut hangs, Duration::from_millis(100)));
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_program_that_does_not_exist_fails_without_a_panic() {
        let mut missing = program("no-such-program-anywhere");
        assert!(!succeeds_within(&mut missing, Duration::from_secs(1)));
        assert_eq!(output(&mut missing), None);
    }
}
