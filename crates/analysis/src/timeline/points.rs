//! Points of counters: of too many, the first, the least, the greatest and the last of each stretch of time.

use std::collections::BTreeMap;

use traceloom_model::Timestamp;

use super::collect::Points;

/// Points of all counters that a page is drawn from; a counter keeps so many at least.
pub(super) const MOST_POINTS: usize = 400_000;
const FEWEST: usize = 64;

/// Counters of a page; of more, those with the most points.
const MOST_COUNTERS: usize = 2_000;

/// Points that one stretch keeps.
const OF_STRETCH: usize = 4;

/// Sorts points by time and keeps about `most`, so that peaks stay.
fn thin(points: &mut Points, most: usize) {
    points.sort_by_key(|&(time, _)| time);
    let (Some(&(first, _)), Some(&(last, _))) = (points.first(), points.last()) else {
        return;
    };
    if points.len() <= most {
        return;
    }
    let stretches = (most / OF_STRETCH).max(1);
    let length = u128::from(last.abs_diff(first)) + 1;
    let stretch = |time: Timestamp| u128::from(time.abs_diff(first)) * stretches as u128 / length;
    let mut kept = Vec::with_capacity(stretches * OF_STRETCH);
    for of in points.chunk_by(|a, b| stretch(a.0) == stretch(b.0)) {
        let places = 0..of.len();
        let value = |at: &usize| of.get(*at).map_or(0.0, |point| point.1);
        let least = places.clone().min_by(|a, b| value(a).total_cmp(&value(b)));
        let most = places.max_by(|a, b| value(a).total_cmp(&value(b)));
        let mut told = [Some(0), least, most, of.len().checked_sub(1)];
        told.sort_unstable();
        let told = told.into_iter().flatten();
        let mut before = None;
        for at in told {
            if before.replace(at) != Some(at) {
                kept.extend(of.get(at));
            }
        }
    }
    *points = kept;
}

/// Points of counters while they come.
#[derive(Debug, Default)]
pub(super) struct CounterPoints {
    of: BTreeMap<u32, Points>,
    held: usize,
    /// Points that are left out.
    left_out: u64,
    /// More are thinned; nothing keeps all.
    most: Option<usize>,
}

impl CounterPoints {
    /// Keeps about so many points.
    pub(super) fn bound(&mut self, most: usize) {
        self.most = Some(most);
    }

    pub(super) fn push(&mut self, series: u32, point: (Timestamp, f64)) {
        self.of.entry(series).or_default().push(point);
        self.held += 1;
        if let Some(most) = self.most.filter(|most| self.held > most.saturating_mul(4)) {
            self.thin(most);
            // Many counters of few points each are all kept.
            self.most = Some(most.max(self.held));
        }
    }

    fn thin(&mut self, most: usize) {
        let of_each = (most / self.of.len().max(1)).max(FEWEST);
        let before = self.held;
        for points in self.of.values_mut() {
            thin(points, of_each);
        }
        self.held = self.of.values().map(Vec::len).sum();
        self.left_out += before.saturating_sub(self.held) as u64;
    }

    /// Returns the points by series, how many counters are left out and how many points of the others.
    pub(super) fn finish(mut self) -> (BTreeMap<u32, Points>, u64, u64) {
        let Some(most) = self.most else {
            for points in self.of.values_mut() {
                points.sort_by_key(|&(time, _)| time);
            }
            return (self.of, 0, 0);
        };
        let mut counters: Vec<(usize, u32)> = self
            .of
            .iter()
            .map(|(&series, points)| (points.len(), series))
            .collect();
        counters.sort_unstable_by(|a, b| (b.0, a.1).cmp(&(a.0, b.1)));
        let beyond = counters.iter().skip(MOST_COUNTERS);
        let mut without = 0;
        for (_, series) in beyond {
            without += u64::from(self.of.remove(series).is_some());
        }
        self.held = self.of.values().map(Vec::len).sum();
        if self.held > MOST_POINTS.min(most) {
            self.thin(MOST_POINTS.min(most));
        } else {
            self.thin(usize::MAX);
        }
        (self.of, without, self.left_out)
    }
}
