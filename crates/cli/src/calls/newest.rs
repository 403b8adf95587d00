//! The newest calls of a data folder, without reading all of it.
//!
//! The catalog says of a capture that ended when its last span did. Of others the time of the last receipt is known: a call that a
//! collector received until some moment began before it. So captures are read by falling time, and none more once the list is full of
//! calls that began later than everything in the rest.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use traceloom_analysis::calls::{CallList, CallQuery, CallsAfter, Column, Sender};
use traceloom_analysis::query::PartialRead;
use traceloom_analysis::stage::Range;
use traceloom_input::captures::{CaptureId, ChosenCaptures};

use super::indexed::{CallIndexes, ReadIndexes, WantedChunks, asked_range};
use super::{CallName, Options, in_capture};
use crate::catalog::{self, CatalogAt, CatalogEntry};
use crate::inputs::Inputs;
use crate::lowered::{documents, mention};
use crate::numbers::things;
use crate::read_plan::RecordingReader;
use crate::streams::message;

/// Captures that are opened together at most.
const MOST_TOGETHER: usize = 1024;
/// How many times as many calls as asked for are looked at first where a filter may refuse them.
const MORE_FILTERED: usize = 32;

/// Captures of a data folder, those whose calls may be the newest first.
pub(super) struct NewestFirst {
    chosen: ChosenCaptures,
    entries: Vec<CatalogEntry>,
    senders: HashMap<CaptureId, Arc<Sender>>,
    range: Range,
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
    pub(super) indexes: ReadIndexes,
    /// What was read, where the budget left some out.
    pub(super) partial: Option<PartialRead>,
}

/// How a look at the captures ended.
enum Look {
    Read(ReadCaptures),
    /// The index of a capture is damaged: everything is read again, and the capture itself in its place.
    Damaged(CatalogEntry),
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
    let Some(CatalogAt {
        chosen,
        mut entries,
        senders,
    }) = catalog::at(path, options.catalog)?
    else {
        return Ok(None);
    };
    // One capture is read as it is, unless it has an index.
    if let [only] = entries.as_slice()
        && CallIndexes::new(options, &chosen.folder, &senders, true)?
            .of(only)
            .is_none()
    {
        return Ok(None);
    }
    if entries.is_empty() {
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
    let range = asked_range(options)?;
    entries.iter_mut().for_each(|entry| entry.within(range));
    entries.sort_by_key(|entry| std::cmp::Reverse((entry.last_start(), entry.id)));
    let leaves_out = entries.len() < n_with_calls;
    Ok(Some(NewestFirst {
        chosen,
        entries,
        senders,
        range,
        n_all,
        leaves_out,
    }))
}

impl NewestFirst {
    /// Adds the newest calls to an empty list, and returns what was read for them.
    pub(super) fn add(
        &self,
        list: &mut CallList<CallName>,
        inputs: &mut Inputs<'_>,
        (options, query): (&Options, &CallQuery),
    ) -> anyhow::Result<ReadCaptures> {
        let is_single = self.n_all == 1;
        let mut indexes = CallIndexes::new(options, &self.chosen.folder, &self.senders, is_single)?;
        let is_whole = query.selection.is_empty();
        // Of the calls of a filter nobody knows where they are: the first look is at some more, the second at all.
        let ahead = if is_whole { 1 } else { MORE_FILTERED };
        let mut since = self.since(&mut indexes, query, ahead);
        loop {
            *list = CallList::new(query);
            let read = match self.look(list, inputs, &mut indexes, (options, query, since))? {
                Look::Damaged(entry) => {
                    indexes.distrust(&entry);
                    since = since.and_then(|_| self.since(&mut indexes, query, ahead));
                    continue;
                }
                Look::Read(read) => read,
            };
            let is_full = list
                .last_number()
                .is_some_and(|last| since.is_none_or(|since| since <= last));
            if read.is_whole || is_full || since.is_none() {
                let n_rest = self.entries.len() - read.n_read;
                if n_rest > 0 && read.partial.is_none() {
                    let left = things(n_rest as u64, "older capture", "older captures");
                    message!("{left} not read: the calls listed are newer than all of them");
                }
                indexes.mention(&options.read.paths.concat());
                return Ok(ReadCaptures {
                    indexes: indexes.counts(),
                    ..read
                });
            }
            since = None;
        }
    }

