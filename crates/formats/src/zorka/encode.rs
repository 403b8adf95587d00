//! One trace in one generation's words.

mod attributes;
mod definitions;
mod exceptions;

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    Attribute, ExceptionId, FunctionId, Recording, SpanContext, SpanId, SpanRow, SpanStatus,
    StringId, TrackId, Value as ModelValue, ValueTypeId,
};

use super::dialect::{Dialect, Generation};
use super::record::{Begin, End, EndForm, Item, Order, Start, StartForm};
use super::stream::TICK_NS;
use super::write;
use crate::Error;
use crate::waiting::Waiting;
use attributes::is_named;

/// A span that waits for its parent.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) id: SpanId,
    pub(crate) start: i64,
    end: i64,
    track: TrackId,
    function: Option<FunctionId>,
    kind: Option<StringId>,
    error: bool,
    entry: bool,
    counters: Vec<(ValueTypeId, i64)>,
    attributes: Vec<Attribute>,
    exception: Option<ExceptionId>,
    context: Option<SpanContext>,
    /// Name and number of the thread, for a root that does not say them itself.
    thread: Option<(StringId, Option<u64>)>,
}

impl Node {
    pub(crate) fn of(row: &SpanRow<'_>) -> Self {
        Self {
            id: row.id,
            start: row.start,
            end: row.end,
            track: row.track,
            function: row.function,
            kind: row.kind,
            error: row.status == SpanStatus::Error,
            entry: row.entry,
            counters: row.counters.to_vec(),
            attributes: row.attributes.to_vec(),
            exception: row.exception,
            context: row.context,
            thread: None,
        }
    }

    /// Returns the values of its attributes.
    pub(crate) fn values(&self) -> impl Iterator<Item = &ModelValue> {
        self.attributes.iter().map(|attribute| &attribute.value)
    }
}

/// Writes traces, numbering symbols and methods as they are used.
pub(crate) struct Encoder {
    dialect: Dialect,
    definitions: Vec<u8>,
    trace: Vec<u8>,
    symbols: HashMap<Box<[u8]>, i64, RandomState>,
    /// Symbols of texts that are looked up often: keys and kinds.
    of_texts: HashMap<StringId, i64, RandomState>,
    /// Value types that were looked at: whether one counts calls.
    counts_calls: HashMap<ValueTypeId, bool, RandomState>,
    methods: HashMap<FunctionId, i64, RandomState>,
    exceptions: HashMap<ExceptionId, i64, RandomState>,
    /// Places of the children of what is open, those of the innermost last.
    children: Vec<u32>,
}

/// A record whose children are being written.
struct Open {
    node: Node,
    /// The next child to be written, and where the children end.
    next: usize,
    end: usize,
    /// How many children it has.
    own: usize,
    calls: u64,
}

/// An attribute on its way up: the type it is for, then itself.
type Upward = HashMap<SpanId, Vec<(Option<StringId>, Attribute)>, RandomState>;

/// The words of B's symbol types.
mod symbol_type {
    pub(super) const PLAIN: i64 = 0;
    pub(super) const CLASS: i64 = 5;
    pub(super) const METHOD: i64 = 6;
    pub(super) const SIGNATURE: i64 = 8;
}

