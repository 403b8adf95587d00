//! Amounts for people: `12.3 ms`, `4.5 MiB`, `1,234`.

use super::MeasureUnit;

/// Writes a value of this unit with three significant digits and the unit that suits its size; times from one minute
/// in two whole units.
///
/// Pages have the same in `ui/src/shared/amount.ts`; `ui/examples/amounts.json` holds them together.
///
/// ```
/// use traceloom_analysis::{MeasureUnit, amount};
/// assert_eq!(amount(&MeasureUnit::Nanoseconds, 12_345_678), "12.3 ms");
/// assert_eq!(amount(&MeasureUnit::Bytes, 1 << 20), "1.00 MiB");
/// assert_eq!(amount(&MeasureUnit::Nanoseconds, 201_000_000_000), "3 min 21 s");
/// assert_eq!(amount(&MeasureUnit::Count, 1234567), "1,234,567");
/// ```
#[must_use]
pub fn amount(unit: &MeasureUnit, value: i64) -> String {
    /// From here on three digits of seconds would say 60.
    const MINUTE: u64 = 59_950_000_000;
    let scale: &[(u64, &str)] = match unit {
        MeasureUnit::Nanoseconds => &[(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")],
        MeasureUnit::Bytes => &[
            (1 << 40, "TiB"),
            (1 << 30, "GiB"),
            (1 << 20, "MiB"),
            (1 << 10, "KiB"),
        ],
        _ => &[],
    };
    let sign = if value < 0 { "-" } else { "" };
    let size = value.unsigned_abs();
    let is_time = *unit == MeasureUnit::Nanoseconds;
    if is_time && size >= MINUTE {
        return format!("{sign}{}", minutes(size));
    }
    // What rounds to 1,000 ms is 1 s, what rounds to 1,024 KiB is 1 MiB.
    let reaches = |step: u64, least: u64| rounded(size, 1, step) * u128::from(step) >= least.into();
    let below = scale.iter().skip(1).map(|&(step, _)| step).chain([1]);
    let mut steps = scale.iter().zip(below);
    if let Some((&(step, name), _)) = steps.find(|&(&(step, _), below)| reaches(below, step)) {
        // A clock of milliseconds did not measure the rest of `30.0 ms`.
        if is_time && size.is_multiple_of(step) {
            return format!("{sign}{} {name}", size / step);
        }
        let [hundredths, tenths] = [100, 10].map(|parts| rounded(size, parts, step));
        return match (hundredths, tenths) {
            (..1_000, _) => format!("{sign}{}.{:02} {name}", hundredths / 100, hundredths % 100),
            (_, ..1_000) => format!("{sign}{}.{} {name}", tenths / 10, tenths % 10),
            _ => format!("{sign}{} {name}", rounded(size, 1, step)),
        };
    }
    let grouped = grouped(size);
    match unit {
        MeasureUnit::Nanoseconds => format!("{sign}{grouped} ns"),
        MeasureUnit::Bytes => format!("{sign}{grouped} B"),
        MeasureUnit::Count => format!("{sign}{grouped}"),
        MeasureUnit::Chars => format!("{sign}{grouped} chars"),
        MeasureUnit::Percent => format!("{sign}{grouped} %"),
        MeasureUnit::Other(name) => format!("{sign}{grouped} {name}"),
    }
}

/// Returns `size / step` in parts of one, rounded.
fn rounded(size: u64, parts: u128, step: u64) -> u128 {
    let (size, step) = (u128::from(size), u128::from(step));
    (size * parts * 2 + step) / (step * 2)
}

/// Writes a time from one minute in two whole units: `3 min 21 s`, `2 h 5 min`.
#[must_use]
pub fn minutes(ns: u64) -> String {
    let seconds = ns.saturating_add(500_000_000) / 1_000_000_000;
    if seconds < 3600 {
        return format!("{} min {} s", seconds / 60, seconds % 60);
    }
    let minutes = ns.saturating_add(30_000_000_000) / 60_000_000_000;
    format!("{} h {} min", grouped(minutes / 60), minutes % 60)
}

/// Writes a number with a comma before every third digit.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_suit_the_size() {
        let time = |ns| amount(&MeasureUnit::Nanoseconds, ns);
        assert_eq!(time(0), "0 ns");
        assert_eq!(time(999), "999 ns");
        assert_eq!(time(1_500), "1.50 µs");
        assert_eq!(time(i64::MAX), "2,562,047 h 47 min");
        assert_eq!(amount(&MeasureUnit::Bytes, 1023), "1,023 B");
        assert_eq!(amount(&MeasureUnit::Other("ticks".into()), 12), "12 ticks");
        assert_eq!(grouped(100_000), "100,000");
    }

    #[test]
    fn amounts_are_written_as_in_pages() {
        let table = include_str!("../../../../ui/examples/amounts.json");
        let table: Vec<(String, i64, String)> = serde_json::from_str(table).unwrap();
        assert!(table.len() > 15);
        for (unit, value, text) in table {
            let unit = match unit.as_str() {
                "ns" => MeasureUnit::Nanoseconds,
                "bytes" => MeasureUnit::Bytes,
                _ => MeasureUnit::Count,
            };
            assert_eq!(amount(&unit, value), text);
        }
    }
}
