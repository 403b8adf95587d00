//! How numbers, durations and sizes are printed.

use traceloom_analysis::minutes;

/// Prints a duration in the unit a person would take, to a thousandth of it.
pub(crate) fn duration(ns: u64) -> String {
    /// From here on three digits behind the point would say 60 seconds.
    const MINUTE: u64 = 59_999_500_000;
    if ns >= MINUTE {
        return minutes(ns);
    }
    // Parts of a thousand, rounded; what comes to 1,000 of a unit is one of the next.
    let thousandths = |unit: u64| (ns + unit / 2_000) / (unit / 1_000);
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")];
    let below = [1_000_000, 1_000, 1];
    let mut units = units.into_iter().zip(below);
    let found = units.find(|&((unit, _), below)| match below {
        1 => ns >= unit,
        below => thousandths(below) * (below / 1_000) >= unit,
    });
    match found {
        // A clock of milliseconds did not measure the microseconds of `285.000 ms`.
        Some(((unit, name), _)) if ns.is_multiple_of(unit) => format!("{} {name}", ns / unit),
        Some(((unit, name), _)) => {
            let parts = thousandths(unit);
            format!("{}.{:03} {name}", parts / 1_000, parts % 1_000)
        }
        None => format!("{ns} ns"),
    }
}

/// Prints a count with commas.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Prints how many things there are, with the word that fits one or many.
pub(crate) fn things(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// Prints a size in bytes with the binary unit a person would take.
pub(crate) fn size(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..0x2800 => return format!("{} B", count(bytes)),
        0x2800..0xa0_0000 => (10, "KiB"),
        0xa0_0000..0x2_8000_0000 => (20, "MiB"),
        _ => (30, "GiB"),
    };
    let tenths = (u128::from(bytes) * 10 + (1 << (unit - 1))) >> unit;
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_to_thousandths() {
        assert_eq!(duration(999), "999 ns");
        assert_eq!(duration(1_234), "1.234 µs");
        assert_eq!(duration(1_304_000_000), "1.304 s");
        assert_eq!(duration(285_000_000), "285 ms");
        assert_eq!(duration(5_000), "5 µs");
        assert_eq!(duration(61_000_000_000), "1 min 1 s");
        assert_eq!(duration(61_500_000_000), "1 min 2 s");
        assert_eq!(duration(1_304_999_999), "1.305 s");
        assert_eq!(duration(999_999_499), "999.999 ms");
        assert_eq!(duration(999_999_500), "1.000 s");
        assert_eq!(duration(59_999_500_000), "1 min 0 s");
        assert_eq!(duration(7_530_000_000_000), "2 h 6 min");
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(size(44_290), "43.3 KiB");
    }
}
