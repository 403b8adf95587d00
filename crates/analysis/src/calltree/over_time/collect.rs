//! The sink that collects when each path of calls ran.

use std::collections::{BTreeSet, HashMap};

use foldhash::fast::RandomState;
use traceloom_model::bounds::{row_number, subslice};
use traceloom_model::{
    Asks, Clock, Definitions, Flow, Merge, Note, Order, ProfileId, Recording, SampleBatch, Scope,
    Sink, SpanBatch, StackId, StepBatch, StringId, TrackId, Wants,
};

use super::super::arena::{Arena, ROOT};
use super::super::samples::{GroundStacks, measure};
use super::super::thread_name;
use super::calls::{CallTimes, RunningCall};
use super::grid::{Grid, ThreadValue};
use super::{NONE, OverTime};
use crate::Measure;
use crate::symbol::{KeyMap, key_of_frame, key_of_line, symbol_of_key};
use crate::text::is_async;

/// Samples of one value, by stack.
#[derive(Debug)]
struct StackTimes {
    measure: Measure,
    column: usize,
    grid: Grid,
}

/// Collects when each path of a recording ran.
///
/// It holds the values of stretches, the spans of open calls, and the path that is open on each track of steps. Of a reader that declares no order it holds every
/// span, in 48 bytes each. Async tracks are left out, as in trees.
#[derive(Debug)]
pub struct OverTimeCollector {
    wanted: Vec<String>,
    /// Samples are wanted by lines of functions, too.
    lines: bool,
    /// Most paths of calls; of a recording with more, calls have no times.
    most: usize,
    /// How long stretches of earlier recordings are, by measure.
    steps: Vec<(Measure, i64)>,
    tables: Recording,
    order: Order,
    unix: bool,
    calls: CallTimes,
    open: HashMap<TrackId, Vec<RunningCall>, RandomState>,
    /// Rows of the next span batch that the last steps stand for.
    named: Vec<u32>,
    /// `None` for a profile whose values do not add up over time.
    samples: HashMap<ProfileId, Option<StackTimes>, RandomState>,
    /// Samples of profiles that are not defined yet.
    early: Vec<SampleBatch>,
}

impl OverTimeCollector {
    /// Collects values by these names, as [`crate::TreeOptions::values`] has them; with `lines` samples are kept once
    /// more, by lines of functions.
    #[must_use]
    pub fn new(wanted: Vec<String>, lines: bool) -> Self {
        Self {
            wanted,
            lines,
            most: usize::MAX,
            steps: Vec::new(),
            tables: Recording::default(),
            order: Order::default(),
            unix: true,
            calls: CallTimes::new(),
            open: HashMap::default(),
            named: Vec::new(),
            samples: HashMap::default(),
            early: Vec::new(),
        }
    }

