//! The aggregated call tree: who called whom, how often, for how long.

mod arena;
mod build;
mod cover;
mod dimension;
mod flatten;
mod function_rows;
mod functions;
mod ground;
mod named;
mod naming;
mod no_row;
mod over_time;
mod path_tree;
mod samples;
mod select;
mod spans;
mod stack_rows;
mod step_sums;
mod steps;
mod thin;
mod top;
mod tracks;
mod trees;
mod trees_sum;

pub use build::TreeBuilder;
pub use dimension::Dimension;
pub use ground::{GroupBy, NoGroup};
pub use named::SymbolTable;
pub(crate) use over_time::places_by;
pub use over_time::{NodeStretch, OverTime, OverTimeCollector};
pub use select::{FrameFilter, Predicate};
pub use top::{Durations, Functions, GroupTop, TopRow, top, top_of_groups};
pub(crate) use top::{inclusive_counts, rest_of};
pub use tracks::{Shown, choose_tracks};
pub use trees::{TreeOptions, Trees};
pub use trees_sum::TreesSum;

pub(crate) use arena::{Arena, ArenaNode};
pub(crate) use flatten::{add, add_of, flatten};
pub(crate) use ground::{Grounds, STATEMENTS, thread_name};
pub(crate) use samples::settle;
pub(crate) use spans::{SpanFeed, TreeSpan, children_first};

use arena::ROOT;

use traceloom_model::Merge;
use traceloom_model::bounds::row_number;

use crate::Sketch;
use crate::measure::{Measure, TreeSource};
use crate::symbol::{Symbol, SymbolId, SymbolInterner};

/// Returns what shares are of: the total, or where values below zero cancel others out, what all functions come to by
/// themselves without their signs. A difference of profiles has a total near zero, of which everything is a multiple.
/// Where the samples of its base are marked, shares are of these, as pprof has them.
pub(crate) fn whole(
    total: i64,
    base: i64,
    n_symbols: usize,
    own: impl Iterator<Item = (SymbolId, i64)> + Clone,
) -> i64 {
    if base > 0 {
        return base;
    }
    if own.clone().all(|(_, own)| own >= 0) {
        return total;
    }
    let mut sums = vec![0_i64; n_symbols];
    for (symbol, own) in own {
        if let Some(sum) = sums.get_mut(symbol.index()) {
            *sum = sum.saturating_add(own);
        }
    }
    let sizes = sums.iter().map(|sum| sum.saturating_abs());
    sizes.fold(0, i64::saturating_add)
}

pub(crate) const fn shares_of(total: i64, whole: i64, base: i64) -> Option<(&'static str, i64)> {
    match (base, whole) {
        (1.., _) => Some(("base", base)),
        _ if whole != total => Some(("changes", whole)),
        _ => None,
    }
}

/// One function called along one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// The function.
    pub symbol: SymbolId,
    /// The caller's node; none for a root.
    pub parent: Option<u32>,
    /// Callers above it.
    pub depth: u32,
    /// Number of the first node after this one's descendants.
    pub end: u32,
    /// Value of the function and all it called along this path.
    pub total: i64,
    /// Value of the function itself; for spans never negative.
    pub own: i64,
    /// Calls, or samples whose innermost frame this is.
    pub count: u64,
    /// Calls of which the start or the end was not recorded.
    pub partial: u64,
}

/// A finished tree.
///
/// Nodes lie in depth-first order, callers before callees, siblings by falling total: a subtree is the
/// range from a node to its `end`, every view is one pass over a slice, and no depth overflows a stack.
/// Every view takes its totals from here, which is why they agree.
#[derive(Clone, Debug, PartialEq)]
pub struct CallTree {
    /// What the values are.
    pub measure: Measure,
    /// Functions; [`Node::symbol`] points here.
    pub symbols: Vec<Symbol>,
    /// Nodes, depth first.
    pub nodes: Vec<Node>,
    /// How long the calls of each node took, partial ones left out: one for each node where
    /// [`TreeOptions::durations`] asked for them and there were calls, else empty.
    pub durations: Vec<Sketch>,
    /// 100 %: the roots together.
    pub total: i64,
    /// What shares are of: the total, unless values below zero cancel others out or the base of a difference is known.
    pub whole: i64,
    /// What the samples of the base of a difference came to, without signs; 0 where none is marked as such.
    pub base: i64,
    /// What nodes came to that are not in the tree because they were the narrowest ([`TreeOptions::most`]), a row for each
    /// function: a total is of what no kept node of the same function is around.
    pub rest: Vec<TopRow>,
}

