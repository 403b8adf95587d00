//! The table of functions: self, total, calls or samples.

use std::cmp::Ordering;
use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::SymbolTable;
use crate::symbol::SymbolInterner;
use crate::{CallTree, Measure, Node, Sketch, Symbol, SymbolId, TreeSource};
use traceloom_model::Merge;
use traceloom_model::bounds::subslice;

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

impl TopRow {
    /// Compares two rows: the one with the larger own value first, then by total. A loss is as large as the same gain:
    /// the most of a difference of profiles comes first.
    #[must_use]
    pub fn by_value(&self, other: &Self) -> Ordering {
        let size = |row: &Self| (row.own.unsigned_abs(), row.total.unsigned_abs());
        let signed = |row: &Self| (row.own, row.total);
        let by_size = size(other).cmp(&size(self));
        by_size.then(signed(other).cmp(&signed(self)))
    }
}

/// Returns a row for each function, by falling own value, then total, then name; groups have none.
#[must_use]
pub fn top(tree: &CallTree) -> Vec<TopRow> {
    let mut folding = Folding::new(tree);
    for row in &tree.rest {
        if let Some(slot) = folding.rows.get_mut(row.symbol.index()) {
            *slot = Some(*row);
            folding.met.push(row.symbol);
        }
    }
    folding.rows(&tree.nodes)
}

/// Returns what functions came to in the nodes that are not shown, with what is in no node at all. Nothing that is below a
/// node that is not shown is.
pub(crate) fn rest_of(tree: &CallTree, is_shown: &[bool]) -> Vec<TopRow> {
    let mut rest = tree.rest.clone();
    if tree.measure.merge != Merge::Sum {
        return rest;
    }
    let mut folding = Folding::new(tree);
    for (node, is_shown) in tree.nodes.iter().zip(is_shown) {
        folding.leave(node.depth);
        folding.path.push(node.symbol);
        let Some(times) = folding.on_path.get_mut(node.symbol.index()) else {
            continue;
        };
        *times += 1;
        if !is_shown {
            rest.push(TopRow {
                symbol: node.symbol,
                own: node.own,
                total: if *times == 1 { node.total } else { 0 },
                count: node.count,
                partial: node.partial,
            });
        }
    }
    joined(rest)
}

/// Adds up rows of the same function; they are in the order of their symbols then.
pub(super) fn joined(mut rows: Vec<TopRow>) -> Vec<TopRow> {
    rows.sort_by_key(|row| row.symbol);
    rows.dedup_by(|row, sum| {
        let is_same = row.symbol == sum.symbol;
        if is_same {
            sum.own = sum.own.saturating_add(row.own);
            sum.total = sum.total.saturating_add(row.total);
            sum.count = sum.count.saturating_add(row.count);
            sum.partial = sum.partial.saturating_add(row.partial);
        }
        is_same
    });
    rows
}

/// Returns by symbol the calls or samples that a function was in, by itself or by what it called; a recursion counts at
/// its outermost call.
pub(crate) fn inclusive_counts(tree: &CallTree) -> Vec<u64> {
    // Callees stand after their callers.
    let mut inside: Vec<u64> = tree.nodes.iter().map(|node| node.count).collect();
    for (at, node) in tree.nodes.iter().enumerate().rev() {
        let own = inside.get(at).copied().unwrap_or(0);
        let parent = node.parent;
        if let Some(sum) = parent.and_then(|parent| inside.get_mut(parent as usize)) {
            *sum = sum.saturating_add(own);
        }
    }
    let mut all = vec![0_u64; tree.symbols.len()];
    let mut folding = Folding::new(tree);
    for (node, count) in tree.nodes.iter().zip(inside) {
        folding.leave(node.depth);
        folding.path.push(node.symbol);
        let at = node.symbol.index();
        if let (Some(times), Some(sum)) = (folding.on_path.get_mut(at), all.get_mut(at)) {
            if *times == 0 {
                *sum = sum.saturating_add(count);
            }
            *times += 1;
        }
    }
    all
}

/// The functions of one group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupTop {
    /// The group itself: its total, its calls or samples, and the own values of its functions together.
    pub sum: TopRow,
    /// A row for each of its functions, by falling own value.
    pub rows: Vec<TopRow>,
    /// How long its calls took, and those of its functions.
    pub durations: Durations,
}

/// How long the calls of functions and groups took; nothing where nobody asked or nothing was called.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Durations {
    of: HashMap<SymbolId, Sketch, RandomState>,
}

impl Durations {
    /// Returns true if there are any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Returns those of a function or group.
    #[must_use]
    pub fn get(&self, symbol: SymbolId) -> Option<&Sketch> {
        self.of.get(&symbol)
    }

    fn add(&mut self, symbol: SymbolId, durations: &Sketch) {
        self.of.entry(symbol).or_default().merge(durations);
    }

