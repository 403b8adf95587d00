//! Names, categories and annotations of events, interned where they repeat.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use traceloom_model::{
    AttrKeyId, Attribute, Definitions, EventRow, EventTypeId, ExceptionId, FunctionId, Recording,
    Sink, SpanRow, StringId, Value, ValueTypeId,
};

use super::raise::Packets;
use crate::codec::ById;
use crate::protobuf::{Wire, put_bytes, put_double, put_message, put_number, put_tag};
use crate::spans::reserved_args;
use crate::wire::{PackedBytes, put_leb128, put_start};

/// Tables of `InternedData`, by their field numbers.
const CATEGORIES: u32 = 1;
const EVENT_NAMES: u32 = 2;
const ANNOTATION_NAMES: u32 = 3;
const SOURCE_LOCATIONS: u32 = 4;

/// Tags of an annotation, of the number of its name and of a text as its value.
const ANNOTATION: u8 = 0x22;
const ANNOTATION_NAME: u8 = 0x08;
const ANNOTATION_TEXT: u8 = 0x32;

/// What was defined, and which texts of it were interned.
#[derive(Debug, Default)]
pub(super) struct DefinedTexts {
    pub(super) tables: Recording,
    interned: HashSet<(u32, u32), RandomState>,
    counters: HashMap<ValueTypeId, String, RandomState>,
    /// Name and place of functions as spans have them, once they are interned.
    functions: ById<Box<[u8]>>,
    /// Names of attributes that are interned.
    keys: ById<u64>,
}

/// Values inside values that are written; deeper ones are cut off.
const DEEPEST: usize = 64;

impl DefinedTexts {
    /// Takes definitions; what was made of a row that changes is made again.
    pub(super) fn define(&mut self, definitions: Definitions) {
        for (id, _) in &definitions.functions {
            self.functions.remove(id.index());
        }
        for (id, _) in &definitions.attribute_keys {
            self.keys.remove(id.index());
        }
        for (id, _) in &definitions.value_types {
            self.counters.remove(id);
        }
        let _ = self.tables.define(definitions);
    }

    /// Returns the id of a text in a table of the sequence, written when it is first used.
    fn intern(&mut self, table: u32, text: StringId, packets: &mut Packets<'_>) -> u64 {
        let iid = u64::from(text.raw()) + 1;
        if self.interned.insert((table, text.raw())) {
            let mut row = Vec::new();
            put_number(&mut row, 1, iid);
            put_bytes(&mut row, 2, self.tables.text(text).as_bytes());
            let mut data = Vec::new();
            put_bytes(&mut data, table, &row);
            packets.put(12, &data);
        }
        iid
    }

    /// Returns the id of the place where a function begins, none where it is not known.
    fn place(&mut self, id: FunctionId, packets: &mut Packets<'_>) -> Option<u64> {
        let function = self.tables.function(id)?;
        let (file, line) = (function.file, function.line);
        if file.is_none() && line == 0 {
            return None;
        }
        let iid = u64::from(id.raw()) + 1;
        if self.interned.insert((SOURCE_LOCATIONS, id.raw())) {
            let mut row = Vec::new();
            put_number(&mut row, 1, iid);
            if let Some(file) = file {
                put_bytes(&mut row, 2, self.tables.text(file).as_bytes());
            }
            put_number(&mut row, 4, u64::from(line));
            let mut data = Vec::new();
            put_bytes(&mut data, SOURCE_LOCATIONS, &row);
            packets.put(12, &data);
        }
        Some(iid)
    }

    /// The name of an event type, `#id` when it was never defined.
    pub(super) fn event_type(&self, id: EventTypeId) -> String {
        match self.tables.event_type(id) {
            Some(row) => self.tables.text(row.name).into_owned(),
            None => format!("#{}", id.raw()),
        }
    }

