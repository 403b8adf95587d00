//! `--since`, `--until` and `--shift`: which stretch of time is read, on which clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use traceloom_analysis::filter::is_timestamp;
use traceloom_analysis::stage::Shifts;
use traceloom_formats::Source;
use traceloom_input::Document;

use crate::args::Common;
use crate::select::duration;
use crate::usage::Usage;

/// When.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Time")]
pub(crate) struct TimeFlags {
    /// Only what happened from TIME on: `2026-03-01T12:00:00Z`, a date without zone (in that of --tz),
    /// nanoseconds since 1970, `+10s` from the start of the recording or `-10s` from its end.
    ///
    /// A span across the border counts with the part inside and is marked as partial. A recording whose clock has no known origin takes `+` and `-` only.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = bound)]
    pub(crate) since: Option<Bound>,
    /// Only what happened before TIME.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = bound)]
    pub(crate) until: Option<Bound>,
    /// Move times: NAME is a path, a file name, the number of an input counted from 1, or a service.
    ///
    /// A clock of unknown origin counts as placed by it, `b.trcbin=+0s` included. May be repeated.
    #[arg(long, value_name = "NAME=±DURATION", value_parser = shift)]
    shift: Vec<Moved>,
}

/// A border as it was typed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    At(i64),
    /// A date and time in the zone of `--tz`.
    Civil(DateTime),
    FromStart(i64),
    FromEnd(i64),
}

impl Bound {
    /// Returns true if it is a date.
    fn is_date(&self) -> bool {
        matches!(self, Self::At(_) | Self::Civil(_))
    }
}

/// A shift as it was typed, and whether anything has that name.
#[derive(Clone, Debug)]
struct Moved {
    name: String,
    by: i64,
    met: Arc<AtomicBool>,
}

/// Reads a border as it is typed.
pub(crate) fn bound(text: &str) -> Result<Bound, String> {
    let distance = |text: &str| {
        let ns = duration(text)?;
        i64::try_from(ns).map_err(|_| format!("`{text}` is too long"))
    };
    if let Some(text) = text.strip_prefix('+') {
        return distance(text).map(Bound::FromStart);
    }
    let number = text.parse::<i64>();
    if let Ok(ns) = number
        && is_timestamp(ns)
    {
        return Ok(Bound::At(ns));
    }
    if let Some(text) = text.strip_prefix('-') {
        return distance(text).map(Bound::FromEnd);
    }
    if number.is_ok() {
        return Err(format!(
            "`{text}` has no unit; write +{text}s from the start, -{text}s from the end, or nanoseconds since 1970, \
             which have 18 digits or more"
        ));
    }
    let outside = || format!("`{text}` is outside the years 1677 to 2262");
    if let Ok(at) = text.parse::<Timestamp>() {
        let ns = i64::try_from(at.as_nanosecond());
        return ns.map(Bound::At).map_err(|_| outside());
    }
    text.parse().map(Bound::Civil).map_err(|_| {
        format!("`{text}` is no time; write 2026-03-01T12:00:00Z, nanoseconds since 1970, +10s from the start or -10s from the end")
    })
}

/// Reads a time of the collector's clock in Unix nanoseconds: a date, in UTC where it has no zone, or `-2h` from now.
pub(crate) fn received(text: &str) -> Result<i64, String> {
    let help =
        || format!("`{text}` is no time; write 2026-03-01T12:00:00Z, 2026-03-01, or -2h from now");
    let out = |at: Timestamp| i64::try_from(at.as_nanosecond()).map_err(|_| help());
    match bound(text).map_err(|_| help())? {
        Bound::At(ns) => Ok(ns),
        Bound::Civil(date) => out(date
            .to_zoned(TimeZone::UTC)
            .map_err(|_| help())?
            .timestamp()),
        Bound::FromEnd(ns) => out(Timestamp::now()).map(|now| now.saturating_sub(ns)),
        Bound::FromStart(_) => Err(help()),
    }
}

fn shift(text: &str) -> Result<Moved, String> {
    let help = || format!("`{text}` is no shift; write NAME=+1.5s or NAME=-200ms");
    let (name, by) = text.rsplit_once('=').ok_or_else(help)?;
    let (sign, by) = match (by.strip_prefix('+'), by.strip_prefix('-')) {
        (Some(by), _) => (1, by),
        (_, Some(by)) => (-1, by),
        _ => return Err(help()),
    };
    let by = i64::try_from(duration(by)?).map_err(|_| help())?;
    Ok(Moved {
        name: name.to_owned(),
        by: sign * by,
        met: Arc::default(),
    })
}

