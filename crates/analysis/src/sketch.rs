//! Percentiles of durations in bounded memory.

use traceloom_model::bounds::{in_memory, saturated_u64};

/// Values kept as they are; more are counted by bucket.
const EXACT: usize = 128;
/// Bits of a value that a bucket tells apart, the leading one left out.
const BITS: u32 = 6;
/// Values below this have a bucket each.
const LINEAR: i64 = 1 << (BITS + 1);

/// Durations of many calls, for percentiles.
///
/// Up to 128 of them are kept and percentiles are exact. Beyond, they are counted in buckets of which 64 make an
/// octave: a percentile is then less than 0.8 % off, and no number of calls takes more than 3,712 buckets. Two
/// sketches of two files make the sketch of both, whatever the order.
///
/// ```
/// use traceloom_analysis::Sketch;
/// let mut sketch = Sketch::default();
/// (1..=100).for_each(|ns| sketch.add(ns));
/// assert_eq!((sketch.percentile(50), sketch.percentile(99), sketch.max()), (Some(50), Some(99), Some(100)));
/// assert!(sketch.is_exact());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sketch {
    /// All values, while they are few.
    values: Vec<i64>,
    /// Numbers of buckets with how many values they hold, ascending.
    buckets: Vec<(u16, u64)>,
    count: u64,
    max: i64,
}

impl Sketch {
    /// Adds a duration; one below zero counts as none.
    pub fn add(&mut self, value: i64) {
        let value = value.max(0);
        self.max = self.max.max(value);
        self.count += 1;
        if self.buckets.is_empty() {
            self.values.push(value);
            if self.values.len() > EXACT {
                self.spill();
            }
        } else {
            self.fill(bucket(value), 1);
        }
    }

    /// Adds all durations of another sketch.
    pub fn merge(&mut self, other: &Self) {
        for &value in &other.values {
            self.add(value);
        }
        if other.buckets.is_empty() {
            return;
        }
        self.spill();
        for &(number, count) in &other.buckets {
            self.fill(number, count);
        }
        self.count = self.count.saturating_add(other.count);
        self.max = self.max.max(other.max);
    }

    fn spill(&mut self) {
        for value in std::mem::take(&mut self.values) {
            self.fill(bucket(value), 1);
        }
    }

    fn fill(&mut self, number: u16, count: u64) {
        match self.buckets.binary_search_by_key(&number, |&(at, _)| at) {
            Ok(at) => {
                if let Some((_, held)) = self.buckets.get_mut(at) {
                    *held = held.saturating_add(count);
                }
            }
            Err(at) => self.buckets.insert(at, (number, count)),
        }
    }

    /// Returns how many durations there are.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the longest, which is exact.
    #[must_use]
    pub fn max(&self) -> Option<i64> {
        (self.count > 0).then_some(self.max)
    }

    /// Returns true if percentiles are those of the values themselves.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.buckets.is_empty()
    }

    /// Returns the least value that at least `percent` of all do not exceed; none of nothing.
    #[must_use]
    pub fn percentile(&self, percent: u32) -> Option<i64> {
        if self.count == 0 {
            return None;
        }
        let rank = u128::from(self.count) * u128::from(percent);
        let rank = saturated_u64(rank.div_ceil(100)).max(1);
        if self.buckets.is_empty() {
            let mut values = self.values.clone();
            values.sort_unstable();
            let at = in_memory(rank - 1);
            return values.get(at).copied().or(Some(self.max));
        }
        let mut below = 0_u64;
        let found = self.buckets.iter().find(|&&(_, count)| {
            below = below.saturating_add(count);
            below >= rank
        });
        let found = found.map_or(self.max, |&(number, _)| middle(number));
        Some(found.min(self.max))
    }
}

/// Returns the bucket of a value: its octave and the bits that follow the leading one.
fn bucket(value: i64) -> u16 {
    if value < LINEAR {
        return u16::try_from(value).unwrap_or(0);
    }
    let octave = value.ilog2();
    let bits = (value >> (octave - BITS)) & ((1 << BITS) - 1);
    let first = u16::try_from((octave - BITS - 1) << BITS).unwrap_or(u16::MAX);
    first + u16::try_from(LINEAR + bits).unwrap_or(0)
}

/// Returns the middle of a bucket's values.
fn middle(number: u16) -> i64 {
    let number = i64::from(number);
    if number < LINEAR {
        return number;
    }
    let above = number - LINEAR;
    let shift = (above >> BITS) + 1;
    let bits = above & ((1 << BITS) - 1);
    let least = (bits | (1 << BITS)) << shift;
    least + ((1_i64 << shift) - 1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_value_is_near_the_middle_of_its_bucket() {
        for shift in 0..63 {
            for value in [
                1_i64 << shift,
                (1 << shift) + 1,
                (1 << shift) + (1 << shift) / 3,
            ] {
                let off = (middle(bucket(value)) - value).abs();
                assert!(off <= value / 125, "{value}");
            }
        }
        assert_eq!(bucket(i64::MAX), 3711);
        assert!(middle(3711) > 0);
        let numbers: Vec<u16> = (0..100_000).map(bucket).collect();
        assert!(numbers.is_sorted());
    }

    proptest! {
        #[test]
        fn percentiles_of_parts_are_those_of_the_whole(
            values in proptest::collection::vec(0_i64..10_000_000_000, 1..600),
            cut in 0_usize..600,
        ) {
            let of = |values: &[i64]| {
                let mut sketch = Sketch::default();
                values.iter().for_each(|&value| sketch.add(value));
                sketch
            };
            let cut = cut.min(values.len());
            let (mut first, second) = (of(&values[..cut]), of(&values[cut..]));
            first.merge(&second);
            let whole = of(&values);
            let mut sorted = values.clone();
            sorted.sort_unstable();
            prop_assert_eq!(first.count(), whole.count());
            prop_assert_eq!(first.max(), sorted.last().copied());
            for percent in [50, 90, 95, 99, 100] {
                let rank = (sorted.len() * percent as usize).div_ceil(100);
                let exact = sorted[rank.max(1) - 1];
                let found = first.percentile(percent).unwrap();
                prop_assert_eq!(Some(found), whole.percentile(percent));
                if first.is_exact() {
                    prop_assert_eq!(found, exact);
                }
                prop_assert!((found - exact).abs() * 1000 <= exact * 8, "{} for {}", found, exact);
            }
        }
    }
}
