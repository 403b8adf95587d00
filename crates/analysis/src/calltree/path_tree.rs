//! A tree of samples that come with their stacks written out, of which no table is needed.

use traceloom_model::bounds::row_number;
use traceloom_model::{Merge, PathBatch, Recording};

use super::arena::{Arena, NONE, ROOT};
use super::thin::TreeThinning;
use super::top::TopRow;
use crate::measure::Measure;
use crate::symbol::{NO_STACK, key_of_spot};

/// The samples of a profile as a tree that holds so many nodes.
///
/// Of more the narrowest are added up by function. A node that was taken out and comes again counts from then on, which makes
/// it narrower than it was; what wide nodes and functions come to is exact, and so is every node where samples come in the
/// order of their stacks.
#[derive(Debug)]
pub(super) struct PathTree {
    measure: Measure,
    /// The value column shown.
    at: usize,
    arena: Arena,
    thinning: TreeThinning,
    /// Keys of what runs at each site, callers first: where they begin in `keys`, and where they end.
    sites: Vec<(u32, u32)>,
    keys: Vec<u32>,
}

/// A finished [`PathTree`] whose functions have no names yet.
pub(super) struct GrownPaths {
    pub(super) measure: Measure,
    pub(super) arena: Arena,
    /// What was taken out, by key.
    pub(super) rest: Vec<(u32, TopRow)>,
}

impl PathTree {
    pub(super) fn new(measure: Measure, at: usize, most: usize) -> Self {
        Self {
            measure,
            at,
            arena: Arena::of_at_most(most),
            thinning: TreeThinning::new(most, false),
            sites: Vec::new(),
            keys: Vec::new(),
        }
    }

    pub(super) fn take(&mut self, tables: &Recording, batch: &PathBatch) {
        for (site, spots) in batch.told() {
            let from = row_number(self.keys.len());
            let callers_first = spots.iter().rev();
            self.keys
                .extend(callers_first.map(|&spot| key_of_spot(tables, spot)));
            let site = site as usize;
            if self.sites.len() <= site {
                self.sites.resize(site + 1, (NONE, NONE));
            }
            if let Some(slot) = self.sites.get_mut(site) {
                *slot = (from, row_number(self.keys.len()));
            }
        }
        for (sites, values) in batch.iter() {
            let value = values.get(self.at).copied().unwrap_or(0);
            let last = self.hang(sites, value);
            self.thinning.thin(&mut self.arena, tables, last);
        }
    }

    /// Adds a sample to the nodes of its functions, and returns the last of them.
    fn hang(&mut self, sites: &[u32], value: i64) -> u32 {
        let arena = &mut self.arena;
        let mut node = ROOT;
        let mut enter = |key| {
            node = arena.child(node, key);
            let row = arena.node_mut(node);
            row.total = row.total.saturating_add(value);
        };
        for &site in sites.iter().rev() {
            let (from, to) = self.sites.get(site as usize).copied().unwrap_or_default();
            let keys = self.keys.get(from as usize..to as usize);
            keys.into_iter().flatten().copied().for_each(&mut enter);
        }
        if node == ROOT {
            node = arena.child(ROOT, NO_STACK);
            let row = arena.node_mut(node);
            row.total = row.total.saturating_add(value);
        }
        arena.combine(node, value, 1, Merge::Sum);
        node
    }

    pub(super) fn finish(self) -> GrownPaths {
        GrownPaths {
            measure: self.measure,
            arena: self.arena,
            rest: self.thinning.into_rows(),
        }
    }
}
