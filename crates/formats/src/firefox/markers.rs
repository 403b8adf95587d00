//! Spans and events as markers, and the schemas that tell the profiler what to show of them.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use traceloom_model::{
    AttrKeyId, Attribute, EventRow, EventTypeId, FunctionId, Recording, SpanRow, SpanStatus,
    Timestamp, Unit, Value, ValueTypeId,
};

use super::code::{Code, Libs};
use super::column::{column, constant, index, length, milliseconds, since, text};
use super::plan::Thread;
use crate::chrome::json;
use crate::label;
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

/// Key and form of every attribute, for each schema by name.
#[derive(Default)]
pub(super) struct Schemas(BTreeMap<Vec<u8>, BTreeMap<AttrKeyId, Form>>);

impl Schemas {
    /// Looks at everything that becomes a marker: a key has one form for all values of its schema.
    pub fn of(recording: &Recording) -> Self {
        let mut schemas = Self::default();
        if !recording.spans.is_empty() {
            let keys = schemas.0.entry(SPAN.into()).or_default();
            see(keys, recording.spans.attributes.all(), recording);
        }
        for event in recording.events.iter() {
            let keys = schemas.0.entry(schema_name(recording, &event)).or_default();
            see(keys, event.attributes, recording);
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
            for (at, (&key, form)) in keys.iter().take(SHOWN).enumerate() {
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

fn see(keys: &mut BTreeMap<AttrKeyId, Form>, attributes: &[Attribute], recording: &Recording) {
    for attribute in attributes {
        let row = recording.attribute_key(attribute.key);
        let unit = row.map_or(Unit::Count, |row| row.unit);
        let form = form(&attribute.value, unit);
        let known = keys.entry(attribute.key).or_insert(form);
        *known = match (*known, form) {
            (one, other) if one == other => one,
            (Form::Integer, Form::Decimal) | (Form::Decimal, Form::Integer) => Form::Decimal,
            _ => Form::Text,
        };
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
    events: HashMap<EventTypeId, (Vec<u8>, u32), RandomState>,
    /// Numbers of the names of one marker's attributes.
    met: Vec<u32>,
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
            met: Vec::new(),
        }
    }

    /// Writes attributes; a name that comes again gets a number, as an object has one member of each name.
    fn attributes(&mut self, attributes: &[Attribute], schema: &[u8], out: &mut Vec<u8>) {
        let forms = self.schemas.0.get(schema);
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
            let form = forms.and_then(|keys| keys.get(&attribute.key));
            let form = form.copied().unwrap_or(Form::Text);
            put_value(&attribute.value, form, recording, out);
        }
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

/// One marker, its payload as JSON.
struct Marker {
    name: u32,
    start: Timestamp,
    end: Option<Timestamp>,
    data: (usize, usize),
}

/// Writes the markers of a thread by their start, with a comma behind the table.
pub(super) fn put(
    thread: &Thread,
    recording: &Recording,
    schemas: &Schemas,
    base: Timestamp,
    (code, libs): (&mut Code, &mut Libs),
    out: &mut Buffered<'_>,
) {
    let mut words = Words::new(recording, schemas);
    let mut data = Vec::new();
    let mut markers = Vec::with_capacity(thread.spans.len() + thread.events.len());
    for span in thread
        .spans
        .iter()
        .filter_map(|&row| recording.spans.row(row))
    {
        let from = data.len();
        put_span(&span, &mut words, &mut data);
        markers.push(Marker {
            name: words.function(span.function, code),
            start: span.start,
            end: Some(span.end.max(span.start)),
            data: (from, data.len()),
        });
    }
    for event in thread
        .events
        .iter()
        .filter_map(|&row| recording.events.row(row))
    {
        let from = data.len();
        let known = words.events.get(&event.event_type).cloned();
        let (schema, name) = known.unwrap_or_else(|| {
            let schema = schema_name(recording, &event);
            let name = code.string(&schema);
            words
                .events
                .insert(event.event_type, (schema.clone(), name));
            (schema, name)
        });
        let stack = event.stack.and_then(|id| code.stack(id, recording, libs));
        begin(&schema, &mut data);
        if let Some(stack) = stack {
            data.extend_from_slice(b",\"cause\":{\"stack\":");
            index(stack, &mut data);
            data.push(b'}');
        }
        words.attributes(event.attributes, &schema, &mut data);
        data.push(b'}');
        markers.push(Marker {
            name,
            start: event.time,
            end: event.end,
            data: (from, data.len()),
        });
    }
    markers.sort_by_key(|marker| marker.start);
    let rows = &markers;
    out.text("\"markers\":{");
    let all = 0..u32::try_from(rows.len()).unwrap_or(u32::MAX);
    column(out, "category", all, constant("0"));
    column(out, "data", rows, |row, out| {
        out.extend_from_slice(data.get(row.data.0..row.data.1).unwrap_or(b"null"));
    });
    column(out, "endTime", rows, |row, out| match row.end {
        Some(end) => since(base, end, out),
        None => out.extend_from_slice(b"null"),
    });
    column(out, "name", rows, |row, out| index(row.name, out));
    // An instant, or an interval with both ends.
    column(out, "phase", rows, |row, out| {
        index(u32::from(row.end.is_some()), out)
    });
    column(out, "startTime", rows, |row, out| {
        since(base, row.start, out)
    });
    length(out, rows.len());
    out.text("},");
}

fn begin(schema: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\":");
    text(schema, out);
}

fn member(name: &str, value: impl AsRef<[u8]>, out: &mut Vec<u8>) {
    out.push(b',');
    text(name, out);
    out.push(b':');
    text(value, out);
}

fn put_span(span: &SpanRow<'_>, words: &mut Words<'_>, out: &mut Vec<u8>) {
    begin(SPAN.as_bytes(), out);
    if let Some(kind) = span.kind {
        member("span.kind", label::text(words.recording, kind), out);
    }
    match span.status {
        SpanStatus::Complete => {}
        SpanStatus::PartialStart => member("span.status", "partial_start", out),
        SpanStatus::PartialEnd => member("span.status", "partial_end", out),
        SpanStatus::Error => member("span.status", "error", out),
    }
    if let Some(context) = span.context {
        let (trace, span, parent) = (context.trace, context.span, context.parent);
        member("span.trace_id", format!("{trace:032x}"), out);
        member("span.id", format!("{span:016x}"), out);
        member("span.parent_id", format!("{parent:016x}"), out);
    }
    for &(id, value) in span.counters {
        out.extend_from_slice(words.counter(id));
        json::signed(value, out);
    }
    words.attributes(span.attributes, SPAN.as_bytes(), out);
    out.push(b'}');
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
