//! `cargo xtask python`: builds the wheel, installs it into a folder and compares what it reads with the program.

use std::fs;
use std::process::Command;

use crate::cargo::{cargo, program, succeed, target};

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
    let paths = std::env::var_os("PYTHONPATH").unwrap_or_default();
    let all = std::iter::once(packages).chain(std::env::split_paths(&paths));
    let all = std::env::join_paths(all).map_err(|error| error.to_string())?;
    succeed(compare.env("PYTHONPATH", all))
}
