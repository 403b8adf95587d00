//! Calls from the indexes of captures, in place of the captures themselves.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use traceloom_analysis::calls::{
    Call, CallCounts, CallList, CallQuery, CallTable, CallsAfter, Column, Sender,
};
use traceloom_analysis::stage::{Range, Window};
use traceloom_input::captures::call_index::{CallChunk, CallIndex, IndexedRecording};
use traceloom_input::captures::{CaptureId, DataFolder};
use traceloom_model::bounds::saturated_i64;
use traceloom_model::{Asks, Batch, Clock, Flow, Sink as _, Stage};

use super::{CallName, Options};
use crate::asked::SeenNames;
use crate::catalog::CatalogEntry;
use crate::info::shell_word;
use crate::streams::message;
use crate::style::zone;
use crate::timing::Bound;

/// The indexes of the captures of a data folder.
pub(super) struct CallIndexes<'o> {
    options: &'o Options,
    folder: Option<DataFolder>,
    range: Range,
    /// The folder has one capture, whose calls are named without it.
    is_single: bool,
    held: HeldIndexes,
    senders: HashMap<CaptureId, Arc<Sender>>,
    warn: u64,
    damage: u64,
}

/// What was read of indexes.
#[derive(Clone, Copy, Default)]
pub(super) struct ReadIndexes {
    /// How often one was opened.
    pub(super) n_opened: u64,
    pub(super) n_bytes: u64,
}

/// Indexes that are open at a time: of the captures of a folder there may be more than a process may have files.
const MOST_HELD: usize = 32;

/// Indexes that are open. Where there is no more room for one, that which was opened last is closed: what is read twice is read in the
/// same order.
#[derive(Default)]
struct HeldIndexes {
    open: Vec<(CaptureId, CallIndex)>,
    /// Captures whose indexes cannot answer.
    unusable: HashSet<CaptureId>,
    /// Indexes that were opened.
    n_opened: u64,
    /// Bytes read of those that are closed.
    n_read: u64,
}

impl HeldIndexes {
    fn get(&self, id: CaptureId) -> Option<&CallIndex> {
        let mut open = self.open.iter();
        open.find(|(of, _)| *of == id).map(|(_, index)| index)
    }

    /// Returns the index of a capture, opened by `open` unless it is held.
    fn opened(
        &mut self,
        id: CaptureId,
        open: impl FnOnce() -> Option<CallIndex>,
    ) -> Option<&CallIndex> {
        if self.unusable.contains(&id) {
            return None;
        }
        if self.get(id).is_none() {
            let Some(index) = open() else {
                self.unusable.insert(id);
                return None;
            };
            self.n_opened += 1;
            if self.open.len() >= MOST_HELD
                && let Some((_, closed)) = self.open.pop()
            {
                self.n_read += closed.n_read();
            }
            self.open.push((id, index));
        }
        self.get(id)
    }

    fn distrust(&mut self, id: CaptureId) {
        self.unusable.insert(id);
    }

    /// Returns the bytes that were read.
    fn n_read(&self) -> u64 {
        let open = self.open.iter().map(|(_, index)| index.n_read());
        self.n_read + open.sum::<u64>()
    }
}

/// Which chunks are read.
#[derive(Clone, Copy)]
pub(super) enum WantedChunks {
    /// Those in which a call begins that late, and not later than the place that the page is behind.
    Newest {
        since: Option<i64>,
        until: Option<i64>,
    },
    /// Those that may have a call of the list; the others are counted.
    Sorted,
}

impl<'o> CallIndexes<'o> {
    pub(super) fn new(
        options: &'o Options,
        folder: &Path,
        senders: &HashMap<CaptureId, Arc<Sender>>,
        is_single: bool,
    ) -> anyhow::Result<Self> {
        let time = &options.read.time;
        let range = asked_range(options)?;
        let is_served = options.with_method.is_none()
            && options.read.methods.is_empty()
            && !options.read.common.strict
            && time.is_absolute();
        let folder = DataFolder::open(folder).ok();
        Ok(Self {
            options,
            folder: folder.filter(|_| is_served),
            range,
            is_single,
            held: HeldIndexes::default(),
            senders: senders.clone(),
            warn: 0,
            damage: 0,
        })
    }

