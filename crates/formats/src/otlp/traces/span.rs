//! What is encoded of a span beside its ids (SPEC.md §7).

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    Attribute, EventRow, ExceptionId, Recording, Resource, ResourceId, SpanRow, SpanStatus,
    StackId, Timestamp, Track, TrackId, TrackKind, Value,
};

use super::{KINDS, names};
use crate::otlp::value::{put_attribute, put_pair};
use crate::protobuf::{Wire, put_bytes, put_fixed64, put_message, put_number, put_tag};
use crate::spans::reserved_args;
use crate::wire::put_leb128;

/// A scope of the recording, by its number; 0 is the one without a name.
pub(super) type ScopeNumber = usize;

/// Encodes spans and events by what is defined.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    pub(super) tables: Recording,
    /// Names and versions of scopes.
    scopes: Vec<[Option<String>; 2]>,
    numbers: HashMap<[Option<String>; 2], ScopeNumber, RandomState>,
}

/// Levels of tracks and resources that are followed upwards.
const LEVELS: usize = 16;

impl Encoder {
    /// Encodes a span but for its ids, its parent, and what follows from them; returns its scope.
    pub(super) fn span(&mut self, span: &SpanRow<'_>, out: &mut Vec<u8>) -> ScopeNumber {
        if let Some(function) = span.function {
            let name = match self.tables.function(function) {
                Some(row) => self.tables.text(row.name),
                None => format!("#{}", function.raw()).into(),
            };
            put_bytes(out, 5, name.as_bytes());
        }
        let kind = span.kind.map(|kind| self.tables.text(kind));
        let number = kind.as_ref().and_then(|kind| {
            let found = KINDS.iter().position(|known| known == kind);
            found.filter(|&number| number > 0)
        });
        match (number, &kind) {
            (Some(number), _) => put_number(out, 6, number as u64),
            (None, Some(kind)) => put_text(out, 9, names::KIND, kind),
            (None, None) => {}
        }
        put_times(out, [7, 8], span.start, span.end.max(span.start));
        let mut scope = [None, None];
        let mut status = OwnStatus::default();
        for attribute in span.attributes {
            self.attribute(attribute, &mut scope, &mut status, out);
        }
        self.track(Some(span.track), 9, out);
        if !span.counters.is_empty() {
            self.counters(span.counters, out);
        }
        if let Some(exception) = span.exception {
            self.exception(exception, span.end, out);
        }
        match span.status {
            SpanStatus::Complete => {}
            SpanStatus::Error => status.code = 2,
            SpanStatus::PartialStart | SpanStatus::PartialEnd => {
                let word = reserved_args::status_word(span.status).unwrap_or_default();
                put_text(out, 9, names::STATUS, word);
            }
        }
        status.put(out);
        self.scope(scope)
    }

    /// Writes an attribute as what it was read from, or as it is.
    fn attribute(
        &self,
        attribute: &Attribute,
        scope: &mut [Option<String>; 2],
        status: &mut OwnStatus,
        out: &mut Vec<u8>,
    ) {
        let key = self.tables.attribute_key(attribute.key);
        let name = key.map(|key| self.tables.text(key.name));
        match (name.as_deref().unwrap_or_default(), &attribute.value) {
            (names::SCOPE, Value::Text(text)) if scope[0].is_none() => {
                scope[0] = Some(self.tables.text(*text).into_owned());
            }
            (names::SCOPE_VERSION, Value::Text(text)) if scope[1].is_none() => {
                scope[1] = Some(self.tables.text(*text).into_owned());
            }
            (names::STATUS_MESSAGE, Value::Text(text)) if status.message.is_empty() => {
                status.message = self.tables.text(*text).into_owned();
            }
            (names::STATUS_CODE, Value::Text(text)) if self.tables.text(*text) == "OK" => {
                status.code = 1;
            }
            (names::TRACE_STATE, Value::Text(text)) => {
                put_bytes(out, 3, self.tables.text(*text).as_bytes());
            }
            (names::FLAGS, &Value::I64(flags)) if u32::try_from(flags).is_ok() => {
                put_tag(out, 16, Wire::Fixed32);
                out.extend(flags.to_le_bytes().iter().take(4));
            }
            (names::LINK, Value::Map(pairs)) if self.link(pairs, out) => {}
            (name, &Value::I64(count)) if count > 0 && dropped(name).is_some() => {
                put_number(out, dropped(name).unwrap_or_default(), count.unsigned_abs());
            }
            _ => put_attribute(out, 9, attribute, &self.tables),
        }
    }

