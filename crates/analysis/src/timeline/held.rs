//! What is held of a recording while it is read: spans and marks in columns.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use traceloom_model::Timestamp;

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
        by_start(&self.track, 0, |at| {
            (get(&self.start, at), Reverse(get(&self.end, at)))
        })
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
    /// The rows of each track by their start, callers before what they call; those from row `from` on.
    pub(super) fn by_start(&self, from: usize) -> BTreeMap<u32, Numbers> {
        by_start(&self.rows.track, from, |at| {
            let rank = (get(&self.depth, at), get(&self.id, at));
            let row = self.rows.row(at);
            (row.start, Reverse(row.end), rank)
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

fn by_start<K: Ord>(tracks: &[u32], from: usize, key: impl Fn(u32) -> K) -> BTreeMap<u32, Numbers> {
    let mut by: HashMap<u32, Numbers, RandomState> = HashMap::default();
    let mut numbered = (0..).zip(tracks).skip(from).peekable();
    while let Some(&(_, track)) = numbered.peek() {
        // Rows of one track lie together, mostly.
        let numbers = by.entry(*track).or_default();
        while let Some((at, _)) = numbered.next_if(|&(_, other)| other == track) {
            numbers.push(at);
        }
    }
    for numbers in by.values_mut() {
        numbers.sort_by_key(|&at| key(at));
    }
    by.into_iter().collect()
}

pub(super) fn get<T: Copy + Default>(column: &[T], at: u32) -> T {
    column.get(at as usize).copied().unwrap_or_default()
}

pub(super) fn set<T>(column: &mut [T], at: u32, value: T) {
    if let Some(slot) = column.get_mut(at as usize) {
        *slot = value;
    }
}
