//! Spans and events as markers, and the schemas that tell the profiler what to show of them.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use traceloom_model::{
    AttrKeyId, Attribute, EventRow, EventTypeId, FunctionId, Recording, SpanRow, Timestamp, Unit,
    Value, ValueTypeId,
};

use super::code::{Code, Libs};
use super::column::{column, constant, index, length, milliseconds, since, text};
use super::plan::Thread;
use crate::chrome::json;
use crate::label;
use crate::marks;
use crate::output::Buffered;

/// The schema of spans.
const SPAN: &str = "Span";
/// Keys of a schema that are shown; the others are in the file alone.
const SHOWN: usize = 200;
/// Largest integer that JavaScript holds.
const EXACT: u64 = 1 << 53;

/// How the values of one key are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Text,
    Integer,
    Decimal,
    Bytes,
    /// Nanoseconds, written as milliseconds.
    Duration,
}

impl Form {
    fn name(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Integer => "integer",
            Self::Decimal => "decimal",
            Self::Bytes => "bytes",
            Self::Duration => "duration",
        }
    }
}

fn form(value: &Value, unit: Unit) -> Form {
    let exact = match value {
        Value::I64(number) => number.unsigned_abs() < EXACT,
        Value::U64(number) => *number < EXACT,
        Value::F64(number) if number.is_finite() => return Form::Decimal,
        _ => false,
    };
    match (exact, unit) {
        (false, _) => Form::Text,
        (true, Unit::Bytes) => Form::Bytes,
        (true, Unit::Nanoseconds) => Form::Duration,
        (true, _) => Form::Integer,
    }
}

/// The forms of a schema's keys, by the keys' numbers.
type Forms = Vec<Option<Form>>;

/// The form of every key, for each schema by name.
#[derive(Default)]
pub(super) struct Schemas(BTreeMap<Vec<u8>, Forms>);

impl Schemas {
    /// Looks at everything that becomes a marker: a key has one form for all values of its schema.
    pub fn of(recording: &Recording) -> Self {
        let mut schemas = Self::default();
        if !recording.spans.is_empty() {
            let keys = schemas.0.entry(SPAN.into()).or_default();
            see(keys, recording.spans.attributes.all(), recording);
        }
        let mut names: HashMap<EventTypeId, Vec<u8>, RandomState> = HashMap::default();
        for event in recording.events.iter() {
            let name = names.entry(event.event_type);
            let name = name.or_insert_with(|| schema_name(recording, &event));
            if let Some(keys) = schemas.0.get_mut(name) {
                see(keys, event.attributes, recording);
                continue;
            }
            see(
                schemas.0.entry(name.clone()).or_default(),
                event.attributes,
                recording,
            );
        }
        schemas
    }

    pub fn put(&self, recording: &Recording, out: &mut Buffered<'_>) {
        column(out, "markerSchema", &self.0, |(name, keys), out| {
            out.extend_from_slice(b"{\"name\":");
            text(name, out);
            out.extend_from_slice(b",\"display\":[\"marker-chart\",\"marker-table\"");
            if name == SPAN.as_bytes() {
                out.extend_from_slice(b",\"timeline-overview\"");
            }
            out.extend_from_slice(
                b"],\"chartLabel\":\"{marker.name}\",\"tooltipLabel\":\"{marker.name}\",\"fields\":[",
            );
            let known = (0..).map(AttrKeyId::new).zip(keys);
            let known = known.filter_map(|(key, form)| Some((key, (*form)?)));
            for (at, (key, form)) in known.take(SHOWN).enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(b"{\"key\":");
                text(key_name(recording, key), out);
                out.extend_from_slice(b",\"label\":");
                text(plain_name(recording, key), out);
                out.extend_from_slice(b",\"format\":\"");
                out.extend_from_slice(form.name().as_bytes());
                out.extend_from_slice(b"\"}");
            }
            out.extend_from_slice(b"]}");
        });
    }
}

fn see(keys: &mut Forms, attributes: &[Attribute], recording: &Recording) {
    for attribute in attributes {
        let at = attribute.key.index();
        if keys.len() <= at {
            keys.resize(at + 1, None);
        }
        let Some(known) = keys.get_mut(at) else {
            continue;
        };
        // One text more does not make them anything else.
        if *known == Some(Form::Text) {
            continue;
        }
        let row = recording.attribute_key(attribute.key);
        let unit = row.map_or(Unit::Count, |row| row.unit);
        let form = form(&attribute.value, unit);
        *known = Some(match (known.unwrap_or(form), form) {
            (one, other) if one == other => one,
            (Form::Integer, Form::Decimal) | (Form::Decimal, Form::Integer) => Form::Decimal,
            _ => Form::Text,
        });
    }
}

fn schema_name(recording: &Recording, event: &EventRow<'_>) -> Vec<u8> {
    let row = recording.event_type(event.event_type);
    let name = row.map_or_else(
        || format!("#{}", event.event_type.raw()).into_bytes(),
        |row| label::text(recording, row.name),
    );
    if name == SPAN.as_bytes() {
        b"Span event".to_vec()
    } else {
        name
    }
}