    /// Writes a link that the reader kept as a map; returns false for another map.
    fn link(&self, pairs: &[(Value, Value)], out: &mut Vec<u8>) -> bool {
        let mut link = Vec::new();
        let mut found = [false; 2];
        for (key, value) in pairs {
            let Value::Text(key) = key else { return false };
            let text = match value {
                Value::Text(text) => Some(self.tables.text(*text)),
                _ => None,
            };
            let key = self.tables.text(*key);
            match (&*key, text) {
                ("trace_id", Some(text)) if !found[0] => match unhex(&text) {
                    Some(id) => (found[0], _) = (true, put_bytes(&mut link, 1, &id)),
                    None => return false,
                },
                ("span_id", Some(text)) if !found[1] => match unhex(&text) {
                    Some(id) => (found[1], _) = (true, put_bytes(&mut link, 2, &id)),
                    None => return false,
                },
                ("trace_state", Some(text)) => put_bytes(&mut link, 3, text.as_bytes()),
                _ => put_pair(&mut link, 4, key.as_bytes(), value, &self.tables),
            }
        }
        if found == [true, true] {
            put_bytes(out, 13, &link);
        }
        found == [true, true]
    }

    fn counters(&self, counters: &[(traceloom_model::ValueTypeId, i64)], out: &mut Vec<u8>) {
        put_message(out, 9, |pair| {
            put_bytes(pair, 1, names::COUNTERS.as_bytes());
            put_message(pair, 2, |any| {
                put_message(any, 6, |list| {
                    for &(id, value) in counters {
                        let name = match self.tables.value_type(id) {
                            Some(row) => {
                                let unit = reserved_args::unit_suffix(row.unit);
                                format!("{}{unit}", self.tables.text(row.name))
                            }
                            None => format!("#{}", id.raw()),
                        };
                        put_pair(list, 1, name.as_bytes(), &Value::I64(value), &self.tables);
                    }
                });
            });
        });
    }

    /// Writes an exception as the event that OpenTelemetry's conventions have for it.
    fn exception(&self, id: ExceptionId, at: Timestamp, out: &mut Vec<u8>) {
        let Some(row) = self.tables.exception(id) else {
            return;
        };
        put_message(out, 11, |event| {
            put_fixed64(event, 1, nanos(at));
            put_bytes(event, 2, b"exception");
            for (key, text) in [
                ("exception.type", row.class),
                ("exception.message", row.message),
            ] {
                if let Some(text) = text {
                    put_text(event, 3, key, &self.tables.text(text));
                }
            }
            if let Some(stack) = row.stack {
                put_text(event, 3, "exception.stacktrace", &self.stack(stack));
            }
        });
    }

    /// Writes out a stack, a line for each frame, the innermost first.
    fn stack(&self, stack: StackId) -> String {
        let mut text = String::new();
        let mut next = Some(stack);
        while let Some(row) = next.and_then(|id| self.tables.stack(id)) {
            let function = self
                .tables
                .frame(row.frame)
                .and_then(|frame| frame.function);
            if let Some(function) = function {
                text.push_str(&self.tables.function_name(function));
                text.push('\n');
            }
            // A stack is younger than its caller; one that is not would go round for ever.
            next = row.parent.filter(|&parent| Some(parent) < next);
        }
        text
    }