impl CallTree {
    /// A tree without nodes.
    #[must_use]
    pub fn empty(measure: Measure) -> Self {
        Self {
            measure,
            symbols: Vec::new(),
            nodes: Vec::new(),
            durations: Vec::new(),
            total: 0,
            whole: 0,
            base: 0,
            rest: Vec::new(),
        }
    }

    /// Returns what shares are of where it is not the total: `changes` or `base`, and what that came to.
    #[must_use]
    pub fn shares_of(&self) -> Option<(&'static str, i64)> {
        shares_of(self.total, self.whole, self.base)
    }

    /// Returns the symbol of a row that came from this tree.
    ///
    /// # Panics
    /// When `id` belongs to another, larger tree.
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "documented")]
    pub fn symbol(&self, id: SymbolId) -> &Symbol {
        &self.symbols[id.index()]
    }

    /// Returns the names of all functions; groups are none.
    pub fn function_names(&self) -> impl Iterator<Item = &str> + Clone {
        let functions = self.symbols.iter().filter(|symbol| !symbol.group);
        functions.map(|symbol| symbol.name.as_str())
    }

    /// Returns `true` if frames stand for lines, as far as the producer wrote them.
    #[must_use]
    pub fn has_lines(&self) -> bool {
        self.symbols.iter().any(|symbol| symbol.is_line)
    }

    /// Returns `true` if no call and no sample is in it: groups alone are nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let holds = |node: &Node| node.count > 0 || node.total != 0 || node.own != 0;
        !self.nodes.iter().any(holds)
    }

    /// Returns `value` as a share of the whole, in percent; none where shares mean nothing.
    #[must_use]
    pub fn percent(&self, value: i64) -> Option<f64> {
        self.measure.percent(value, self.whole)
    }

    /// Iterates over the numbers of the roots.
    pub fn roots(&self) -> impl Iterator<Item = u32> {
        self.siblings(0, row_number(self.nodes.len()))
    }

    /// Iterates over the numbers of the callees of node `of`, by falling total.
    pub fn children(&self, of: u32) -> impl Iterator<Item = u32> {
        let end = self.nodes.get(of as usize).map_or(0, |node| node.end);
        self.siblings(of.saturating_add(1), end)
    }

    fn siblings(&self, first: u32, end: u32) -> impl Iterator<Item = u32> {
        let mut at = first;
        std::iter::from_fn(move || {
            let node = self.nodes.get(at as usize).filter(|_| at < end)?;
            Some(std::mem::replace(&mut at, node.end))
        })
    }

    /// Returns true if the roots are groups of calls or samples ([`TreeOptions::by`]).
    #[must_use]
    pub fn is_grouped(&self) -> bool {
        let first = self.nodes.first();
        first.is_some_and(|node| self.symbol(node.symbol).group)
    }

    /// Iterates over a node and those that called it, groups left out.
    pub(crate) fn callers<'t>(&'t self, node: &'t Node) -> impl Iterator<Item = &'t Node> {
        let least = u32::from(self.is_grouped());
        std::iter::successors(Some(node), |node| self.nodes.get(node.parent? as usize))
            .take_while(move |node| node.depth >= least)
    }

    /// Returns the calls of a node, or its samples; of a group those that are in it and in no other of its calls.
    #[must_use]
    pub fn count(&self, number: u32) -> u64 {
        let Some(node) = self.nodes.get(number as usize) else {
            return 0;
        };
        if !self.symbol(node.symbol).group {
            return node.count;
        }
        let outermost = self.outermost(number);
        outermost.fold(0, |sum, (_, one)| sum.saturating_add(one.count))
    }

    /// Iterates over what a group consists of: all that was sampled, or the calls that no other call of it is
    /// around. Callers in other groups have no calls in this one.
    pub(crate) fn outermost(&self, group: u32) -> impl Iterator<Item = (u32, &Node)> {
        let end = self.nodes.get(group as usize).map_or(0, |node| node.end);
        let all = self.measure.source == TreeSource::Samples;
        let mut at = group.saturating_add(1);
        std::iter::from_fn(move || {
            loop {
                let node = self.nodes.get(at as usize).filter(|_| at < end)?;
                let (number, counts) = (at, node.count > 0);
                at = if counts && !all { node.end } else { at + 1 };
                if counts {
                    return Some((number, node));
                }
            }
        })
    }

    /// Adds another tree of the same measure: the other half of a parallel read, or another file.
    ///
    /// Functions are the same when their names are.
    pub fn merge(&mut self, other: &Self) {
        self.merge_all(std::slice::from_ref(other));
    }

    /// Adds other trees of the same measure.
    fn merge_all(&mut self, others: &[Self]) {
        if others.is_empty() {
            return;
        }
        let mut symbols = SymbolInterner::default();
        let own = std::mem::take(&mut self.symbols).into_iter();
        let mut own = Some(own.map(|symbol| symbols.intern(symbol)).collect());
        let all = || std::iter::once(&*self).chain(others);
        let n_nodes = all().map(|tree| tree.nodes.len()).sum();
        let mut arena = Arena::of_at_most(n_nodes);
        arena.base = all().fold(0, |base, tree| base.saturating_add(tree.base));
        let total = all().fold(0, |total: i64, tree| total.saturating_add(tree.total));
        let mut rest = Vec::new();
        for tree in all() {
            let ids: Vec<u32> = own.take().unwrap_or_else(|| {
                let named = tree.symbols.iter();
                named.map(|symbol| symbols.intern_ref(symbol)).collect()
            });
            rest.extend(tree.rest.iter().map(|row| TopRow {
                symbol: SymbolId(ids.get(row.symbol.index()).copied().unwrap_or(0)),
                ..*row
            }));
            let mut path = Vec::new();
            for (number, node) in (0..).zip(&tree.nodes) {
                path.truncate(node.depth as usize);
                let parent = path.last().copied().unwrap_or(ROOT);
                let key = ids.get(node.symbol.index()).copied().unwrap_or(0);
                let at = arena.child(parent, key);
                path.push(at);
                flatten::add_of(&mut arena, at, tree, number);
            }
        }
        // What adds up does so in totals too, and what was taken out of a tree is in no other value.
        let total = match self.measure.merge {
            Merge::Sum => total,
            _ => samples::settle(&mut arena, &self.measure),
        };
        let measure = self.measure.clone();
        let sum = flatten::flatten(arena, measure, symbols.into_rows(), total, |symbol| symbol);
        *self = sum.with_rest(rest);
    }

    /// Returns how many calls or samples there are, in nodes and in none.
    pub(crate) fn n_counted(&self) -> u64 {
        let counts = self.nodes.iter().map(|node| node.count);
        let rest = self.rest.iter().map(|row| row.count);
        counts.chain(rest).fold(0, u64::saturating_add)
    }

    /// Has what functions came to in nodes that are not there.
    fn with_rest(self, rest: Vec<TopRow>) -> Self {
        let rest = top::joined(rest);
        let (total, base, n_symbols) = (self.total, self.base, self.symbols.len());
        let of_nodes = self.nodes.iter().map(|node| (node.symbol, node.own));
        let own = of_nodes.chain(rest.iter().map(|row| (row.symbol, row.own)));
        let whole = whole(total, base, n_symbols, own);
        Self {
            whole,
            rest,
            ..self
        }
    }
}

