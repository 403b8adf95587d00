//! Exact calls told as samples: own time by stack.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    Asks, BATCH_ROWS, Batch, Flow, Frame, FunctionId, Level, Note, Order, Profile, SampleBatch,
    SampleRow, Sink, SpanBatch, SpanId, SpanRow, Stack, StackId, Stage, TrackId, Unit, ValueType,
    Wants,
};

use super::fresh::Fresh;
use super::held::Held;
use crate::calltree::Cover;

/// Merges spans by their path into samples of a profile with the columns `calls` and `wall`: how often a path
/// ended, and its own nanoseconds.
///
/// Paths are kept apart by track, so that a target that holds threads has them. Memory follows the paths of
/// the program and the longest call, not the length of the trace. Everything else passes.
pub struct AsSamples<'s> {
    to: &'s mut (dyn Sink + Send),
    limit: usize,
    order: Order,
    held: Held,
    fresh: Fresh,
    paths: Vec<Path>,
    known: HashMap<(Above, Option<FunctionId>), usize, RandomState>,
    told: u64,
}

/// What a path hangs under: another one, or its track.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Above {
    Path(usize),
    Track(TrackId),
}

struct Path {
    above: Above,
    function: Option<FunctionId>,
    count: i64,
    own: i64,
}

impl std::fmt::Debug for AsSamples<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AsSamples")
            .field("paths", &self.paths.len())
            .field("told", &self.told)
            .finish_non_exhaustive()
    }
}

impl<'s> AsSamples<'s> {
    /// Passes on to `to`, holding back about `limit` spans at most
    /// ([`traceloom_model::Limit::OpenSpans`]).
    pub fn new(to: &'s mut (dyn Sink + Send), limit: usize) -> Self {
        Self {
            to,
            limit,
            order: Order::default(),
            held: Held::default(),
            fresh: Fresh::default(),
            paths: Vec::new(),
            known: HashMap::default(),
            told: 0,
        }
    }

    /// Pushes the samples; returns how many spans they tell of.
    pub fn finish(mut self) -> u64 {
        self.merge_held();
        // A sink that breaks has its reason and wants no more.
        let _ = self.push();
        self.told
    }

    fn spans(&mut self, batch: &SpanBatch) -> Flow {
        for row in batch.iter() {
            if row.parent.is_some() || self.order == Order::None {
                self.held.put(&row);
                continue;
            }
            let inside = self.held.take(row.id);
            let mut call = SpanBatch::default();
            let waiting = inside.iter().filter_map(|&at| self.held.spans.row(at));
            waiting.for_each(|row| call.push(&row));
            call.push(&row);
            self.merge(&call);
            self.held.forget(&inside);
        }
        if self.order != Order::None && self.held.len() > self.limit {
            let text = "more open spans than allowed: merged without the calls around them";
            let count = self.held.len() as u64;
            self.to
                .note(Note::new(Level::Damage, "limit_open_spans", 0, text).counting(count))?;
            self.merge_held();
        }
        Flow::Continue(())
    }

    fn merge_held(&mut self) {
        let held = std::mem::take(&mut self.held);
        let mut rest = SpanBatch::default();
        let waiting = held
            .spans
            .iter()
            .enumerate()
            .filter(|(at, _)| !held.gone(*at));
        waiting.for_each(|(_, row)| rest.push(&row));
        self.merge(&rest);
    }

