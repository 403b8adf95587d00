//! How numbers, durations and sizes are printed.

/// Prints a duration exactly, in the unit a person would take.
pub(crate) fn duration(ns: u64) -> String {
    const UNITS: [(u64, &str); 4] = [
        (3_600_000_000_000, "h"),
        (60_000_000_000, "min"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
    ];
    match UNITS.iter().find(|&&(size, _)| ns >= size) {
        Some(&(size, unit @ ("h" | "min"))) => {
            let rest = (ns % size) / 1_000_000_000;
            let smaller = if unit == "h" {
                format!("{} min", rest / 60)
            } else {
                format!("{rest} s")
            };
            format!("{} {unit} {smaller}", ns / size)
        }
        // A clock of milliseconds did not measure the microseconds of `285.000 ms`.
        Some(&(size, unit)) if ns.is_multiple_of(size) => format!("{} {unit}", ns / size),
        None if ns >= 1_000 && ns.is_multiple_of(1_000) => format!("{} µs", ns / 1_000),
        Some(&(size, unit)) => format!("{}.{:03} {unit}", ns / size, (ns % size) / (size / 1000)),
        None if ns >= 1_000 => format!("{}.{:03} µs", ns / 1_000, ns % 1_000),
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
    let tenths = (u128::from(bytes) * 10) >> unit;
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_exact() {
        assert_eq!(duration(999), "999 ns");
        assert_eq!(duration(1_234), "1.234 µs");
        assert_eq!(duration(1_304_000_000), "1.304 s");
        assert_eq!(duration(285_000_000), "285 ms");
        assert_eq!(duration(5_000), "5 µs");
        assert_eq!(duration(61_000_000_000), "1 min 1 s");
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(size(44_290), "43.2 KiB");
    }
}
