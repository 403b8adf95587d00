//! Exact calls told as samples: own time by stack.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use traceloom_model::bounds::saturated_i64;
use traceloom_model::{
    Asks, BATCH_ROWS, Batch, Flow, Frame, FrameId, FunctionId, Order, Profile, ProfileId,
    SampleBatch, SampleRow, Sink, SpanBatch, Stack, StackId, Stage, Timestamp, TrackId, TrackKind,
    Unit, ValueType, Wants,
};

use super::added_rows::AddedRows;
use crate::calltree::{Arena, ArenaNode, SpanFeed, TreeSpan};
use crate::symbol::function_of_key;

/// Merges spans by their path into samples of a profile with the columns `calls` and `wall`: how often a path
/// ended, and its own nanoseconds. They are what [`crate::TreeBuilder`] counts, so that a view of the result
/// shows what a view of the calls shows.
///
/// Paths are kept apart by track, so that a target that holds threads has them. Memory follows the paths of
/// the program and the calls that are open, not the length of the trace. Everything else passes.
pub struct AsSamples<'s> {
    to: &'s mut (dyn Sink + Send),
    lanes: bool,
    /// Samples that pass stand for everything: calls are told only where there are none.
    is_fallback: bool,
    n_samples: u64,
    order: Order,
    arena: Arena,
    pieces: SpanFeed,
    grounds: Grounds,
    overlapping: Vec<bool>,
    added: AddedRows,
    /// The first start and the last end of what is told.
    taken: Option<(Timestamp, Timestamp)>,
    done: ToldSpans,
}

/// The node that the calls of each track hang from.
type Grounds = BTreeMap<TrackId, u32>;

/// What became of the spans.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ToldSpans {
    /// Spans that samples tell of.
    pub told: u64,
    /// Spans that were left out: of async tracks and lanes, whose time passed beside that of their thread, or all where samples
    /// stand for everything.
    pub left: u64,
}

impl std::fmt::Debug for AsSamples<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AsSamples")
            .field("nodes", &self.arena.len())
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}

impl<'s> AsSamples<'s> {
    /// Passes on to `to`; spans of async tracks and lanes count with `lanes`.
    pub fn new(to: &'s mut (dyn Sink + Send), lanes: bool) -> Self {
        Self {
            to,
            lanes,
            is_fallback: false,
            n_samples: 0,
            order: Order::default(),
            arena: Arena::new(),
            pieces: SpanFeed::new(lanes, false),
            grounds: Grounds::default(),
            overlapping: Vec::new(),
            added: AddedRows::default(),
            taken: None,
            done: ToldSpans::default(),
        }
    }

    /// Passes on to `to`, and tells calls only where no samples pass.
    pub fn where_none_are(to: &'s mut (dyn Sink + Send)) -> Self {
        Self {
            is_fallback: true,
            ..Self::new(to, false)
        }
    }

    /// Returns how many samples passed.
    pub const fn n_samples(&self) -> u64 {
        self.n_samples
    }

    /// Pushes the samples.
    pub fn finish(mut self) -> ToldSpans {
        if self.is_fallback && self.n_samples > 0 {
            return ToldSpans {
                told: 0,
                left: self.done.told + self.done.left,
            };
        }
        let grounds = &mut self.grounds;
        let mut ground = |arena: &mut Arena, track| ground(arena, grounds, track);
        self.pieces.finish(&mut self.arena, false, &mut ground);
        // A sink that breaks has its reason and wants no more.
        let _ = self.push();
        self.done
    }

    fn spans(&mut self, batch: &SpanBatch) {
        let at_end = self.order == Order::None || (self.lanes && self.order == Order::Finish);
        for row in batch.iter() {
            let overlaps = self.overlapping.get(row.track.index()) == Some(&true);
            if overlaps && !self.lanes {
                self.done.left += 1;
                continue;
            }
            self.done.told += 1;
            let (from, to) = self.taken.unwrap_or((row.start, row.end));
            self.taken = Some((from.min(row.start), to.max(row.end)));
            let piece = TreeSpan::of(&row, false);
            if at_end {
                self.pieces.hold(piece);
            } else {
                let ground = ground(&mut self.arena, &mut self.grounds, row.track);
                self.pieces.put(&mut self.arena, ground, &piece);
            }
        }
    }

