//! Functions by name, whose symbols are made when somebody asks for them.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::RandomState;
use traceloom_model::Recording;
use traceloom_model::bounds::row_number;

use super::arena::NONE;
use crate::names;
use crate::symbol::{Symbol, SymbolId, function_of_key, symbol_of_key};

/// Numbers functions by name, as [`super::Symbols`] does with symbols.
///
/// The profile of a large program has tens of thousands of functions, of which a table shows thirty. So names are
/// compared where they lie, in the tables, and a symbol is made at once only where its name is another than theirs.
#[derive(Debug, Default)]
pub(super) struct Naming {
    /// The last row of each hash of what is said.
    rows_of: HashMap<u64, u32, RandomState>,
    rows: Vec<NamedRow>,
}

#[derive(Clone, Debug)]
struct NamedRow {
    key: u32,
    /// The row before it whose hash is the same.
    before: u32,
    made: OnceCell<Box<Symbol>>,
}

impl Naming {
    /// Makes room for so many functions.
    pub fn reserve(&mut self, functions: usize) {
        self.rows_of.reserve(functions);
        self.rows.reserve(functions);
    }

    /// Returns the number of what a key stands for.
    pub fn intern(&mut self, tables: &Recording, key: u32) -> u32 {
        let plain = plain(tables, key);
        let made = match plain {
            Some(_) => OnceCell::new(),
            None => OnceCell::from(Box::new(symbol_of_key(tables, key))),
        };
        let said = plain.or_else(|| said(&made)).unwrap_or_default();
        let next = u32::try_from(self.rows.len()).unwrap_or(NONE);
        let hash = self.rows_of.hasher().hash_one(said);
        let mut before = NONE;
        match self.rows_of.entry(hash) {
            Entry::Vacant(slot) => {
                slot.insert(next);
            }
            Entry::Occupied(mut slot) => {
                let mut at = *slot.get();
                while let Some(known) = self.rows.get(at as usize) {
                    if known.said(tables) == said {
                        return at;
                    }
                    at = known.before;
                }
                before = slot.insert(next);
            }
        }
        self.rows.push(NamedRow { key, before, made });
        next
    }

    /// Returns the symbols, each made of these tables when it is asked for.
    pub fn into_symbols(self, tables: &Arc<Recording>) -> SymbolTable {
        SymbolTable(SymbolOrigin::Later(tables.clone(), self.rows))
    }
}

impl NamedRow {
    fn said<'r>(&'r self, tables: &'r Recording) -> &'r str {
        let made = said(&self.made);
        made.or_else(|| plain(tables, self.key)).unwrap_or_default()
    }
}

/// Returns the name of a symbol, where it is made.
fn said(made: &OnceCell<Box<Symbol>>) -> Option<&str> {
    Some(&made.get()?.name)
}

/// Returns the name of a function whose symbol is called as the tables say.
fn plain(tables: &Recording, key: u32) -> Option<&str> {
    let function = tables.function(function_of_key(key)?)?;
    let name = tables.string(function.name)?.as_str()?;
    names::mangled(name).is_none().then_some(name)
}

/// The symbols of a table of functions, by number.
#[derive(Clone, Debug)]
pub struct SymbolTable(SymbolOrigin);

#[derive(Clone, Debug)]
enum SymbolOrigin {
    Made(Vec<Symbol>),
    Later(Arc<Recording>, Vec<NamedRow>),
}

impl SymbolTable {
    /// Returns a symbol, none where the number is another table's.
    #[must_use]
    pub fn get(&self, id: SymbolId) -> Option<&Symbol> {
        match &self.0 {
            SymbolOrigin::Made(symbols) => symbols.get(id.index()),
            SymbolOrigin::Later(tables, rows) => {
                let row = rows.get(id.index())?;
                let make = || Box::new(symbol_of_key(tables, row.key));
                Some(row.made.get_or_init(make))
            }
        }
    }

    /// Returns a symbol's name; empty where the number is another table's.
    #[must_use]
    pub fn name(&self, id: SymbolId) -> &str {
        match &self.0 {
            SymbolOrigin::Made(symbols) => {
                symbols.get(id.index()).map_or("", |symbol| &symbol.name)
            }
            SymbolOrigin::Later(tables, rows) => {
                rows.get(id.index()).map_or("", |row| row.said(tables))
            }
        }
    }

