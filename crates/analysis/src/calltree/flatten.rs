//! From the growing tree to the finished one.

use traceloom_model::Merge;
use traceloom_model::bounds::row_number;

use super::arena::{Arena, NONE, ROOT};
use super::{CallTree, Measure, Node, Symbol, SymbolId};

/// Adds node `number` of a finished tree to a growing one, with how long its calls took.
pub(crate) fn add_of(arena: &mut Arena, at: u32, tree: &CallTree, number: u32) {
    let Some(node) = tree.nodes.get(number as usize) else {
        return;
    };
    add(arena, at, node, tree.measure.merge);
    if let Some(durations) = tree.durations.get(number as usize) {
        arena.take_durations(at, durations);
    }
}

/// Adds a finished node's values to a growing one. Totals of minima and maxima are settled afterwards.
pub(crate) fn add(arena: &mut Arena, at: u32, node: &Node, merge: Merge) {
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

/// Lays the nodes depth first, siblings by falling size of their total, then name.
///
/// `symbol_of` turns keys into symbol numbers; siblings whose keys turn out to be one symbol are joined on
/// the way, with all they called.
pub(crate) fn flatten(
    mut arena: Arena,
    measure: Measure,
    symbols: Vec<Symbol>,
    total: i64,
    symbol_of: impl Fn(u32) -> u32,
) -> CallTree {
    let mut siblings = ChildNodes::new(arena.len(), symbols.len());
    let mut nodes: Vec<Node> = Vec::with_capacity(arena.len().saturating_sub(1));
    let mut durations = Vec::new();
    let timed = arena.is_timed();
    let mut open: Vec<u32> = Vec::new();
    let mut work = vec![(ROOT, 0_u32)];
    while let Some((from, depth)) = work.pop() {
        let number = row_number(nodes.len());
        if from != ROOT {
            let row = arena.node(from);
            close(&mut nodes, &mut open, depth - 1, number);
            nodes.push(Node {
                symbol: SymbolId(row.key),
                parent: open.last().copied(),
                depth: depth - 1,
                end: number,
                total: row.total,
                own: row.own,
                count: row.count,
                partial: arena.partial_of(from),
            });
            open.push(number);
            if timed {
                durations.push(arena.durations_of(from));
            }
        }
        siblings.collect(&mut arena, from, measure.merge, &symbol_of);
        siblings.sort(&arena, &symbols);
        work.extend(siblings.children.iter().map(|&child| (child, depth + 1)));
    }
    let end = row_number(nodes.len());
    close(&mut nodes, &mut open, 0, end);
    let own = nodes.iter().map(|node| (node.symbol, node.own));
    CallTree {
        whole: super::whole(total, arena.base, symbols.len(), own),
        base: arena.base,
        measure,
        symbols,
        nodes,
        durations,
        total,
        rest: Vec::new(),
    }
}

/// The children of one node of the finished tree.
struct ChildNodes {
    /// One node of the arena for each child; it holds the values of all that were joined.
    children: Vec<u32>,
    /// The next node joined to a node.
    joined: Vec<u32>,
    /// For each symbol the round in which it was met last, and its node.
    met: Vec<(u32, u32)>,
    round: u32,
}

impl ChildNodes {
    fn new(nodes: usize, symbols: usize) -> Self {
        Self {
            children: Vec::new(),
            joined: vec![NONE; nodes],
            met: vec![(0, NONE); symbols],
            round: 0,
        }
    }

    /// Finds the children of `of` and of the nodes joined to it.
    #[expect(
        clippy::indexing_slicing,
        reason = "one entry for each node and each symbol"
    )]
    fn collect(
        &mut self,
        arena: &mut Arena,
        of: u32,
        merge: Merge,
        symbol_of: impl Fn(u32) -> u32,
    ) {
        self.children.clear();
        self.round += 1;
        let mut member = of;
        while member != NONE {
            let mut child = arena.node(member).first_child;
            while child != NONE {
                let row = arena.node_mut(child);
                row.key = symbol_of(row.key);
                let next = row.next_sibling;
                let met = &mut self.met[row.key as usize];
                if met.0 == self.round {
                    arena.join(child, met.1, merge);
                    self.joined[child as usize] = self.joined[met.1 as usize];
                    self.joined[met.1 as usize] = child;
                } else {
                    *met = (self.round, child);
                    self.children.push(child);
                }
                child = next;
            }
            member = self.joined[member as usize];
        }
    }

    /// Puts the one to be laid first last.
    fn sort(&mut self, arena: &Arena, symbols: &[Symbol]) {
        if self.children.len() < 2 {
            return;
        }
        let name = |node: u32| {
            let symbol = symbols.get(arena.node(node).key as usize);
            symbol.map_or("", |symbol| symbol.name.as_str())
        };
        self.children.sort_unstable_by(|&a, &b| {
            let (one, other) = (arena.node(a).total, arena.node(b).total);
            let order = one.unsigned_abs().cmp(&other.unsigned_abs());
            order
                .then_with(|| one.cmp(&other))
                .then_with(|| name(b).cmp(name(a)))
                .then_with(|| arena.node(b).key.cmp(&arena.node(a).key))
        });
    }
}

fn close(nodes: &mut [Node], open: &mut Vec<u32>, depth: u32, end: u32) {
    while open.len() > depth as usize {
        if let Some(node) = open.pop().and_then(|at| nodes.get_mut(at as usize)) {
            node.end = end;
        }
    }
}
