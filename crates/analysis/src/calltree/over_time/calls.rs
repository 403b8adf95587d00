//! Calls of one track that have ended, added to the times of their paths.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::bounds::row_number;
use traceloom_model::{FunctionId, Order, SpanId, Timestamp, TrackId};

use super::super::arena::{Arena, ROOT};
use super::super::children_first;
use super::NONE;
use super::grid::{Grid, ThreadValue};
use super::steps::StepLine;
use super::sums::PathSums;
use crate::symbol::key_of_function;

/// A span whose call has not ended.
#[derive(Debug)]
pub(super) struct RunningCall {
    pub(super) id: SpanId,
    pub(super) parent: Option<SpanId>,
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
    pub(super) function: Option<FunctionId>,
}

/// When each path of calls ran.
#[derive(Debug)]
pub(super) struct CallTimes {
    pub(super) arena: Arena,
    pub(super) grid: Grid,
    pub(super) sums: PathSums,
    /// Of tracks whose calls come as steps, where any is open.
    pub(super) lines: HashMap<TrackId, StepLine, RandomState>,
    /// One of a track without any, for the next.
    pub(super) spare_line: StepLine,
    /// Of the calls at hand, by their rows: the row of the caller, the node, and up to where callees reach. Kept for
    /// their memory.
    callers: Vec<u32>,
    nodes: Vec<u32>,
    reached: Vec<Timestamp>,
}

impl CallTimes {
    pub(super) fn new() -> Self {
        Self {
            arena: Arena::new(),
            grid: Grid::default(),
            sums: PathSums::default(),
            lines: HashMap::default(),
            spare_line: StepLine::default(),
            callers: Vec::new(),
            nodes: Vec::new(),
            reached: Vec::new(),
        }
    }

    /// Drops all times, of which there are too many.
    pub(super) fn drop_times(&mut self) {
        self.grid = Grid::default();
        self.lines = HashMap::default();
    }

    /// Takes the spans of ended calls of one track.
    pub(super) fn settle(&mut self, track: TrackId, spans: &[RunningCall], order: Order) {
        let first = spans.iter().map(|span| span.start).min();
        let last = spans.iter().map(|span| span.end).max();
        let (Some(first), Some(last)) = (first, last) else {
            return;
        };
        self.find_callers(spans, order);
        self.find_nodes(spans, order);
        let thread = track.raw();
        self.grid.extend(first, last);
        if self.grid.stretch_of(first).contains(&last) {
            let (nodes, sums) = (&self.nodes, &mut self.sums);
            let mut add = |at, range| sums.add_time(of_row(nodes, at), range);
            own_times(spans, &self.callers, &mut self.reached, &mut add);
            nodes.iter().for_each(|&node| sums.count(node));
            sums.flush(&mut self.grid, first, thread);
        } else {
            let (nodes, grid) = (&self.nodes, &mut self.grid);
            let mut add = |at, range| grid.add_time(range, thread, of_row(nodes, at));
            own_times(spans, &self.callers, &mut self.reached, &mut add);
            for (span, &node) in spans.iter().zip(nodes) {
                grid.add(span.start, thread, node, ThreadValue { own: 0, count: 1 });
            }
        }
    }

    /// Finds the row of each span's caller.
    fn find_callers(&mut self, spans: &[RunningCall], order: Order) {
        self.callers.clear();
        self.callers.resize(spans.len(), NONE);
        if order == Order::Nested && nested_callers(spans, &mut self.callers) {
            return;
        }
        let rows = spans.iter().enumerate().map(|(at, span)| (span.id, at));
        let rows: HashMap<SpanId, usize, RandomState> = rows.collect();
        for (span, caller) in spans.iter().zip(&mut self.callers) {
            let row = span.parent.and_then(|parent| rows.get(&parent));
            *caller = row.map_or(NONE, |&row| row_number(row));
        }
    }

    /// Finds the node of each span, callers first.
    fn find_nodes(&mut self, spans: &[RunningCall], order: Order) {
        self.nodes.clear();
        self.nodes.resize(spans.len(), ROOT);
        let mut find = |at: usize| {
            let Some(span) = spans.get(at) else { return };
            let caller = self.callers.get(at).copied().unwrap_or(NONE);
            let above = of_row(&self.nodes, caller as usize);
            let node = self.arena.child(above, key_of_function(span.function));
            if let Some(slot) = self.nodes.get_mut(at) {
                *slot = node;
            }
        };
        match order {
            Order::Nested => (0..spans.len()).rev().for_each(&mut find),
            _ => {
                let ids: Vec<_> = spans.iter().map(|span| (span.id, span.parent)).collect();
                children_first(&ids).into_iter().rev().for_each(&mut find);
            }
        }
    }
}

/// Returns the node of a row; what has no caller hangs from the root.
fn of_row(nodes: &[u32], row: usize) -> u32 {
    nodes.get(row).copied().unwrap_or(ROOT)
}

/// Finds callers of spans that come behind all they call: from the last one on, a caller is one of those that are open
/// around the span. Returns false where one is not.
fn nested_callers(spans: &[RunningCall], callers: &mut [u32]) -> bool {
    let mut open: Vec<(SpanId, u32)> = Vec::new();
    for (at, (span, caller)) in spans.iter().zip(callers).enumerate().rev() {
        match span.parent {
            None => open.clear(),
            Some(parent) => {
                let Some(above) = open.iter().rposition(|&(id, _)| id == parent) else {
                    return false;
                };
                open.truncate(above + 1);
                *caller = open.last().map_or(NONE, |&(_, row)| row);
            }
        }
        open.push((span.id, row_number(at)));
    }
    true
}

/// Tells `add` the times that calls took without their callees, each with the row of its span.
fn own_times(
    spans: &[RunningCall],
    callers: &[u32],
    reached: &mut Vec<Timestamp>,
    add: &mut impl FnMut(usize, (Timestamp, Timestamp)),
) {
    let mut by_start: Vec<u32> = Vec::new();
    if !are_apart(spans, callers, reached) {
        by_start.extend((0..spans.len()).map(row_number));
        by_start
            .sort_unstable_by_key(|&at| spans.get(at as usize).map(|span| (span.start, span.end)));
    }
    reached.clear();
    reached.extend(spans.iter().map(|span| span.start));
    for at in 0..spans.len() {
        let at = by_start.get(at).map_or(at, |&at| at as usize);
        let caller = callers
            .get(at)
            .map_or(usize::MAX, |&caller| caller as usize);
        let (Some(span), Some(around)) = (spans.get(at), spans.get(caller)) else {
            continue;
        };
        let Some(reached) = reached.get_mut(caller) else {
            continue;
        };
        let until = span.start.min(around.end);
        if until > *reached {
            add(caller, (*reached, until));
        }
        *reached = span.end.max(*reached);
    }
    for (at, (span, &reached)) in spans.iter().zip(&*reached).enumerate() {
        if reached < span.end {
            add(at, (reached, span.end));
        }
    }
}

/// Returns true if callees of one call follow one another in time.
fn are_apart(spans: &[RunningCall], callers: &[u32], reached: &mut Vec<Timestamp>) -> bool {
    reached.clear();
    reached.resize(spans.len(), Timestamp::MIN);
    spans.iter().zip(callers).all(|(span, &caller)| {
        reached.get_mut(caller as usize).is_none_or(|reached| {
            let is_apart = span.start >= *reached;
            *reached = span.end;
            is_apart
        })
    })
}
