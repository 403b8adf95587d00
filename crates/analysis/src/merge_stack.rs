//! Adding up the results of many recordings.

/// Sums of runs of recordings, each twice as long as the one after it.
///
/// Adding two call trees costs as much as both are large, so adding each of thousands of recordings to the sum of all
/// before it takes time with the square of their number. Here sums of as many recordings are added to each other: every
/// recording takes part in as many additions as a counter of them has digits. At most that many sums are held.
#[derive(Debug)]
pub struct MergeStack<T> {
    /// Sums, and the binary logarithm of how many recordings each is of, falling.
    sums: Vec<(u32, T)>,
}

impl<T> Default for MergeStack<T> {
    fn default() -> Self {
        Self { sums: Vec::new() }
    }
}

impl<T> MergeStack<T> {
    /// Adds the result of a recording; `merge` adds the second to the first.
    pub fn push(&mut self, result: T, merge: impl Fn(&mut T, T)) {
        let (mut rank, mut result) = (0, result);
        while let Some((_, mut sum)) = self.sums.pop_if(|(last, _)| *last == rank) {
            merge(&mut sum, result);
            (rank, result) = (rank + 1, sum);
        }
        self.sums.push((rank, result));
    }

    /// Adds up what is left; none where nothing was pushed.
    pub fn finish(mut self, merge: impl Fn(&mut T, T)) -> Option<T> {
        let (_, mut result) = self.sums.pop()?;
        while let Some((_, mut sum)) = self.sums.pop() {
            merge(&mut sum, result);
            result = sum;
        }
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn what_is_merged_stays_in_order_and_each_result_is_merged_few_times() {
        for results in [1, 2, 3, 1_000, 1_024] {
            let moved = Cell::new(0);
            let merge = |all: &mut Vec<usize>, more: Vec<usize>| {
                moved.set(moved.get() + all.len() + more.len());
                all.extend(more);
            };
            let mut stack = MergeStack::default();
            for number in 0..results {
                stack.push(vec![number], merge);
                assert!(stack.sums.len() <= 10);
            }
            let all = stack.finish(merge).unwrap();
            assert_eq!(all, (0..results).collect::<Vec<_>>());
            assert!(moved.get() <= 11 * results, "{} for {results}", moved.get());
        }
        let none = MergeStack::<Vec<usize>>::default();
        assert_eq!(none.finish(|_, _| ()), None);
    }
}
