//! Strings of big-endian UTF-16 code units, as Java's `DataOutput` users write them.

use std::borrow::Cow;
use std::fmt;

use super::put_start;

/// A borrowed string of big-endian UTF-16 code units.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Utf16<'a>(pub &'a [u8]);

impl<'a> Utf16<'a> {
    /// Returns the number of code units: what Java calls the length.
    #[must_use]
    pub const fn units(self) -> usize {
        self.0.len() / 2
    }

    /// Returns true if there is no code unit.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Decodes to UTF-8; unpaired surrogates become U+FFFD.
    #[must_use]
    pub fn to_lossy(self) -> String {
        char::decode_utf16(self.code_units())
            .map(|c| c.unwrap_or('\u{fffd}'))
            .collect()
    }

    /// Decodes to bytes that are UTF-8 unless there are unpaired surrogates, which are kept in their
    /// three-byte form.
    #[must_use]
    pub fn to_wtf8(self) -> Vec<u8> {
        let mut out = Vec::new();
        self.put_wtf8(&mut out);
        out
    }

    /// Appends what [`Utf16::to_wtf8`] returns.
    pub fn put_wtf8(self, out: &mut Vec<u8>) {
        // Nearly every string is ASCII; both loops run over many units at once.
        let wide = self.0.chunks_exact(2).fold(0, |wide, pair| match pair {
            &[high, low] => wide | high | low & 0x80,
            _ => wide,
        });
        if wide == 0 {
            let low = |pair: &[u8]| pair.last().copied().unwrap_or(0);
            return out.extend(self.0.chunks_exact(2).map(low));
        }
        put_code_units(self.code_units(), out);
    }

    /// Returns true if the string equals `text`, without decoding it.
    #[must_use]
    pub fn is(self, text: &str) -> bool {
        self.code_units().eq(text.encode_utf16())
    }

    /// Iterates over the code units.
    pub fn code_units(self) -> impl Iterator<Item = u16> + 'a {
        self.0.chunks_exact(2).map(|pair| match pair {
            &[high, low] => u16::from_be_bytes([high, low]),
            _ => 0,
        })
    }

    /// Encodes text as code units, for writers.
    #[must_use]
    pub fn encode(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_be_bytes).collect()
    }

    /// Encodes bytes made by [`Utf16::to_wtf8`]: surrogates come back as they were, other bad bytes as
    /// U+FFFD.
    #[must_use]
    pub fn encode_wtf8(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        Self::put_encoded(text, &mut out);
        out
    }

    /// Appends what [`Self::encode_wtf8`] returns.
    #[inline]
    pub fn put_encoded(text: &[u8], out: &mut Vec<u8>) {
        let rest = put_ascii(text, out);
        if !rest.is_empty() {
            Self::put_mixed(rest, out);
        }
    }

    /// Appends text that is not ASCII throughout, and may hold surrogates or be no UTF-8.
    fn put_mixed(text: &[u8], out: &mut Vec<u8>) {
        let mut rest = text;
        while !rest.is_empty() {
            let (valid, bad) = match std::str::from_utf8(rest) {
                Ok(valid) => (valid, &[][..]),
                Err(error) => {
                    let (valid, bad) = rest.split_at(error.valid_up_to());
                    (std::str::from_utf8(valid).unwrap_or(""), bad)
                }
            };
            put_text(valid, out);
            rest = match bad {
                [] => &[],
                &[
                    0xed,
                    second @ 0xa0..=0xbf,
                    third @ 0x80..=0xbf,
                    ref tail @ ..,
                ] => {
                    let unit = 0xd000 | u16::from(second & 0x3f) << 6 | u16::from(third & 0x3f);
                    out.extend(unit.to_be_bytes());
                    tail
                }
                [_, tail @ ..] => {
                    out.extend(0xfffd_u16.to_be_bytes());
                    tail
                }
            };
        }
    }
}

