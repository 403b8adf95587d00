//! The time that retention goes by. A clock that jumps ahead must not delete what is kept.
//!
//! A *line* is the time as it went on since the clock was believed: the time since the machine started, which nobody sets, says how far.
//! Where the clock is ahead of the line by more than it can be off, retention goes by the line, and an operator is told.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use traceloom_input::captures::DataFolder;

/// How far a clock may be ahead of the line: it drifts, and is set right.
const AHEAD_NS: i64 = 3_600_000_000_000;
/// How long a machine may have been off, where only its clock can tell: 90 days.
const OFF_NS: i64 = 90 * 24 * AHEAD_NS;
/// Time between two notes of the line on disk.
const NOTE_NS: i64 = 10_000_000_000;

/// The clock, as far as it is believed.
pub(crate) struct BelievedClock {
    path: PathBuf,
    /// The line, and the time since the machine started that belongs to it.
    line: Option<(i64, i64)>,
    /// The next look may find the clock this far ahead.
    ahead_ns: i64,
    noted_ns: Option<i64>,
    error: Option<ClockError>,
    boot: String,
    uptime: fn() -> i64,
}

/// On which side of the line the clock is, where it is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClockError {
    Ahead,
    Behind,
}

/// Returns the time since the machine started, in nanoseconds; time in which it sleeps counts.
fn uptime() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(now.tv_nsec)
}

impl BelievedClock {
    /// Begins where an earlier start of the collector stopped; `trusted` believes the clock as it is.
    pub(super) fn open(folder: &DataFolder, trusted: bool) -> Self {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id");
        let boot = boot.unwrap_or_default().trim().to_owned();
        let path = folder.path().join("clock");
        Self::at(path, trusted, boot, uptime)
    }

    fn at(path: PathBuf, trusted: bool, boot: String, uptime: fn() -> i64) -> Self {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut fields = text.split_whitespace();
        let mut number = || fields.next().and_then(|field| field.parse::<i64>().ok());
        let noted = number().zip(number()).filter(|_| !trusted);
        let same_boot = fields.next() == Some(&boot) && !boot.is_empty();
        let line = noted.map(|(line, up)| match same_boot {
            true => (line, up),
            false => (line, uptime()),
        });
        Self {
            path,
            line,
            ahead_ns: if same_boot { AHEAD_NS } else { OFF_NS },
            noted_ns: None,
            error: None,
            boot,
            uptime,
        }
    }

    /// Returns the time that retention goes by, and what an operator should know of the clock.
    pub(super) fn believe(&mut self, clock_ns: i64) -> (i64, Option<String>) {
        let up = (self.uptime)();
        let (noted, noted_up) = *self.line.get_or_insert((clock_ns, up));
        let line = noted.saturating_add(up.saturating_sub(noted_up).max(0));
        let error = if clock_ns > line.saturating_add(self.ahead_ns) {
            Some(ClockError::Ahead)
        } else if clock_ns < line.saturating_sub(AHEAD_NS) {
            Some(ClockError::Behind)
        } else {
            None
        };
        let line = error.map_or(clock_ns, |_| line);
        self.line = Some((line, up));
        self.ahead_ns = AHEAD_NS;
        let before = std::mem::replace(&mut self.error, error);
        self.note(line, up);
        let off = Duration::from_nanos(clock_ns.abs_diff(line)).as_secs();
        let alarm = match error {
            same if same == before => None,
            Some(ClockError::Ahead) => Some(format!(
                "ALARM: the clock went {off} s ahead of the time that passed; retention goes on by the time that passed. If the clock is \
                 right now, start the collector once with --trust-clock"
            )),
            Some(ClockError::Behind) => Some(format!(
                "ALARM: the clock went {off} s back; captures get its times, and retention deletes nothing early because of that"
            )),
            None => Some("the clock is as it should be again".to_owned()),
        };
        (clock_ns.min(line), alarm)
    }

