//! The oldest compiler that the manifests say compiles the workspace.

use std::fs;

use crate::cargo::{program, root, succeed};

/// Returns the version that Cargo.toml declares.
///
/// # Errors
/// When it declares none.
pub fn declared() -> Result<String, String> {
    let manifest = root().join("Cargo.toml");
    let manifest = fs::read_to_string(manifest).map_err(|error| error.to_string())?;
    let mut lines = manifest.lines();
    let version = lines.find_map(|line| line.strip_prefix("rust-version = \"")?.strip_suffix('"'));
    version
        .map(str::to_owned)
        .ok_or_else(|| "Cargo.toml declares no rust-version".to_owned())
}

/// Returns true if rustup has that compiler.
pub fn is_installed(version: &str) -> bool {
    let mut compiler = program("rustup");
    let output = compiler
        .args(["run", version, "rustc", "--version"])
        .output();
    output.is_ok_and(|output| output.status.success())
}

/// Checks what is published and what it needs with that compiler, apart from the other builds.
///
/// # Errors
/// When something does not compile.
pub fn check(version: &str) -> Result<(), String> {
    let mut check = program("rustup");
    check.args(["run", version, "cargo", "check", "--workspace", "--locked"]);
    // Cargo tells what it runs of itself and of the compiler in force, which is another one.
    for name in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
        check.env_remove(name);
    }
    succeed(check.env("CARGO_TARGET_DIR", root().join("target/msrv")))
}
