//! Values that are near each other, by what they say.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::StringId;

/// Ids of texts by the hash of their bytes, which lie one behind the other: a value is seldom met again,
/// and an allocation for each would take longer than all that is done with it.
#[derive(Debug, Default)]
pub(crate) struct ValueTable {
    places: HashMap<u64, ValueEntry, RandomState>,
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct ValueEntry {
    id: StringId,
    start: usize,
    length: usize,
}

impl ValueTable {
    /// Returns the id of a text of this hash.
    #[inline]
    pub(crate) fn get(&self, hash: u64, text: &[u8]) -> Option<StringId> {
        let place = self.places.get(&hash)?;
        let known = self.bytes.get(place.start..)?.get(..place.length)?;
        (known == text).then_some(place.id)
    }

    /// Remembers a text; returns the id of another of the same hash, which is known no more.
    pub(crate) fn insert(&mut self, hash: u64, text: &[u8], id: StringId) -> Option<StringId> {
        let place = ValueEntry {
            id,
            start: self.bytes.len(),
            length: text.len(),
        };
        self.bytes.extend_from_slice(text);
        self.places.insert(hash, place).map(|other| other.id)
    }

    /// Forgets all and returns their ids.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = StringId> {
        self.bytes.clear();
        self.places.drain().map(|(_, place)| place.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_one_hash_are_told_apart() {
        let mut values = ValueTable::default();
        let [one, two] = [1, 2].map(StringId::new);
        assert_eq!(values.insert(7, b"one", one), None);
        assert_eq!(values.get(7, b"one"), Some(one));
        assert_eq!((values.get(7, b"on"), values.get(8, b"one")), (None, None));
        assert_eq!(values.insert(7, b"two", two), Some(one));
        assert_eq!(values.get(7, b"one"), None);
        assert_eq!(values.drain().collect::<Vec<_>>(), [two]);
        assert_eq!(values.get(7, b"two"), None);
    }
}