impl Encoder {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            definitions: Vec::new(),
            trace: Vec::new(),
            symbols: HashMap::default(),
            of_texts: HashMap::default(),
            counts_calls: HashMap::default(),
            methods: HashMap::default(),
            exceptions: HashMap::default(),
            children: Vec::new(),
        }
    }

    /// Hands over what was written: definitions, and the trace that needs them.
    pub(crate) fn hand_over(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.definitions);
        out.append(&mut self.trace);
    }

    /// Writes a trace from its root, taking its spans out of `waiting`.
    ///
    /// # Errors
    /// `Limit` when there are more methods than the generation can number.
    pub(crate) fn tree(
        &mut self,
        mut root: Node,
        waiting: &mut Waiting<Node>,
        words: &Recording,
    ) -> Result<(), Error> {
        self.exceptions.clear();
        self.children.clear();
        let mut upward = Upward::default();
        self.take_upward(&mut root, &mut upward);
        root.thread = Self::thread(&root, words);
        let mut open = vec![self.enter(root, waiting, &mut upward, words)?];
        while let Some(top) = open.last_mut() {
            let child = self.children.get(top.next..top.end);
            if let Some(&child) = child.and_then(|rest| rest.first()) {
                top.next += 1;
                let Some(child) = waiting.take(child) else {
                    continue;
                };
                let entered = self.enter(child, waiting, &mut upward, words)?;
                open.push(entered);
                continue;
            }
            let Some(done) = open.pop() else { break };
            // Those of what encloses it stand before.
            self.children.truncate(done.end - done.own);
            let calls = self.leave(&done, words);
            if let Some(parent) = open.last_mut() {
                parent.calls = parent.calls.saturating_add(calls);
            }
        }
        Ok(())
    }

    fn enter(
        &mut self,
        mut node: Node,
        waiting: &mut Waiting<Node>,
        upward: &mut Upward,
        words: &Recording,
    ) -> Result<Open, Error> {
        let next = self.children.len();
        waiting.of(node.id, &mut self.children);
        let end = self.children.len();
        for &child in self.children.get(next..).unwrap_or(&[]) {
            if let Some(child) = waiting.node(child) {
                self.take_upward(child, upward);
            }
        }
        let method = self.method(node.function, words)?;
        self.start(&node, method);
        let flags = self.flags(&mut node, words);
        if node.entry {
            self.begin(&node, words);
            if self.dialect.generation == Generation::B2 && flags.is_some_and(|it| it & 8 != 0) {
                self.item(&Item::Flags(8));
            }
        }
        self.attributes(&node, words);
        for (ttype, attribute) in upward.remove(&node.id).unwrap_or_default() {
            self.upward(ttype, &attribute, words);
        }
        if self.dialect.generation == Generation::C
            && let Some(flags) = flags
        {
            // Kept for the end of the record, where C has them.
            node.attributes = vec![Attribute::new(
                traceloom_model::AttrKeyId::new(0),
                ModelValue::I64(flags),
            )];
        } else {
            node.attributes.clear();
        }
        Ok(Open {
            node,
            next,
            end,
            own: end - next,
            calls: 1,
        })
    }

    fn item(&mut self, item: &Item<'_>) {
        write::item(&mut self.trace, item);
    }

    fn tick(ns: i64) -> i64 {
        ns.div_euclid(TICK_NS) & super::read::TICK.cast_signed()
    }

    fn start(&mut self, node: &Node, method: i64) {
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
        self.item(&Item::Start(start));
    }

    fn begin(&mut self, node: &Node, words: &Recording) {
        let ttype = node
            .kind
            .map_or(0, |kind| self.symbol(kind, symbol_type::PLAIN, words));
        let spans = node.context.filter(|_| self.dialect.begin_spans);
        let mut begin = Begin {
            nanos: self.dialect.begin_tag == 5,
            clock_ms: node.start.div_euclid(1_000_000),
            ttype: self.dialect.begin_type.then_some(ttype),
            span_id: spans.map(|context| context.span.cast_signed()),
            parent_id: spans.map(|context| context.parent.cast_signed()),
        };
        // B leaves out the parent that is not there; C has both or none.
        if self.dialect.generation == Generation::B2 && begin.parent_id == Some(0) {
            begin.parent_id = None;
        }
        self.item(&Item::Begin(begin));
    }

    /// Finds the flags to write, and takes their attribute out.
    fn flags(&self, node: &mut Node, words: &Recording) -> Option<i64> {
        let kept = node.attributes.iter().position(|attribute| {
            matches!(attribute.value, ModelValue::I64(_)) && is_named(attribute, "flags", words)
        });
        let kept = kept.filter(|_| self.dialect.generation == Generation::C);
        let kept = kept.map(|at| node.attributes.remove(at).value);
        let error = node.error && node.exception.is_none();
        match (kept, self.dialect.generation) {
            (Some(ModelValue::I64(flags)), _) => Some(flags),
            (_, Generation::C) if error => Some(0x1000),
            (_, Generation::B2) if error => Some(8),
            _ => None,
        }
    }

    /// Says on which thread a trace ran, as agents do, unless it says so itself.
    fn thread(root: &Node, words: &Recording) -> Option<(StringId, Option<u64>)> {
        let said = |name: &str| root.attributes.iter().any(|one| is_named(one, name, words));
        let track = words.track(root.track)?;
        let name = track
            .name
            .filter(|_| !said("thread.name") && !said("thread.id"))?;
        Some((name, track.os_id.or(track.id)))
    }

    /// Tells whether a counter is the number of calls, which has a place of its own.
    fn counts_calls(&mut self, id: ValueTypeId, words: &Recording) -> bool {
        if let Some(&known) = self.counts_calls.get(&id) {
            return known;
        }
        let Some(row) = words.value_type(id) else {
            return false;
        };
        let counts = words.text(row.name) == "calls";
        self.counts_calls.insert(id, counts);
        counts
    }

    fn leave(&mut self, open: &Open, words: &Recording) -> u64 {
        let node = &open.node;
        if let Some(exception) = node.exception {
            self.exception(exception, words);
        }
        let mut counted = node.counters.iter();
        let counted = counted.find(|&&(id, _)| self.counts_calls(id, words));
        let counted = counted.map(|&(_, value)| value);
        let counted = counted.and_then(|calls| u64::try_from(calls).ok());
        let calls = counted.unwrap_or(open.calls);
        let nanos = self.dialect.generation == Generation::C;
        let flags = node.attributes.iter().find_map(|one| match one.value {
            ModelValue::I64(flags) => Some(flags),
            _ => None,
        });
        self.item(&Item::End(End {
            form: match self.dialect.generation {
                Generation::S0 => EndForm::Untagged,
                Generation::B2 => EndForm::Tagged,
                Generation::C => EndForm::Nanos,
            },
            order: self.dialect.order,
            long: calls > 0xff_ffff,
            closed: true,
            time: if nanos {
                node.end
            } else {
                Self::tick(node.end)
            },
            calls,
            flags: flags.filter(|_| nanos),
        }));
        calls
    }
}
