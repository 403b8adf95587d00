//! How numbers, times and colours are printed.

use std::fmt;
use std::io::{self, Write};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use traceloom_model::{Level, printable};

use crate::args::{Color, Common};
use crate::numbers::{count, duration};
use crate::streams::{stdout_is_terminal, stdout_width};
use crate::usage::Usage;

/// Colours and the time zone of one run.
pub(crate) struct Style {
    colored: bool,
    zone: TimeZone,
    width: Option<usize>,
}

impl Style {
    pub(crate) fn new(common: &Common) -> anyhow::Result<Self> {
        let zone = zone(common)?;
        let quiet = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let colored = match common.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => stdout_is_terminal() && !quiet,
        };
        Ok(Self {
            colored,
            zone,
            width: stdout_width(),
        })
    }

    /// Returns the columns of the terminal that is printed to, none where the output goes elsewhere.
    pub(crate) const fn width(&self) -> Option<usize> {
        self.width
    }

    pub(crate) fn bold(&self, text: impl fmt::Display) -> String {
        self.paint("1", text)
    }

    pub(crate) fn dim(&self, text: impl fmt::Display) -> String {
        self.paint("2", text)
    }

    /// Says how many rows there are besides those that were printed, if there are any.
    pub(crate) fn say_more(
        &self,
        number: usize,
        what: &str,
        out: &mut impl Write,
    ) -> io::Result<()> {
        if number == 0 {
            return Ok(());
        }
        let text = format!("{} {what}; -n 0 prints all", count(number as u64));
        writeln!(out, "{}", self.dim(text))
    }

    pub(crate) fn level(&self, level: Level) -> String {
        let code = match level {
            Level::Info => "36",
            Level::Warn => "33",
            Level::Damage => "31",
        };
        self.paint(code, level)
    }

    /// Appends what `put` does, as [`Style::bold`] and [`Style::dim`] have it: it must be without effects on a terminal.
    fn put_painted(&self, code: &str, out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
        if self.colored {
            out.extend([b"\x1b[", code.as_bytes(), b"m"].concat());
        }
        put(out);
        if self.colored {
            out.extend_from_slice(b"\x1b[0m");
        }
    }

    /// Appends a bold text.
    pub(crate) fn put_bold(&self, text: &str, out: &mut Vec<u8>) {
        let put = |out: &mut Vec<u8>| out.extend_from_slice(printable(text).as_bytes());
        self.put_painted("1", out, put);
    }

    /// Appends a dimmed offset, at least ten columns wide.
    pub(crate) fn put_offset(&self, offset: u64, out: &mut Vec<u8>) {
        self.put_painted("2", out, |out| {
            let mut buffer = itoa::Buffer::new();
            let digits = buffer.format(offset).as_bytes();
            out.resize(out.len() + 10_usize.saturating_sub(digits.len()), b' ');
            out.extend_from_slice(digits);
        });
    }

    /// Paints one line, without effects on a terminal but its colour.
    fn paint(&self, code: &str, text: impl fmt::Display) -> String {
        let text = text.to_string();
        let text = printable(&text);
        if self.colored {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.into_owned()
        }
    }

    /// Prints a time: a date where the clock has one, else how far it is from the clock's zero. This is how every
    /// command prints times, so that none shows a clock without a date in 1970.
    pub(crate) fn when(&self, dated: bool, ns: i64) -> String {
        if dated {
            return self.time(ns);
        }
        let sign = if ns < 0 { "-" } else { "" };
        format!("{sign}{}", duration(ns.unsigned_abs()))
    }

    /// Prints nanoseconds since the Unix epoch as a date: UTC with `Z`, other zones with their offset.
    fn time(&self, ns: i64) -> String {
        let Ok(at) = Timestamp::from_nanosecond(i128::from(ns)) else {
            return format!("{ns} ns");
        };
        let digits = match ns {
            ns if ns % 1_000_000 == 0 => 3,
            ns if ns % 1_000 == 0 => 6,
            _ => 9,
        };
        if self.zone == TimeZone::UTC {
            return format!("{at:.digits$}");
        }
        let zoned = at.to_zoned(self.zone.clone());
        format!("{:.digits$}{}", zoned.datetime(), zoned.strftime("%:z"))
    }
}

/// Returns the zone that `--tz` names.
pub(crate) fn zone(common: &Common) -> anyhow::Result<TimeZone> {
    // Finding a zone by name reads the whole folder of them.
    if common.tz == "UTC" {
        return Ok(TimeZone::UTC);
    }
    let zone = TimeZone::get(&common.tz);
    Ok(zone.map_err(|_| Usage(format!("--tz: there is no time zone `{}`", common.tz)))?)
}
