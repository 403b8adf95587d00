//! The functions of two recordings under one numbering.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use traceloom_model::bounds::row_number;

use super::{Amounts, Recorded, amounts};
use crate::calltree::{Arena, add, flatten};
use crate::names::alike;
use crate::{CallTree, Functions, Symbol, TreeSource};

/// Symbols of both recordings, one for all that are named alike.
#[derive(Default)]
pub(super) struct SharedSymbols {
    known: HashMap<String, u32, RandomState>,
    pub(super) symbols: Vec<Symbol>,
    /// Symbols below this are of a recording that is done.
    pub(super) done: u32,
}

impl SharedSymbols {
    fn number(&mut self, symbol: &Symbol) -> u32 {
        let next = row_number(self.symbols.len());
        let number = *self
            .known
            .entry(alike(&symbol.name).into_owned())
            .or_insert(next);
        match self.symbols.get_mut(number as usize) {
            None => self.symbols.push(symbol.clone()),
            // Whatever order a recording tells them in, it is one name.
            Some(known) if number >= self.done && symbol.name < known.name => {
                known.clone_from(symbol);
            }
            Some(_) => {}
        }
        number
    }

    /// Adds up functions under their new names.
    pub(super) fn named(&mut self, recorded: &Recorded<'_>) -> RenamedTree {
        if let Some(functions) = recorded.functions {
            return self.named_functions(recorded, functions);
        }
        let mut tree = self.renamed(recorded);
        let rows = match tree.measure.source {
            TreeSource::Spans => {
                let roots = tree.nodes.iter().filter(|node| node.parent.is_none());
                roots.map(|node| node.count).sum()
            }
            TreeSource::Samples => tree.nodes.iter().map(|node| node.count).sum(),
        };
        let mut amounts = amounts(&tree, self.symbols.len());
        amounts.iter_mut().for_each(|one| recorded.recount(one));
        for node in &mut tree.nodes {
            node.count = recorded.count(node.own, node.count);
        }
        RenamedTree {
            calls: recorded.count(tree.total, rows),
            tree,
            amounts,
        }
    }

    fn named_functions(&mut self, recorded: &Recorded<'_>, functions: &Functions) -> RenamedTree {
        let mut amounts: Vec<Amounts> = Vec::new();
        for row in &functions.rows {
            let Some(symbol) = functions.symbols.get(row.symbol) else {
                continue;
            };
            let at = self.number(symbol) as usize;
            if amounts.len() <= at {
                amounts.resize(at + 1, Amounts::default());
            }
            let inclusive = functions.inclusive.get(row.symbol.index());
            if let Some(sum) = amounts.get_mut(at) {
                sum.own = sum.own.saturating_add(row.own);
                sum.total = sum.total.saturating_add(row.total);
                sum.count = sum.count.saturating_add(row.count);
                let inclusive = inclusive.copied().unwrap_or(0);
                sum.inclusive_count = sum.inclusive_count.saturating_add(inclusive);
            }
        }
        amounts.iter_mut().for_each(|one| recorded.recount(one));
        RenamedTree {
            tree: CallTree {
                total: functions.total,
                whole: functions.whole,
                ..CallTree::empty(functions.measure.clone())
            },
            calls: recorded.count(functions.total, functions.entries),
            amounts,
        }
    }

    /// Builds the tree anew; the caller puts all symbols in.
    fn renamed(&mut self, recorded: &Recorded<'_>) -> CallTree {
        let tree = recorded.tree;
        let numbers: Vec<u32> = tree
            .symbols
            .iter()
            .map(|symbol| self.number(symbol))
            .collect();
        let mut arena = Arena::new();
        arena.base = tree.base;
        let mut path = Vec::new();
        for node in &tree.nodes {
            path.truncate(node.depth as usize);
            let parent = path.last().copied().unwrap_or(0);
            let key = numbers.get(node.symbol.index()).copied().unwrap_or(0);
            let at = arena.child(parent, key);
            path.push(at);
            add(&mut arena, at, node, tree.measure.merge);
        }
        let symbols = self.symbols.clone();
        flatten(arena, tree.measure.clone(), symbols, tree.total, |key| key)
    }
}

/// One recording under the names of both.
pub(super) struct RenamedTree {
    pub(super) tree: CallTree,
    /// By the number of the name.
    pub(super) amounts: Vec<Amounts>,
    pub(super) calls: u64,
}
