//! Processor time and peak memory of whole processes, two commands in turn.

use std::path::Path;
use std::process::Stdio;

use crate::cargo::program;

/// Runs of each command, the two in turn.
const RUNS: usize = 9;

/// Starts a command without its output and prints its processor time and the time it ran in microseconds, its peak in KiB, and its status.
/// Standard library calls of Rust do not tell these of one child.
const WAIT: &str = "\
import os, sys, time
out = [(os.POSIX_SPAWN_OPEN, 1, '/dev/null', os.O_WRONLY, 0), (os.POSIX_SPAWN_OPEN, 2, '/dev/null', os.O_WRONLY, 0)]
began = time.monotonic()
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=out)
_, status, used = os.wait4(child, 0)
ran = int((time.monotonic() - began) * 1e6)
print(int((used.ru_utime + used.ru_stime) * 1e6), ran, used.ru_maxrss, os.waitstatus_to_exitcode(status))
";

/// What one run took.
#[derive(Clone, Copy)]
pub struct MeasuredRun {
    /// Processor time of user and system, in microseconds.
    pub time: u64,
    /// From its start to its end, in microseconds.
    pub elapsed: u64,
    /// The most memory, in KiB; of less than 10 MB the kernel tells that of python.
    pub peak: u64,
}

/// Runs of our command and of a peer's, in turn.
#[derive(Default)]
pub struct PairedRuns {
    pub ours: Vec<MeasuredRun>,
    pub peer: Vec<MeasuredRun>,
}

impl PairedRuns {
    /// Returns the ratio of the medians with the least and the most of the pairs.
    pub fn ratio(&self, has_peer: bool) -> String {
        if self.peer.is_empty() {
            let missing = if has_peer { "not measured" } else { "" };
            return missing.to_owned();
        }
        let ratio = |peer: u64, ours: u64| peer as f64 / ours.max(1) as f64;
        let pairs = self.peer.iter().zip(&self.ours);
        let mut pairs: Vec<f64> = pairs
            .map(|(peer, ours)| ratio(peer.time, ours.time))
            .collect();
        pairs.sort_by(f64::total_cmp);
        let whole = ratio(median(&self.peer), median(&self.ours));
        let spread = |at: Option<&f64>| at.copied().unwrap_or(whole);
        format!(
            "{whole:.2} ({:.2} to {:.2})",
            spread(pairs.first()),
            spread(pairs.last())
        )
    }

    /// Returns how many cores our command kept busy, the median of its runs.
    pub fn cores(&self) -> String {
        let cores = |run: &MeasuredRun| run.time as f64 / run.elapsed.max(1) as f64;
        let mut cores: Vec<f64> = self.ours.iter().map(cores).collect();
        cores.sort_by(f64::total_cmp);
        let middle = cores.get(cores.len() / 2).copied().unwrap_or(0.0);
        format!("{middle:.1}")
    }

    /// Returns the medians of both in seconds.
    pub fn times(&self) -> String {
        let seconds = |runs: &[MeasuredRun]| format!("{:.2}", median(runs) as f64 / 1e6);
        match self.peer.is_empty() {
            true => format!("{} s", seconds(&self.ours)),
            false => format!("{}, {} s", seconds(&self.ours), seconds(&self.peer)),
        }
    }
}

fn median(runs: &[MeasuredRun]) -> u64 {
    let mut times: Vec<u64> = runs.iter().map(|run| run.time).collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(0)
}

/// Runs both commands in turn.
///
/// # Errors
/// When one fails.
pub fn in_turn(
    ours: &[String],
    peer: Option<&[String]>,
    folder: &Path,
) -> Result<PairedRuns, String> {
    let mut runs = PairedRuns::default();
    for _ in 0..RUNS {
        runs.ours.push(run_once(ours, folder)?);
        if let Some(peer) = peer {
            runs.peer.push(run_once(peer, folder)?);
        }
    }
    Ok(runs)
}

/// Runs a command in `folder`.
///
/// # Errors
/// When it fails, or python 3 is missing, which waits for it.
pub fn run_once(command: &[String], folder: &Path) -> Result<MeasuredRun, String> {
    let mut wait = program("python3");
    wait.args(["-I", "-S", "-c", WAIT]).args(command);
    let done = wait.current_dir(folder).stdin(Stdio::null()).output();
    let done = done.map_err(|error| format!("cannot start python3: {error}"))?;
    let said = String::from_utf8_lossy(&done.stdout);
    let numbers: Vec<i64> = said
        .split_whitespace()
        .filter_map(|number| number.parse().ok())
        .collect();
    match numbers[..] {
        [time, elapsed, peak, 0] => Ok(MeasuredRun {
            time: time.unsigned_abs(),
            elapsed: elapsed.unsigned_abs(),
            peak: peak.unsigned_abs(),
        }),
        _ => Err(format!(
            "{} failed: {said}{}",
            command.join(" "),
            String::from_utf8_lossy(&done.stderr)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(times: &[u64]) -> Vec<MeasuredRun> {
        let run = |&time: &u64| MeasuredRun {
            time,
            elapsed: 200,
            peak: 1,
        };
        times.iter().map(run).collect()
    }

    #[test]
    fn ratios_are_of_medians_with_the_spread_of_pairs() {
        let paired = PairedRuns {
            ours: runs(&[100, 400, 200]),
            peer: runs(&[300, 400, 800]),
        };
        assert_eq!(paired.ratio(true), "2.00 (1.00 to 4.00)");
        assert_eq!(paired.cores(), "1.0");
        let alone = PairedRuns {
            ours: runs(&[2_000_000]),
            peer: Vec::new(),
        };
        assert_eq!(alone.ratio(true), "not measured");
        assert_eq!(
            (alone.ratio(false), alone.times()),
            (String::new(), "2.00 s".to_owned())
        );
    }
}
