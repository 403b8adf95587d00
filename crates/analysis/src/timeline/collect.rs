//! The sink that keeps when everything ran.

use std::collections::BTreeMap;

use traceloom_model::{
    Asks, Attribute, Clock, CounterBatch, Definitions, EventBatch, EventRow, EventTypeId, Flow,
    FrameId, Level, Note, Order, Origin, Recording, SampleBatch, Sink, SpanBatch, SpanRow,
    SpanStatus, StackId, StringId, Timestamp, TrackId, Wants,
};

use super::details::Details;
use super::{FAILED, PARTIAL_END, PARTIAL_START, RowKind};
use crate::monitors::WaitKind;
use crate::pauses::is_pause;
use crate::symbol::{symbol_of_frame, symbol_of_function};
use crate::text::value_text;

/// Stands for no track, and for no function.
pub(super) const NONE: u32 = u32::MAX;

/// Event types by which producers tell that they lost data.
const LOSSES: [&str; 2] = ["loss", "jdk.DataLoss"];

/// Damage that is kept with its place.
const FAULTS: usize = 10_000;

/// Frames of a stack that are kept.
const FRAMES: usize = 24;

/// Bytes for attributes of spans and fields of events.
const DETAIL_BYTES: usize = 64 << 20;

/// Spans in columns: 57 bytes each.
#[derive(Debug, Default)]
pub(super) struct Spans {
    pub(super) start: Vec<Timestamp>,
    pub(super) end: Vec<Timestamp>,
    pub(super) track: Vec<u32>,
    pub(super) function: Vec<u32>,
    pub(super) id: Vec<u64>,
    pub(super) parent: Vec<u64>,
    pub(super) place: Vec<u64>,
    pub(super) detail: Vec<u32>,
    pub(super) depth: Vec<u32>,
    pub(super) flags: Vec<u8>,
}

/// Events, waits, pauses or samples in columns: 28 bytes each.
#[derive(Debug, Default)]
pub(super) struct Marks {
    pub(super) start: Vec<Timestamp>,
    pub(super) end: Vec<Timestamp>,
    pub(super) track: Vec<u32>,
    /// An event type, or the stack of a sample.
    pub(super) name: Vec<u32>,
    pub(super) detail: Vec<u32>,
}

/// Points of one counter.
pub(super) type Points = Vec<(Timestamp, f64)>;

/// Damage of the input, and where in its bytes.
#[derive(Debug)]
pub(super) struct InputDamage {
    pub(super) place: u64,
    pub(super) text: String,
    pub(super) count: u64,
}

/// Keeps one recording for a [`super::Timeline`].
///
/// Memory is 57 bytes a span, 28 bytes an event or a sample, 16 bytes a point of a counter (vectors grow by doubling,
/// so up to twice of that), the tables of the recording, and at most 64 MiB of attributes.
#[derive(Debug)]
pub struct Collector {
    pub(super) tables: Recording,
    pub(super) clock: Clock,
    pub(super) spans: Spans,
    /// Marks by their kind; samples by their profile too.
    pub(super) marks: BTreeMap<(RowKind, u32), Marks>,
    pub(super) points: BTreeMap<u32, Points>,
    pub(super) details: Details,
    pub(super) faults: Vec<InputDamage>,
    pub(super) more_faults: u64,
    /// Samples without a time.
    pub(super) timeless: u64,
    kinds: Vec<Option<RowKind>>,
}

impl Default for Collector {
    fn default() -> Self {
        Self {
            tables: Recording::default(),
            clock: Clock::default(),
            spans: Spans::default(),
            marks: BTreeMap::new(),
            points: BTreeMap::new(),
            details: Details::new(DETAIL_BYTES),
            faults: Vec::new(),
            more_faults: 0,
            timeless: 0,
            kinds: Vec::new(),
        }
    }
}

impl Collector {
    fn span(&mut self, row: &SpanRow<'_>) {
        let detail = {
            let tables = &self.tables;
            self.details.list(|add| span_details(tables, row, add))
        };
        let spans = &mut self.spans;
        spans.start.push(row.start);
        spans.end.push(row.end.max(row.start));
        spans.track.push(row.track.raw());
        spans
            .function
            .push(row.function.map_or(NONE, |id| id.raw()));
        spans.id.push(row.id.0);
        spans.parent.push(row.parent.map_or(u64::MAX, |id| id.0));
        spans.place.push(row.origin.map_or(u64::MAX, place));
        spans.detail.push(detail);
        spans.depth.push(row.depth);
        spans.flags.push(match row.status {
            SpanStatus::Complete => 0,
            SpanStatus::PartialStart => PARTIAL_START,
            SpanStatus::PartialEnd => PARTIAL_END,
            SpanStatus::Error => FAILED,
        });
    }

    fn kind(&mut self, id: EventTypeId) -> RowKind {
        let at = id.index();
        if self.kinds.len() <= at {
            self.kinds.resize(at + 1, None);
        }
        let Some(slot) = self.kinds.get_mut(at) else {
            return RowKind::Event;
        };
        if let Some(kind) = slot {
            return *kind;
        }
        let Some(row) = self.tables.event_type(id) else {
            return RowKind::Event;
        };
        let name = self.tables.text(row.name);
        let kind = if is_pause(&name) {
            RowKind::Pause
        } else if LOSSES.contains(&name.as_ref()) {
            RowKind::Loss
        } else if WaitKind::of_event(&name).is_some() {
            RowKind::Wait
        } else {
            RowKind::Event
        };
        *slot = Some(kind);
        kind
    }

