//! How busy a track was, column by column.

use traceloom_model::Timestamp;
use traceloom_model::bounds::{in_memory, saturated_u64};

use super::{Counter, RowKind, Timeline, Track};

/// Values for equal stretches of time, from the start of a timeline to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Activity {
    base: Timestamp,
    /// Nanoseconds from the start to the end, at least 1.
    length: u64,
    columns: usize,
}

impl Activity {
    /// Divides the time of `timeline` into `columns`, for the rows of one recording.
    #[must_use]
    pub fn of(timeline: &Timeline, source: usize, columns: usize) -> Self {
        let (start, end) = timeline.times().unwrap_or((0, 0));
        Self {
            base: timeline.base(source, start),
            length: end.abs_diff(start).max(1),
            columns: columns.max(1),
        }
    }

    /// Returns how long items of `kind` lasted in each column, in thousandths of it; overlap counts once. What shows
    /// at all has at least 1.
    #[must_use]
    pub fn share(&self, timeline: &Timeline, track: &Track, kind: RowKind) -> Vec<u16> {
        let mut pieces = self.pieces(timeline, track, kind);
        pieces.sort_unstable();
        let mut lasted = vec![0_u64; self.columns];
        let mut seen = vec![false; self.columns];
        let mut reached = 0;
        for (start, end, filled, _) in pieces {
            let length = end - start;
            let part = |lasted: u64| match filled < length {
                true => saturated_u64(u128::from(lasted) * u128::from(filled) / u128::from(length)),
                false => lasted,
            };
            if let Some(column) = seen.get_mut(self.column(start)) {
                *column = true;
            }
            let mut from = start.max(reached);
            while from < end {
                let column = self.column(from);
                let border = self.border(column + 1).max(from + 1).min(end);
                if let (Some(sum), Some(seen)) = (lasted.get_mut(column), seen.get_mut(column)) {
                    *sum += part(border - from);
                    *seen = true;
                }
                from = border;
            }
            reached = reached.max(end);
        }
        let share = |(column, (&sum, &seen)): (usize, (&u64, &bool))| {
            let width = self.border(column + 1).saturating_sub(self.border(column));
            let share = u128::from(sum) * 1000 / u128::from(width.max(1));
            u16::try_from(share.min(1000))
                .unwrap_or(1000)
                .max(u16::from(seen))
        };
        lasted.iter().zip(&seen).enumerate().map(share).collect()
    }

    /// Returns how many items of `kind` begin in each column.
    #[must_use]
    pub fn count(&self, timeline: &Timeline, track: &Track, kind: RowKind) -> Vec<u64> {
        let mut counts = vec![0_u64; self.columns];
        for (start, _, _, many) in self.pieces(timeline, track, kind) {
            if let Some(count) = counts.get_mut(self.column(start)) {
                *count += u64::from(many);
            }
        }
        counts
    }

    /// Returns the last value of a counter in each column, and that of the column before where it has none.
    #[must_use]
    pub fn level(&self, counter: &Counter) -> Vec<Option<f64>> {
        let mut levels = vec![None; self.columns];
        for &(time, value) in &counter.points {
            let at = time.max(self.base).abs_diff(self.base);
            if let Some(level) = levels.get_mut(self.column(at)) {
                *level = Some(value);
            }
        }
        let mut last = None;
        for level in &mut levels {
            last = level.or(last);
            *level = last;
        }
        levels
    }

    /// Start, end, nanoseconds filled and number of the items of the outermost level: those below lie within them.
    fn pieces(
        &self,
        timeline: &Timeline,
        track: &Track,
        kind: RowKind,
    ) -> Vec<(u64, u64, u64, u32)> {
        let rows = timeline.rows_of(track).iter();
        let all = kind == RowKind::Event || kind == RowKind::Sample;
        let rows = rows.filter(|row| row.kind == kind && (all || row.level == 0));
        let items = rows.flat_map(|row| row.items.clone());
        let since = |time: Timestamp| time.max(self.base).abs_diff(self.base);
        let items = items.filter_map(|at| {
            let start = timeline.items.start.get(at)?;
            let end = timeline.items.end.get(at)?;
            let filled = timeline.items.filled.get(at)?;
            let count = timeline.items.count.get(at)?;
            Some((since(*start), since(*end), *filled, *count))
        });
        items.collect()
    }

    fn column(&self, at: u64) -> usize {
        let column = u128::from(at) * self.columns as u128 / u128::from(self.length);
        in_memory(column).min(self.columns - 1)
    }

    /// First nanosecond of a column.
    fn border(&self, column: usize) -> u64 {
        let border = column as u128 * u128::from(self.length);
        saturated_u64(border.div_ceil(self.columns as u128))
    }
}
