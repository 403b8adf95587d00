//! Words of the machine that wrote a CPU profile (SPEC.md §1).

/// How the words of a file are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct WordEncoding {
    pub(super) size: usize,
    pub(super) big: bool,
}

/// Words of the header before those that its second one counts.
pub(super) const HEADER: usize = 2;
/// Words a header may have more than today's three.
const HEADER_WORDS: u64 = 64;

impl WordEncoding {
    const ALL: [Self; 4] = [
        Self {
            size: 4,
            big: false,
        },
        Self { size: 4, big: true },
        Self {
            size: 8,
            big: false,
        },
        Self { size: 8, big: true },
    ];

    /// Finds the words in which the first bytes are a header; none when they are no header or too few.
    pub(super) fn detect(head: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|words| {
            let word = |nth: usize| words.get(head, nth);
            let three =
                word(0) == Some(0) && word(1).is_some_and(|n| (3..=HEADER_WORDS).contains(&n));
            three
                && word(2).is_some_and(|version| version < 2)
                && word(3).is_some_and(|period| period > 0 && period < 1 << 32)
                && word(4) == Some(0)
        })
    }

    /// Returns the word at position `nth`.
    pub(super) fn get(self, bytes: &[u8], nth: usize) -> Option<u64> {
        let at = nth.checked_mul(self.size)?;
        let bytes = bytes.get(at..at.checked_add(self.size)?)?;
        match (self.size, self.big) {
            (4, false) => Some(u64::from(u32::from_le_bytes(bytes.try_into().ok()?))),
            (4, true) => Some(u64::from(u32::from_be_bytes(bytes.try_into().ok()?))),
            (_, false) => Some(u64::from_le_bytes(bytes.try_into().ok()?)),
            (_, true) => Some(u64::from_be_bytes(bytes.try_into().ok()?)),
        }
    }

    pub(super) fn put(self, out: &mut Vec<u8>, word: u64) {
        let [b0, b1, b2, b3, b4, b5, b6, b7] = word.to_le_bytes();
        match (self.size, self.big) {
            (4, false) => out.extend([b0, b1, b2, b3]),
            (4, true) => out.extend([b3, b2, b1, b0]),
            (_, false) => out.extend([b0, b1, b2, b3, b4, b5, b6, b7]),
            (_, true) => out.extend([b7, b6, b5, b4, b3, b2, b1, b0]),
        }
    }
}
