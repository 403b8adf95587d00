//! Heads of events read from one load, without a branch a byte.

/// What comes before the value of a tag, and all there is of an enter or an exit.
///
/// Which kind of event comes next, and how many bytes its numbers take, is what a processor guesses
/// worst: read byte by byte, a trace costs a wrong guess every second event. Here all kinds take the same
/// path. The header's high bit says that an elapsed time follows in the way a varint says that a byte
/// follows, so header and elapsed time end at the first byte below 0x80, and the id of an enter or a tag
/// at the second one (SPEC.md §6.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// Milliseconds since the event before it, as [`super::trace::Event::elapsed`].
    pub elapsed: i32,
    /// The method of an enter, the parameter of a tag; 0 for an exit.
    pub id: u32,
    /// It is an enter, which ends with its head.
    pub enter: bool,
    /// It is a tag: [`value_len`] tells how long its value is. What is neither is an exit.
    pub tag: bool,
    /// Bytes it takes.
    pub len: usize,
}

/// Last bytes that a head may have.
const ENDS: u64 = 0x0000_8080_8080_8080;

impl Head {
    /// Reads a head from the eight bytes at an event, the first one lowest.
    ///
    /// None for a finish, for a number of more than four bytes and for more than six bytes together:
    /// [`super::trace::Event::read`] reads those.
    #[inline(always)]
    #[must_use]
    pub const fn read(word: u64) -> Option<Self> {
        let ends = !word & ENDS;
        let below = ends.wrapping_sub(1);
        // The lowest bit of these is the high bit of the last byte.
        let last = if word & 1 == 0 { ends & below } else { ends };
        if word & 3 == 3 || last == 0 {
            return None;
        }
        let extension = (word & (ends ^ below)) >> 8;
        // Nothing for an exit, whose last byte is the first one that ends.
        let id = (word & (last ^ (last - 1))) >> (ends.trailing_zeros() + 1);
        if (extension | id) >> 32 != 0 {
            return None;
        }
        Some(Self {
            elapsed: (low(word) >> 2 & 0x1f | joined(low(extension)) << 5).cast_signed(),
            id: joined(low(id)),
            enter: word & 3 == 0,
            tag: word & 2 != 0,
            len: last.trailing_zeros() as usize / 8 + 1,
        })
    }
}

/// An enter or an exit without the method that is entered: what adding them up needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepHead {
    /// As [`Head::elapsed`].
    pub elapsed: i32,
    /// It is an enter; else it is an exit.
    pub enter: bool,
    /// Bytes it takes.
    pub len: usize,
}

impl StepHead {
    /// Reads a step as [`Head::read`] does; None for a tag, and for an id that has five bytes without need.
    #[inline(always)]
    #[must_use]
    pub const fn read(word: u64) -> Option<Self> {
        let enter = word & 1 == 0;
        let ends = !word & ENDS;
        let below = ends.wrapping_sub(1);
        let last = if enter { ends & below } else { ends };
        let extension = (word & (ends ^ below)) >> 8;
        // Ids of four bytes at most.
        let is_long = last.trailing_zeros() - ends.trailing_zeros() > 32 || extension >> 32 != 0;
        if word & 2 != 0 || last == 0 || is_long {
            return None;
        }
        Some(Self {
            elapsed: (low(word) >> 2 & 0x1f | joined(low(extension)) << 5).cast_signed(),
            enter,
            len: last.trailing_zeros() as usize / 8 + 1,
        })
    }
}

