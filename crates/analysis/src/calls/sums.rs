//! Calls by group: how many, how long.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::bounds::saturated_i64;
use traceloom_model::{
    Asks, Clock, Definitions, Flow, Note, Order, Recording, SampleBatch, Sink, SpanBatch, SpanRow,
    SpanStatus, StringId, Wants,
};

use super::of_calls;
use crate::calltree::Grounds;
use crate::filter::{CallOfRow, Selection};
use crate::{GroupBy, Sketch};

/// The calls of a group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallSum {
    /// What they have in common.
    pub group: String,
    /// How many there are.
    pub calls: u64,
    /// How many of them failed.
    pub errors: u64,
    /// How many of them were not recorded whole; percentiles leave them out.
    pub partial: u64,
    /// Nanoseconds they took together.
    pub total: i64,
    /// How long they took.
    pub durations: Sketch,
}

impl CallSum {
    /// Adds the calls of another input.
    pub fn merge(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.errors = self.errors.saturating_add(other.errors);
        self.partial = self.partial.saturating_add(other.partial);
        self.total = self.total.saturating_add(other.total);
        self.durations.merge(&other.durations);
    }

    fn take(&mut self, row: &SpanRow<'_>) {
        let duration = saturated_i64(row.duration());
        self.calls += 1;
        self.total = self.total.saturating_add(duration);
        self.errors += u64::from(row.status == SpanStatus::Error || row.exception.is_some());
        if matches!(
            row.status,
            SpanStatus::PartialStart | SpanStatus::PartialEnd
        ) {
            self.partial += 1;
        } else {
            self.durations.add(duration);
        }
    }
}

/// Adds up calls by group as they pass; memory follows the groups.
///
/// By title, a call without one counts with its method.
#[derive(Debug)]
pub struct CallSums {
    selection: Selection,
    grounds: Grounds,
    tables: Recording,
    sums: HashMap<u32, CallSum, RandomState>,
    /// Samples that were read: a profile without calls has these instead.
    pub samples: u64,
    /// Calls that were read.
    pub read: u64,
}

impl CallSums {
    /// Adds up the calls that `selection` accepts.
    #[must_use]
    pub fn new(selection: Selection, by: GroupBy) -> Self {
        Self {
            selection,
            grounds: Grounds::new(by),
            tables: Recording::default(),
            sums: HashMap::default(),
            samples: 0,
            read: 0,
        }
    }

    /// Returns the groups, by falling total.
    #[must_use]
    pub fn finish(self) -> Vec<CallSum> {
        let Self {
            grounds,
            tables,
            sums,
            ..
        } = self;
        let mut all: Vec<CallSum> = Vec::new();
        let mut rows: HashMap<String, usize, RandomState> = HashMap::default();
        for (key, sum) in sums {
            let group = grounds.symbol(&tables, key).name;
            let at = *rows.entry(group.clone()).or_insert_with(|| {
                all.push(CallSum {
                    group,
                    ..CallSum::default()
                });
                all.len() - 1
            });
            if let Some(known) = all.get_mut(at) {
                known.merge(&sum);
            }
        }
        sort(&mut all);
        all
    }
}

/// Puts the groups that took most first.
fn sort(all: &mut [CallSum]) {
    all.sort_by(|a, b| b.total.cmp(&a.total).then_with(|| a.group.cmp(&b.group)));
}

impl Sink for CallSums {
    fn asks(&self) -> Asks {
        of_calls(Wants::Calls)
    }

    fn begin(&mut self, order: Order, clock: Clock) {
        self.tables.begin(order, clock);
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.tables.define(definitions)
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        for row in batch.calls() {
            self.read += 1;
            if !self.selection.accepts(&CallOfRow::new(&self.tables, &row)) {
                continue;
            }
            let row = SpanRow {
                parent: None,
                ..row
            };
            let key = self.grounds.of_call(&self.tables, &row);
            self.sums.entry(key).or_default().take(&row);
        }
        Flow::Continue(())
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        self.samples += batch.len() as u64;
        Flow::Continue(())
    }

    fn forget(&mut self, strings: &[StringId]) {
        self.grounds.forget(strings);
        self.tables.drop_strings(strings);
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}