    /// Encodes what the begin of a span says.
    pub(super) fn span(
        &mut self,
        span: &SpanRow<'_>,
        packets: &mut Packets<'_>,
        body: &mut Vec<u8>,
    ) {
        if let Some(function) = span.function {
            match self.functions.get(function.index()) {
                Some(known) => body.extend_from_slice(known),
                None => self.function(function, packets, body),
            }
        }
        if let Some(kind) = span.kind {
            let iid = self.intern(CATEGORIES, kind, packets);
            put_tag(body, 3, Wire::Varint);
            put_leb128(body, iid);
        }
        self.attributes(span.attributes, packets, body);
        if !span.counters.is_empty() {
            put_message(body, 4, |dict| {
                put_bytes(dict, 10, b"span.counters");
                for &(id, value) in span.counters {
                    let name = self.counter(id);
                    put_message(dict, 11, |entry| {
                        put_bytes(entry, 10, name.as_bytes());
                        put_tag(entry, 4, Wire::Varint);
                        put_leb128(entry, value.cast_unsigned());
                    });
                }
            });
        }
        if let Some(word) = reserved_args::status_word(span.status) {
            put_text(body, "span.status", word);
        }
        if span.entry != span.parent.is_none() {
            put_text(
                body,
                "span.entry",
                if span.entry { "true" } else { "false" },
            );
        }
        if let Some(context) = span.context {
            put_text(body, "span.trace_id", &format!("{:032x}", context.trace));
            put_text(body, "span.id", &format!("{:016x}", context.span));
            put_text(body, "span.parent_id", &format!("{:016x}", context.parent));
        }
        if let Some(exception) = span.exception {
            let mut dict = Vec::new();
            put_bytes(&mut dict, 10, b"span.exception");
            self.exception(exception, &mut dict);
            put_bytes(body, 4, &dict);
        }
    }

    /// Encodes name and place of a function that no span had yet.
    fn function(&mut self, id: FunctionId, packets: &mut Packets<'_>, body: &mut Vec<u8>) {
        let Some(name) = self.tables.function(id).map(|row| row.name) else {
            return put_bytes(body, 23, format!("#{}", id.raw()).as_bytes());
        };
        let begin = body.len();
        let iid = self.intern(EVENT_NAMES, name, packets);
        put_number(body, 10, iid);
        if let Some(iid) = self.place(id, packets) {
            put_number(body, 34, iid);
        }
        let encoded = body.get(begin..).unwrap_or_default();
        self.functions.put(id.index(), encoded.into());
    }

    /// Returns the id of the name of a key, none for one that is not defined.
    fn key(&mut self, id: AttrKeyId, packets: &mut Packets<'_>) -> Option<u64> {
        if let Some(&known) = self.keys.get(id.index()) {
            return Some(known);
        }
        let name = self.tables.attribute_key(id).map(|key| key.name)?;
        let iid = self.intern(ANNOTATION_NAMES, name, packets);
        self.keys.put(id.index(), iid);
        Some(iid)
    }