/// What markers are written with: names as JSON, each made once.
struct Words<'r> {
    recording: &'r Recording,
    schemas: &'r Schemas,
    /// Keys of attributes by their id: `,"name":`, the number of the name, and what it is in the file.
    keys: HashMap<AttrKeyId, Key, RandomState>,
    numbers: HashMap<Vec<u8>, u32, RandomState>,
    counters: HashMap<ValueTypeId, Vec<u8>, RandomState>,
    functions: HashMap<Option<FunctionId>, u32, RandomState>,
    events: HashMap<EventTypeId, Known<'r>, RandomState>,
    of_spans: Option<&'r Forms>,
    /// Numbers of the names of one marker's attributes.
    met: Vec<u32>,
}

/// An event type: how its markers begin, and the number of their name.
struct Known<'r> {
    head: Vec<u8>,
    name: u32,
    forms: Option<&'r Forms>,
}

struct Key {
    name: Vec<u8>,
    number: u32,
    member: Vec<u8>,
}

impl<'r> Words<'r> {
    fn new(recording: &'r Recording, schemas: &'r Schemas) -> Self {
        Self {
            recording,
            schemas,
            keys: HashMap::default(),
            numbers: HashMap::default(),
            counters: HashMap::default(),
            functions: HashMap::default(),
            events: HashMap::default(),
            of_spans: schemas.0.get(SPAN.as_bytes()),
            met: Vec::new(),
        }
    }

    /// Writes attributes; a name that comes again gets a number, as an object has one member of each name.
    fn attributes(
        &mut self,
        attributes: &[Attribute],
        forms: Option<&'r Forms>,
        out: &mut Vec<u8>,
    ) {
        self.met.clear();
        for attribute in attributes {
            let (recording, numbers) = (self.recording, &mut self.numbers);
            let key = self.keys.entry(attribute.key).or_insert_with(|| {
                let name = key_name(recording, attribute.key);
                let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                Key {
                    number: *numbers.entry(name.clone()).or_insert(next),
                    member: as_member(&name),
                    name,
                }
            });
            let before = self.met.iter().filter(|&&met| met == key.number).count();
            if before == 0 {
                out.extend_from_slice(&key.member);
            } else {
                let mut name = key.name.clone();
                name.extend(format!("#{}", before + 1).bytes());
                out.extend_from_slice(&as_member(&name));
            }
            self.met.push(key.number);
            let form = forms.and_then(|keys| keys.get(attribute.key.index()).copied().flatten());
            let form = form.unwrap_or(Form::Text);
            put_value(&attribute.value, form, recording, out);
        }
    }

    /// Writes what a span is besides its times; returns the number of its name.
    fn span(&mut self, span: &SpanRow<'_>, code: &mut Code, out: &mut Vec<u8>) -> u32 {
        out.extend_from_slice(b"{\"type\":\"Span\"");
        if let Some(kind) = span.kind {
            member("span.kind", label::text(self.recording, kind), out);
        }
        if let Some(word) = marks::status_word(span.status) {
            member("span.status", word, out);
        }
        if let Some(context) = span.context {
            let (trace, span, parent) = (context.trace, context.span, context.parent);
            member("span.trace_id", format!("{trace:032x}"), out);
            member("span.id", format!("{span:016x}"), out);
            member("span.parent_id", format!("{parent:016x}"), out);
        }
        for &(id, value) in span.counters {
            out.extend_from_slice(self.counter(id));
            json::signed(value, out);
        }
        self.attributes(span.attributes, self.of_spans, out);
        out.push(b'}');
        self.function(span.function, code)
    }

    /// Writes what an event is besides its times; returns the number of its name.
    fn event(
        &mut self,
        event: &EventRow<'_>,
        (code, libs): (&mut Code, &mut Libs),
        out: &mut Vec<u8>,
    ) -> u32 {
        let (recording, schemas) = (self.recording, self.schemas);
        let known = self.events.entry(event.event_type).or_insert_with(|| {
            let schema = schema_name(recording, event);
            let mut head = b"{\"type\":".to_vec();
            text(&schema, &mut head);
            Known {
                name: code.string(&schema),
                head,
                forms: schemas.0.get(&schema),
            }
        });
        out.extend_from_slice(&known.head);
        let (name, forms) = (known.name, known.forms);
        if let Some(stack) = event.stack.and_then(|id| code.stack(id, recording, libs)) {
            out.extend_from_slice(b",\"cause\":{\"stack\":");
            index(stack, out);
            out.push(b'}');
        }
        self.attributes(event.attributes, forms, out);
        out.push(b'}');
        name
    }

    /// The number of a span's name among the strings of its thread.
    fn function(&mut self, id: Option<FunctionId>, code: &mut Code) -> u32 {
        let name = || code.string(&label::function(self.recording, id));
        *self.functions.entry(id).or_insert_with(name)
    }

