//! When the nodes of a tree ran: their own values in equal stretches of time, by thread.

mod calls;
mod collect;
mod grid;
mod steps;
mod sums;

pub use collect::OverTimeCollector;
use grid::Grid;

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::{CallTree, Dimension, Measure, Node, Symbol, SymbolInterner};

/// No caller.
const NONE: u32 = u32::MAX;

/// The own value of a node in one stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeStretch {
    /// The stretch: its number since time zero.
    pub stretch: i64,
    /// The thread, a row of [`OverTime::threads`].
    pub thread: u32,
    /// The node, a row of [`CallTree::nodes`].
    pub node: u32,
    /// Its own value.
    pub own: i64,
    /// Calls that began, or samples.
    pub count: u64,
}

/// Own values of paths over time, of one measure.
///
/// Time is divided into stretches that are as short as a page can hold; of more values than that nothing is kept. A call is counted in the stretch in which it
/// began; its time belongs to the stretches in which it passed.
#[derive(Clone, Debug)]
pub struct OverTime {
    /// What the values are, under the name that the profile gives them.
    pub measure: Measure,
    /// Frames stand for lines, as in a tree that [`CallTree::has_lines`].
    pub lines: bool,
    /// Times are dates.
    pub unix: bool,
    /// Names of threads.
    pub threads: Vec<String>,
    numbers: HashMap<String, u32, RandomState>,
    symbols: SymbolInterner,
    /// Callers and functions, callers first.
    paths: Vec<(u32, u32)>,
    known: HashMap<(u32, u32), u32, RandomState>,
    grid: Grid,
}

impl OverTime {
    fn new((measure, lines): (Measure, bool), unix: bool) -> Self {
        Self {
            measure,
            lines,
            unix,
            threads: Vec::new(),
            numbers: HashMap::default(),
            symbols: SymbolInterner::default(),
            paths: Vec::new(),
            known: HashMap::default(),
            grid: Grid::default(),
        }
    }

    fn path(&mut self, caller: u32, symbol: u32) -> u32 {
        let next = u32::try_from(self.paths.len()).unwrap_or(NONE);
        let path = *self.known.entry((caller, symbol)).or_insert(next);
        if path == next {
            self.paths.push((caller, symbol));
        }
        path
    }

    fn thread(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.numbers.get(name) {
            return known;
        }
        let number = u32::try_from(self.threads.len()).unwrap_or(NONE);
        self.threads.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// Returns the length of a stretch in nanoseconds.
    #[must_use]
    pub fn step(&self) -> i64 {
        self.grid.step()
    }

    /// Returns `true` if this is about the values of a tree.
    #[must_use]
    pub fn is_of(&self, tree: &CallTree) -> bool {
        let (own, other) = (&self.measure, &tree.measure);
        let is_measure =
            own.name == other.name && own.source == other.source && own.unit == other.unit;
        is_measure && self.lines == tree.has_lines()
    }

    /// Returns the values of a tree's nodes in the order of time; none where a path is not in the tree, because its
    /// functions were hidden or adjusted.
    #[must_use]
    pub fn of(&self, tree: &CallTree) -> Option<Vec<NodeStretch>> {
        let places = places(
            (self.paths.iter().copied(), self.symbols.rows()),
            tree,
            Dimension::Method,
        )?;
        let mut all: Vec<NodeStretch> = Vec::new();
        let mut is_of_tree = true;
        self.grid.each(|(stretch, thread), values| {
            let from = all.len();
            all.extend(values.iter().filter_map(|&(path, value)| {
                Some(NodeStretch {
                    stretch,
                    thread,
                    node: *places.get(path as usize)?,
                    own: value.own,
                    count: value.count,
                })
            }));
            is_of_tree &= all.len() - from == values.len();
            if let Some(these) = all.get_mut(from..) {
                these.sort_unstable_by_key(|one| one.node);
            }
        });
        is_of_tree.then_some(all)
    }
}

/// Returns where the nodes of a tree of functions are in the tree that [`CallTree::by`] made of it.
pub(crate) fn places_by(tree: &CallTree, dimension: Dimension, of: &CallTree) -> Option<Vec<u32>> {
    let caller = |node: &Node| (node.parent.unwrap_or(NONE), node.symbol.0);
    places(
        (tree.nodes.iter().map(caller), &tree.symbols),
        of,
        dimension,
    )
}

/// Returns the nodes that paths lead to: callers and functions, callers first.
fn places(
    (paths, symbols): (impl Iterator<Item = (u32, u32)>, &[Symbol]),
    tree: &CallTree,
    dimension: Dimension,
) -> Option<Vec<u32>> {
    let numbers: HashMap<(&str, bool), u32, RandomState> = (0..)
        .zip(&tree.symbols)
        .map(|(number, symbol)| ((symbol.name.as_str(), symbol.group), number))
        .collect();
    let nodes: HashMap<(u32, u32), u32, RandomState> = (0..)
        .zip(&tree.nodes)
        .map(|(number, node)| ((node.parent.unwrap_or(NONE), node.symbol.0), number))
        .collect();
    let number = |symbol: &Symbol| match symbol.group {
        true => numbers.get(&(symbol.name.as_str(), true)).copied(),
        false => numbers.get(&(&*dimension.name(symbol), false)).copied(),
    };
    let named: Vec<Option<u32>> = symbols.iter().map(number).collect();
    let mut places: Vec<u32> = Vec::new();
    for (caller, symbol) in paths {
        let above = match caller {
            NONE => NONE,
            caller => *places.get(caller as usize)?,
        };
        let symbol = (*named.get(symbol as usize)?)?;
        let around = tree.nodes.get(above as usize);
        // A class that calls itself is one frame.
        let is_same =
            dimension != Dimension::Method && around.is_some_and(|node| node.symbol.0 == symbol);
        places.push(match is_same {
            true => above,
            false => *nodes.get(&(above, symbol))?,
        });
    }
    Some(places)
}

#[cfg(test)]
mod tests;
