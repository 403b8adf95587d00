//! A growing tree that holds so many nodes: the narrowest of more are added up function by function.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use traceloom_model::bounds::row_number;
use traceloom_model::{Merge, Recording};

use super::CallTree;
use super::arena::{Arena, ArenaNode, ROOT};
use super::function_rows::FunctionRows;
use super::top::{TopRow, rest_of};

/// Nodes that were taken out of a tree, by function, and which are next.
#[derive(Debug)]
pub(super) struct TreeThinning {
    /// Most nodes that are held; 0 holds all.
    most: usize,
    rows: FunctionRows,
}

/// One step of a walk over a tree.
enum WalkStep {
    Enter { node: u32, is_cut: bool },
    Leave { function: u32 },
}

impl TreeThinning {
    pub fn new(most: usize, alike: bool) -> Self {
        Self {
            most,
            rows: FunctionRows::new(alike),
        }
    }

    /// Returns the functions of what was taken out by their keys.
    pub fn into_rows(self) -> Vec<(u32, TopRow)> {
        self.rows.into_rows()
    }

    /// Returns true if the tree has too many nodes.
    pub fn is_due(&self, arena: &Arena) -> bool {
        self.most > 0 && arena.in_use() > self.most
    }

    /// Takes the narrowest nodes out, with all below them, where there are too many. Roots stay, so that the tree comes
    /// to the same, and so do the callers of `last`, to which more may come. No call that is open may have a node.
    pub fn thin(&mut self, arena: &mut Arena, tables: &Recording, last: u32) {
        if !self.is_due(arena) {
            return;
        }
        let keep = self.most / 4;
        let totals = arena.inner_totals();
        let mut totals: Vec<u64> = totals.map(i64::unsigned_abs).collect();
        if let Some(at) = totals.len().checked_sub(keep + 1) {
            let border = *totals.select_nth_unstable(at).1;
            let on_path = arena.callers(last).collect();
            self.cut(arena, tables, border, &on_path);
            arena.tidy();
        }
        // Children of spans that have not ended are in no tree yet.
        self.most = self.most.max(arena.in_use().saturating_mul(4) / 3);
    }

    /// Takes out what comes to no more than `border` and is not on the path at hand.
    fn cut(
        &mut self,
        arena: &mut Arena,
        tables: &Recording,
        border: u64,
        on_path: &HashSet<u32, RandomState>,
    ) {
        let mut work = vec![WalkStep::Enter {
            node: ROOT,
            is_cut: false,
        }];
        let mut children = Vec::new();
        while let Some(step) = work.pop() {
            let (node, is_cut) = match step {
                WalkStep::Enter { node, is_cut } => (node, is_cut),
                WalkStep::Leave { function } => {
                    self.rows.leave(function);
                    continue;
                }
            };
            if node != ROOT {
                let function = self.enter(arena, tables, node, is_cut);
                work.push(WalkStep::Leave { function });
            }
            let is_kept = |child: u32, row: &ArenaNode| match (node, is_cut) {
                (_, true) => false,
                (ROOT, _) => true,
                _ => row.total.unsigned_abs() > border || on_path.contains(&child),
            };
            arena.split_children(node, is_kept, &mut children);
            let enter = |(node, is_cut)| WalkStep::Enter { node, is_cut };
            work.extend(children.drain(..).map(enter));
            if is_cut {
                arena.release(node);
            }
        }
    }

    /// Adds a node to the path, and to its function where it is cut; returns the number of the function.
    fn enter(&mut self, arena: &Arena, tables: &Recording, node: u32, is_cut: bool) -> u32 {
        let row = arena.node(node);
        let function = self.rows.number(tables, row.key);
        let Some(known) = self.rows.row(function) else {
            return function;
        };
        let is_outermost = known.enter();
        if is_cut {
            let sum = known.sum(row.key);
            sum.own = sum.own.saturating_add(row.own);
            sum.count = sum.count.saturating_add(row.count);
            sum.partial = sum.partial.saturating_add(arena.partial_of(node));
            if is_outermost {
                sum.total = sum.total.saturating_add(row.total);
            }
        }
        function
    }
}

impl CallTree {
    /// Takes the narrowest nodes out, with all below them, where there are more than `most`. Roots are left, and at most half of
    /// `most` beside them: of equally wide ones all stay or none. A tree of values that do not add up is left as it is, and
    /// so is one of which it is known how long calls took.
    pub(super) fn thin(&mut self, most: usize) {
        let is_kept_whole = self.measure.merge != Merge::Sum || !self.durations.is_empty();
        if is_kept_whole || self.nodes.len() <= most {
            return;
        }
        let inner = self.nodes.iter().filter(|node| node.parent.is_some());
        let mut totals: Vec<u64> = inner.map(|node| node.total.unsigned_abs()).collect();
        let Some(at) = totals.len().checked_sub(most / 2 + 1) else {
            return;
        };
        let border = *totals.select_nth_unstable(at).1;
        drop(totals);
        let mut is_shown = Vec::with_capacity(self.nodes.len());
        // How many are shown of those before each node, and of all.
        let mut numbers = Vec::with_capacity(self.nodes.len() + 1);
        let mut n_shown = 0;
        for node in &self.nodes {
            let is_below = |parent: u32| is_shown.get(parent as usize) == Some(&true);
            let is_wide = |parent| is_below(parent) && node.total.unsigned_abs() > border;
            let shown = node.parent.is_none_or(is_wide);
            is_shown.push(shown);
            numbers.push(row_number(n_shown));
            n_shown += usize::from(shown);
        }
        numbers.push(row_number(n_shown));
        self.rest = rest_of(self, &is_shown);
        let number = |of: u32| numbers.get(of as usize).copied().unwrap_or(0);
        let mut shown = is_shown.into_iter();
        self.nodes.retain_mut(|node| {
            node.parent = node.parent.map(number);
            node.end = number(node.end);
            shown.next() == Some(true)
        });
        self.nodes.shrink_to_fit();
    }
}
