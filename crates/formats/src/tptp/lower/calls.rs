//! Entries and exits: spans by thread and ticket, and aggregated call trees.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    Attribute, Flow, Merge, Origin, Profile, SampleBatch, SampleRow, Scope, SpanId, SpanRow,
    SpanStatus, Stack, StackId, Track, TrackId, Unit, Value, ValueType, ValueTypeId,
};

use super::names::{Names, either};
use super::{Lowering, Visit as _};
use crate::tptp::message::{Message, Slot};
use crate::tptp::table::Layout;
use crate::warn;

/// How far down the stack an exit looks for its entry.
const SEARCH: usize = 4096;

/// A thread by the id that does not move, or by the one that may: those numbers are no relatives.
type Key = (bool, u64);

#[derive(Debug, Default)]
pub(super) struct Calls {
    threads: HashMap<Key, Thread, RandomState>,
    open: usize,
    now: i64,
    columns: Option<Columns>,
    counters: Option<(ValueTypeId, ValueTypeId)>,
    object_key: Option<traceloom_model::AttrKeyId>,
    crowded: bool,
}

#[derive(Debug)]
struct Thread {
    track: TrackId,
    /// Nothing named it yet.
    nameless: bool,
    open: Vec<Open>,
    /// Entries left out because of a limit, whose exits are still to come.
    dropped: u64,
    /// The call that is open is wanted.
    keep: bool,
    last: i64,
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    id: SpanId,
    ticket: u64,
    method: u64,
    class: u64,
    object: u64,
    start: i64,
    cpu: u64,
    offset: u64,
}

/// An aggregated node that is not closed.
#[derive(Clone, Copy, Debug)]
struct Node {
    stack: StackId,
    method: u64,
    values: [i64; 6],
}

#[derive(Clone, Copy, Debug)]
struct Columns {
    profile: traceloom_model::ProfileId,
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

fn key(fixed: u64, transient: u64) -> Key {
    if fixed != 0 {
        (true, fixed)
    } else {
        (false, transient)
    }
}

impl Lowering<'_> {
    pub(super) fn now(&mut self, ticks: u64, offset: u64) -> i64 {
        if ticks != 0 {
            self.calls.now = self.ticks.time(ticks, offset);
        }
        self.calls.now
    }

    /// The thread of a message that refers to one, none when its ids are 0.
    pub(super) fn track_of(&mut self, message: &Message<'_>) -> Option<TrackId> {
        let key = key(
            message.number("threadIdRef"),
            message.number("transientThreadIdRef"),
        );
        (key.1 != 0).then(|| self.thread(key).track)
    }

    pub(super) fn track_by_id(&mut self, id: u64) -> Option<TrackId> {
        (id != 0).then(|| self.thread((true, id)).track)
    }

    fn thread(&mut self, key: Key) -> &mut Thread {
        let Self {
            calls,
            tables,
            producers,
            ..
        } = self;
        let now = calls.now;
        calls.threads.entry(key).or_insert_with(|| Thread {
            track: tables.new_track(Track {
                resource: producers.current,
                id: Some(key.1),
                ..Track::default()
            }),
            nameless: true,
            open: Vec::new(),
            dropped: 0,
            keep: true,
            last: now,
            nodes: Vec::new(),
        })
    }

    /// A thread begins. An id that named a thread before names another one from here on.
    pub(super) fn thread_start(&mut self, message: &Message<'_>) {
        let key = key(
            message.number("threadId"),
            message.number("transientThreadId"),
        );
        let name = message.text("threadName");
        let name = (!name.is_empty()).then(|| self.tables.string(&name));
        self.now(message.number("time"), 0);
        let row = Track {
            resource: self.producers.current,
            name,
            id: Some(key.1),
            ..Track::default()
        };
        if self
            .calls
            .threads
            .get(&key)
            .is_some_and(|thread| !thread.nameless)
        {
            // A reader of damaged data may have missed the end of the thread before.
            let _ = self.close_thread(key);
            self.calls.threads.remove(&key);
        }
        let track = {
            let thread = self.thread(key);
            thread.nameless = false;
            thread.track
        };
        self.tables.redefine_track(track, row);
    }

