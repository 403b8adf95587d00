//! Sums of functions straight from samples, without a tree.

use std::sync::Arc;

use traceloom_model::{PathBatch, Recording, Spot};

use super::arena::NONE;
use super::named::Naming;
use super::top::{Functions, TopRow};
use crate::measure::Measure;
use crate::symbol::{KeyMap, NO_STACK, SymbolId, SymbolInterner, key_of_spot, symbol_of_key};

/// What the samples of a profile come to, function by function.
///
/// A function counts once in a sample, however often it is on its stack: what a call tree's outermost
/// nodes come to. `a_table_without_a_tree_is_the_same_table` holds both against each other.
#[derive(Debug)]
pub(super) struct FunctionSums {
    measure: Measure,
    /// The value column shown.
    at: usize,
    names: FunctionIndex,
    keys: KeyMap,
    /// Symbols of sites, the inner one first and [`NONE`] where there is no other; of more, [`NONE`] and where `runs`
    /// has them.
    sites: Vec<(u32, u32)>,
    runs: Vec<Vec<u32>>,
    rows: Vec<FunctionTotals>,
    /// Own values, how many samples they are of, and samples the function was in before the rows began anew.
    own: Vec<(i64, u64, u64)>,
    /// Number of the sample at hand since the rows began.
    sample: u32,
    total: i64,
    /// Symbols of the sample at hand.
    path: Vec<u32>,
}

/// Which functions are one.
#[derive(Debug)]
enum FunctionIndex {
    Same(Naming),
    Alike(SymbolInterner),
}

/// What changes with every frame: kept apart from the rest, so that it stays near the processor.
#[derive(Clone, Copy, Debug, Default)]
struct FunctionTotals {
    total: i64,
    /// Samples it was in.
    inclusive: u32,
    /// Number of the last of them.
    last: u32,
}

impl FunctionSums {
    pub fn new(measure: Measure, at: usize, alike: bool) -> Self {
        Self {
            measure,
            at,
            names: match alike {
                true => FunctionIndex::Alike(SymbolInterner::default()),
                false => FunctionIndex::Same(Naming::default()),
            },
            keys: KeyMap::default(),
            sites: Vec::new(),
            runs: Vec::new(),
            rows: Vec::new(),
            own: Vec::new(),
            sample: 0,
            total: 0,
            path: Vec::new(),
        }
    }

    pub fn take(&mut self, tables: &Recording, batch: &PathBatch) {
        if self.rows.is_empty() {
            let functions = tables.functions.len();
            self.rows.reserve(functions);
            self.own.reserve(functions);
            if let FunctionIndex::Same(names) = &mut self.names {
                names.reserve(functions);
            }
        }
        for (site, spots) in batch.told() {
            self.learn(tables, site, spots);
        }
        for (sites, values) in batch.iter() {
            let value = values.get(self.at).copied().unwrap_or(0);
            if self.sample == u32::MAX {
                self.begin_anew();
            }
            self.sample += 1;
            self.total = self.total.saturating_add(value);
            let count = self.name(tables, sites);
            let path = self.path.get(..count).unwrap_or_default();
            let Some(&innermost) = path.first() else {
                continue;
            };
            if let Some((own, count, _)) = self.own.get_mut(innermost as usize) {
                *own = own.saturating_add(value);
                *count += 1;
            }
            let (rows, sample) = (self.rows.as_mut_slice(), self.sample);
            for &symbol in path {
                if let Some(row) = rows.get_mut(symbol as usize)
                    && row.last != sample
                {
                    row.last = sample;
                    row.inclusive += 1;
                    row.total = row.total.saturating_add(value);
                }
            }
        }
    }

    /// Remembers the symbols of a site.
    fn learn(&mut self, tables: &Recording, site: u32, spots: &[Spot]) {
        let mut symbol = |spot: Spot| self.of_key(tables, key_of_spot(tables, spot));
        let known = match *spots {
            [only] => (symbol(only), NONE),
            [inner, outer] => (symbol(inner), symbol(outer)),
            _ => {
                let run = spots.iter().map(|&spot| symbol(spot)).collect();
                let place = u32::try_from(self.runs.len()).unwrap_or(NONE);
                self.runs.push(run);
                (NONE, place)
            }
        };
        let site = site as usize;
        if self.sites.len() <= site {
            self.sites.resize(site + 1, (NONE, NONE));
        }
        if let Some(slot) = self.sites.get_mut(site) {
            *slot = known;
        }
    }

