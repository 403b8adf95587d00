//! Spans to entries and exits.

use traceloom_model::{
    AttrKeyId, Flow, Order, SpanBatch, SpanRow, SpanStatus, TrackId, Value, ValueTypeId,
};

use super::order::{Brief, Rank};
use super::tree::{RareSpanFacts, SpanForest, SpanNode};
use super::{Writer, schema, ticks};
use crate::codec::ById;
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

/// A span that is being written, and its number on its thread.
struct TicketedSpan {
    at: u32,
    ticket: u64,
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
            let told = self.told(&row);
            let track = row.track;
            let pending = &mut self.threads.of(track).pending;
            pending.push(SpanNode::of(&row), told);
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

    /// Takes of a span what few tell.
    #[inline]
    fn told(&mut self, row: &SpanRow<'_>) -> RareSpanFacts {
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
        let mut tree = std::mem::take(&mut self.threads.of(track).pending);
        let roots = tree.roots();
        let mut flow = Flow::Continue(());
        for &root in &roots {
            flow = self.tree(track, &tree, root);
            if flow.is_break() {
                break;
            }
        }
        tree.clear(roots);
        self.threads.of(track).pending = tree;
        flow
    }

    fn tree(&mut self, track: TrackId, tree: &SpanForest, root: u32) -> Flow {
        let mut open = std::mem::take(&mut self.spans.open);
        let mut next = Some(root);
        loop {
            if let Some(at) = next {
                let depth = open.len() as u64 + 1;
                let ticket = match tree.node(at) {
                    Some(node) => self.enter(track, (node, tree.told(node)), depth),
                    None => 0,
                };
                open.push(TicketedSpan { at, ticket });
                next = tree.child(at);
            } else {
                let Some(TicketedSpan { at, ticket }) = open.pop() else {
                    self.spans.open = open;
                    return Flow::Continue(());
                };
                if let Some(node) = tree.node(at) {
                    self.exit(track, (node, tree.told(node)), ticket);
                }
                next = tree.next(at);
            }
            self.flush()?;
        }
    }

    /// Returns an entry or exit as the numbers it is made of, where these are all there is to it.
    #[inline]
    fn brief(&self, node: &SpanNode, ticket: u64, depth: u64) -> Option<Brief> {
        if self.emit.is_xml() || node.tells() {
            return None;
        }
        let method = match node.function {
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
    fn enter(
        &mut self,
        track: TrackId,
        (node, told): (&SpanNode, RareSpanFacts),
        depth: u64,
    ) -> u64 {
        let thread = self.thread(track, node.start);
        let (method, class) = node
            .function
            .map_or((0, 0), |function| self.method(function));
        let own = self.threads.of(track);
        own.tickets += 1;
        let ticket = own.tickets;
        if node.status == SpanStatus::PartialStart {
            return ticket;
        }
        let time = own.in_order(node.start);
        if time == node.start
            && let Some(brief) = self.brief(node, ticket, depth)
        {
            self.waiting.push_brief(track, time, brief);
            return ticket;
        }
        let numbers = [
            thread,
            self.time(node.start),
            method,
            ticket,
            class,
            told.cpu_at_entry,
            told.object,
            depth,
        ];
        let (form, emit) = (&self.spans.entry, &mut self.emit);
        self.waiting
            .push(time, Rank::Happens, |out| form.write(emit, numbers, out));
        ticket
    }

    #[inline]
    fn exit(&mut self, track: TrackId, (node, told): (&SpanNode, RareSpanFacts), ticket: u64) {
        if node.status == SpanStatus::PartialEnd {
            return;
        }
        let time = self.threads.of(track).in_order(node.end);
        // Its entry told of the thread and the method.
        if time == node.end
            && let Some(brief) = self.brief(node, ticket, 0)
        {
            return self.waiting.push_brief(track, time, brief);
        }
        let thread = self.thread(track, node.start);
        let (method, class) = node
            .function
            .map_or((0, 0), |function| self.method(function));
        let numbers = [
            thread,
            self.time(node.end),
            ticket,
            method,
            class,
            told.cpu,
            told.object,
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
