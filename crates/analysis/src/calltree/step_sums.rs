//! Enter and exit steps into sums of functions, where nobody asks who called whom.

use std::collections::BTreeMap;

use traceloom_model::{FunctionId, Recording, Timestamp, TrackId};

use super::arena::{Arena, ROOT};
use super::function_rows::FunctionRows;
use super::top::TopRow;
use crate::symbol::key_of_function;

/// A function that was entered and not left.
#[derive(Clone, Copy, Debug)]
struct EnteredFunction {
    key: u32,
    number: u32,
    start: Timestamp,
    /// Duration of the calls in it that ended.
    covered: i64,
}

/// What is open on one track, outermost first.
#[derive(Debug)]
struct TrackCalls {
    track: TrackId,
    stack: Vec<EnteredFunction>,
    last: Timestamp,
}

/// Functions of the calls that steps tell of. A call that no other is around has a node in the tree, for what all comes
/// to; the others have no path, which in a tree may be one for every call.
#[derive(Debug)]
pub(super) struct StepSums {
    rows: FunctionRows,
    /// The track at hand, whose open functions are on the path of the rows.
    calls: TrackCalls,
    /// Other tracks on which something is open.
    others: BTreeMap<TrackId, TrackCalls>,
}

impl StepSums {
    pub fn new(alike: bool) -> Self {
        Self {
            rows: FunctionRows::new(alike),
            calls: TrackCalls {
                track: TrackId::new(0),
                stack: Vec::new(),
                last: Timestamp::MIN,
            },
            others: BTreeMap::new(),
        }
    }

    /// Returns what calls within others came to, by the keys of functions.
    pub fn into_rows(self) -> Vec<(u32, TopRow)> {
        self.rows.into_rows()
    }

    /// Takes the steps of one track.
    pub fn run(
        &mut self,
        arena: &mut Arena,
        tables: &Recording,
        track: TrackId,
        (times, functions): (&[Timestamp], &[Option<FunctionId>]),
    ) {
        self.turn_to(track);
        let Self { rows, calls, .. } = self;
        for (&time, &function) in times.iter().zip(functions) {
            if function.is_some() {
                let key = key_of_function(function);
                let number = rows.number(tables, key);
                rows.enter(number);
                calls.stack.push(EnteredFunction {
                    key,
                    number,
                    start: time,
                    covered: 0,
                });
            } else {
                calls.leave(arena, rows, time, 0);
            }
        }
        if let Some(&last) = times.last() {
            calls.last = last;
        }
    }

    /// Has the path of the rows be that of a track.
    fn turn_to(&mut self, track: TrackId) {
        let Self {
            rows,
            calls,
            others,
        } = self;
        if calls.track == track {
            return;
        }
        if !calls.stack.is_empty() {
            for call in &calls.stack {
                rows.leave(call.number);
            }
            let stack = std::mem::take(&mut calls.stack);
            others.insert(calls.track, TrackCalls { stack, ..*calls });
        }
        calls.track = track;
        if let Some(known) = others.remove(&track) {
            *calls = known;
            for call in &calls.stack {
                rows.enter(call.number);
            }
        }
    }

    /// Ends what is open at the last time of its track, marked as partial.
    pub fn finish(&mut self, arena: &mut Arena) {
        loop {
            let Self { rows, calls, .. } = self;
            while !calls.stack.is_empty() {
                calls.leave(arena, rows, calls.last, 1);
            }
            let Some(&next) = self.others.keys().next() else {
                return;
            };
            self.turn_to(next);
        }
    }
}

impl TrackCalls {
    /// Ends the innermost call, where one is open.
    #[inline(always)]
    fn leave(&mut self, arena: &mut Arena, rows: &mut FunctionRows, time: Timestamp, partial: u64) {
        let Some(left) = self.stack.pop() else {
            return;
        };
        let duration = time.saturating_sub(left.start).max(0);
        let own = duration.saturating_sub(left.covered).max(0);
        let Some(row) = rows.row(left.number) else {
            return;
        };
        let is_outermost = row.leave();
        let Some(caller) = self.stack.last_mut() else {
            return leave_root(arena, left.key, (duration, own), partial);
        };
        caller.covered = caller.covered.saturating_add(duration);
        let sum = row.sum(left.key);
        sum.own = sum.own.saturating_add(own);
        sum.count += 1;
        sum.partial += partial;
        if is_outermost {
            sum.total = sum.total.saturating_add(duration);
        }
    }
}

/// Books a call that no other is around.
#[inline(never)]
fn leave_root(arena: &mut Arena, key: u32, (duration, own): (i64, i64), partial: u64) {
    let at = arena.child(ROOT, key);
    let node = arena.node_mut(at);
    node.total = node.total.saturating_add(duration);
    node.own = node.own.saturating_add(own);
    node.count += 1;
    if partial > 0 {
        *arena.partial.entry(at).or_default() += partial;
    }
}
