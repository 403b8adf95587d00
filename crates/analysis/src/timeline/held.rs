//! What is held of a recording while it is read: spans and marks in columns.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use traceloom_model::Timestamp;

/// Row numbers of one track among those that were collected.
pub(super) type Numbers = Vec<u32>;

/// Spans in columns: 69 bytes each.
#[derive(Debug, Default)]
pub(super) struct Spans {
    pub(super) start: Vec<Timestamp>,
    pub(super) end: Vec<Timestamp>,
    pub(super) track: Vec<u32>,
    pub(super) function: Vec<u32>,
    pub(super) id: Vec<u64>,
    pub(super) parent: Vec<u64>,
    pub(super) place: Vec<u64>,
    pub(super) detail: Vec<u32>,
    pub(super) depth: Vec<u32>,
    pub(super) flags: Vec<u8>,
    /// How many spans a row is: more than 1 where they are held together.
    pub(super) count: Vec<u32>,
    /// Nanoseconds that they fill.
    pub(super) filled: Vec<u64>,
}

impl Spans {
    /// The rows of each track by their start, callers before what they call.
    pub(super) fn by_start(&self) -> BTreeMap<u32, Numbers> {
        by_start(&self.track, |at| {
            let rank = (get(&self.depth, at), get(&self.id, at));
            (get(&self.start, at), Reverse(get(&self.end, at)), rank)
        })
    }
}

impl Spans {
    /// Keeps the rows that are marked.
    pub(super) fn keep(&mut self, kept: &[bool]) {
        retain(&mut self.start, kept);
        retain(&mut self.end, kept);
        retain(&mut self.track, kept);
        retain(&mut self.function, kept);
        retain(&mut self.id, kept);
        retain(&mut self.parent, kept);
        retain(&mut self.place, kept);
        retain(&mut self.detail, kept);
        retain(&mut self.depth, kept);
        retain(&mut self.flags, kept);
        retain(&mut self.count, kept);
        retain(&mut self.filled, kept);
    }
}

/// Events, waits, pauses or samples in columns: 40 bytes each.
#[derive(Debug, Default)]
pub(super) struct Marks {
    pub(super) start: Vec<Timestamp>,
    pub(super) end: Vec<Timestamp>,
    pub(super) track: Vec<u32>,
    /// An event type, or the stack of a sample.
    pub(super) name: Vec<u32>,
    pub(super) detail: Vec<u32>,
    /// How many a row is: more than 1 where they are held together.
    pub(super) count: Vec<u32>,
    /// Nanoseconds that they fill.
    pub(super) filled: Vec<u64>,
}

impl Marks {
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

    /// The rows of each track by their start.
    pub(super) fn by_start(&self) -> BTreeMap<u32, Numbers> {
        by_start(&self.track, |at| {
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

fn retain<T>(column: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    column.retain(|_| kept.next().copied().unwrap_or(true));
}

fn by_start<K: Ord>(tracks: &[u32], key: impl Fn(u32) -> K) -> BTreeMap<u32, Numbers> {
    let mut by: HashMap<u32, Numbers, RandomState> = HashMap::default();
    for (at, &track) in (0..).zip(tracks) {
        by.entry(track).or_default().push(at);
    }
    for numbers in by.values_mut() {
        numbers.sort_by_key(|&at| key(at));
    }
    by.into_iter().collect()
}

pub(super) fn get<T: Copy + Default>(column: &[T], at: u32) -> T {
    column.get(at as usize).copied().unwrap_or_default()
}
