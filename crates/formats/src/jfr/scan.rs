//! Integers and strings of a chunk's body, read with their widths so that they can be written again.

use std::borrow::Cow;

use traceloom_model::Limit;
use traceloom_model::bounds::subslice;

use super::words::{HIGHEST, squeeze};
use crate::wire::utf16_to_wtf8;

/// Why bytes do not decode. The place is where the scan stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bad {
    /// The record ends too early.
    Short,
    /// A string encoding that does not exist.
    Encoding(u8),
    /// Values nested deeper than [`super::value::DEPTH`].
    Depth,
    /// A type the metadata does not define, or an index outside its table.
    Undefined,
    /// Bytes after the last value.
    Extra,
    /// More than the limit allows.
    Limit(Limit),
}

impl Bad {
    /// Returns the kind of the note about it.
    pub(super) fn note_kind(self) -> &'static str {
        match self {
            Self::Limit(Limit::String) => "limit_string",
            Self::Limit(Limit::Table) => "limit_table",
            Self::Limit(_) => "limit_values",
            Self::Depth => "limit_depth",
            _ => "undecodable",
        }
    }
}

impl std::fmt::Display for Bad {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Short => f.write_str("a value runs past the end of its record"),
            Self::Encoding(byte) => write!(f, "string encoding {byte} does not exist"),
            Self::Depth => f.write_str("values are nested too deeply"),
            Self::Undefined => f.write_str("the metadata does not define a type used here"),
            Self::Extra => f.write_str("bytes follow the last value"),
            Self::Limit(limit) => {
                let name = match limit {
                    Limit::String => "string",
                    Limit::Table => "table",
                    _ => "values",
                };
                write!(f, "a value is above the limit `{name}`")
            }
        }
    }
}