    /// Returns the index of a capture, if it has one that can answer.
    pub(super) fn of(&mut self, entry: &CatalogEntry) -> Option<&CallIndex> {
        let Self {
            folder,
            held,
            options,
            ..
        } = self;
        let is_bounded = options.read.time.is_bounded();
        held.opened(entry.id, || {
            let known = entry.calls.as_ref().filter(|_| entry.is_chosen_whole)?;
            let index = CallIndex::open(folder.as_ref()?, entry.id, known.manifest)?;
            // A clock without origin has no dates: reading the capture says so.
            let mut recordings = index.recordings().iter();
            let is_dated = recordings.all(|one| one.clock == Clock::Unix);
            (is_dated || !is_bounded).then_some(index)
        })
    }

    /// Reads a capture itself from now on: its index is damaged.
    pub(super) fn distrust(&mut self, entry: &CatalogEntry) {
        self.held.distrust(entry.id);
    }

    /// Returns the chunks of a capture that have calls in the stretch of time, with the latest start that one of them can have there.
    pub(super) fn chunks(&mut self, entry: &CatalogEntry) -> Option<Vec<(i64, CallChunk)>> {
        let range = self.range;
        let recordings = self.of(entry)?.recordings().iter();
        let chunks = recordings.flat_map(|one| &one.chunks);
        let inside = chunks.filter(|chunk| touches(range, chunk));
        Some(inside.map(|chunk| (latest(range, chunk), *chunk)).collect())
    }

    /// Returns the bytes of indexes that were read.
    pub(super) fn n_read(&self) -> u64 {
        self.held.n_read()
    }

    /// Returns what was read of indexes.
    pub(super) fn counts(&self) -> ReadIndexes {
        ReadIndexes {
            n_opened: self.held.n_opened,
            n_bytes: self.n_read(),
        }
    }

    /// Adds the calls of a capture to the list. Returns the number of chunks that were left out.
    pub(super) fn add(
        &mut self,
        entry: &CatalogEntry,
        wanted: WantedChunks,
        list: &mut CallList<CallName>,
        query: &CallQuery,
    ) -> io::Result<u64> {
        let _ = self.of(entry);
        let Some(index) = self.held.get(entry.id) else {
            return Ok(0);
        };
        let sender = self.senders.get(&entry.id).cloned().unwrap_or_default();
        let sender = Sender::clone(&sender);
        let mut n_left_out = 0;
        for recording in index.recordings() {
            let mut table = list.table(query).sent_by(sender.clone());
            n_left_out += self.read(index, recording, wanted, &mut table, query)?;
            let capture = entry.id.to_string();
            list.add(table.finish(), |call| self.name(&capture, call));
        }
        if let Some(known) = &entry.calls {
            self.warn += known.notes.warn;
            self.damage += known.notes.damage;
        }
        Ok(n_left_out)
    }

    fn read(
        &self,
        index: &CallIndex,
        recording: &IndexedRecording,
        wanted: WantedChunks,
        table: &mut CallTable,
        query: &CallQuery,
    ) -> io::Result<u64> {
        let mut names = self.options.read.common.asked.names_of_recording();
        let range = self.range;
        table.skip(CallCounts {
            samples: recording.n_samples,
            ..CallCounts::default()
        });
        let mut calls = index.reader(recording);
        let _ = calls.begin(&mut Window::new(&mut NamedCalls(table, &mut names), range));
        let mut n_left_out = 0;
        for chunk in &recording.chunks {
            if !touches(range, chunk) {
                continue;
            }
            if !self.is_wanted(chunk, wanted, table, query) {
                n_left_out += 1;
                continue;
            }
            let mut inside = NamedCalls(table, &mut names);
            let _ = calls.chunk(chunk, &mut Window::new(&mut inside, range))?;
        }
        let _ = calls.end(&mut NamedCalls(table, &mut names));
        Ok(n_left_out)
    }

