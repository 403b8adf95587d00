//! The sink that builds trees.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use traceloom_model::bounds::saturated_i64;
use traceloom_model::{
    Asks, Clock, Definitions, Flow, Note, Order, PathBatch, Recording, SampleBatch, Sink,
    SpanBatch, StepBatch, StringId, Timestamp, TrackId, Wants,
};

use super::CallTree;
use super::arena::{Arena, ROOT};
use super::ground::Grounds;
use super::naming::TreeNaming;
use super::no_row::NoRow;
use super::samples::SampleColumns;
use super::spans::{SpanFeed, TreeSpan};
use super::step_sums::StepSums;
use super::steps::TrackStacks;
use super::thin::TreeThinning;
use super::top::{Functions, inclusive_counts};
use super::trees::{TreeOptions, Trees, merge_tree};
use crate::filter::{CallOfRow, SampleFilter};
use crate::measure::{AsyncCalls, Measure, Tracks, TreeSource};
use crate::text::is_async;

/// Builds trees from whatever a reader pushes: steps, spans, samples.
///
/// While calls are selected, the steps of a call go to a side tree of its track, and are kept or dropped
/// when the call's row is known. Two conventions hold between readers and this sink:
///
/// - a span batch right after a step batch that names rows holds those: calls, and spans inside them of a
///   reader that pushes both. Rows that the step batch does not name are spans of their own;
/// - a call without row (the producer wrote none) is judged by its function and duration.
///
/// Calls are judged when their rows come, by what is defined until then; trees resolve names at the end.
///
/// Memory is the size of the tree, what is open, and for readers that declare no order 56 bytes a span.
#[derive(Debug)]
pub struct TreeBuilder {
    options: TreeOptions,
    order: Order,
    tables: Recording,
    arena: Arena,
    lines: TrackStacks,
    /// What steps come to where they make no tree.
    sums: Option<StepSums>,
    pieces: SpanFeed,
    /// What was taken out of the tree.
    thinning: TreeThinning,
    columns: SampleColumns,
    grounds: Option<Grounds>,
    /// Which samples count, where some do not.
    chosen: Option<SampleFilter>,
    spans_seen: bool,
    /// Something came of a track that counts.
    threads_seen: bool,
    /// Calls on async tracks that do not count.
    passed_over: AsyncCalls,
    /// Their tree, as long as nothing came that counts.
    lanes: Option<Box<AsyncTree>>,
    /// The first and the last time of anything that counts.
    seen: Option<(Timestamp, Timestamp)>,
    /// Steps that wait for the rows of their calls.
    held: Option<StepBatch>,
    /// Rows of the next span batch that the last steps stand for.
    named: Vec<u32>,
    /// Whether calls that are open when recording ends are selected, by track.
    open: HashMap<TrackId, bool, RandomState>,
}

/// The tree of async tracks, for recordings that have nothing else.
#[derive(Debug)]
struct AsyncTree {
    arena: Arena,
    pieces: SpanFeed,
}

impl TreeBuilder {
    /// A builder without anything in it.
    #[must_use]
    pub fn new(options: TreeOptions) -> Self {
        let mut columns = SampleColumns::new(options.values.clone(), options.beside, options.alike);
        let lines = TrackStacks::new(options.durations);
        // Groups, and how long calls took, are told of nodes.
        let is_bare = options.by.is_none() && !options.durations;
        let most = if is_bare { options.most } else { 0 };
        let is_summed = options.functions && is_bare && options.calls.is_none();
        let sums = is_summed.then(|| StepSums::new(options.alike));
        if !options.functions {
            columns = columns.with_path_trees(most);
        }
        Self {
            pieces: SpanFeed::new(options.lanes, options.durations),
            thinning: TreeThinning::new(most, options.functions && options.alike),
            chosen: options
                .calls
                .as_ref()
                .map(|calls| calls.filter.clone())
                .filter(|filter| !filter.is_empty())
                .map(SampleFilter::new),
            grounds: options.by.clone().map(Grounds::new),
            options,
            order: Order::default(),
            tables: Recording::default(),
            arena: Arena::of_at_most(most),
            lines,
            sums,
            columns,
            spans_seen: false,
            threads_seen: false,
            passed_over: AsyncCalls::default(),
            lanes: None,
            seen: None,
            held: None,
            named: Vec::new(),
            open: HashMap::default(),
        }
    }

    /// Returns the definitions that came so far.
    #[must_use]
    pub fn definitions(&self) -> &Recording {
        &self.tables
    }

