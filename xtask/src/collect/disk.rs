//! The disk without the collector.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::served::Served;
use crate::cargo::{program, succeed};

/// MiB that `dd` writes.
const DD_MIB: u64 = 1024;
/// Lone syncs that are timed together.
const SYNCS: usize = 300;

pub(super) struct MeasuredDisk {
    file: PathBuf,
}

impl MeasuredDisk {
    pub(super) fn new(folder: &Path) -> Self {
        let file = folder.join("alone");
        Self { file }
    }

    /// Returns what `dd conv=fdatasync bs=1M` writes in a second, in MB.
    pub(super) fn sequential(&self) -> Result<f64, String> {
        let mut dd = program("dd");
        dd.args(["if=/dev/zero", "bs=1M", "conv=fdatasync", "status=none"]);
        dd.arg(format!("count={DD_MIB}"));
        dd.arg(format!("of={}", self.file.display()));
        let start = Instant::now();
        succeed(&mut dd)?;
        let seconds = start.elapsed().as_secs_f64();
        fs::remove_file(&self.file).map_err(|error| error.to_string())?;
        Ok(((DD_MIB << 20) as f64) / seconds / 1e6)
    }

    /// Returns the milliseconds within which 99 % of lone syncs of 1 MiB return, each with its write, once the collector
    /// has nothing left to seal.
    pub(super) fn sync_99(&self, served: &Served) -> Result<f64, String> {
        served.settle()?;
        let io = |error: std::io::Error| format!("{}: {error}", self.file.display());
        let mut file = fs::File::create(&self.file).map_err(io)?;
        let bytes: Vec<u8> = (0..1 << 20).map(|at: u32| (at >> 7) as u8).collect();
        let mut times = Vec::new();
        for _ in 0..SYNCS {
            let start = Instant::now();
            file.write_all(&bytes).map_err(io)?;
            file.sync_data().map_err(io)?;
            times.push(start.elapsed());
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(file);
        fs::remove_file(&self.file).map_err(io)?;
        times.sort();
        Ok(times[SYNCS * 99 / 100].as_secs_f64() * 1e3)
    }
}

/// Returns the value in the middle.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = |at: usize| sorted.get(at).copied().unwrap_or(0.0);
    (middle(sorted.len() / 2) + middle(sorted.len().saturating_sub(1) / 2)) / 2.0
}
