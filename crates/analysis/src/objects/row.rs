//! What comes out: a row a class, and one a collection.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::Timestamp;
use traceloom_model::bounds::{saturated_i64, saturated_u64};

/// Objects and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Amount {
    /// How many.
    pub count: u64,
    /// Their sizes together.
    pub bytes: u64,
}

impl Amount {
    /// One object.
    #[must_use]
    pub const fn one(bytes: u64) -> Self {
        Self { count: 1, bytes }
    }

    /// Adds another amount.
    pub fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    pub(super) fn take(&mut self, other: Self) {
        self.count = self.count.saturating_sub(other.count);
        self.bytes = self.bytes.saturating_sub(other.bytes);
    }

    /// Returns the change from `before` to this.
    #[must_use]
    pub fn since(self, before: Self) -> Change {
        let change = |now: u64, then: u64| match now.checked_sub(then) {
            Some(more) => saturated_i64(more),
            None => -saturated_i64(then - now),
        };
        Change {
            count: change(self.count, before.count),
            bytes: change(self.bytes, before.bytes),
        }
    }

    /// Returns true if there is nothing.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.count == 0 && self.bytes == 0
    }
}

/// What became more or fewer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Change {
    /// Objects.
    pub count: i64,
    /// Bytes.
    pub bytes: i64,
}

/// Ages in collections survived.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ages {
    /// Objects whose age is known.
    pub objects: u64,
    /// Their ages together.
    pub sum: u64,
    /// The greatest.
    pub oldest: u64,
}

impl Ages {
    pub(super) fn add(&mut self, age: u64, objects: u64) {
        self.objects = self.objects.saturating_add(objects);
        self.sum = self.sum.saturating_add(age.saturating_mul(objects));
        self.oldest = self.oldest.max(age);
    }

    fn append(&mut self, other: Self) {
        self.objects = self.objects.saturating_add(other.objects);
        self.sum = self.sum.saturating_add(other.sum);
        self.oldest = self.oldest.max(other.oldest);
    }

    /// Returns the mean in hundredths of a collection, none when no age is known.
    #[must_use]
    pub fn mean_hundredths(&self) -> Option<u64> {
        let sum = u128::from(self.sum) * 100;
        let mean = sum.checked_div(self.objects.into())?;
        Some(saturated_u64(mean))
    }
}

/// References from the objects of one class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Referrer {
    /// The class that refers; none where it is not known.
    pub by: Option<String>,
    /// How many references.
    pub references: u64,
}

/// What is known of a class.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ClassRow {
    /// Its name; none for objects whose class was not told.
    pub class: Option<String>,
    /// Allocated.
    pub allocated: Amount,
    /// Freed.
    pub freed: Amount,
    /// Allocated and not freed, seen in a heap dump, sampled as surviving, or counted at the last
    /// collection.
    pub live: Amount,
    /// Change of `live` over the last collection interval; none with fewer than one collection.
    pub delta: Option<Change>,
    /// Ages of those freed.
    pub freed_ages: Ages,
    /// Ages of those live.
    pub live_ages: Ages,
    /// Roots of the heap that are of this class, over all dumps.
    pub roots: u64,
    /// References to objects of this class, over all dumps.
    pub references: u64,
    /// Who refers to them, by falling number.
    pub held_by: Vec<Referrer>,
}

impl ClassRow {
    /// Joins rows of one name: loaders may each have a class of it.
    pub(super) fn joined(rows: Vec<Self>) -> Vec<Self> {
        let mut by_name: HashMap<Option<String>, Self, RandomState> = HashMap::default();
        for row in rows {
            match by_name.get_mut(&row.class) {
                Some(known) => known.append(row),
                None => {
                    by_name.insert(row.class.clone(), row);
                }
            }
        }
        let mut rows: Vec<Self> = by_name
            .into_values()
            .filter(|row| !row.is_empty())
            .collect();
        for row in &mut rows {
            row.settle();
        }
        rows.sort_by(|a, b| {
            let rank = |row: &Self| {
                (
                    row.live.bytes,
                    row.live.count,
                    row.allocated.bytes,
                    row.allocated.count,
                )
            };
            rank(b).cmp(&rank(a)).then_with(|| a.class.cmp(&b.class))
        });
        rows
    }

