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
    let seconds = size / 1_000_000_000;
    if *unit == MeasureUnit::Nanoseconds && seconds >= 60 {
        return match seconds / 3600 {
            0 => format!("{sign}{} min {} s", seconds / 60, seconds % 60),
            hours => format!("{sign}{} h {} min", grouped(hours), seconds % 3600 / 60),
        };
    }
    if let Some(&(step, name)) = scale.iter().find(|&&(step, _)| size >= step) {
        let hundredths = u128::from(size) * 100 / u128::from(step);
        let (whole, rest) = (hundredths / 100, hundredths % 100);
        let is_time = *unit == MeasureUnit::Nanoseconds;
        return match whole {
            // A clock of milliseconds did not measure the rest of `30.0 ms`.
            _ if is_time && size.is_multiple_of(step) => format!("{sign}{whole} {name}"),
            0..10 => format!("{sign}{whole}.{rest:02} {name}"),
            10..100 => format!("{sign}{whole}.{} {name}", rest / 10),
            _ => format!("{sign}{whole} {name}"),
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
