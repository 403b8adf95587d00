//! Aggregated call trees: entries that carry the statistics of their node (SPEC.md §2.4).

use traceloom_model::bounds::saturated_i64;
use traceloom_model::{
    Flow, Merge, Profile, SampleBatch, SampleRow, Scope, Stack, StackId, Unit, ValueType,
    ValueTypeId,
};

use super::calls::SEARCH;
use super::names::DefinitionIds;
use super::{Lowering, Visit as _};
use crate::tptp::call::key;
use crate::tptp::message::Message;
use crate::warn;

/// An aggregated node that is not closed.
#[derive(Clone, Copy, Debug)]
pub(super) struct AggregatedCall {
    pub(super) stack: StackId,
    pub(super) method: u64,
    pub(super) values: [i64; 6],
}

#[derive(Clone, Copy, Debug)]
pub(super) struct AggregatedColumns {
    pub(super) profile: traceloom_model::ProfileId,
}

/// Columns of an aggregated profile: name, unit, how they merge, what they cover.
const COLUMNS: [(&str, Unit, Merge, Scope); 6] = [
    ("base_time", Unit::Nanoseconds, Merge::Sum, Scope::Own),
    (
        "cumulative_time",
        Unit::Nanoseconds,
        Merge::Sum,
        Scope::Inclusive,
    ),
    ("min_time", Unit::Nanoseconds, Merge::Min, Scope::Own),
    ("max_time", Unit::Nanoseconds, Merge::Max, Scope::Own),
    ("base_cpu_time", Unit::Nanoseconds, Merge::Sum, Scope::Own),
    ("calls", Unit::Count, Merge::Sum, Scope::Own),
];

impl Lowering<'_> {
    pub(super) fn ag_entry(&mut self, message: &Message<'_>, offset: u64) -> Flow {
        let key = key(message.number("threadIdRef"), 0);
        let method = message.number("methodIdRef");
        let function = self.names.method_of(&mut self.tables, method, 0);
        let frame = DefinitionIds::frame(&mut self.tables, function, 0);
        let mut amount = |attribute| self.ticks.amount(message.number(attribute), offset);
        let base = amount("baseTime");
        let values = [
            base,
            base,
            amount("minTime"),
            amount("maxTime"),
            amount("baseCPUTime"),
            saturated_i64(message.number("numCalls")),
        ];
        let limit = self.limit_depth;
        let at = self.thread_at(key);
        let Some(thread) = self.calls.thread(at) else {
            return Flow::Continue(());
        };
        if thread.nodes.len() >= limit {
            return self.limit(
                "limit_depth",
                offset,
                "aggregated calls are nested too deeply",
            );
        }
        let parent = thread.nodes.last().map(|node| node.stack);
        let stack = self.tables.stack(Stack {
            parent,
            frame,
            truncated: false,
        });
        if let Some(thread) = self.calls.thread(at) {
            thread.nodes.push(AggregatedCall {
                stack,
                method,
                values,
            });
        }
        Flow::Continue(())
    }

    pub(super) fn ag_exit(&mut self, message: &Message<'_>, offset: u64) -> Flow {
        let key = key(message.number("threadIdRef"), 0);
        let method = message.number("methodIdRef");
        let at = self.thread_at(key);
        let nodes = self.calls.thread(at).map(|thread| &thread.nodes);
        let mut nodes = nodes.into_iter().flatten().rev().take(SEARCH);
        let Some(above) = nodes.position(|node| node.method == method) else {
            let text = format!("the aggregated node of method {method} that ends here never began");
            return self.note(warn("exit_without_entry", offset, text));
        };
        for _ in 0..=above {
            self.close_node(at);
            if self.batches.full() {
                self.flush()?;
            }
        }
        Flow::Continue(())
    }

    /// Closes the innermost aggregated node: its cumulative time is known only here.
    pub(super) fn close_node(&mut self, at: usize) {
        let thread = self.calls.thread(at);
        let Some((thread, node)) =
            thread.and_then(|thread| thread.nodes.pop().map(|node| (thread, node)))
        else {
            return;
        };
        let cumulative = node.values[1];
        if let Some(parent) = thread.nodes.last_mut() {
            parent.values[1] = parent.values[1].saturating_add(cumulative);
        }
        let track = thread.track;
        let AggregatedColumns { profile } = self.columns();
        let samples = self
            .batches
            .samples
            .get_or_insert_with(|| SampleBatch::new(profile, COLUMNS.len()));
        samples.push(&SampleRow {
            stack: Some(node.stack),
            values: &node.values,
            time: None,
            track: Some(track),
            span: None,
            labels: &[],
        });
    }

    fn columns(&mut self) -> AggregatedColumns {
        let tables = &mut self.tables;
        *self.calls.columns.get_or_insert_with(|| {
            let value_types: Vec<ValueTypeId> = COLUMNS
                .iter()
                .map(|&(name, unit, merge, scope)| {
                    let name = tables.string(name);
                    tables.value_type(ValueType {
                        name,
                        unit,
                        merge,
                        scope,
                    })
                })
                .collect();
            let default = value_types.first().copied();
            let profile = tables.profile(Profile {
                value_types,
                default,
                ..Profile::default()
            });
            AggregatedColumns { profile }
        })
    }
}
