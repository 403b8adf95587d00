//! Where spans are, by their ids.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::SpanId;

const NONE: u32 = u32::MAX;

/// Small numbers by span.
///
/// Readers number spans one after the other, so that those of a recording are looked up in a list; ids far from all
/// others are hashed.
#[derive(Debug, Default)]
pub(super) struct Places {
    first: u64,
    near: Vec<u32>,
    far: HashMap<SpanId, u32, RandomState>,
}

impl Places {
    /// Empty, for `count` spans whose smallest and largest ids are these.
    pub fn of(count: usize, first: SpanId, last: SpanId) -> Self {
        let span = last.0.saturating_sub(first.0).saturating_add(1);
        let near = usize::try_from(span).unwrap_or(usize::MAX);
        Self {
            first: first.0,
            near: vec![NONE; near.min(count.saturating_mul(4))],
            far: HashMap::default(),
        }
    }

    #[inline]
    fn near(&self, id: SpanId) -> Option<usize> {
        let at = usize::try_from(id.0.checked_sub(self.first)?).ok()?;
        (at < self.near.len()).then_some(at)
    }

    #[inline]
    pub fn get(&self, id: SpanId) -> Option<usize> {
        let place = match self.near(id) {
            Some(at) => self.near.get(at).copied(),
            None => self.far.get(&id).copied(),
        };
        let place = place.filter(|&place| place != NONE);
        place.map(|place| place as usize)
    }

    #[inline]
    pub fn set(&mut self, id: SpanId, place: usize) {
        let place = u32::try_from(place).unwrap_or(NONE);
        match self.near(id).and_then(|at| self.near.get_mut(at)) {
            Some(slot) => *slot = place,
            None => {
                self.far.insert(id, place);
            }
        }
    }

    /// Sets a span's number and returns the one it had.
    #[inline]
    pub fn replace(&mut self, id: SpanId, place: u32) -> Option<u32> {
        let before = match self.near(id).and_then(|at| self.near.get_mut(at)) {
            Some(slot) => Some(std::mem::replace(slot, place)),
            None => self.far.insert(id, place),
        };
        before.filter(|&before| before != NONE)
    }

    /// Forgets a span's number and returns it.
    #[inline]
    pub fn take(&mut self, id: SpanId) -> Option<u32> {
        let before = match self.near(id).and_then(|at| self.near.get_mut(at)) {
            Some(slot) => Some(std::mem::replace(slot, NONE)),
            None => self.far.remove(&id),
        };
        before.filter(|&before| before != NONE)
    }

    #[inline]
    pub fn remove(&mut self, id: SpanId) {
        self.take(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_near_each_other_and_far_away_are_found_until_they_are_removed() {
        let ids = [10, 11, 17, 18, 9, 0, u64::MAX].map(SpanId);
        let mut places = Places::of(2, SpanId(10), SpanId(u64::MAX));
        assert_eq!(places.near.len(), 8);
        for (place, &id) in ids.iter().enumerate() {
            assert_eq!(places.get(id), None);
            places.set(id, place);
        }
        for (place, &id) in ids.iter().enumerate() {
            assert_eq!(places.get(id), Some(place));
            places.remove(id);
            assert_eq!(places.get(id), None);
        }
        assert!(places.far.is_empty());
    }
}
