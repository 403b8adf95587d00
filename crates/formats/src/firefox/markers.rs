//! Spans and events as markers.

use std::collections::HashMap;
use std::mem;

use foldhash::fast::RandomState;
use traceloom_model::bounds::row_number;
use traceloom_model::flat::{put_value, value_text};
use traceloom_model::{
    AttrKeyId, EventTypeId, Recording, StringId, Text, Timestamp, Value, ValueTypeId,
};

use super::code::CodeTables;
use super::column::{
    StoredText, column, index, indices, length, milliseconds, repeated, text, times,
};
use super::forms::{Forms, SPAN, Schemas, ValueForm, key_name, schema_name};
use super::kept::{MarkerField, MarkerItems, MarkerKind, Markers};
use super::order::MarkerOrder;
use super::rows::MarkerRows;
use crate::codec::Buffered;
use crate::spans::reserved_args;
use crate::text::label;
use crate::text::scalars;

/// What markers are written with: names as JSON, each made once.
pub(super) struct MarkerTexts<'r> {
    recording: &'r Recording,
    rows: &'r MarkerRows,
    schemas: &'r Schemas,
    keys: Vec<Option<AttributeName>>,
    numbers: HashMap<Vec<u8>, u32, RandomState>,
    /// How often each name came, by its number, and in which marker that was counted.
    met: Vec<(u64, u32)>,
    /// Markers written.
    marker: u64,
    counters: Vec<Option<StoredText>>,
    events: Vec<Option<EventTypeText<'r>>>,
    of_spans: Option<&'r Forms>,
    /// The value under way.
    value: String,
    order: MarkerOrder,
    /// The names of a thread's markers.
    names: Vec<u32>,
}

/// An event type: how its markers begin, and the text of their name.
struct EventTypeText<'r> {
    head: StoredText,
    name: u32,
    forms: Option<&'r Forms>,
}

/// The name of an attribute: its number, and as a member.
struct AttributeName {
    number: u32,
    member: StoredText,
}

/// Returns what a table has in a place, made when it is not there.
fn made<T>(table: &mut Vec<Option<T>>, at: usize, make: impl FnOnce() -> T) -> Option<&T> {
    if table.len() <= at {
        table.resize_with(at + 1, || None);
    }
    let slot = table.get_mut(at)?;
    Some(slot.get_or_insert_with(make))
}

impl<'r> MarkerTexts<'r> {
    pub fn new(recording: &'r Recording, rows: &'r MarkerRows, schemas: &'r Schemas) -> Self {
        Self {
            recording,
            rows,
            schemas,
            keys: Vec::new(),
            numbers: HashMap::default(),
            met: Vec::new(),
            marker: 0,
            counters: Vec::new(),
            events: Vec::new(),
            of_spans: schemas.get(SPAN.as_bytes()),
            value: String::new(),
            order: MarkerOrder::default(),
            names: Vec::new(),
        }
    }