    /// Adds spans to their paths; parents that are not among them are roots' parents.
    fn merge(&mut self, spans: &SpanBatch) {
        let rows: HashMap<SpanId, usize, RandomState> = spans
            .id
            .iter()
            .enumerate()
            .map(|(at, &id)| (id, at))
            .collect();
        let parents: Vec<Option<usize>> = spans
            .parent
            .iter()
            .map(|parent| rows.get(&(*parent)?).copied())
            .collect();
        let mut covers: Vec<Cover> = Vec::new();
        covers.resize_with(spans.len(), Cover::default);
        for (row, parent) in spans.iter().zip(&parents) {
            if let Some(cover) = parent.and_then(|parent| covers.get_mut(parent)) {
                cover.add(row.start, row.end);
            }
        }
        let mut found: Vec<Option<usize>> = vec![None; spans.len()];
        let mut line = Vec::new();
        for at in 0..spans.len() {
            line.clear();
            let mut next = Some(at);
            while let Some(here) = next.filter(|&here| found.get(here) == Some(&None)) {
                // A circle of parents ends where it closes; what is here is corrected on the way down.
                if let Some(slot) = found.get_mut(here) {
                    *slot = Some(usize::MAX);
                }
                line.push(here);
                next = parents.get(here).copied().flatten();
            }
            let mut above = next.and_then(|here| found.get(here).copied().flatten());
            for &here in line.iter().rev() {
                let Some(row) = spans.row(here) else { continue };
                let under = match above.filter(|&path| path != usize::MAX) {
                    Some(path) => Above::Path(path),
                    None => Above::Track(row.track),
                };
                let path = self.path(under, &row);
                if let Some(slot) = found.get_mut(here) {
                    *slot = Some(path);
                }
                above = Some(path);
            }
        }
        for ((row, cover), path) in spans.iter().zip(&covers).zip(found) {
            let covered = cover.within(row.start, row.end);
            let duration = i64::try_from(row.duration()).unwrap_or(i64::MAX);
            if let Some(path) = path.and_then(|path| self.paths.get_mut(path)) {
                path.count = path.count.saturating_add(1);
                path.own = path
                    .own
                    .saturating_add(duration.saturating_sub(covered).max(0));
            }
            self.told += 1;
        }
    }

    fn path(&mut self, above: Above, row: &SpanRow<'_>) -> usize {
        let next = self.paths.len();
        let at = *self.known.entry((above, row.function)).or_insert(next);
        if at == next {
            self.paths.push(Path {
                above,
                function: row.function,
                count: 0,
                own: 0,
            });
        }
        at
    }

    fn push(&mut self) -> Flow {
        if self.paths.is_empty() {
            return Flow::Continue(());
        }
        let calls = self.fresh.string("calls");
        let wall = self.fresh.string("wall");
        let columns = [(calls, Unit::Count), (wall, Unit::Nanoseconds)];
        let value_types =
            columns.map(|(name, unit)| self.fresh.value_type(ValueType::sum(name, unit)));
        let profile = self.fresh.profile(Profile {
            default: value_types.last().copied(),
            value_types: value_types.to_vec(),
            ..Profile::default()
        });
        let mut frames: HashMap<Option<FunctionId>, _, RandomState> = HashMap::default();
        // A path comes after the one it hangs under, so its caller's stack is there.
        let mut stacks: Vec<(StackId, TrackId)> = Vec::new();
        let mut batch = SampleBatch::new(profile, 2);
        for path in &self.paths {
            let frame = *frames.entry(path.function).or_insert_with(|| {
                self.fresh.frame(Frame {
                    function: path.function,
                    ..Frame::default()
                })
            });
            let (parent, track) = match path.above {
                Above::Track(track) => (None, track),
                Above::Path(above) => match stacks.get(above) {
                    Some(&(stack, track)) => (Some(stack), track),
                    None => continue,
                },
            };
            let stack = self.fresh.stack(Stack {
                parent,
                frame,
                truncated: false,
            });
            stacks.push((stack, track));
            batch.push(&SampleRow {
                stack: Some(stack),
                values: &[path.count, path.own],
                time: None,
                track: Some(track),
                span: None,
                labels: &[],
            });
            if batch.len() == BATCH_ROWS {
                self.to.define(self.fresh.take())?;
                self.to
                    .samples(std::mem::replace(&mut batch, SampleBatch::new(profile, 2)))?;
            }
        }
        self.to.define(self.fresh.take())?;
        self.to.samples(batch)
    }
}

impl Stage for AsSamples<'_> {
    fn asks(&self) -> Asks {
        Asks {
            wants: Wants::Spans,
            ..Asks::of(self.to)
        }
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        match batch {
            Batch::Spans(spans) => self.spans(&spans),
            // What steps say, spans say too.
            Batch::Steps(_) => Flow::Continue(()),
            Batch::Begin(order, _) => {
                self.order = order;
                batch.push(self.to)
            }
            Batch::Define(new) => {
                self.fresh.see(&new);
                self.to.define(new)
            }
            other => other.push(self.to),
        }
    }
}
