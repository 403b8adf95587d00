//! Lines of a collector's log, in step with the pauses.

use std::fmt::Write as _;

use super::service::start_of;
use crate::random::Random;

/// Milliseconds from which a pause is that of a full collection.
const LONG: u32 = 600;

/// The log of an invented garbage collector.
pub(super) struct GcLog {
    random: Random,
    number: u32,
    uptime: i64,
    start: i64,
}

impl GcLog {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed ^ 0x6763),
            number: 0,
            uptime: 0,
            start: start_of(seed),
        }
    }

    /// Writes the next line of a log of its own.
    pub(super) fn line(&mut self, out: &mut String) {
        let uptime = self.uptime + i64::from(self.random.skewed(9000)) + 40;
        let delay = self.random.skewed(300) + 2;
        self.at(uptime, delay, out);
    }

    /// Writes the line of a pause that ends at an uptime.
    pub(super) fn at(&mut self, uptime: i64, delay: u32, out: &mut String) {
        self.uptime = uptime;
        let time = self.start + uptime;
        let of_day = time.rem_euclid(86_400_000);
        let (hours, minutes) = (of_day / 3_600_000, of_day / 60_000 % 60);
        let (seconds, millis) = (of_day / 1000 % 60, of_day % 1000);
        let day = 14 + (time - 1_773_446_400_000).div_euclid(86_400_000);
        let (kind, before, after) = if delay < LONG {
            let before = 120 + self.random.below(100);
            let after = 40 + self.random.below(30);
            ("Pause Young (Normal) (G1 Evacuation Pause)", before, after)
        } else {
            ("Pause Full (G1 Compaction Pause)", 509, 231)
        };
        let _ = writeln!(
            out,
            "[2026-03-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{millis:03}+0000]\
             [{}.{:03}s][info ][gc] GC({}) {kind} {before}M->{after}M(512M) {delay}.{:03}ms",
            uptime / 1000,
            uptime % 1000,
            self.number,
            self.random.below(1000),
        );
        self.number += 1;
    }
}
