//! The thread names of a calls file: indices in order of appearance, names shared (§5.2).

use std::collections::HashMap;

use traceloom_model::bounds::row_number;
use traceloom_model::{Limit, Limits};

use crate::wire::Utf16;

/// The number of a name that was lost.
const LOST: u32 = u32::MAX;

/// Names by thread index.
///
/// The agent forgets threads it has not seen for a while and names them again under a new index, so a
/// long file has many indices and few names: an index costs four bytes.
#[derive(Clone, Debug)]
pub(super) struct Threads {
    index: Vec<u32>,
    names: Vec<Box<[u8]>>,
    known: HashMap<Box<[u8]>, u32>,
    limit: usize,
}

impl Threads {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            index: Vec::new(),
            names: Vec::new(),
            known: HashMap::new(),
            limit: limits.size(Limit::Table),
        }
    }

    /// Returns how many indices are taken: the index that brings its name.
    pub(super) fn len(&self) -> u32 {
        if self.index.len() >= self.limit {
            return u32::MAX;
        }
        row_number(self.index.len())
    }

    pub(super) fn push(&mut self, name: Utf16<'_>) {
        let number = match self.known.get(name.0) {
            Some(&number) => number,
            None => {
                let number = row_number(self.names.len());
                self.names.push(name.0.into());
                self.known.insert(name.0.into(), number);
                number
            }
        };
        self.index.push(number);
    }

    /// Counts the indices up to `count` as taken by names that were lost.
    pub(super) fn lose(&mut self, count: u32) {
        let count = (count as usize).min(self.limit);
        if count > self.index.len() {
            self.index.resize(count, LOST);
        }
    }

    pub(super) fn name(&self, index: u32) -> Option<Utf16<'_>> {
        self.text(self.number(index)?)
    }

    /// Returns the number of an index's name: equal names share one, also across files.
    pub(super) fn number(&self, index: u32) -> Option<u32> {
        let number = self.index.get(index as usize).copied();
        number.filter(|&number| number != LOST)
    }

    /// Returns the name of a number.
    pub(super) fn text(&self, number: u32) -> Option<Utf16<'_>> {
        self.names.get(number as usize).map(|name| Utf16(name))
    }

    /// Forgets the indices: the next file counts anew.
    pub(super) fn restart(&mut self) {
        self.index.clear();
    }
}
