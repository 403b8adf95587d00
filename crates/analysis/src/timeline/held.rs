//! What is held of a recording while it is read: spans and marks in columns.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use traceloom_model::Timestamp;
use traceloom_model::bounds::{row_number, subslice};

/// Row numbers of one track among those that were collected.
pub(super) type Numbers = Vec<u32>;

/// Events, waits, pauses, samples, or what of spans they have too, in columns: 40 bytes each.
#[derive(Debug, Default)]
pub(super) struct HeldRows {
    pub(super) start: Vec<Timestamp>,
    pub(super) end: Vec<Timestamp>,
    pub(super) track: Vec<u32>,
    /// A function, an event type, or the stack of a sample; of what is held together, that of the longest.
    pub(super) name: Vec<u32>,
    pub(super) detail: Vec<u32>,
    /// How many a row is: more than 1 where they are held together.
    pub(super) count: Vec<u32>,
    /// Nanoseconds that they fill.
    pub(super) filled: Vec<u64>,
}

/// When a row was, and how much it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldRow {
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
    pub(super) count: u32,
    pub(super) filled: u64,
}

impl HeldRow {
    /// One span, event or sample.
    pub(super) fn single(start: Timestamp, end: Timestamp) -> Self {
        Self {
            start,
            end,
            count: 1,
            filled: end.abs_diff(start),
        }
    }
}

impl HeldRows {
    pub(super) fn push(
        &mut self,
        (start, end): (Timestamp, Timestamp),
        (track, name, detail): (u32, u32, u32),
    ) {
        self.start.push(start);
        self.end.push(end);
        self.track.push(track);
        self.name.push(name);
        self.detail.push(detail);
        self.count.push(1);
        self.filled.push(end.abs_diff(start));
    }

    pub(super) fn len(&self) -> usize {
        self.start.len()
    }

    pub(super) fn row(&self, at: u32) -> HeldRow {
        HeldRow {
            start: get(&self.start, at),
            end: get(&self.end, at),
            count: get(&self.count, at),
            filled: get(&self.filled, at),
        }
    }

    /// Holds a row and what follows it as one.
    pub(super) fn join(&mut self, at: u32, next: HeldRow) {
        let row = self.row(at);
        set(&mut self.end, at, next.end);
        set(&mut self.filled, at, row.filled.saturating_add(next.filled));
        set(&mut self.count, at, row.count.saturating_add(next.count));
        // What only a row has that is one.
        set(&mut self.detail, at, 0);
    }

    /// The rows of each track by their start.
    pub(super) fn by_start(&self) -> BTreeMap<u32, Numbers> {
        let numbers = numbers_of(&self.track, 0, |_| true);
        by_start(numbers, &self.start, |at| Reverse(get(&self.end, at)))
    }

    /// Keeps the rows that are marked.
    pub(super) fn keep(&mut self, kept: &[bool]) {
        retain(&mut self.start, kept);
        retain(&mut self.end, kept);
        retain(&mut self.track, kept);
        retain(&mut self.name, kept);
        retain(&mut self.detail, kept);
        retain(&mut self.count, kept);
        retain(&mut self.filled, kept);
    }
}

/// Spans in columns: 69 bytes each.
#[derive(Debug, Default)]
pub(super) struct Spans {
    pub(super) rows: HeldRows,
    pub(super) id: Vec<u64>,
    pub(super) parent: Vec<u64>,
    pub(super) place: Vec<u64>,
    pub(super) depth: Vec<u32>,
    pub(super) flags: Vec<u8>,
}

impl Spans {
    /// The rows of each track that is wanted by their start, callers before what they call; those from row `from` on.
    pub(super) fn by_start(
        &self,
        from: usize,
        is_wanted: impl Fn(u32) -> bool,
    ) -> BTreeMap<u32, Numbers> {
        let numbers = numbers_of(&self.rows.track, from, is_wanted);
        by_start(numbers, &self.rows.start, |at| {
            let rank = (get(&self.depth, at), get(&self.id, at));
            (Reverse(get(&self.rows.end, at)), rank)
        })
    }

    /// Keeps the rows that are marked.
    pub(super) fn keep(&mut self, kept: &[bool]) {
        self.rows.keep(kept);
        retain(&mut self.id, kept);
        retain(&mut self.parent, kept);
        retain(&mut self.place, kept);
        retain(&mut self.depth, kept);
        retain(&mut self.flags, kept);
    }
}

pub(super) fn retain<T>(column: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    column.retain(|_| kept.next().copied().unwrap_or(true));
}

/// The rows of each track that is wanted, from row `from` on, as they were collected.
fn numbers_of(
    tracks: &[u32],
    from: usize,
    is_wanted: impl Fn(u32) -> bool,
) -> HashMap<u32, Numbers, RandomState> {
    let mut by: HashMap<u32, Numbers, RandomState> = HashMap::default();
    let mut from = from;
    // Rows of one track lie together, mostly.
    for rows in subslice(tracks, from..).chunk_by(|one, next| one == next) {
        let numbers = row_number(from)..row_number(from + rows.len());
        from += rows.len();
        if let Some(&track) = rows.first().filter(|&&track| is_wanted(track)) {
            by.entry(track).or_default().extend(numbers);
        }
    }
    by
}

/// Puts rows in the order of their starts; of those that start together, in the order of their keys.
fn by_start<K: Ord>(
    by: HashMap<u32, Numbers, RandomState>,
    starts: &[Timestamp],
    key: impl Fn(u32) -> K,
) -> BTreeMap<u32, Numbers> {
    let mut rows: Vec<(Timestamp, u32)> = Vec::new();
    let sorted = by.into_iter().map(|(track, mut numbers)| {
        rows.clear();
        rows.extend(numbers.iter().map(|&at| (get(starts, at), at)));
        // What was in order before is a run of it: a stable sort merges runs.
        rows.sort_by_key(|&(start, _)| start);
        for together in rows.chunk_by_mut(|(one, _), (next, _)| one == next) {
            if together.len() > 1 {
                together.sort_by_key(|&(_, at)| key(at));
            }
        }
        numbers.clear();
        numbers.extend(rows.iter().map(|&(_, at)| at));
        (track, numbers)
    });
    sorted.collect()
}

pub(super) fn get<T: Copy + Default>(column: &[T], at: u32) -> T {
    column.get(at as usize).copied().unwrap_or_default()
}

pub(super) fn set<T>(column: &mut [T], at: u32, value: T) {
    if let Some(slot) = column.get_mut(at as usize) {
        *slot = value;
    }
}
