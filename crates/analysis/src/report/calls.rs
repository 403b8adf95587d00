//! The calls of a recording: the slowest of them, and how many there are of each length.

use std::collections::HashMap;

use traceloom_model::bounds::saturated_i64;
use traceloom_model::{
    Asks, Clock, Definitions, EventBatch, Flow, Note, Order, Sink, SpanBatch, SpanStatus, StringId,
    TrackId, Wants,
};

use super::findings::{Findings, STEPS, SlowCall, Thread};
use crate::calls::{Call, CallQuery, CallTable, Calls, Cell, Column};
use crate::calltree::thread_name;
use crate::filter::{CallOfRow, CallView as _, Selection};
use crate::text::track_name;
use crate::{MeasureUnit, amount, grouped};

/// Looks at every call, as the list of calls does.
#[derive(Debug)]
pub struct CallCollector {
    calls: CallTable,
    found: Findings,
    tracks: HashMap<TrackId, Thread>,
}

impl CallCollector {
    /// Starts with nothing; of the slowest of the selected calls `most` are kept.
    #[must_use]
    pub fn new(selection: Selection, most: usize) -> Self {
        let query = CallQuery {
            selection,
            sort: Some((Column::Duration, true)),
            limit: Some(most),
            ..CallQuery::default()
        };
        Self {
            calls: CallTable::new(query),
            found: Findings::default(),
            tracks: HashMap::new(),
        }
    }

    /// Returns what was found; `id` tells the input of a call and what it is found by there.
    #[must_use]
    pub fn finish(mut self, id: impl Fn(&Call) -> (String, String)) -> Findings {
        for (track, thread) in self.tracks {
            let name = thread_name(self.calls.tables(), track).into_owned();
            self.found.thread(name, thread);
        }
        let calls = self.calls.finish();
        (self.found.read, self.found.selected) = (calls.counts.read, calls.counts.selected);
        let columns = calls.columns();
        let of = |call| slow(&calls, call, &columns, id(call));
        self.found.calls = calls.rows.iter().map(of).collect();
        self.found.cut();
        self.found
    }
}

/// Returns `true` for a call whose start or end was not recorded: how long it took is not known.
const fn is_partial(status: SpanStatus) -> bool {
    matches!(status, SpanStatus::PartialStart | SpanStatus::PartialEnd)
}

fn slow(calls: &Calls, call: &Call, columns: &[Column], id: (String, String)) -> SlowCall {
    const OWN: [Column; 7] = [
        Column::Start,
        Column::End,
        Column::Duration,
        Column::Thread,
        Column::Title,
        Column::Method,
        Column::Error,
    ];
    let method = call.function.map(|id| calls.tables.function_name(id));
    let method = method.map_or_else(String::new, |name| name.into_owned());
    let title = match calls.cell(call, &Column::Title) {
        Cell::Text(text) => text.into_owned(),
        _ => method.clone(),
    };
    let others = columns.iter().filter(|column| !OWN.contains(column));
    let details = others.filter_map(|column| {
        let text = match calls.cell(call, column) {
            Cell::None => return None,
            Cell::Time(ns) => ns.to_string(),
            Cell::Nanoseconds(ns) => amount(&MeasureUnit::Nanoseconds, ns),
            Cell::Bytes(bytes) => amount(&MeasureUnit::Bytes, bytes),
            Cell::Number(number) if number >= 0 => grouped(number.unsigned_abs()),
            Cell::Number(number) => number.to_string(),
            Cell::Bool(yes) => yes.to_string(),
            Cell::Text(text) => text.into_owned(),
        };
        (text != title).then(|| (column.name().to_owned(), text))
    });
    SlowCall {
        details: details.collect(),
        start: call.start,
        duration: call.duration(),
        thread: track_name(&calls.tables, call.track).into_owned(),
        failed: call.failed(),
        title,
        method,
        id,
    }
}

impl Sink for CallCollector {
    fn asks(&self) -> Asks {
        Asks {
            wants: Wants::Calls,
            derived_samples: false,
            timeless_stacks: false,
            ..Asks::default()
        }
    }

    fn begin(&mut self, order: Order, clock: Clock) {
        self.calls.begin(order, clock);
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.calls.define(definitions)
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        for row in batch.calls() {
            if !self.calls.accepts(&row) {
                continue;
            }
            self.found.seen(row.start, row.end);
            self.found.failed += u64::from(CallOfRow::new(self.calls.tables(), &row).failed());
            if !is_partial(row.status) {
                let took = saturated_i64(row.duration());
                self.found.took.add(took);
            }
            let step = STEPS.partition_point(|&step| step < row.duration());
            if let Some(count) = self.found.durations.get_mut(step) {
                *count += 1;
            }
            let thread = self.tracks.entry(row.track).or_default();
            thread.calls += 1;
            thread.busy = thread.busy.saturating_add(row.duration());
        }
        self.calls.spans(batch)
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        self.calls.events(batch)
    }

    fn forget(&mut self, strings: &[StringId]) {
        self.calls.forget(strings);
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}
