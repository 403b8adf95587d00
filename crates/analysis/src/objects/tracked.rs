//! Objects one by one: what lives, since when.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use traceloom_model::{ObjectId, ObjectRow};

use super::alive::{AliveObject, AliveObjects};
use super::collect::{ClassTally, Classes};
use super::row::Amount;

/// What changed in a class since the last collection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Interval {
    pub allocated: Amount,
    pub freed: Amount,
}

/// The objects that live.
#[derive(Debug, Default)]
pub(super) struct Tracked {
    live: AliveObjects,
    /// Classes of objects freed lately: a dump that was taken before may still refer to them.
    ended: HashMap<ObjectId, u32, RandomState>,
    /// Those that live and that a filter refused: nothing counts them.
    refused: HashSet<ObjectId, RandomState>,
    pub collections: u32,
    /// By class, since the last collection.
    pub interval: HashMap<u32, Interval, RandomState>,
    pub seen: bool,
    pub crowded_out: u64,
}

impl Tracked {
    pub fn lives(&self, id: ObjectId) -> bool {
        self.live.get(id).is_some()
    }

    /// Forgets the classes of objects that died before now.
    pub fn forget_ended(&mut self) {
        self.ended.clear();
    }

    pub fn class_of(&self, id: ObjectId) -> Option<u32> {
        let live = self.live.get(id).map(|live| live.class);
        live.or_else(|| self.ended.get(&id).copied())
    }

    /// Returns true if a filter refused an object that lives.
    pub fn refuses(&self, id: ObjectId) -> bool {
        self.refused.contains(&id)
    }

    /// An object was allocated, or a heap dump shows that it lives; a filter `counts` it or not.
    pub fn allocate(
        &mut self,
        row: &ObjectRow,
        class: u32,
        counts: bool,
        most: usize,
        classes: &mut Classes,
    ) {
        let told = row.time.is_some();
        if told {
            // An id that is given out again without a word: the object before it is gone.
            self.free(row.id, None, classes);
            self.seen = true;
        } else if self.lives(row.id) {
            return;
        }
        let amount = Amount::one(row.size);
        if told && counts {
            classes.tally(class).allocated.add(amount);
            self.interval
                .entry(class)
                .or_default()
                .allocated
                .add(amount);
        }
        if self.live.len() >= most {
            self.crowded_out += 1;
            return;
        }
        if counts {
            classes.tally(class).live.add(amount);
        } else {
            self.refused.insert(row.id);
        }
        let live = AliveObject {
            class,
            born: self.collections,
            size: row.size,
        };
        self.live.insert(row.id, live);
    }

    /// An object died; `age` is what the producer says of it. Returns whether it was known.
    pub fn free(&mut self, id: ObjectId, age: Option<u64>, classes: &mut Classes) -> bool {
        let Some(live) = self.live.remove(id) else {
            return false;
        };
        self.ended.insert(id, live.class);
        if self.refused.remove(&id) {
            return true;
        }
        let amount = Amount::one(live.size);
        let survived = u64::from(self.collections.saturating_sub(live.born));
        let tally = classes.tally(live.class);
        tally.live.take(amount);
        tally.freed.add(amount);
        tally.freed_ages.add(age.unwrap_or(survived), 1);
        self.interval
            .entry(live.class)
            .or_default()
            .freed
            .add(amount);
        true
    }

    /// An object of which nothing was known died.
    pub fn free_unknown(&mut self, unknown: u32, age: Option<u64>, tally: &mut ClassTally) {
        tally.freed.add(Amount { count: 1, bytes: 0 });
        if let Some(age) = age {
            tally.freed_ages.add(age, 1);
        }
        let interval = self.interval.entry(unknown).or_default();
        interval.freed.add(Amount { count: 1, bytes: 0 });
    }

    /// Adds the ages of what lives.
    pub fn age(&self, classes: &mut Classes) {
        let counted = self.live.iter().filter(|&(id, _)| !self.refuses(id));
        for (_, live) in counted {
            let survived = self.collections.saturating_sub(live.born);
            classes.tally(live.class).live_ages.add(survived.into(), 1);
        }
    }
}