    fn counter(&mut self, id: ValueTypeId) -> &[u8] {
        let recording = self.recording;
        self.counters.entry(id).or_insert_with(|| {
            let row = recording.value_type(id);
            let name = row.map(|row| label::text(recording, row.name));
            let mut key = b"counter.".to_vec();
            key.extend(name.unwrap_or_else(|| format!("#{}", id.raw()).into_bytes()));
            as_member(&key)
        })
    }
}

/// A member's name with what stands around it.
fn as_member(name: &[u8]) -> Vec<u8> {
    let mut member = vec![b','];
    text(name, &mut member);
    member.push(b':');
    member
}

fn plain_name(recording: &Recording, key: AttrKeyId) -> Vec<u8> {
    match recording.attribute_key(key) {
        Some(row) => label::text(recording, row.name),
        None => format!("#{}", key.raw()).into_bytes(),
    }
}

/// The name of a key, apart from the members that the profiler itself looks at.
fn key_name(recording: &Recording, key: AttrKeyId) -> Vec<u8> {
    let mut name = plain_name(recording, key);
    if matches!(
        &*name,
        b"type" | b"cause" | b"category" | b"stack" | b"innerWindowID"
    ) {
        name.insert(0, b'_');
    }
    name
}

/// Where a marker is in the recording.
#[derive(Clone, Copy)]
enum Row {
    Span(usize),
    Event(usize),
}

/// One marker.
struct Marker {
    start: Timestamp,
    end: Option<Timestamp>,
    row: Row,
    name: u32,
}

/// The markers of a thread by their start, their names still to be numbered.
fn markers(thread: &Thread, recording: &Recording) -> Vec<Marker> {
    let (spans, events) = (&recording.spans, &recording.events);
    let mut markers = Vec::with_capacity(thread.spans.len() + thread.events.len());
    markers.extend(thread.spans.iter().filter_map(|&row| {
        let start = *spans.start.get(row)?;
        Some(Marker {
            start,
            end: Some(start.max(*spans.end.get(row)?)),
            row: Row::Span(row),
            name: 0,
        })
    }));
    markers.extend(thread.events.iter().filter_map(|&row| {
        Some(Marker {
            start: *events.time.get(row)?,
            end: *events.end.get(row)?,
            row: Row::Event(row),
            name: 0,
        })
    }));
    markers.sort_by_key(|marker| marker.start);
    markers
}

/// Writes the markers of a thread, with a comma behind the table.
pub(super) fn put(
    thread: &Thread,
    recording: &Recording,
    schemas: &Schemas,
    base: Timestamp,
    (code, libs): (&mut Code, &mut Libs),
    out: &mut Buffered<'_>,
) {
    let mut words = Words::new(recording, schemas);
    let mut rows = markers(thread, recording);
    out.text("\"markers\":{");
    let all = 0..u32::try_from(rows.len()).unwrap_or(u32::MAX);
    column(out, "category", all, constant("0"));
    out.text("\"data\":[");
    for (at, marker) in rows.iter_mut().enumerate() {
        if at > 0 {
            out.bytes.push(b',');
        }
        let to = &mut out.bytes;
        marker.name = match marker.row {
            Row::Span(row) => match recording.spans.row(row) {
                Some(span) => words.span(&span, code, to),
                None => 0,
            },
            Row::Event(row) => match recording.events.row(row) {
                Some(event) => words.event(&event, (code, libs), to),
                None => 0,
            },
        };
        out.spill();
    }
    out.text("],");
    column(out, "endTime", &rows, |row, out| match row.end {
        Some(end) => since(base, end, out),
        None => out.extend_from_slice(b"null"),
    });
    column(out, "name", &rows, |row, out| index(row.name, out));
    // An instant, or an interval with both ends.
    column(out, "phase", &rows, |row, out| {
        index(u32::from(row.end.is_some()), out)
    });
    column(out, "startTime", &rows, |row, out| {
        since(base, row.start, out)
    });
    length(out, rows.len());
    out.text("},");
}

fn member(name: &str, value: impl AsRef<[u8]>, out: &mut Vec<u8>) {
    out.push(b',');
    text(name, out);
    out.push(b':');
    text(value, out);
}

fn put_value(value: &Value, form: Form, recording: &Recording, out: &mut Vec<u8>) {
    match (value, form) {
        (Value::I64(ns), Form::Duration) => milliseconds(i128::from(*ns), out),
        (Value::U64(ns), Form::Duration) => milliseconds(i128::from(*ns), out),
        (Value::I64(number), Form::Integer | Form::Decimal | Form::Bytes) => {
            json::signed(*number, out);
        }
        (Value::U64(number), Form::Integer | Form::Decimal | Form::Bytes) => {
            json::unsigned(*number, out);
        }
        (Value::F64(number), Form::Decimal) => json::float(*number, out),
        (Value::Text(id), _) => match recording.string(*id) {
            Some(known) => text(known.as_bytes(), out),
            None => text(format!("#{}", id.raw()), out),
        },
        _ => text(traceloom_model::flat::value_text(value, recording), out),
    }
}