    /// The name of a counter with its unit, made once for each that is defined.
    fn counter(&mut self, id: ValueTypeId) -> Cow<'_, str> {
        let Some(row) = self.tables.value_type(id) else {
            return format!("#{}", id.raw()).into();
        };
        let known = self.counters.entry(id);
        let name = known.or_insert_with(|| {
            let suffix = reserved_args::unit_suffix(row.unit);
            format!("{}{suffix}", self.tables.text(row.name))
        });
        name.as_str().into()
    }

    /// Encodes what an event says.
    pub(super) fn event(
        &mut self,
        row: &EventRow<'_>,
        packets: &mut Packets<'_>,
        body: &mut Vec<u8>,
    ) {
        match self.tables.event_type(row.event_type).map(|row| row.name) {
            Some(name) => {
                let iid = self.intern(EVENT_NAMES, name, packets);
                put_number(body, 10, iid);
            }
            None => put_bytes(body, 23, self.event_type(row.event_type).as_bytes()),
        }
        self.attributes(row.attributes, packets, body);
    }

    fn attributes(
        &mut self,
        attributes: &[Attribute],
        packets: &mut Packets<'_>,
        body: &mut Vec<u8>,
    ) {
        for attribute in attributes {
            let iid = self.key(attribute.key, packets);
            // Most are texts, whose lengths are known.
            if let (Some(iid), Value::Text(text)) = (iid, &attribute.value) {
                let text = self.tables.text(*text);
                let len = text.len() as u64;
                if let (..0x4000, ..0x3f00) = (iid, len) {
                    let head = PackedBytes::of(&[ANNOTATION_TEXT]).short(len);
                    let name = PackedBytes::of(&[ANNOTATION_NAME]).short(iid);
                    let inner = (name.len() + head.len()) as u64 + len;
                    let name = PackedBytes::of(&[ANNOTATION]).short(inner).then(name);
                    let words = u128::from(u64::from_le_bytes(name.bytes()))
                        | u128::from(u64::from_le_bytes(head.bytes())) << (8 * name.len());
                    put_start(body, words.to_le_bytes(), name.len() + head.len());
                    body.extend_from_slice(text.as_bytes());
                    continue;
                }
            }
            put_message(body, 4, |annotation| {
                match iid {
                    Some(iid) => put_number(annotation, 1, iid),
                    None => {
                        let name = format!("#{}", attribute.key.raw());
                        put_bytes(annotation, 10, name.as_bytes());
                    }
                }
                self.value(&attribute.value, annotation, 0);
            });
        }
    }

    fn value(&self, value: &Value, out: &mut Vec<u8>, depth: usize) {
        let mut integer = |number: u32, value: u64| {
            put_tag(out, number, Wire::Varint);
            put_leb128(out, value);
        };
        match value {
            Value::Null => {}
            Value::Bool(value) => integer(2, u64::from(*value)),
            Value::U64(value) => integer(3, *value),
            Value::I64(value) => integer(4, value.cast_unsigned()),
            Value::F64(value) => put_double(out, 5, *value),
            Value::Text(text) => put_bytes(out, 6, self.tables.text(*text).as_bytes()),
            Value::Bytes(bytes) => {
                put_bytes(out, 16, b"bytes");
                put_bytes(out, 14, bytes);
            }
            Value::List(..) | Value::Map(_) if depth >= DEEPEST => {
                put_bytes(out, 6, "…".as_bytes())
            }
            // Lists and maps are told by what is in them, so that empty ones need the older form.
            Value::List(_, list) if list.is_empty() => put_bytes(out, 8, &[8, 2]),
            Value::Map(map) if map.is_empty() => put_bytes(out, 8, &[8, 1]),
            Value::List(_, list) => {
                for value in list {
                    let mut element = Vec::new();
                    self.value(value, &mut element, depth + 1);
                    put_bytes(out, 12, &element);
                }
            }
            Value::Map(map) => self.map(map, out, depth),
            Value::Exception(id) => self.exception(*id, out),
        }
    }

    /// A dictionary when all keys are texts, else a list of pairs.
    fn map(&self, map: &[(Value, Value)], out: &mut Vec<u8>, depth: usize) {
        let texts = map.iter().all(|(key, _)| matches!(key, Value::Text(_)));
        for (key, value) in map {
            let mut entry = Vec::new();
            match key {
                Value::Text(name) if texts => {
                    put_bytes(&mut entry, 10, self.tables.text(*name).as_bytes());
                    self.value(value, &mut entry, depth + 1);
                    put_bytes(out, 11, &entry);
                }
                _ => {
                    for part in [key, value] {
                        let mut element = Vec::new();
                        self.value(part, &mut element, depth + 2);
                        put_bytes(&mut entry, 12, &element);
                    }
                    put_bytes(out, 12, &entry);
                }
            }
        }
    }

    /// Class and message of an exception, as a dictionary.
    fn exception(&self, id: ExceptionId, out: &mut Vec<u8>) {
        let row = self.tables.exception(id);
        let class = row.and_then(|row| row.class);
        let message = row.and_then(|row| row.message);
        for (name, text) in [("class", class), ("message", message)] {
            if let Some(text) = text {
                let mut entry = Vec::new();
                put_bytes(&mut entry, 10, name.as_bytes());
                put_bytes(&mut entry, 6, self.tables.text(text).as_bytes());
                put_bytes(out, 11, &entry);
            }
        }
    }
}

fn put_text(body: &mut Vec<u8>, name: &str, text: &str) {
    put_message(body, 4, |annotation| {
        put_bytes(annotation, 10, name.as_bytes());
        put_bytes(annotation, 6, text.as_bytes());
    });
}
