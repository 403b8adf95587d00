//! A growing tree that holds so many nodes: the narrowest of more are added up function by function.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use traceloom_model::Recording;

use super::arena::{Arena, ArenaNode, ROOT};
use super::function_rows::FunctionRows;
use super::top::TopRow;

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