/// Returns the bytes of a tag's value, its type byte included, when eight bytes tell and `rest` has them.
#[inline(always)]
#[must_use]
pub fn value_len(rest: &[u8], string_limit: usize) -> Option<usize> {
    let word = u64::from_le_bytes(*rest.first_chunk()?);
    // The type, then numbers of at most four bytes each.
    let ends = !word & 0x8080_8080_8080_8000;
    let below = ends.wrapping_sub(1);
    let first = (ends ^ below) >> 8;
    if ends == 0 || first >> 32 != 0 || word & 0xfc != 0 {
        return None;
    }
    if word & 1 == 0 {
        let units = joined(low(word >> 8 & first)) as usize;
        let len = ends.trailing_zeros() as usize / 8 + 1 + 2 * units;
        return (2 * units <= string_limit && len <= rest.len()).then_some(len);
    }
    let last = ends & below;
    let two = last ^ last.wrapping_sub(1);
    (last != 0 && two >> 40 <= first).then(|| last.trailing_zeros() as usize / 8 + 1)
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is asked for")]
#[inline(always)]
const fn low(word: u64) -> u32 {
    word as u32
}

/// Joins four groups of seven bits, neighbours first.
#[inline(always)]
const fn joined(groups: u32) -> u32 {
    let pairs = groups & 0x007f_007f | (groups & 0x7f00_7f00) >> 1;
    pairs & 0x3fff | (pairs & 0x3fff_0000) >> 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cdt::trace::{Event, TraceAction};
    use crate::wire::Cursor;
    use traceloom_samples::Random;

    const LIMIT: usize = 12;

    /// Reads the event both ways; what one load cannot hold is left to the other way.
    fn agree(bytes: &[u8]) -> bool {
        let mut cursor = Cursor::new(bytes, 0);
        let event = Event::read(&mut cursor, LIMIT);
        let head = bytes
            .first_chunk()
            .and_then(|word| Head::read(u64::from_le_bytes(*word)));
        let step = bytes
            .first_chunk()
            .and_then(|word| StepHead::read(u64::from_le_bytes(*word)));
        if let Some(StepHead {
            elapsed,
            enter,
            len,
        }) = step
        {
            let step = head.map(|head| (head.elapsed, head.enter, head.tag, head.len));
            assert_eq!(step, Some((elapsed, enter, false, len)), "{bytes:02x?}");
        }
        let Some(head) = head else { return false };
        let value = if head.tag {
            let value = bytes.get(head.len..);
            value.and_then(|value| value_len(value, LIMIT))
        } else {
            Some(0)
        };
        let Some(value) = value else { return false };
        let event = event.unwrap_or_else(|error| panic!("{bytes:02x?}: {error}"));
        let (enter, tag, id) = match event.what {
            TraceAction::Enter(method) => (true, false, method),
            TraceAction::Exit => (false, false, 0),
            TraceAction::Tag(id, _) => (false, true, id),
            TraceAction::Finish(_) => panic!("{bytes:02x?} is no head"),
        };
        assert_eq!((event.elapsed, id), (head.elapsed, head.id));
        assert_eq!((enter, tag), (head.enter, head.tag));
        assert_eq!(cursor.position(), head.len + value, "{bytes:02x?}");
        true
    }

    #[test]
    fn both_ways_of_reading_agree() {
        let mut random = Random::new(7);
        let mut counts = std::collections::BTreeMap::new();
        for round in 0..600_000_u32 {
            let mut bytes = [random.bits(), random.bits(), random.bits()].map(u64::to_le_bytes);
            let bytes = bytes.as_flattened_mut();
            // Bytes that go on, and small ones, oftener than chance has them.
            let more = random.bits() | if round % 2 == 0 { random.bits() } else { 0 };
            let small = random.bits() & random.bits();
            for (at, byte) in bytes.iter_mut().enumerate() {
                let mask = if small >> at & 1 == 1 { 3 } else { 0x7f };
                *byte = *byte & mask | u8::from(more >> at & 1 == 1) << 7;
            }
            let left = !agree(bytes);
            let kind = bytes.first().map(|header| header & 3);
            *counts.entry((kind, left)).or_insert(0) += 1;
        }
        // A finish is always left.
        assert_eq!(counts.len(), 7, "{counts:?}");
        assert!(counts.values().all(|&count| count > 1_000), "{counts:?}");
    }

    #[test]
    fn numbers_of_six_bytes_are_read_and_seven_are_not() {
        assert!(agree(&[0x80, 0x81, 0x01, 0x80, 0x81, 0x02, 0xff, 0xff]));
        assert!(!agree(&[0x80, 0x81, 0x81, 0x01, 0x80, 0x81, 0x02, 0xff]));
        // An exit 28 bits after the event before it, and one of 32 bits, which only five bytes hold.
        assert!(agree(&[0x81, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0]));
        assert!(!agree(&[0x81, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0]));
        // A method of five bytes.
        assert!(!agree(&[0x00, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0]));
    }

    #[test]
    fn strings_that_are_cut_or_long_are_left() {
        let tag = [0x02, 0x07, 0x00, 0x03, 0, b'a', 0, b'b', 0, b'c'];
        assert!(agree(&tag));
        let value = &[0x00, 0x03, 0, b'a', 0, b'b', 0, b'c'];
        assert_eq!(value_len(value, 6), Some(8));
        assert_eq!(value_len(value, 5), None);
        assert_eq!(value_len(&[0x00, 0x04, 0, b'a', 0, b'b', 0, b'c'], 9), None);
        // An unknown type.
        assert_eq!(value_len(&[0x04, 0x01, 0x01, 0, 0, 0, 0, 0], 6), None);
    }
}
