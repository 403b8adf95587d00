//! Rows of what is added up, by the number of a stack.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::StackId;

use super::arena::NONE;

/// Stacks of the table that a profile may leave out for each one it has, and without having any.
const LEFT_OUT: usize = 64;
const LEFT_OUT_AT_FIRST: usize = 1 << 10;

/// Which row a stack has.
///
/// A table of stacks is that of all profiles, and one profile of thousands has few of them: what has too large a number for
/// how many there are is found by its hash, so that memory follows the samples of a profile.
#[derive(Debug, Default)]
pub(super) struct StackRows {
    near: Vec<u32>,
    far: HashMap<usize, u32, RandomState>,
}

impl StackRows {
    /// Returns the row of a stack; `next`, the number of rows, is that of one that has none yet.
    #[inline(always)]
    pub fn row(&mut self, stack: StackId, next: u32) -> u32 {
        match self.near.get_mut(stack.index()) {
            Some(row) => {
                if *row == NONE {
                    *row = next;
                }
                *row
            }
            None => self.far_row(stack.index(), next),
        }
    }

    #[inline(never)]
    fn far_row(&mut self, stack: usize, next: u32) -> u32 {
        if stack >= LEFT_OUT_AT_FIRST + LEFT_OUT * next as usize {
            return *self.far.entry(stack).or_insert(next);
        }
        let Self { near, far } = self;
        near.resize((stack + 1).max(2 * near.len()), NONE);
        far.retain(|&stack, row| {
            let slot = near.get_mut(stack);
            slot.map(|slot| *slot = *row).is_none()
        });
        near.get_mut(stack).map_or(next, |row| {
            if *row == NONE {
                *row = next;
            }
            *row
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stack_keeps_its_row() {
        let mut rows = StackRows::default();
        let mut known = HashMap::<u32, u32>::new();
        // Numbers far and near, most of them several times; later ones bring early ones near.
        for nth in 0..40_000_u32 {
            let stack = nth.wrapping_mul(2_654_435_761) >> (9 + nth % 7);
            for stack in [stack, stack, stack / 3] {
                let next = u32::try_from(known.len()).unwrap();
                let row = *known.entry(stack).or_insert(next);
                assert_eq!(rows.row(StackId::new(stack), next), row);
            }
        }
        assert!(!rows.near.is_empty() && !rows.far.is_empty());
    }

    #[test]
    fn memory_follows_the_stacks_of_a_profile() {
        let mut rows = StackRows::default();
        for nth in 0..10_u32 {
            let stack = StackId::new(4_000_000_000 + nth);
            assert_eq!(rows.row(stack, nth), nth);
            assert_eq!(rows.row(stack, nth + 1), nth);
        }
        assert_eq!((rows.near.len(), rows.far.len()), (0, 10));
    }
}
