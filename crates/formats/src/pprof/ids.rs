//! Ids of table rows to row numbers.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// Finds rows by id: an array where ids are dense, as writers number them, and a map for the others.
#[derive(Debug, Default)]
pub(super) struct RowsById {
    dense: Vec<u32>,
    sparse: HashMap<u64, u32, RandomState>,
    /// Rows whose id another row has too; the later one is found.
    pub(super) duplicates: u64,
}

const NONE: u32 = u32::MAX;

impl RowsById {
    /// Numbers the rows that have these ids.
    pub(super) fn new(ids: impl ExactSizeIterator<Item = u64>) -> Self {
        let mut all = Self {
            dense: vec![NONE; ids.len() * 2 + 16],
            ..Self::default()
        };
        for (row, id) in (0..NONE).zip(ids) {
            let slot = usize::try_from(id).ok();
            let before = match slot.and_then(|slot| all.dense.get_mut(slot)) {
                Some(entry) => std::mem::replace(entry, row),
                None => all.sparse.insert(id, row).unwrap_or(NONE),
            };
            all.duplicates += u64::from(before != NONE);
        }
        all
    }

    /// Returns the row with this id.
    #[inline]
    pub(super) fn row(&self, id: u64) -> Option<usize> {
        let slot = usize::try_from(id).ok();
        let row = match slot.and_then(|slot| self.dense.get(slot)) {
            Some(&row) => row,
            None if self.sparse.is_empty() => NONE,
            None => self.sparse.get(&id).copied().unwrap_or(NONE),
        };
        (row != NONE).then_some(row as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_sparse_and_double() {
        let ids = RowsById::new([0, 1, u64::MAX, 7, 1, u64::MAX].into_iter());
        let rows = [0, 1, 7, u64::MAX, 3].map(|id| ids.row(id));
        assert_eq!(rows, [Some(0), Some(4), Some(3), Some(5), None]);
        assert_eq!(ids.duplicates, 2);
    }
}
