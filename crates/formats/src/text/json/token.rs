//! A value as it stands in a text.

use std::borrow::Cow;

use traceloom_model::bounds::subslice;

use super::plain::{ZEROS, not_digits};
use super::text::unescape;
use super::value::Kind;

/// A value as it stands in a text: what is in it is not parsed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'d> {
    kind: Kind,
    raw: &'d [u8],
    is_escaped: bool,
}

impl<'d> Token<'d> {
    #[inline]
    pub(super) fn new(kind: Kind, raw: &'d [u8], is_escaped: bool) -> Self {
        Self {
            kind,
            raw,
            is_escaped,
        }
    }

    /// Returns what it is.
    #[inline]
    pub(crate) fn kind(self) -> Kind {
        self.kind
    }

    /// Returns its bytes as they stand in the text.
    #[inline]
    pub(crate) fn raw(self) -> &'d [u8] {
        self.raw
    }

    /// Returns the bytes of a string, escapes resolved; lone surrogates in their three-byte form.
    #[inline]
    pub(crate) fn bytes(self) -> Option<Cow<'d, [u8]>> {
        let inside = || subslice(self.raw, 1..self.raw.len().saturating_sub(1));
        (self.kind == Kind::String).then(|| match self.is_escaped {
            true => unescape(inside()),
            false => Cow::Borrowed(inside()),
        })
    }

    /// Returns a string for people: invalid sequences become U+FFFD.
    pub(crate) fn text(self) -> Option<Cow<'d, str>> {
        Some(match self.bytes()? {
            Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        })
    }

    /// Returns the text of a number as it is written.
    pub(crate) fn number(self) -> Option<&'d str> {
        let number = self.kind == Kind::Number;
        number.then(|| std::str::from_utf8(self.raw).unwrap_or("0"))
    }

    /// Returns the digits of a number, or of a string that holds one.
    pub(crate) fn digits(self) -> Option<Cow<'d, str>> {
        match self.kind {
            Kind::Number => self.number().map(Cow::Borrowed),
            Kind::String => self.text().map(|text| Cow::Owned(text.trim().to_owned())),
            _ => None,
        }
    }

    /// Returns the word that tells one id from another: its text, whatever its type.
    #[inline]
    pub(crate) fn word(self) -> Cow<'d, [u8]> {
        self.bytes().unwrap_or(Cow::Borrowed(self.raw))
    }

    /// Returns microseconds, a number or the text of one, as nanoseconds: rounded down, never through a float.
    #[inline]
    pub(crate) fn nanoseconds(self) -> Option<i64> {
        let plain = (self.kind == Kind::Number).then(|| plain_microseconds(self.raw));
        plain.flatten().or_else(|| self.scaled(1000))
    }

    /// Returns a number, or the number that a string spells, times `factor`, as [`scale`] does.
    pub(crate) fn scaled(self, factor: i64) -> Option<i64> {
        match self.kind {
            Kind::Number => scale_short(self.raw, factor).or_else(|| scale(self.number()?, factor)),
            Kind::String => scale(self.text()?.trim(), factor),
            _ => None,
        }
    }
}

/// Packs the first `length` bytes of a word, at most eight, as [`short_key`] does; the quote behind them is in it.
#[inline]
pub(super) fn short_key_of(word: u64, length: u32) -> u64 {
    word & u64::MAX >> 56_u32.saturating_sub(8 * length)
}

/// Packs up to eight bytes of a key into a number, so that keys are compared at once: with the quote behind them, where it
/// has a place, so that all keys differ.
pub(crate) const fn short_key(key: &[u8]) -> u64 {
    let mut packed = if key.len() < 8 { b'"' as u64 } else { 0 };
    let mut rest = key;
    while let [before @ .., last] = rest {
        packed = packed << 8 | *last as u64;
        rest = before;
    }
    packed
}

/// Multiplies the number that a text spells with `factor`, rounded down, exactly: never through a float.
///
/// None for a text that is no number and for results outside `i64`.
#[must_use]
pub fn scale(text: &str, factor: i64) -> Option<i64> {
    scale_short(text.as_bytes(), factor).or_else(|| scale_any(text, factor))
}

