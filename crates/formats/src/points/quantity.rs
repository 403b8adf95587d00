//! Unit words of producers, and the units Datakit shows.

use traceloom_model::{Tables, Unit};

/// What an amount is an amount of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Quantity {
    /// Time; the model holds nanoseconds.
    Duration,
    /// Memory; the model holds bytes.
    Memory,
    /// Things.
    Count,
}

impl Quantity {
    /// Returns the unit Datakit shows and how many of the model's units make one: durations in µs, memory
    /// in bytes, counts as they are (`datakit/SPEC.md` §3.6).
    #[must_use]
    pub const fn display(self) -> (&'static str, i64) {
        match self {
            Self::Duration => ("µs", 1000),
            Self::Memory => ("B", 1),
            Self::Count => ("", 1),
        }
    }

    /// Returns what a model unit is an amount of.
    #[must_use]
    pub const fn of(unit: Unit) -> Self {
        match unit {
            Unit::Nanoseconds => Self::Duration,
            Unit::Bytes => Self::Memory,
            _ => Self::Count,
        }
    }
}

/// Units by every spelling in use: exact ones first (`datakit/SPEC.md` §3.10).
const EXACT: [(&[&str], Quantity, i64); 13] = [
    (
        &["ns", "nanosecond", "nanoseconds", "纳秒"],
        Quantity::Duration,
        1,
    ),
    (
        &["us", "µs", "μs", "microsecond", "microseconds", "微秒"],
        Quantity::Duration,
        1_000,
    ),
    (
        &["ms", "millisecond", "milliseconds", "毫秒"],
        Quantity::Duration,
        1_000_000,
    ),
    (
        &["s", "second", "seconds", "秒"],
        Quantity::Duration,
        1_000_000_000,
    ),
    (
        &["m", "minute", "minutes", "分钟"],
        Quantity::Duration,
        60_000_000_000,
    ),
    (
        &["h", "hour", "hours", "小时"],
        Quantity::Duration,
        3_600_000_000_000,
    ),
    (&["b", "byte", "bytes", "字节"], Quantity::Memory, 1),
    (
        &[
            "kb",
            "kib",
            "kilobyte",
            "kilobytes",
            "kibibyte",
            "kibibytes",
        ],
        Quantity::Memory,
        1 << 10,
    ),
    (
        &[
            "mb",
            "mib",
            "megabyte",
            "megabytes",
            "mebibyte",
            "mebibytes",
        ],
        Quantity::Memory,
        1 << 20,
    ),
    (
        &[
            "gb",
            "gib",
            "gigabyte",
            "gigabytes",
            "gibibyte",
            "gibibytes",
        ],
        Quantity::Memory,
        1 << 30,
    ),
    (
        &[
            "tb",
            "tib",
            "terabyte",
            "terabytes",
            "tebibyte",
            "tebibytes",
        ],
        Quantity::Memory,
        1 << 40,
    ),
    (
        &[
            "pb",
            "pib",
            "petabyte",
            "petabytes",
            "pebibyte",
            "pebibytes",
        ],
        Quantity::Memory,
        1 << 50,
    ),
    (&["", "count", "none"], Quantity::Count, 1),
];

/// Beginnings that mean a unit when no exact word matches. A memory prefix needs its `b`: `goroutines`
/// are no gigabytes.
const PREFIXES: [(&str, Quantity, i64); 17] = [
    ("na", Quantity::Duration, 1),
    ("mic", Quantity::Duration, 1_000),
    ("mil", Quantity::Duration, 1_000_000),
    ("min", Quantity::Duration, 60_000_000_000),
    ("hour", Quantity::Duration, 3_600_000_000_000),
    ("sec", Quantity::Duration, 1_000_000_000),
    ("byte", Quantity::Memory, 1),
    ("kb", Quantity::Memory, 1 << 10),
    ("kib", Quantity::Memory, 1 << 10),
    ("mb", Quantity::Memory, 1 << 20),
    ("mib", Quantity::Memory, 1 << 20),
    ("gb", Quantity::Memory, 1 << 30),
    ("gib", Quantity::Memory, 1 << 30),
    ("tb", Quantity::Memory, 1 << 40),
    ("tib", Quantity::Memory, 1 << 40),
    ("pb", Quantity::Memory, 1 << 50),
    ("pib", Quantity::Memory, 1 << 50),
];

/// Reads a unit word: what it measures and how many of the model's units one of it is; none when nobody
/// knows it.
#[must_use]
pub fn parse_unit(text: &str) -> Option<(Quantity, i64)> {
    let text = text.trim().to_lowercase();
    let exact = EXACT
        .iter()
        .find(|(words, ..)| words.contains(&text.as_str()));
    let prefix = || {
        PREFIXES
            .iter()
            .find(|(prefix, ..)| text.starts_with(prefix))
    };
    exact
        .map(|&(_, quantity, factor)| (quantity, factor))
        .or_else(|| prefix().map(|&(_, quantity, factor)| (quantity, factor)))
}

/// Returns the model's unit for a unit word and the factor that takes values to it.
pub fn model_unit(text: &str, tables: &mut Tables) -> (Unit, i64) {
    match parse_unit(text) {
        Some((Quantity::Duration, factor)) => (Unit::Nanoseconds, factor),
        Some((Quantity::Memory, factor)) => (Unit::Bytes, factor),
        Some((Quantity::Count, factor)) => (Unit::Count, factor),
        None => (Unit::Other(tables.string(text)), 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_the_table_is_read() {
        for (text, expected) in [
            ("nanoseconds", Some((Quantity::Duration, 1))),
            (" MS ", Some((Quantity::Duration, 1_000_000))),
            ("毫秒", Some((Quantity::Duration, 1_000_000))),
            ("minutely", Some((Quantity::Duration, 60_000_000_000))),
            ("KiB", Some((Quantity::Memory, 1024))),
            ("bytes", Some((Quantity::Memory, 1))),
            ("count", Some((Quantity::Count, 1))),
            ("goroutines", None),
        ] {
            assert_eq!(parse_unit(text), expected, "{text}");
        }
    }
}