    /// Writes the data of a marker; returns the number of its name.
    fn data(
        &mut self,
        (what, mut items): (MarkerKind, MarkerItems<'_>),
        code: &mut CodeTables<'r>,
        out: &mut Vec<u8>,
    ) -> u32 {
        self.marker += 1;
        let (name, forms) = match what {
            MarkerKind::Span(function) => {
                out.extend_from_slice(b"{\"type\":\"Span\"");
                (code.name(function), self.of_spans)
            }
            MarkerKind::Event(id) | MarkerKind::Instant(id) => match self.event(id, code) {
                Some(known) => {
                    known.head.put(out);
                    (code.string(known.name), known.forms)
                }
                None => (0, None),
            },
        };
        let first = items.next();
        let alone = items.is_empty();
        for item in first.into_iter().chain(items) {
            self.item(item, (forms, alone), code, out);
        }
        out.push(b'}');
        name
    }

    fn item(
        &mut self,
        item: MarkerField,
        (forms, alone): (Option<&Forms>, bool),
        code: &mut CodeTables<'r>,
        out: &mut Vec<u8>,
    ) {
        let key = match item {
            MarkerField::I64(key, _)
            | MarkerField::U64(key, _)
            | MarkerField::F64(key, _)
            | MarkerField::Bool(key, _)
            | MarkerField::Text(key, _)
            | MarkerField::Value(key, _) => key,
            MarkerField::Kind(kind) => {
                out.extend_from_slice(b",\"span.kind\":");
                return self.string(kind, out);
            }
            MarkerField::Status(status) => {
                return member(
                    "span.status",
                    reserved_args::status_word(status).unwrap_or(""),
                    out,
                );
            }
            MarkerField::Context(at) => return self.context(at, out),
            MarkerField::Counter(id, value) => {
                self.counter(id, out);
                return scalars::signed(value, out);
            }
            MarkerField::Cause(stack) => {
                if let Some(stack) = code.stack(stack) {
                    out.extend_from_slice(b",\"cause\":{\"stack\":");
                    index(stack, out);
                    out.push(b'}');
                }
                return;
            }
        };
        self.key(key, alone, out);
        let form = forms.map_or(ValueForm::Text, |forms| forms.of(key));
        match (item, form) {
            (MarkerField::I64(_, ns), ValueForm::Duration) => milliseconds(i128::from(ns), out),
            (MarkerField::U64(_, ns), ValueForm::Duration) => milliseconds(i128::from(ns), out),
            (
                MarkerField::I64(_, number),
                ValueForm::Integer | ValueForm::Decimal | ValueForm::Bytes,
            ) => {
                scalars::signed(number, out);
            }
            (
                MarkerField::U64(_, number),
                ValueForm::Integer | ValueForm::Decimal | ValueForm::Bytes,
            ) => {
                scalars::unsigned(number, out);
            }
            (MarkerField::F64(_, number), ValueForm::Decimal) => scalars::float(number, out),
            (MarkerField::Text(_, id), _) => self.string(id, out),
            (MarkerField::I64(_, number), _) => {
                out.push(b'"');
                scalars::decimal(number, out);
                out.push(b'"');
            }
            (MarkerField::U64(_, number), _) => {
                out.push(b'"');
                scalars::digits(number, out);
                out.push(b'"');
            }
            (MarkerField::F64(_, number), _) if number.is_finite() => {
                out.push(b'"');
                scalars::float(number, out);
                out.push(b'"');
            }
            (MarkerField::F64(_, number), _) => {
                text(value_text(&Value::F64(number), self.recording), out);
            }
            (MarkerField::Bool(_, yes), _) => text(if yes { "true" } else { "false" }, out),
            (MarkerField::Value(_, at), _) => {
                let value = self.rows.values.get(at as usize).unwrap_or(&Value::Null);
                self.value.clear();
                put_value(value, self.recording, &mut self.value);
                out.push(b'"');
                scalars::valid(&self.value, out);
                out.push(b'"');
            }
            (_, _) => {}
        }
    }

    /// Writes the name of an attribute; one that comes again gets a number, as an object has one member of
    /// each name, which one that is `alone` does not.
    fn key(&mut self, id: AttrKeyId, alone: bool, out: &mut Vec<u8>) {
        let (recording, numbers, met) = (self.recording, &mut self.numbers, &mut self.met);
        let key = made(&mut self.keys, id.index(), || {
            let name = key_name(recording, id);
            let mut member = vec![b','];
            text(&name, &mut member);
            member.push(b':');
            let next = row_number(numbers.len());
            let number = *numbers.entry(name).or_insert(next);
            if number == next {
                met.push((0, 0));
            }
            AttributeName {
                number,
                member: StoredText::of(&member),
            }
        });
        let Some(key) = key else { return };
        if alone {
            return key.member.put(out);
        }
        let Some((marker, count)) = self.met.get_mut(key.number as usize) else {
            return;
        };
        if *marker != self.marker {
            (*marker, *count) = (self.marker, 0);
        }
        *count += 1;
        key.member.put(out);
        if *count > 1 {
            // In front of the quote and the colon.
            out.truncate(out.len().saturating_sub(2));
            out.push(b'#');
            index(*count, out);
            out.extend_from_slice(b"\":");
        }
    }

    fn string(&self, id: StringId, out: &mut Vec<u8>) {
        let known = self.recording.string(id);
        match (known.and_then(Text::as_str), known) {
            (Some(valid), _) => {
                out.push(b'"');
                scalars::valid(valid, out);
                out.push(b'"');
            }
            (None, Some(known)) => text(known.as_bytes(), out),
            (None, None) => text(label::text(self.recording, id), out),
        }
    }

    fn context(&self, at: u32, out: &mut Vec<u8>) {
        let Some(context) = self.rows.contexts.get(at as usize) else {
            return;
        };
        out.extend_from_slice(b",\"span.trace_id\":");
        scalars::hex(&context.trace.to_be_bytes(), out);
        out.extend_from_slice(b",\"span.id\":");
        scalars::hex(&context.span.to_be_bytes(), out);
        out.extend_from_slice(b",\"span.parent_id\":");
        scalars::hex(&context.parent.to_be_bytes(), out);
    }

    fn event(&mut self, id: EventTypeId, code: &mut CodeTables<'r>) -> Option<&EventTypeText<'r>> {
        let (recording, schemas) = (self.recording, self.schemas);
        made(&mut self.events, id.index(), || {
            let schema = schema_name(recording, id);
            let mut head = b"{\"type\":".to_vec();
            text(&schema, &mut head);
            EventTypeText {
                head: StoredText::of(&head),
                name: code.text(&schema),
                forms: schemas.get(&schema),
            }
        })
    }

    fn counter(&mut self, id: ValueTypeId, out: &mut Vec<u8>) {
        let recording = self.recording;
        let name = made(&mut self.counters, id.index(), || {
            let row = recording.value_type(id);
            let name = row.map(|row| label::text(recording, row.name));
            let mut key = b"counter.".to_vec();
            key.extend(name.unwrap_or_else(|| format!("#{}", id.raw()).into_bytes()));
            let mut member = vec![b','];
            text(key, &mut member);
            member.push(b':');
            StoredText::of(&member)
        });
        if let Some(name) = name {
            name.put(out);
        }
    }

    /// Writes the markers of a thread, with a comma behind the table.
    pub fn put(
        &mut self,
        markers: &Markers,
        base: Timestamp,
        code: &mut CodeTables<'r>,
        out: &mut Buffered<'_>,
    ) {
        let (mut order, mut names) = (mem::take(&mut self.order), mem::take(&mut self.names));
        let places = order.of(markers);
        out.text("\"markers\":{");
        repeated(out, "category", places.len(), "0");
        out.text("\"data\":[");
        names.clear();
        for marker in places.iter().filter_map(|&at| markers.get(at)) {
            if !names.is_empty() {
                out.bytes.push(b',');
            }
            names.push(self.data(marker, code, &mut out.bytes));
            out.spill();
        }
        out.text("],");
        times(
            out,
            "endTime",
            base,
            places.iter().map(|&at| markers.end(at)),
        );
        indices(out, "name", names.iter().copied());
        // An instant, or an interval with both ends.
        if markers.has_events {
            column(out, "phase", places, |&at, out| {
                out.push(if markers.end(at).is_none() {
                    b'0'
                } else {
                    b'1'
                });
            });
        } else {
            repeated(out, "phase", places.len(), "1");
        }
        times(
            out,
            "startTime",
            base,
            places.iter().map(|&at| markers.start(at)),
        );
        length(out, places.len());
        out.text("},");
        (self.order, self.names) = (order, names);
    }
}

fn member(name: &str, value: impl AsRef<[u8]>, out: &mut Vec<u8>) {
    out.push(b',');
    text(name, out);
    out.push(b':');
    text(value, out);
}
