//! A growing tree that holds so many nodes: the narrowest of more are added up function by function.

use traceloom_model::Recording;

use super::arena::{Arena, ROOT};
use super::top::TopRow;
use crate::symbol::{KeyMap, SymbolId, SymbolInterner, symbol_of_key};

/// Nodes that were taken out of a tree, by function, and which are next.
///
/// A function's total is that of its outermost nodes. Which these are depends on their callers alone, so that what was
/// taken out and what is left in the tree add up to the same as all of it.
#[derive(Debug)]
pub(super) struct TreeThinning {
    /// Most nodes that are held; 0 holds all.
    most: usize,
    /// Functions that are named alike are one.
    alike: bool,
    /// By the number of the function, each with its key.
    rows: Vec<Option<(u32, TopRow)>>,
    names: SymbolInterner,
    numbers: KeyMap,
    /// How often a function is on the path to the node at hand.
    on_path: Vec<u32>,
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
            alike,
            rows: Vec::new(),
            names: SymbolInterner::default(),
            numbers: KeyMap::default(),
            on_path: Vec::new(),
        }
    }

    /// Returns the functions of what was taken out by their keys, in their order.
    pub fn into_rows(self) -> Vec<(u32, TopRow)> {
        self.rows.into_iter().flatten().collect()
    }

    /// Takes the narrowest nodes out, with all below them, where there are too many. Roots stay, so that the tree comes
    /// to the same. No call that is open may have a node.
    pub fn thin(&mut self, arena: &mut Arena, tables: &Recording) {
        if self.most == 0 || arena.in_use() <= self.most {
            return;
        }
        let keep = self.most / 4;
        let mut totals: Vec<u64> = arena
            .used()
            .map(|node| arena.node(node))
            .filter(|node| node.parent != ROOT)
            .map(|node| node.total.unsigned_abs())
            .collect();
        if let Some(last) = totals.len().checked_sub(keep + 1) {
            let border = *totals.select_nth_unstable(last).1;
            self.cut(arena, tables, border);
            arena.find_children_anew();
        }
        // Children of spans that have not ended are in no tree yet.
        self.most = self.most.max(arena.in_use().saturating_mul(4) / 3);
    }

    /// Takes out what comes to no more than `border`.
    fn cut(&mut self, arena: &mut Arena, tables: &Recording, border: u64) {
        let mut work = vec![WalkStep::Enter {
            node: ROOT,
            is_cut: false,
        }];
        let mut children = Vec::new();
        while let Some(step) = work.pop() {
            let (node, is_cut) = match step {
                WalkStep::Enter { node, is_cut } => (node, is_cut),
                WalkStep::Leave { function } => {
                    if let Some(times) = self.on_path.get_mut(function as usize) {
                        *times -= 1;
                    }
                    continue;
                }
            };
            if node != ROOT {
                let function = self.enter(arena, tables, node, is_cut);
                work.push(WalkStep::Leave { function });
            }
            let least = match (node, is_cut) {
                (_, true) => None,
                (ROOT, _) => Some(0),
                _ => Some(border.saturating_add(1)),
            };
            arena.split_children(node, least, &mut children);
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
        let (names, alike) = (&mut self.names, self.alike);
        self.numbers.get_or_insert(row.key, || {
            let symbol = symbol_of_key(tables, row.key);
            match alike {
                true => names.intern_alike(symbol),
                false => names.intern(symbol),
            }
        });
        let function = self.numbers.get(row.key);
        if self.on_path.len() <= function as usize {
            self.on_path.resize(function as usize + 1, 0);
            self.rows.resize(function as usize + 1, None);
        }
        let at = function as usize;
        let (Some(times), Some(sum)) = (self.on_path.get_mut(at), self.rows.get_mut(at)) else {
            return function;
        };
        let is_outermost = *times == 0;
        *times += 1;
        if is_cut {
            let none = TopRow {
                symbol: SymbolId(0),
                own: 0,
                total: 0,
                count: 0,
                partial: 0,
            };
            let (_, sum) = sum.get_or_insert((row.key, none));
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