    /// Drops the times of calls where they have more than so many paths: a tree that holds no more of them
    /// ([`crate::TreeOptions::most`]) has no node for each.
    #[must_use]
    pub fn holding(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Collects what is added to the values of earlier recordings, in stretches as long as theirs: finer ones would be joined
    /// when they are added.
    #[must_use]
    pub fn after(mut self, earlier: &[OverTime]) -> Self {
        let step = |one: &OverTime| (one.measure.clone(), one.step());
        self.steps = earlier.iter().map(step).collect();
        self.calls.grid = grid_after(&self.steps, &Measure::wall());
        self
    }

    fn has_too_many(&self) -> bool {
        self.calls.arena.len() > self.most
    }

    /// Adds the values to those of earlier recordings of the same measure. A recording of another clock is left out.
    pub fn finish(mut self, all: &mut Vec<OverTime>) {
        // In the order of the recording, so that threads have the same numbers each time.
        let mut open: Vec<_> = std::mem::take(&mut self.open).into_iter().collect();
        open.sort_unstable_by_key(|(track, _)| track.raw());
        for (track, spans) in open {
            self.settle(track, &spans);
        }
        if self.has_too_many() {
            self.calls.drop_times();
        }
        for batch in std::mem::take(&mut self.early) {
            self.take(&batch);
        }
        let wall = Measure::wall();
        if self.wanted.is_empty() || self.wanted.contains(&wall.name) {
            self.add(
                all,
                (wall, false),
                &self.calls.grid,
                &self.calls.arena,
                |node| node,
            );
        }
        let mut samples: Vec<_> = self.samples.iter().collect();
        samples.sort_unstable_by_key(|(profile, _)| profile.raw());
        for times in samples.into_iter().filter_map(|(_, times)| times.as_ref()) {
            self.add_samples(all, times, false);
            if self.lines {
                self.add_samples(all, times, true);
            }
        }
    }

    /// Adds the samples of a value, by functions or by lines of functions.
    fn add_samples(&self, all: &mut Vec<OverTime>, times: &StackTimes, by_lines: bool) {
        let mut arena = Arena::new();
        let mut stacks = GroundStacks::new(&self.tables, Arena::child, false);
        stacks.key = if by_lines { key_of_line } else { key_of_frame };
        let mut nodes: HashMap<u32, u32, RandomState> = HashMap::default();
        times.grid.each(|_, values| {
            for &(stack, _) in values {
                let stack_of = (stack != NONE).then(|| StackId::new(stack));
                let node = nodes.entry(stack);
                node.or_insert_with(|| stacks.node(&mut arena, ROOT, stack_of));
            }
        });
        let node = |stack| nodes.get(&stack).copied().unwrap_or(ROOT);
        let of = (times.measure.clone(), by_lines);
        self.add(all, of, &times.grid, &arena, node);
    }

    /// Adds the values of a grid, whose rows belong to nodes of `arena`.
    fn add(
        &self,
        all: &mut Vec<OverTime>,
        of: (Measure, bool),
        grid: &Grid,
        arena: &Arena,
        node: impl Fn(u32) -> u32,
    ) {
        if grid.is_empty() {
            return;
        }
        let known = all
            .iter()
            .position(|one| (&one.measure, one.lines) == (&of.0, of.1));
        let at = known.unwrap_or_else(|| {
            all.push(OverTime::new(of, self.unix));
            all.len() - 1
        });
        let Some(into) = all.get_mut(at).filter(|one| one.unix == self.unix) else {
            return;
        };
        // Of nodes that have a value, and of their callers.
        let mut used = vec![false; arena.len()];
        let mut tracks = BTreeSet::new();
        grid.each(|(_, track), values| {
            tracks.insert(track);
            for &(of, _) in values {
                let mut at = node(of);
                while at != ROOT
                    && let Some(used) = used.get_mut(at as usize)
                    && !std::mem::replace(used, true)
                {
                    at = arena.node(at).parent;
                }
            }
        });
        // In the order of the recording: which thread ran first depends on how long stretches are.
        let thread = |track| {
            let number = match track {
                NONE => into.thread(""),
                track => into.thread(&thread_name(&self.tables, TrackId::new(track))),
            };
            (track, number)
        };
        let threads: HashMap<u32, u32, RandomState> = tracks.into_iter().map(thread).collect();
        // Callees have greater numbers than their callers.
        let mut paths = vec![NONE; arena.len()];
        let mut symbols = KeyMap::default();
        for (number, _) in used.iter().enumerate().filter(|&(_, &used)| used) {
            let row = arena.node(row_number(number));
            let caller = paths.get(row.parent as usize).copied().unwrap_or(NONE);
            symbols.get_or_insert(row.key, || {
                into.symbols.intern(symbol_of_key(&self.tables, row.key))
            });
            let path = into.path(caller, symbols.get(row.key));
            if let Some(slot) = paths.get_mut(number) {
                *slot = path;
            }
        }
        into.grid.add_all(
            grid,
            |track| threads.get(&track).copied().unwrap_or(0),
            |of| paths.get(node(of) as usize).copied().unwrap_or(NONE),
        );
    }

    /// Takes the spans of ended calls of one track.
    fn settle(&mut self, track: TrackId, spans: &[RunningCall]) {
        match self.has_too_many() {
            true => self.calls.drop_times(),
            false => self.calls.settle(track, spans, self.order),
        }
    }

    fn take(&mut self, batch: &SampleBatch) {
        let (tables, wanted, steps) = (&self.tables, &self.wanted, &self.steps);
        let times = self.samples.entry(batch.profile).or_insert_with(|| {
            let profile = tables.profile(batch.profile)?;
            let column = tables.shown_column(profile, wanted)?;
            let value_type = tables.value_type(*profile.value_types.get(column)?)?;
            // Minima, maxima and what was summed by the producer do not add up over time.
            let adds_up = (value_type.merge, value_type.scope) == (Merge::Sum, Scope::Own);
            adds_up.then(|| {
                let measure = measure(tables, value_type);
                StackTimes {
                    column,
                    grid: grid_after(steps, &measure),
                    measure,
                }
            })
        });
        let Some(times) = times else { return };
        for row in batch.iter() {
            let Some(time) = row.time else { continue };
            let own = row.values.get(times.column).copied().unwrap_or(0);
            let thread = row.track.map_or(NONE, TrackId::raw);
            let stack = row.stack.map_or(NONE, |stack| stack.raw());
            times
                .grid
                .add(time, thread, stack, ThreadValue { own, count: 1 });
        }
    }
}

/// Returns a grid whose stretches are no finer than those of values of the same measure before.
fn grid_after(steps: &[(Measure, i64)], measure: &Measure) -> Grid {
    let same = steps.iter().filter(|(known, _)| known == measure);
    // By functions and by lines, of which both are added to.
    let finest = same.map(|&(_, step)| step).min();
    Grid::of_step(finest.unwrap_or(1))
}

impl Sink for OverTimeCollector {
    fn asks(&self) -> Asks {
        Asks {
            wants: Wants::Steps { calls: false },
            sampled_events: false,
            derived_samples: false,
            timeless_stacks: false,
            ..Asks::default()
        }
    }

