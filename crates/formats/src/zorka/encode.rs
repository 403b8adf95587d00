//! One trace in one generation's words.

mod attributes;
mod definitions;
mod exceptions;
mod known;
mod node;

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use traceloom_model::{
    Attribute, ExceptionId, Recording, SpanId, StringId, Value as ModelValue, ValueTypeId,
};

use super::dialect::{Generation, GenerationDialect};
use super::record::{Begin, End, EndForm, Item, Order, Start, StartForm};
use super::stream::TICK_NS;
use super::write;
use crate::Error;
use crate::spans::parents_first::{Children, PendingSpans};
use known::{AttributeRole, RowCache};
pub(crate) use node::PendingRecord;

/// The attribute that says the id of a trace where a stream has no other place for it (SPEC.md §8).
pub(crate) const TRACE_ID: &str = "trace.id";

/// Writes traces, numbering symbols and methods as they are used.
pub(crate) struct Encoder {
    dialect: GenerationDialect,
    definitions: Vec<u8>,
    trace: Vec<u8>,
    symbols: HashMap<Box<[u8]>, i64, RandomState>,
    /// Symbols of texts that are looked up often: keys and kinds.
    of_texts: HashMap<StringId, i64, RandomState>,
    known: RowCache,
    exceptions: HashMap<ExceptionId, i64, RandomState>,
    digits: Vec<u8>,
    /// Some attribute that came was set by another span.
    pub(crate) handed_up: bool,
    /// The trace id of what is being written, as far as it was said.
    said_trace: u128,
    /// The trace id that the header of a post says.
    pub(crate) header_trace: u128,
    /// The number of the last symbol.
    last_symbol: i64,
    /// Symbols are numbered above this.
    symbols_from: i64,
    /// Trace ids that no symbol may have as its number.
    reserved: HashSet<i64, RandomState>,
    /// The records that are being written, kept for the next trace.
    open: Vec<EncodingRecord>,
    /// Attributes that spans to come have.
    upward: Upward,
}

/// A record whose children are being written.
struct EncodingRecord {
    exception: Option<ExceptionId>,
    /// When it ended.
    finish: i64,
    /// Its flags, where they are told at the end.
    flags: Option<i64>,
    /// How many calls it says there were.
    counted: Option<u64>,
    /// Those of its children that are not written.
    children: Children,
    calls: u64,
}

/// An attribute on its way up.
struct Handed {
    /// The record that has it.
    to: SpanId,
    /// The type of that.
    kind: Option<StringId>,
    attribute: Attribute,
}

/// Attributes on their way up, by the record that says them.
type Upward = HashMap<SpanId, Vec<Handed>, RandomState>;

/// Name and number of the thread of a root that does not say them itself.
type Thread = (StringId, Option<u64>);

/// What attributes say of a trace that its source says otherwise.
#[derive(Clone, Copy)]
struct TraceOverrides {
    thread: Option<Thread>,
    trace: Option<u128>,
}

/// The words of B's symbol types.
mod symbol_type {
    pub(super) const PLAIN: i64 = 0;
    pub(super) const CLASS: i64 = 5;
    pub(super) const METHOD: i64 = 6;
    pub(super) const SIGNATURE: i64 = 8;
}

impl Encoder {
    pub(crate) fn new(dialect: GenerationDialect) -> Self {
        Self {
            dialect,
            definitions: Vec::new(),
            trace: Vec::new(),
            symbols: HashMap::default(),
            of_texts: HashMap::default(),
            known: RowCache::default(),
            exceptions: HashMap::default(),
            digits: Vec::new(),
            handed_up: false,
            said_trace: 0,
            header_trace: 0,
            last_symbol: 0,
            symbols_from: 0,
            reserved: HashSet::default(),
            open: Vec::new(),
            upward: Upward::default(),
        }
    }