    /// Returns from when to when it was recorded: what profiles say, else the times that were seen.
    #[must_use]
    pub fn lasted(&self) -> Option<(Timestamp, Timestamp)> {
        let profiles = self.tables.profiles.iter().flatten();
        let said = profiles.filter_map(|row| {
            let start = row.time.unwrap_or(0);
            let duration = row.duration.filter(|&duration| duration > 0)?;
            Some((start, start.saturating_add(duration)))
        });
        let said = said.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)));
        said.or(self.seen)
    }

    /// Returns the value between two samples, by the name of its column, where profiles say.
    pub fn periods(&self) -> impl Iterator<Item = (String, i64)> {
        self.tables.profiles.iter().flatten().filter_map(|row| {
            let (value_type, period) = row.period?;
            let name = self.tables.value_type(value_type)?.name;
            Some((self.tables.text(name).into_owned(), period))
        })
    }

    fn see(&mut self, first: Timestamp, last: Timestamp) {
        let (start, end) = self.seen.get_or_insert((first, last));
        (*start, *end) = (first.min(*start), last.max(*end));
    }

    /// Returns `true` if spans or steps have come.
    #[must_use]
    pub fn saw_spans(&self) -> bool {
        self.spans_seen
    }

    /// Returns the selected calls on async tracks that were passed over.
    #[must_use]
    pub fn passed_over(&self) -> AsyncCalls {
        self.passed_over
    }

    /// Returns true if samples have come.
    #[must_use]
    pub fn saw_samples(&self) -> bool {
        self.columns.any()
    }

    /// Returns the name of a value that is not zero, if nothing but samples has come and all values shown of them are.
    #[must_use]
    pub fn telling_value(&self) -> Option<String> {
        match self.spans_seen {
            true => None,
            false => self.columns.telling(&self.tables),
        }
    }

    /// Returns true if reading ended because there are more stacks than nodes of a tree ([`TreeOptions::stops`]).
    #[must_use]
    pub fn has_too_many_stacks(&self) -> bool {
        self.options.stops && self.tables.stacks.len() > self.options.most
    }

    /// Returns how many samples passed a filter, and how many it refused.
    #[must_use]
    pub fn chosen_samples(&self) -> (u64, u64) {
        self.chosen.as_ref().map_or((0, 0), |chosen| chosen.told)
    }

    /// Ends what is open and returns the trees.
    #[must_use]
    pub fn finish(mut self) -> Trees {
        self.end()
    }

    fn end(&mut self) -> Trees {
        self.release_held(None);
        self.end_steps();
        let selecting = self.options.calls.is_some();
        let mut ground = |arena: &mut Arena, track| ground(arena, self.grounds.as_ref(), track);
        self.pieces.finish(&mut self.arena, selecting, &mut ground);
        // Nothing is open any more.
        self.thinning.thin(&mut self.arena, &self.tables, ROOT);
        let lanes = self.lanes.take().filter(|_| !self.threads_seen);
        let lanes = lanes.map(|mut lanes| {
            let AsyncTree { arena, pieces } = &mut *lanes;
            pieces.finish(arena, selecting, &mut ground);
            if self.grounds.is_some() {
                arena.sum_grounds();
            }
            lanes.arena
        });
        let mut samples =
            self.columns
                .finish(&self.tables, self.grounds.as_mut(), self.options.lines);
        let naming = TreeNaming {
            tables: &self.tables,
            grounds: self.grounds.as_ref(),
            alike: self.options.functions && self.options.alike,
        };
        let named = |arena, measure, total| naming.name(arena, measure, total);
        let [mut samples, beside, lines] = samples.each_mut().map(|trees| {
            let trees = trees.drain(..);
            let trees = trees.map(|(measure, arena, total)| named(arena, measure, Some(total)));
            trees.collect()
        });
        for grown in self.columns.finish_path_trees() {
            let tree = naming.name_thinned(grown.arena, grown.measure, None, &grown.rest);
            merge_tree(&mut samples, tree);
        }
        if self.grounds.is_some() {
            self.arena.sum_grounds();
        }
        let arena = std::mem::replace(&mut self.arena, Arena::new());
        let wall = |name: &String| *name == Measure::wall().name;
        let wanted = self.options.values.is_empty() || self.options.values.iter().any(wall);
        let thinning = TreeThinning::new(0, false);
        let mut rest = std::mem::replace(&mut self.thinning, thinning).into_rows();
        rest.extend(self.sums.take().into_iter().flat_map(StepSums::into_rows));
        let spans = (self.spans_seen && wanted)
            .then(|| naming.name_thinned(arena, Measure::wall(), None, &rest));
        let measure = || Measure {
            tracks: Tracks::Async,
            ..Measure::wall()
        };
        let lanes = lanes.filter(|_| wanted);
        let lanes = lanes.map(|arena| named(arena, measure(), None));
        Trees {
            spans,
            lanes,
            samples,
            beside,
            lines,
        }
    }

    /// Ends what is open and returns the functions of each tree, and those of [`Trees::beside`].
    #[must_use]
    pub fn finish_functions(mut self) -> [Vec<Functions>; 2] {
        let mut trees = self.end();
        let beside = std::mem::take(&mut trees.beside);
        let mut all = Vec::new();
        let alike = self.options.alike;
        // How likely a difference is by chance is told of samples alone.
        let is_counted = |tree: &CallTree| alike && tree.measure.source == TreeSource::Samples;
        let trees = trees.into_trees().map(|tree| Functions {
            inclusive: match is_counted(&tree) {
                true => inclusive_counts(&tree),
                false => Vec::new(),
            },
            ..Functions::of(tree)
        });
        trees
            .chain(self.finish_paths())
            .for_each(|one| one.merge_into(&mut all));
        [all, beside.into_iter().map(Functions::of).collect()]
    }

    /// Hands the tables over to the functions of samples that came without stacks.
    fn finish_paths(&mut self) -> impl Iterator<Item = Functions> {
        let tables = Arc::new(std::mem::take(&mut self.tables));
        self.columns.finish_paths(tables)
    }

    fn end_steps(&mut self) {
        let Self {
            options,
            tables,
            arena,
            lines,
            sums,
            open,
            ..
        } = self;
        if let Some(sums) = sums {
            sums.finish(arena);
        }
        match &options.calls {
            None => lines.finish(arena, None),
            Some(selection) => lines.finish(
                arena,
                Some(&mut |track, key, start, end| {
                    let judged = open.get(&track).copied();
                    judged.unwrap_or_else(|| {
                        selection.accepts(&NoRow::of(tables, (track, key), start, end))
                    })
                }),
            ),
        }
    }

    /// Folds the held steps in; `rows` are the rows of their calls.
    fn release_held(&mut self, rows: Option<&SpanBatch>) {
        if let Some(batch) = self.held.take() {
            self.fold(&batch, rows);
        }
    }

    fn fold(&mut self, batch: &StepBatch, rows: Option<&SpanBatch>) {
        let Self {
            options,
            tables,
            arena,
            lines,
            sums,
            grounds,
            open,
            threads_seen,
            ..
        } = self;
        if let (Some(selection), Some(rows)) = (&options.calls, rows) {
            open.extend(batch.open.iter().filter_map(|&(track, row)| {
                let row = rows.row(row as usize)?;
                Some((track, selection.accepts(&CallOfRow::new(tables, &row))))
            }));
        }
        for (track, range) in batch.runs() {
            if !options.lanes && is_async(tables, track) {
                continue;
            }
            *threads_seen = true;
            let (Some(times), Some(functions)) = (
                batch.time.get(range.clone()),
                batch.function.get(range.clone()),
            ) else {
                continue;
            };
            if let Some(sums) = sums {
                sums.run(arena, tables, track, (times, functions));
                continue;
            }
            let steps = (range.start, times, functions);
            let ground = ground(arena, grounds.as_ref(), track);
            let Some(selection) = &options.calls else {
                lines.run(arena, (track, ground), steps, None);
                continue;
            };
            let mut judge = |step: usize, key: u32, start: Timestamp, end: Timestamp| {
                let row = u32::try_from(step).ok().and_then(|step| {
                    let at = batch.calls.binary_search_by_key(&step, |&(exit, _)| exit);
                    let (_, row) = batch.calls.get(at.ok()?)?;
                    rows?.row(*row as usize)
                });
                match row {
                    Some(row) => selection.accepts(&CallOfRow::new(tables, &row)),
                    None => selection.accepts(&NoRow::of(tables, (track, key), start, end)),
                }
            };
            lines.run(arena, (track, ground), steps, Some(&mut judge));
        }
    }

    /// Holds no more than is asked for, where nothing refers to nodes: while calls are chosen, tracks do.
    fn thin(&mut self) {
        let Self {
            options,
            tables,
            arena,
            lines,
            thinning,
            ..
        } = self;
        let is_idle = || options.calls.is_none() && lines.is_idle();
        if thinning.is_due(arena) && (lines.is_empty() || is_idle()) {
            thinning.thin(arena, tables, ROOT);
        }
    }

    fn put(&mut self, batch: &SpanBatch, skip: &[u32]) {
        let all_at_end = match self.order {
            Order::Nested => false,
            Order::Finish => self.options.lanes,
            Order::None => true,
        };
        for (number, row) in batch.iter().enumerate() {
            let named = u32::try_from(number).is_ok_and(|row| skip.binary_search(&row).is_ok());
            if named {
                continue;
            }
            let refused = row.parent.is_none()
                && self.options.calls.as_ref().is_some_and(|selection| {
                    !selection.accepts(&CallOfRow::new(&self.tables, &row))
                });
            let passed_over = !self.options.lanes && is_async(&self.tables, row.track);
            if passed_over && row.parent.is_none() && !refused {
                let duration = saturated_i64(row.duration());
                self.passed_over.take(duration);
            }
            if !passed_over {
                self.threads_seen = true;
                self.lanes = None;
            } else if self.threads_seen {
                continue;
            }
            let mut piece = TreeSpan::of(&row, refused);
            // Where all of a call is on one track, its ground says the same.
            let lanes = self.options.lanes || passed_over;
            let apart = |grounds: &&mut Grounds| lanes || !grounds.by().is_of_track();
            if let Some(grounds) = self.grounds.as_mut().filter(apart) {
                piece.group = grounds.of_span(&self.tables, &row);
            }
            if passed_over {
                let durations = self.options.durations;
                let lanes = self.lanes.get_or_insert_with(|| {
                    Box::new(AsyncTree {
                        arena: Arena::new(),
                        pieces: SpanFeed::new(true, durations),
                    })
                });
                if self.order == Order::Nested {
                    let ground = ground(&mut lanes.arena, self.grounds.as_ref(), row.track);
                    lanes.pieces.put(&mut lanes.arena, ground, &piece);
                } else {
                    lanes.pieces.hold(piece);
                }
            } else if all_at_end {
                self.pieces.hold(piece);
            } else {
                let ground = ground(&mut self.arena, self.grounds.as_ref(), row.track);
                self.pieces.put(&mut self.arena, ground, &piece);
            }
        }
    }
}

