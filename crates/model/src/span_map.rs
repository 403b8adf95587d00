//! What is kept for spans while they are open.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::SpanId;

/// Places that are looked at before the map behind them, at first and at most; powers of two.
const FIRST: usize = 1 << 10;
const MOST: usize = 1 << 15;

/// A map by spans of which few are in it at a time, such as the parents of what has come.
///
/// Ids are given one after the other, so that those of spans that are open at a time rarely share a place: most
/// are found by one look, without a hash.
#[derive(Clone, Debug)]
pub struct SpanMap<V> {
    near: Box<[Bucket<V>]>,
    /// Those whose place is another one's.
    far: HashMap<SpanId, V, RandomState>,
    len: usize,
}

/// Where the spans whose ids end alike are looked for.
#[derive(Clone, Debug)]
struct Bucket<V> {
    id: SpanId,
    /// What is kept for that span; the id says nothing where there is none.
    value: Option<V>,
    /// How many others of this place are in the map behind.
    far: u32,
}

impl<V> Bucket<V> {
    const EMPTY: Self = Self {
        id: SpanId(0),
        value: None,
        far: 0,
    };

    #[inline]
    fn is_of(&self, id: SpanId) -> bool {
        self.id == id && self.value.is_some()
    }
}

impl<V> Default for SpanMap<V> {
    fn default() -> Self {
        Self {
            near: Box::default(),
            far: HashMap::default(),
            len: 0,
        }
    }
}

impl<V> SpanMap<V> {
    #[expect(clippy::cast_possible_truncation, reason = "the last bits alone count")]
    #[inline]
    fn place(&self, id: SpanId) -> usize {
        id.0 as usize & self.near.len().wrapping_sub(1)
    }

    /// Returns how many spans are in it.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns true if it is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns what is kept for a span.
    #[inline]
    #[must_use]
    pub fn get(&self, id: SpanId) -> Option<&V> {
        let place = self.near.get(self.place(id))?;
        if place.is_of(id) {
            return place.value.as_ref();
        }
        if place.far == 0 {
            return None;
        }
        self.far.get(&id)
    }

    /// Returns what is kept for a span, to change it.
    #[inline]
    pub fn get_mut(&mut self, id: SpanId) -> Option<&mut V> {
        let at = self.place(id);
        let place = self.near.get_mut(at)?;
        if place.is_of(id) {
            return place.value.as_mut();
        }
        if place.far == 0 {
            return None;
        }
        self.far.get_mut(&id)
    }

    /// Keeps a value for a span and returns the one that was kept before.
    #[inline]
    pub fn insert(&mut self, id: SpanId, value: V) -> Option<V> {
        if let Some(known) = self.get_mut(id) {
            return Some(std::mem::replace(known, value));
        }
        if self.len * 2 >= self.near.len() && self.near.len() < MOST {
            self.grow();
        }
        self.len += 1;
        let at = self.place(id);
        let place = self.near.get_mut(at)?;
        if place.value.is_none() {
            (place.id, place.value) = (id, Some(value));
        } else {
            place.far += 1;
            self.far.insert(id, value);
        }
        None
    }

    #[cold]
    fn grow(&mut self) {
        let rows: Vec<(SpanId, V)> = self.drain().collect();
        let places = (self.near.len() * 2).max(FIRST);
        self.near = (0..places).map(|_| Bucket::EMPTY).collect();
        // The room is there: this grows no further.
        for (id, value) in rows {
            self.insert(id, value);
        }
    }

    /// Takes what is kept for a span out.
    #[inline]
    pub fn remove(&mut self, id: SpanId) -> Option<V> {
        let at = self.place(id);
        let place = self.near.get_mut(at)?;
        let taken = if place.is_of(id) {
            place.value.take()
        } else if place.far == 0 {
            None
        } else {
            let far = self.far.remove(&id);
            place.far -= u32::from(far.is_some());
            far
        };
        self.len -= usize::from(taken.is_some());
        taken
    }

    /// Iterates over what is kept, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (SpanId, &V)> {
        let near = self.near.iter();
        let near = near.filter_map(|place| Some((place.id, place.value.as_ref()?)));
        near.chain(self.far.iter().map(|(&id, value)| (id, value)))
    }

    /// Takes out all that is kept, in no order.
    pub fn drain(&mut self) -> impl Iterator<Item = (SpanId, V)> {
        self.len = 0;
        let near = self.near.iter_mut().filter_map(|place| {
            place.far = 0;
            Some((place.id, place.value.take()?))
        });
        near.chain(self.far.drain())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_map(steps in prop::collection::vec((0..4_u8, 0..60_u64, 0..3_u64), 0..400)) {
            let (mut map, mut model) = (SpanMap::default(), HashMap::new());
            for (at, (what, low, high)) in steps.into_iter().enumerate() {
                let id = SpanId(low + high * MOST as u64);
                match what {
                    0 => prop_assert_eq!(map.remove(id), model.remove(&id)),
                    1 => prop_assert_eq!(map.get(id), model.get(&id)),
                    2 => prop_assert_eq!(map.get_mut(id), model.get_mut(&id)),
                    _ => prop_assert_eq!(map.insert(id, at), model.insert(id, at)),
                }
                prop_assert_eq!((map.len(), map.is_empty()), (model.len(), model.is_empty()));
            }
            let mut listed: Vec<_> = map.iter().map(|(id, value)| (id, *value)).collect();
            let mut drained: Vec<_> = map.drain().collect();
            let mut expected: Vec<_> = model.into_iter().collect();
            for list in [&mut listed, &mut drained, &mut expected] {
                list.sort_unstable();
            }
            prop_assert_eq!(&listed, &expected);
            prop_assert_eq!(drained, expected);
            prop_assert!(map.is_empty());
        }
    }
}
