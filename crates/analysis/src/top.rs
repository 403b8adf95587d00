//! The table of functions: self, total, calls or samples.

use crate::{CallTree, SymbolId};
use traceloom_model::Merge;

/// One function over all its paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TopRow {
    /// The function.
    pub symbol: SymbolId,
    /// Value of the function itself.
    pub own: i64,
    /// Value of the function and what it called; a recursion counts once, at its outermost call.
    pub total: i64,
    /// Calls, recursive ones included, or samples whose innermost frame it is.
    pub count: u64,
    /// Calls of which the start or the end was not recorded.
    pub partial: u64,
}

/// Returns a row for each function, by falling own value, then total, then name.
#[must_use]
pub fn top(tree: &CallTree) -> Vec<TopRow> {
    let mut rows: Vec<Option<TopRow>> = vec![None; tree.symbols.len()];
    // How often a function is on the path to the current node, and the path itself.
    let mut on_path = vec![0_u32; tree.symbols.len()];
    let mut path: Vec<SymbolId> = Vec::new();
    for node in &tree.nodes {
        while path.len() > node.depth as usize {
            let left = path
                .pop()
                .and_then(|symbol| on_path.get_mut(symbol.index()));
            if let Some(times) = left {
                *times -= 1;
            }
        }
        path.push(node.symbol);
        let (Some(row), Some(times)) = (
            rows.get_mut(node.symbol.index()),
            on_path.get_mut(node.symbol.index()),
        ) else {
            continue;
        };
        let outermost = *times == 0;
        *times += 1;
        match row {
            None => {
                *row = Some(TopRow {
                    symbol: node.symbol,
                    own: node.own,
                    total: node.total,
                    count: node.count,
                    partial: node.partial,
                });
            }
            Some(row) => {
                row.own = join(tree.measure.merge, row.own, node.own, row.count, node.count);
                if outermost || tree.measure.merge != Merge::Sum {
                    row.total = join(tree.measure.merge, row.total, node.total, 1, 1);
                }
                row.count = row.count.saturating_add(node.count);
                row.partial = row.partial.saturating_add(node.partial);
            }
        }
    }
    let mut rows: Vec<TopRow> = rows.into_iter().flatten().collect();
    rows.sort_by(|a, b| {
        b.own
            .cmp(&a.own)
            .then(b.total.cmp(&a.total))
            .then_with(|| tree.symbol(a.symbol).name.cmp(&tree.symbol(b.symbol).name))
    });
    rows
}

/// Combines two values; a value nobody recorded has no part in a minimum or maximum.
fn join(merge: Merge, a: i64, b: i64, count_a: u64, count_b: u64) -> i64 {
    match merge {
        Merge::Sum => a.saturating_add(b),
        _ if count_b == 0 => a,
        _ if count_a == 0 => b,
        Merge::Min => a.min(b),
        Merge::Max => a.max(b),
    }
}
