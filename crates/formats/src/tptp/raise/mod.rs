//! The model to messages, in either form.
//!
//! A call is written as a whole: entries and exits in nested order, when its outermost span has come.
//! Recordings whose spans come in any other order are held until the end. Threads, classes and methods
//! are defined before they are first used, without a time; events go back to the messages they came from,
//! and those that fit none of them into custom messages, whose body is an element.

mod events;
mod heap;
mod order;
mod samples;
mod spans;
mod threads;
mod tree;

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    ClassId, Clock, Definitions, EdgeBatch, EventBatch, Feature, Flow, FunctionId, Note,
    ObjectBatch, Order, Recording, Resource, ResourceId, RootBatch, SampleBatch, Sink, SpanBatch,
    StringId, Value,
};

use self::order::{MessageQueue, OrderedMessage, Rank};
use self::threads::TrackNumbers;
use super::emit::{MessageEmitter, StreamForm};
use super::message::Draft;
use super::table::{Schema, by_id};
use crate::codec::{Buffered, ById, left_out_of};
use crate::{Error, LeftOut, Output, RaiseOptions, Target};

/// Builds a target that writes binary traces.
///
/// # Errors
/// `Usage` for a variant other than `be` and `32`, or both with a comma between them.
pub fn binary<'o>(
    options: &RaiseOptions,
    output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    let mut form = StreamForm::default();
    for word in options.variant.iter().flat_map(|words| words.split(',')) {
        match word {
            "be" => form.big = true,
            "32" => form.short = true,
            _ => {
                let text = format!("tptp-binary has no variant `{word}`; there are be and 32");
                return Err(Error::usage(text));
            }
        }
    }
    Ok(build(Some(form), output))
}

/// Builds a target that writes XML traces.
///
/// # Errors
/// `Usage` for a variant: there are none.
pub fn xml<'o>(
    options: &RaiseOptions,
    output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    if let Some(variant) = &options.variant {
        let text = format!("tptp-xml has no variant `{variant}`");
        return Err(Error::usage(text));
    }
    Ok(build(None, output))
}

/// Builds a target of a binary form, or of the XML form.
fn build(form: Option<StreamForm>, output: &mut dyn Output) -> Box<dyn Target + '_> {
    let mut out = Buffered::new(output, "");
    let mut emit = MessageEmitter::new(form, &mut out.bytes);
    let spans = spans::EntryExitTemplates::new(&mut emit);
    Box::new(Writer {
        out,
        order: Order::Nested,
        tables: Recording::default(),
        threads: TrackNumbers::default(),
        classes: HashMap::default(),
        methods: ById::default(),
        waiting: MessageQueue::new(spans.lens()),
        spans,
        samples: samples::ThreadCallTrees::default(),
        heap: heap::HeapDumps::default(),
        base: 0,
        class_names: HashMap::new(),
        emit,
    })
}

struct Writer<'o> {
    out: Buffered<'o>,
    emit: MessageEmitter,
    order: Order,
    /// Definitions so far.
    tables: Recording,
    threads: TrackNumbers,
    /// Classes that are defined, and when.
    classes: HashMap<ClassId, i64, RandomState>,
    /// Methods that are defined, with the ids of their classes.
    methods: ById<u64>,
    spans: spans::EntryExitTemplates,
    samples: samples::ThreadCallTrees,
    heap: heap::HeapDumps,
    /// What times are counted from.
    base: i64,
    /// Classes by name, for the events that define them.
    class_names: HashMap<String, Vec<ClassId>>,
    waiting: MessageQueue,
}

/// Where a clock without an origin starts: a time of 0 is none, and times may lie before the origin. It lies
/// before 1990, so that nobody takes it for a time of the epoch (SPEC.md §4).
const UNKNOWN_ORIGIN: i64 = 10_000_000_000_000_000;

fn schema(id: u16) -> &'static Schema {
    #[expect(clippy::expect_used, reason = "called with ids of the table alone")]
    by_id(id).expect("an id of the table")
}

/// Times before the origin have no place in an unsigned field.
fn ticks(ns: i64) -> u64 {
    u64::try_from(ns).unwrap_or(0)
}

