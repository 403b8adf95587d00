//! Collections in the order they came, with what changed between them.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::census::Census;
use super::row::{Amount, Change, Collection};
use super::tracked::Tracked;

/// Classes kept of one collection: those that changed most.
const MOST_CLASSES: usize = 1_000;

/// The collections of a recording, bounded in number and in classes over all of them.
#[derive(Debug, Default)]
pub(super) struct Collections {
    rows: Vec<Collection>,
    used: HashMap<u64, u64, RandomState>,
    cells: usize,
    pub left_out: u64,
    /// What each class gained or lost in the last interval.
    pub last: HashMap<u32, Change, RandomState>,
}

impl Collections {
    /// A collection that `tracked` saw from both sides.
    pub fn close(&mut self, mut row: Collection, tracked: &mut Tracked, live: Amount, most: usize) {
        let (mut allocated, mut freed) = (Amount::default(), Amount::default());
        let mut classes = Vec::with_capacity(tracked.interval.len());
        self.last.clear();
        for (class, interval) in tracked.interval.drain() {
            allocated.add(interval.allocated);
            freed.add(interval.freed);
            let change = interval.allocated.since(interval.freed);
            if change != Change::default() {
                classes.push((class, change));
                self.last.insert(class, change);
            }
        }
        if tracked.seen {
            row.allocated = Some(allocated);
            row.freed = Some(freed);
            row.live = Some(live);
        }
        if row.time.is_some() {
            tracked.collections = tracked.collections.saturating_add(1);
        }
        self.push(Collection { classes, ..row }, most);
    }

    fn push(&mut self, mut row: Collection, most: usize) {
        if self.rows.len() >= most {
            self.left_out += 1;
            return;
        }
        let classes = &mut row.classes;
        classes.sort_unstable_by_key(|&(class, change)| {
            let size = change.bytes.unsigned_abs();
            (
                std::cmp::Reverse((size, change.count.unsigned_abs())),
                class,
            )
        });
        classes.truncate(MOST_CLASSES.min(most.saturating_sub(self.cells)));
        classes.shrink_to_fit();
        self.cells += classes.len();
        self.rows.push(row);
    }

    /// Bytes in use after the collection of this number, from another event.
    pub fn used(&mut self, number: u64, bytes: u64, most: usize) {
        if self.used.len() < most {
            self.used.insert(number, bytes);
        }
    }

    pub fn next_number(&self) -> u64 {
        self.rows.len() as u64 + self.left_out + 1
    }

    /// Returns the collections in time, counts of the heap put where they belong.
    pub fn finish(mut self, census: &Census, most: usize) -> Vec<Collection> {
        let numbers = self.rows.iter().enumerate();
        let numbers: HashMap<u64, usize, RandomState> =
            numbers.map(|(at, found)| (found.number, at)).collect();
        let mut before = None;
        for (&number, count) in &census.counts {
            let classes = before.map_or_else(Vec::new, |before| count.since(before));
            before = Some(count);
            let known = numbers.get(&number).and_then(|&at| self.rows.get_mut(at));
            if let Some(known) = known {
                known.live = Some(count.whole());
                known.classes = classes;
                known.classes.sort_unstable_by_key(|&(class, change)| {
                    (std::cmp::Reverse(change.bytes.unsigned_abs()), class)
                });
                known.classes.truncate(MOST_CLASSES);
                continue;
            }
            let row = Collection {
                number,
                time: Some(count.time),
                live: Some(count.whole()),
                classes,
                ..Collection::default()
            };
            self.push(row, most);
        }
        for found in &mut self.rows {
            let said = self.used.get(&found.number).copied();
            found.used = found.used.or(said);
        }
        // What came after the last collection has no time and stays last.
        self.rows
            .sort_by_key(|found| (found.time.is_none(), found.time));
        self.rows
    }
}