/// What is added to each node of a path: a value, a count, and what else is known of a node.
pub(crate) struct Added<'t> {
    pub value: i64,
    pub count: u64,
    pub partial: u64,
    pub durations: Option<&'t Sketch>,
}

impl<'t> Added<'t> {
    /// A value of node `number`.
    pub(crate) fn of(tree: &'t CallTree, number: u32, value: impl Fn(&Node) -> i64) -> Self {
        let node = tree.nodes.get(number as usize);
        Self {
            value: node.map_or(0, value),
            count: node.map_or(0, |node| node.count),
            partial: node.map_or(0, |node| node.partial),
            durations: tree.durations.get(number as usize),
        }
    }
}

/// Takes one path of an upside-down tree.
pub(crate) type AddPath<'a> = &'a mut dyn FnMut(&mut dyn Iterator<Item = SymbolId>, &Added<'_>);

/// Builds a tree with the symbols of `of` from paths, adding each value to every node on its path.
pub(crate) fn grow(of: &CallTree, fill: impl FnOnce(AddPath<'_>)) -> CallTree {
    let mut arena = Arena::new();
    arena.base = of.base;
    let merge = of.measure.merge;
    fill(&mut |path, added| {
        let &Added {
            value,
            count,
            partial,
            durations,
        } = added;
        let mut at = ROOT;
        for symbol in path {
            at = arena.child(at, symbol.0);
            let row = arena.node_mut(at);
            row.total = match merge {
                Merge::Sum => row.total.saturating_add(value),
                _ if row.count == 0 => value,
                Merge::Min => row.total.min(value),
                Merge::Max => row.total.max(value),
            };
            row.count = row.count.saturating_add(count);
            if partial > 0 {
                *arena.partial.entry(at).or_default() += partial;
            }
            if let Some(durations) = durations {
                arena.take_durations(at, durations);
            }
        }
        let row = arena.node_mut(at);
        row.own = row.own.saturating_add(value);
    });
    flatten::flatten(
        arena,
        of.measure.clone(),
        of.symbols.clone(),
        of.total,
        |symbol| symbol,
    )
}

#[cfg(test)]
mod tests;