    fn push(&mut self) -> Flow {
        if self.done.told == 0 {
            return Flow::Continue(());
        }
        let profile = self.profile();
        let mut frames: HashMap<Option<FunctionId>, FrameId, RandomState> = HashMap::default();
        let mut batch = SampleBatch::new(profile, 2);
        // A call comes after the one it is in, so its caller's stack is there.
        let mut open: Vec<(u32, Option<StackId>, TrackId)> = Vec::new();
        for (&track, &ground) in self.grounds.iter().rev() {
            open.push((self.arena.node(ground).first_child, None, track));
        }
        while let Some((at, parent, track)) = open.pop() {
            let Some(node) = self.arena.get(at) else {
                continue;
            };
            let &ArenaNode {
                key,
                own,
                count,
                first_child,
                next_sibling,
                ..
            } = node;
            let function = function_of_key(key);
            let frame = *frames.entry(function).or_insert_with(|| {
                self.added.frame(Frame {
                    function,
                    ..Frame::default()
                })
            });
            let stack = self.added.stack(Stack::under(parent, frame));
            open.push((next_sibling, parent, track));
            open.push((first_child, Some(stack), track));
            batch.push(&SampleRow {
                stack: Some(stack),
                values: &[saturated_i64(count), own],
                time: None,
                track: Some(track),
                span: None,
                labels: &[],
            });
            if batch.len() == BATCH_ROWS {
                self.to.define(self.added.take())?;
                self.to
                    .samples(std::mem::replace(&mut batch, SampleBatch::new(profile, 2)))?;
            }
        }
        self.to.define(self.added.take())?;
        self.to.samples(batch)
    }

    fn profile(&mut self) -> ProfileId {
        let calls = self.added.string("calls");
        let wall = self.added.string("wall");
        let columns = [(calls, Unit::Count), (wall, Unit::Nanoseconds)];
        let value_types =
            columns.map(|(name, unit)| self.added.value_type(ValueType::sum(name, unit)));
        self.added.profile(Profile {
            default: value_types.last().copied(),
            time: self.taken.map(|(from, _)| from),
            duration: self.taken.map(|(from, to)| to.saturating_sub(from)),
            value_types: value_types.to_vec(),
            ..Profile::default()
        })
    }
}

fn ground(arena: &mut Arena, grounds: &mut Grounds, track: TrackId) -> u32 {
    *grounds.entry(track).or_insert_with(|| arena.side_tree())
}

impl Stage for AsSamples<'_> {
    fn asks(&self) -> Asks {
        Asks {
            // Steps would do, but what samples lose of spans is counted on the way here.
            wants: Wants::Spans,
            // Sums of the same spans would stand beside their samples.
            derived_samples: self.is_fallback && self.to.asks().derived_samples,
            ..self.to.asks()
        }
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        match batch {
            Batch::Spans(spans) => {
                self.spans(&spans);
                Flow::Continue(())
            }
            Batch::Samples(samples) => {
                self.n_samples += samples.len() as u64;
                self.to.samples(samples)
            }
            // What steps say, spans say too.
            Batch::Steps(_) => Flow::Continue(()),
            Batch::Begin(order, _) => {
                self.order = order;
                batch.push(self.to)
            }
            Batch::Define(new) => {
                self.added.see(&new);
                for (id, row) in &new.tracks {
                    if self.overlapping.len() <= id.index() {
                        self.overlapping.resize(id.index() + 1, false);
                    }
                    if let Some(overlaps) = self.overlapping.get_mut(id.index()) {
                        *overlaps = matches!(row.kind, TrackKind::Async | TrackKind::Lane);
                    }
                }
                self.to.define(new)
            }
            other => other.push(self.to),
        }
    }
}