    /// Finds the symbols of a sample and returns how many they are.
    ///
    /// All of them before any is added to: what is looked up does not wait for what is written. A site takes the same
    /// steps with one function as with one that was inlined into another, because nothing tells which comes next.
    fn name(&mut self, tables: &Recording, sites: &[u32]) -> usize {
        if self.path.len() < 2 * sites.len() + 1 {
            self.path.resize(2 * sites.len() + 1, NONE);
        }
        let (known, path) = (self.sites.as_slice(), self.path.as_mut_slice());
        let mut count = 0;
        let mut met = 0;
        for &site in sites {
            let Some(&(inner, outer)) = known.get(site as usize) else {
                break;
            };
            let next = path.get_mut(count..).unwrap_or_default();
            let (Some(slots), true) = (next.first_chunk_mut(), inner != NONE) else {
                break;
            };
            *slots = [inner, outer];
            count += 1 + usize::from(outer != NONE);
            met += 1;
        }
        if met < sites.len() {
            self.path.truncate(count);
            for &site in sites.iter().skip(met) {
                let place = self.sites.get(site as usize).copied();
                let (inner, outer) = place.unwrap_or((NONE, NONE));
                let run = self.runs.get(outer as usize).map(Vec::as_slice);
                match inner {
                    NONE => self.path.extend(run.unwrap_or_default()),
                    inner => self
                        .path
                        .extend([inner, outer].iter().filter(|&&one| one != NONE)),
                }
            }
            count = self.path.len();
        }
        if count == 0 {
            let symbol = self.of_key(tables, NO_STACK);
            self.path.insert(0, symbol);
            count = 1;
        }
        count
    }

    fn of_key(&mut self, tables: &Recording, key: u32) -> u32 {
        let names = &mut self.names;
        self.keys.get_or_insert(key, || match names {
            FunctionIndex::Alike(symbols) => symbols.intern_alike(symbol_of_key(tables, key)),
            FunctionIndex::Same(names) => names.intern(tables, key),
        });
        let symbol = self.keys.get(key);
        if self.rows.len() <= symbol as usize {
            self.rows
                .resize(symbol as usize + 1, FunctionTotals::default());
            self.own.resize(symbol as usize + 1, (0, 0, 0));
        }
        symbol
    }

    /// Puts aside what small numbers cannot count on.
    fn begin_anew(&mut self) {
        self.sample = 0;
        for (row, (_, _, inclusive)) in self.rows.iter_mut().zip(&mut self.own) {
            *inclusive += u64::from(std::mem::take(&mut row.inclusive));
            row.last = 0;
        }
    }

    /// Returns what all samples came to, named by these tables.
    pub fn finish(mut self, tables: &Arc<Recording>) -> Functions {
        self.begin_anew();
        let rows = self.rows.iter().zip(&self.own).zip(0..);
        let rows = rows.map(|((row, &(own, count, _)), symbol)| TopRow {
            symbol: SymbolId(symbol),
            own,
            total: row.total,
            count,
            partial: 0,
        });
        let rows: Vec<TopRow> = rows.collect();
        let own = rows.iter().map(|row| (row.symbol, row.own));
        Functions {
            entries: rows.iter().map(|row| row.count).sum(),
            whole: super::whole(self.total, 0, rows.len(), own),
            base: 0,
            rows,
            measure: self.measure,
            symbols: match self.names {
                FunctionIndex::Same(names) => names.into_symbols(tables),
                FunctionIndex::Alike(symbols) => symbols.into_rows().into(),
            },
            durations: crate::Durations::default(),
            inclusive: self
                .own
                .iter()
                .map(|&(_, _, inclusive)| inclusive)
                .collect(),
            total: self.total,
        }
    }
}
