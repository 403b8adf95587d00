//! Messages to the model (SPEC.md §4, §5).
//!
//! Entries and exits become spans by thread and ticket, aggregated entries samples of a profile,
//! monitors and collections events with an end; the heap has columns of its own. What remains is an
//! event named like its message, with the fields that are set as attributes. Definitions may come late
//! or never: a method that nothing defines is called after its id.

mod aggregated;
mod calls;
mod clock;
mod events;
mod heap;
mod names;
mod producers;
mod threads;

use traceloom_model::{
    EdgeBatch, EventBatch, Flow, Limit, Note, ObjectBatch, Order, PartId, RootBatch, SampleBatch,
    Sink, SpanBatch, Tables,
};

use self::clock::Ticks;
use self::events::EventRows;
use self::heap::Heap;
use self::names::DefinitionIds;
use self::producers::Producers;
use self::threads::ThreadCalls;
use super::call::Call;
use super::message::Message;
use super::visit::{Item, Visit};
use super::{binary, xml};
use crate::codec::each_window;
use crate::{Error, LowerOptions, Part, Source, damage, warn};

/// Lowers the traces of a source, binary or XML.
///
/// # Errors
/// What the source fails with, and `Usage` when none of its parts is a trace.
pub fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    let traces: Vec<(usize, bool)> = source
        .parts()
        .iter()
        .enumerate()
        .filter_map(|(at, part)| Some((at, is_binary(part)?)))
        .collect();
    let Some(&(first, binary)) = traces.first() else {
        return Err(Error::usage("no part of the input is a TPTP trace"));
    };
    let mut tables = Tables::new();
    let ticks = clock::find(source, first, binary, &options.limits)?;
    sink.begin(Order::Nested, ticks.clock(&mut tables));
    let mut lowering = Lowering::new(tables, ticks, options, sink);
    for (part, binary) in traces {
        if part != first {
            lowering.ticks = clock::find(source, part, binary, &options.limits)?;
        }
        lowering.part = PartId::nth(part);
        if let Some(part) = source.parts().get(part)
            && lowering.name(part, binary).is_break()
        {
            return Ok(());
        }
        if !lowering.drive(source, part, binary, &options.limits)? {
            return Ok(());
        }
        if lowering.end().is_break() {
            return Ok(());
        }
    }
    Ok(())
}

/// Rows handed on at a time: few enough to stay in the cache.
const ROWS: usize = 1024;

fn is_binary(part: &Part) -> Option<bool> {
    match part.format?.name {
        "tptp-binary" => Some(true),
        "tptp-xml" => Some(false),
        _ => None,
    }
}

/// Rows on their way to the sink.
#[derive(Default)]
struct Batches {
    spans: SpanBatch,
    events: EventBatch,
    samples: Option<SampleBatch>,
    objects: ObjectBatch,
    edges: EdgeBatch,
    roots: RootBatch,
}

impl Batches {
    fn full(&self) -> bool {
        let rows = [
            self.spans.len(),
            self.events.len(),
            self.samples.as_ref().map_or(0, SampleBatch::len),
            self.objects.rows.len(),
            self.edges.from.len(),
            self.roots.object.len(),
        ];
        // A message adds few rows, unless it closes everything that is open: see `Lowering::room`.
        rows.iter().any(|&rows| rows >= ROWS - 1)
    }

    /// Empty, with room for as many spans: columns that grow from nothing are copied a dozen times.
    fn next(&self) -> Self {
        let mut spans = SpanBatch::with_capacity(self.spans.len());
        spans.attributes = self.spans.attributes.with_room_of();
        Self {
            spans,
            ..Self::default()
        }
    }
}

struct Lowering<'s> {
    sink: &'s mut dyn Sink,
    tables: Tables,
    part: PartId,
    ticks: Ticks,
    batches: Batches,
    names: DefinitionIds,
    calls: ThreadCalls,
    events: EventRows,
    heap: Heap,
    producers: Producers,
    only: Option<traceloom_model::Origin>,
    limit_table: usize,
    limit_open: usize,
    limit_depth: usize,
}

impl<'s> Lowering<'s> {
    fn new(
        tables: Tables,
        mut ticks: Ticks,
        options: &LowerOptions,
        sink: &'s mut dyn Sink,
    ) -> Self {
        Self {
            sink,
            tables,
            part: PartId::default(),
            ticks,
            batches: Batches::default(),
            names: DefinitionIds::default(),
            calls: ThreadCalls::beginning(ticks.first()),
            events: EventRows::default(),
            heap: Heap::default(),
            producers: Producers::default(),
            only: options.only,
            limit_table: options.limits.size(Limit::Table),
            limit_open: options.limits.size(Limit::OpenSpans),
            limit_depth: options.limits.size(Limit::Depth),
        }
    }

