//! Names and attribute values as JSON.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use traceloom_model::bounds::subslice;
use traceloom_model::{
    AttrKeyId, Attribute, Definitions, EventTypeId, ExceptionId, FunctionId, Resource, ResourceId,
    Series, SeriesId, StringId, Strings, Text, Track, TrackId, Value, ValueTypeId,
};

use super::LABELS;
use crate::text::scalars;

type Map<K, V> = HashMap<K, V, RandomState>;

/// Attributes compared pair by pair before a set pays.
const FEW: usize = 16;

/// What was defined so far. Texts are kept as JSON, with their quotes.
#[derive(Debug, Default)]
pub(super) struct JsonNames {
    strings: Strings,
    functions: Vec<Option<StringId>>,
    keys: Vec<Option<StringId>>,
    event_types: Map<EventTypeId, StringId>,
    series: Map<SeriesId, Series>,
    value_types: Map<ValueTypeId, StringId>,
    exceptions: Map<ExceptionId, [Option<StringId>; 2]>,
    pub tracks: BTreeMap<TrackId, Track>,
    pub resources: BTreeMap<ResourceId, Resource>,
}

fn place<T>(table: &mut Vec<Option<T>>, index: usize, row: T) {
    if table.len() <= index {
        table.resize_with(index + 1, || None);
    }
    if let Some(slot) = table.get_mut(index) {
        *slot = Some(row);
    }
}

impl JsonNames {
    pub fn define(&mut self, definitions: Definitions) {
        for (id, text) in definitions.strings {
            let mut escaped = Vec::with_capacity(text.as_bytes().len() + 2);
            escaped.push(b'"');
            scalars::inner(text.as_bytes(), &mut escaped);
            escaped.push(b'"');
            self.strings.put(id.index(), Text::from_bytes(escaped));
        }
        for (id, function) in definitions.functions {
            place(&mut self.functions, id.index(), function.name);
        }
        for (id, key) in definitions.attribute_keys {
            place(&mut self.keys, id.index(), key.name);
        }
        let event_types = definitions.event_types.into_iter();
        self.event_types
            .extend(event_types.map(|(id, row)| (id, row.name)));
        self.series.extend(definitions.series);
        let value_types = definitions.value_types.into_iter();
        self.value_types
            .extend(value_types.map(|(id, row)| (id, row.name)));
        let exceptions = definitions.exceptions.into_iter();
        self.exceptions
            .extend(exceptions.map(|(id, row)| (id, [row.class, row.message])));
        self.tracks.extend(definitions.tracks);
        self.resources.extend(definitions.resources);
    }

    /// Returns the labels of a process.
    pub fn labels(&self, row: &Resource) -> Option<StringId> {
        let is_labels = |attribute: &&Attribute| {
            let key = self.keys.get(attribute.key.index()).copied().flatten();
            let name = key.and_then(|name| self.strings.get(name.index()));
            let name = name.map(Text::as_bytes);
            matches!(name, Some([b'"', name @ .., b'"']) if name == LABELS.as_bytes())
        };
        match row.attributes.iter().find(is_labels)?.value {
            Value::Text(labels) => Some(labels),
            _ => None,
        }
    }

    /// Drops strings that nothing to come refers to.
    pub fn forget(&mut self, strings: &[StringId]) {
        strings
            .iter()
            .for_each(|id| self.strings.drop_row(id.index()));
    }

    /// Appends a string, without quotes; `#id` when it is not defined.
    pub fn inner(&self, id: StringId, out: &mut Vec<u8>) {
        match self.strings.get(id.index()).map(Text::as_bytes) {
            Some([_, text @ .., _]) => out.extend_from_slice(text),
            _ => number(id.raw(), out),
        }
    }

    #[inline]
    pub fn string(&self, id: StringId, out: &mut Vec<u8>) {
        match self.strings.get(id.index()) {
            Some(text) => out.extend_from_slice(text.as_bytes()),
            None => quoted_number(id.raw(), out),
        }
    }

    #[inline]
    fn named(&self, name: Option<StringId>, raw: u32, out: &mut Vec<u8>) {
        match name {
            Some(name) => self.string(name, out),
            None => quoted_number(raw, out),
        }
    }

    pub fn function(&self, id: FunctionId, out: &mut Vec<u8>) {
        self.named(
            self.functions.get(id.index()).copied().flatten(),
            id.raw(),
            out,
        );
    }

    pub fn event_type(&self, id: EventTypeId, out: &mut Vec<u8>) {
        self.named(self.event_types.get(&id).copied(), id.raw(), out);
    }

    pub fn value_type(&self, id: ValueTypeId, out: &mut Vec<u8>) {
        self.named(self.value_types.get(&id).copied(), id.raw(), out);
    }

    /// Appends the name of a series and returns its track.
    pub fn series(&self, id: SeriesId, out: &mut Vec<u8>) -> Option<TrackId> {
        let series = self.series.get(&id);
        self.named(series.map(|series| series.name), id.raw(), out);
        series?.track
    }

    fn key(&self, id: AttrKeyId) -> Option<StringId> {
        self.keys.get(id.index()).copied().flatten()
    }