    /// Writes which thread a span or an event is on.
    fn track(&self, id: Option<TrackId>, number: u32, out: &mut Vec<u8>) {
        let Some(track) = id.and_then(|id| self.thread(id)) else {
            return;
        };
        let thread = match track.kind {
            TrackKind::Thread => track.os_id.or(track.id),
            _ => None,
        };
        if let Some(id) = thread {
            let id = Value::U64(id);
            put_pair(out, number, names::THREAD_ID.as_bytes(), &id, &self.tables);
        }
        if let Some(name) = track.name {
            put_text(out, number, names::THREAD_NAME, &self.tables.text(name));
        }
    }

    /// Returns the thread or stream that a lane or other work belongs to.
    fn thread(&self, id: TrackId) -> Option<&Track> {
        let mut track = self.tables.track(id)?;
        for _ in 0..LEVELS {
            let is_lane = track.kind == TrackKind::Lane;
            let above = track.parent.filter(|_| is_lane);
            let Some(above) = above.and_then(|above| self.tables.track(above)) else {
                break;
            };
            track = above;
        }
        Some(track)
    }

    /// Returns the process of a track.
    pub(super) fn process(&self, id: Option<TrackId>) -> Option<ResourceId> {
        let mut track = id.and_then(|id| self.tables.track(id));
        for _ in 0..LEVELS {
            let Some(row) = track else { break };
            if row.resource.is_some() {
                return row.resource;
            }
            track = row.parent.and_then(|above| self.tables.track(above));
        }
        None
    }

    /// Returns what is known of a process, from what contains it too; of the only one there is where none is named.
    pub(super) fn resource(&self, id: Option<ResourceId>) -> Option<Resource> {
        let mut row = match (id, self.tables.resources.as_slice()) {
            (Some(id), _) => self.tables.resource(id).cloned()?,
            (None, [only]) => only.clone()?,
            (None, _) => return None,
        };
        for _ in 0..LEVELS {
            let Some(above) = row.parent.and_then(|id| self.tables.resource(id)).cloned() else {
                break;
            };
            row = Resource {
                parent: above.parent,
                service: row.service.or(above.service),
                instance: row.instance.or(above.instance),
                host: row.host.or(above.host),
                namespace: row.namespace.or(above.namespace),
                pid: row.pid.or(above.pid),
                language: row.language.or(above.language),
                runtime: row.runtime.or(above.runtime),
                os: row.os.or(above.os),
                arch: row.arch.or(above.arch),
                version: row.version.or(above.version),
                env: row.env.or(above.env),
                attributes: [row.attributes, above.attributes].concat(),
            };
        }
        Some(row)
    }

    /// Encodes an event of a span, but for the attribute `span_id`, which its place says.
    pub(super) fn event(&self, row: &EventRow<'_>, out: &mut Vec<u8>) {
        put_message(out, 11, |event| {
            put_fixed64(event, 1, nanos(row.time));
            put_bytes(event, 2, self.event_type(row).as_bytes());
            let rest = row.attributes.iter();
            for attribute in rest.filter(|attribute| self.owner(attribute).is_none()) {
                put_attribute(event, 3, attribute, &self.tables);
            }
            if let Some(stack) = row.stack {
                put_text(event, 3, names::STACK, &self.stack(stack));
            }
        });
    }

    /// Encodes an event that is in no span as a span, but for its ids.
    pub(super) fn lone_event(&self, row: &EventRow<'_>, out: &mut Vec<u8>) {
        put_bytes(out, 5, self.event_type(row).as_bytes());
        put_times(out, [7, 8], row.time, row.end.unwrap_or(row.time));
        for attribute in row.attributes {
            put_attribute(out, 9, attribute, &self.tables);
        }
        if let Some(stack) = row.stack {
            put_text(out, 9, names::STACK, &self.stack(stack));
        }
        self.track(row.track, 9, out);
        let form = match row.end {
            Some(_) => names::INTERVAL,
            None => names::INSTANT,
        };
        put_text(out, 9, names::EVENT, form);
    }

