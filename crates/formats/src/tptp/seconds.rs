//! Decimal seconds of XML and ticks of the binary form, in whole numbers (SPEC.md §4).

/// Nanoseconds in a second: the frequency at which both forms agree exactly.
pub const NANOS: u64 = 1_000_000_000;

/// Reads decimal seconds as nanoseconds. Digits after the ninth are dropped, and false is returned for them.
///
/// Returns none for anything but digits with at most one point, and for times past 64 bits.
#[must_use]
pub fn parse(text: &[u8]) -> Option<(u64, bool)> {
    let point = memchr::memchr(b'.', text);
    let (whole, fraction) = match point {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?),
        None => (text, &[][..]),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let seconds = digits(whole)?;
    let kept = fraction.get(..9).unwrap_or(fraction);
    let (mut nanos, mut exact) = (digits(kept)?, true);
    if kept.len() < 9 {
        nanos *= 10_u64.pow(9 - u32::try_from(kept.len()).ok()?);
    } else {
        for digit in fraction.iter().skip(9) {
            if !digit.is_ascii_digit() {
                return None;
            }
            exact &= *digit == b'0';
        }
    }
    Some((seconds.checked_mul(NANOS)?.checked_add(nanos)?, exact))
}

/// Reads a run of digits; an empty one is 0.
#[inline]
#[must_use]
pub fn digits(text: &[u8]) -> Option<u64> {
    if text.len() > 19 {
        let mut value = 0_u64;
        for &byte in text {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            value = value.checked_mul(10)?.checked_add(digit.into())?;
        }
        return Some(value);
    }
    let (mut value, mut bad) = (0_u64, false);
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        bad |= digit > 9;
        value = value.wrapping_mul(10).wrapping_add(digit.into());
    }
    if bad { None } else { Some(value) }
}

/// Appends nanoseconds as decimal seconds with nine fraction digits.
pub fn write(nanos: u128, out: &mut Vec<u8>) {
    let (seconds, rest) = (nanos / u128::from(NANOS), nanos % u128::from(NANOS));
    match u64::try_from(seconds) {
        Ok(seconds) => number(seconds, out),
        Err(_) => out.extend_from_slice(seconds.to_string().as_bytes()),
    }
    out.push(b'.');
    let mut rest = u32::try_from(rest).unwrap_or(0);
    let mut digits = [b'0'; 9];
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
    }
    out.extend_from_slice(&digits);
}

/// Appends a decimal number.
pub fn number(mut value: u64, out: &mut Vec<u8>) {
    let mut digits = [0_u8; 20];
    let mut from = digits.len();
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + u8::try_from(value % 10).unwrap_or(0);
        from -= 1;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(from..).unwrap_or_default());
}

/// Converts ticks to nanoseconds, to the nearest, halves up, so that the way back is exact for every
/// frequency up to 1 GHz.
#[must_use]
pub fn nanos_of(ticks: u64, per_second: u64) -> u128 {
    scale(ticks.into(), NANOS.into(), per_second.max(1).into())
}

/// Converts nanoseconds to ticks, to the nearest, halves up; none past 64 bits.
#[must_use]
pub fn ticks_of(nanos: u64, per_second: u64) -> Option<u64> {
    u64::try_from(scale(nanos.into(), per_second.into(), NANOS.into())).ok()
}

fn scale(value: u128, times: u128, by: u128) -> u128 {
    if times == by {
        value
    } else {
        (2 * value * times + by) / (2 * by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_any_number() {
        for (text, nanos) in [
            ("12", Some(12_000_000_000)),
            ("12.5", Some(12_500_000_000)),
            (".25", Some(250_000_000)),
            ("0.0", Some(0)),
            ("1204279200.304424453", Some(1_204_279_200_304_424_453)),
            ("12.1234567899", Some(12_123_456_789)),
            ("5.", Some(5_000_000_000)),
            ("", None),
            (".", None),
            ("1.2.3", None),
            ("1e9", None),
            ("-1", None),
            ("18446744074", None),
            ("99999999999999999999", None),
        ] {
            let parsed = parse(text.as_bytes()).map(|(nanos, _)| nanos);
            assert_eq!(parsed, nanos, "{text}");
        }
        assert_eq!(parse(b"12.123456789000"), Some((12_123_456_789, true)));
        assert_eq!(parse(b"12.1234567890001"), Some((12_123_456_789, false)));
        let mut out = Vec::new();
        write(1_185_890_426_304_424_453, &mut out);
        number(u64::MAX, &mut out);
        number(0, &mut out);
        assert_eq!(out, b"1185890426.304424453184467440737095516150");
    }

    #[test]
    fn ticks_survive_nanoseconds_up_to_one_gigahertz() {
        for per_second in [1, 10_000_000, 3_579_545, 999_999_999, NANOS] {
            for ticks in [0, 1, 2, 3_579_544, 5_000_000_000_123] {
                let nanos = u64::try_from(nanos_of(ticks, per_second)).unwrap_or(0);
                if nanos != 0 || ticks == 0 {
                    assert_eq!(ticks_of(nanos, per_second), Some(ticks), "{per_second}");
                }
            }
        }
    }
}