    pub(super) fn is_empty(&self) -> bool {
        let amounts = [self.allocated, self.freed, self.live];
        let changed = self.delta.is_some_and(|change| change != Change::default());
        amounts.iter().all(|amount| amount.is_empty())
            && self.roots == 0
            && self.references == 0
            && !changed
    }

    pub(super) fn append(&mut self, other: Self) {
        self.allocated.add(other.allocated);
        self.freed.add(other.freed);
        self.live.add(other.live);
        if let Some(change) = other.delta {
            let delta = self.delta.get_or_insert_default();
            delta.count = delta.count.saturating_add(change.count);
            delta.bytes = delta.bytes.saturating_add(change.bytes);
        }
        self.freed_ages.append(other.freed_ages);
        self.live_ages.append(other.live_ages);
        self.roots += other.roots;
        self.references += other.references;
        self.held_by.extend(other.held_by);
    }

    /// Adds up and sorts who refers.
    pub(super) fn settle(&mut self) {
        self.held_by.sort_unstable_by(|a, b| a.by.cmp(&b.by));
        self.held_by.dedup_by(|next, kept| {
            let same = next.by == kept.by;
            if same {
                kept.references += next.references;
            }
            same
        });
        self.held_by
            .sort_by_key(|held| std::cmp::Reverse(held.references));
    }
}

/// A garbage collection, and what happened since the one before.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Collection {
    /// The producer's number, else counted from 1.
    pub number: u64,
    /// When it began; none for the time after the last one.
    pub time: Option<Timestamp>,
    /// Nanoseconds it took.
    pub took: Option<u64>,
    /// Allocated since the collection before, where every allocation is told.
    pub allocated: Option<Amount>,
    /// Freed since the collection before, where that is told.
    pub freed: Option<Amount>,
    /// Live after it, as far as it is told.
    pub live: Option<Amount>,
    /// Bytes in use after it, as the collector says.
    pub used: Option<u64>,
    /// Classes whose live objects changed, by falling change of bytes: numbers of [`Objects::names`].
    pub classes: Vec<(u32, Change)>,
}

/// Where the numbers come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Source {
    /// Allocations and releases one by one.
    pub tracked: bool,
    /// Samples: counts are of samples or what they stand for.
    pub sampled: bool,
    /// Counts by class at collections.
    pub counted: bool,
    /// Heap dumps.
    pub dumped: bool,
}

impl Collection {
    /// Returns the classes whose live objects changed by their names, of [`Objects::names`].
    pub fn changes<'c>(
        &'c self,
        names: &'c [Option<String>],
    ) -> impl Iterator<Item = (Option<&'c str>, Change)> {
        self.classes.iter().map(|&(class, change)| {
            let name = names.get(class as usize).and_then(Option::as_deref);
            (name, change)
        })
    }
}

/// The objects of a recording.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Objects {
    /// Classes, by falling live bytes, then allocated bytes.
    pub classes: Vec<ClassRow>,
    /// Collections in their order; the last one has no time and is what came after the last collection.
    pub collections: Vec<Collection>,
    /// Names of the classes of collections, by their numbers; none where the class was not told.
    pub names: Vec<Option<String>>,
    /// The clock has dates; otherwise times count from a zero nobody recorded.
    pub dated: bool,
    /// Where the numbers come from.
    pub source: Source,
    /// Objects that found no room: they count as allocated, and nothing is known of their end.
    pub crowded_out: u64,
    /// Objects, samples and counts of a class that the filter did not accept.
    pub refused: u64,
    /// Collections that found no room.
    pub collections_left_out: u64,
    /// Heap samples without a class: functions are known for these instead.
    pub unclassed: u64,
    /// Events that were read, of whatever kind.
    pub events: u64,
}
