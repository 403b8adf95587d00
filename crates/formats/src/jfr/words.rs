//! Compressed integers by the words that they lie in: several at once, or where they end.

use traceloom_model::bounds::in_memory;

/// The highest bit of each byte: integers go on behind bytes that have it.
pub(super) const HIGHEST: u64 = 0x8080_8080_8080_8080;

/// Reads a compressed integer with seven bytes or more behind its first; returns it, and where it ends.
#[inline(always)]
pub(super) fn varint_at(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
    if word & 0x80 == 0 {
        return Some((word & 0x7f, at + 1));
    }
    if word & 0x8000 == 0 {
        return Some((two_groups(word), at + 2));
    }
    let stops = !word & HIGHEST;
    if stops == 0 {
        let ninth = *bytes.get(at + 8)?;
        return Some((squeeze(word) | u64::from(ninth) << 56, at + 9));
    }
    let bits = stops.trailing_zeros() + 1;
    let value = squeeze(word & (u64::MAX >> (64 - bits)));
    Some((value, at + (bits as usize >> 3)))
}

/// Steps over `count` compressed integers with seven bytes or more behind the first of each; returns where they end.
#[inline(always)]
pub(super) fn after_varints(bytes: &[u8], mut at: usize, count: u32) -> Option<usize> {
    for _ in 0..count {
        let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
        let stops = !word & HIGHEST;
        at += match stops {
            0 => 9,
            _ => (stops.trailing_zeros() as usize >> 3) + 1,
        };
    }
    Some(at)
}

