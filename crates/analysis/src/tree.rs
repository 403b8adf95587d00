//! Tree views: which nodes a person sees, and the tree upside down.

use crate::calltree::{Added, grow};
use crate::{CallTree, SymbolId};

/// Callers followed from one function upwards; deeper ones add up in the last.
const CALLERS: usize = 512;

/// A node to show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Visible {
    /// Its number in [`CallTree::nodes`].
    pub node: u32,
    /// Callees that were left out for being too small.
    pub omitted: u32,
    /// Their values together.
    pub omitted_total: i64,
}

/// Returns the nodes of which the total is at least `min_percent` of the whole, callers first.
///
/// Where shares mean nothing (minima, an empty whole) every node is shown.
#[must_use]
pub fn visible(tree: &CallTree, min_percent: f64) -> Vec<Visible> {
    let mut shown: Vec<Visible> = Vec::new();
    // Rows in `shown` of the path to the current node.
    let mut path: Vec<usize> = Vec::new();
    let mut number = 0;
    while let Some(node) = tree.nodes.get(number as usize) {
        path.truncate(node.depth as usize);
        let small = tree
            .percent(node.total)
            .is_some_and(|percent| percent.abs() < min_percent);
        if small {
            if let Some(caller) = path.last().and_then(|&row| shown.get_mut(row)) {
                caller.omitted += 1;
                caller.omitted_total = caller.omitted_total.saturating_add(node.total);
            }
            number = node.end;
            continue;
        }
        path.push(shown.len());
        shown.push(Visible {
            node: number,
            omitted: 0,
            omitted_total: 0,
        });
        number += 1;
    }
    shown
}

/// Returns the tree upside down: roots are functions with their own value, below them who called.
///
/// A root's total is what [`crate::top`] shows as the function's own value. A node's own value is the
/// part that began there, in a root of the original. 100 % is the original's. Groups stay where they are.
#[must_use]
pub fn bottom_up(tree: &CallTree) -> CallTree {
    let mut path: Vec<SymbolId> = Vec::new();
    let grounds = usize::from(tree.is_grouped());
    grow(tree, |add| {
        for (number, node) in (0..).zip(&tree.nodes) {
            path.truncate(node.depth as usize);
            path.push(node.symbol);
            if node.own == 0 && node.count == 0 {
                continue;
            }
            let (ground, callers) = path.split_at(grounds.min(path.len()));
            let callers = callers.iter().rev().take(CALLERS);
            let mut path = ground.iter().chain(callers).copied();
            add(&mut path, &Added::of(tree, number, |node| node.own));
        }
    })
}
