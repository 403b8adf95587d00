//! Entries and exits: spans by thread and ticket.

use traceloom_model::bounds::row_number;
use traceloom_model::{
    Attribute, Flow, Origin, SpanId, SpanRow, SpanStatus, TrackId, Unit, Value, ValueType,
    ValueTypeId,
};

use super::Lowering;
use crate::tptp::call::Call;

/// How far down the stack an exit looks for its entry.
pub(super) const SEARCH: usize = 4096;

#[derive(Clone, Copy, Debug)]
pub(super) struct EnteredCall {
    pub(super) id: SpanId,
    pub(super) ticket: u64,
    pub(super) method: u64,
    pub(super) class: u64,
    pub(super) object: u64,
    pub(super) start: i64,
    pub(super) cpu: u64,
    pub(super) offset: u64,
}

impl Lowering<'_> {
    #[inline]
    pub(super) fn entry(&mut self, call: &Call, offset: u64) -> Flow {
        let start = self.now(call.time, offset);
        let (open, limit) = (self.calls.open, self.limit_open);
        let (depth, part, only) = (self.limit_depth, self.part, self.only);
        let id = self.tables.reserve_span();
        let at = self.thread_at(call.thread);
        let Some(thread) = self.calls.thread(at) else {
            return Flow::Continue(());
        };
        if open >= limit || thread.open.len() >= depth {
            thread.dropped += 1;
            if std::mem::replace(&mut self.calls.crowded, true) {
                return Flow::Continue(());
            }
            let (kind, text) = if open >= limit {
                (
                    "limit_open_spans",
                    "too many calls are open: further ones are left out",
                )
            } else {
                (
                    "limit_depth",
                    "calls are nested too deeply: inner ones are left out",
                )
            };
            return self.limit(kind, offset, text);
        }
        if thread.open.is_empty() {
            thread.keep = only.is_none_or(|only| only.part == part && only.offset == offset);
        }
        thread.last = thread.last.max(start);
        thread.open.push(EnteredCall {
            id,
            ticket: call.ticket,
            method: call.method,
            class: call.class,
            object: call.object,
            start,
            cpu: call.cpu,
            offset,
        });
        self.calls.open += 1;
        Flow::Continue(())
    }

    #[inline]
    pub(super) fn exit(&mut self, call: &Call, offset: u64) -> Flow {
        let end = self.now(call.time, offset);
        let at = self.thread_at(call.thread);
        let Some(thread) = self.calls.thread(at) else {
            return Flow::Continue(());
        };
        let matches = |open: &&EnteredCall| {
            open.ticket == call.ticket
                && (call.ticket != 0 || call.method == 0 || open.method == call.method)
        };
        let above = thread
            .open
            .iter()
            .rev()
            .take(SEARCH)
            .position(|open| matches(&open));
        let Some(above) = above else {
            if thread.dropped > 0 {
                thread.dropped -= 1;
                return Flow::Continue(());
            }
            return self.exit_alone(at, call, end, offset);
        };
        // Calls above it ended without telling.
        for _ in 0..above {
            self.close(at, SpanStatus::PartialEnd, end, 0)?;
        }
        self.close(at, SpanStatus::Complete, end, call.cpu)
    }

    /// Closes the innermost open call of a thread.
    #[inline]
    pub(super) fn close(&mut self, at: usize, status: SpanStatus, end: i64, cpu: u64) -> Flow {
        let thread = self.calls.thread(at);
        let Some((thread, open)) =
            thread.and_then(|thread| thread.open.pop().map(|open| (thread, open)))
        else {
            return Flow::Continue(());
        };
        let parent = thread.open.last().map(|parent| parent.id);
        let depth = row_number(thread.open.len());
        let (track, keep) = (thread.track, thread.keep);
        // Siblings must not overlap, whatever a clock that jumps says.
        let end = end.max(open.start).max(if status == SpanStatus::Complete {
            i64::MIN
        } else {
            thread.last
        });
        thread.last = thread.last.max(end);
        self.calls.open -= 1;
        self.span(
            &open,
            (parent, depth, track, keep),
            (status, open.start, end),
            cpu,
        )
    }

    /// An exit whose entry was not recorded begins where its thread was last seen.
    fn exit_alone(&mut self, at: usize, call: &Call, end: i64, offset: u64) -> Flow {
        let (part, only) = (self.part, self.only);
        let id = self.tables.reserve_span();
        let Some(thread) = self.calls.thread(at) else {
            return Flow::Continue(());
        };
        let start = thread.last.min(end);
        let parent = thread.open.last().map(|parent| parent.id);
        let depth = row_number(thread.open.len());
        let keep = if parent.is_some() {
            thread.keep
        } else {
            only.is_none_or(|only| only.part == part && only.offset == offset)
        };
        let place = (parent, depth, thread.track, keep);
        thread.last = thread.last.max(end);
        let open = EnteredCall {
            id,
            ticket: call.ticket,
            method: call.method,
            class: call.class,
            object: call.object,
            start,
            cpu: 0,
            offset,
        };
        self.span(
            &open,
            place,
            (SpanStatus::PartialStart, start, end),
            call.cpu,
        )
    }

    fn span(
        &mut self,
        open: &EnteredCall,
        (parent, depth, track, keep): (Option<SpanId>, u32, TrackId, bool),
        (status, start, end): (SpanStatus, i64, i64),
        cpu: u64,
    ) -> Flow {
        if !keep {
            return Flow::Continue(());
        }
        self.room()?;
        let function = self
            .names
            .method_of(&mut self.tables, open.method, open.class);
        let mut counters = [(ValueTypeId::new(0), 0); 2];
        let mut n_counters = 0;
        if cpu != 0 || open.cpu != 0 {
            let (at_exit, at_entry) = self.cpu_counters();
            for (counter, ticks) in [(at_exit, cpu), (at_entry, open.cpu)] {
                if ticks != 0
                    && let Some(slot) = counters.get_mut(n_counters)
                {
                    *slot = (counter, self.ticks.amount(ticks, open.offset));
                    n_counters += 1;
                }
            }
        }
        let row = SpanRow {
            id: open.id,
            parent,
            depth,
            track,
            function: Some(function),
            kind: None,
            start,
            end,
            status,
            entry: parent.is_none(),
            counters: counters.get(..n_counters).unwrap_or_default(),
            attributes: &[],
            exception: None,
            context: None,
            origin: Some(Origin {
                part: self.part,
                offset: open.offset,
                index: 0,
            }),
        };
        let (tables, key) = (&mut self.tables, &mut self.calls.object_key);
        self.batches.spans.push_made(&row, |attributes| {
            if open.object != 0 {
                let key = *key.get_or_insert_with(|| tables.attribute_named("object"));
                attributes.push(Attribute::new(key, Value::U64(open.object)));
            }
        });
        Flow::Continue(())
    }

    fn cpu_counters(&mut self) -> (ValueTypeId, ValueTypeId) {
        let tables = &mut self.tables;
        *self.calls.counters.get_or_insert_with(|| {
            let mut counter = |name| {
                let name = tables.string(name);
                tables.value_type(ValueType::sum(name, Unit::Nanoseconds))
            };
            (
                counter("thread_cpu_time"),
                counter("thread_cpu_time_at_entry"),
            )
        })
    }
}
