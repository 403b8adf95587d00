//! Numbers from a seed.

/// A splitmix64 generator: the same numbers on every machine.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts from a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Returns a number below `limit`; 0 when that is 0.
    #[inline]
    pub fn below(&mut self, limit: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(limit)) >> 32) as u32
    }

    /// Returns a 64-bit number below `limit`; 0 when that is 0.
    #[inline]
    pub fn number(&mut self, limit: u64) -> u64 {
        self.bits() % limit.max(1)
    }

    /// Returns a number below `limit` where a signed one is wanted.
    #[inline]
    pub fn int(&mut self, limit: u64) -> i64 {
        self.number(limit).cast_signed()
    }

    /// Returns an index below `len`.
    #[inline]
    pub fn index(&mut self, len: usize) -> usize {
        self.below(u32::try_from(len).unwrap_or(u32::MAX)) as usize
    }

    /// Returns true in `part` of 1,000 cases.
    #[inline]
    pub fn per_mille(&mut self, part: u32) -> bool {
        self.below(1000) < part
    }

    /// Returns a number that is mostly small and seldom near `limit`.
    #[inline]
    pub fn skewed(&mut self, limit: u32) -> u32 {
        let bound = self.below(limit) + 1;
        let bound = self.below(bound) + 1;
        self.below(bound)
    }

    /// Chooses one of a list.
    #[inline]
    pub fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words.get(self.index(words.len())).copied().unwrap_or("")
    }
}

/// Scatters the bits of a number.
#[must_use]
pub const fn mix(number: u64) -> u64 {
    let z = number;
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
