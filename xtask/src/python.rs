//! `cargo xtask python`: builds the wheel, installs it into a folder and compares what it reads with the program.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::cargo::{cargo, program, succeed, succeeds_within, target};

/// Where .ci/run installs pyarrow.
const PACKAGES: &str = "TRACELOOM_PYTHON_PACKAGES";

/// Returns what keeps the wheel from being built and compared.
pub fn missing() -> Option<&'static str> {
    let patience = Duration::from_secs(60);
    if !succeeds_within(program("maturin").arg("--version"), patience) {
        return Some("maturin is not installed");
    }
    let mut import = program("python3");
    import.args(["-c", "import pyarrow"]);
    let path = python_path(None);
    if !path.is_ok_and(|path| succeeds_within(import.env("PYTHONPATH", path), patience)) {
        return Some("python3 has no pyarrow");
    }
    None
}

/// Returns where Python looks for packages: in a folder before others.
fn python_path(first: Option<&Path>) -> Result<OsString, String> {
    let known = ["PYTHONPATH", PACKAGES].map(|name| std::env::var_os(name).unwrap_or_default());
    let known = known.iter().flat_map(std::env::split_paths);
    let all = first.map(Path::to_path_buf).into_iter().chain(known);
    std::env::join_paths(all).map_err(|error| error.to_string())
}

/// Runs all of it; needs maturin, and python3 with pyarrow.
///
/// # Errors
/// When something does not build, or is not alike.
pub fn run() -> Result<(), String> {
    let target = target();
    let folder = target.join("python");
    let (wheels, packages) = (folder.join("wheels"), folder.join("packages"));
    for old in [&wheels, &packages] {
        // There is none the first time.
        let _ = fs::remove_dir_all(old);
    }
    let mut wheel = program("maturin");
    wheel.args([
        "build",
        "--quiet",
        "--manifest-path",
        "crates/python/Cargo.toml",
    ]);
    wheel.arg("--out").arg(&wheels);
    // A wheel for this machine: its glibc is the oldest that it runs on.
    succeed(
        wheel
            .args(["--compatibility", "linux"])
            .env("CARGO_TARGET_DIR", &folder),
    )?;
    let listed = fs::read_dir(&wheels).map_err(|error| error.to_string())?;
    let files: Vec<_> = listed
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    let [wheel] = files.as_slice() else {
        return Err(format!("{}: not one wheel", wheels.display()));
    };
    let mut install = program("python3");
    install.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
    ]);
    succeed(install.arg(&packages).arg(wheel))?;
    succeed(&mut cargo([
        "build",
        "--workspace",
        "--bins",
        "--example",
        "sample",
    ]))?;
    let inputs = folder.join("inputs");
    fs::create_dir_all(&inputs).map_err(|error| error.to_string())?;
    let mut compare = program("python3");
    compare.arg("crates/python/tests/compare.py");
    compare.arg(target.join("debug/traceloom")).arg(&inputs);
    compare.arg("testdata/shop");
    for format in ["pprof", "heph", "jfr"] {
        let path = inputs.join(format!("sample.{format}"));
        let file = fs::File::create(&path).map_err(|error| error.to_string())?;
        let mut sample = Command::new(target.join("debug/examples/sample"));
        succeed(sample.args([format, "100000", "7"]).stdout(file))?;
        compare.arg(path);
    }
    succeed(compare.env("PYTHONPATH", python_path(Some(&packages))?))
}
