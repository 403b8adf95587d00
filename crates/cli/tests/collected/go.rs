//! Programs in Go.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds a program of `tests/tools`; `None`, said aloud, where there is no Go.
pub fn build(name: &str) -> Option<PathBuf> {
    let Some(go) = std::env::var_os("TRACELOOM_GO") else {
        eprintln!("skipped: TRACELOOM_GO names no Go");
        return None;
    };
    let tools = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools"));
    let made = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = made.join(name);
    let built = Command::new(go)
        .args(["build", "-o"])
        .arg(&program)
        .arg(tools.join(format!("{name}.go")))
        .env("GOTOOLCHAIN", "local")
        .env("CGO_ENABLED", "0")
        .env("GOCACHE", made.join("go-cache"))
        .status();
    assert!(
        built.expect("Go runs").success(),
        "{name}.go does not build"
    );
    Some(program)
}