/// A string as it stands in an event (SPEC.md §5.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Str<'a> {
    Null,
    Empty,
    /// An entry of the `java.lang.String` pool.
    Pool(u64),
    Utf8(&'a [u8]),
    /// UTF-16 code units, each as an integer of the chunk's encoding.
    Chars {
        bytes: &'a [u8],
        compressed: bool,
    },
    Latin1(&'a [u8]),
}

impl<'a> Str<'a> {
    /// Returns the text as bytes that are UTF-8 unless the recording's are not; none for null and for
    /// references.
    pub(super) fn text(self) -> Option<Cow<'a, [u8]>> {
        match self {
            Self::Null | Self::Pool(_) => None,
            Self::Empty => Some(Cow::Borrowed(&[])),
            Self::Utf8(bytes) => Some(Cow::Borrowed(bytes)),
            Self::Latin1(bytes) if bytes.is_ascii() => Some(Cow::Borrowed(bytes)),
            Self::Latin1(bytes) => {
                let text: String = bytes.iter().copied().map(char::from).collect();
                Some(Cow::Owned(text.into_bytes()))
            }
            Self::Chars {
                bytes,
                compressed: true,
            } if bytes.is_ascii() => Some(Cow::Borrowed(bytes)),
            Self::Chars { bytes, compressed } => {
                let mut scan = Scan::new(bytes, compressed);
                let units =
                    std::iter::from_fn(|| scan.integer(2).ok().map(|(unit, _)| low16(unit)));
                Some(Cow::Owned(utf16_to_wtf8(units, bytes.len())))
            }
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is meant")]
fn low16(value: u64) -> u16 {
    value as u16
}

/// A position in a record's bytes, and how its chunk writes integers (SPEC.md §5.1).
#[derive(Clone, Copy, Debug)]
pub(super) struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    pub(super) compressed: bool,
}

impl<'a> Scan<'a> {
    pub(super) fn new(bytes: &'a [u8], compressed: bool) -> Self {
        Self {
            bytes,
            at: 0,
            compressed,
        }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn seek(&mut self, at: usize) {
        self.at = at.min(self.bytes.len());
    }

    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        subslice(self.bytes, self.at..)
    }

    pub(super) fn between(&self, from: usize, to: usize) -> &'a [u8] {
        subslice(self.bytes, from..to)
    }

    #[inline]
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], Bad> {
        let end = self.at.checked_add(len).ok_or(Bad::Short)?;
        let taken = self.bytes.get(self.at..end).ok_or(Bad::Short)?;
        self.at = end;
        Ok(taken)
    }

    #[inline]
    pub(super) fn u8(&mut self) -> Result<u8, Bad> {
        let byte = *self.bytes.get(self.at).ok_or(Bad::Short)?;
        self.at += 1;
        Ok(byte)
    }

    /// Reads an integer whose fixed form has `fixed` bytes; returns it without sign extension, and its
    /// width.
    #[inline]
    pub(super) fn integer(&mut self, fixed: usize) -> Result<(u64, usize), Bad> {
        if self.compressed {
            return self.varint();
        }
        let bytes = self.take(fixed)?;
        let value = bytes
            .iter()
            .fold(0, |value, &byte| value << 8 | u64::from(byte));
        Ok((value, fixed))
    }

    /// Reads an `int` that is a count, a length or an index.
    #[inline]
    pub(super) fn int(&mut self) -> Result<u64, Bad> {
        self.integer(4).map(|(value, _)| value & 0xffff_ffff)
    }

    /// Reads a `long`.
    #[inline]
    pub(super) fn long(&mut self) -> Result<u64, Bad> {
        self.integer(8).map(|(value, _)| value)
    }

    /// Reads a base-128 integer: seven bits a byte, low ones first; a ninth byte holds eight.
    #[inline(always)]
    fn varint(&mut self) -> Result<(u64, usize), Bad> {
        if let Some(&byte @ 0..0x80) = self.bytes.get(self.at) {
            self.at += 1;
            return Ok((u64::from(byte), 1));
        }
        let from = self.at;
        let value = self.wide_varint().ok_or(Bad::Short)?;
        Ok((value, self.at - from))
    }

    /// Reads one of several bytes; none when there are too few. The width is how far it goes: a value alone
    /// comes back in a register.
    fn wide_varint(&mut self) -> Option<u64> {
        let rest = self.rest();
        let Some(&eight) = rest.first_chunk::<8>() else {
            return self.varint_at_end(rest);
        };
        let word = u64::from_le_bytes(eight);
        let stops = !word & HIGHEST;
        if stops == 0 {
            let ninth = *rest.get(8)?;
            self.at += 9;
            return Some(squeeze(word) | u64::from(ninth) << 56);
        }
        let width = (stops.trailing_zeros() as usize >> 3) + 1;
        self.at += width;
        Some(squeeze(word & (u64::MAX >> (64 - 8 * width))))
    }

    /// Reads an integer with fewer than eight bytes left: most events are so short that one of their fields
    /// is. The last eight bytes hold it all the same.
    fn varint_at_end(&mut self, rest: &[u8]) -> Option<u64> {
        let Some(&last) = self.bytes.last_chunk::<8>() else {
            return self.varint_of_few(rest);
        };
        let before = u32::try_from(8 - rest.len().min(8)).unwrap_or(0) * 8;
        let word = u64::from_le_bytes(last).checked_shr(before).unwrap_or(0);
        let stops = !word & HIGHEST;
        let width = (stops.trailing_zeros() as usize >> 3) + 1;
        if width > rest.len() {
            return None;
        }
        self.at += width;
        Some(squeeze(word & (u64::MAX >> (64 - 8 * width))))
    }

    /// Steps over `count` base-128 integers, several at a time.
    #[inline]
    pub(super) fn skip_varints(&mut self, count: u64) -> Result<(), Bad> {
        let mut left = count;
        while left > 0 {
            let Some(&eight) = self.rest().first_chunk::<8>() else {
                self.varint()?;
                left -= 1;
                continue;
            };
            // Every stop bit is the end of an integer that begins in this word; what begins after the
            // last one is looked at from its own first byte, because a ninth byte has no stop bit.
            let mut stops = !u64::from_le_bytes(eight) & HIGHEST;
            let found = u64::from(stops.count_ones());
            if found == 0 {
                self.take(9)?;
                left -= 1;
            } else if found <= left {
                self.at += 8 - (stops.leading_zeros() as usize >> 3);
                left -= found;
            } else {
                for _ in 1..left {
                    stops &= stops - 1;
                }
                self.at += (stops.trailing_zeros() as usize >> 3) + 1;
                left = 0;
            }
        }
        Ok(())
    }

    #[cold]
    fn varint_of_few(&mut self, rest: &[u8]) -> Option<u64> {
        let mut value = 0;
        for (group, &byte) in rest.iter().enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * group);
            if byte < 0x80 {
                self.at += group + 1;
                return Some(value);
            }
        }
        None
    }

    /// Reads a string (SPEC.md §5.2).
    pub(super) fn string(&mut self, longest: usize) -> Result<Str<'a>, Bad> {
        let encoding = self.u8()?;
        Ok(match encoding {
            0 => Str::Null,
            1 => Str::Empty,
            2 => Str::Pool(self.long()?),
            3 => Str::Utf8(self.counted(longest)?),
            4 => {
                let count = self.length(longest)?;
                let from = self.at;
                for _ in 0..count {
                    self.integer(2)?;
                }
                Str::Chars {
                    bytes: self.between(from, self.at),
                    compressed: self.compressed,
                }
            }
            5 => Str::Latin1(self.counted(longest)?),
            other => {
                self.at -= 1;
                return Err(Bad::Encoding(other));
            }
        })
    }

    fn length(&mut self, longest: usize) -> Result<usize, Bad> {
        let length = usize::try_from(self.int()?).map_err(|_| Bad::Short)?;
        if length > self.left() {
            return Err(Bad::Short);
        }
        if length > longest {
            return Err(Bad::Limit(Limit::String));
        }
        Ok(length)
    }

    fn counted(&mut self, longest: usize) -> Result<&'a [u8], Bad> {
        let length = self.length(longest)?;
        self.take(length)
    }
}

