//! Levels of detail: what of a row is shown while a pixel is longer than its items.

use std::ops::Range;

use traceloom_model::Timestamp;

/// Items of a row that few are drawn one by one at any zoom.
const FEW: usize = 64;

/// Neighbours drawn as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Block {
    /// How many items it stands for.
    pub(super) count: u64,
    /// The longest of them, counted from the first.
    pub(super) pick: u64,
    /// How much of its time is filled, of 255; what is there at all has at least 1.
    pub(super) filled: u8,
}

/// The blocks of a row while a pixel is at least 4^`exponent` nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Level {
    pub(super) exponent: u32,
    pub(super) blocks: Vec<Block>,
}

/// A block while it grows.
#[derive(Clone, Copy)]
struct GrowingBlock {
    start: Timestamp,
    end: Timestamp,
    items: (usize, usize),
    longest: (usize, u64),
    filled: u64,
}

impl GrowingBlock {
    fn join(&mut self, next: &Self) {
        self.end = next.end;
        self.items.1 = next.items.1;
        if next.longest.1 > self.longest.1 {
            self.longest = next.longest;
        }
        self.filled = self.filled.saturating_add(next.filled);
    }

    fn finish(&self) -> Block {
        let length = u128::from(self.end.abs_diff(self.start).max(1));
        let filled = (u128::from(self.filled) * 255).div_ceil(length);
        Block {
            count: (self.items.1 - self.items.0) as u64,
            pick: (self.longest.0 - self.items.0) as u64,
            filled: u8::try_from(filled.min(255)).unwrap_or(255).max(1),
        }
    }
}

/// Makes the levels of a row, each of at most half the blocks of the one before.
///
/// A block is at most one pixel long at the zoom its level begins with, or is one item; two neighbours together are
/// longer. So a view of `w` pixels has at most about `8 w` blocks at any zoom, however many items there are.
pub(super) fn levels(starts: &[Timestamp], ends: &[Timestamp], items: Range<usize>) -> Vec<Level> {
    let first = items.start;
    let rows = starts.iter().zip(ends).skip(first).take(items.len());
    let mut blocks: Vec<GrowingBlock> = rows
        .enumerate()
        .map(|(at, (&start, &end))| {
            let length = end.abs_diff(start);
            GrowingBlock {
                start,
                end,
                items: (at, at + 1),
                longest: (at, length),
                filled: length,
            }
        })
        .collect();
    let mut levels = Vec::new();
    for exponent in 1..32 {
        if blocks.len() <= FEW {
            break;
        }
        let merged = merge(&blocks, 4_u64.saturating_pow(exponent));
        if merged.len() <= blocks.len() / 2 {
            levels.push(Level {
                exponent,
                blocks: merged.iter().map(GrowingBlock::finish).collect(),
            });
            blocks = merged;
        }
    }
    levels
}

fn merge(blocks: &[GrowingBlock], longest: u64) -> Vec<GrowingBlock> {
    let mut merged: Vec<GrowingBlock> = Vec::new();
    for block in blocks {
        match merged.last_mut() {
            Some(last) if block.end.abs_diff(last.start) <= longest => last.join(block),
            _ => merged.push(*block),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_has_every_item_once_and_blocks_no_longer_than_its_pixel() {
        let starts: Vec<i64> = (0..10_000).map(|at| at * 10 + at % 7).collect();
        let ends: Vec<i64> = (0..)
            .zip(&starts)
            .map(|(at, start)| start + if at == 5_000 { 3 } else { at % 3 })
            .collect();
        let levels = levels(&starts, &ends, 0..starts.len());
        assert!(levels.len() > 3);
        let mut fewest = starts.len();
        for level in &levels {
            assert!(level.blocks.len() <= fewest / 2);
            fewest = level.blocks.len();
            let mut first = 0;
            for block in &level.blocks {
                let count = usize::try_from(block.count).unwrap();
                let length = ends[first + count - 1] - starts[first];
                assert!(count == 1 || length <= 4_i64.pow(level.exponent));
                assert!(block.pick < block.count);
                if (first..first + count).contains(&5_000) && level.exponent < 4 {
                    assert_eq!(first + usize::try_from(block.pick).unwrap(), 5_000);
                }
                first += count;
            }
            assert_eq!(first, starts.len());
        }
    }

    #[test]
    fn a_block_says_how_much_of_it_is_filled() {
        let starts: Vec<i64> = (0..1_000).map(|at| at * 4).collect();
        let ends: Vec<i64> = starts.iter().map(|start| start + 1).collect();
        let levels = levels(&starts, &ends, 0..1_000);
        let last = levels.last().unwrap();
        let block = last.blocks[1];
        let length = block.count * 4 - 3;
        assert_eq!(
            u64::from(block.filled),
            (block.count * 255).div_ceil(length)
        );
        // Instants fill nothing, and show.
        let levels = super::levels(&starts, &starts, 0..1_000);
        assert!(
            levels
                .iter()
                .flat_map(|level| &level.blocks)
                .all(|block| block.filled == 1)
        );
    }
}
