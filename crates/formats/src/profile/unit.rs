//! Units as profiles spell them.

use traceloom_model::{StringId, Tables, Unit};

/// Spellings, in lower case, of units the model has, and how many of the model's units one of them is.
const SPELLINGS: &[(&[&str], Unit, i64)] = &[
    (&["count"], Unit::Count, 1),
    (&["ns", "nanosecond", "nanoseconds"], Unit::Nanoseconds, 1),
    (
        &["us", "µs", "μs", "microsecond", "microseconds"],
        Unit::Nanoseconds,
        1_000,
    ),
    (
        &["ms", "millisecond", "milliseconds"],
        Unit::Nanoseconds,
        1_000_000,
    ),
    (
        &["s", "sec", "second", "seconds"],
        Unit::Nanoseconds,
        1_000_000_000,
    ),
    (
        &["min", "minute", "minutes"],
        Unit::Nanoseconds,
        60_000_000_000,
    ),
    (
        &["h", "hr", "hour", "hours"],
        Unit::Nanoseconds,
        3_600_000_000_000,
    ),
    (&["b", "byte", "bytes"], Unit::Bytes, 1),
    (
        &[
            "kb",
            "kib",
            "kilobyte",
            "kilobytes",
            "kibibyte",
            "kibibytes",
        ],
        Unit::Bytes,
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
        Unit::Bytes,
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
        Unit::Bytes,
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
        Unit::Bytes,
        1 << 40,
    ),
    (&["chars"], Unit::Chars, 1),
    (&["percent"], Unit::Percent, 1),
];

/// Returns the model's unit and the factor that values are multiplied with.
pub(crate) fn parse(text: &[u8], tables: &mut Tables) -> (Unit, i64) {
    let known = std::str::from_utf8(text).ok().and_then(|text| {
        let lower = text.trim().to_lowercase();
        let row = SPELLINGS
            .iter()
            .find(|(spellings, _, _)| spellings.contains(&lower.as_str()))?;
        Some((row.1, row.2))
    });
    known.unwrap_or_else(|| (Unit::Other(tables.bytes(text)), 1))
}

/// Returns the spelling to write, or the string that holds it.
pub(crate) fn spell(unit: Unit) -> Result<&'static str, StringId> {
    match unit {
        Unit::Other(text) => Err(text),
        known => Ok(SPELLINGS
            .iter()
            .find(|row| row.1 == known && row.2 == 1)
            .and_then(|row| row.0.last())
            .copied()
            .unwrap_or("count")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings() {
        let mut tables = Tables::new();
        let mut unit = |text: &str| parse(text.as_bytes(), &mut tables);
        assert_eq!(unit("nanoseconds"), (Unit::Nanoseconds, 1));
        assert_eq!(unit(" Milliseconds"), (Unit::Nanoseconds, 1_000_000));
        assert_eq!(unit("KiB"), (Unit::Bytes, 1024));
        assert!(matches!(unit("goroutines"), (Unit::Other(_), 1)));
        assert!(matches!(unit(""), (Unit::Other(_), 1)));
        assert_eq!(spell(Unit::Nanoseconds), Ok("nanoseconds"));
        assert_eq!(spell(Unit::Bytes), Ok("bytes"));
    }
}