    /// Returns the definitions that traces need and that were not handed out yet.
    pub(crate) fn take_definitions(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.definitions)
    }

    /// Appends a trace from its root and what is inside that, taking its spans out of `kept`, and before it the
    /// definitions that it needs.
    ///
    /// # Errors
    /// `Limit` when there are more methods than the generation can number.
    pub(crate) fn tree(
        &mut self,
        root: (PendingRecord, Children),
        kept: &mut PendingSpans<PendingRecord>,
        words: &Recording,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let start = out.len();
        let written = self.records(root, kept, words, out);
        if written.is_ok() && !self.definitions.is_empty() {
            // There are none for most traces.
            let len = self.definitions.len();
            out.append(&mut self.definitions);
            let own = out.get_mut(start..).unwrap_or_default();
            own.rotate_right(len);
        }
        written
    }

    /// Appends a trace without the definitions that it needs; nothing where it cannot be written.
    ///
    /// # Errors
    /// `Limit` when there are more methods than the generation can number.
    pub(crate) fn records(
        &mut self,
        root: (PendingRecord, Children),
        kept: &mut PendingSpans<PendingRecord>,
        words: &Recording,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let start = out.len();
        // Lent to the writers of its parts.
        self.trace = std::mem::take(out);
        let written = self.nested(root, kept, words);
        *out = std::mem::take(&mut self.trace);
        if written.is_err() {
            out.truncate(start);
        }
        written
    }

    fn nested(
        &mut self,
        (root, children): (PendingRecord, Children),
        kept: &mut PendingSpans<PendingRecord>,
        words: &Recording,
    ) -> Result<(), Error> {
        self.number_above_traces(&root);
        self.said_trace = self.header_trace;
        if !self.exceptions.is_empty() {
            self.exceptions.clear();
        }
        if !self.upward.is_empty() {
            self.upward = Upward::default();
        }
        self.take_upward(&root, kept);
        let thread = self.thread(&root, kept, words);
        let mut open = std::mem::take(&mut self.open);
        let mut next = ((root, children), thread);
        loop {
            let ((node, inner), thread) = next;
            let entered = self.enter((&node, inner), thread, kept, words)?;
            // Most have no children: they are written as a whole.
            let mut done = if entered.children.is_empty() {
                Some(entered)
            } else {
                open.push(entered);
                None
            };
            next = loop {
                let calls = done.map_or(0, |done| self.leave(&done, words));
                let Some(top) = open.last_mut() else {
                    self.open = open;
                    return Ok(());
                };
                top.calls = top.calls.saturating_add(calls);
                if let Some(child) = kept.waiting.take(&mut top.children) {
                    break (child, None);
                }
                done = open.pop();
            };
        }
    }

    fn enter(
        &mut self,
        (node, children): (&PendingRecord, Children),
        thread: Option<Thread>,
        kept: &mut PendingSpans<PendingRecord>,
        words: &Recording,
    ) -> Result<EncodingRecord, Error> {
        if self.dialect.upward && self.handed_up {
            let mut next = children;
            while let Some(child) = kept.waiting.peek(next) {
                self.take_upward(child, kept);
                next = kept.waiting.after(next);
            }
        }
        let method = self.method(node.function, words)?;
        self.start(node, method);
        let own = kept.attributes.of(node.own.attributes);
        let counters = kept.counters.of(node.own.counters);
        let kept_flags = self.kept_flags(own, words);
        let flags = match kept_flags {
            Some((_, flags)) => Some(flags),
            None => self.error_flags(node),
        };
        let handed = match self.upward.is_empty() {
            true => Vec::new(),
            false => self.upward.remove(&node.id).unwrap_or_default(),
        };
        // Behind its begin a record is itself the nearest trace.
        for one in handed.iter().filter(|one| one.to != node.id) {
            self.upward(one.kind, &one.attribute, words);
        }
        let mut trace = None;
        if node.entry {
            trace = self.begin(node, words);
            if self.dialect.generation == Generation::B2 && flags.is_some_and(|it| it & 8 != 0) {
                self.item(&Item::Flags(8));
            }
        }
        let without = kept_flags.map(|(at, _)| at);
        let said = TraceOverrides { thread, trace };
        self.attributes(own, without, counters, said, words);
        for one in handed.iter().filter(|one| one.to == node.id) {
            self.upward(one.kind, &one.attribute, words);
        }
        let counted = self.counted(counters, words);
        kept.release(node.own);
        Ok(EncodingRecord {
            exception: node.exception,
            finish: node.end,
            flags: flags.filter(|_| self.dialect.generation == Generation::C),
            counted,
            children,
            calls: 1,
        })
    }

    fn item(&mut self, item: &Item<'_>) {
        write::item(&mut self.trace, item);
    }

    fn tick(ns: i64) -> i64 {
        ns.div_euclid(TICK_NS) & super::read::TICK.cast_signed()
    }

    fn start(&mut self, node: &PendingRecord, method: i64) {
        let packed = Start {
            form: StartForm::Tagged,
            order: self.dialect.order,
            time: Self::tick(node.start),
            method,
        };
        let start = match (self.dialect.generation, self.dialect.order) {
            (Generation::S0, order) => Start {
                form: StartForm::Seed {
                    tag: if order == Order::Big { 10 } else { 11 },
                },
                ..packed
            },
            (Generation::B2, _) => packed,
            (Generation::C, _) => Start {
                form: StartForm::Nanos,
                time: node.start,
                ..packed
            },
        };
        write::start(&mut self.trace, &start);
    }

    /// Writes a begin; returns the trace id that an attribute has to say.
    fn begin(&mut self, node: &PendingRecord, words: &Recording) -> Option<u128> {
        let ttype = node
            .kind
            .map_or(0, |kind| self.symbol(kind, symbol_type::PLAIN, words));
        let trace = self.trace_id(node);
        let spans = node.context.filter(|_| self.dialect.begin_spans);
        let mut begin = Begin {
            nanos: self.dialect.begin_tag == 5,
            clock_ms: node.start.div_euclid(1_000_000),
            ttype: self.dialect.begin_type.then_some(trace.unwrap_or(ttype)),
            span_id: spans.map(|context| context.span.cast_signed()),
            parent_id: spans.map(|context| context.parent.cast_signed()),
        };
        // B leaves out the parent that is not there, unless the span's number could be that of a symbol; C has both or none.
        let small = begin.span_id.is_some_and(|id| (0..65_536).contains(&id));
        if self.dialect.generation == Generation::B2 && begin.parent_id == Some(0) && !small {
            begin.parent_id = None;
        }
        write::begin(&mut self.trace, &begin);
        let id = node.context.map_or(0, |context| context.trace);
        if trace.is_some() || id == self.said_trace {
            return None;
        }
        self.said_trace = id;
        Some(id)
    }

    /// Numbers symbols above what a trace of the seed may have as its id, when the first one has an id.
    fn number_above_traces(&mut self, root: &PendingRecord) {
        let has_id = root.context.is_some_and(|context| context.trace != 0);
        if self.dialect.generation == Generation::S0 && has_id && self.symbols.is_empty() {
            self.symbols_from = 1 << 16;
            self.last_symbol = self.symbols_from;
        }
    }

    /// Returns the trace id where a begin has a place for it: in the seed's, which says it instead of a type (SPEC.md §8).
    fn trace_id(&mut self, node: &PendingRecord) -> Option<i64> {
        let trace = node.context.map_or(0, |context| context.trace);
        if trace == 0 || self.dialect.generation != Generation::S0 {
            return None;
        }
        let ids = self.symbols_from + 1..=self.last_symbol;
        let fits = i64::try_from(trace).ok();
        let id = fits.filter(|id| node.kind.is_none() && !ids.contains(id))?;
        // A stream without symbols would have it read as one.
        if self.symbols.is_empty() {
            self.symbol_of(b"component", symbol_type::PLAIN);
        }
        if id > self.last_symbol && id < 1 << 25 {
            self.reserved.insert(id);
        }
        Some(id)
    }

    /// Finds the attribute that keeps flags, in the generation that has a place for them.
    fn kept_flags(&mut self, own: &[Attribute], words: &Recording) -> Option<(usize, i64)> {
        if self.dialect.generation != Generation::C {
            return None;
        }
        own.iter()
            .enumerate()
            .find_map(|(at, attribute)| match attribute.value {
                ModelValue::I64(flags)
                    if attribute.from.is_none()
                        && self.role(attribute.key, words) == AttributeRole::Flags =>
                {
                    Some((at, flags))
                }
                _ => None,
            })
    }

    /// Says that a span failed where no exception does.
    fn error_flags(&self, node: &PendingRecord) -> Option<i64> {
        match self.dialect.generation {
            _ if !node.error || node.exception.is_some() => None,
            Generation::C => Some(0x1000),
            Generation::B2 => Some(8),
            Generation::S0 => None,
        }
    }

    /// Says on which thread a trace ran, as agents do, unless it says so itself.
    fn thread(
        &mut self,
        root: &PendingRecord,
        kept: &PendingSpans<PendingRecord>,
        words: &Recording,
    ) -> Option<Thread> {
        let track = words.track(root.track)?;
        let name = track.name?;
        let handed_up = self.dialect.upward;
        let mut own = kept.attributes.of(root.own.attributes).iter();
        let says = own.any(|attribute| {
            !(handed_up && attribute.from.is_some())
                && self.role(attribute.key, words) == AttributeRole::Thread
        });
        (!says).then_some((name, track.os_id.or(track.id)))
    }

    /// Returns the number of calls that a span tells.
    fn counted(&mut self, counters: &[(ValueTypeId, i64)], words: &Recording) -> Option<u64> {
        let mut counters = counters.iter();
        let counted = counters.find(|&&(id, _)| self.counts_calls(id, words));
        counted.and_then(|&(_, value)| u64::try_from(value).ok())
    }

    fn leave(&mut self, open: &EncodingRecord, words: &Recording) -> u64 {
        if let Some(exception) = open.exception {
            self.exception(exception, words);
        }
        let calls = open.counted.unwrap_or(open.calls);
        let nanos = self.dialect.generation == Generation::C;
        let end = End {
            form: match self.dialect.generation {
                Generation::S0 => EndForm::Untagged,
                Generation::B2 => EndForm::Tagged,
                Generation::C => EndForm::Nanos,
            },
            order: self.dialect.order,
            long: calls > 0xff_ffff,
            closed: true,
            time: if nanos {
                open.finish
            } else {
                Self::tick(open.finish)
            },
            calls,
            flags: open.flags,
        };
        write::end(&mut self.trace, &end);
        calls
    }
}
