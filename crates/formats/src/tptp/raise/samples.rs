//! Samples to aggregated call trees.

use std::collections::HashMap;

use traceloom_model::{
    Flow, FunctionId, Merge, ProfileId, SampleBatch, Scope, StackId, TrackId, Unit,
};

use super::order::Rank;
use super::{Writer, schema, ticks};
use crate::tptp::message::Draft;

/// Columns of an aggregated entry and their fields.
const FIELDS: [(&str, &str); 5] = [
    ("base_time", "baseTime"),
    ("min_time", "minTime"),
    ("max_time", "maxTime"),
    ("base_cpu_time", "baseCPUTime"),
    ("calls", "numCalls"),
];

/// Thread, parent node and function of a node.
type Place = (Option<TrackId>, Option<usize>, Option<FunctionId>);

/// Call trees under construction, one for each thread that has samples.
#[derive(Default)]
pub(super) struct ThreadCallTrees {
    columns: HashMap<ProfileId, [Option<(usize, Merge)>; 5]>,
    roots: Vec<(Option<TrackId>, Vec<usize>)>,
    nodes: Vec<SampledCall>,
    children: HashMap<Place, usize>,
}

#[derive(Default)]
struct SampledCall {
    function: Option<FunctionId>,
    values: [Option<i64>; 5],
    children: Vec<usize>,
}

impl Writer<'_> {
    pub(super) fn take_samples(&mut self, batch: &SampleBatch) {
        let columns = match self.samples.columns.get(&batch.profile) {
            Some(columns) => *columns,
            None => {
                let columns = self.columns(batch.profile);
                self.samples.columns.insert(batch.profile, columns);
                columns
            }
        };
        for row in batch.iter() {
            let Some(stack) = row.stack else {
                continue;
            };
            let at = self.node(row.track, stack);
            let Some(node) = at.and_then(|at| self.samples.nodes.get_mut(at)) else {
                continue;
            };
            for (slot, column) in node.values.iter_mut().zip(columns) {
                let Some((column, merge)) = column else {
                    continue;
                };
                let value = row.values.get(column).copied().unwrap_or(0);
                *slot = Some(match (*slot, merge) {
                    (None, _) => value,
                    (Some(before), Merge::Sum) => before.saturating_add(value),
                    (Some(before), Merge::Min) => before.min(value),
                    (Some(before), Merge::Max) => before.max(value),
                });
            }
        }
    }

    /// Which column feeds which field: those of TPTP by name, else a time and a count.
    fn columns(&self, profile: ProfileId) -> [Option<(usize, Merge)>; 5] {
        let mut columns = [None; 5];
        let Some(profile) = self.tables.profile(profile) else {
            return columns;
        };
        let types: Vec<_> = profile
            .value_types
            .iter()
            .map(|id| self.tables.value_type(*id))
            .collect();
        for (column, (name, _)) in columns.iter_mut().zip(FIELDS) {
            let at = types
                .iter()
                .position(|t| t.is_some_and(|t| self.tables.text(t.name) == name));
            let merge = at
                .and_then(|at| types.get(at).copied().flatten())
                .map(|t| t.merge);
            *column = at.zip(merge);
        }
        let [base, _, _, _, calls] = &mut columns;
        if base.is_none() && calls.is_none() {
            let own =
                |t: &traceloom_model::ValueType| t.scope == Scope::Own && t.merge == Merge::Sum;
            let of = |unit| {
                types
                    .iter()
                    .position(|t| t.is_some_and(|t| own(t) && t.unit == unit))
            };
            let default = profile
                .default
                .and_then(|id| profile.value_types.iter().position(|t| *t == id));
            let time = of(Unit::Nanoseconds)
                .or(default)
                .or(types.len().checked_sub(1));
            *base = time.map(|at| (at, Merge::Sum));
            *calls = of(Unit::Count).map(|at| (at, Merge::Sum));
        }
        columns
    }

    /// Finds or makes the node of a stack; without recursion, stacks of damaged data may be deep.
    fn node(&mut self, track: Option<TrackId>, stack: StackId) -> Option<usize> {
        let mut path = Vec::new();
        let mut next = Some(stack);
        while let Some(id) = next {
            let row = self.tables.stack(id)?;
            // A parent is older than its child: anything else would be a circle.
            next = row
                .parent
                .filter(|parent| parent.raw() != id.raw() && path.len() < 1 << 20);
            path.push(
                self.tables
                    .frame(row.frame)
                    .and_then(|frame| frame.function),
            );
        }
        let trees = &mut self.samples;
        let mut at = None;
        for function in path.into_iter().rev() {
            let key = (track, at, function);
            let found = match trees.children.get(&key) {
                Some(&found) => found,
                None => {
                    let made = trees.nodes.len();
                    trees.nodes.push(SampledCall {
                        function,
                        ..SampledCall::default()
                    });
                    trees.children.insert(key, made);
                    match at.and_then(|at: usize| trees.nodes.get_mut(at)) {
                        Some(parent) => parent.children.push(made),
                        None => match trees.roots.iter_mut().find(|root| root.0 == track) {
                            Some(root) => root.1.push(made),
                            None => trees.roots.push((track, vec![made])),
                        },
                    }
                    made
                }
            };
            at = Some(found);
        }
        at
    }

    pub(super) fn finish_samples(&mut self) -> Flow {
        // No time is theirs: they come after everything that has one, before the ends.
        let time = self.waiting.latest();
        for (track, roots) in std::mem::take(&mut self.samples.roots) {
            let thread = track.map_or(0, |track| self.thread(track, time));
            // An entry and, once its children are told, an exit.
            let mut todo: Vec<(usize, bool)> =
                roots.into_iter().rev().map(|at| (at, true)).collect();
            while let Some((at, enter)) = todo.pop() {
                let Some(node) = self.samples.nodes.get_mut(at) else {
                    continue;
                };
                let (function, values) = (node.function, node.values);
                let children = if enter {
                    std::mem::take(&mut node.children)
                } else {
                    Vec::new()
                };
                let method = function.map_or(0, |function| self.method(function).0);
                let draft = Draft::new(schema(if enter { 1036 } else { 1037 }));
                let mut draft = draft
                    .number("threadIdRef", thread)
                    .number("methodIdRef", method);
                if enter {
                    for ((_, field), value) in FIELDS.into_iter().zip(values) {
                        draft = draft.number(field, ticks(value.unwrap_or(0)));
                    }
                    todo.push((at, false));
                    todo.extend(children.into_iter().rev().map(|child| (child, true)));
                }
                self.put(time, Rank::Happens, &draft);
                self.flush()?;
            }
        }
        Flow::Continue(())
    }
}
