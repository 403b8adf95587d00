//! The heap counted by class: one census a collection.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use traceloom_model::Timestamp;

use super::row::{Amount, Change};

/// One count of the heap.
#[derive(Debug)]
pub(super) struct HeapCount {
    pub time: Timestamp,
    pub classes: HashMap<u32, Amount, RandomState>,
}

impl HeapCount {
    pub fn whole(&self) -> Amount {
        let mut whole = Amount::default();
        self.classes.values().for_each(|&amount| whole.add(amount));
        whole
    }

    /// Returns what changed from the count before.
    pub fn since(&self, before: &Self) -> Vec<(u32, Change)> {
        let gone = before
            .classes
            .keys()
            .filter(|class| !self.classes.contains_key(class));
        let classes = self.classes.keys().chain(gone);
        let changes = classes.map(|class| {
            let of = |count: &Self| count.classes.get(class).copied().unwrap_or_default();
            (*class, of(self).since(of(before)))
        });
        changes
            .filter(|(_, change)| *change != Change::default())
            .collect()
    }
}

/// The counts, by the number of their collection. Past the budget the oldest are dropped.
#[derive(Debug, Default)]
pub(super) struct Census {
    pub counts: BTreeMap<u64, HeapCount>,
    cells: usize,
}

impl Census {
    pub fn add(
        &mut self,
        collection: u64,
        time: Timestamp,
        class: u32,
        amount: Amount,
        most: usize,
    ) {
        let count = self.counts.entry(collection).or_insert_with(|| HeapCount {
            time,
            classes: HashMap::default(),
        });
        // Two events may count the same heap.
        if count.classes.insert(class, amount).is_none() {
            self.cells += 1;
        }
        while self.cells > most
            && self.counts.len() > 2
            && let Some((_, oldest)) = self.counts.pop_first()
        {
            self.cells -= oldest.classes.len();
        }
    }

    /// Returns the last count and the one before it.
    pub fn last_two(&self) -> (Option<&HeapCount>, Option<&HeapCount>) {
        let mut counts = self.counts.values().rev();
        (counts.next(), counts.next())
    }
}
