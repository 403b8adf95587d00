//! `cargo xtask memory SMALL LARGE [TARGET…]`: does a conversion's memory follow its input?

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::cargo::{program, release, succeed};

/// Targets that stream, which are measured when none are named: what they hold is their tables and the largest
/// call. Those that sum up (`folded`, `flamegraph-json`, `pprof`, `otlp-profiles`) grow with what is different, and
/// `speedscope` and `firefox` keep a recording until its end.
const TARGETS: [&str; 6] = [
    "chrome",
    "perfetto",
    "zorka-c",
    "heph",
    "tptp-binary",
    "csv",
];

/// Targets that are folders, which standard output cannot take.
const FOLDERS: [&str; 3] = ["csv", "cdt-dump", "cdt-streams"];

/// Converts sample dumps of two sizes and compares the peaks; 10 GB are `cargo xtask memory 512M 10G chrome`.
///
/// The dumps are written below the target directory and removed again. What is written into folders is punched out
/// of its files while it is written: a table of a large dump is larger than most disks have room for.
///
/// # Errors
/// When the larger input takes over a tenth more memory than the smaller one.
pub fn run(sizes: [&str; 2], targets: &[&str]) -> Result<(), String> {
    let sizes = [bytes(sizes[0])?, bytes(sizes[1])?];
    let targets = if targets.is_empty() {
        &TARGETS
    } else {
        targets
    };
    let built = release("sample_dump")?;
    let folder = built.join("memory");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut grown = Vec::new();
    let mut peaks: Vec<Vec<u64>> = vec![Vec::new(); targets.len()];
    for size in sizes {
        let dump = folder.join(format!("dump-{size}"));
        let sample = built.join("release/examples/sample_dump");
        // The dump has a fourth more than its trace: calls, parameters, statements.
        let trace = (size / 5 * 4).to_string();
        succeed(
            program(&sample.to_string_lossy())
                .arg(&dump)
                .args([&trace, "7"]),
        )?;
        for (target, peaks) in targets.iter().zip(&mut peaks) {
            let mut convert = program(&built.join("release/traceloom").to_string_lossy());
            convert.arg("convert").arg(&dump);
            let out = folder.join("out");
            if FOLDERS.contains(target) {
                convert.arg("-o").arg(out.join(target));
                fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
            } else {
                convert.args(["-o", "-"]);
            }
            convert.args(["--to", target]);
            if *target == "folded" {
                convert.arg("--as-samples");
            }
            let run = convert.stdout(Stdio::null()).stderr(Stdio::null());
            let peak = peak(run, &mut || punch(&out))?;
            let _ = fs::remove_dir_all(&out);
            println!("{target:10} {size:>12} bytes in, {:>7} KiB at most", peak);
            peaks.push(peak);
        }
        fs::remove_dir_all(&dump).map_err(|error| format!("{}: {error}", dump.display()))?;
    }
    for (target, peaks) in targets.iter().zip(&peaks) {
        if let [small, large] = peaks[..]
            && large * 10 > small * 11
        {
            grown.push(*target);
        }
    }
    if grown.is_empty() {
        return Ok(());
    }
    Err(format!("memory follows the input: {}", grown.join(", ")))
}

/// Reads `512M` or `2G`.
fn bytes(text: &str) -> Result<u64, String> {
    let help = || format!("`{text}` is no size; write 512M or 2G");
    let (number, unit) = match (text.strip_suffix('M'), text.strip_suffix('G')) {
        (Some(number), _) => (number, 1 << 20),
        (_, Some(number)) => (number, 1 << 30),
        _ => return Err(help()),
    };
    let number: u64 = number.parse().map_err(|_| help())?;
    Ok(number * unit)
}

/// Runs a command and returns the most memory it held, in KiB, as the kernel counts it (Linux).
///
/// Calls `beside` once a second while it runs.
fn peak(command: &mut std::process::Command, beside: &mut dyn FnMut()) -> Result<u64, String> {
    let mut child = command
        .spawn()
        .map_err(|error| format!("cannot start: {error}"))?;
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    let mut second = Instant::now();
    loop {
        if second.elapsed() >= Duration::from_secs(1) {
            beside();
            second = Instant::now();
        }
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let seen = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        most = most.max(seen.unwrap_or(0));
        match child.try_wait() {
            Ok(Some(end)) if end.success() => return Ok(most),
            Ok(Some(end)) => return Err(format!("the conversion ended with {end}")),
            Ok(None) => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Gives the disk back what the files of a folder hold; where that cannot be done they keep it.
fn punch(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, size) = (entry.path(), entry.metadata().map_or(0, |file| file.len()));
        if path.is_dir() {
            punch(&path);
        } else if size > 1 << 20 {
            let length = size.to_string();
            let mut fallocate = program("fallocate");
            fallocate.args(["--punch-hole", "--offset", "0", "--length", &length]);
            let _ = fallocate.arg(&path).stderr(Stdio::null()).status();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(bytes("512M"), Ok(536_870_912));
        assert_eq!(bytes("10G"), Ok(10_737_418_240));
        assert!(bytes("10").is_err());
    }
}
