//! One trace in one generation's words.

use std::collections::HashMap;

use traceloom_model::{
    Attribute, ExceptionId, FrameKind, FunctionId, Recording, SpanContext, SpanId, SpanRow,
    SpanStatus, StringId, TrackId, Value as ModelValue, ValueTypeId,
};

use super::cbor::Value;
use super::dialect::{Dialect, Generation};
use super::record::{Begin, End, EndForm, Item, Method, Order, Start, StartForm, Symbol};
use super::stream::TICK_NS;
use super::write;
use crate::Error;

/// Lists and maps inside each other that are written; deeper ones become null.
const NESTED: u32 = 128;

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
}

/// Writes traces, numbering symbols and methods as they are used.
pub(crate) struct Encoder {
    dialect: Dialect,
    definitions: Vec<u8>,
    trace: Vec<u8>,
    symbols: HashMap<Box<[u8]>, i64>,
    methods: HashMap<FunctionId, i64>,
    exceptions: HashMap<ExceptionId, i64>,
}

/// A record whose children are being written.
struct Open {
    node: Node,
    children: std::vec::IntoIter<Node>,
    calls: u64,
}

/// An attribute on its way up: the type it is for, then itself.
type Upward = HashMap<SpanId, Vec<(Option<StringId>, Attribute)>>;

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
            symbols: HashMap::new(),
            methods: HashMap::new(),
            exceptions: HashMap::new(),
        }
    }

    /// Takes what was written: definitions, and the trace that needs them.
    pub(crate) fn take(&mut self) -> (Vec<u8>, Vec<u8>) {
        (
            std::mem::take(&mut self.definitions),
            std::mem::take(&mut self.trace),
        )
    }

    /// Writes a trace from its root, taking its spans out of `waiting`.
    ///
    /// # Errors
    /// `Limit` when there are more methods than the generation can number.
    pub(crate) fn tree(
        &mut self,
        mut root: Node,
        waiting: &mut HashMap<SpanId, Vec<Node>>,
        words: &Recording,
    ) -> Result<(), Error> {
        self.exceptions.clear();
        let mut upward = Upward::new();
        self.take_upward(&mut root, &mut upward);
        root.thread = Self::thread(&root, words);
        let mut open = vec![self.enter(root, waiting, &mut upward, words)?];
        while let Some(top) = open.last_mut() {
            if let Some(child) = top.children.next() {
                let entered = self.enter(child, waiting, &mut upward, words)?;
                open.push(entered);
                continue;
            }
            let Some(done) = open.pop() else { break };
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
        waiting: &mut HashMap<SpanId, Vec<Node>>,
        upward: &mut Upward,
        words: &Recording,
    ) -> Result<Open, Error> {
        let mut children = waiting.remove(&node.id).unwrap_or_default();
        children.sort_by_key(|child| child.start);
        for child in &mut children {
            self.take_upward(child, upward);
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
            children: children.into_iter(),
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

    fn attributes(&mut self, node: &Node, words: &Recording) {
        let mut pairs: Vec<(i64, ModelValue)> = Vec::new();
        for attribute in &node.attributes {
            if let Some(key) = words.attribute_key(attribute.key) {
                let id = self.symbol(key.name, symbol_type::PLAIN, words);
                pairs.push((id, attribute.value.clone()));
            }
        }
        for &(id, value) in &node.counters {
            let name = words.value_type(id).map(|row| row.name);
            if let Some(name) = name.filter(|&name| words.text(name) != "calls") {
                let id = self.symbol(name, symbol_type::PLAIN, words);
                pairs.push((id, ModelValue::I64(value)));
            }
        }
        if let Some((name, id)) = node.thread {
            let key = self.symbol_of(b"thread.name", symbol_type::PLAIN);
            pairs.push((key, ModelValue::Text(name)));
            if let Some(id) = id {
                let key = self.symbol_of(b"thread.id", symbol_type::PLAIN);
                pairs.push((key, ModelValue::U64(id)));
            }
        }
        if pairs.is_empty() {
            return;
        }
        if self.dialect.generation == Generation::B2 {
            self.trace.push(0xc0 | self.dialect.attribute_tag);
            write::head(&mut self.trace, 5, pairs.len() as u64);
        }
        for (id, value) in pairs {
            match self.dialect.generation {
                Generation::S0 => {
                    self.trace.extend([0xc0 | self.dialect.attribute_tag, 0xa1]);
                    write::int(&mut self.trace, id);
                }
                Generation::B2 => write::value(&mut self.trace, Value::Ref(id.cast_unsigned())),
                Generation::C => {
                    self.trace.extend([0xc6, 0x82]);
                    write::int(&mut self.trace, id);
                }
            }
            self.value(&value, words);
        }
    }

    fn upward(&mut self, ttype: Option<StringId>, attribute: &Attribute, words: &Recording) {
        let Some(key) = words.attribute_key(attribute.key) else {
            return;
        };
        let ttype = ttype.map_or(0, |kind| self.symbol(kind, symbol_type::PLAIN, words));
        let id = self.symbol(key.name, symbol_type::PLAIN, words);
        if self.dialect.generation == Generation::C {
            self.trace.extend([0xc6, 0x83]);
            write::int(&mut self.trace, ttype);
        } else {
            let tag = 0xc0 | self.dialect.attribute_tag;
            self.trace.extend([tag, 0xd8, 0x26, 0xa1]);
            write::int(&mut self.trace, ttype);
            self.trace.push(0xa1);
        }
        write::int(&mut self.trace, id);
        self.value(&attribute.value, words);
    }

    /// Moves attributes that another span set to the record where they are written.
    fn take_upward(&self, node: &mut Node, upward: &mut Upward) {
        if !self.dialect.upward {
            return;
        }
        let mut kept = Vec::with_capacity(node.attributes.len());
        for attribute in std::mem::take(&mut node.attributes) {
            match attribute.from {
                Some(from) => upward.entry(from).or_default().push((node.kind, attribute)),
                None => kept.push(attribute),
            }
        }
        node.attributes = kept;
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

    fn leave(&mut self, open: &Open, words: &Recording) -> u64 {
        let node = &open.node;
        if let Some(exception) = node.exception {
            self.exception(exception, words);
        }
        let counted = node.counters.iter().find_map(|&(id, value)| {
            let name = words.value_type(id)?.name;
            (words.text(name) == "calls").then_some(value)
        });
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

    /// Numbers a text, defining it when it is new.
    fn symbol(&mut self, text: StringId, kind: i64, words: &Recording) -> i64 {
        match words.string(text) {
            Some(text) => self.symbol_of(text.as_bytes(), kind),
            None => self.symbol_of(format!("#{}", text.raw()).as_bytes(), kind),
        }
    }

    fn symbol_of(&mut self, text: &[u8], kind: i64) -> i64 {
        if let Some(&id) = self.symbols.get(text) {
            return id;
        }
        let id = i64::try_from(self.symbols.len()).unwrap_or(i64::MAX) + 1;
        self.symbols.insert(text.into(), id);
        let symbol = Symbol {
            id,
            text: Value::Text(text),
            symbol_type: self.dialect.typed_symbols.then_some(kind),
        };
        write::item(&mut self.definitions, &Item::Symbol(symbol));
        id
    }

    /// Numbers a method; 0 stands for none.
    fn method(&mut self, function: Option<FunctionId>, words: &Recording) -> Result<i64, Error> {
        let Some(id) = function else { return Ok(0) };
        if let Some(&known) = self.methods.get(&id) {
            return Ok(known);
        }
        let number = i64::try_from(self.methods.len()).unwrap_or(i64::MAX) + 1;
        if number > 0xff_ffff && self.dialect.generation != Generation::C {
            let text = "more than 16,777,215 methods: packed words have 24 bits for them";
            return Err(Error::limit(0, text));
        }
        let (class, name) = self.class_and_name(id, words);
        let signature = words.function(id).and_then(|function| function.signature);
        let signature =
            signature.map_or(0, |text| self.symbol(text, symbol_type::SIGNATURE, words));
        let method = Method {
            id: number,
            class,
            name,
            signature,
        };
        write::item(&mut self.definitions, &Item::Method(method));
        self.methods.insert(id, number);
        Ok(number)
    }

    /// Splits a function into the symbols of its class and of its name in it.
    fn class_and_name(&mut self, id: FunctionId, words: &Recording) -> (i64, i64) {
        let function = words.function(id);
        let whole = match function.and_then(|function| words.string(function.name)) {
            Some(text) => text.as_bytes().to_vec(),
            None => format!("#{}", id.raw()).into_bytes(),
        };
        let class = function
            .and_then(|function| words.class(function.class?))
            .and_then(|class| words.string(class.name));
        let Some(class) = class else {
            return (0, self.symbol_of(&whole, symbol_type::METHOD));
        };
        let own = whole
            .strip_prefix(class.as_bytes())
            .and_then(|rest| rest.strip_prefix(b"."));
        let class = self.symbol_of(class.as_bytes(), symbol_type::CLASS);
        (
            class,
            self.symbol_of(own.unwrap_or(&whole), symbol_type::METHOD),
        )
    }

    fn value(&mut self, value: &ModelValue, words: &Recording) {
        if self.dialect.text_only && !matches!(value, ModelValue::Text(_) | ModelValue::Null) {
            let mut plain = Vec::new();
            put(&mut plain, value, words, 0);
            let read = super::Cbor::checked(&plain).value();
            let text = read.map_or_else(
                |_| String::new(),
                |value| super::diagnostic::diagnostic(value),
            );
            return write::text(&mut self.trace, text.as_bytes());
        }
        put(&mut self.trace, value, words, 0);
    }

    /// Writes an exception the first time, and what refers to it after that.
    fn exception(&mut self, id: ExceptionId, words: &Recording) {
        if let Some(&number) = self.exceptions.get(&id) {
            let tag = self.dialect.exception_ref_tag;
            let id = number.cast_unsigned();
            return self.item(&Item::ExceptionRef { tag, id });
        }
        let mut chain = vec![id];
        let mut cause = None;
        while let Some(&last) = chain.last() {
            let next = words.exception(last).and_then(|row| row.cause);
            match next {
                None => break,
                // A chain that comes back to itself ends where it does.
                Some(next) if chain.contains(&next) || chain.len() > 255 => break,
                Some(next) => match self.exceptions.get(&next) {
                    Some(&number) => {
                        cause = Some(number);
                        break;
                    }
                    None => chain.push(next),
                },
            }
        }
        let mut inner: Option<Vec<u8>> = None;
        let s0 = self.dialect.generation == Generation::S0;
        while let Some(id) = chain.pop() {
            let number = i64::try_from(self.exceptions.len()).unwrap_or(i64::MAX) + 1;
            self.exceptions.insert(id, number);
            let written = self.one_exception(id, number, cause, inner.as_deref(), words);
            if s0 {
                inner = Some(written);
            } else {
                self.trace.extend(written);
            }
            cause = Some(number);
        }
        self.trace.extend(inner.unwrap_or_default());
    }

    fn one_exception(
        &mut self,
        id: ExceptionId,
        number: i64,
        cause: Option<i64>,
        inner: Option<&[u8]>,
        words: &Recording,
    ) -> Vec<u8> {
        let s0 = self.dialect.generation == Generation::S0;
        let row = words.exception(id);
        let class = row.and_then(|row| row.class);
        let class = class.map_or(0, |text| self.symbol(text, symbol_type::CLASS, words));
        let mut out = Vec::new();
        write::head(&mut out, 6, u64::from(self.dialect.exception_tag));
        out.push(0x85);
        write::int(&mut out, number);
        if self.dialect.generation == Generation::C {
            write::int(&mut out, class);
        } else {
            write::value(&mut out, Value::Ref(class.cast_unsigned()));
        }
        match row.and_then(|row| words.string(row.message?)) {
            Some(text) => write::text(&mut out, text.as_bytes()),
            None => out.push(0xf6),
        }
        let stack = self.stack(id, words);
        if s0 {
            out.extend(stack);
            match (inner, cause) {
                (Some(inner), _) => out.extend_from_slice(inner),
                (None, Some(number)) => {
                    let tag = self.dialect.exception_ref_tag;
                    let id = number.cast_unsigned();
                    write::item(&mut out, &Item::ExceptionRef { tag, id });
                }
                (None, None) => out.push(0xf6),
            }
        } else {
            write::int(&mut out, cause.unwrap_or(0));
            out.extend(stack);
        }
        out
    }

    fn stack(&mut self, id: ExceptionId, words: &Recording) -> Vec<u8> {
        let s0 = self.dialect.generation == Generation::S0;
        let mut frames = Vec::new();
        let mut count = 0;
        let mut next = words.exception(id).and_then(|row| row.stack);
        while let Some(stack) = next.and_then(|id| words.stack(id)) {
            let frame = words.frame(stack.frame).cloned().unwrap_or_default();
            let (class, method) = match frame.function {
                Some(function) => self.class_and_name(function, words),
                None => (0, 0),
            };
            let file = frame.function.and_then(|id| words.function(id)?.file);
            let file = file.map_or(0, |text| self.symbol(text, symbol_type::PLAIN, words));
            frames.push(0x84);
            for symbol in [class, method, file] {
                if s0 {
                    write::value(&mut frames, Value::Ref(symbol.cast_unsigned()));
                } else {
                    write::int(&mut frames, symbol);
                }
            }
            let native = s0 && frame.kind == FrameKind::Native;
            write::int(&mut frames, if native { -2 } else { i64::from(frame.line) });
            count += 1;
            next = stack.parent;
        }
        let mut out = Vec::with_capacity(frames.len() + 5);
        write::head(&mut out, 4, count);
        out.extend(frames);
        out
    }
}

fn is_named(attribute: &Attribute, name: &str, words: &Recording) -> bool {
    let key = words.attribute_key(attribute.key);
    key.is_some_and(|key| words.text(key.name) == name)
}

/// Appends a value as CBOR.
fn put(out: &mut Vec<u8>, value: &ModelValue, words: &Recording, depth: u32) {
    match value {
        _ if depth > NESTED => out.push(0xf6),
        ModelValue::Null => out.push(0xf6),
        ModelValue::I64(value) => write::int(out, *value),
        ModelValue::U64(value) => write::head(out, 0, *value),
        ModelValue::F64(value) => write::value(out, Value::F64(value.to_bits())),
        ModelValue::Bool(value) => write::value(out, Value::Bool(*value)),
        ModelValue::Text(id) => match words.string(*id) {
            Some(text) => write::text(out, text.as_bytes()),
            None => write::text(out, format!("#{}", id.raw()).as_bytes()),
        },
        ModelValue::Bytes(bytes) => write::value(out, Value::Bytes(bytes)),
        ModelValue::List(_, values) => {
            write::head(out, 4, values.len() as u64);
            for value in values {
                put(out, value, words, depth + 1);
            }
        }
        ModelValue::Map(pairs) => {
            write::head(out, 5, pairs.len() as u64);
            for (key, value) in pairs {
                put(out, key, words, depth + 1);
                put(out, value, words, depth + 1);
            }
        }
        ModelValue::Exception(id) => {
            let row = words.exception(*id);
            let text = |id: Option<StringId>| {
                id.map_or_else(String::new, |id| words.text(id).into_owned())
            };
            let class = text(row.and_then(|row| row.class));
            let message = text(row.and_then(|row| row.message));
            write::text(out, format!("{class}: {message}").as_bytes());
        }
    }
}
