//! What is known of events that are alike, by the fields that tell them apart.

/// Slots that are looked at for a key: a recording may be made so that many keys want the same.
const PROBES: usize = 16;

/// Kinds of events of a type by what tells them apart.
pub(super) struct KindTable<K> {
    /// Each with its mixed key.
    rows: Vec<(u64, K)>,
    /// The keys of the rows, one behind the other.
    keys: Vec<u64>,
    /// Rows from 1, by their mixed keys; 0 for none. There are a power of two of them.
    slots: Vec<u32>,
}

impl<K> Default for KindTable<K> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            keys: Vec::new(),
            slots: Vec::new(),
        }
    }
}

impl<K> KindTable<K> {
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Takes all kinds out.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = K> + use<K> {
        let all = std::mem::take(self);
        all.rows.into_iter().map(|(_, kind)| kind)
    }

    #[inline]
    pub(super) fn find(&mut self, key: &[u64]) -> Option<&mut K> {
        let mixed = mixed(key);
        for slot in probes(mixed, self.slots.len()) {
            let row = (*self.slots.get(slot)? as usize).checked_sub(1)?;
            if self.rows.get(row)?.0 == mixed {
                let from = row * key.len();
                // Of a single number the mixed one is another name.
                let is_known = match key {
                    [_] => true,
                    _ => self.keys.get(from..from + key.len()) == Some(key),
                };
                if is_known {
                    return self.rows.get_mut(row).map(|(_, kind)| kind);
                }
            }
        }
        None
    }

    /// Adds a kind; where all slots for it are taken it is not found again.
    pub(super) fn insert(&mut self, key: &[u64], kind: K) {
        if self.rows.len() * 2 >= self.slots.len() {
            self.slots = vec![0; (self.slots.len() * 2).max(256)];
            for row in 0..self.rows.len() {
                self.put(row);
            }
        }
        self.rows.push((mixed(key), kind));
        self.keys.extend_from_slice(key);
        self.put(self.rows.len() - 1);
    }

    fn put(&mut self, row: usize) {
        let Some(&(mixed, _)) = self.rows.get(row) else {
            return;
        };
        let mut free = probes(mixed, self.slots.len());
        if let Some(slot) = free.find(|&slot| self.slots.get(slot) == Some(&0))
            && let Some(slot) = self.slots.get_mut(slot)
        {
            *slot = traceloom_model::bounds::row_number(row + 1);
        }
    }
}

#[inline]
fn probes(mixed: u64, n_slots: usize) -> impl Iterator<Item = usize> {
    let last = n_slots.wrapping_sub(1);
    let first = usize::try_from(mixed >> 32).unwrap_or(0);
    (0..PROBES).map(move |probe| first.wrapping_add(probe) & last)
}

#[inline]
fn mixed(key: &[u64]) -> u64 {
    key.iter().fold(0_u64, |mixed, &field| {
        (mixed.rotate_left(5) ^ field).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}