    /// Appends the members of an object.
    ///
    /// A name that comes again gets a number, because readers of JSON keep one member of each name.
    pub fn members(&self, attributes: &[Attribute], out: &mut Vec<u8>) {
        let mut many: Option<Map<StringId, u32>> = None;
        for (at, attribute) in attributes.iter().enumerate() {
            let name = self.key(attribute.key);
            let before = match name {
                Some(name) if attributes.len() > FEW => {
                    let count = many.get_or_insert_default().entry(name).or_default();
                    *count += 1;
                    *count as usize - 1
                }
                _ => {
                    let earlier = subslice(attributes, ..at.min(FEW)).iter();
                    earlier.filter(|other| self.key(other.key) == name).count()
                }
            };
            member(out);
            self.named(name, attribute.key.raw(), out);
            if before > 0 {
                out.pop();
                out.push(b'#');
                scalars::digits(before as u64 + 1, out);
                out.push(b'"');
            }
            out.push(b':');
            self.value(&attribute.value, out);
        }
    }

    /// Appends a value. Without recursion: producers nest as deeply as they like.
    fn value(&self, value: &Value, out: &mut Vec<u8>) {
        let is_scalar = |value: &Value| !matches!(value, Value::List(..) | Value::Map(_));
        match value {
            Value::List(_, values) if values.iter().all(is_scalar) => {
                out.push(b'[');
                for (at, value) in values.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    self.scalar(value, out);
                }
                return out.push(b']');
            }
            Value::List(..) | Value::Map(_) => {}
            scalar => return self.scalar(scalar, out),
        }
        let mut work = vec![WriteStep::Value(value)];
        while let Some(next) = work.pop() {
            match next {
                WriteStep::Raw(text) => out.extend_from_slice(text),
                WriteStep::Value(Value::List(_, values)) => {
                    work.push(WriteStep::Raw(b"]"));
                    let first = work.len();
                    for value in values.iter().rev() {
                        work.extend([WriteStep::Value(value), WriteStep::Raw(b",")]);
                    }
                    work.truncate(work.len().saturating_sub(1).max(first));
                    out.push(b'[');
                }
                WriteStep::Value(Value::Map(pairs)) => self.map(pairs, &mut work, out),
                WriteStep::Value(scalar) => self.scalar(scalar, out),
            }
        }
    }

    /// An object when the keys are different texts, else a list of pairs.
    fn map<'v>(
        &self,
        pairs: &'v [(Value, Value)],
        work: &mut Vec<WriteStep<'v>>,
        out: &mut Vec<u8>,
    ) {
        let is_text = |key: &Value| matches!(key, Value::Text(_));
        let mut keys: Vec<u32> = Vec::with_capacity(pairs.len());
        keys.extend(pairs.iter().filter_map(|(key, _)| match key {
            Value::Text(id) => Some(id.raw()),
            _ => None,
        }));
        keys.sort_unstable();
        keys.dedup();
        let is_object = keys.len() == pairs.len() && pairs.iter().all(|(key, _)| is_text(key));
        let close: &[u8] = if is_object { b"}" } else { b"]" };
        work.push(WriteStep::Raw(close));
        let first = work.len();
        for (key, value) in pairs.iter().rev() {
            if is_object {
                work.extend([
                    WriteStep::Value(value),
                    WriteStep::Raw(b":"),
                    WriteStep::Value(key),
                ]);
            } else {
                work.extend([
                    WriteStep::Raw(b"]"),
                    WriteStep::Value(value),
                    WriteStep::Raw(b","),
                    WriteStep::Value(key),
                    WriteStep::Raw(b"["),
                ]);
            }
            work.push(WriteStep::Raw(b","));
        }
        work.truncate(work.len().saturating_sub(1).max(first));
        out.push(if is_object { b'{' } else { b'[' });
    }

    fn scalar(&self, value: &Value, out: &mut Vec<u8>) {
        match value {
            Value::U64(value) => scalars::unsigned(*value, out),
            Value::I64(value) => scalars::signed(*value, out),
            Value::F64(value) => scalars::float(*value, out),
            Value::Bool(true) => out.extend_from_slice(b"true"),
            Value::Bool(false) => out.extend_from_slice(b"false"),
            Value::Text(id) => self.string(*id, out),
            Value::Bytes(bytes) => scalars::hex(bytes, out),
            Value::Exception(id) => self.exception(*id, out),
            Value::Null | Value::List(..) | Value::Map(_) => out.extend_from_slice(b"null"),
        }
    }

    /// Appends class and message of an exception.
    pub fn exception(&self, id: ExceptionId, out: &mut Vec<u8>) {
        let [class, message] = self.exceptions.get(&id).copied().unwrap_or_default();
        out.extend_from_slice(b"{\"class\":");
        match class {
            Some(class) => self.string(class, out),
            None => out.extend_from_slice(b"null"),
        }
        if let Some(message) = message {
            out.extend_from_slice(b",\"message\":");
            self.string(message, out);
        }
        out.push(b'}');
    }
}

/// Appends what stands for a text that is not defined.
fn number(raw: u32, out: &mut Vec<u8>) {
    out.push(b'#');
    scalars::digits(u64::from(raw), out);
}

#[cold]
fn quoted_number(raw: u32, out: &mut Vec<u8>) {
    out.push(b'"');
    number(raw, out);
    out.push(b'"');
}

/// Separates a member of an object from the one before it.
#[inline]
pub(super) fn member(out: &mut Vec<u8>) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
}

enum WriteStep<'v> {
    Value(&'v Value),
    Raw(&'static [u8]),
}
