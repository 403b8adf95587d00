//! One list of the calls of many recordings.

use super::CallsAfter;
use super::cell::SortKey;
use super::table::{Call, CallQuery, CallTable, Calls};

/// Calls of several recordings in one order, in memory bounded by the limit.
///
/// Ids of a call are numbers of its own recording, so each recording with a call in the list keeps its tables: with a
/// limit at most that many and a few more are held, whatever the number of recordings.
///
/// `N` is what a caller knows a call by.
#[derive(Debug)]
pub struct CallList<N> {
    query: CallQuery,
    /// Most calls, those of earlier pages with the key of the place included.
    most: usize,
    rows: Vec<ListedCall<N>>,
    /// Rows that are in their order.
    n_sorted: usize,
    /// Tables and pauses; the calls are in `rows`.
    recordings: Vec<Option<Calls>>,
    /// Recordings that are held.
    n_held: usize,
    counts: CallCounts,
}

/// How many calls there are, and their time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Calls that were read.
    pub read: u64,
    /// Calls that were selected, in the list or not.
    pub selected: u64,
    /// Samples that were read: a profile without calls has these instead.
    pub samples: u64,
    /// Nanoseconds of the selected calls on thread tracks, without those inside other calls: what `top` calls 100 %.
    pub total: i64,
    /// Nanoseconds of the selected calls on async tracks and lanes, without those inside other calls.
    pub async_total: i64,
    /// Selected calls on async tracks and lanes.
    pub async_calls: u64,
}

impl CallCounts {
    /// Adds the counts of another recording.
    pub fn add(&mut self, other: Self) {
        self.read += other.read;
        self.selected += other.selected;
        self.samples += other.samples;
        self.total = self.total.saturating_add(other.total);
        self.async_total = self.async_total.saturating_add(other.async_total);
        self.async_calls += other.async_calls;
    }
}

#[derive(Debug)]
struct ListedCall<N> {
    key: SortKey,
    recording: usize,
    /// Place among the calls of its recording.
    number: usize,
    id: N,
    call: Call,
}

/// The calls of a [`CallList`] in their order.
#[derive(Debug)]
pub struct ListedCalls<N> {
    /// The recordings with calls in the list.
    pub recordings: Vec<Calls>,
    /// The rows of the list: recording, row of the recording, and the name of the call.
    pub order: Vec<(usize, usize, N)>,
    /// Counts of all recordings.
    pub counts: CallCounts,
    /// Where each row of the list is, as the next page takes it.
    pub places: Vec<CallsAfter>,
}

impl<N> ListedCalls<N> {
    /// Iterates over the calls: the number of the recording, the recording, the call and its name.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Calls, &Call, &N)> {
        self.order.iter().filter_map(|(recording, row, id)| {
            let calls = self.recordings.get(*recording)?;
            Some((*recording, calls, calls.rows.get(*row)?, id))
        })
    }
}

impl<N> CallList<N> {
    /// Calls that are added to a full list before it is sorted again.
    const MOST_NEW: usize = 64;

    /// An empty list in the order of a query, with its limit.
    #[must_use]
    pub fn new(query: &CallQuery) -> Self {
        Self {
            query: query.clone(),
            most: query.most(),
            rows: Vec::new(),
            n_sorted: 0,
            recordings: Vec::new(),
            n_held: 0,
            counts: CallCounts::default(),
        }
    }

    /// Returns a table for the calls of the next recording, which leaves out what sorts behind a full list.
    ///
    /// `query` has the order and the limit of the list.
    #[must_use]
    pub fn table(&mut self, query: &CallQuery) -> CallTable {
        // Sorting for every recording would move the whole list for each of thousands; what a few more calls would leave out is
        // left out by the next sorting.
        let is_full = self.rows.len() >= self.most;
        let n_new = self.rows.len() - self.n_sorted;
        if is_full && (self.n_sorted < self.most || n_new > Self::MOST_NEW.max(self.most / 8)) {
            self.cut();
        }
        let last = self.most.checked_sub(1).filter(|_| is_full);
        let last = last.and_then(|last| self.rows.get(last));
        CallTable::new(query.clone()).before(last.map(|row| row.key.clone()))
    }

