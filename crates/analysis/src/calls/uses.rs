//! Which calls a method occurs in, how often and for how long.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::bounds::saturated_i64;
use traceloom_model::{Order, Recording, SpanBatch, SpanId, SpanRow};

use crate::calltree::children_first;
use crate::names::FunctionMatch;
use crate::symbol_of_function;

/// How often methods were called in a call, and the nanoseconds spent in them and what they called.
///
/// Of methods within each other the outermost counts for the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// How often.
    pub count: u64,
    /// For how long.
    pub time: i64,
}

/// Finds methods in calls while their spans pass, the inner ones first.
#[derive(Debug)]
pub(super) struct Finder {
    method: FunctionMatch,
    verdicts: Vec<Option<bool>>,
    /// What was found in spans that have not come, by the span.
    waiting: HashMap<SpanId, Uses, RandomState>,
    /// Spans of a reader that does not push the inner ones first, until all have come.
    held: Option<SpanBatch>,
}

impl Finder {
    pub fn new(method: FunctionMatch) -> Self {
        Self {
            method,
            verdicts: Vec::new(),
            waiting: HashMap::default(),
            held: None,
        }
    }

    pub fn begin(&mut self, order: Order) {
        if order != Order::Nested {
            self.held.get_or_insert_default();
        }
    }

    /// Returns true if spans wait for others, and with them their texts.
    pub fn holds(&self) -> bool {
        self.held.is_some()
    }

    /// Keeps the batch where inner spans may follow; returns it otherwise.
    pub fn hold(&mut self, batch: SpanBatch) -> Option<SpanBatch> {
        match &mut self.held {
            None => Some(batch),
            Some(held) => {
                held.append(batch);
                None
            }
        }
    }

    /// Returns what was held, and in which order inner spans come first.
    pub fn release(&mut self) -> (SpanBatch, Vec<usize>) {
        let held = self.held.take().unwrap_or_default();
        let spans: Vec<_> = held
            .id
            .iter()
            .copied()
            .zip(held.parent.iter().copied())
            .collect();
        let order = children_first(&spans);
        (held, order)
    }

    /// Returns what was found in a span.
    pub fn take(&mut self, tables: &Recording, row: &SpanRow<'_>) -> Uses {
        let mut found = self.waiting.remove(&row.id).unwrap_or_default();
        if self.is_wanted(tables, row) {
            found.count += 1;
            found.time = saturated_i64(row.duration());
        }
        if let Some(parent) = row.parent.filter(|_| found.count > 0) {
            let around = self.waiting.entry(parent).or_default();
            around.count = around.count.saturating_add(found.count);
            around.time = around.time.saturating_add(found.time);
        }
        found
    }

    fn is_wanted(&mut self, tables: &Recording, row: &SpanRow<'_>) -> bool {
        let Some(function) = row.function else {
            return false;
        };
        if let Some(&Some(known)) = self.verdicts.get(function.index()) {
            return known;
        }
        let wanted = self.method.is_match(&symbol_of_function(tables, function));
        if tables.function(function).is_some() {
            if self.verdicts.len() <= function.index() {
                self.verdicts.resize(function.index() + 1, None);
            }
            if let Some(slot) = self.verdicts.get_mut(function.index()) {
                *slot = Some(wanted);
            }
        }
        wanted
    }
}