    /// A file that the program names itself ends as its form says.
    fn name(&mut self, part: &Part, binary: bool) -> Flow {
        let lower = part.name.to_ascii_lowercase();
        let contradicts = if binary { ".trcxml" } else { ".trcbin" };
        if lower.ends_with(contradicts) {
            let form = if binary {
                "a binary trace"
            } else {
                "an XML trace"
            };
            return self.note(warn(
                "name_contradicts",
                0,
                format!("{} holds {form}", part.name),
            ));
        }
        Flow::Continue(())
    }

    fn drive(
        &mut self,
        source: &dyn Source,
        part: usize,
        binary: bool,
        limits: &traceloom_model::Limits,
    ) -> Result<bool, Error> {
        let mut pull = source.open(part, 0)?;
        let mut reader = (binary::Reader::new(limits), xml::Reader::new(limits));
        each_window(pull.as_mut(), 1, |chunk| match binary {
            true => reader.0.read(chunk, self),
            false => reader.1.read(chunk, self),
        })
    }

    fn message(&mut self, message: &Message<'_>, offset: u64) -> Flow {
        match message.schema.id {
            1015 => self.entry(&Call::of(message), offset)?,
            1016 => self.exit(&Call::of(message), offset)?,
            1036 => self.ag_entry(message, offset)?,
            1037 => self.ag_exit(message, offset)?,
            1001..=1003 | 1005 => self.producer(message),
            1009 => {
                self.thread_start(message);
                self.definition(message);
            }
            1010 => {
                self.thread_end(message)?;
                self.plain_event(message);
            }
            1011 => {
                self.names.class(&mut self.tables, message);
                self.definition(message);
            }
            1012 => self.names.method(&mut self.tables, message),
            1014 => self.alloc(message, offset)?,
            1023 => self.gc_start(message),
            1027 => self.gc_finish(message),
            1032..=1035 => self.monitor(message, offset)?,
            1038 => {
                // No batch mixes the roots of two dumps.
                self.flush()?;
                self.heap.dump(message);
                self.plain_event(message);
            }
            1039 => self.root(message),
            1040 => self.edge(message),
            _ => self.plain_event(message),
        }
        if self.batches.full() {
            self.flush()
        } else {
            Flow::Continue(())
        }
    }

    /// Makes room for one more span.
    fn room(&mut self) -> Flow {
        if self.batches.spans.len() >= ROWS {
            self.flush()
        } else {
            Flow::Continue(())
        }
    }

    fn flush(&mut self) -> Flow {
        let definitions = self.tables.take_definitions();
        if !definitions.is_empty() {
            self.sink.define(definitions)?;
        }
        let next = self.batches.next();
        let batches = std::mem::replace(&mut self.batches, next);
        // Threads begin, and dumps do, before what lies in them.
        if !batches.events.is_empty() {
            self.sink.events(batches.events)?;
        }
        if !batches.spans.is_empty() {
            self.sink.spans(batches.spans)?;
        }
        if let Some(samples) = batches.samples.filter(|samples| !samples.is_empty()) {
            self.sink.samples(samples)?;
        }
        if !batches.objects.rows.is_empty() {
            self.sink.objects(batches.objects)?;
        }
        if !batches.roots.object.is_empty() {
            self.sink.roots(batches.roots)?;
        }
        if !batches.edges.from.is_empty() {
            self.sink.edges(batches.edges)?;
        }
        Flow::Continue(())
    }

    fn end(&mut self) -> Flow {
        self.end_calls()?;
        self.end_events();
        if let Some((count, offset)) = self.ticks.saturated.take() {
            let text = "times outside 64 bits of nanoseconds";
            self.note(damage("time_saturated", offset, text).counting(count))?;
        }
        self.flush()
    }

    /// Tells that a limit was hit; only the first time for each thing.
    fn limit(&mut self, kind: &'static str, offset: u64, text: &str) -> Flow {
        self.note(damage(kind, offset, text))
    }
}

impl Visit for Lowering<'_> {
    #[inline]
    fn takes_calls(&self) -> bool {
        true
    }

    #[inline]
    fn call(&mut self, call: &Call, offset: u64) -> Flow {
        if call.entry {
            return self.entry(call, offset);
        }
        self.exit(call, offset)?;
        if self.batches.spans.len() >= ROWS - 1 {
            return self.flush();
        }
        Flow::Continue(())
    }

    fn item(&mut self, item: Item<'_, '_>) -> Flow {
        match item {
            Item::Data(data) => self.message(&data.message, data.offset),
            Item::Element(element) => match &element.message {
                Some(message) => self.message(message, element.offset),
                None => self.foreign_element(element),
            },
            _ => Flow::Continue(()),
        }
    }

    fn note(&mut self, note: Note) -> Flow {
        self.sink.note(Note {
            part: self.part,
            ..note
        })
    }
}
