//! How many calls there are, how long they took and when they began: what stands above a list of them.

use std::collections::BTreeMap;

use traceloom_model::bounds::saturated_i64;
use traceloom_model::{
    Asks, Clock, Definitions, Flow, Note, Order, Recording, SampleBatch, Sink, SpanBatch,
    SpanStatus, StringId, Timestamp, Wants,
};

use super::of_calls;
use crate::Sketch;
use crate::filter::{CallOfRow, Selection};

/// Stretches of time that are told apart at most; with more, neighbours are added up.
const MOST_STRETCHES: usize = 256;

/// Calls that began in one stretch of time and took about as long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverviewCell {
    /// How many.
    pub calls: u64,
    /// How many of them failed.
    pub errors: u64,
}

/// Counts calls by time and duration as they pass, in memory that does not grow with them.
#[derive(Debug)]
pub struct CallsOverview {
    selection: Selection,
    tables: Recording,
    /// Calls that were read.
    pub read: u64,
    /// Calls that were selected.
    pub calls: u64,
    /// Selected calls that failed.
    pub errors: u64,
    /// Nanoseconds that the selected calls took together.
    pub total: i64,
    /// How long those took that were recorded whole.
    pub durations: Sketch,
    /// The first and the last start.
    pub starts: Option<(Timestamp, Timestamp)>,
    /// How many took at least as long as each of [`Self::LIMITS`].
    pub longer: [u64; 5],
    /// Times count from 1970; otherwise from a moment that nobody recorded.
    pub unix: bool,
    /// Calls of clocks without dates that have no place among others that have some.
    pub undated: u64,
    /// The clock of the recording that is read has dates.
    is_dated: bool,
    /// The calls that are placed have dates.
    has_dates: bool,
    /// Nanoseconds of a stretch, a power of two.
    step: i64,
    /// By stretch (start divided by the step) and duration ([`Self::band`]).
    cells: BTreeMap<(i64, u32), OverviewCell>,
    stretches: std::collections::BTreeSet<i64>,
}

impl CallsOverview {
    /// Durations that calls are counted against, in nanoseconds.
    pub const LIMITS: [u64; 5] = [
        10_000_000,
        100_000_000,
        500_000_000,
        1_000_000_000,
        5_000_000_000,
    ];

    /// Counts the calls that `selection` accepts.
    #[must_use]
    pub fn new(selection: Selection) -> Self {
        Self {
            selection,
            tables: Recording::default(),
            read: 0,
            calls: 0,
            errors: 0,
            total: 0,
            durations: Sketch::default(),
            starts: None,
            longer: [0; 5],
            unix: false,
            undated: 0,
            is_dated: false,
            has_dates: false,
            step: 1,
            cells: BTreeMap::new(),
            stretches: std::collections::BTreeSet::new(),
        }
    }

    /// Returns the band of a duration: two for each power of two, counted from 1 ns.
    #[must_use]
    pub const fn band(ns: u64) -> u32 {
        match ns {
            0 => 0,
            _ => {
                let power = ns.ilog2();
                let half = if power > 0 { ns >> (power - 1) & 1 } else { 0 };
                power * 2 + if half == 1 { 1 } else { 0 }
            }
        }
    }

    /// Returns the shortest duration of a band, in nanoseconds.
    #[must_use]
    pub const fn floor_of(band: u32) -> u64 {
        let power = 1_u64 << (band / 2);
        power + if band % 2 == 1 { power / 2 } else { 0 }
    }

    /// Returns the length of a stretch in nanoseconds.
    #[must_use]
    pub const fn step(&self) -> i64 {
        self.step
    }

    /// Iterates over what is not empty: the start of the stretch, the band, and what is there.
    pub fn cells(&self) -> impl Iterator<Item = (Timestamp, u32, OverviewCell)> {
        let step = self.step;
        let cells = self.cells.iter();
        cells.map(move |(&(stretch, band), &cell)| (stretch.saturating_mul(step), band, cell))
    }

    /// Goes on with another recording, whose tables are its own.
    pub fn next_recording(&mut self) {
        self.tables = Recording::default();
    }

    /// Returns true if the call that was counted last has a place among those that are there; dates drive out what has none.
    fn is_among(&mut self) -> bool {
        if self.is_dated && !self.has_dates {
            self.has_dates = true;
            self.undated = self.calls - 1;
            self.starts = None;
            self.step = 1;
            self.cells.clear();
            self.stretches.clear();
        }
        let is_among = self.is_dated == self.has_dates;
        self.undated += u64::from(!is_among);
        self.unix = self.has_dates;
        is_among
    }

    fn place(&mut self, start: Timestamp, band: u32, failed: bool) {
        let stretch = start.div_euclid(self.step);
        let cell = self.cells.entry((stretch, band)).or_default();
        cell.calls += 1;
        cell.errors += u64::from(failed);
        if self.stretches.insert(stretch) {
            while self.is_wide() && self.step < 1 << 61 {
                self.coarsen();
            }
        }
    }

