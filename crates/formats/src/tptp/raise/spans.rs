//! Spans to entries and exits.

use traceloom_model::{
    AttrKeyId, Flow, Order, SpanBatch, SpanRow, SpanStatus, TrackId, Value, ValueTypeId,
};

use super::order::{Brief, Rank};
use super::tree::{EntryExit, RareSpanFacts};
use super::{Writer, schema, ticks};
use crate::codec::ById;
use crate::spans::parents_first::{Children, ParentLists};
use crate::tptp::emit::{Fixed, MessageEmitter};

/// The two messages that nearly all of a trace consists of, and what their fields are read from.
pub(super) struct EntryExitTemplates {
    entry: Fixed<8>,
    exit: Fixed<7>,
    /// Those that waited as what they are made of.
    brief_entry: Fixed<6>,
    brief_exit: Fixed<5>,
    /// Which of the times is meant by a counter, for those that were seen.
    counters: ById<TicketCounter>,
    /// Whether an attribute is the object, for those that were seen.
    objects: ById<bool>,
    /// The spans around what is written, kept for the next call.
    open: Vec<TicketedSpan>,
}

/// A span that is being written, its number on its thread, and the spans inside it that are still to be written.
struct TicketedSpan {
    span: EntryExit,
    ticket: u64,
    inside: Children,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TicketCounter {
    CpuAtEntry,
    Cpu,
    Other,
}

impl EntryExitTemplates {
    pub fn new(emit: &mut MessageEmitter) -> Self {
        let entry = [
            "threadIdRef",
            "time",
            "methodIdRef",
            "ticket",
            "classIdRef",
            "threadCpuTime",
            "transientObjIdRef",
            "stackDepth",
        ];
        let exit = [
            "threadIdRef",
            "time",
            "ticket",
            "methodIdRef",
            "classIdRef",
            "threadCpuTime",
            "objIdRef",
        ];
        let [thread, time, method, ticket, class, .., depth] = entry;
        let brief_entry = [thread, time, method, ticket, class, depth];
        let brief_exit = [thread, time, ticket, method, class];
        Self {
            entry: emit.fixed(schema(1015), entry),
            exit: emit.fixed(schema(1016), exit),
            brief_entry: emit.fixed(schema(1015), brief_entry),
            brief_exit: emit.fixed(schema(1016), brief_exit),
            counters: ById::default(),
            objects: ById::default(),
            open: Vec::new(),
        }
    }
}

impl Writer<'_> {
    pub(super) fn take_spans(&mut self, batch: &SpanBatch) -> Flow {
        for row in batch.iter() {
            let done = self.order == Order::Nested && row.parent.is_none();
            let span = EntryExit::of(&row, self.rare(&row));
            let track = row.track;
            self.threads.of(track).pending.push(row.parent, span);
            if done {
                self.call(track)?;
            }
        }
        Flow::Continue(())
    }

    pub(super) fn finish_spans(&mut self) -> Flow {
        for track in self.threads.all() {
            self.call(track)?;
        }
        Flow::Continue(())
    }

    /// Returns the values of a span that few have.
    #[inline]
    fn rare(&mut self, row: &SpanRow<'_>) -> RareSpanFacts {
        let (mut cpu_at_entry, mut cpu) = (None, None);
        for &(id, value) in row.counters {
            match self.counter(id) {
                TicketCounter::CpuAtEntry => cpu_at_entry = cpu_at_entry.or(Some(ticks(value))),
                TicketCounter::Cpu => cpu = cpu.or(Some(ticks(value))),
                TicketCounter::Other => {}
            }
        }
        let mut object = 0;
        for attribute in row.attributes {
            if let Value::U64(value) = attribute.value
                && self.is_object(attribute.key)
            {
                object = value;
                break;
            }
        }
        RareSpanFacts {
            cpu_at_entry: cpu_at_entry.unwrap_or(0),
            cpu: cpu.unwrap_or(0),
            object,
        }
    }

    fn counter(&mut self, id: ValueTypeId) -> TicketCounter {
        if let Some(&known) = self.spans.counters.get(id.index()) {
            return known;
        }
        let Some(row) = self.tables.value_type(id) else {
            return TicketCounter::Other;
        };
        let counter = match self.tables.text(row.name).as_ref() {
            "thread_cpu_time_at_entry" => TicketCounter::CpuAtEntry,
            "thread_cpu_time" => TicketCounter::Cpu,
            _ => TicketCounter::Other,
        };
        self.spans.counters.put(id.index(), counter);
        counter
    }

    fn is_object(&mut self, id: AttrKeyId) -> bool {
        if let Some(&known) = self.spans.objects.get(id.index()) {
            return known;
        }
        let Some(key) = self.tables.attribute_key(id) else {
            return false;
        };
        let is = self.tables.text(key.name) == "object";
        self.spans.objects.put(id.index(), is);
        is
    }