    /// Returns a time since which at least so many times the calls of the list began, as far as indexes know.
    fn since(&self, indexes: &mut CallIndexes<'_>, query: &CallQuery, times: usize) -> Option<i64> {
        let most = query.most().saturating_mul(times) as u64;
        let after = query.after.as_ref().and_then(CallsAfter::number);
        let known = match query.selection.is_empty() && after.is_none() {
            true => self.known_since(query.most()),
            false => None,
        };
        let mut newest = BinaryHeap::new();
        let mut n_calls = 0;
        for entry in &self.entries {
            let enough = n_calls >= most;
            let oldest = newest.peek().map(|&Reverse((since, _))| since);
            let oldest = oldest.filter(|_| enough).max(known);
            if oldest.is_some_and(|oldest| entry.last_start() < oldest) {
                break;
            }
            for (last, chunk) in indexes.chunks(entry).unwrap_or_default() {
                // Some of its calls may be on earlier pages.
                if after.is_some_and(|after| last > after) {
                    continue;
                }
                n_calls += u64::from(chunk.n_calls);
                newest.push(Reverse((chunk.starts.0, chunk.n_calls)));
                while let Some(&Reverse((_, n_oldest))) = newest.peek()
                    && n_calls - u64::from(n_oldest) >= most
                {
                    n_calls -= u64::from(n_oldest);
                    newest.pop();
                }
            }
        }
        let oldest = newest.peek().map(|&Reverse((since, _))| since);
        oldest.filter(|_| n_calls >= most).max(known)
    }

    /// Returns a time since which so many captures each began a call, as the catalog knows without their indexes: however many captures
    /// cover the same time, no more of them are opened than there are rows on a page.
    fn known_since(&self, n_rows: usize) -> Option<i64> {
        if self.range.until.is_some() {
            return None;
        }
        let starts = self.entries.iter().filter_map(|entry| {
            let calls = entry.calls.filter(|calls| calls.n_calls > 0)?;
            let is_inside = |start: &i64| self.range.since.is_none_or(|since| since < *start);
            calls.last_start.filter(is_inside)
        });
        starts.take(n_rows).skip(n_rows.checked_sub(1)?).last()
    }

    /// Adds calls that began since a time, and those of captures without an index, newest captures first.
    fn look(
        &self,
        list: &mut CallList<CallName>,
        inputs: &mut Inputs<'_>,
        indexes: &mut CallIndexes<'_>,
        (options, query, since): (&Options, &CallQuery, Option<i64>),
    ) -> anyhow::Result<Look> {
        let until = query.after.as_ref().and_then(CallsAfter::number);
        let wanted = WantedChunks::Newest { since, until };
        let mut rest = self.entries.as_slice();
        let (mut round, mut n_left_out) = (0, 0);
        let mut room = BudgetRoom::new(options.budget, indexes.n_read());
        while let Some((next, later)) = rest.split_first() {
            let is_older = since.is_some_and(|since| next.last_start() < since);
            let is_beyond = list
                .last_number()
                .is_some_and(|last| next.last_start() < last);
            if is_older || is_beyond {
                break;
            }
            if indexes.of(next).is_some() {
                if !room.has(indexes.n_read(), 0) {
                    break;
                }
                match indexes.add(next, wanted, list, query) {
                    Ok(n_chunks) => n_left_out += n_chunks,
                    Err(_) => return Ok(Look::Damaged(*next)),
                }
                rest = later;
                continue;
            }
            if let Some((n_bytes, partial)) = room.beginning(rest) {
                let chosen = self.chosen.clone().beginning(next.id, n_bytes);
                let now = std::slice::from_ref(next);
                read_captures(&chosen, now, self.n_all == 1, list, inputs, query)?;
                return Ok(Look::Read(ReadCaptures {
                    partial: Some(partial),
                    n_read: 1,
                    n_all: self.n_all,
                    is_whole: false,
                    indexes: ReadIndexes::default(),
                }));
            }
            let n_known = indexes.n_read();
            let unknown = rest.iter().take(together(rest, list, round));
            let unknown = unknown.take_while(|entry| indexes.of(entry).is_none());
            let fits = unknown.take_while(|entry| room.takes(n_known, entry.n_bytes));
            let (now, later) = rest.split_at(fits.count());
            if now.is_empty() {
                break;
            }
            rest = later;
            round += 1;
            read_captures(&self.chosen, now, self.n_all == 1, list, inputs, query)?;
        }
        Ok(Look::Read(ReadCaptures {
            partial: room.partial(&self.entries, rest),
            n_read: self.entries.len() - rest.len(),
            n_all: self.n_all,
            is_whole: rest.is_empty() && n_left_out == 0 && !self.leaves_out,
            indexes: ReadIndexes::default(),
        }))
    }
}

/// What is left of the bytes that one look may read.
struct BudgetRoom {
    budget: Option<u64>,
    /// Bytes of indexes that were read before.
    n_before: u64,
    /// Bytes of captures.
    n_captures: u64,
    is_begun: bool,
    /// What was refused last needs so many bytes in all.
    refused: Option<u64>,
}

impl BudgetRoom {
    const fn new(budget: Option<u64>, n_before: u64) -> Self {
        Self {
            budget,
            n_before,
            n_captures: 0,
            is_begun: false,
            refused: None,
        }
    }