    /// Adds up the nodes in `range`.
    fn of(tree: &CallTree, range: std::ops::Range<usize>) -> Self {
        let mut all = Self::default();
        let nodes = subslice(&tree.nodes, range.clone());
        // There are none unless they were asked for.
        let durations = tree.durations.get(range).unwrap_or_default();
        for (node, durations) in nodes.iter().zip(durations) {
            all.add(node.symbol, durations);
        }
        all
    }
}

/// Returns the groups of a tree, by falling total, each with its functions.
#[must_use]
pub fn top_of_groups(tree: &CallTree) -> Vec<GroupTop> {
    let mut folding = Folding::new(tree);
    let roots = tree.roots().filter_map(|number| {
        let node = tree.nodes.get(number as usize)?;
        let nodes = tree.nodes.get(number as usize..node.end as usize)?;
        let rows = folding.rows(nodes);
        let merge = tree.measure.merge;
        let own = rows.iter().fold((0, 0), |(sum, count), row| {
            (join(merge, sum, row.own, count, row.count.max(1)), 1)
        });
        let mut partial = 0_u64;
        let mut durations = Durations::of(tree, number as usize + 1..node.end as usize);
        for (at, call) in tree.outermost(number) {
            partial = partial.saturating_add(call.partial);
            if let Some(call) = tree.durations.get(at as usize) {
                durations.add(node.symbol, call);
            }
        }
        let sum = TopRow {
            symbol: node.symbol,
            own: own.0,
            total: node.total,
            count: tree.count(number),
            partial,
        };
        Some(GroupTop {
            sum,
            rows,
            durations,
        })
    });
    roots.collect()
}

/// Adds up the nodes of functions.
struct Folding<'t> {
    tree: &'t CallTree,
    rows: Vec<Option<TopRow>>,
    /// Functions that have a row.
    met: Vec<SymbolId>,
    /// How often a function is on the path to the current node, and the path itself.
    on_path: Vec<u32>,
    path: Vec<SymbolId>,
}

impl<'t> Folding<'t> {
    fn new(tree: &'t CallTree) -> Self {
        Self {
            tree,
            rows: vec![None; tree.symbols.len()],
            met: Vec::new(),
            on_path: vec![0; tree.symbols.len()],
            path: Vec::new(),
        }
    }

    fn leave(&mut self, depth: u32) {
        while self.path.len() > depth as usize {
            let left = self.path.pop();
            let left = left.and_then(|symbol| self.on_path.get_mut(symbol.index()));
            if let Some(times) = left {
                *times -= 1;
            }
        }
    }

    /// Takes whole trees of calls; groups lie at depth 0 and are no callers.
    fn rows(&mut self, nodes: &[Node]) -> Vec<TopRow> {
        let merge = self.tree.measure.merge;
        for node in nodes {
            self.leave(node.depth);
            self.path.push(node.symbol);
            let (Some(row), Some(times)) = (
                self.rows.get_mut(node.symbol.index()),
                self.on_path.get_mut(node.symbol.index()),
            ) else {
                continue;
            };
            let outermost = *times == 0;
            *times += 1;
            match row {
                None => {
                    self.met.push(node.symbol);
                    *row = Some(TopRow {
                        symbol: node.symbol,
                        own: node.own,
                        total: node.total,
                        count: node.count,
                        partial: node.partial,
                    });
                }
                Some(row) => {
                    row.own = join(merge, row.own, node.own, row.count, node.count);
                    if outermost || merge != Merge::Sum {
                        row.total = join(merge, row.total, node.total, 1, 1);
                    }
                    row.count = row.count.saturating_add(node.count);
                    row.partial = row.partial.saturating_add(node.partial);
                }
            }
        }
        self.leave(0);
        let symbols = &self.tree.symbols;
        let met = self.met.drain(..);
        let rows = met.filter_map(|symbol| self.rows.get_mut(symbol.index())?.take());
        let functions = rows.filter(|row| !self.tree.symbol(row.symbol).group);
        let mut rows: Vec<TopRow> = functions.collect();
        let name = |symbol: SymbolId| {
            let symbol = symbols.get(symbol.index());
            symbol.map_or("", |symbol| symbol.name.as_str())
        };
        rows.sort_by(|a, b| order(name, a, b));
        rows
    }
}

fn order<'n>(name: impl Fn(SymbolId) -> &'n str, a: &TopRow, b: &TopRow) -> Ordering {
    a.by_value(b)
        .then_with(|| name(a.symbol).cmp(name(b.symbol)))
        .then(a.symbol.cmp(&b.symbol))
}