/// Finds what the calls of a track hang from.
fn ground(arena: &mut Arena, grounds: Option<&Grounds>, track: TrackId) -> u32 {
    grounds.map_or(ROOT, |grounds| arena.child(ROOT, grounds.of_track(track)))
}

impl TreeBuilder {
    fn wants(&self) -> Wants {
        let groups = self.grounds.as_ref();
        // Steps say nothing of attributes.
        if groups.is_some_and(|all| !all.by().is_of_track()) {
            return Wants::Spans;
        }
        Wants::Steps {
            calls: self.options.calls.is_some(),
        }
    }
}

impl Sink for TreeBuilder {
    fn asks(&self) -> Asks {
        let labels = self.grounds.is_some() || self.chosen.is_some();
        Asks {
            sampled_events: false,
            derived_samples: false,
            events: false,
            labels,
            sums: !labels,
            stacks: !(self.options.functions || self.options.paths) || self.chosen.is_some(),
            wants: self.wants(),
            ..Asks::default()
        }
    }

    fn begin(&mut self, order: Order, _clock: Clock) {
        self.order = order;
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.tables.define(definitions)?;
        match self.has_too_many_stacks() {
            true => Flow::Break(()),
            false => Flow::Continue(()),
        }
    }

    fn steps(&mut self, mut batch: StepBatch) -> Flow {
        if self.wants() == Wants::Spans {
            return Flow::Continue(());
        }
        self.release_held(None);
        self.spans_seen = true;
        if let Some((first, last)) = batch.time_range() {
            self.see(first, last);
        }
        batch.calls.sort_unstable();
        batch.rows_in_steps(&mut self.named);
        if self.options.calls.is_some() && !(batch.calls.is_empty() && batch.open.is_empty()) {
            self.held = Some(batch);
        } else {
            self.fold(&batch, None);
            self.thin();
        }
        Flow::Continue(())
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        self.spans_seen = true;
        for (&start, &end) in batch.start.iter().zip(&batch.end) {
            self.see(start, end);
        }
        self.release_held(Some(&batch));
        let named = std::mem::take(&mut self.named);
        if named.len() < batch.len() {
            self.put(&batch, &named);
            self.thin();
        }
        Flow::Continue(())
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        let batch = match &mut self.chosen {
            Some(chosen) => chosen.choose(&self.tables, batch),
            None => batch,
        };
        for time in batch.times() {
            self.see(time, time);
        }
        self.columns
            .take(&self.tables, batch, self.grounds.as_mut());
        Flow::Continue(())
    }

    fn forget(&mut self, strings: &[StringId]) {
        self.tables.drop_strings(strings);
        if let Some(grounds) = &mut self.grounds {
            grounds.forget(strings);
        }
    }

    fn paths(&mut self, batch: PathBatch) -> Flow {
        self.columns.take_paths(&self.tables, &batch);
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}
