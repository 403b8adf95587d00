//! What functions come to where no tree has it.

use traceloom_model::Recording;

use super::top::TopRow;
use crate::symbol::{KeyMap, SymbolId, SymbolInterner, symbol_of_key};

/// Rows of functions, and which of them are on the path at hand.
///
/// A function's total is that of its outermost calls. Which these are depends on their callers alone, so that these rows
/// and a tree of the other calls add up to the same as a tree of all of them.
#[derive(Debug)]
pub(super) struct FunctionRows {
    /// Functions that are named alike are one.
    alike: bool,
    /// By the number of the function, each with its key.
    rows: Vec<Option<(u32, TopRow)>>,
    names: SymbolInterner,
    numbers: KeyMap,
    /// How often a function is on the path.
    on_path: Vec<u32>,
}

impl FunctionRows {
    pub fn new(alike: bool) -> Self {
        Self {
            alike,
            rows: Vec::new(),
            names: SymbolInterner::default(),
            numbers: KeyMap::default(),
            on_path: Vec::new(),
        }
    }

    /// Returns the rows by their keys, in their order.
    pub fn into_rows(self) -> Vec<(u32, TopRow)> {
        self.rows.into_iter().flatten().collect()
    }

    /// Returns the number of what a key stands for, by its name.
    #[inline]
    pub fn number(&mut self, tables: &Recording, key: u32) -> u32 {
        match self.numbers.get(key) {
            KeyMap::UNSET => self.learn(tables, key),
            known => known,
        }
    }

    #[cold]
    fn learn(&mut self, tables: &Recording, key: u32) -> u32 {
        let symbol = symbol_of_key(tables, key);
        let number = match self.alike {
            true => self.names.intern_alike(symbol),
            false => self.names.intern(symbol),
        };
        self.numbers.get_or_insert(key, || number);
        if self.on_path.len() <= number as usize {
            self.on_path.resize(number as usize + 1, 0);
            self.rows.resize(number as usize + 1, None);
        }
        number
    }

    /// Puts a function on the path; returns true if it was not there.
    #[inline]
    pub fn enter(&mut self, function: u32) -> bool {
        let Some(times) = self.on_path.get_mut(function as usize) else {
            return false;
        };
        *times += 1;
        *times == 1
    }

    /// Takes a function off the path; returns true if it was there once.
    #[inline]
    pub fn leave(&mut self, function: u32) -> bool {
        let Some(times) = self.on_path.get_mut(function as usize) else {
            return false;
        };
        *times = times.saturating_sub(1);
        *times == 0
    }

    /// Returns the row of a function, which has that key.
    #[inline]
    pub fn row(&mut self, function: u32, key: u32) -> Option<&mut TopRow> {
        const NONE: TopRow = TopRow {
            symbol: SymbolId(0),
            own: 0,
            total: 0,
            count: 0,
            partial: 0,
        };
        let slot = self.rows.get_mut(function as usize)?;
        Some(&mut slot.get_or_insert((key, NONE)).1)
    }
}