/// Appends the ASCII that text begins with as code units, and returns the rest.
#[inline]
fn put_ascii<'t>(text: &'t [u8], out: &mut Vec<u8>) -> &'t [u8] {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    out.reserve(text.len() * 2 + 16);
    let mut rest = text;
    while let Some((eight, others)) = rest.split_first_chunk() {
        let word = u64::from_le_bytes(*eight);
        if word & HIGH != 0 {
            break;
        }
        out.extend_from_slice(&widened(word));
        rest = others;
    }
    if rest.len() < 8 {
        let bytes = rest.iter().rev();
        let word = bytes.fold(0, |word, &byte| word << 8 | u64::from(byte));
        if word & HIGH == 0 {
            put_start(out, widened(word), 2 * rest.len());
            return &[];
        }
    }
    while let [byte @ ..0x80, others @ ..] = rest {
        out.extend_from_slice(&[0, *byte]);
        rest = others;
    }
    rest
}

/// Puts a zero before each of eight bytes. The number of rounds is fixed, so that the loop becomes one instruction.
#[inline]
fn widened(word: u64) -> [u8; 16] {
    let mut out = [0; 16];
    let (units, _) = out.as_chunks_mut();
    for (unit, byte) in units.iter_mut().zip(word.to_le_bytes()) {
        *unit = [0, byte];
    }
    out
}

/// Appends text as code units, its stretches of ASCII at once.
fn put_text(text: &str, out: &mut Vec<u8>) {
    let mut rest = text;
    while !rest.is_empty() {
        let left = put_ascii(rest.as_bytes(), out).len();
        let (_, others) = rest.split_at(rest.len() - left);
        let end = others.bytes().position(|byte| byte.is_ascii());
        let (others, next) = others.split_at(end.unwrap_or(others.len()));
        for unit in others.encode_utf16() {
            out.extend_from_slice(&unit.to_be_bytes());
        }
        rest = next;
    }
}

/// Decodes code units to UTF-8 with unpaired surrogates kept in three bytes.
#[must_use]
pub fn utf16_to_wtf8(units: impl Iterator<Item = u16>, hint: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(hint);
    put_code_units(units, &mut out);
    out
}

fn put_code_units(units: impl Iterator<Item = u16>, out: &mut Vec<u8>) {
    let mut buffer = [0; 4];
    for unit in char::decode_utf16(units) {
        match unit {
            Ok(c) => out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes()),
            Err(error) => {
                let [high, low] = error.unpaired_surrogate().to_be_bytes();
                out.extend_from_slice(&[
                    0xe0 | high >> 4,
                    0x80 | (high & 0x0f) << 2 | low >> 6,
                    0x80 | low & 0x3f,
                ]);
            }
        }
    }
}

impl fmt::Debug for Utf16<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_lossy(), f)
    }
}

impl fmt::Display for Utf16<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_lossy())
    }
}

impl From<Utf16<'_>> for Cow<'static, str> {
    fn from(text: Utf16<'_>) -> Self {
        Cow::Owned(text.to_lossy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpaired_surrogates_survive() {
        let units = [0x0061, 0xd83d, 0xde00, 0xd83d, 0x007a, 0xdc00];
        let bytes: Vec<u8> = units.into_iter().flat_map(u16::to_be_bytes).collect();
        let wtf8 = Utf16(&bytes).to_wtf8();
        assert!(std::str::from_utf8(&wtf8).is_err());
        assert_eq!(Utf16::encode_wtf8(&wtf8), bytes);
        assert_eq!(Utf16(&bytes).to_lossy(), "a\u{1f600}\u{fffd}z\u{fffd}");
    }

    proptest::proptest! {
        #[test]
        fn encoded_is_what_the_standard_library_says(text in "[a-c]{0,20}(é|😀|~){0,3}[a-c]{0,20}.{0,9}") {
            let expected: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
            proptest::prop_assert_eq!(Utf16::encode_wtf8(text.as_bytes()), expected);
        }
    }
}
