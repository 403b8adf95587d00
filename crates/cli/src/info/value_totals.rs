//! Values of the samples in a part, added up by column.

use super::{ValueColumn, unit_name};
use std::collections::BTreeMap;
use traceloom_formats::datakit::{EventKind, Language};
use traceloom_model::{
    Asks, Clock, Definitions, EventBatch, Flow, Note, Order, ProfileId, Recording, SampleBatch,
    Sink, SpanBatch, StringId, Wants,
};

/// Adds up the values of samples; an input of spans is left at the first one.
#[derive(Default)]
pub(super) struct ValueTotals {
    pub(super) tables: Recording,
    pub(super) spans: bool,
    pub(super) events: bool,
    pub(super) sums: BTreeMap<(ProfileId, usize), (u64, i128)>,
}

impl ValueTotals {
    /// Functions whose files tell the language; more say nothing new.
    const FUNCTIONS: usize = 4096;

    /// Returns the name of a clock that has no date.
    pub(super) fn clock(&self) -> Option<String> {
        match self.tables.clock {
            Clock::Unix => None,
            Clock::Unknown(name) => Some(name.map_or_else(
                || "unknown".to_owned(),
                |name| self.tables.text(name).into_owned(),
            )),
        }
    }

    /// Returns the columns of a part called `file`.
    pub(super) fn values(&self, file: &str) -> Vec<ValueColumn> {
        let text = |id: StringId| self.tables.text(id).into_owned();
        let language = Language::of_recording(&self.tables);
        let value =
            |(&(profile, column), &(samples, total)): (&(ProfileId, usize), &(u64, i128))| {
                let types = &self.tables.profile(profile)?.value_types;
                let row = self.tables.value_type(*types.get(column)?)?;
                let name = text(row.name);
                let event = EventKind::of_column(&self.tables, language, file, row);
                Some(ValueColumn {
                    name,
                    unit: unit_name(row.unit, &text),
                    samples,
                    total,
                    event,
                })
            };
        self.sums.iter().filter_map(value).collect()
    }
}

impl Sink for ValueTotals {
    fn asks(&self) -> Asks {
        Asks {
            wants: Wants::Calls,
            sampled_events: false,
            amounts_only: true,
            ..Asks::default()
        }
    }

    fn begin(&mut self, order: Order, clock: Clock) {
        self.tables.begin(order, clock);
    }

    fn define(&mut self, new: Definitions) -> Flow {
        let functions = match self.tables.functions.len() < Self::FUNCTIONS {
            true => new.functions,
            false => Vec::new(),
        };
        self.tables.define(Definitions {
            strings: new.strings,
            resources: new.resources,
            functions,
            value_types: new.value_types,
            profiles: new.profiles,
            event_types: new.event_types,
            ..Definitions::default()
        })
    }

    fn events(&mut self, _batch: EventBatch) -> Flow {
        self.events = true;
        Flow::Continue(())
    }

    fn spans(&mut self, _batch: SpanBatch) -> Flow {
        self.spans = true;
        if self.tables.profiles.is_empty() {
            Flow::Break(())
        } else {
            Flow::Continue(())
        }
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        for row in 0..batch.len() {
            for (column, &value) in batch.values(row).iter().enumerate() {
                let sum = self.sums.entry((batch.profile, column)).or_default();
                sum.0 += 1;
                sum.1 += i128::from(value);
            }
        }
        Flow::Continue(())
    }

    fn forget(&mut self, strings: &[StringId]) {
        self.tables.drop_strings(strings);
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}
