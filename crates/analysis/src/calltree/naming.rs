//! What the nodes of a finished tree are called.

use traceloom_model::Recording;

use super::arena::Arena;
use super::ground::Grounds;
use super::top::TopRow;
use super::{CallTree, flatten};
use crate::measure::Measure;
use crate::symbol::{self, KeyMap, SymbolId, SymbolInterner};

/// What the nodes of trees are called.
pub(super) struct TreeNaming<'b> {
    pub(super) tables: &'b Recording,
    pub(super) grounds: Option<&'b Grounds>,
    /// Functions that are named alike are one.
    pub(super) alike: bool,
}

impl TreeNaming<'_> {
    pub(super) fn name(&self, arena: Arena, measure: Measure, total: Option<i64>) -> CallTree {
        self.name_thinned(arena, measure, total, &[])
    }

    /// Turns keys into symbols; keys that turn out to be one function are joined. `rest` is what was taken out, by key.
    pub(super) fn name_thinned(
        &self,
        arena: Arena,
        measure: Measure,
        total: Option<i64>,
        rest: &[(u32, TopRow)],
    ) -> CallTree {
        let mut symbols = SymbolInterner::default();
        let mut ids = KeyMap::default();
        let used = arena.used().map(|node| arena.node(node).key);
        for key in used.chain(rest.iter().map(|&(key, _)| key)) {
            ids.get_or_insert(key, || match self.grounds {
                Some(grounds) if symbol::is_group(key) => {
                    symbols.intern(grounds.symbol(self.tables, key))
                }
                _ if self.alike => symbols.intern_alike(symbol::symbol_of_key(self.tables, key)),
                _ => symbols.intern(symbol::symbol_of_key(self.tables, key)),
            });
        }
        let total = total.unwrap_or_else(|| arena.roots_total());
        let tree = flatten::flatten(arena, measure, symbols.into_rows(), total, |key| {
            ids.get(key)
        });
        let rest = rest.iter().map(|&(key, row)| TopRow {
            symbol: SymbolId(ids.get(key)),
            ..row
        });
        tree.with_rest(rest.collect())
    }
}