/// Appends an integer in the width it was read in.
pub fn put_integer(out: &mut Vec<u8>, compressed: bool, value: u64, width: usize) {
    if !compressed {
        out.extend(
            value
                .to_be_bytes()
                .iter()
                .skip(8_usize.saturating_sub(width)),
        );
        return;
    }
    for group in 0..width {
        let [low, ..] = (value >> (7 * group.min(8))).to_le_bytes();
        out.push(match group {
            8 => low,
            _ if group + 1 == width => low & 0x7f,
            _ => low | 0x80,
        });
    }
}

/// Returns the fewest bytes a compressed integer takes.
pub fn compressed_width(value: u64) -> usize {
    let bits = 64 - value.leading_zeros() as usize;
    bits.div_ceil(7).clamp(1, 9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_come_back_in_their_width() {
        for value in [
            0,
            1,
            0x7f,
            0x80,
            0x3fff,
            0x4000,
            1 << 55,
            (1 << 56) - 1,
            1 << 56,
            u64::MAX,
        ] {
            for width in compressed_width(value)..=8 {
                let mut bytes = Vec::new();
                put_integer(&mut bytes, true, value, width);
                assert_eq!(
                    Scan::new(&bytes, true).integer(8),
                    Ok((value, width)),
                    "at the end"
                );
                bytes.extend([0xff; 9]);
                assert_eq!(
                    Scan::new(&bytes, true).integer(8),
                    Ok((value, width)),
                    "inside"
                );
            }
        }
        let mut bytes = Vec::new();
        put_integer(&mut bytes, true, u64::MAX, 9);
        assert_eq!(bytes, [0xff; 9]);
        assert_eq!(Scan::new(&bytes, true).integer(8), Ok((u64::MAX, 9)));
        let mut bytes = Vec::new();
        put_integer(&mut bytes, false, 0x1234, 2);
        assert_eq!(bytes, [0x12, 0x34]);
        assert_eq!(Scan::new(&bytes, false).integer(2), Ok((0x1234, 2)));
    }

    #[test]
    fn many_integers_are_stepped_over_as_each_one_is() {
        let values = [
            1,
            300,
            u64::MAX,
            0,
            1 << 56,
            127,
            1 << 55,
            5,
            u64::MAX,
            1 << 20,
            2,
            3,
            4,
            5,
        ];
        let mut bytes = Vec::new();
        for (at, &value) in values.iter().enumerate() {
            put_integer(
                &mut bytes,
                true,
                value,
                (compressed_width(value) + at % 2).min(9),
            );
        }
        for count in 0..=values.len() {
            let mut each = Scan::new(&bytes, true);
            for _ in 0..count {
                each.integer(8).unwrap();
            }
            let mut many = Scan::new(&bytes, true);
            many.skip_varints(count as u64).unwrap();
            assert_eq!(many.at(), each.at(), "{count}");
        }
        let mut beyond = Scan::new(&bytes, true);
        assert_eq!(beyond.skip_varints(15), Err(Bad::Short));
    }

    #[test]
    fn strings_of_every_encoding() {
        let text = |bytes: &[u8]| {
            let mut scan = Scan::new(bytes, true);
            let string = scan.string(100).unwrap();
            assert_eq!(scan.left(), 0);
            string
                .text()
                .map(|text| String::from_utf8(text.into_owned()).unwrap())
        };
        assert_eq!(text(&[0]), None);
        assert_eq!(text(&[1]).as_deref(), Some(""));
        assert_eq!(text(&[2, 9]), None);
        assert_eq!(text(&[3, 3, b'a', 0xc3, 0xa9]).as_deref(), Some("aé"));
        assert_eq!(text(&[4, 2, b'a', 0xe9, 0x01]).as_deref(), Some("aé"));
        assert_eq!(text(&[5, 2, b'a', 0xe9]).as_deref(), Some("aé"));
        assert_eq!(Scan::new(&[6], true).string(9), Err(Bad::Encoding(6)));
        assert_eq!(Scan::new(&[3, 4, 0], true).string(9), Err(Bad::Short));
        assert_eq!(
            Scan::new(&[3, 2, 0, 0], true).string(1),
            Err(Bad::Limit(Limit::String))
        );
    }
}
