//! From the growing tree to the finished one.

use traceloom_model::Merge;

use super::arena::{Arena, NONE, ROOT};
use super::{CallTree, Measure, Node, Symbol, SymbolId};

/// Adds a finished node's values to a growing one. Totals of minima and maxima are settled afterwards.
pub(super) fn add(arena: &mut Arena, at: u32, node: &Node, merge: Merge) {
    if node.partial > 0 {
        *arena.partial.entry(at).or_default() += node.partial;
    }
    if merge != Merge::Sum {
        if node.count > 0 {
            arena.combine(at, node.own, node.count, merge);
        }
        return;
    }
    let row = arena.node_mut(at);
    row.total = row.total.saturating_add(node.total);
    row.own = row.own.saturating_add(node.own);
    row.count = row.count.saturating_add(node.count);
}

/// Lays the nodes depth first, siblings by falling total, then name. Keys are symbol numbers.
pub(super) fn flatten(
    arena: &Arena,
    measure: Measure,
    symbols: Vec<Symbol>,
    total: i64,
) -> CallTree {
    let name = |node: u32| {
        let symbol = symbols.get(arena.node(node).key as usize);
        symbol.map_or("", |symbol| symbol.name.as_str())
    };
    let mut nodes: Vec<Node> = Vec::with_capacity(arena.len().saturating_sub(1));
    let mut open: Vec<u32> = Vec::new();
    let mut work = vec![(ROOT, 0_u32)];
    let mut children = Vec::new();
    while let Some((from, depth)) = work.pop() {
        let number = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
        let row = arena.node(from);
        if from != ROOT {
            close(&mut nodes, &mut open, depth - 1, number);
            nodes.push(Node {
                symbol: SymbolId(row.key),
                parent: open.last().copied(),
                depth: depth - 1,
                end: number,
                total: row.total,
                own: row.own,
                count: row.count,
                partial: arena.partial.get(&from).copied().unwrap_or(0),
            });
            open.push(number);
        }
        children.clear();
        let mut child = row.first_child;
        while child != NONE {
            children.push(child);
            child = arena.node(child).next_sibling;
        }
        children.sort_unstable_by(|&a, &b| {
            let order = arena.node(a).total.cmp(&arena.node(b).total);
            order
                .then_with(|| name(b).cmp(name(a)))
                .then_with(|| arena.node(b).key.cmp(&arena.node(a).key))
        });
        work.extend(children.iter().map(|&child| (child, depth + 1)));
    }
    let end = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
    close(&mut nodes, &mut open, 0, end);
    CallTree {
        measure,
        symbols,
        nodes,
        total,
    }
}

fn close(nodes: &mut [Node], open: &mut Vec<u32>, depth: u32, end: u32) {
    while open.len() > depth as usize {
        if let Some(node) = open.pop().and_then(|at| nodes.get_mut(at as usize)) {
            node.end = end;
        }
    }
}
