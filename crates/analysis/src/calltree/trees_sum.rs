//! The trees of many recordings as one.

use super::{CallTree, Trees};

/// Nodes and functions that wait at least, so that those of small recordings are added up by the dozen.
const LEAST_WAITING: usize = if cfg!(test) { 16 } else { 1 << 16 };

/// Adds up the trees of recordings.
///
/// They wait until there is as much of them as of the sum: each node is added up a few times then, however many recordings
/// there are, and memory follows the sum.
#[derive(Debug, Default)]
pub struct TreesSum {
    /// Most nodes of a tree; 0 holds all.
    most: usize,
    sum: Trees,
    waiting: Vec<Trees>,
    n_waiting: usize,
}

impl TreesSum {
    /// A sum of which every node is kept.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A sum that takes the narrowest nodes out of a tree with more than `most`, until there are half as many
    /// ([`CallTree::rest`]).
    #[must_use]
    pub fn thinned(most: usize) -> Self {
        Self {
            most,
            ..Self::default()
        }
    }

    /// Adds the trees of the next recording.
    pub fn push(&mut self, trees: Trees) {
        self.n_waiting += size(&trees);
        self.waiting.push(trees);
        if self.n_waiting >= size(&self.sum).max(LEAST_WAITING) {
            self.add_up();
        }
    }

    /// Returns the sum, its functions in the order in which recordings named them.
    #[must_use]
    pub fn finish(mut self) -> Trees {
        self.add_up();
        self.sum
    }

    fn add_up(&mut self) {
        self.n_waiting = 0;
        self.sum.merge_all(self.waiting.drain(..));
        if self.most > 0 {
            self.sum.each_mut().for_each(|tree| tree.thin(self.most));
        }
    }
}

fn size(trees: &Trees) -> usize {
    let of = |tree: &CallTree| tree.nodes.len() + tree.symbols.len();
    trees.each().map(of).sum()
}
