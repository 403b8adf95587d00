//! `cargo xtask diff`: the processor time of a comparison of two profiles of a million samples.

use std::fs;
use std::process::Stdio;

use crate::cargo::{program, release, succeed, ticks};

/// Bytes of which the generator of pprof makes a million samples of 33 frames, 72 MB.
const BYTES: &str = "147000000";

/// Runs of which the best counts: others have the machine too.
const RUNS: usize = 5;

/// Compares two made-up profiles of a million samples each, and prints what that took of the processor, of both
/// kinds together.
///
/// # Errors
/// When the best of five runs takes over a second.
pub fn run() -> Result<(), String> {
    let built = release("sample")?;
    let folder = built.join("diff");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let files = ["7", "8"].map(|seed| (seed, folder.join(format!("{seed}.pb"))));
    for (seed, file) in &files {
        let out = fs::File::create(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let sample = built.join("release/examples/sample");
        let mut make = program(&sample.to_string_lossy());
        succeed(make.args(["pprof", BYTES, seed]).stdout(Stdio::from(out)))?;
    }
    let mut best = u64::MAX;
    for _ in 0..RUNS {
        let before = ticks()?;
        let mut diff = program(&built.join("release/traceloom").to_string_lossy());
        diff.arg("diff").args(files.iter().map(|(_, file)| file));
        succeed(diff.stdout(Stdio::null()))?;
        let took = ticks()?.saturating_sub(before) * 10;
        println!("{took} ms of the processor");
        best = best.min(took);
    }
    fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    if best > 1_000 {
        return Err(format!("the best run took {best} ms, over a second"));
    }
    Ok(())
}
