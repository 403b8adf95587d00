//! What became of each constant, the last ones at hand.

use super::constants::Map;

/// Slots for the last constants: stacks, threads and states of neighbouring events repeat.
const SLOTS: u64 = 1 << 10;

/// Values by the type and the key of their constant.
#[derive(Debug)]
pub(super) struct Memo<V> {
    all: Map<(usize, u64), V>,
    /// A slot for the low bits of keys; empty until something is put in.
    last: Vec<Option<(usize, u64, V)>>,
}

impl<V> Default for Memo<V> {
    fn default() -> Self {
        Self {
            all: Map::default(),
            last: Vec::new(),
        }
    }
}

impl<V: Clone> Memo<V> {
    #[inline]
    pub(super) fn get(&mut self, index: usize, key: u64) -> Option<V> {
        if let Some(Some((of, last, value))) = self.last.get(slot(index, key))
            && *last == key
            && *of == index
        {
            return Some(value.clone());
        }
        let value = self.all.get(&(index, key))?.clone();
        self.keep(index, key, value.clone());
        Some(value)
    }

    pub(super) fn insert(&mut self, index: usize, key: u64, value: V) {
        self.keep(index, key, value.clone());
        self.all.insert((index, key), value);
    }

    fn keep(&mut self, index: usize, key: u64, value: V) {
        if self.last.is_empty() {
            self.last.resize_with(slot(0, SLOTS - 1) + 1, || None);
        }
        if let Some(slot) = self.last.get_mut(slot(index, key)) {
            *slot = Some((index, key, value));
        }
    }
}

#[inline]
fn slot(index: usize, key: u64) -> usize {
    usize::try_from(key.wrapping_add(index as u64) % SLOTS).unwrap_or(0)
}
