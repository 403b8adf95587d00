//! The trees of one input, and what is asked of them.

use super::CallTree;
use super::ground::GroupBy;
use super::tracks::choose_tracks;
use crate::filter::Selection;
use crate::measure::{AsyncCalls, Tracks};

/// What a [`super::TreeBuilder`] counts.
#[derive(Debug, Default)]
pub struct TreeOptions {
    /// Async tracks and lanes count too (`--async`).
    pub lanes: bool,
    /// Names of the value to count, the best first: of each profile the first column that it has; of spans nothing
    /// unless `wall` is among them. None of them for the profile's own, and spans.
    pub values: Vec<String>,
    /// The other columns of statistics are wanted too, unless one is named.
    pub beside: bool,
    /// Trees by lines are wanted too: [`Trees::lines`].
    pub lines: bool,
    /// Sums of functions are wanted, not who called whom: [`super::TreeBuilder::finish_functions`].
    pub functions: bool,
    /// Most nodes that the tree of calls holds, where readers bring spans; 0 holds all. Of more, the narrowest are added up
    /// function by function ([`CallTree::rest`]).
    pub most: usize,
    /// Trees of samples hold no more than [`Self::most`] either, where the reader can bring samples without the table of all
    /// stacks.
    pub paths: bool,
    /// Reading ends with the stack after the first [`Self::most`]: [`super::TreeBuilder::has_too_many_stacks`].
    pub stops: bool,
    /// With [`Self::functions`], functions that are named alike are one.
    pub alike: bool,
    /// How long calls took is wanted, for percentiles.
    pub durations: bool,
    /// The roots are groups of calls and samples.
    pub by: Option<GroupBy>,
    /// Only calls this selects, with their whole trees; a call is a span without parent.
    pub calls: Option<Selection>,
}

/// The trees of one input. Wall time and each kind of sampled value are apart: they do not add up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trees {
    /// Wall time, when there were spans.
    pub spans: Option<CallTree>,
    /// Wall time on async tracks, of recordings without spans on thread tracks ([`super::choose_tracks`]).
    pub lanes: Option<CallTree>,
    /// One tree for each measure that profiles brought.
    pub samples: Vec<CallTree>,
    /// Trees of the other columns of statistics, such as minima, maxima and calls.
    pub beside: Vec<CallTree>,
    /// [`Self::samples`] with a frame for each line of a function ([`TreeOptions::lines`]); functions where the producer
    /// wrote no lines.
    pub lines: Vec<CallTree>,
}

impl Trees {
    /// Adds the trees of another input.
    pub fn merge(&mut self, other: Self) {
        self.merge_all([other].into_iter());
    }

    /// Adds the trees of other inputs.
    pub(super) fn merge_all(&mut self, others: impl Iterator<Item = Self>) {
        let mut single: [Vec<CallTree>; 2] = Default::default();
        let mut listed: [Vec<Vec<CallTree>>; 3] = Default::default();
        for one in std::iter::once(std::mem::take(self)).chain(others) {
            for (all, tree) in single.iter_mut().zip([one.spans, one.lanes]) {
                all.extend(tree);
            }
            let trees = [one.samples, one.beside, one.lines];
            for (all, trees) in listed.iter_mut().zip(trees) {
                trees.into_iter().for_each(|tree| sort_in(all, tree));
            }
        }
        [self.spans, self.lanes] = single.map(sum);
        let sums = |all: Vec<Vec<CallTree>>| all.into_iter().filter_map(sum).collect();
        [self.samples, self.beside, self.lines] = listed.map(sums);
    }

    /// Iterates over all trees.
    pub(super) fn each(&self) -> impl Iterator<Item = &CallTree> {
        let listed = [&self.samples, &self.beside, &self.lines];
        self.spans
            .iter()
            .chain(&self.lanes)
            .chain(listed.into_iter().flatten())
    }

    /// Iterates over all trees.
    pub(super) fn each_mut(&mut self) -> impl Iterator<Item = &mut CallTree> {
        let listed = [&mut self.samples, &mut self.beside, &mut self.lines];
        self.spans
            .iter_mut()
            .chain(&mut self.lanes)
            .chain(listed.into_iter().flatten())
    }

    /// Iterates over the trees in the order of [`super::Measure::rank`].
    pub fn into_trees(self) -> impl Iterator<Item = CallTree> {
        let mut trees: Vec<CallTree> = self
            .spans
            .into_iter()
            .chain(self.lanes)
            .chain(self.samples)
            .collect();
        trees.sort_by_key(|tree| tree.measure.rank());
        trees.into_iter()
    }

    /// Keeps what is shown of spans: [`choose_tracks`].
    pub fn choose_tracks(&mut self, left: AsyncCalls) {
        let mut trees: Vec<CallTree> = self
            .spans
            .take()
            .into_iter()
            .chain(self.lanes.take())
            .collect();
        choose_tracks(&mut trees, left);
        for tree in trees {
            match tree.measure.tracks {
                Tracks::Async => self.lanes = Some(tree),
                _ => self.spans = Some(tree),
            }
        }
    }

    /// Returns what `change` makes of each tree.
    #[must_use]
    pub fn map(self, change: impl Fn(&CallTree) -> CallTree) -> Self {
        let all = |trees: Vec<CallTree>| trees.iter().map(&change).collect();
        Self {
            spans: self.spans.as_ref().map(&change),
            lanes: self.lanes.as_ref().map(&change),
            samples: all(self.samples),
            beside: all(self.beside),
            lines: all(self.lines),
        }
    }

    /// Iterates over the trees, wall time first.
    pub fn iter(&self) -> impl Iterator<Item = &CallTree> {
        self.spans.iter().chain(&self.lanes).chain(&self.samples)
    }
}

/// Adds a tree to the one of its measure, or to the list where there is none.
pub(super) fn merge_tree(all: &mut Vec<CallTree>, tree: CallTree) {
    match all.iter_mut().find(|known| known.measure == tree.measure) {
        Some(known) => known.merge(&tree),
        None => all.push(tree),
    }
}

/// Puts a tree to those of its measure.
fn sort_in(all: &mut Vec<Vec<CallTree>>, tree: CallTree) {
    let is_of = |known: &&mut Vec<CallTree>| {
        let first = known.first();
        first.is_some_and(|first| first.measure == tree.measure)
    };
    match all.iter_mut().find(is_of) {
        Some(known) => known.push(tree),
        None => all.push(vec![tree]),
    }
}

/// Adds up the trees of one measure.
fn sum(trees: Vec<CallTree>) -> Option<CallTree> {
    let mut trees = trees.into_iter();
    let mut sum = trees.next()?;
    sum.merge_all(trees.as_slice());
    Some(sum)
}
