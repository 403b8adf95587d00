//! A value as it stands in a text.

use std::borrow::Cow;

use traceloom_model::bounds::subslice;

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
    pub(crate) fn kind(self) -> Kind {
        self.kind
    }

    /// Returns its bytes as they stand in the text.
    pub(crate) fn raw(self) -> &'d [u8] {
        self.raw
    }

    /// Returns the bytes of a string, escapes resolved; lone surrogates in their three-byte form.
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
    pub(crate) fn word(self) -> Cow<'d, [u8]> {
        self.bytes().unwrap_or(Cow::Borrowed(self.raw))
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

/// Packs the first `length` bytes of a word, at most eight, as [`short_key`] does.
#[inline]
pub(crate) fn short_key_of(word: u64, length: u32) -> u64 {
    // A shift by all 64 bits is none.
    let mask = u64::MAX.checked_shr(64 - 8 * length).unwrap_or(0);
    let packed = word & mask;
    match packed.leading_zeros() >= 72 - 8 * length.max(1) {
        true => 0,
        false => packed,
    }
}

/// Packs up to eight bytes of a key into a number, so that keys are compared at once; 0 for a key that ends with a zero byte,
/// as none that is looked for does.
pub(crate) const fn short_key(key: &[u8]) -> u64 {
    let mut packed = 0;
    if let [.., 0] = key {
        return packed;
    }
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
