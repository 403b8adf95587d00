//! Spans and events as markers.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::flat::value_text;
use traceloom_model::{
    AttrKeyId, EventTypeId, Recording, StringId, Text, Timestamp, Value, ValueTypeId,
};

use super::code::Code;
use super::column::{column, index, length, milliseconds, repeated, since, text};
use super::forms::{Form, Forms, SPAN, Schemas, key_name, schema_name};
use super::rows::{Item, Marker, Markers, Rows, What};
use crate::chrome::json;
use crate::label;
use crate::marks;
use crate::output::Buffered;

/// What markers are written with: names as JSON, each made once.
pub(super) struct Words<'r> {
    recording: &'r Recording,
    rows: &'r Rows,
    schemas: &'r Schemas,
    keys: Vec<Option<Key>>,
    numbers: HashMap<Vec<u8>, u32, RandomState>,
    /// How often each name came, by its number, and in which marker that was counted.
    met: Vec<(u64, u32)>,
    /// Markers written.
    marker: u64,
    counters: Vec<Option<Box<[u8]>>>,
    events: Vec<Option<Known<'r>>>,
    of_spans: Option<&'r Forms>,
}

/// An event type: how its markers begin, and the text of their name.
struct Known<'r> {
    head: Box<[u8]>,
    name: u32,
    forms: Option<&'r Forms>,
}

/// The name of an attribute: its number, and as a member.
struct Key {
    number: u32,
    member: Box<[u8]>,
}

/// Returns what a table has in a place, made when it is not there.
fn made<T>(table: &mut Vec<Option<T>>, at: usize, make: impl FnOnce() -> T) -> Option<&T> {
    if table.len() <= at {
        table.resize_with(at + 1, || None);
    }
    let slot = table.get_mut(at)?;
    Some(slot.get_or_insert_with(make))
}

