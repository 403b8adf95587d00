//! The records of a root call as enters and exits, for sinks that need no row of each.
//!
//! They are held until the call ends: which thread it ran on may be said in its last record. What steps cannot say (a
//! record without a method, without a beginning or an end, times that do not nest) makes rows of all that are held.
//! Without them `top` of a stream takes three times the processor time. For sinks that share a reading, some of steps and
//! some of spans, records are both, and the rows of a call wait for its steps; what cannot be steps is rows alone.

use traceloom_model::bounds::row_number;
use traceloom_model::{FunctionId, SpanId, SpanRow, StepBatch, Timestamp, TrackId};

/// Steps that are held of one call: of more, its records become rows.
const MOST: usize = 1 << 20;

/// The steps of the root call that is open.
#[derive(Debug, Default)]
pub(super) struct CallSteps {
    times: Vec<Timestamp>,
    /// What each step enters; none for exits, and for what has not ended.
    functions: Vec<Option<FunctionId>>,
    is_on: bool,
    /// Its records are rows as well, which begin behind so many others.
    rows_from: Option<usize>,
}

impl CallSteps {
    /// A root call begins; its records are steps if they are `wanted`, and rows as well if those are counted.
    pub(super) fn begin(&mut self, wanted: bool, rows_from: Option<usize>) {
        self.clear();
        self.is_on = wanted;
        self.rows_from = rows_from;
    }

    /// Returns true while the records of the call become steps and rows.
    #[inline]
    pub(super) fn are_beside_rows(&self) -> bool {
        self.is_on && self.rows_from.is_some()
    }

    /// The call is told by rows alone.
    pub(super) fn leave(&mut self) {
        self.is_on = false;
        self.clear();
    }

    fn clear(&mut self) {
        self.times.clear();
        self.functions.clear();
    }

    /// Returns true while the records of the call become steps.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Returns true if no more steps are held.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.times.len() >= MOST
    }

    /// Returns true while records that hold no others become steps, and there is room for one.
    #[inline]
    pub(super) fn takes_leaf(&self) -> bool {
        self.is_on && self.rows_from.is_none() && !self.is_full()
    }

    /// Adds a record that holds no others.
    #[inline]
    pub(super) fn leaf(&mut self, times: [Timestamp; 2], function: FunctionId) {
        self.times.extend_from_slice(&times);
        self.functions.extend_from_slice(&[Some(function), None]);
    }

    /// A record begins; returns the number of its step. When, and of which method, is known once it ends.
    #[inline]
    pub(super) fn enter(&mut self) -> u32 {
        let step = row_number(self.times.len());
        if self.is_on {
            self.times.push(0);
            self.functions.push(None);
        }
        step
    }

    /// The innermost record ends.
    #[inline]
    pub(super) fn exit(
        &mut self,
        step: u32,
        (start, end): (Timestamp, Timestamp),
        function: FunctionId,
    ) {
        let step = step as usize;
        if let (Some(time), Some(entered)) =
            (self.times.get_mut(step), self.functions.get_mut(step))
        {
            (*time, *entered) = (start, Some(function));
        }
        self.times.push(end);
        self.functions.push(None);
    }

    /// Adds the steps of the call, which has ended, to a batch; returns false if they do not nest in time.
    pub(super) fn finish(&mut self, track: TrackId, batch: &mut StepBatch) -> bool {
        if !self.times.is_sorted() {
            return false;
        }
        batch.track(track);
        batch.time.append(&mut self.times);
        batch.function.append(&mut self.functions);
        true
    }

    /// Adds the steps of the call, which has ended and is the last of so many rows, if each of its records is a step and a row.
    pub(super) fn finish_beside_rows(
        &mut self,
        track: TrackId,
        n_rows: usize,
        batch: &mut StepBatch,
    ) {
        let Some((from, root)) = self.rows_from.zip(n_rows.checked_sub(1)) else {
            return;
        };
        let has_both = n_rows.saturating_sub(from) * 2 == self.times.len();
        if has_both && self.finish(track, batch) {
            let exit = row_number(batch.len().saturating_sub(1));
            batch.calls.push((exit, row_number(root)));
            batch.inner.extend((from..root).map(row_number));
        }
        self.leave();
    }

    /// Makes rows of the records that have ended; those to come are no steps until the next root call.
    ///
    /// `open` are the ids of the others, outermost first, with their steps.
    pub(super) fn spill(
        &mut self,
        track: TrackId,
        mut open: impl Iterator<Item = (u32, SpanId)>,
        mut reserve: impl FnMut() -> SpanId,
        mut push: impl FnMut(&SpanRow<'_>),
    ) {
        self.is_on = false;
        let mut around: Vec<(SpanId, Timestamp, Option<FunctionId>)> = Vec::new();
        let mut next = open.next();
        let steps = self.times.iter().zip(&self.functions);
        for (step, (&time, &function)) in (0..).zip(steps) {
            if let Some((_, id)) = next.filter(|&(at, _)| at == step) {
                around.push((id, time, None));
                next = open.next();
            } else if function.is_some() {
                around.push((reserve(), time, function));
            } else if let Some((id, start, Some(function))) = around.pop() {
                push(&SpanRow {
                    parent: around.last().map(|&(id, ..)| id),
                    depth: row_number(around.len()),
                    entry: around.is_empty(),
                    ..SpanRow::call(id, track, function, start, time)
                });
            }
        }
        self.clear();
    }
}
