//! Ids by name, which are mostly found again without hashing.

use super::lower::Map;

/// Slots of [`Recent`]. A trace has few names and each event some of them.
const RECENT: usize = 128;

/// Ids by name.
#[derive(Debug)]
pub(super) struct NameIds<I> {
    all: Map<Box<[u8]>, I>,
    recent: Recent<I>,
}

impl<I> Default for NameIds<I> {
    fn default() -> Self {
        Self {
            all: Map::default(),
            recent: Recent::default(),
        }
    }
}

impl<I: Copy> NameIds<I> {
    #[inline(always)]
    pub fn get(&mut self, name: &[u8]) -> Option<I> {
        let words = ShortName::of(name);
        let found = words.as_ref().and_then(|words| self.recent.get(words));
        found.or_else(|| self.look_up(name, words))
    }

    #[inline(never)]
    fn look_up(&mut self, name: &[u8], words: Option<ShortName>) -> Option<I> {
        let id = self.all.get(name).copied()?;
        if let Some(words) = words {
            self.recent.put(words, id);
        }
        Some(id)
    }

    pub fn insert(&mut self, name: &[u8], id: I) {
        self.all.insert(name.into(), id);
    }
}

/// What the names met last stand for, as far as they are short.
#[derive(Debug)]
pub(super) struct Recent<I>(Vec<Option<(ShortName, I)>>);

impl<I> Default for Recent<I> {
    fn default() -> Self {
        Self((0..RECENT).map(|_| None).collect())
    }
}

impl<I: Copy> Recent<I> {
    #[inline(always)]
    pub fn get(&self, words: &ShortName) -> Option<I> {
        match self.0.get(words.slot()) {
            Some(Some((known, id))) if known == words => Some(*id),
            _ => None,
        }
    }

    pub fn put(&mut self, words: ShortName, id: I) {
        if let Some(slot) = self.0.get_mut(words.slot()) {
            *slot = Some((words, id));
        }
    }
}

/// A name of up to 32 bytes as loads that overlap: equal where names are, and compared without a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ShortName {
    length: usize,
    ends: [u64; 2],
    middle: [u64; 2],
}

impl ShortName {
    #[inline(always)]
    pub fn of(name: &[u8]) -> Option<Self> {
        let length = name.len();
        let mut middle = [0; 2];
        let ends = if let (Some(first), Some(last)) = (name.first_chunk(), name.last_chunk()) {
            if let (Some(first), Some(last)) = (name.first_chunk(), name.last_chunk()) {
                let (first, last): (&[u8; 16], &[u8; 16]) = (first, last);
                middle = [eight(first.last_chunk()?), eight(last.first_chunk()?)];
            }
            [eight(first), eight(last)]
        } else if let (Some(first), Some(last)) = (name.first_chunk(), name.last_chunk()) {
            [four(first), four(last)]
        } else {
            let few = name.iter();
            [few.fold(0, |all, &byte| all << 8 | u64::from(byte)), 0]
        };
        (length <= 32).then_some(Self {
            length,
            ends,
            middle,
        })
    }

    /// Returns true if `bytes` begin with the name.
    #[inline(always)]
    pub fn begin(&self, bytes: &[u8]) -> bool {
        let name = bytes.get(..self.length);
        name.and_then(Self::of).is_some_and(|words| words == *self)
    }

    #[inline(always)]
    fn slot(&self) -> usize {
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let ends = self.ends[0] ^ self.ends[1].rotate_left(29);
        let spread = ends.wrapping_add(self.length as u64).wrapping_mul(SPREAD);
        usize::try_from(spread >> 32).unwrap_or(0) % RECENT
    }
}

#[inline(always)]
fn eight(bytes: &[u8; 8]) -> u64 {
    u64::from_ne_bytes(*bytes)
}

#[inline(always)]
fn four(bytes: &[u8; 4]) -> u64 {
    u64::from(u32::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart_by_every_byte_and_their_length() {
        let long: Vec<u8> = (b'a'..).take(33).collect();
        let cut = |length: usize| long.iter().copied().take(length);
        let mut names: Vec<Vec<u8>> = (0..=33).map(|length| cut(length).collect()).collect();
        for length in 1..=33 {
            for at in 0..length {
                let flip = |(here, byte)| byte ^ (0x80 * u8::from(here == at));
                names.push(cut(length).enumerate().map(flip).collect());
            }
            names.push(vec![0; length]);
        }
        let mut known = NameIds::default();
        for (name, id) in names.iter().zip(0_u32..) {
            assert_eq!(known.get(name), None);
            known.insert(name, id);
        }
        for _ in 0..2 {
            for (name, id) in names.iter().zip(0..) {
                assert_eq!((known.get(name), known.get(name)), (Some(id), Some(id)));
            }
        }
    }
}