impl<'r> Words<'r> {
    pub fn new(recording: &'r Recording, rows: &'r Rows, schemas: &'r Schemas) -> Self {
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
        }
    }

    /// Writes the data of a marker; returns the number of its name.
    fn data(
        &mut self,
        marker: &Marker,
        items: &[Item],
        code: &mut Code<'r>,
        out: &mut Vec<u8>,
    ) -> u32 {
        self.marker += 1;
        let (name, forms) = match marker.what {
            What::Span(function) => {
                out.extend_from_slice(b"{\"type\":\"Span\"");
                (code.name(function), self.of_spans)
            }
            What::Event(id) | What::Instant(id) => match self.event(id, code) {
                Some(known) => {
                    out.extend_from_slice(&known.head);
                    (code.string(known.name), known.forms)
                }
                None => (0, None),
            },
        };
        for item in items {
            self.item(item, forms, code, out);
        }
        out.push(b'}');
        name
    }

    fn item(&mut self, item: &Item, forms: Option<&Forms>, code: &mut Code<'r>, out: &mut Vec<u8>) {
        let key = match *item {
            Item::I64(key, _)
            | Item::U64(key, _)
            | Item::F64(key, _)
            | Item::Bool(key, _)
            | Item::Text(key, _)
            | Item::Value(key, _) => key,
            Item::Kind(kind) => {
                out.extend_from_slice(b",\"span.kind\":");
                return self.string(kind, out);
            }
            Item::Status(status) => {
                return member("span.status", marks::status_word(status).unwrap_or(""), out);
            }
            Item::Context(at) => return self.context(at, out),
            Item::Counter(id, value) => {
                self.counter(id, out);
                return json::signed(value, out);
            }
            Item::Cause(stack) => {
                if let Some(stack) = code.stack(stack) {
                    out.extend_from_slice(b",\"cause\":{\"stack\":");
                    index(stack, out);
                    out.push(b'}');
                }
                return;
            }
        };
        self.key(key, out);
        let form = forms.map_or(Form::Text, |forms| forms.of(key));
        match (*item, form) {
            (Item::I64(_, ns), Form::Duration) => milliseconds(i128::from(ns), out),
            (Item::U64(_, ns), Form::Duration) => milliseconds(i128::from(ns), out),
            (Item::I64(_, number), Form::Integer | Form::Decimal | Form::Bytes) => {
                json::signed(number, out);
            }
            (Item::U64(_, number), Form::Integer | Form::Decimal | Form::Bytes) => {
                json::unsigned(number, out);
            }
            (Item::F64(_, number), Form::Decimal) => json::float(number, out),
            (Item::Text(_, id), _) => self.string(id, out),
            (Item::I64(_, number), _) => {
                out.push(b'"');
                if number < 0 {
                    out.push(b'-');
                }
                json::digits(number.unsigned_abs(), out);
                out.push(b'"');
            }
            (Item::U64(_, number), _) => {
                out.push(b'"');
                json::digits(number, out);
                out.push(b'"');
            }
            (Item::F64(_, number), _) if number.is_finite() => {
                out.push(b'"');
                json::float(number, out);
                out.push(b'"');
            }
            (Item::F64(_, number), _) => {
                text(value_text(&Value::F64(number), self.recording), out);
            }
            (Item::Bool(_, yes), _) => text(if yes { "true" } else { "false" }, out),
            (Item::Value(_, at), _) => {
                let value = self.rows.values.get(at as usize).unwrap_or(&Value::Null);
                text(value_text(value, self.recording), out);
            }
            (_, _) => {}
        }
    }

    /// Writes the name of an attribute; one that comes again gets a number, as an object has one member of
    /// each name.
    fn key(&mut self, id: AttrKeyId, out: &mut Vec<u8>) {
        let (recording, numbers, met) = (self.recording, &mut self.numbers, &mut self.met);
        let key = made(&mut self.keys, id.index(), || {
            let name = key_name(recording, id);
            let mut member = vec![b','];
            text(&name, &mut member);
            member.push(b':');
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            let number = *numbers.entry(name).or_insert(next);
            if number == next {
                met.push((0, 0));
            }
            Key {
                number,
                member: member.into(),
            }
        });
        let Some(key) = key else { return };
        let Some((marker, count)) = self.met.get_mut(key.number as usize) else {
            return;
        };
        if *marker != self.marker {
            (*marker, *count) = (self.marker, 0);
        }
        *count += 1;
        out.extend_from_slice(&key.member);
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
                json::valid(valid, out);
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
        json::hex(&context.trace.to_be_bytes(), out);
        out.extend_from_slice(b",\"span.id\":");
        json::hex(&context.span.to_be_bytes(), out);
        out.extend_from_slice(b",\"span.parent_id\":");
        json::hex(&context.parent.to_be_bytes(), out);
    }

    fn event(&mut self, id: EventTypeId, code: &mut Code<'r>) -> Option<&Known<'r>> {
        let (recording, schemas) = (self.recording, self.schemas);
        made(&mut self.events, id.index(), || {
            let schema = schema_name(recording, id);
            let mut head = b"{\"type\":".to_vec();
            text(&schema, &mut head);
            Known {
                head: head.into(),
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
            member.into()
        });
        out.extend_from_slice(name.map_or(&[], |name| name));
    }

    /// Writes the markers of a thread, with a comma behind the table.
    pub fn put(
        &mut self,
        markers: &mut Markers,
        base: Timestamp,
        code: &mut Code<'r>,
        out: &mut Buffered<'_>,
    ) {
        markers.sort();
        let rows = markers.rows();
        out.text("\"markers\":{");
        repeated(out, "category", rows.len(), b"0");
        out.text("\"data\":[");
        let mut names = Vec::with_capacity(rows.len());
        for (at, marker) in rows.iter().enumerate() {
            if at > 0 {
                out.bytes.push(b',');
            }
            let items = markers.items(marker);
            names.push(self.data(marker, items, code, &mut out.bytes));
            out.spill();
        }
        out.text("],");
        let is_instant = |row: &Marker| matches!(row.what, What::Instant(_));
        column(out, "endTime", rows, |row, out| {
            if is_instant(row) {
                out.extend_from_slice(b"null");
            } else {
                since(base, row.end, out);
            }
        });
        column(out, "name", names, index);
        // An instant, or an interval with both ends.
        column(out, "phase", rows, |row, out| {
            out.push(if is_instant(row) { b'0' } else { b'1' });
        });
        column(out, "startTime", rows, |row, out| {
            since(base, row.start, out)
        });
        length(out, rows.len());
        out.text("},");
    }
}

fn member(name: &str, value: impl AsRef<[u8]>, out: &mut Vec<u8>) {
    out.push(b',');
    text(name, out);
    out.push(b':');
    text(value, out);
}
