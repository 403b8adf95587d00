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
    let largest = largest_below(tree);
    let mut shown: Vec<Visible> = Vec::new();
    // Rows in `shown` of the path to the current node.
    let mut path: Vec<usize> = Vec::new();
    let mut number = 0;
    while let Some(node) = tree.nodes.get(number as usize) {
        path.truncate(node.depth as usize);
        let size = largest.get(number as usize).copied();
        let small = tree
            .percent(size.unwrap_or(node.total))
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

/// Returns the largest total, without its sign, of each node and those below it; empty where no value is below zero,
/// because nothing is then larger than its caller.
fn largest_below(tree: &CallTree) -> Vec<i64> {
    match tree.whole == tree.total {
        true => Vec::new(),
        false => subtree_maxima(tree),
    }
}

/// Returns the largest total, without its sign, of each node and those below it.
fn subtree_maxima(tree: &CallTree) -> Vec<i64> {
    let nodes = tree.nodes.iter();
    let mut largest: Vec<i64> = nodes.map(|node| node.total.saturating_abs()).collect();
    for (at, node) in tree.nodes.iter().enumerate().rev() {
        let own = largest.get(at).copied().unwrap_or(0);
        let caller = node
            .parent
            .and_then(|parent| largest.get_mut(parent as usize));
        if let Some(caller) = caller {
            *caller = own.max(*caller);
        }
    }
    largest
}

/// Keeps the `most` largest of the nodes that [`visible`] returned, callers of those kept among them.
pub fn keep_largest(tree: &CallTree, shown: &mut Vec<Visible>, most: usize) {
    if shown.len() <= most {
        return;
    }
    let sizes = subtree_maxima(tree);
    let size = |row: &Visible| sizes.get(row.node as usize).copied().unwrap_or(0);
    // A caller is as large as the largest below it and stands before that.
    let mut order: Vec<usize> = (0..shown.len()).collect();
    order.sort_by_key(|&at| (std::cmp::Reverse(shown.get(at).map(size)), at));
    let mut kept = vec![false; shown.len()];
    for at in order.into_iter().take(most) {
        if let Some(kept) = kept.get_mut(at) {
            *kept = true;
        }
    }
    // Rows of the path to the current node, none for those that go.
    let mut path: Vec<Option<usize>> = Vec::new();
    let mut left: Vec<Visible> = Vec::with_capacity(most);
    for (row, kept) in shown.iter().zip(kept) {
        let Some(node) = tree.nodes.get(row.node as usize) else {
            continue;
        };
        path.truncate(node.depth as usize);
        if kept {
            path.push(Some(left.len()));
            left.push(*row);
            continue;
        }
        let caller = path.last().copied().flatten();
        if let Some(caller) = caller.and_then(|at| left.get_mut(at)) {
            caller.omitted += 1;
            caller.omitted_total = caller.omitted_total.saturating_add(node.total);
        }
        path.push(None);
    }
    *shown = left;
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
