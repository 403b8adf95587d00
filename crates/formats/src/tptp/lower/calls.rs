//! Entries and exits: spans by thread and ticket.

use traceloom_model::{
    Attribute, Flow, Origin, SpanId, SpanRow, SpanStatus, TrackId, Unit, Value, ValueType,
    ValueTypeId,
};

use super::Lowering;
use super::names::either;
use super::threads::{Key, key};
use crate::tptp::message::{Message, Slot};
use crate::tptp::table::Layout;

/// How far down the stack an exit looks for its entry.
pub(super) const SEARCH: usize = 4096;

#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) id: SpanId,
    pub(super) ticket: u64,
    pub(super) method: u64,
    pub(super) class: u64,
    pub(super) object: u64,
    pub(super) start: i64,
    pub(super) cpu: u64,
    pub(super) offset: u64,
}

/// What an entry and an exit say, from the places where the table has them.
struct Step {
    thread: Key,
    time: u64,
    ticket: u64,
    method: u64,
    class: u64,
    object: u64,
    cpu: u64,
}

impl Step {
    fn of(message: &Message<'_>) -> Self {
        if message.layout == Layout::Wide {
            return Self {
                thread: key(
                    message.number("threadIdRef"),
                    message.number("transientThreadIdRef"),
                ),
                time: message.number("time"),
                ticket: message.number("ticket"),
                method: message.number("methodIdRef"),
                class: either(
                    message.number("classIdRef"),
                    message.number("transientClassIdRef"),
                ),
                object: either(
                    message.number("objIdRef"),
                    message.number("transientObjIdRef"),
                ),
                cpu: message.number("threadCpuTime"),
            };
        }
        let at = |place: usize| match message.values.get(place) {
            Some(Slot::Number(number)) => *number,
            _ => 0,
        };
        let thread = key(at(1), at(0));
        if message.schema.id == 1015 {
            Self {
                thread,
                time: at(2),
                ticket: at(4),
                method: at(3),
                class: at(6),
                object: at(5),
                cpu: at(7),
            }
        } else {
            Self {
                thread,
                time: at(2),
                ticket: at(3),
                method: at(5),
                class: either(at(9), at(8)),
                object: either(at(7), at(6)),
                cpu: at(4),
            }
        }
    }
}

impl Lowering<'_> {
    pub(super) fn method_entry(&mut self, message: &Message<'_>, offset: u64) -> Flow {
        let step = Step::of(message);
        let start = self.now(step.time, offset);
        let (open, limit) = (self.calls.open, self.limit_open);
        let (depth, part, only) = (self.limit_depth, self.part, self.only);
        let id = self.tables.reserve_span();
        let thread = self.thread(step.thread);
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
        thread.open.push(Open {
            id,
            ticket: step.ticket,
            method: step.method,
            class: step.class,
            object: step.object,
            start,
            cpu: step.cpu,
            offset,
        });
        self.calls.open += 1;
        Flow::Continue(())
    }

    pub(super) fn method_exit(&mut self, message: &Message<'_>, offset: u64) -> Flow {
        let step = Step::of(message);
        let end = self.now(step.time, offset);
        let thread = self.thread(step.thread);
        let matches = |open: &&Open| {
            open.ticket == step.ticket
                && (step.ticket != 0 || step.method == 0 || open.method == step.method)
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
            return self.exit_alone(&step, end, offset);
        };
        // Calls above it ended without telling.
        for _ in 0..above {
            self.close(step.thread, SpanStatus::PartialEnd, end, 0)?;
        }
        self.close(step.thread, SpanStatus::Complete, end, step.cpu)
    }

    /// Closes the innermost open call of a thread.
    pub(super) fn close(&mut self, key: Key, status: SpanStatus, end: i64, cpu: u64) -> Flow {
        let thread = self.thread(key);
        let Some(open) = thread.open.pop() else {
            return Flow::Continue(());
        };
        let parent = thread.open.last().map(|parent| parent.id);
        let depth = u32::try_from(thread.open.len()).unwrap_or(u32::MAX);
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
    fn exit_alone(&mut self, step: &Step, end: i64, offset: u64) -> Flow {
        let (part, only) = (self.part, self.only);
        let id = self.tables.reserve_span();
        let thread = self.thread(step.thread);
        let start = thread.last.min(end);
        let parent = thread.open.last().map(|parent| parent.id);
        let depth = u32::try_from(thread.open.len()).unwrap_or(u32::MAX);
        let keep = if parent.is_some() {
            thread.keep
        } else {
            only.is_none_or(|only| only.part == part && only.offset == offset)
        };
        let place = (parent, depth, thread.track, keep);
        thread.last = thread.last.max(end);
        let open = Open {
            id,
            ticket: step.ticket,
            method: step.method,
            class: step.class,
            object: step.object,
            start,
            cpu: 0,
            offset,
        };
        self.span(
            &open,
            place,
            (SpanStatus::PartialStart, start, end),
            step.cpu,
        )
    }

    fn span(
        &mut self,
        open: &Open,
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
        let attribute = (open.object != 0).then(|| {
            let tables = &mut self.tables;
            let key = *self
                .calls
                .object_key
                .get_or_insert_with(|| tables.attribute_named("object"));
            Attribute::new(key, Value::U64(open.object))
        });
        self.batches.spans.push(&SpanRow {
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
            attributes: attribute.as_slice(),
            exception: None,
            context: None,
            origin: Some(Origin {
                part: self.part,
                offset: open.offset,
                index: 0,
            }),
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
