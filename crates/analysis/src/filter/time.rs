//! Points in time, as people write them.

const SECOND: i128 = 1_000_000_000;

/// The least number that is read as nanoseconds since 1970, in March 1973. Smaller ones are seconds, milliseconds or
/// microseconds since 1970, a year, or a duration whose unit is missing.
const LEAST_TIMESTAMP: u64 = 100_000_000_000_000_000;

/// Returns `true` if a number without a unit is large enough to be nanoseconds since 1970.
///
/// ```
/// # use traceloom_analysis::filter::is_timestamp;
/// assert!(is_timestamp(1_772_366_400_000_000_000));
/// assert!(!is_timestamp(1_772_366_400_000));
/// ```
#[must_use]
pub const fn is_timestamp(ns: i64) -> bool {
    ns.unsigned_abs() >= LEAST_TIMESTAMP
}

/// Reads nanoseconds since 1970, in 18 digits or more, or a date, with a time of day or without, in
/// UTC unless a zone stands behind: `2026-03-01`, `2026-03-01T12:00:00.5Z`, `2026-03-01 12:00+02:00`.
#[must_use]
pub fn moment(text: &str) -> Option<i64> {
    if let Ok(ns) = text.parse() {
        return Some(ns).filter(|&ns| is_timestamp(ns));
    }
    let ns = match text.get(10..) {
        None | Some("") => day(text)? * 86_400 * SECOND,
        Some(rest) => {
            let rest = rest.strip_prefix(['T', 't', ' '])?;
            let zone = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
            let (of_day, zone) = rest.split_at(zone);
            day(text.get(..10)?)? * 86_400 * SECOND + time_of_day(of_day)? - offset(zone)?
        }
    };
    i64::try_from(ns).ok()
}

fn number(text: &str, digits: usize, most: i128) -> Option<i128> {
    let right = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| right)?;
    (number <= most).then_some(number)
}

/// Days since 1970 of a date of the Gregorian calendar.
fn day(text: &str) -> Option<i128> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let (year, month, day) = (
        number(year, 4, 9999)?,
        number(month, 2, 12)?,
        number(day, 2, 31)?,
    );
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = match month {
        2 => 28 + i128::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if month == 0 || day == 0 || day > longest {
        return None;
    }
    // Years begin in March, so that the day that comes and goes is the last one.
    let (years, months) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let before = years * 365 + years.div_euclid(4) - years.div_euclid(100) + years.div_euclid(400);
    Some(before + (months * 153 + 2) / 5 + day - 1 - 719_468)
}

/// Nanoseconds since midnight of `12:00`, `12:00:07` or `12:00:07.25`.
fn time_of_day(text: &str) -> Option<i128> {
    let mut parts = text.trim_end().splitn(3, ':');
    let hours = number(parts.next()?, 2, 23)?;
    let minutes = number(parts.next()?, 2, 59)?;
    let (seconds, decimals) = match parts.next() {
        None => (0, 0),
        Some(seconds) => {
            let (whole, decimals) = seconds.split_once('.').unwrap_or((seconds, "0"));
            if decimals.is_empty() || decimals.len() > 9 {
                return None;
            }
            (
                number(whole, 2, 59)?,
                number(&format!("{decimals:0<9}"), 9, SECOND)?,
            )
        }
    };
    Some((hours * 3_600 + minutes * 60 + seconds) * SECOND + decimals)
}

/// Nanoseconds that the clocks of a zone are ahead of UTC.
fn offset(zone: &str) -> Option<i128> {
    if matches!(zone, "" | "Z" | "z") {
        return Some(0);
    }
    let (sign, rest) = zone.split_at(1);
    let (hours, minutes) = rest.split_once(':').or_else(|| rest.split_at_checked(2))?;
    let seconds = number(hours, 2, 23)? * 3_600 + number(minutes, 2, 59)? * 60;
    Some(if sign == "-" { -seconds } else { seconds } * SECOND)
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn dates_are_read_exactly() {
        assert_eq!(moment("1970-01-01"), Some(0));
        assert_eq!(
            moment("2026-03-01T12:00:00Z"),
            Some(1_772_366_400_000_000_000)
        );
        assert_eq!(moment("2026-03-01 12:00"), Some(1_772_366_400_000_000_000));
        assert_eq!(
            moment("2026-03-01T14:00+02:00"),
            Some(1_772_366_400_000_000_000)
        );
        assert_eq!(
            moment("2026-03-01T07:30:00-0430"),
            Some(1_772_366_400_000_000_000)
        );
        assert_eq!(
            moment("2024-02-29T23:59:59.999999999Z"),
            Some(1_709_251_199_999_999_999)
        );
        assert_eq!(moment("1969-12-31T23:59:59Z"), Some(-1_000_000_000));
        assert_eq!(
            moment("1772366400000000000"),
            Some(1_772_366_400_000_000_000)
        );
        for wrong in [
            "1772366400",
            "1772366400000",
            "1772366400000000",
            "-500000000",
            "",
            "yesterday",
            "2026",
            "20260301",
            "2026-02-29",
            "2026-13-01",
            "2026-3-1",
            "2026-03-01T",
            "2026-03-01T24:00",
            "2026-03-01T12",
            "2026-03-01T12:00:00.Z",
            "2026-03-01T12:00+5",
            "9999-01-01",
            "2026-03-01é12:00",
        ] {
            assert_eq!(moment(wrong), None, "{wrong}");
        }
    }
}
