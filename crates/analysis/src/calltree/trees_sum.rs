//! The trees of many recordings as one.

use super::{CallTree, Trees};

/// What waits at least, counted as nodes, so that small recordings are added up by the dozen.
const LEAST_WAITING: usize = if cfg!(test) { 256 } else { 1 << 16 };

/// As many nodes take the memory of a recording that has none.
const RECORDING: usize = 64;

/// As many nodes take the memory of how long the calls of one took.
const DURATIONS: usize = 8;

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
    /// Recordings that had anything.
    n_recordings: usize,
}

impl TreesSum {
    /// A sum of which every node is kept.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A sum that takes the narrowest nodes out of trees with more than `most` ([`CallTree::rest`]), where it is one of several
    /// recordings.
    #[must_use]
    pub fn thinned(most: usize) -> Self {
        Self {
            most,
            ..Self::default()
        }
    }

    /// Adds the trees of the next recording.
    pub fn push(&mut self, trees: Trees) {
        let size = size(&trees);
        self.n_recordings += usize::from(size > 0);
        self.n_waiting += size + RECORDING;
        self.waiting.push(trees);
        if self.n_waiting >= self::size(&self.sum).max(LEAST_WAITING) {
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
        if self.most > 0 && self.n_recordings > 1 {
            self.sum.each_mut().for_each(|tree| tree.thin(self.most));
        }
    }
}

/// How much there is, counted as nodes.
fn size(trees: &Trees) -> usize {
    let of = |tree: &CallTree| {
        let rows = tree.nodes.len() + tree.symbols.len() + tree.rest.len();
        rows + DURATIONS * tree.durations.len()
    };
    trees.each().map(of).sum()
}