    fn event_type(&self, row: &EventRow<'_>) -> String {
        match self.tables.event_type(row.event_type) {
            Some(known) => self.tables.text(known.name).into_owned(),
            None => format!("#{}", row.event_type.raw()),
        }
    }

    /// Returns the id of the span that an attribute of an event names.
    pub(super) fn owner(&self, attribute: &Attribute) -> Option<u64> {
        let Value::Text(text) = attribute.value else {
            return None;
        };
        let key = self.tables.attribute_key(attribute.key)?;
        if self.tables.text(key.name) != names::SPAN_ID {
            return None;
        }
        let text = self.tables.text(text);
        let id = u64::from_str_radix(&text, 16).ok();
        id.filter(|_| text.len() == 16)
    }

    fn scope(&mut self, scope: [Option<String>; 2]) -> ScopeNumber {
        if self.scopes.is_empty() {
            self.scopes.push([None, None]);
            self.numbers.insert([None, None], 0);
        }
        if let Some(&known) = self.numbers.get(&scope) {
            return known;
        }
        self.scopes.push(scope.clone());
        self.numbers.insert(scope, self.scopes.len() - 1);
        self.scopes.len() - 1
    }

    /// Appends the message of a scope, unless nothing is known of it.
    pub(super) fn put_scope(&self, number: ScopeNumber, out: &mut Vec<u8>) {
        let known = self.scopes.get(number);
        let Some(scope) = known.filter(|scope| scope.iter().any(Option::is_some)) else {
            return;
        };
        put_message(out, 1, |body| {
            for (field, text) in (1..).zip(scope) {
                if let Some(text) = text {
                    put_bytes(body, field, text.as_bytes());
                }
            }
        });
    }
}

/// The status of a span, of which attributes say a part.
#[derive(Debug, Default)]
struct OwnStatus {
    code: u64,
    message: String,
}

impl OwnStatus {
    fn put(&self, out: &mut Vec<u8>) {
        if self.code == 0 && self.message.is_empty() {
            return;
        }
        put_message(out, 15, |body| {
            if !self.message.is_empty() {
                put_bytes(body, 2, self.message.as_bytes());
            }
            put_number(body, 3, self.code);
        });
    }
}

/// Returns the field of a count of what the producer left out.
fn dropped(name: &str) -> Option<u32> {
    let row = names::DROPPED.iter().find(|(_, known)| *known == name);
    row.map(|&(number, _)| number)
}

/// Returns a time as the protocol has it; those before the origin are the origin.
fn nanos(time: Timestamp) -> u64 {
    u64::try_from(time).unwrap_or(0)
}

fn put_times(out: &mut Vec<u8>, [first, last]: [u32; 2], start: Timestamp, end: Timestamp) {
    put_fixed64(out, first, nanos(start));
    put_fixed64(out, last, nanos(end));
}

/// Appends a `KeyValue` whose value is a text.
pub(super) fn put_text(out: &mut Vec<u8>, number: u32, key: &str, text: &str) {
    put_message(out, number, |pair| {
        put_bytes(pair, 1, key.as_bytes());
        put_message(pair, 2, |any| put_bytes(any, 1, text.as_bytes()));
    });
}

/// Appends a `KeyValue` whose value is a flag.
pub(super) fn put_flag(out: &mut Vec<u8>, number: u32, key: &str, flag: bool) {
    put_message(out, number, |pair| {
        put_bytes(pair, 1, key.as_bytes());
        put_message(pair, 2, |any| {
            put_tag(any, 2, Wire::Varint);
            put_leb128(any, u64::from(flag));
        });
    });
}

/// Returns the bytes that hexadecimal digits stand for.
fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|digit| {
            digit
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
        })
        .collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    let pairs = digits.as_chunks().0.iter();
    Some(pairs.map(|[high, low]| high << 4 | low).collect())
}