    /// Returns `true` if the stretches between the first and the last are too many.
    fn is_wide(&self) -> bool {
        let ends = self.stretches.first().zip(self.stretches.last());
        let n = ends.map_or(0, |(first, last)| last.abs_diff(*first));
        n >= MOST_STRETCHES as u64
    }

    fn coarsen(&mut self) {
        self.step = self.step.saturating_mul(2);
        let mut cells = BTreeMap::<_, OverviewCell>::new();
        for (&(stretch, band), cell) in &self.cells {
            let sum = cells.entry((stretch.div_euclid(2), band)).or_default();
            sum.calls += cell.calls;
            sum.errors += cell.errors;
        }
        self.cells = cells;
        self.stretches = self.stretches.iter().map(|at| at.div_euclid(2)).collect();
    }
}

impl Sink for CallsOverview {
    fn asks(&self) -> Asks {
        of_calls(Wants::Calls)
    }

    fn begin(&mut self, order: Order, clock: Clock) {
        self.is_dated = clock == Clock::Unix;
        if self.calls == 0 {
            self.unix |= self.is_dated;
        }
        self.tables.begin(order, clock);
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.tables.define(definitions)
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        for row in batch.calls() {
            self.read += 1;
            if !self.selection.accepts(&CallOfRow::new(&self.tables, &row)) {
                continue;
            }
            let duration = row.duration();
            let failed = row.status == SpanStatus::Error || row.exception.is_some();
            self.calls += 1;
            self.errors += u64::from(failed);
            let signed = saturated_i64(duration);
            self.total = self.total.saturating_add(signed);
            if !matches!(
                row.status,
                SpanStatus::PartialStart | SpanStatus::PartialEnd
            ) {
                self.durations.add(signed);
            }
            for (count, limit) in self.longer.iter_mut().zip(Self::LIMITS) {
                *count += u64::from(duration >= limit);
            }
            if self.is_among() {
                let (first, last) = self.starts.unwrap_or((row.start, row.start));
                self.starts = Some((first.min(row.start), last.max(row.start)));
                self.place(row.start, Self::band(duration), failed);
            }
        }
        Flow::Continue(())
    }

    fn samples(&mut self, _batch: SampleBatch) -> Flow {
        Flow::Continue(())
    }

    fn forget(&mut self, strings: &[StringId]) {
        self.tables.drop_strings(strings);
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_are_two_a_power() {
        for (ns, band) in [
            (0, 0),
            (1, 0),
            (2, 2),
            (3, 3),
            (4, 4),
            (5, 4),
            (6, 5),
            (7, 5),
        ] {
            assert_eq!(CallsOverview::band(ns), band, "{ns}");
        }
        for ns in [3, 1000, 1_000_000, 5_000_000_000, u64::MAX] {
            let band = CallsOverview::band(ns);
            assert!(CallsOverview::floor_of(band) <= ns, "{ns}");
            assert_eq!(CallsOverview::band(CallsOverview::floor_of(band)), band);
        }
    }

    #[test]
    fn stretches_stay_few_and_no_call_is_lost() {
        let mut overview = CallsOverview::new(Selection::default());
        let far = 1_773_463_907_604_000_000;
        for at in 0..10_000 {
            overview.place(far + at * 1_000_000, 4, at % 100 == 0);
        }
        let cells: Vec<_> = overview.cells().collect();
        assert!(cells.len() <= MOST_STRETCHES, "{}", cells.len());
        let all: u64 = cells.iter().map(|(.., cell)| cell.calls).sum();
        let errors: u64 = cells.iter().map(|(.., cell)| cell.errors).sum();
        assert_eq!((all, errors), (10_000, 100));
        assert!(cells.len() > MOST_STRETCHES / 3);
        // One far away makes stretches long, not many.
        overview.place(0, 4, false);
        assert!(overview.cells().count() <= MOST_STRETCHES);
    }

    #[test]
    fn calls_without_dates_have_no_place_among_those_with_dates() {
        let mut overview = CallsOverview::new(Selection::default());
        let count = |overview: &mut CallsOverview, clock, n: u64| {
            overview.begin(Order::None, clock);
            let among = (0..n).filter(|_| {
                overview.calls += 1;
                overview.is_among()
            });
            among.count()
        };
        assert_eq!(count(&mut overview, Clock::Unknown(None), 3), 3);
        assert_eq!((overview.undated, overview.unix), (0, false));
        assert_eq!(count(&mut overview, Clock::Unix, 5), 5);
        assert_eq!(count(&mut overview, Clock::Unknown(None), 2), 0);
        assert_eq!((overview.undated, overview.unix), (5, true));
    }
}