    /// Returns true if there is room for so many more bytes, `n_indexes` of indexes being read; the first capture has room.
    fn has(&mut self, n_indexes: u64, n_more: u64) -> bool {
        let n_read = n_indexes.saturating_sub(self.n_before) + self.n_captures;
        let needed = n_read.saturating_add(n_more);
        let has_room = !self.is_begun || self.budget.is_none_or(|budget| needed <= budget);
        self.is_begun = true;
        self.refused = (!has_room).then_some(needed);
        has_room
    }

    /// Takes the room for a capture, if there is so much.
    fn takes(&mut self, n_indexes: u64, n_bytes: u64) -> bool {
        let has_room = self.has(n_indexes, n_bytes);
        if has_room {
            self.n_captures = self.n_captures.saturating_add(n_bytes);
        }
        has_room
    }

    /// Returns how much of the first capture is read, where nothing was read before it and it alone is beyond the budget.
    fn beginning(&self, rest: &[CatalogEntry]) -> Option<(u64, PartialRead)> {
        let budget = self.budget.filter(|_| !self.is_begun)?;
        let sizes: Vec<u64> = rest.iter().map(|entry| entry.n_bytes).collect();
        PartialRead::beginning(&sizes, budget)
    }

    /// Returns what was read, if something was refused.
    fn partial(&self, all: &[CatalogEntry], rest: &[CatalogEntry]) -> Option<PartialRead> {
        let (needed, budget) = self.refused.filter(|_| !rest.is_empty()).zip(self.budget)?;
        let sum = |entries: &[CatalogEntry]| -> u64 { entries.iter().map(|one| one.n_bytes).sum() };
        Some(PartialRead {
            read_bytes: sum(all) - sum(rest),
            of_bytes: sum(all),
            captures_read: all.len() - rest.len(),
            captures: all.len(),
            budget: Some(budget),
            next_budget: Some(PartialRead::beyond(budget, needed)),
        })
    }
}

/// Adds the calls of captures, from these themselves. In a folder of one capture it is not named.
pub(super) fn read_captures(
    chosen: &ChosenCaptures,
    entries: &[CatalogEntry],
    is_single: bool,
    list: &mut CallList<CallName>,
    inputs: &mut Inputs<'_>,
    query: &CallQuery,
) -> anyhow::Result<()> {
    let ids: Vec<_> = entries.iter().map(|entry| entry.id).collect();
    let input = inputs.open_path(1, &chosen.path(&ids))?;
    // Files that nobody knows hold no calls.
    if documents(&input.input).is_err() {
        return Ok(());
    }
    // In the order of the captures, by which equal calls are told apart on every page.
    let capture = |recording: &RecordingReader<'_>| {
        let id = recording.file().split_once('/')?.0.parse().ok()?;
        ids.iter().position(|of| *of == id)
    };
    let order = |recording: &RecordingReader<'_>| capture(recording).unwrap_or(ids.len());
    let notes = input.read_by(order, |recording| {
        let mut table = list.table(query).sent_by(recording.sender());
        let notes = recording.lower(&mut table)?;
        list.add(table.finish(), |call| {
            let mut name = CallName::of(0, recording, call);
            // Parts are counted within what was opened here, which nobody else can open.
            if let Some((capture, call)) = in_capture(recording, call).filter(|_| !is_single) {
                name.id = format!("{capture}:{call}");
            }
            name
        });
        Ok(notes)
    })?;
    mention(&input.input, &notes);
    Ok(())
}

/// Returns how many of the next captures are read together.
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