impl Writer<'_> {
    fn text(&self, id: Option<StringId>) -> String {
        id.map_or_else(String::new, |id| self.tables.text(id).into_owned())
    }

    /// A point in time as a message has it.
    fn time(&self, ns: i64) -> u64 {
        ticks(ns.saturating_add(self.base))
    }

    /// Writes a message to its place in time.
    fn put(&mut self, time: i64, rank: Rank, draft: &Draft<'_>) {
        let emit = &mut self.emit;
        self.waiting
            .push(time, rank, |out| emit.message(draft, out));
    }

    /// Writes a definition, which nothing comes before.
    fn define_first(&mut self, draft: &Draft<'_>) {
        self.put(i64::MIN, Rank::Defines, draft);
    }

    fn leave(&mut self, all: bool) {
        self.start_threads();
        let Self {
            out,
            emit,
            threads,
            methods,
            spans,
            waiting,
            base,
            ..
        } = self;
        let base = *base;
        waiting.leave(all, &mut |message| {
            match message {
                OrderedMessage::Written(messages) => out.bytes.extend_from_slice(messages),
                OrderedMessage::Brief(track, time, brief) => {
                    let method = (brief.method as usize).checked_sub(1);
                    let class = method.and_then(|method| methods.get(method));
                    let known = (threads.known(track), class.copied().unwrap_or(0));
                    let time = ticks(time.saturating_add(base));
                    spans.write(brief, time, known, emit, &mut out.bytes);
                }
            }
            out.spill();
        });
    }

    #[inline]
    fn flush(&mut self) -> Flow {
        if self.waiting.is_full() {
            self.leave(false);
            return self.out.spilled();
        }
        Flow::Continue(())
    }

    /// Takes the ids of a method and its class, and defines them when they are new.
    #[inline]
    fn method(&mut self, function: FunctionId) -> (u64, u64) {
        match self.methods.get(function.index()) {
            Some(&class) => (u64::from(function.raw()) + 1, class),
            None => self.new_method(function),
        }
    }

    #[cold]
    fn new_method(&mut self, function: FunctionId) -> (u64, u64) {
        let method_id = u64::from(function.raw()) + 1;
        let row = self.tables.function(function).cloned();
        let class = row.as_ref().and_then(|row| row.class);
        let class_id = class.map_or(0, |class| self.class(class));
        self.methods.put(function.index(), class_id);
        let full = self.tables.function_name(function).into_owned();
        let class_row = class.and_then(|class| self.tables.class(class));
        let prefix = self.text(class_row.map(|row| row.name));
        let name = full
            .strip_prefix(prefix.as_str())
            .and_then(|rest| rest.strip_prefix('.'))
            .filter(|_| !prefix.is_empty())
            .unwrap_or(&full);
        let name = match name {
            "<init>" => "-init-",
            "<clinit>" => "-clinit-",
            other => other,
        };
        let mut draft = Draft::new(schema(1012))
            .text("name", name)
            .number("methodId", method_id);
        let signature = self.text(row.as_ref().and_then(|row| row.signature));
        if let Some(row) = &row {
            draft = draft.number("startLineNumber", row.line.into());
            for (flag, bits) in [
                ("isStatic", 0x0008),
                ("isSynchronized", 0x0020),
                ("isNative", 0x0100),
                ("isAbstract", 0x0400),
            ] {
                draft = draft.number(flag, (row.modifiers & bits != 0).into());
            }
        }
        let draft = draft.text("signature", &signature);
        // Its class comes before it.
        let time = class.and_then(|class| self.classes.get(&class).copied());
        let draft = draft.number("classIdRef", class_id);
        self.put(time.unwrap_or(i64::MIN), Rank::Defines, &draft);
        (method_id, class_id)
    }

    fn class(&mut self, class: ClassId) -> u64 {
        let id = u64::from(class.raw()) + 1;
        if self.classes.contains_key(&class) {
            return id;
        }
        self.classes.insert(class, i64::MIN);
        let Some(row) = self.tables.class(class).cloned() else {
            return id;
        };
        let above = row.superclass.and_then(|above| self.tables.class(above));
        let above = self.text(above.map(|above| above.name)).replace('.', "/");
        let name = self.text(Some(row.name)).replace('.', "/");
        let (file, loader) = (self.text(row.file), self.text(row.loader));
        let draft = Draft::new(schema(1011))
            .number("classId", id)
            .text("name", &name);
        let draft = draft.text("sourceName", &file).text("classLoader", &loader);
        self.define_first(&draft.text("superclass", &above));
        id
    }

    /// Tells of a node, process, agent or trace; a resource of another format is a process.
    fn resource(&mut self, id: ResourceId, resource: &Resource) {
        let mut attributes = Vec::new();
        for attribute in &resource.attributes {
            let key = self.tables.attribute_key(attribute.key).map(|key| key.name);
            attributes.push((self.text(key), attribute.value.clone()));
        }
        let kinds = [
            ("trace_id", 1005),
            ("agent_id", 1003),
            ("process_id", 1002),
            ("node_id", 1001),
        ];
        let has = |name: &str| attributes.iter().any(|(key, _)| key == name);
        let kind = kinds.into_iter().find(|(name, _)| has(name));
        let own = format!("resource-{}", id.raw());
        let parent = resource
            .parent
            .map(|parent| format!("resource-{}", parent.raw()));
        let (host, service) = (self.text(resource.host), self.text(resource.service));
        let id = kind.map_or(1002, |(_, id)| id);
        let mut draft = events::Rebuilt::new(schema(id), self.base);
        if kind.is_none() {
            if !host.is_empty() {
                let node = Draft::new(schema(1001))
                    .text("nodeId", &own)
                    .text("hostname", &host);
                self.define_first(&node);
                draft.text("nodeIdRef", &own);
            } else if let Some(parent) = &parent {
                draft.text("nodeIdRef", parent);
            }
            draft.text("processId", &own);
        }
        draft.text("hostname", &host);
        draft.text("name", &service);
        draft.number("pid", resource.pid.unwrap_or(0));
        for (name, value) in &attributes {
            match value {
                Value::Text(text) => draft.text_by_name(name, &self.tables.text(*text)),
                value => draft.value_by_name(name, value),
            }
        }
        draft.draft(|draft| self.define_first(draft));
    }
}

