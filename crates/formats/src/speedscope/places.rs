//! Where spans are, by their ids.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::SpanId;
use traceloom_model::bounds::in_memory;

use super::spans::FrameSpans;

const NONE: u32 = u32::MAX;

/// Small numbers by span.
///
/// Readers number spans one after the other, so that those of a recording are looked up in a list; ids far from all
/// others are hashed.
#[derive(Debug, Default)]
pub(super) struct SpanNumbers {
    first: u64,
    near: Vec<u32>,
    far: HashMap<SpanId, u32, RandomState>,
}

impl SpanNumbers {
    /// Empty, for the ids of these spans.
    pub fn of(spans: &FrameSpans) -> Self {
        let ids = || spans.iter().map(|span| span.id.0);
        let first = ids().min().unwrap_or(0);
        let span = ids()
            .max()
            .unwrap_or(0)
            .saturating_sub(first)
            .saturating_add(1);
        let near = in_memory(span);
        Self {
            first,
            near: vec![NONE; near.min(spans.len().saturating_mul(4))],
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

    /// Forgets a span's number.
    #[inline]
    pub fn remove(&mut self, id: SpanId) {
        match self.near(id).and_then(|at| self.near.get_mut(at)) {
            Some(slot) => *slot = NONE,
            None => {
                self.far.remove(&id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speedscope::spans::FrameSpan;

    #[test]
    fn ids_near_each_other_and_far_away_are_found_until_they_are_removed() {
        let ids = [10, 11, 17, 18, 9, 0, u64::MAX].map(SpanId);
        let span = |id| FrameSpan {
            id: SpanId(id),
            parent: None,
            start: 0,
            end: 0,
            frame: 0,
        };
        let mut places = SpanNumbers::of(&[10, u64::MAX].map(span).into_iter().collect());
        assert_eq!((places.first, places.near.len()), (10, 8));
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
