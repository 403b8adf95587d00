//! Writing of varints.

/// Appends `value` in base 128, low group first, in the fewest bytes.
#[expect(clippy::cast_possible_truncation, reason = "one group, or two")]
#[inline]
pub fn put_leb128(out: &mut Vec<u8>, value: u64) {
    if value < 0x80 {
        out.push(value as u8);
    } else if value < 0x4000 {
        out.extend_from_slice(&[value as u8 | 0x80, (value >> 7) as u8]);
    } else {
        put_long(out, value);
    }
}

fn put_long(out: &mut Vec<u8>, value: u64) {
    let (word, len) = leb128(value);
    put_start(out, word.to_le_bytes(), len);
}

/// Appends the first `len` of some bytes.
#[inline]
pub(crate) fn put_start<const N: usize>(out: &mut Vec<u8>, bytes: [u8; N], len: usize) {
    // A copy of a length that is known, of which the rest is dropped, takes no call.
    let end = out.len() + len;
    out.extend_from_slice(&bytes);
    out.truncate(end);
}

/// Up to eight bytes that are put together in a register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedBytes {
    bytes: u64,
    bits: u32,
}

impl PackedBytes {
    /// These bytes, eight at most.
    #[inline(always)]
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let bytes = bytes.iter().rev();
        let none = Self { bytes: 0, bits: 0 };
        bytes.fold(none, |word, &byte| Self {
            bytes: word.bytes << 8 | u64::from(byte),
            bits: word.bits + 8,
        })
    }

    /// These bytes, then a value below 0x4000 in base 128.
    #[inline(always)]
    pub(crate) const fn short(self, value: u64) -> Self {
        let long = value >= 0x80;
        let two = value & 0x7f | 0x80 | value >> 7 << 8;
        self.then(Self {
            bytes: if long { two } else { value },
            bits: if long { 16 } else { 8 },
        })
    }

    /// These bytes, then others.
    #[inline(always)]
    pub(crate) const fn then(self, others: Self) -> Self {
        Self {
            bytes: self.bytes | others.bytes << (self.bits & 63),
            bits: self.bits + others.bits,
        }
    }

    /// Returns how many they are.
    #[inline(always)]
    pub(crate) const fn len(self) -> usize {
        (self.bits / 8) as usize
    }

    /// Returns them, and bytes that mean nothing.
    #[inline(always)]
    pub(crate) const fn bytes(self) -> [u8; 8] {
        self.bytes.to_le_bytes()
    }
}

/// Appends bytes, of which each piece begins where it says: what is behind the first `len` is dropped.
///
/// Pieces are as long as they are at most, and the next one covers what is too much of the one before.
#[inline(always)]
pub(crate) fn put_pieces<const A: usize, const B: usize>(
    out: &mut Vec<u8>,
    first: [u8; 8],
    (second_at, second): (usize, [u8; A]),
    (third_at, third): (usize, [u8; B]),
    len: usize,
) {
    const ROOM: usize = 32;
    let start = out.len();
    out.extend_from_slice(&[0; ROOM]);
    if let Some(room) = out
        .get_mut(start..)
        .and_then(<[u8]>::first_chunk_mut::<ROOM>)
    {
        if let Some(place) = room.first_chunk_mut() {
            *place = first;
        }
        let rest = room.get_mut(second_at.min(ROOM - A)..);
        if let Some(place) = rest.and_then(<[u8]>::first_chunk_mut) {
            *place = second;
        }
        let rest = room.get_mut(third_at.min(ROOM - B)..);
        if let Some(place) = rest.and_then(<[u8]>::first_chunk_mut) {
            *place = third;
        }
    }
    out.truncate(start + len);
}

/// Returns the bytes of `value` in base 128, the first one lowest, and how many they are.
#[inline]
pub(crate) fn leb128(value: u64) -> (u128, usize) {
    let groups = spread(value);
    let top = value >> 56;
    // All groups but the last say that another follows.
    if top == 0 {
        let len = leb128_len(value);
        let more = (MORE >> 8) >> (8 * (8 - len));
        return (u128::from(groups | more), len);
    }
    let low = u128::from(groups | MORE) | u128::from(top) << 64;
    if top < 0x80 {
        (low, 9)
    } else {
        (low | 1 << 72, 10)
    }
}

/// Returns how many bytes `value` takes in base 128.
#[inline]
pub fn leb128_len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros()).div_ceil(7) as usize
}

/// The bits of eight groups that say that another follows.
const MORE: u64 = 0x8080_8080_8080_8080;

/// Spreads the low 56 bits over eight bytes, seven in each.
const fn spread(value: u64) -> u64 {
    let pairs = value & 0x0fff_ffff | (value & 0x00ff_ffff_f000_0000) << 4;
    let pairs = pairs & 0x0000_3fff_0000_3fff | (pairs & 0x0fff_c000_0fff_c000) << 2;
    pairs & 0x007f_007f_007f_007f | (pairs & 0x3f80_3f80_3f80_3f80) << 1
}

/// Appends a 32-bit value in base 128.
#[inline]
pub fn put_u32_varint(out: &mut Vec<u8>, value: u32) {
    put_leb128(out, u64::from(value));
}

/// Appends a signed 32-bit value, zigzag, in base 128.
#[inline]
pub fn put_zigzag32(out: &mut Vec<u8>, value: i32) {
    put_u32_varint(out, ((value << 1) ^ (value >> 31)).cast_unsigned());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn groups_are_those_of_a_loop(value: u64, shift in 0..64_u32) {
            let value = value >> shift;
            let (mut expected, mut rest) = (Vec::new(), value);
            while rest >= 0x80 {
                expected.push(rest.to_le_bytes()[0] | 0x80);
                rest >>= 7;
            }
            expected.extend(u8::try_from(rest));
            let mut out = vec![1];
            put_leb128(&mut out, value);
            prop_assert_eq!(out.split_off(1), expected.as_slice());
            prop_assert_eq!(leb128_len(value), expected.len());
            if value < 0x4000 {
                let word = PackedBytes::of(&[1, 2]).short(value);
                let bytes = word.bytes();
                prop_assert_eq!(bytes.get(2..word.len()), Some(expected.as_slice()));
                prop_assert_eq!(bytes.get(..2), Some(&[1, 2][..]));
            }
            let (word, len) = leb128(value);
            let bytes = word.to_le_bytes();
            prop_assert_eq!(bytes.get(..len), Some(expected.as_slice()));
        }
    }
}