/// The functions of one measure: the table of [`top`] with what its rows mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Functions {
    /// What the values are.
    pub measure: Measure,
    /// Functions; [`TopRow::symbol`] points here.
    pub symbols: SymbolTable,
    /// A row for each function, in no order: see [`Functions::order`].
    pub rows: Vec<TopRow>,
    /// How long calls took, where that was asked for.
    pub durations: Durations,
    /// Calls or samples that a function was in, by symbol; empty where the table is of a tree and nobody compares it.
    pub inclusive: Vec<u64>,
    /// Calls that no other call is around, or samples.
    pub entries: u64,
    /// What all of it came to.
    pub total: i64,
    /// 100 %: the total, unless values below zero cancel others out or the base of a difference is known.
    pub whole: i64,
    /// What the samples of the base of a difference came to, without signs; 0 where none is marked as such.
    pub base: i64,
}

impl Functions {
    /// Adds up the nodes of a tree.
    #[must_use]
    pub fn of(tree: CallTree) -> Self {
        let entries = match tree.measure.source {
            TreeSource::Spans => tree.roots().map(|root| tree.count(root)).sum(),
            TreeSource::Samples => tree.nodes.iter().map(|node| node.count).sum(),
        };
        Self {
            rows: top(&tree),
            durations: Durations::of(&tree, 0..tree.nodes.len()),
            inclusive: Vec::new(),
            entries,
            measure: tree.measure,
            symbols: tree.symbols.into(),
            total: tree.total,
            whole: tree.whole,
            base: tree.base,
        }
    }

    /// Compares two rows: the one with the larger own value first, then by total, then by name.
    #[must_use]
    pub fn order(&self, a: &TopRow, b: &TopRow) -> Ordering {
        order(|symbol| self.symbols.name(symbol), a, b)
    }

    /// Returns what shares are of where it is not the total: `changes` or `base`, and what that came to.
    #[must_use]
    pub fn shares_of(&self) -> Option<(&'static str, i64)> {
        super::shares_of(self.total, self.whole, self.base)
    }

    /// Returns the symbol of a row of this table.
    ///
    /// # Panics
    /// When `id` belongs to another, larger table.
    #[must_use]
    #[expect(clippy::expect_used, reason = "documented")]
    pub fn symbol(&self, id: SymbolId) -> &Symbol {
        self.symbols.get(id).expect("a symbol of this table")
    }

    /// Returns `value` as a share of the whole, in percent; none where shares mean nothing.
    #[must_use]
    pub fn percent(&self, value: i64) -> Option<f64> {
        self.measure.percent(value, self.whole)
    }

    /// Adds this table to the one of the same measure in `all`, or puts it there.
    pub fn merge_into(self, all: &mut Vec<Self>) {
        match all.iter_mut().find(|other| other.measure == self.measure) {
            Some(other) => other.add(self),
            None => all.push(self),
        }
    }

    /// Adds the rows of another input; functions are the same when their names are.
    fn add(&mut self, other: Self) {
        let merge = self.measure.merge;
        self.total = join(merge, self.total, other.total, 1, 1);
        self.entries = self.entries.saturating_add(other.entries);
        let mut symbols = SymbolInterner::default();
        for symbol in std::mem::replace(&mut self.symbols, Vec::new().into()).into_rows() {
            symbols.intern(symbol);
        }
        let others = other.symbols.into_rows();
        let mut row_of = vec![None; symbols.len() + others.len()];
        for (at, row) in self.rows.iter().enumerate() {
            if let Some(slot) = row_of.get_mut(row.symbol.index()) {
                *slot = Some(at);
            }
        }
        let ids: Vec<u32> = others
            .into_iter()
            .map(|symbol| symbols.intern(symbol))
            .collect();
        if self.inclusive.is_empty() || other.inclusive.is_empty() {
            self.inclusive.clear();
        } else {
            self.inclusive.resize(symbols.len(), 0);
            for (&symbol, more) in ids.iter().zip(other.inclusive) {
                if let Some(sum) = self.inclusive.get_mut(symbol as usize) {
                    *sum = sum.saturating_add(more);
                }
            }
        }
        for (symbol, durations) in other.durations.of {
            if let Some(&symbol) = ids.get(symbol.index()) {
                self.durations.add(SymbolId(symbol), &durations);
            }
        }
        for row in other.rows {
            let Some(&symbol) = ids.get(row.symbol.index()) else {
                continue;
            };
            let symbol = SymbolId(symbol);
            let known = row_of.get(symbol.index()).copied().flatten();
            let Some(own) = known.and_then(|at: usize| self.rows.get_mut(at)) else {
                self.rows.push(TopRow { symbol, ..row });
                continue;
            };
            own.own = join(merge, own.own, row.own, own.count, row.count);
            own.total = join(merge, own.total, row.total, 1, 1);
            own.count = own.count.saturating_add(row.count);
            own.partial = own.partial.saturating_add(row.partial);
        }
        let own = self.rows.iter().map(|row| (row.symbol, row.own));
        self.base = self.base.saturating_add(other.base);
        self.whole = super::whole(self.total, self.base, symbols.len(), own);
        self.symbols = symbols.into_rows().into();
    }
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