    fn event(&mut self, row: &EventRow<'_>) {
        let kind = match self.kind(row.event_type) {
            // A wait without an end says that it began or ended; the pair of them is another event.
            RowKind::Wait if row.end.is_none() => RowKind::Event,
            kind => kind,
        };
        let tables = &self.tables;
        let detail = self.details.list(|add| {
            if let Some(owner) = row.owner {
                add("held by", &crate::text::track_name(tables, owner));
            }
            attributes(tables, row.attributes, add);
            if let Some(stack) = row.stack.filter(|_| kind == RowKind::Wait) {
                add("stack", &frames(tables, stack));
            }
        });
        let marks = self.marks.entry((kind, 0)).or_default();
        marks.start.push(row.time);
        marks.end.push(row.end.unwrap_or(row.time).max(row.time));
        marks.track.push(row.track.map_or(NONE, TrackId::raw));
        marks.name.push(row.event_type.raw());
        marks.detail.push(detail);
    }
}

/// The innermost frames of a stack, a line each.
pub(super) fn frames(tables: &Recording, stack: StackId) -> String {
    let stacks = std::iter::successors(tables.stack(stack), |row| tables.stack(row.parent?));
    let names = stacks.take(FRAMES).map(|row| frame_name(tables, row.frame));
    names.collect::<Vec<String>>().join("\n")
}

/// The function of a frame, or where it is when it has none.
pub(super) fn frame_name(tables: &Recording, frame: FrameId) -> String {
    match tables.frame(frame).and_then(|row| row.function) {
        Some(function) => symbol_of_function(tables, function).name,
        None => symbol_of_frame(tables, frame).name,
    }
}

/// A place in the input as one number: the part above 48 bits of offset.
fn place(origin: Origin) -> u64 {
    u64::from(origin.part.0) << 48 | origin.offset & ((1 << 48) - 1)
}

fn span_details(tables: &Recording, row: &SpanRow<'_>, add: &mut dyn FnMut(&str, &str)) {
    if let Some(kind) = row.kind {
        add("kind", &tables.text(kind));
    }
    attributes(tables, row.attributes, add);
    for &(id, value) in row.counters {
        let name = tables.value_type(id).map(|row| tables.text(row.name));
        add(name.as_deref().unwrap_or("counter"), &value.to_string());
    }
    if let Some(id) = row.exception {
        let value = traceloom_model::Value::Exception(id);
        add("exception", &value_text(tables, &value));
    }
    if let Some(context) = row.context.filter(|context| context.trace != 0) {
        add("trace", &format!("{:032x}", context.trace));
    }
}

fn attributes(tables: &Recording, attributes: &[Attribute], add: &mut dyn FnMut(&str, &str)) {
    for attribute in attributes {
        let key = tables.attribute_key(attribute.key);
        let name = key.map(|row| tables.text(row.name));
        let name = name.as_deref().unwrap_or("attribute");
        add(name, &value_text(tables, &attribute.value));
    }
}

impl Sink for Collector {
    fn asks(&self) -> Asks {
        Asks {
            wants: Wants::Spans,
            sampled_events: false,
            derived_samples: false,
            ..Asks::default()
        }
    }

    fn begin(&mut self, _order: Order, clock: Clock) {
        self.clock = clock;
    }

    fn define(&mut self, new: Definitions) -> Flow {
        self.tables.define(new)
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        batch.iter().for_each(|row| self.span(&row));
        Flow::Continue(())
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        for row in batch.iter() {
            let Some(time) = row.time else {
                self.timeless += 1;
                continue;
            };
            let kind = (RowKind::Sample, batch.profile.raw());
            let marks = self.marks.entry(kind).or_default();
            marks.start.push(time);
            marks.end.push(time);
            marks.track.push(row.track.map_or(NONE, TrackId::raw));
            marks.name.push(row.stack.map_or(NONE, |id| id.raw()));
            marks.detail.push(0);
        }
        Flow::Continue(())
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        batch.iter().for_each(|row| self.event(&row));
        Flow::Continue(())
    }

    fn counters(&mut self, batch: CounterBatch) -> Flow {
        for ((series, &time), &value) in batch.series.iter().zip(&batch.time).zip(&batch.value) {
            let points = self.points.entry(series.raw()).or_default();
            points.push((time, value));
        }
        Flow::Continue(())
    }

    fn forget(&mut self, strings: &[StringId]) {
        self.tables.drop_strings(strings);
    }

    fn note(&mut self, note: Note) -> Flow {
        if note.level == Level::Damage {
            if self.faults.len() < FAULTS {
                self.faults.push(InputDamage {
                    place: place(Origin {
                        part: note.part,
                        offset: note.offset,
                        index: 0,
                    }),
                    text: note.text,
                    count: note.count,
                });
            } else {
                self.more_faults += 1;
            }
        }
        Flow::Continue(())
    }
}
