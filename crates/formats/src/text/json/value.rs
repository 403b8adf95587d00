//! A value of a parsed text.

use std::borrow::Cow;

use traceloom_model::bounds::subslice;

use super::parse::{Document, JsonNode};
use super::text::unescape;

/// What a value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `null`
    Null,
    /// `true`
    True,
    /// `false`
    False,
    /// A number, kept as text.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object; keys keep their order and may repeat.
    Object,
}

/// A value and where it is.
#[derive(Clone, Copy, Debug)]
pub struct Value<'d> {
    document: &'d Document<'d>,
    row: usize,
    node: &'d JsonNode,
}

impl<'d> Value<'d> {
    pub(super) fn new(document: &'d Document<'_>, row: usize, node: &'d JsonNode) -> Self {
        Self {
            document,
            row,
            node,
        }
    }

    /// Returns what it is.
    #[must_use]
    pub fn kind(self) -> Kind {
        self.node.kind
    }

    /// Returns the offset of its first byte in the text.
    #[must_use]
    pub fn start(self) -> usize {
        self.node.start as usize
    }

    /// Returns the offset after its last byte.
    #[must_use]
    pub fn end(self) -> usize {
        self.node.end as usize
    }

    /// Returns its row in the document: equal rows are equal values.
    #[must_use]
    pub fn row(self) -> usize {
        self.row
    }

    /// Returns its bytes as they stand in the text.
    #[must_use]
    pub fn raw(self) -> &'d [u8] {
        self.slice(self.start(), self.end())
    }

    fn slice(self, start: usize, end: usize) -> &'d [u8] {
        subslice(self.document.bytes, start..end)
    }

    /// Returns its key in the enclosing object.
    #[must_use]
    pub fn key(self) -> Option<Cow<'d, [u8]>> {
        let (start, end) = self.node.key;
        let raw = self.slice(start as usize, end as usize);
        self.node.keyed.then(|| match self.node.is_key_escaped {
            true => unescape(raw),
            false => Cow::Borrowed(raw),
        })
    }

    /// Returns its key as [`short_key`] packs it, if it has at most eight bytes and no escapes.
    #[inline]
    pub(crate) fn short_key(self) -> Option<u64> {
        let (start, end) = self.node.key;
        let len = end.checked_sub(start).filter(|len| *len <= 8)?;
        let (start, end) = (start as usize, end as usize);
        if !self.node.keyed || self.node.is_key_escaped {
            return None;
        }
        let Some(word) = self
            .document
            .bytes
            .get(start..)
            .and_then(<[u8]>::first_chunk)
        else {
            return Some(short_key(self.slice(start, end)));
        };
        // A shift by all 64 bits is none.
        let mask = u64::MAX.checked_shr(64 - 8 * len).unwrap_or(0);
        let packed = u64::from_le_bytes(*word) & mask;
        Some(if packed.leading_zeros() >= 72 - 8 * len.max(1) {
            0
        } else {
            packed
        })
    }

    /// Iterates over the elements of an array or the members of an object; over nothing for others.
    pub fn items(self) -> impl Iterator<Item = Self> + 'd {
        let end = self.node.next as usize;
        let mut row = self.row + 1;
        std::iter::from_fn(move || {
            if row >= end {
                return None;
            }
            let value = self.document.value(row)?;
            row = value.node.next as usize;
            Some(value)
        })
    }

    /// Returns the member `key` of an object; the last one when it repeats.
    #[must_use]
    pub fn get(self, key: &str) -> Option<Self> {
        if self.kind() != Kind::Object {
            return None;
        }
        self.items()
            .filter(|item| item.key().is_some_and(|found| *found == *key.as_bytes()))
            .last()
    }

    /// Returns the bytes of a string, escapes resolved; lone surrogates in their three-byte form.
    #[must_use]
    pub fn bytes(self) -> Option<Cow<'d, [u8]>> {
        let inside = || self.slice(self.start() + 1, self.end().saturating_sub(1));
        (self.kind() == Kind::String).then(|| match self.node.is_escaped {
            true => unescape(inside()),
            false => Cow::Borrowed(inside()),
        })
    }

    /// Returns a string for people: invalid sequences become U+FFFD.
    #[must_use]
    pub fn text(self) -> Option<Cow<'d, str>> {
        Some(match self.bytes()? {
            Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        })
    }

    /// Returns the text of a number as it is written.
    #[must_use]
    pub fn number(self) -> Option<&'d str> {
        let number = self.kind() == Kind::Number;
        number.then(|| std::str::from_utf8(self.raw()).unwrap_or("0"))
    }

    /// Returns a whole number that fits; `3.0` and `1e3` count as whole.
    #[must_use]
    pub fn i64(self) -> Option<i64> {
        let text = self.number()?;
        if let Ok(whole) = text.parse() {
            return Some(whole);
        }
        let float: f64 = text.parse().ok()?;
        // Above 2^53 a float no longer says which whole number was meant.
        let exact = float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole and within 2^53 by the line above"
        )]
        exact.then_some(float as i64)
    }

    /// Returns a whole number that is not negative and fits.
    #[must_use]
    pub fn u64(self) -> Option<u64> {
        let text = self.number()?;
        text.parse()
            .ok()
            .or_else(|| self.i64().and_then(|whole| u64::try_from(whole).ok()))
    }

    /// Returns a number as a float.
    #[must_use]
    pub fn f64(self) -> Option<f64> {
        self.number()?.parse().ok()
    }

    /// Returns a number times `factor`, rounded down, exactly: never through a float.
    ///
    /// None for other values and for results outside `i64`.
    #[must_use]
    pub fn scaled(self, factor: i64) -> Option<i64> {
        scale(self.number()?, factor)
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

/// Multiplies the number that a text spells with `factor`, as [`Value::scaled`] does.
#[must_use]
pub fn scale(text: &str, factor: i64) -> Option<i64> {
    scale_short(text, factor).or_else(|| scale_any(text, factor))
}

/// Multiplies digits, with a point among them or without, where all of it fits 64 bits: nearly every time of a trace.
fn scale_short(text: &str, factor: i64) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (mut mantissa, mut unit, mut has_point) = (0_i64, 1_i64, false);
    for &byte in digits.as_bytes() {
        match byte {
            b'0'..=b'9' => {
                let digit = i64::from(byte - b'0');
                mantissa = mantissa.checked_mul(10)?.checked_add(digit)?;
                if has_point {
                    unit = unit.checked_mul(10)?;
                }
            }
            b'.' if !has_point => has_point = true,
            _ => return None,
        }
    }
    let signed = match digits.len() == text.len() {
        true => mantissa,
        false => -mantissa,
    };
    match factor % unit {
        0 => signed.checked_mul(factor / unit),
        _ => Some(signed.checked_mul(factor)?.div_euclid(unit)),
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