impl Sink for Writer<'_> {
    fn begin(&mut self, order: Order, clock: Clock) {
        self.order = order;
        self.base = match clock {
            Clock::Unix => 0,
            _ => UNKNOWN_ORIGIN,
        };
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        let resources = definitions.resources.clone();
        let classes: Vec<(ClassId, StringId)> = definitions
            .classes
            .iter()
            .map(|(id, row)| (*id, row.name))
            .collect();
        self.tables.define(definitions)?;
        for (id, name) in classes {
            let name = self.text(Some(name));
            self.class_names.entry(name).or_default().push(id);
        }
        for (id, resource) in &resources {
            self.resource(*id, resource);
        }
        self.flush()
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        self.take_spans(&batch)
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        self.take_samples(&batch);
        Flow::Continue(())
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        for event in batch.iter() {
            self.event(&event);
            self.flush()?;
        }
        Flow::Continue(())
    }

    fn objects(&mut self, batch: ObjectBatch) -> Flow {
        for object in &batch.rows {
            self.object(object);
            self.flush()?;
        }
        Flow::Continue(())
    }

    fn edges(&mut self, batch: EdgeBatch) -> Flow {
        self.take_edges(&batch)
    }

    fn roots(&mut self, batch: RootBatch) -> Flow {
        self.take_roots(&batch)
    }

    fn forget(&mut self, strings: &[StringId]) {
        self.tables.drop_strings(strings);
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

impl Target for Writer<'_> {
    fn finish(&mut self) -> Result<(), Error> {
        let flow = self.finish_spans();
        if flow.is_continue() && self.finish_samples().is_continue() {
            self.leave(true);
            self.emit.end(&mut self.out.bytes);
        }
        self.out.finish()
    }

    fn left_out(&self) -> Vec<(Feature, Vec<LeftOut>)> {
        let renumbered = left_out_of(Feature::TrackIds, self.threads.renumbered);
        renumbered.into_iter().collect()
    }
}