    /// Returns `true` if a chunk may have calls of the list. Of one that has none, the calls are counted where all are.
    fn is_wanted(
        &self,
        chunk: &CallChunk,
        wanted: WantedChunks,
        table: &mut CallTable,
        query: &CallQuery,
    ) -> bool {
        let edge = table.edge_number();
        match wanted {
            WantedChunks::Newest { since, until } => {
                let (first, last) = (chunk.starts.0, latest(self.range, chunk));
                let is_new = since.is_none_or(|since| since <= last);
                is_new
                    && until.is_none_or(|until| first <= until)
                    && edge.is_none_or(|edge| edge < last)
            }
            WantedChunks::Sorted => {
                let after = query.after.as_ref().and_then(CallsAfter::number);
                let is_whole = query.selection.is_empty() && !self.options.read.time.is_bounded();
                let Some(keys) = keys(chunk, query).filter(|_| is_whole) else {
                    return true;
                };
                let is_falling = matches!(query.sort, Some((_, true)));
                let is_wanted = match is_falling {
                    true => {
                        edge.is_none_or(|edge| edge < keys.1)
                            && after.is_none_or(|after| keys.0 <= after)
                    }
                    false => {
                        edge.is_none_or(|edge| keys.0 < edge)
                            && after.is_none_or(|after| after <= keys.1)
                    }
                };
                if !is_wanted {
                    let n_calls = u64::from(chunk.n_calls);
                    table.skip(CallCounts {
                        read: n_calls,
                        selected: n_calls,
                        samples: 0,
                        total: chunk.total_ns,
                        async_total: chunk.async_total_ns,
                        async_calls: u64::from(chunk.n_async),
                    });
                }
                is_wanted
            }
        }
    }

    /// Says what is wrong with the captures that were not read themselves.
    pub(super) fn mention(&self, path: &str) {
        let Self { warn, damage, .. } = self;
        if warn + damage > 0 {
            let shown = shell_word(path);
            message!(
                "{path}: {damage} damage and {warn} warn notes; `traceloom check {shown}` lists them"
            );
        }
    }

    fn name(&self, capture: &str, call: &Call) -> CallName {
        let own = match call.origin {
            Some(origin) => format!("{}.{}.{}", origin.part.0, origin.offset, origin.index),
            None => format!("#{}", call.id.0),
        };
        CallName {
            path: 0,
            id: match self.is_single {
                true => own.clone(),
                false => format!("{capture}:{own}"),
            },
            capture: Some((capture.to_owned(), own)),
        }
    }
}

/// Returns the stretch of time that is asked for, as far as its borders are dates.
pub(super) fn asked_range(options: &Options) -> anyhow::Result<Range> {
    let zone = zone(&options.read.common)?;
    let resolve = |bound: Option<Bound>| -> anyhow::Result<Option<i64>> {
        Ok(match bound {
            Some(Bound::At(ns)) => Some(ns),
            Some(Bound::Civil(date)) => {
                i64::try_from(zone.to_timestamp(date)?.as_nanosecond()).ok()
            }
            _ => None,
        })
    };
    let time = &options.read.time;
    Ok(Range {
        since: resolve(time.since)?,
        until: resolve(time.until)?,
    })
}

/// Returns `true` if a chunk may have calls in a stretch of time.
fn touches(range: Range, chunk: &CallChunk) -> bool {
    range.since.is_none_or(|since| since <= chunk.ends.1)
        && range.until.is_none_or(|until| chunk.starts.0 < until)
}

/// Returns the latest start of a call of a chunk in a stretch of time: a call that began before it begins with it.
fn latest(range: Range, chunk: &CallChunk) -> i64 {
    let last = chunk.starts.1;
    range.since.map_or(last, |since| last.max(since))
}

/// Returns the least and the greatest key of the calls of a chunk, where its column is a time of their own.
fn keys(chunk: &CallChunk, query: &CallQuery) -> Option<(i64, i64)> {
    match query.sort.as_ref()?.0 {
        Column::Start => Some(chunk.starts),
        Column::End => Some(chunk.ends),
        Column::Duration => {
            let (least, most) = chunk.durations;
            Some((saturated_i64(least), saturated_i64(most)))
        }
        _ => None,
    }
}

/// Notes the names that calls have on their way into a table.
struct NamedCalls<'t>(&'t mut CallTable, &'t mut Option<SeenNames>);

impl Stage for NamedCalls<'_> {
    fn asks(&self) -> Asks {
        self.0.asks()
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        if let Some(names) = self.1 {
            names.see(&batch);
        }
        batch.push(self.0)
    }
}
