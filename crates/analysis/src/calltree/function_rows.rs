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
    /// By the number of the function.
    rows: Vec<FunctionRow>,
    names: SymbolInterner,
    numbers: KeyMap,
}

/// What is known of a function.
#[derive(Clone, Copy, Debug)]
pub(super) struct FunctionRow {
    /// How often it is on the path.
    on_path: u32,
    /// The key of the first call that was added up; none before.
    key: Option<u32>,
    sum: TopRow,
}

impl FunctionRows {
    pub fn new(alike: bool) -> Self {
        Self {
            alike,
            rows: Vec::new(),
            names: SymbolInterner::default(),
            numbers: KeyMap::default(),
        }
    }

    /// Returns the rows by their keys, in their order.
    pub fn into_rows(self) -> Vec<(u32, TopRow)> {
        let rows = self.rows.into_iter();
        rows.filter_map(|row| Some((row.key?, row.sum))).collect()
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
        const NONE: FunctionRow = FunctionRow {
            on_path: 0,
            key: None,
            sum: TopRow {
                symbol: SymbolId(0),
                own: 0,
                total: 0,
                count: 0,
                partial: 0,
            },
        };
        let symbol = symbol_of_key(tables, key);
        let number = match self.alike {
            true => self.names.intern_alike(symbol),
            false => self.names.intern(symbol),
        };
        self.numbers.get_or_insert(key, || number);
        if self.rows.len() <= number as usize {
            self.rows.resize(number as usize + 1, NONE);
        }
        number
    }

    /// Puts a function on the path.
    #[inline]
    pub fn enter(&mut self, function: u32) {
        if let Some(row) = self.row(function) {
            row.enter();
        }
    }

    /// Takes a function off the path.
    #[inline]
    pub fn leave(&mut self, function: u32) {
        if let Some(row) = self.row(function) {
            row.leave();
        }
    }

    /// Returns the row of a function.
    #[inline]
    pub fn row(&mut self, function: u32) -> Option<&mut FunctionRow> {
        self.rows.get_mut(function as usize)
    }
}

impl FunctionRow {
    /// Puts the function on the path; returns true if it was not there.
    #[inline]
    pub fn enter(&mut self) -> bool {
        self.on_path += 1;
        self.on_path == 1
    }

    /// Takes the function off the path; returns true if it was there once.
    #[inline]
    pub fn leave(&mut self) -> bool {
        self.on_path = self.on_path.saturating_sub(1);
        self.on_path == 0
    }

    /// Returns what the calls of the function come to, of which one has that key.
    #[inline]
    pub fn sum(&mut self, key: u32) -> &mut TopRow {
        self.key.get_or_insert(key);
        &mut self.sum
    }
}
