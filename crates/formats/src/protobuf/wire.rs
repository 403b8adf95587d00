//! The wire format of Protocol Buffers: varints and fields, without messages.

use traceloom_model::bounds::subslice;

/// What follows a tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wire {
    /// An integer in LEB128.
    Varint,
    /// Eight bytes, little-endian.
    Fixed64,
    /// A length and so many bytes.
    Len,
    /// Four bytes, little-endian.
    Fixed32,
}

impl Wire {
    /// The name used in notes and dumps.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Varint => "varint",
            Self::Fixed64 => "fixed64",
            Self::Len => "len",
            Self::Fixed32 => "fixed32",
        }
    }

    /// The three bits a tag carries.
    #[must_use]
    pub const fn bits(self) -> u64 {
        match self {
            Self::Varint => 0,
            Self::Fixed64 => 1,
            Self::Len => 2,
            Self::Fixed32 => 5,
        }
    }
}

/// Splits a tag; none for field number 0, for numbers above 29 bits and for the wire types that no
/// message of proto3 uses.
#[inline]
pub(crate) fn tag(raw: u64) -> Option<(u32, Wire)> {
    let number = u32::try_from(raw >> 3).ok()?;
    if number == 0 || number >= 1 << 29 {
        return None;
    }
    let wire = match raw & 7 {
        0 => Wire::Varint,
        1 => Wire::Fixed64,
        2 => Wire::Len,
        5 => Wire::Fixed32,
        _ => return None,
    };
    Some((number, wire))
}

const STOPS: u64 = 0x8080_8080_8080_8080;

/// Joins the seven-bit groups of up to eight bytes, low byte first.
#[inline]
const fn gather(word: u64) -> u64 {
    let word = word & !STOPS;
    let word = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
    let word = (word & 0x0000_3fff_0000_3fff) | ((word & 0x3fff_0000_3fff_0000) >> 2);
    (word & 0x0fff_ffff) | ((word & 0x0fff_ffff_0000_0000) >> 4)
}

/// Reads a varint at `at` and returns it with the position after it; none when the bytes end or the
/// value has more than 64 bits.
#[inline]
pub(crate) fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let &first = bytes.get(at)?;
    if first < 0x80 {
        return Some((u64::from(first), at + 1));
    }
    varint_long(bytes, at)
}

#[inline(never)]
fn varint_long(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let rest = bytes.get(at..)?;
    if let Some(word) = rest.first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        let stops = !word & STOPS;
        if stops != 0 {
            let bits = stops.trailing_zeros() + 1;
            return Some((
                gather(word & (u64::MAX >> (64 - bits))),
                at + (bits / 8) as usize,
            ));
        }
    }
    let (value, len) = varint_bytewise(rest)?;
    Some((value, at + len))
}

fn varint_bytewise(rest: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0;
    for (group, &byte) in rest.iter().take(10).enumerate() {
        if group == 9 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << (7 * group);
        if byte < 0x80 {
            return Some((value, group + 1));
        }
    }
    None
}

/// Returns true if a varint of these bytes, its last one included, could be shorter.
pub(crate) fn padded(varint: &[u8]) -> bool {
    varint.len() > 1 && varint.last() == Some(&0)
}

/// Appends varints that lie back to back; none when the last one is cut or one is too long.
///
/// A byte takes the same steps whether it ends a varint or not, because nothing tells beforehand which ones do: ids of
/// one and of two bytes are mixed, and a branch on the length is wrong too often.
#[inline]
pub(crate) fn packed<T: Copy + Default>(
    bytes: &[u8],
    out: &mut Vec<T>,
    value: impl Fn(u64) -> T,
) -> Option<()> {
    let before = out.len();
    out.resize(before + bytes.len(), T::default());
    let slots = out.get_mut(before..)?;
    let (mut count, mut groups, mut shift, mut longest) = (0, 0, 0_u32, 0);
    for &byte in bytes {
        longest = shift.max(longest);
        groups |= u64::from(byte & 0x7f) << (shift & 63);
        *slots.get_mut(count)? = value(groups);
        let ends = byte < 0x80;
        count += usize::from(ends);
        shift = if ends { 0 } else { shift + 7 };
        groups = if ends { 0 } else { groups };
    }
    out.truncate(before + count);
    let whole = shift == 0 && (longest < 63 || all_fit(bytes));
    whole.then_some(())
}

/// Returns true if no varint of these has more than 64 bits.
fn all_fit(mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        let Some((_, len)) = varint_bytewise(bytes) else {
            return false;
        };
        bytes = subslice(bytes, len..);
    }
    true
}

/// Returns the position after the value of a field; none when the bytes end before it.
pub(crate) fn skip(bytes: &[u8], at: usize, wire: Wire) -> Option<usize> {
    let end = match wire {
        Wire::Varint => varint(bytes, at)?.1,
        Wire::Fixed64 => at.checked_add(8)?,
        Wire::Fixed32 => at.checked_add(4)?,
        Wire::Len => {
            let (len, at) = varint(bytes, at)?;
            at.checked_add(usize::try_from(len).ok()?)?
        }
    };
    (end <= bytes.len()).then_some(end)
}

/// Reads a length and returns the bytes it covers with the position after them.
#[inline]
pub(crate) fn delimited(bytes: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let (len, at) = varint(bytes, at)?;
    let end = at.checked_add(usize::try_from(len).ok()?)?;
    Some((bytes.get(at..end)?, end))
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::wire::put_leb128;

    #[test]
    fn varints_of_every_length() {
        let mut values = vec![0, 1, u64::MAX, i64::MIN.cast_unsigned()];
        for bits in 0..64 {
            values.extend([
                1_u64 << bits,
                (1_u64 << bits) - 1,
                0x5555_5555_5555_5555 >> bits,
            ]);
        }
        let mut bytes = Vec::new();
        let mut at = 0;
        for &value in &values {
            put_leb128(&mut bytes, value);
            let cut = bytes.len() - 1;
            assert_eq!(varint(&bytes[..cut], at), None, "{value} cut");
            let read;
            (read, at) = varint(&bytes, at).unwrap();
            assert_eq!(read, value);
        }
        let mut read = Vec::new();
        packed(&bytes, &mut read, |value| value).unwrap();
        assert_eq!(read, values);
        bytes.push(0x80);
        assert_eq!(packed(&bytes, &mut read, |value| value), None);
    }

    #[test]
    fn more_than_64_bits_is_no_varint() {
        let mut bytes = vec![0xff; 9];
        bytes.push(0x02);
        assert_eq!(varint(&bytes, 0), None);
        bytes[9] = 0x01;
        assert_eq!(varint(&bytes, 0), Some((u64::MAX, 10)));
        assert_eq!(packed(&[0xff; 16], &mut Vec::new(), |value| value), None);
    }
}