/// Returns the bytes of `count` compressed integers that have no more than sixteen together, which more of the chunk follows, and
/// where they end. Where one of the integers has nine bytes the end may be another one.
#[inline(always)]
pub(super) fn short_integers(bytes: &[u8], at: usize, count: u32) -> Option<([u64; 2], usize)> {
    let word = u128::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
    let mut ends = !word & (u128::from(HIGHEST) << 64 | u128::from(HIGHEST));
    for _ in 1..count {
        ends &= ends.wrapping_sub(1);
    }
    let bits = ends.trailing_zeros() + 1;
    let others = u128::BITS.checked_sub(bits)?;
    let word = word & (u128::MAX >> others);
    let key = [low64(word), low64(word >> 64)];
    Some((key, at + bits as usize / 8))
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
#[inline]
const fn low64(word: u128) -> u64 {
    word as u64
}

/// Reads a compressed integer of at most eight bytes, with seven or more behind its first, but leaves each group of seven bits
/// in a byte of its own, which keeps the order of values; [`squeeze`] makes the value. Returns the groups, and where they end.
#[inline(always)]
pub(super) fn groups_at(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
    let ends = !word & HIGHEST;
    let length = ends.trailing_zeros() / 8 + 1;
    Some((word & groups_of(length)?, at + length as usize))
}

/// Returns the bits of the groups of an integer of so many bytes, if it has no more than eight.
#[inline(always)]
pub(super) fn groups_of(length: u32) -> Option<u64> {
    let others = 64_u32.checked_sub(8 * length)?;
    Some(!HIGHEST & u64::MAX.checked_shr(others)?)
}

/// Reads the size and the type of an event at `at`, compressed integers with seven bytes or more behind the first of each;
/// returns them, and where its fields begin. Most writers leave four bytes for a size, which it does not need.
#[inline(always)]
pub(super) fn head_at(bytes: &[u8], at: usize) -> Option<(u64, u64, usize)> {
    let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
    let (size, from) = match word & 0xffff_8080 == 0x0080_8080 {
        true => {
            let size = two_groups(word);
            let behind = word >> 32;
            if behind & 0x80 == 0 {
                return Some((size, behind & 0x7f, at + 5));
            }
            if behind & 0x8000 == 0 {
                return Some((size, two_groups(behind), at + 6));
            }
            (size, at + 4)
        }
        false => varint_at(bytes, at)?,
    };
    let (type_id, body) = varint_at(bytes, from)?;
    Some((size, type_id, body))
}

/// What the first bytes of events of one type have in common whose sizes take one byte, or four of which two are used.
#[derive(Clone, Copy, Debug)]
pub(super) struct AlikeHeads {
    /// Which bits of the first eight bytes they are, and those bits.
    mask: u64,
    bits: u64,
    is_short: bool,
    /// Bytes of size and type.
    length: usize,
}

impl AlikeHeads {
    /// Looks at the event at `at`; none where its size is written otherwise, or its type has more than two bytes.
    #[inline]
    pub(super) fn of(bytes: &[u8], at: usize) -> Option<Self> {
        let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
        let is_short = word & 0x80 == 0;
        let (size_mask, size_length) = if is_short {
            (0x80, 1)
        } else {
            (0xffff_8080, 4)
        };
        if !is_short && word & size_mask != 0x0080_8080 {
            return None;
        }
        let type_id = word >> (8 * size_length);
        let (type_mask, type_length) = match (type_id & 0x80, type_id & 0x8000) {
            (0, _) => (0xff, 1),
            (_, 0) => (0xffff, 2),
            _ => return None,
        };
        let mask = size_mask | type_mask << (8 * size_length);
        Some(Self {
            mask,
            bits: word & mask,
            is_short,
            length: size_length + type_length,
        })
    }

    /// Returns where the fields of the event at `at` begin, and where it ends; none where it does not begin alike, does not end in
    /// the bytes, or has fewer than eight of them left.
    #[inline(always)]
    pub(super) fn at(&self, bytes: &[u8], at: usize) -> Option<(usize, usize)> {
        let rest = bytes.get(at..)?;
        let word = u64::from_le_bytes(*rest.first_chunk()?);
        let size = if self.is_short {
            word & 0x7f
        } else {
            two_groups(word)
        };
        let size = in_memory(size);
        let is_alike = word & self.mask == self.bits && (self.length..=rest.len()).contains(&size);
        is_alike.then_some((at + self.length, at + size))
    }

    /// Steps over the events from `at` on that begin alike; returns where one does not, or does not end in the bytes.
    #[inline]
    pub(super) fn after(&self, bytes: &[u8], mut at: usize) -> usize {
        while let Some((_, end)) = self.at(bytes, at) {
            at = end;
        }
        at
    }
}

/// Returns the integer of the first two groups of seven bits.
#[inline(always)]
fn two_groups(word: u64) -> u64 {
    word & 0x7f | word >> 1 & 0x3f80
}

/// Squeezes eight groups of seven bits together.
#[inline]
pub(super) fn squeeze(word: u64) -> u64 {
    // Most integers have no more than four.
    if word >> 32 == 0 {
        return two_groups(word) | word >> 2 & 0x1f_c000 | word >> 3 & 0xfe0_0000;
    }
    let word = word & 0x7f7f_7f7f_7f7f_7f7f;
    let word = (word & 0x7f00_7f00_7f00_7f00) >> 1 | (word & 0x007f_007f_007f_007f);
    let word = (word & 0x3fff_0000_3fff_0000) >> 2 | (word & 0x0000_3fff_0000_3fff);
    (word & 0x0fff_ffff_0000_0000) >> 4 | (word & 0x0fff_ffff)
}

#[cfg(test)]
mod tests {
    use super::super::scan::{compressed_width, put_integer};
    use super::*;

    /// Where integers are read together, they end where they do one by one, and others have other bytes.
    #[test]
    fn short_integers_end_where_they_do_one_by_one() {
        let mut random = traceloom_samples::Random::new(5);
        let mut met = std::collections::HashMap::new();
        for _ in 0..20_000 {
            let mut bytes = vec![0x80; 3];
            let values = [(); 4].map(|()| random.bits() >> random.below(64));
            for value in values {
                put_integer(&mut bytes, true, value, compressed_width(value).min(9));
            }
            let end = bytes.len();
            bytes.extend([0xff; 16]);
            let found = short_integers(&bytes, 3, 4);
            let has_nine = values.iter().any(|&value| value >> 56 > 0);
            if end - 3 > 16 {
                assert!(found.is_none() || has_nine);
            } else if let Some((key, found)) = found
                && !has_nine
            {
                assert_eq!(found, end);
                assert_eq!(*met.entry(key).or_insert(values), values);
            } else {
                assert!(has_nine);
            }
        }
        assert!(met.len() > 1_000, "{}", met.len());
    }
}