    pub(super) fn thread_end(&mut self, message: &Message<'_>) -> Flow {
        let key = key(
            message.number("threadIdRef"),
            message.number("transientThreadIdRef"),
        );
        let now = self.now(message.number("time"), 0);
        if let Some(thread) = self.calls.threads.get_mut(&key) {
            thread.last = thread.last.max(now);
        }
        self.close_thread(key)
    }

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
    fn close(&mut self, key: Key, status: SpanStatus, end: i64, cpu: u64) -> Flow {
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

    fn close_thread(&mut self, key: Key) -> Flow {
        let Some(thread) = self.calls.threads.get_mut(&key) else {
            return Flow::Continue(());
        };
        thread.dropped = 0;
        let (calls, last) = (thread.open.len(), thread.last);
        for _ in 0..calls {
            self.close(key, SpanStatus::PartialEnd, last, 0)?;
        }
        while self.thread(key).nodes.last().is_some() {
            self.close_node(key);
            if self.batches.full() {
                self.flush()?;
            }
        }
        Flow::Continue(())
    }

    pub(super) fn end_calls(&mut self) -> Flow {
        let mut keys: Vec<Key> = self.calls.threads.keys().copied().collect();
        keys.sort_unstable();
        let now = self.calls.now;
        for key in keys {
            if let Some(thread) = self.calls.threads.get_mut(&key)
                && !thread.open.is_empty()
            {
                thread.last = thread.last.max(now);
            }
            self.close_thread(key)?;
        }
        self.calls.threads.clear();
        Flow::Continue(())
    }

    pub(super) fn ag_entry(&mut self, message: &Message<'_>, offset: u64) -> Flow {
        let key = key(message.number("threadIdRef"), 0);
        let method = message.number("methodIdRef");
        let function = self.names.method_of(&mut self.tables, method, 0);
        let frame = Names::frame(&mut self.tables, function, 0);
        let mut amount = |attribute| self.ticks.amount(message.number(attribute), offset);
        let base = amount("baseTime");
        let values = [
            base,
            base,
            amount("minTime"),
            amount("maxTime"),
            amount("baseCPUTime"),
            i64::try_from(message.number("numCalls")).unwrap_or(i64::MAX),
        ];
        let limit = self.limit_depth;
        let thread = self.thread(key);
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
        self.thread(key).nodes.push(Node {
            stack,
            method,
            values,
        });
        Flow::Continue(())
    }

    pub(super) fn ag_exit(&mut self, message: &Message<'_>, offset: u64) -> Flow {
        let key = key(message.number("threadIdRef"), 0);
        let method = message.number("methodIdRef");
        let nodes = self.thread(key).nodes.iter().rev().take(SEARCH);
        let Some(above) = nodes
            .map(|node| node.method)
            .position(|open| open == method)
        else {
            let text = format!("the aggregated node of method {method} that ends here never began");
            return self.note(warn("exit_without_entry", offset, text));
        };
        for _ in 0..=above {
            self.close_node(key);
            if self.batches.full() {
                self.flush()?;
            }
        }
        Flow::Continue(())
    }

    /// Closes the innermost aggregated node: its cumulative time is known only here.
    fn close_node(&mut self, key: Key) {
        let thread = self.thread(key);
        let Some(node) = thread.nodes.pop() else {
            return;
        };
        let cumulative = node.values[1];
        if let Some(parent) = thread.nodes.last_mut() {
            parent.values[1] = parent.values[1].saturating_add(cumulative);
        }
        let track = thread.track;
        let Columns { profile } = self.columns();
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

    fn columns(&mut self) -> Columns {
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
            Columns { profile }
        })
    }
}
