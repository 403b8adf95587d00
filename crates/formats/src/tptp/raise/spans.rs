//! Spans to entries and exits.

use std::collections::HashMap;

use traceloom_model::{Flow, Order, SpanBatch, SpanId, SpanRow, SpanStatus, TrackId, Value};

use super::order::Rank;
use super::{Raising, schema, ticks};
use crate::tptp::message::Draft;

/// Spans whose call is not complete, by track.
#[derive(Default)]
pub(super) struct Spans {
    pending: HashMap<TrackId, SpanBatch>,
    tickets: HashMap<TrackId, u64>,
    /// The latest time on each track: what is nested stays so, whatever its times say.
    latest: HashMap<TrackId, i64>,
}

enum Visit {
    Enter(usize),
    Exit(usize, u64),
}

impl Raising<'_> {
    pub(super) fn take_spans(&mut self, batch: &SpanBatch) -> Flow {
        for row in batch.iter() {
            let done = self.order == Order::Nested && row.parent.is_none();
            self.spans.pending.entry(row.track).or_default().push(&row);
            if done {
                let call = self.spans.pending.remove(&row.track).unwrap_or_default();
                self.call(row.track, &call)?;
            }
        }
        Flow::Continue(())
    }

    pub(super) fn finish_spans(&mut self) -> Flow {
        let mut pending: Vec<_> = self.spans.pending.drain().collect();
        pending.sort_unstable_by_key(|(track, _)| *track);
        for (track, spans) in pending {
            self.call(track, &spans)?;
        }
        Flow::Continue(())
    }

    /// Writes the spans of one track in nested order.
    fn call(&mut self, track: TrackId, spans: &SpanBatch) -> Flow {
        let place: HashMap<SpanId, usize> =
            (0..).zip(&spans.id).map(|(at, id)| (*id, at)).collect();
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); spans.len()];
        let mut roots = Vec::new();
        for (at, parent) in spans.parent.iter().enumerate() {
            let parent = parent
                .and_then(|parent| place.get(&parent))
                .filter(|&&parent| parent != at);
            match parent.and_then(|&parent| children.get_mut(parent)) {
                Some(siblings) => siblings.push(at),
                None => roots.push(at),
            }
        }
        let start = |at: &usize| spans.start.get(*at).copied();
        roots.sort_by_key(start);
        let mut todo: Vec<Visit> = roots.into_iter().rev().map(Visit::Enter).collect();
        let mut depth = 0;
        while let Some(visit) = todo.pop() {
            match visit {
                Visit::Enter(at) => {
                    let Some(row) = spans.row(at) else {
                        continue;
                    };
                    depth += 1;
                    let ticket = self.enter(track, &row, depth);
                    todo.push(Visit::Exit(at, ticket));
                    let mut inner = children.get_mut(at).map(std::mem::take).unwrap_or_default();
                    inner.sort_by_key(start);
                    todo.extend(inner.into_iter().rev().map(Visit::Enter));
                }
                Visit::Exit(at, ticket) => {
                    depth -= 1;
                    if let Some(row) = spans.row(at) {
                        self.exit(track, &row, ticket);
                    }
                }
            }
            self.flush()?;
        }
        Flow::Continue(())
    }

    fn enter(&mut self, track: TrackId, row: &SpanRow<'_>, depth: u64) -> u64 {
        let thread = self.thread(track, row.start);
        let (method, class) = row
            .function
            .map_or((0, 0), |function| self.method(function));
        let ticket = self.spans.tickets.entry(track).or_default();
        *ticket += 1;
        let ticket = *ticket;
        if row.status == SpanStatus::PartialStart {
            return ticket;
        }
        let draft = Draft::new(schema(1015))
            .number("threadIdRef", thread)
            .number("time", self.time(row.start));
        let draft = draft
            .number("methodIdRef", method)
            .number("ticket", ticket)
            .number("classIdRef", class);
        let draft = draft.number(
            "threadCpuTime",
            self.counter(row, "thread_cpu_time_at_entry"),
        );
        let draft = draft.number("transientObjIdRef", self.object_of(row));
        let time = self.in_order(track, row.start);
        self.put(time, Rank::Happens, &draft.number("stackDepth", depth));
        ticket
    }

    fn exit(&mut self, track: TrackId, row: &SpanRow<'_>, ticket: u64) {
        if row.status == SpanStatus::PartialEnd {
            return;
        }
        let thread = self.thread(track, row.start);
        let (method, class) = row
            .function
            .map_or((0, 0), |function| self.method(function));
        let draft = Draft::new(schema(1016))
            .number("threadIdRef", thread)
            .number("time", self.time(row.end));
        let draft = draft
            .number("ticket", ticket)
            .number("methodIdRef", method)
            .number("classIdRef", class);
        let draft = draft.number("threadCpuTime", self.counter(row, "thread_cpu_time"));
        let time = self.in_order(track, row.end);
        let draft = draft.number("objIdRef", self.object_of(row));
        self.put(time, Rank::Happens, &draft);
    }

    fn in_order(&mut self, track: TrackId, time: i64) -> i64 {
        let latest = self.spans.latest.entry(track).or_insert(time);
        *latest = time.max(*latest);
        *latest
    }

    fn counter(&self, row: &SpanRow<'_>, name: &str) -> u64 {
        let named = |id| {
            let value_type = self.tables.value_type(id);
            value_type.is_some_and(|value_type| self.tables.text(value_type.name) == name)
        };
        let found = row.counters.iter().find(|(id, _)| named(*id));
        found.map_or(0, |(_, value)| ticks(*value))
    }

    fn object_of(&self, row: &SpanRow<'_>) -> u64 {
        let mut objects = row
            .attributes
            .iter()
            .filter_map(|attribute| match attribute.value {
                Value::U64(object) => {
                    let key = self.tables.attribute_key(attribute.key)?;
                    (self.tables.text(key.name) == "object").then_some(object)
                }
                _ => None,
            });
        objects.next().unwrap_or(0)
    }
}
