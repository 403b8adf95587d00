//! The first pass: epochs, runs, and how far back later events reach.
//!
//! A packet is written when its event ends, so whatever encloses an event comes after it, and an epoch
//! may come last. Lowering therefore looks at the input twice. This pass keeps, for every stream and
//! [`TrackClass`], the earliest start of each block of events; from it [`Horizon::after`] tells what no later
//! event can enclose any more. Blocks grow so that there are at most [`MOST_ROWS`] of them over all
//! streams: the memory does not depend on the length of the input.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::Flow;
use traceloom_model::bounds::{row_number, saturated_u32};

use super::actors;
use super::record::{CounterCheck, Event, Metadata, Visit};
use crate::Opaque;

const FIRST_BLOCK: u32 = 12;
const MOST_ROWS: usize = 1 << 20;
const MOST_OPTIONS: usize = 64;

/// Which events of a stream can lie on a track together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum TrackClass {
    /// Substream 0, known to be the runtime's own.
    Runtime,
    /// An actor being run.
    Running,
    /// Substream 0, anything else.
    Plain,
    /// In a substream.
    Substream,
}

impl TrackClass {
    /// Returns what an event of this description in substream 0 is.
    pub fn of_description(description: &[u8]) -> Self {
        if actors::is_running(description) {
            Self::Running
        } else if actors::is_runtime(description) {
            Self::Runtime
        } else {
            Self::Plain
        }
    }
}

/// Name and value of an option.
pub(super) type RunOption = (Box<[u8]>, Box<[u8]>);

/// What the first pass learned of one run.
#[derive(Debug, Default)]
pub(super) struct RunSummary {
    /// Where it begins.
    pub offset: u64,
    pub epoch: Option<u64>,
    /// The epoch is another run's, because this one has none.
    pub epoch_is_borrowed: bool,
    pub has_substreams: bool,
    pub has_running: bool,
    /// Some counter is not 0.
    pub uses_counters: bool,
    /// Options other than `epoch`, at most [`MOST_OPTIONS`].
    pub options: Vec<RunOption>,
    pub horizon: Horizon,
}

/// Earliest starts of the events still to come.
#[derive(Debug, Default)]
pub(super) struct Horizon {
    lines: HashMap<(u32, TrackClass), SurveyedTrack, RandomState>,
}

#[derive(Debug, Default)]
struct SurveyedTrack {
    /// Block number and the earliest start in it; after [`Horizon::seal`] in it or later.
    rows: Vec<(u32, u64)>,
    at: usize,
}

impl Horizon {
    fn add(&mut self, key: (u32, TrackClass), block: u32, start: u64) -> bool {
        let line = self.lines.entry(key).or_default();
        match line.rows.last_mut() {
            Some(last) if last.0 == block => {
                last.1 = last.1.min(start);
                false
            }
            _ => {
                line.rows.push((block, start));
                true
            }
        }
    }

    /// Halves the number of blocks.
    fn coarsen(&mut self) -> usize {
        for line in self.lines.values_mut() {
            line.rows.iter_mut().for_each(|row| row.0 >>= 1);
            line.rows.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                if same {
                    kept.1 = kept.1.min(next.1);
                }
                same
            });
        }
        self.lines.values().map(|line| line.rows.len()).sum()
    }

    fn seal(&mut self) {
        for line in self.lines.values_mut() {
            let mut least = u64::MAX;
            for row in line.rows.iter_mut().rev() {
                least = least.min(row.1);
                row.1 = least;
            }
        }
    }

    fn append(&mut self, later: Self) {
        for (key, line) in later.lines {
            self.lines.entry(key).or_default().rows.extend(line.rows);
        }
    }

    /// Returns the earliest start of the events of this line in blocks after `block`; blocks are asked
    /// for in ascending order.
    pub fn after(&mut self, stream: u32, class: TrackClass, block: u32) -> u64 {
        let Some(line) = self.lines.get_mut(&(stream, class)) else {
            return u64::MAX;
        };
        while line.rows.get(line.at).is_some_and(|row| row.0 <= block) {
            line.at += 1;
        }
        line.rows.get(line.at).map_or(u64::MAX, |row| row.1)
    }

    /// Returns the streams that run actors.
    pub fn running(&self) -> impl Iterator<Item = u32> {
        let keys = self.lines.keys();
        keys.filter(|(_, class)| *class == TrackClass::Running)
            .map(|&(stream, _)| stream)
    }
}

/// The first pass as a visitor.
#[derive(Debug, Default)]
pub(super) struct RunSurvey {
    /// One for each different epoch, plus what lies before the first.
    segments: Vec<RunSummary>,
    begins: Vec<u64>,
    events: u64,
    shift: u32,
    rows: usize,
    /// Earliest starts in the block under way, of the streams that nearly all events are of.
    block: u32,
    low: Vec<u64>,
}

