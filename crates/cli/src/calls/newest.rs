//! The newest calls of a data folder, without reading all of it.
//!
//! The catalog says of a capture that ended when its last span did. Of others the time of the last receipt is known: a call that a
//! collector received until some moment began before it. So captures are read by falling time, and none more once the list is full of
//! calls that began later than everything in the rest.

use traceloom_analysis::calls::{CallList, CallQuery, Column};
use traceloom_input::captures::ChosenCaptures;

use super::{CallName, Options, in_capture};
use crate::catalog::{self, CatalogEntry};
use crate::inputs::Inputs;
use crate::lowered::{documents, mention};
use crate::numbers::things;
use crate::streams::message;

/// Captures that are opened together at most.
const MOST_TOGETHER: usize = 1024;

/// Captures of a data folder, those whose calls may be the newest first.
pub(super) struct NewestFirst {
    chosen: ChosenCaptures,
    entries: Vec<CatalogEntry>,
    n_all: usize,
    /// Calls of some captures are all on earlier pages.
    leaves_out: bool,
}

/// How many captures were read, and of how many.
pub(super) struct ReadCaptures {
    pub(super) n_read: usize,
    pub(super) n_all: usize,
    /// The others have no calls.
    pub(super) is_whole: bool,
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
    // Nothing that begins behind the page before belongs to this one. A border in time makes calls begin later.
    let after = query.after.as_ref().and_then(|after| after.number());
    let after = after.filter(|_| options.read.time.is_empty());
    let n_all = entries.len();
    entries.retain(|entry| entry.last_start() > i64::MIN);
    let n_with_calls = entries.len();
    // What has no calls is to be said as of any other input.
    if n_with_calls == 0 {
        return Ok(None);
    }
    entries.retain(|entry| after.is_none_or(|after| entry.first_start() <= after));
    entries.sort_by_key(|entry| std::cmp::Reverse((entry.last_start(), entry.id)));
    let leaves_out = entries.len() < n_with_calls;
    Ok(Some(NewestFirst {
        chosen,
        entries,
        n_all,
        leaves_out,
    }))
}

impl NewestFirst {
    /// Adds the newest calls, and returns what was read for them.
    pub(super) fn add(
        &self,
        list: &mut CallList<CallName>,
        inputs: &mut Inputs<'_>,
        query: &CallQuery,
    ) -> anyhow::Result<ReadCaptures> {
        let mut rest = self.entries.as_slice();
        let mut round = 0;
        while !rest.is_empty() {
            let together = together(rest, list, round);
            if together == 0 {
                let left = things(rest.len() as u64, "older capture", "older captures");
                message!("{left} not read: the calls listed are newer than all of them");
                break;
            }
            let (now, later) = rest.split_at(together);
            rest = later;
            round += 1;
            self.read(now, list, inputs, query)?;
        }
        Ok(ReadCaptures {
            n_read: self.entries.len() - rest.len(),
            n_all: self.n_all,
            is_whole: rest.is_empty() && !self.leaves_out,
        })
    }

    fn read(
        &self,
        entries: &[CatalogEntry],
        list: &mut CallList<CallName>,
        inputs: &mut Inputs<'_>,
        query: &CallQuery,
    ) -> anyhow::Result<()> {
        let ids: Vec<_> = entries.iter().map(|entry| entry.id).collect();
        let input = inputs.open_path(1, &self.chosen.path(&ids))?;
        // Files that nobody knows hold no calls.
        if documents(&input.input).is_err() {
            return Ok(());
        }
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
        Ok(())
    }
}

/// Returns how many of the next captures are read together; 0 where none of them can hold a call of the list.
///
/// As many as the catalog says hold the calls that are missing, twice as many with every round, because a filter may leave few of
/// them. Once the list is full, of those that may hold newer calls: each that is read may leave fewer of them.
fn together(rest: &[CatalogEntry], list: &mut CallList<CallName>, round: u32) -> usize {
    let doubled = 1_usize.checked_shl(round).unwrap_or(MOST_TOGETHER);
    if let Some(last) = list.last_number() {
        let newer = rest.iter().take_while(|entry| entry.last_start() >= last);
        return newer.count().min(doubled).min(MOST_TOGETHER);
    }
    let wanted = (list.n_missing() as u64).saturating_mul(doubled as u64);
    let mut n_calls = 0_u64;
    let enough = rest.iter().take_while(|entry| {
        let is_needed = n_calls < wanted;
        n_calls = n_calls.saturating_add(entry.calls.map_or(wanted, |known| known.n_calls));
        is_needed
    });
    enough.count().clamp(1, MOST_TOGETHER)
}