    fn begin(&mut self, order: Order, clock: Clock) {
        self.order = order;
        self.unix = clock == Clock::Unix;
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.tables.define(definitions)
    }

    fn steps(&mut self, batch: StepBatch) -> Flow {
        batch.rows_in_steps(&mut self.named);
        for (track, range) in batch.runs() {
            if self.has_too_many() {
                self.calls.drop_times();
                break;
            }
            if is_async(&self.tables, track) {
                continue;
            }
            let functions = subslice(&batch.function, range.clone());
            self.calls
                .take_steps(track, subslice(&batch.time, range), functions);
        }
        Flow::Continue(())
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        let named = std::mem::take(&mut self.named);
        if self.has_too_many() {
            self.open = HashMap::default();
            return Flow::Continue(());
        }
        if named.len() == batch.len() {
            return Flow::Continue(());
        }
        for (number, row) in (0..).zip(batch.iter()) {
            if named.binary_search(&number).is_ok() || is_async(&self.tables, row.track) {
                continue;
            }
            let open = self.open.entry(row.track).or_default();
            open.push(RunningCall {
                id: row.id,
                parent: row.parent,
                start: row.start,
                end: row.end.max(row.start),
                function: row.function,
            });
            if self.order == Order::Nested && row.parent.is_none() {
                let spans = self.open.remove(&row.track).unwrap_or_default();
                self.settle(row.track, &spans);
            }
        }
        Flow::Continue(())
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        match self.tables.profile(batch.profile) {
            Some(_) => self.take(&batch),
            None => self.early.push(batch),
        }
        Flow::Continue(())
    }

    fn forget(&mut self, strings: &[StringId]) {
        self.tables.drop_strings(strings);
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}