    /// Adds the calls of a recording, which [`CallTable`] ordered by the same column with the same limit;
    /// `id` names a call.
    pub fn add(&mut self, mut calls: Calls, id: impl Fn(&Call) -> N) {
        self.counts.add(calls.counts);
        let rows = std::mem::take(&mut calls.rows);
        if rows.is_empty() {
            return;
        }
        let recording = self.recordings.len();
        let keys = std::mem::take(&mut calls.keys);
        let rows = rows.into_iter().zip(keys).enumerate();
        self.rows
            .extend(rows.map(|(number, (call, key))| ListedCall {
                key,
                recording,
                number,
                id: id(&call),
                call,
            }));
        self.recordings.push(Some(calls));
        self.n_held += 1;
        // A few more recordings than calls, so that not every one of thousands sorts the list again.
        const MORE: usize = 64;
        let limit = self.most;
        if self.rows.len() >= limit.saturating_mul(2).max(1024)
            || self.n_held >= limit.saturating_add(MORE)
        {
            self.cut();
        }
    }

    /// Sorts, drops what is beyond the limit, and the tables that no call needs.
    fn cut(&mut self) {
        if self.n_sorted == self.rows.len() {
            return;
        }
        let query = &self.query;
        // Stable, because that is quick with what is in order already.
        self.rows.sort_by(|a, b| {
            let place = |row: &ListedCall<N>| (row.recording, row.number);
            query.compare(&a.key, &b.key).then(place(a).cmp(&place(b)))
        });
        let is_long = self.rows.len() > self.most;
        self.rows.truncate(self.most);
        self.n_sorted = self.rows.len();
        if !is_long {
            return;
        }
        let mut needed = vec![false; self.recordings.len()];
        for row in &self.rows {
            if let Some(needed) = needed.get_mut(row.recording) {
                *needed = true;
            }
        }
        for (recording, needed) in self.recordings.iter_mut().zip(&needed) {
            if !needed {
                *recording = None;
            }
        }
        self.n_held = needed.iter().filter(|needed| **needed).count();
    }

    /// Returns the key of the last call that the list has room for, if it is full and the key is a number.
    ///
    /// Calls that sort behind it change nothing.
    #[must_use]
    pub fn last_number(&mut self) -> Option<i64> {
        if self.rows.len() < self.most {
            return None;
        }
        self.cut();
        match self.rows.last()?.key {
            SortKey::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Returns the number of calls that the list has room for yet.
    #[must_use]
    pub fn n_missing(&self) -> usize {
        self.most.saturating_sub(self.rows.len())
    }

    /// Leaves out what earlier pages have, and returns the place of each row.
    fn page(&mut self) -> Vec<CallsAfter> {
        let after = self.query.after.take();
        if let Some(after) = &after {
            let same = self.rows.iter().take_while(|row| row.key == after.key);
            let skip = same.take(after.skip).count();
            self.rows.drain(..skip);
        }
        let mut places: Vec<CallsAfter> = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let before = places.last().or(after.as_ref());
            let equal = before.filter(|place| place.key == row.key);
            places.push(CallsAfter {
                key: row.key.clone(),
                skip: equal.map_or(0, |place| place.skip) + 1,
            });
        }
        places
    }

    /// Sorts the list and returns it.
    #[must_use]
    pub fn finish(mut self) -> ListedCalls<N> {
        self.cut();
        let places = self.page();
        let mut numbers = Vec::with_capacity(self.recordings.len());
        let mut recordings = Vec::with_capacity(self.n_held);
        for recording in self.recordings {
            numbers.push(recordings.len());
            recordings.extend(recording);
        }
        let mut order = Vec::with_capacity(self.rows.len());
        for row in self.rows {
            let place = numbers.get(row.recording).copied().unwrap_or_default();
            if let Some(calls) = recordings.get_mut(place) {
                order.push((place, calls.rows.len(), row.id));
                calls.rows.push(row.call);
            }
        }
        ListedCalls {
            recordings,
            order,
            counts: self.counts,
            places,
        }
    }
}