/// Microseconds with up to three decimals, as nearly every time is written, as nanoseconds; none for what is longer or not
/// written so.
#[inline]
fn plain_microseconds(text: &[u8]) -> Option<i64> {
    // So many digits, three more and a point fit 64 bits.
    if text.len() > 15 {
        return None;
    }
    let (mut whole, mut rest) = leading_digits(text);
    while let [byte @ b'0'..=b'9', after @ ..] = rest {
        whole = whole * 10 + i64::from(byte - b'0');
        rest = after;
    }
    let digit = |byte: &u8| i64::from(byte.wrapping_sub(b'0'));
    let decimals = match rest {
        [] => [0; 3],
        [b'.', a] => [digit(a), 0, 0],
        [b'.', a, b] => [digit(a), digit(b), 0],
        [b'.', a, b, c] => [digit(a), digit(b), digit(c)],
        _ => return None,
    };
    let [a, b, c] = decimals;
    let is_plain = decimals.iter().all(|digit| *digit < 10);
    is_plain.then(|| whole * 1000 + a * 100 + b * 10 + c)
}

/// Reads up to eight digits at once, if there are eight bytes, and returns what follows them.
#[inline]
fn leading_digits(text: &[u8]) -> (i64, &[u8]) {
    let Some(word) = text.first_chunk() else {
        return (0, text);
    };
    let values = u64::from_le_bytes(*word) ^ ZEROS;
    let n_digits = not_digits(values).trailing_zeros() / 8;
    // Noughts before them; what follows them falls out.
    let values = values.checked_shl(64 - 8 * n_digits).unwrap_or(0);
    let pairs = (values * 10 + (values >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    let eight = (fours * 10_000 + (fours >> 32)) & 0xffff_ffff;
    (eight.cast_signed(), subslice(text, n_digits as usize..))
}

/// Digits that a `u64` holds, and a point.
const SHORT: usize = 20;

/// Multiplies digits, with a point among them or without, where all of it fits 64 bits: nearly every time of a trace.
fn scale_short(text: &[u8], factor: i64) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let (mut mantissa, mut n_digits, mut point) = (0_u64, 0, None);
    if digits.len() > SHORT {
        return None;
    }
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit < 10 {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
            n_digits += 1;
        } else if byte == b'.' && point.is_none() {
            point = Some(n_digits);
        } else {
            return None;
        }
    }
    if n_digits == SHORT {
        return None;
    }
    let mantissa = i64::try_from(mantissa).ok()?;
    let signed = if digits.len() == text.len() {
        mantissa
    } else {
        -mantissa
    };
    let n_decimals = point.map_or(0, |point| n_digits - point);
    let unit = 10_i64.checked_pow(u32::try_from(n_decimals).ok()?)?;
    let times = factor / unit;
    match times.checked_mul(unit)? == factor {
        true => signed.checked_mul(times),
        false => Some(signed.checked_mul(factor)?.div_euclid(unit)),
    }
}

fn scale_any(text: &str, factor: i64) -> Option<i64> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let negative = whole.starts_with('-');
    // Digits beyond these move no result that fits.
    let digits: String = whole
        .trim_start_matches('-')
        .chars()
        .chain(fraction.chars())
        .collect();
    let digits = digits.trim_start_matches('0');
    let kept = digits.get(..25).unwrap_or(digits);
    let exponent: i64 = exponent.parse().ok()?;
    let dropped = i64::try_from(digits.len() - kept.len()).ok()?;
    let places = exponent - i64::try_from(fraction.len()).ok()? + dropped;
    let digits: i128 = if kept.is_empty() {
        0
    } else {
        kept.parse().ok()?
    };
    let signed = if negative { -digits } else { digits };
    let product = signed.checked_mul(i128::from(factor));
    let power = |places: i64| 10_i128.checked_pow(u32::try_from(places).ok()?);
    let value = if signed == 0 {
        0
    } else if places >= 0 {
        product?.checked_mul(power(places)?)?
    } else {
        match power(-places) {
            Some(power) => product?.div_euclid(power),
            None => -i128::from(negative),
        }
    };
    i64::try_from(value).ok()
}