    /// Returns `true` while the clock is not believed.
    pub(super) fn is_wrong(&self) -> bool {
        self.error.is_some()
    }

    /// Leaves the line for the next start. One that cannot be written is older than the next start believes, or none.
    fn note(&mut self, line: i64, up: i64) {
        if self.noted_ns.is_some_and(|noted| up - noted < NOTE_NS) {
            return;
        }
        self.noted_ns = Some(up);
        let text = format!("{line} {up} {}\n", self.boot);
        let new = self.path.with_extension("new");
        let written = File::create(&new).and_then(|mut file| file.write_all(text.as_bytes()));
        // The folder may be full; sealing says so.
        let _ = written.and_then(|()| fs::rename(&new, &self.path));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const SECOND: i64 = 1_000_000_000;
    const YEAR: i64 = 365 * 24 * 3600 * SECOND;
    const START: i64 = 50 * YEAR;

    thread_local! {
        static UP: Cell<i64> = const { Cell::new(0) };
    }

    fn up() -> i64 {
        UP.with(Cell::get)
    }

    fn pass(seconds: i64) {
        UP.with(|up| up.set(up.get() + seconds * SECOND));
    }

    fn open(folder: &tempfile::TempDir, boot: &str, trusted: bool) -> BelievedClock {
        BelievedClock::at(folder.path().join("clock"), trusted, boot.to_owned(), up)
    }

    #[test]
    fn a_clock_ten_years_ahead_is_told_and_not_believed_across_starts() {
        let folder = tempfile::tempdir().unwrap();
        let mut clock = open(&folder, "a", false);
        assert_eq!(clock.believe(START), (START, None));
        pass(20);
        // It drifts, and is set right.
        assert_eq!(clock.believe(START + 50 * SECOND).0, START + 50 * SECOND);
        pass(20);
        let (believed, alarm) = clock.believe(START + 10 * YEAR);
        assert_eq!(believed, START + 70 * SECOND);
        assert!(
            alarm
                .unwrap()
                .starts_with("ALARM: the clock went 315359930 s ahead")
        );
        pass(20);
        assert_eq!(
            clock.believe(START + 10 * YEAR),
            (START + 90 * SECOND, None)
        );
        assert!(clock.is_wrong());
        drop(clock);
        pass(100);
        let mut clock = open(&folder, "a", false);
        assert_eq!(clock.believe(START + 10 * YEAR).0, START + 190 * SECOND);
        // The machine was started again.
        let mut clock = open(&folder, "b", false);
        let (believed, alarm) = clock.believe(START + 10 * YEAR);
        assert!(believed < START + YEAR && alarm.is_some());
        let mut clock = open(&folder, "b", true);
        let now = START + 10 * YEAR;
        assert_eq!(clock.believe(now), (now, None));
    }

    #[test]
    fn a_clock_that_was_behind_is_believed_once_it_is_right_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut clock = open(&folder, "a", false);
        clock.believe(START);
        pass(10);
        let (believed, alarm) = clock.believe(START - 10 * YEAR);
        assert_eq!(believed, START - 10 * YEAR);
        assert!(alarm.unwrap().contains("s back"));
        pass(10);
        // From one side of the line to the other.
        let (believed, alarm) = clock.believe(START + 10 * YEAR);
        assert_eq!(believed, START + 20 * SECOND);
        assert!(alarm.unwrap().contains("s ahead of the time"));
        let (_, alarm) = clock.believe(START - 10 * YEAR);
        assert!(alarm.unwrap().contains("s back"));
        let right = START + 20 * SECOND;
        assert_eq!(
            clock.believe(right),
            (right, Some("the clock is as it should be again".to_owned()))
        );
    }

    #[test]
    fn a_machine_that_was_off_for_a_month_is_no_jump() {
        let folder = tempfile::tempdir().unwrap();
        open(&folder, "a", false).believe(START);
        let month = START + YEAR / 12;
        assert_eq!(open(&folder, "b", false).believe(month), (month, None));
    }
}