/// Streams whose block is kept apart, times the classes there are.
const LOW: usize = 64 * CLASSES.len();
const CLASSES: [TrackClass; 4] = [
    TrackClass::Runtime,
    TrackClass::Running,
    TrackClass::Plain,
    TrackClass::Substream,
];

impl RunSurvey {
    pub fn new() -> Self {
        Self {
            segments: vec![RunSummary::default()],
            shift: FIRST_BLOCK,
            low: vec![u64::MAX; LOW],
            ..Self::default()
        }
    }

    /// Returns the runs in order, the first from offset 0, and the size of a block as a power of two.
    pub fn finish(mut self) -> (Vec<RunSummary>, u32) {
        self.close_block();
        self.begins.sort_unstable();
        let mut runs: Vec<RunSummary> = Vec::new();
        for segment in self.segments {
            match runs.last_mut() {
                Some(run) if self.begins.binary_search(&segment.offset).is_err() => {
                    run.epoch = segment.epoch.or(run.epoch);
                    run.has_substreams |= segment.has_substreams;
                    run.has_running |= segment.has_running;
                    run.uses_counters |= segment.uses_counters;
                    run.options.extend(segment.options);
                    run.horizon.append(segment.horizon);
                }
                _ => runs.push(segment),
            }
        }
        runs.iter_mut().for_each(|run| run.horizon.seal());
        (runs, self.shift)
    }

    fn option(&mut self, metadata: &Metadata<'_>) {
        let Some(segment) = self.segments.last_mut() else {
            return;
        };
        if segment.options.len() < MOST_OPTIONS && metadata.value.len() <= usize::from(u16::MAX) {
            let option = (metadata.name.into(), metadata.value.into());
            segment.options.push(option);
        }
    }

    #[inline(always)]
    fn look_at(&mut self, event: &Event<'_>) {
        let block = saturated_u32(self.events >> self.shift);
        self.events += 1;
        let Some(segment) = self.segments.last_mut() else {
            return;
        };
        segment.uses_counters |= event.counter != 0;
        let class = match event.substream {
            0 => TrackClass::of_description(event.description),
            _ => TrackClass::Substream,
        };
        segment.has_substreams |= class == TrackClass::Substream;
        segment.has_running |= class == TrackClass::Running;
        let at = event.stream as usize * CLASSES.len() + class as usize;
        match self.low.get_mut(at) {
            Some(earliest) if block == self.block => *earliest = event.start.min(*earliest),
            _ => self.add(block, (event.stream, class), event.start),
        }
    }

    #[inline(never)]
    fn add(&mut self, block: u32, key: (u32, TrackClass), start: u64) {
        if block != self.block {
            self.close_block();
            self.block = block;
        }
        if let Some(segment) = self.segments.last_mut()
            && segment.horizon.add(key, block, start)
        {
            self.rows += 1;
            if self.rows > MOST_ROWS && self.shift < 40 {
                self.close_block();
                self.shift += 1;
                self.rows = self.segments.iter_mut().map(|s| s.horizon.coarsen()).sum();
            }
        }
    }

    /// Moves what was kept apart to the segment it belongs to.
    fn close_block(&mut self) {
        let Some(segment) = self.segments.last_mut() else {
            return;
        };
        for (at, start) in self
            .low
            .iter_mut()
            .enumerate()
            .filter(|(_, start)| **start != u64::MAX)
        {
            let class = CLASSES
                .get(at % CLASSES.len())
                .copied()
                .unwrap_or(TrackClass::Plain);
            let stream = row_number(at / CLASSES.len());
            let start = std::mem::replace(start, u64::MAX);
            self.rows += usize::from(segment.horizon.add((stream, class), self.block, start));
        }
    }
}

impl Visit for RunSurvey {
    const SKIMS: bool = true;

    // Beside the decoder, so that only the fields looked at are read.
    #[inline(always)]
    fn event(&mut self, event: &Event<'_>, _seen: CounterCheck) -> Flow {
        self.look_at(event);
        Flow::Continue(())
    }

    fn metadata(&mut self, metadata: &Metadata<'_>) -> Flow {
        if !metadata.is_epoch() {
            self.option(metadata);
            return Flow::Continue(());
        }
        let epoch = metadata.epoch();
        let known = self.segments.last().and_then(|segment| segment.epoch);
        if epoch.is_some() && epoch != known {
            self.close_block();
            self.segments.push(RunSummary {
                offset: metadata.offset,
                epoch,
                ..RunSummary::default()
            });
        }
        Flow::Continue(())
    }

    fn opaque(&mut self, _opaque: &Opaque<'_>) -> Flow {
        Flow::Continue(())
    }

    fn note(&mut self, _note: traceloom_model::Note) -> Flow {
        Flow::Continue(())
    }

    fn run(&mut self, offset: u64) {
        self.begins.push(offset);
    }
}
