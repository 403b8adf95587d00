//! Calls of a data folder in any order, from the indexes of its captures where they have one.

use traceloom_analysis::calls::{CallList, CallQuery};
use traceloom_input::captures::ChosenCaptures;

use super::indexed::{CallIndexes, WantedChunks};
use super::newest::read_captures;
use super::{CallName, Options};
use crate::catalog::{self, CatalogAt, CatalogEntry};
use crate::inputs::Inputs;

/// Captures that are opened together at most.
const MOST_TOGETHER: usize = 1024;

/// Captures of a data folder, in the order in which they began.
pub(super) struct SortedCaptures<'o> {
    chosen: ChosenCaptures,
    entries: Vec<CatalogEntry>,
    indexes: CallIndexes<'o>,
    options: &'o Options,
}

/// Returns the captures if some calls of one data folder are asked for, and one of its captures has an index.
pub(super) fn of<'o>(
    options: &'o Options,
    query: &CallQuery,
) -> anyhow::Result<Option<SortedCaptures<'o>>> {
    let [path] = options.read.paths.as_slice() else {
        return Ok(None);
    };
    if query.limit.is_none() {
        return Ok(None);
    }
    let Some(CatalogAt {
        chosen,
        mut entries,
        senders,
    }) = catalog::at(path)?
    else {
        return Ok(None);
    };
    entries.sort_by_key(|entry| entry.id);
    let mut indexes = CallIndexes::new(options, &chosen.folder, &senders, entries.len() == 1)?;
    let is_indexed = entries.iter().any(|entry| indexes.of(entry).is_some());
    Ok(is_indexed.then_some(SortedCaptures {
        chosen,
        entries,
        indexes,
        options,
    }))
}

impl SortedCaptures<'_> {
    /// Adds the calls to an empty list, and returns the bytes of indexes that were read.
    pub(super) fn add(
        mut self,
        list: &mut CallList<CallName>,
        inputs: &mut Inputs<'_>,
        query: &CallQuery,
    ) -> anyhow::Result<u64> {
        while let Some(damaged) = self.look(list, inputs, query)? {
            self.indexes.distrust(&damaged);
            *list = CallList::new(query);
        }
        self.indexes.mention(&self.options.read.paths.concat());
        Ok(self.indexes.n_read())
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
            read_captures(chosen, now, entries.len() == 1, list, inputs, query)?;
        }
        Ok(None)
    }
}
