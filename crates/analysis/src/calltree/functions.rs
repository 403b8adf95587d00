//! Sums of functions straight from samples, without a tree.

use traceloom_model::{FrameId, PathBatch, Recording};

use super::arena::NONE;
use super::symbol::{KeyMap, NO_STACK, Symbols, key_of_frame, symbol_of_key};
use super::{Measure, SymbolId};
use crate::top::{Functions, TopRow};

/// What the samples of a profile come to, function by function.
///
/// A function counts once in a sample, however often it is on its stack: what a call tree's outermost
/// nodes come to. `a_table_without_a_tree_is_the_same_table` holds both against each other.
#[derive(Debug)]
pub(super) struct Sums {
    measure: Measure,
    /// The value column shown.
    at: usize,
    /// Functions that are named alike are one.
    alike: bool,
    symbols: Symbols,
    keys: KeyMap,
    /// Symbols by the numbers of frames.
    frames: Vec<u32>,
    rows: Vec<Row>,
    /// Own values and how many samples they are of.
    own: Vec<(i64, u64)>,
    samples: u64,
    total: i64,
}

/// What changes with every frame: kept apart from the rest, so that it stays near the processor.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    total: i64,
    /// Samples it was in.
    inclusive: u64,
    /// Number of the last of them.
    last: u64,
}

impl Sums {
    pub fn new(measure: Measure, at: usize, alike: bool) -> Self {
        Self {
            measure,
            at,
            alike,
            symbols: Symbols::default(),
            keys: KeyMap::default(),
            frames: Vec::new(),
            rows: Vec::new(),
            own: Vec::new(),
            samples: 0,
            total: 0,
        }
    }

    pub fn take(&mut self, tables: &Recording, batch: &PathBatch) {
        for (frames, values) in batch.iter() {
            let value = values.get(self.at).copied().unwrap_or(0);
            self.samples += 1;
            self.total = self.total.saturating_add(value);
            let innermost = match frames.first() {
                Some(&frame) => self.of_frame(tables, frame),
                None => self.of_key(tables, NO_STACK),
            };
            self.add(innermost, value);
            if let Some((own, count)) = self.own.get_mut(innermost as usize) {
                *own = own.saturating_add(value);
                *count += 1;
            }
            for &frame in frames.iter().skip(1) {
                let symbol = self.of_frame(tables, frame);
                self.add(symbol, value);
            }
        }
    }

    #[inline]
    fn add(&mut self, symbol: u32, value: i64) {
        if let Some(row) = self.rows.get_mut(symbol as usize)
            && row.last != self.samples
        {
            row.last = self.samples;
            row.inclusive += 1;
            row.total = row.total.saturating_add(value);
        }
    }

    #[inline]
    fn of_frame(&mut self, tables: &Recording, frame: FrameId) -> u32 {
        match self.frames.get(frame.index()) {
            Some(&symbol) if symbol != NONE => symbol,
            _ => self.new_frame(tables, frame),
        }
    }

    #[inline(never)]
    fn new_frame(&mut self, tables: &Recording, frame: FrameId) -> u32 {
        let symbol = self.of_key(tables, key_of_frame(tables, frame));
        if self.frames.len() <= frame.index() {
            self.frames.resize(frame.index() + 1, NONE);
        }
        if let Some(slot) = self.frames.get_mut(frame.index()) {
            *slot = symbol;
        }
        symbol
    }

    fn of_key(&mut self, tables: &Recording, key: u32) -> u32 {
        let (symbols, alike) = (&mut self.symbols, self.alike);
        self.keys.get_or_insert(key, || {
            let symbol = symbol_of_key(tables, key);
            match alike {
                true => symbols.intern_alike(symbol),
                false => symbols.intern(symbol),
            }
        });
        let symbol = self.keys.get(key);
        if self.rows.len() <= symbol as usize {
            self.rows.resize(symbol as usize + 1, Row::default());
            self.own.resize(symbol as usize + 1, (0, 0));
        }
        symbol
    }

    pub fn finish(self) -> Functions {
        let rows = self.rows.iter().zip(&self.own).zip(0..);
        let rows = rows.map(|((row, &(own, count)), symbol)| TopRow {
            symbol: SymbolId(symbol),
            own,
            total: row.total,
            count,
            partial: 0,
        });
        Functions {
            rows: rows.collect(),
            measure: self.measure,
            symbols: self.symbols.into_rows(),
            durations: crate::Durations::default(),
            inclusive: self.rows.iter().map(|row| row.inclusive).collect(),
            total: self.total,
        }
    }
}
