//! Amounts for people: `12.3 ms`, `4.5 MiB`, `1,234`.

use crate::MeasureUnit;

/// Writes a value of this unit with three significant digits and the unit that suits its size.
///
/// ```
/// use traceloom_analysis::{MeasureUnit, amount};
/// assert_eq!(amount(&MeasureUnit::Nanoseconds, 12_345_678), "12.3 ms");
/// assert_eq!(amount(&MeasureUnit::Bytes, 1 << 20), "1.00 MiB");
/// assert_eq!(amount(&MeasureUnit::Count, 1234567), "1,234,567");
/// ```
#[must_use]
pub fn amount(unit: &MeasureUnit, value: i64) -> String {
    let scale: &[(u64, &str)] = match unit {
        MeasureUnit::Nanoseconds => &[
            (60_000_000_000, "min"),
            (1_000_000_000, "s"),
            (1_000_000, "ms"),
            (1_000, "µs"),
        ],
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
    // Minutes begin at ten: 90 s reads better than 1.50 min.
    let fits = |&&(step, name): &&(u64, &str)| size >= if name == "min" { step * 10 } else { step };
    if let Some(&(step, name)) = scale.iter().find(fits) {
        let hundredths = u128::from(size) * 100 / u128::from(step);
        let (whole, rest) = (hundredths / 100, hundredths % 100);
        return match whole {
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
        assert_eq!(time(-99_990_000_000), "-99.9 s");
        assert_eq!(time(599_000_000_000), "599 s");
        assert_eq!(time(600_000_000_000), "10.0 min");
        assert_eq!(time(i64::MAX), "153722867 min");
        assert_eq!(amount(&MeasureUnit::Bytes, 1023), "1,023 B");
        assert_eq!(amount(&MeasureUnit::Other("ticks".into()), 12), "12 ticks");
        assert_eq!(grouped(100_000), "100,000");
    }
}
