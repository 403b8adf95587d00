//! Calls of a data folder in any order, from the indexes of its captures where they have one.

use std::cmp::Reverse;

use traceloom_analysis::calls::{CallList, CallQuery};
use traceloom_analysis::query::PartialRead;
use traceloom_input::captures::ChosenCaptures;

use super::indexed::{CallIndexes, ReadIndexes, WantedChunks};
use super::newest::read_captures;
use super::{CallName, Options};
use crate::catalog::{self, CatalogAt, CatalogEntry};
use crate::inputs::Inputs;
use traceloom_input::captures::call_index::CallIndex;

/// Captures that are opened together at most.
const MOST_TOGETHER: usize = 1024;

/// Captures of a data folder, in the order in which they began.
pub(super) struct SortedCaptures<'o> {
    chosen: ChosenCaptures,
    entries: Vec<CatalogEntry>,
    indexes: CallIndexes<'o>,
    options: &'o Options,
    /// The folder has one capture, whose calls are named without it.
    is_single: bool,
    /// What is read, where the budget leaves some out.
    partial: Option<PartialRead>,
}

/// Returns the captures if some calls of one data folder are asked for, and one of its captures has an index.
pub(super) fn of<'o>(
    options: &'o Options,
    query: &CallQuery,
) -> anyhow::Result<Option<SortedCaptures<'o>>> {
    let [path] = options.read.paths.as_slice() else {
        return Ok(None);
    };
    if query.limit.is_none() && options.budget.is_none() {
        return Ok(None);
    }
    let Some(CatalogAt {
        chosen,
        mut entries,
        senders,
    }) = catalog::at(path, options.catalog)?
    else {
        return Ok(None);
    };
    let is_single = entries.len() == 1;
    let mut indexes = CallIndexes::new(options, &chosen.folder, &senders, is_single)?;
    entries.sort_by_key(|entry| Reverse((entry.until_ns, entry.id)));
    let mut chosen = chosen;
    let partial = options
        .budget
        .and_then(|budget| within(&mut chosen, &mut entries, &mut indexes, budget));
    entries.sort_by_key(|entry| entry.id);
    let is_indexed = entries.iter().any(|entry| indexes.of(entry).is_some());
    Ok((is_indexed || partial.is_some()).then_some(SortedCaptures {
        chosen,
        entries,
        indexes,
        options,
        is_single,
        partial,
    }))
}

/// Keeps the first captures that a budget has room for, or the beginning of one: of an index its file counts, and one is always read.
fn within(
    chosen: &mut ChosenCaptures,
    entries: &mut Vec<CatalogEntry>,
    indexes: &mut CallIndexes<'_>,
    budget: u64,
) -> Option<PartialRead> {
    let sum = |entries: &[CatalogEntry]| -> u64 { entries.iter().map(|entry| entry.n_bytes).sum() };
    // An index is smaller than its capture: where there is room for all captures, none is looked at.
    let of_bytes = sum(entries);
    if of_bytes <= budget {
        return None;
    }
    let costs = entries.iter().map(|entry| {
        let index = indexes.of(entry).map(CallIndex::n_bytes);
        index.unwrap_or(entry.n_bytes)
    });
    let costs: Vec<u64> = costs.collect();
    if let Some(first) = entries.first()
        && indexes.of(first).is_none()
        && let Some((n_bytes, partial)) = PartialRead::beginning(&costs, budget)
    {
        *chosen = chosen.clone().beginning(first.id, n_bytes);
        entries.truncate(1);
        return Some(PartialRead {
            of_bytes,
            ..partial
        });
    }
    let (n_read, partial) = PartialRead::of(&costs, budget);
    entries.truncate(n_read);
    partial.map(|partial| PartialRead {
        next_budget: partial.next_budget,
        read_bytes: sum(entries),
        of_bytes,
        ..partial
    })
}

impl SortedCaptures<'_> {
    /// Returns what is read, where the budget leaves some captures out.
    pub(super) const fn partial(&self) -> Option<PartialRead> {
        self.partial
    }

    /// Adds the calls to an empty list, and returns what was read of indexes.
    pub(super) fn add(
        mut self,
        list: &mut CallList<CallName>,
        inputs: &mut Inputs<'_>,
        query: &CallQuery,
    ) -> anyhow::Result<ReadIndexes> {
        while let Some(damaged) = self.look(list, inputs, query)? {
            self.indexes.distrust(&damaged);
            *list = CallList::new(query);
        }
        self.indexes.mention(&self.options.read.paths.concat());
        Ok(self.indexes.counts())
    }

    /// Adds the calls of all captures, up to one whose index is damaged.
    fn look(
        &mut self,
        list: &mut CallList<CallName>,
        inputs: &mut Inputs<'_>,
        query: &CallQuery,
    ) -> anyhow::Result<Option<CatalogEntry>> {
        let Self {
            chosen,
            entries,
            indexes,
            is_single,
            ..
        } = self;
        let mut rest = entries.as_slice();
        while let Some((next, later)) = rest.split_first() {
            if indexes.of(next).is_some() {
                if indexes
                    .add(next, WantedChunks::Sorted, list, query)
                    .is_err()
                {
                    return Ok(Some(*next));
                }
                rest = later;
                continue;
            }
            let unknown = rest.iter().take(MOST_TOGETHER);
            let unknown = unknown.take_while(|entry| indexes.of(entry).is_none());
            let (now, later) = rest.split_at(unknown.count());
            rest = later;
            read_captures(chosen, now, *is_single, list, inputs, query)?;
        }
        Ok(None)
    }
}
