//! Text to native records: events, members, and what lies between them.

use traceloom_model::{Flow, Limits};

use super::event::TraceEvent;
use super::scout::EventsAhead;
use super::split::TraceSplitter;
use super::walk::TracePart;
use crate::text::json::{Document, Kind, Value};
use crate::{Chunk, Field, Opaque, Reader as Native, Record, RecordSink, Step};

/// Reads a trace.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    splitter: TraceSplitter,
    limits: Limits,
}

impl Reader {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            splitter: TraceSplitter::new(limits),
            limits: *limits,
        }
    }
}

/// A member of the outermost object and its parsed value.
struct MemberRecord<'a> {
    offset: u64,
    bytes: &'a [u8],
    key: Option<Value<'a>>,
    value: Option<Value<'a>>,
}

impl Record for MemberRecord<'_> {
    fn kind(&self) -> &'static str {
        "member"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        let Some(value) = self.value else { return };
        if let Some(key) = self.key.and_then(Value::text) {
            show("key", Field::Str(&key));
            return with_field(value, &mut |field| show("value", field));
        }
        with_members(value, show);
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.bytes);
    }
}

/// Shows each member of an object.
fn with_members(value: Value<'_>, show: &mut dyn FnMut(&str, Field<'_>)) {
    for member in value.items() {
        let key = member.key().unwrap_or_default();
        with_field(member, &mut |field| {
            show(&String::from_utf8_lossy(&key), field);
        });
    }
}

/// An event, which is parsed as far as it is asked for.
struct EventRecord<'a> {
    offset: u64,
    bytes: &'a [u8],
    event: TraceEvent<'a>,
    limits: &'a Limits,
}

impl Record for EventRecord<'_> {
    fn kind(&self) -> &'static str {
        "event"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        let document = Document::parse(self.bytes, self.limits);
        if let Some(value) = document.root() {
            with_members(value, show);
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.bytes);
    }

    fn time(&self) -> Option<(i64, i64)> {
        self.event.covered()
    }
}

/// Shows a scalar as itself, an object or array of scalars too, anything else by its size.
fn with_field(value: Value<'_>, show: &mut dyn FnMut(Field<'_>)) {
    const SHOWN: usize = 64;
    match value.kind() {
        Kind::Array | Kind::Object => {
            let items: Vec<Value<'_>> = value.items().take(SHOWN + 1).collect();
            let flat = |item: &Value<'_>| !matches!(item.kind(), Kind::Array | Kind::Object);
            if items.len() > SHOWN || !items.iter().all(flat) {
                let count = Field::U64(value.items().count() as u64);
                return show(Field::Map(&[(Field::Str("items"), count)]));
            }
            let texts: Vec<_> = items.iter().map(|item| item.bytes()).collect();
            let keys: Vec<_> = items.iter().map(|item| item.key()).collect();
            let fields = items.iter().zip(&texts);
            let fields = fields.map(|(item, text)| scalar(*item, text.as_deref()));
            if value.kind() == Kind::Array {
                let list: Vec<Field<'_>> = fields.collect();
                return show(Field::List(&list));
            }
            let named = keys
                .iter()
                .map(|key| Field::Text(key.as_deref().unwrap_or(&[])));
            let pairs: Vec<_> = named.zip(fields).collect();
            show(Field::Map(&pairs));
        }
        _ => show(scalar(value, value.bytes().as_deref())),
    }
}

fn scalar<'f>(value: Value<'f>, text: Option<&'f [u8]>) -> Field<'f> {
    match value.kind() {
        Kind::True => Field::Bool(true),
        Kind::False => Field::Bool(false),
        Kind::Number => match (value.u64(), value.i64()) {
            (Some(unsigned), _) => Field::U64(unsigned),
            (None, Some(signed)) => Field::I64(signed),
            (None, None) => Field::F64(value.f64().unwrap_or(0.0)),
        },
        Kind::String => Field::Text(text.unwrap_or_default()),
        _ => Field::Null,
    }
}

impl Native for Reader {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        let limits = self.limits;
        self.splitter
            .walk(chunk, &mut EventsAhead::nothing(), &mut |part| {
                record(&part, &limits, out)
            })
    }
}

/// Hands on a part as a record, and what is to be said of it.
fn record(part: &TracePart<'_>, limits: &Limits, out: &mut dyn RecordSink) -> Flow {
    match *part {
        TracePart::Text { offset, bytes } => out.record(&Opaque {
            kind: "text",
            offset,
            bytes,
        }),
        TracePart::Event {
            offset,
            bytes,
            event,
            ..
        } => {
            part.each_note(&mut |note| out.note(note))?;
            out.record(&EventRecord {
                offset,
                bytes,
                event,
                limits,
            })
        }
        TracePart::Member {
            offset,
            bytes,
            key,
            value,
            ..
        } => {
            part.each_note(&mut |note| out.note(note))?;
            out.record(&MemberRecord {
                offset,
                bytes,
                key: key.root(),
                value: value.root(),
            })
        }
        TracePart::Damage { offset, bytes, .. } => {
            out.record(&Opaque::damage(offset, bytes))?;
            part.each_note(&mut |note| out.note(note))
        }
        TracePart::Unterminated { .. } => part.each_note(&mut |note| out.note(note)),
    }
}