    /// Returns all names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let count = match &self.0 {
            SymbolOrigin::Made(symbols) => symbols.len(),
            SymbolOrigin::Later(_, rows) => rows.len(),
        };
        let ids = (0..row_number(count)).map(SymbolId);
        ids.map(|id| self.name(id))
    }

    /// Returns all symbols.
    pub(crate) fn into_rows(self) -> Vec<Symbol> {
        match self.0 {
            SymbolOrigin::Made(symbols) => symbols,
            SymbolOrigin::Later(tables, rows) => {
                let rows = rows.into_iter();
                let made = rows.map(|row| match row.made.into_inner() {
                    Some(symbol) => *symbol,
                    None => symbol_of_key(&tables, row.key),
                });
                made.collect()
            }
        }
    }
}

impl From<Vec<Symbol>> for SymbolTable {
    fn from(symbols: Vec<Symbol>) -> Self {
        Self(SymbolOrigin::Made(symbols))
    }
}

impl PartialEq for SymbolTable {
    fn eq(&self, other: &Self) -> bool {
        self.clone().into_rows() == other.clone().into_rows()
    }
}

#[cfg(test)]
mod tests {
    use traceloom_model::{Frame, Function, Sink, Tables};

    use super::*;
    use crate::symbol::{NO_STACK, key_of_frame};

    #[test]
    fn what_is_called_the_same_is_one_whatever_it_took_to_name_it() {
        let mut tables = Tables::new();
        let mut texts = |text: &[u8]| tables.new_bytes(text);
        let main = [texts(b"main"), texts(b"main")];
        let bar = [texts(b"_ZN3foo3barEv"), texts(b"foo::bar()")];
        let bad = [texts(b"\xff"), texts(b"\xfe")];
        let none = texts(b"(no stack)");
        let signature = texts(b"(int)");
        let names = [main, bar, bad].concat();
        let functions = names.into_iter().chain([none]).map(Function::named);
        let overload = Function {
            signature: Some(signature),
            ..Function::named(main[0])
        };
        for function in functions.chain([overload]) {
            tables.new_function(function);
        }
        let frame = tables.frame(Frame::default());
        let mut recording = Recording::default();
        let _ = recording.define(tables.take_definitions());
        let mut naming = Naming::default();
        let mut number = |key| naming.intern(&recording, key);
        let numbers: Vec<u32> = (0..9).map(&mut number).collect();
        // The last was never defined.
        // The overload of main is main.
        assert_eq!(numbers, [0, 0, 1, 1, 2, 2, 3, 0, 4]);
        assert_eq!(number(NO_STACK), 3);
        assert_eq!(number(key_of_frame(&recording, frame)), 5);
        let symbols = naming.into_symbols(&Arc::new(recording));
        let all = symbols.clone().into_rows();
        for (id, symbol) in (0..).map(SymbolId).zip(&all) {
            assert_eq!(symbols.name(id), symbol.name);
            assert_eq!(symbols.get(id), Some(symbol));
        }
        let said = all.iter().map(|symbol| symbol.name.as_str());
        assert_eq!(
            said.collect::<Vec<_>>(),
            [
                "main",
                "foo::bar()",
                "\u{fffd}",
                "(no stack)",
                "#8",
                "(unknown)"
            ]
        );
        assert_eq!(symbols.get(SymbolId(6)), None);
    }

    #[test]
    fn a_shared_hash_keeps_functions_apart() {
        let mut tables = Tables::new();
        for name in ["a", "b"] {
            let name = tables.string(name);
            tables.function(Function::named(name));
        }
        let mut recording = Recording::default();
        let _ = recording.define(tables.take_definitions());
        let mut naming = Naming::default();
        naming.intern(&recording, 0);
        // As if the second name had the hash of the first.
        let hash = naming.rows_of.hasher().hash_one(("b", None::<&str>));
        naming.rows_of.insert(hash, 0);
        assert_eq!(
            [1, 0, 1].map(|key| naming.intern(&recording, key)),
            [1, 0, 1]
        );
    }
}
