//! Spans held back until the call they belong to comes.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{SpanBatch, SpanId, SpanRow};

/// Spans that wait for their call.
#[derive(Debug, Default)]
pub(crate) struct HeldSpans {
    pub(crate) spans: SpanBatch,
    /// Rows that are waiting no more, until they are most of them.
    gone: Vec<bool>,
    n_gone: usize,
    /// The child that came last, by parent, and the one before it by row.
    last_child: HashMap<SpanId, usize, RandomState>,
    sibling: Vec<Option<usize>>,
}

impl HeldSpans {
    pub(crate) fn len(&self) -> usize {
        self.spans.len() - self.n_gone
    }

    pub(crate) fn gone(&self, at: usize) -> bool {
        self.gone.get(at).copied().unwrap_or(true)
    }

    pub(crate) fn put(&mut self, row: &SpanRow<'_>) {
        let at = self.spans.len();
        let before = row
            .parent
            .and_then(|parent| self.last_child.insert(parent, at));
        self.sibling.push(before);
        self.gone.push(false);
        self.spans.push(row);
    }

    /// Returns the rows of everything below `root`, as they came.
    pub(crate) fn take(&mut self, root: SpanId) -> Vec<usize> {
        let mut rows = Vec::new();
        let mut parents = vec![root];
        while let Some(parent) = parents.pop() {
            let mut next = self.last_child.remove(&parent);
            while let Some(at) = next {
                rows.push(at);
                parents.extend(self.spans.id.get(at));
                next = self.sibling.get(at).copied().flatten();
            }
        }
        rows.sort_unstable();
        rows
    }

    /// Drops rows that [`HeldSpans::take`] returned.
    pub(crate) fn forget(&mut self, rows: &[usize]) {
        for &at in rows {
            if let Some(gone) = self.gone.get_mut(at) {
                *gone = true;
                self.n_gone += 1;
            }
        }
        if self.n_gone * 2 <= self.spans.len() {
            return;
        }
        let old = std::mem::take(self);
        for (at, row) in old.spans.iter().enumerate() {
            if !old.gone(at) {
                self.put(&row);
            }
        }
    }

    /// Returns the rows of each tree, its outermost span first and the others as they came.
    pub(crate) fn trees(&self) -> Vec<Vec<usize>> {
        let roots = self.roots();
        let mut trees: Vec<Vec<usize>> = Vec::new();
        let mut tree_of: HashMap<usize, usize, RandomState> = HashMap::default();
        for (at, &root) in roots.iter().enumerate().filter(|(at, _)| !self.gone(*at)) {
            let tree = *tree_of.entry(root).or_insert_with(|| {
                trees.push(vec![root]);
                trees.len() - 1
            });
            if let Some(rows) = trees.get_mut(tree).filter(|_| at != root) {
                rows.push(at);
            }
        }
        trees
    }

    /// Returns the row of each row's outermost span; a circle of parents ends where it closes.
    pub(crate) fn roots(&self) -> Vec<usize> {
        let rows: HashMap<SpanId, usize, RandomState> = self
            .spans
            .id
            .iter()
            .enumerate()
            .map(|(at, &id)| (id, at))
            .collect();
        let mut roots: Vec<Option<usize>> = vec![None; self.spans.len()];
        let mut path = Vec::new();
        for at in 0..self.spans.len() {
            path.clear();
            let mut here = at;
            let root = loop {
                if let Some(&Some(known)) = roots.get(here) {
                    break known;
                }
                if let Some(slot) = roots.get_mut(here) {
                    *slot = Some(here);
                }
                path.push(here);
                let parent = self.spans.parent.get(here).copied().flatten();
                match parent.and_then(|parent| rows.get(&parent)) {
                    Some(&parent) => here = parent,
                    None => break here,
                }
            };
            for &row in &path {
                if let Some(slot) = roots.get_mut(row) {
                    *slot = Some(root);
                }
            }
        }
        roots
            .into_iter()
            .enumerate()
            .map(|(at, root)| root.unwrap_or(at))
            .collect()
    }
}
