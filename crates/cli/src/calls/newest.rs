//! The newest calls of a data folder, without reading all of it.
//!
//! A call that a collector received until some moment began before it. So captures are read by falling time of their last receipt, and
//! none more once the list is full of calls that began later than everything in the rest was received.

use traceloom_analysis::calls::{CallList, CallQuery, Column};
use traceloom_input::captures::ChosenCaptures;

use super::{CallName, Options, in_capture};
use crate::catalog::{self, CatalogEntry};
use crate::inputs::Inputs;
use crate::lowered::mention;
use crate::numbers::things;
use crate::streams::message;

/// Captures of a data folder, those that were received last first.
pub(super) struct NewestFirst {
    chosen: ChosenCaptures,
    entries: Vec<CatalogEntry>,
}

/// Returns the captures if the newest calls of one data folder are asked for, and it has several.
pub(super) fn of(options: &Options, query: &CallQuery) -> anyhow::Result<Option<NewestFirst>> {
    let is_newest = query.sort == Some((Column::Start, true)) && query.limit.is_some();
    let [path] = options.read.paths.as_slice() else {
        return Ok(None);
    };
    // A border may count from the start of everything, and a shift moves what it names.
    if !is_newest || options.with_method.is_some() || !options.read.time.is_absolute() {
        return Ok(None);
    }
    let Some((chosen, mut entries)) = catalog::at(path)? else {
        return Ok(None);
    };
    if entries.len() < 2 {
        return Ok(None);
    }
    entries.sort_by_key(|entry| std::cmp::Reverse((entry.until_ns, entry.id)));
    Ok(Some(NewestFirst { chosen, entries }))
}

impl NewestFirst {
    /// Adds the newest calls; returns `true` if every capture was read.
    pub(super) fn add(
        &self,
        list: &mut CallList<CallName>,
        inputs: &mut Inputs<'_>,
        query: &CallQuery,
    ) -> anyhow::Result<bool> {
        let mut rest = self.entries.as_slice();
        // Each opening reads the catalog again, so that the captures of one are twice as many as those before.
        let mut at_a_time = 1;
        while let Some(next) = rest.first() {
            if list
                .last_number()
                .is_some_and(|start| start > next.until_ns)
            {
                let left = things(rest.len() as u64, "older capture", "older captures");
                message!("{left} not read: the calls listed are newer than all of them");
                return Ok(false);
            }
            let (now, later) = rest.split_at(at_a_time.min(rest.len()));
            (rest, at_a_time) = (later, at_a_time * 2);
            let ids: Vec<_> = now.iter().map(|entry| entry.id).collect();
            let input = inputs.open_path(1, &self.chosen.path(&ids))?;
            let notes = input.read(|recording| {
                let mut table = list.table(query);
                let notes = recording.lower(&mut table)?;
                list.add(table.finish(), |call| {
                    let mut name = CallName::of(0, recording, call);
                    // Parts are counted within what was opened here, which nobody else can open.
                    if let Some((capture, call)) = in_capture(recording, call) {
                        name.id = format!("{capture}:{call}");
                    }
                    name
                });
                Ok(notes)
            })?;
            mention(&input.input, &notes);
        }
        Ok(true)
    }
}