impl TimeFlags {
    /// Returns true if everything is read as it is.
    pub(crate) fn is_empty(&self) -> bool {
        !self.is_bounded() && self.shift.is_empty()
    }

    /// Returns `true` if nothing is moved and borders are dates.
    pub(crate) fn is_absolute(&self) -> bool {
        self.shift.is_empty() && self.since.iter().chain(&self.until).all(Bound::is_date)
    }

    /// Returns true if a border is a date.
    pub(crate) fn has_dates(&self) -> bool {
        self.since.iter().chain(&self.until).any(Bound::is_date)
    }

    /// Returns true if a border is so far from the start or the end of what is read.
    pub(crate) fn is_relative(&self) -> bool {
        let relative = |bound| matches!(bound, Some(Bound::FromStart(_) | Bound::FromEnd(_)));
        relative(self.since) || relative(self.until)
    }

    /// Returns true if a stretch of time is asked for.
    pub(crate) fn is_bounded(&self) -> bool {
        self.since.is_some() || self.until.is_some()
    }

    /// Fails for a shift of something that was in none of the inputs, and for names of other flags that nothing has.
    pub(crate) fn check_names(&self, common: &Common) -> anyhow::Result<()> {
        common.asked.check()?;
        let unmet = self
            .shift
            .iter()
            .find(|moved| !moved.met.load(Ordering::Relaxed));
        match unmet {
            None => Ok(()),
            Some(moved) => Err(Usage(format!(
                "--shift: nothing here is called `{}`: no input, no file in one, no service",
                moved.name
            ))
            .into()),
        }
    }

    /// What moves a recording of input `number` by its name; what is left over may name services.
    pub(crate) fn shifts(&self, number: usize, path: &str, document: &Document<'_>) -> Shifts {
        let file = |path: &str| {
            path.trim_end_matches('/')
                .rsplit('/')
                .next()
                .unwrap_or(path)
                .to_owned()
        };
        let mut shifts = Shifts::default();
        for moved in &self.shift {
            let part = |name: &str| name == moved.name || file(name) == moved.name;
            let named = number.to_string() == moved.name
                || part(path)
                || document.parts().iter().any(|one| part(&one.name));
            if named {
                moved.met.store(true, Ordering::Relaxed);
                shifts.all = Some(shifts.all.unwrap_or(0).saturating_add(moved.by));
            } else {
                shifts.services.push((moved.name.clone(), moved.by));
            }
        }
        shifts
    }

    pub(crate) fn met_services(&self, shifts: &Shifts, met: &[bool]) {
        for ((name, _), _) in shifts.services.iter().zip(met).filter(|(_, met)| **met) {
            for moved in self.shift.iter().filter(|moved| moved.name == *name) {
                moved.met.store(true, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_are_read() {
        assert_eq!(bound("+10s"), Ok(Bound::FromStart(10_000_000_000)));
        assert_eq!(bound("-1.5ms"), Ok(Bound::FromEnd(1_500_000)));
        assert_eq!(
            bound("1772366400000000000"),
            Ok(Bound::At(1_772_366_400_000_000_000))
        );
        for bare in ["5", "+5", "-5", "1772366400"] {
            assert!(bound(bare).unwrap_err().contains("has no unit"), "{bare}");
        }
        assert_eq!(bound("1970-01-01T00:00:01Z"), Ok(Bound::At(1_000_000_000)));
        assert_eq!(bound("1970-01-01T01:00:00+01:00"), Ok(Bound::At(0)));
        assert!(matches!(bound("2026-03-01 12:00"), Ok(Bound::Civil(_))));
        assert!(matches!(bound("2026-03-01"), Ok(Bound::Civil(_))));
        assert!(bound("yesterday").unwrap_err().contains("is no time"));
    }

    #[test]
    fn shifts_name_what_they_move() {
        let moved = shift("a=b.trcbin=-200ms").unwrap();
        assert_eq!(
            (moved.name.as_str(), moved.by),
            ("a=b.trcbin", -200_000_000)
        );
        assert!(shift("a=1s").is_err());
        assert!(shift("+1s").is_err());
    }
}
