//! Pauses of the process, and how much of a span they took.

use traceloom_model::{EventBatch, Recording, Timestamp};

/// Names of event types during which no thread of the process runs.
const STOPS: [&str; 2] = ["pause", "jdk.GCPhasePause"];

/// Returns true if no thread of the process runs during events of this name.
#[must_use]
pub fn is_pause(name: &str) -> bool {
    STOPS.contains(&name)
}

/// The union of all pauses.
///
/// Suspension is asked for every call of a long list, so the overlap is two binary searches in sorted,
/// disjoint intervals with running sums.
#[derive(Clone, Debug, Default)]
pub struct Pauses {
    /// Disjoint, ascending, once [`Pauses::settle`] ran.
    intervals: Vec<(Timestamp, Timestamp)>,
    /// Nanoseconds paused before each interval.
    before: Vec<u64>,
    settled: bool,
}

impl Pauses {
    /// Adds a pause.
    pub fn add(&mut self, start: Timestamp, end: Timestamp) {
        if end > start {
            self.intervals.push((start, end));
            self.settled = false;
        }
    }

    /// Adds those events of a batch that are pauses.
    pub fn add_events(&mut self, tables: &Recording, batch: &EventBatch) {
        let columns = batch.event_type.iter().zip(&batch.time).zip(&batch.end);
        for ((&event_type, &start), &end) in columns {
            let Some(end) = end else { continue };
            let row = tables.event_type(event_type);
            let name = row.map(|row| tables.text(row.name));
            if name.is_some_and(|name| is_pause(&name)) {
                self.add(start, end);
            }
        }
    }

    /// Sorts and merges what was added; [`Pauses::suspended`] asks for it.
    pub fn settle(&mut self) {
        if self.settled {
            return;
        }
        self.intervals.sort_unstable();
        self.intervals.dedup_by(|next, kept| {
            let touches = next.0 <= kept.1;
            if touches {
                kept.1 = kept.1.max(next.1);
            }
            touches
        });
        let mut sum = 0_u64;
        self.before = self
            .intervals
            .iter()
            .map(|&(start, end)| {
                let before = sum;
                sum = sum.saturating_add(end.abs_diff(start));
                before
            })
            .collect();
        self.settled = true;
    }

    /// Iterates over the pauses, disjoint and ascending once settled.
    pub fn iter(&self) -> impl Iterator<Item = (Timestamp, Timestamp)> {
        self.intervals.iter().copied()
    }

    /// Returns the nanoseconds between `start` and `end` during which the process was paused.
    ///
    /// # Panics
    /// In debug builds, when pauses were added after [`Pauses::settle`].
    #[must_use]
    pub fn suspended(&self, start: Timestamp, end: Timestamp) -> u64 {
        debug_assert!(self.settled || self.intervals.is_empty());
        self.until(end.max(start)) - self.until(start)
    }

    /// Nanoseconds paused before `time`.
    fn until(&self, time: Timestamp) -> u64 {
        let next = self.intervals.partition_point(|&(start, _)| start < time);
        let last = next.checked_sub(1).and_then(|last| {
            let (start, end) = self.intervals.get(last)?;
            let before = self.before.get(last)?;
            Some(before.saturating_add(end.min(&time).abs_diff(*start)))
        });
        last.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_counts_merged_pauses_once() {
        let mut pauses = Pauses::default();
        for (start, end) in [(50, 60), (10, 20), (15, 25), (25, 30), (70, 70)] {
            pauses.add(start, end);
        }
        pauses.settle();
        assert_eq!(pauses.iter().collect::<Vec<_>>(), [(10, 30), (50, 60)]);
        assert_eq!(pauses.suspended(0, 100), 30);
        assert_eq!(pauses.suspended(12, 55), 23);
        assert_eq!(pauses.suspended(30, 50), 0);
        assert_eq!(pauses.suspended(55, 55), 0);
        assert_eq!(pauses.suspended(-5, 11), 1);
        assert_eq!(Pauses::default().suspended(0, 9), 0);
    }
}