    /// Writes the spans of one track in nested order.
    fn call(&mut self, track: TrackId) -> Flow {
        let mut pending = std::mem::take(&mut self.threads.of(track).pending);
        let mut flow = Flow::Continue(());
        for (root, inside) in pending.take_roots() {
            flow = self.tree(track, &mut pending.inner, root, inside);
            if flow.is_break() {
                break;
            }
        }
        pending.shrink();
        self.threads.of(track).pending = pending;
        flow
    }

    /// Writes a span and those inside it.
    fn tree(
        &mut self,
        track: TrackId,
        spans: &mut ParentLists<EntryExit>,
        root: EntryExit,
        mut inside: Children,
    ) -> Flow {
        let mut open = std::mem::take(&mut self.spans.open);
        let mut next = Some(root);
        loop {
            if let Some(span) = next.take() {
                let ticket = self.enter(track, &span, open.len() as u64 + 1);
                open.push(TicketedSpan {
                    span,
                    ticket,
                    inside,
                });
            } else if let Some(ended) = open.pop() {
                self.exit(track, &ended.span, ended.ticket);
            } else {
                self.spans.open = open;
                return Flow::Continue(());
            }
            let around = open.last_mut().map(|around| &mut around.inside);
            if let Some((span, own)) = around.and_then(|children| spans.take(children)) {
                (next, inside) = (Some(span), own);
            }
            self.flush()?;
        }
    }

    /// Returns an entry or exit as the numbers it is made of, where these are all there is to it.
    #[inline]
    fn brief(&self, span: &EntryExit, ticket: u64, depth: u64) -> Option<Brief> {
        if self.emit.is_xml() || span.rare.is_some() {
            return None;
        }
        let method = match span.function {
            Some(function) => function.raw().checked_add(1)?,
            None => 0,
        };
        Some(Brief {
            method,
            ticket: u32::try_from(ticket).ok()?,
            depth: u32::try_from(depth).ok()?,
        })
    }

    /// Writes an entry, and returns the number of the span on its thread.
    #[inline]
    fn enter(&mut self, track: TrackId, span: &EntryExit, depth: u64) -> u64 {
        let thread = self.thread(track, span.start);
        let (method, class) = span
            .function
            .map_or((0, 0), |function| self.method(function));
        let own = self.threads.of(track);
        own.tickets += 1;
        let ticket = own.tickets;
        if span.status == SpanStatus::PartialStart {
            return ticket;
        }
        let time = own.in_order(span.start);
        if time == span.start
            && let Some(brief) = self.brief(span, ticket, depth)
        {
            self.waiting.push_brief(track, time, brief);
            return ticket;
        }
        let rare = span.rare.as_deref().copied().unwrap_or_default();
        let numbers = [
            thread,
            self.time(span.start),
            method,
            ticket,
            class,
            rare.cpu_at_entry,
            rare.object,
            depth,
        ];
        let (form, emit) = (&self.spans.entry, &mut self.emit);
        self.waiting
            .push(time, Rank::Happens, |out| form.write(emit, numbers, out));
        ticket
    }

    #[inline]
    fn exit(&mut self, track: TrackId, span: &EntryExit, ticket: u64) {
        if span.status == SpanStatus::PartialEnd {
            return;
        }
        let time = self.threads.of(track).in_order(span.end);
        // Its entry told of the thread and the method.
        if time == span.end
            && let Some(brief) = self.brief(span, ticket, 0)
        {
            return self.waiting.push_brief(track, time, brief);
        }
        let thread = self.thread(track, span.start);
        let (method, class) = span
            .function
            .map_or((0, 0), |function| self.method(function));
        let rare = span.rare.as_deref().copied().unwrap_or_default();
        let numbers = [
            thread,
            self.time(span.end),
            ticket,
            method,
            class,
            rare.cpu,
            rare.object,
        ];
        let (form, emit) = (&self.spans.exit, &mut self.emit);
        self.waiting
            .push(time, Rank::Happens, |out| form.write(emit, numbers, out));
    }
}

impl EntryExitTemplates {
    /// Returns how many bytes an entry and an exit take.
    pub fn lens(&self) -> [usize; 2] {
        [self.entry.len(), self.exit.len()]
    }

    /// Writes an entry or exit that waited.
    #[inline]
    pub fn write(
        &self,
        brief: Brief,
        time: u64,
        (thread, class): (u64, u64),
        emit: &mut MessageEmitter,
        out: &mut Vec<u8>,
    ) {
        let (method, ticket) = (brief.method.into(), brief.ticket.into());
        if brief.depth == 0 {
            let numbers = [thread, time, ticket, method, class];
            return self.brief_exit.write(emit, numbers, out);
        }
        let numbers = [thread, time, method, ticket, class, brief.depth.into()];
        self.brief_entry.write(emit, numbers, out);
    }
}
