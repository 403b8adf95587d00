//! What a sequence interned, and annotations to attributes (SPEC.md §5).

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    AttrKeyId, Attribute, AttributeKey, ElementType, Frame, FrameId, Function, Stack, StackId,
    StringId, Tables, Value, ValueType,
};

use super::packet::{InternedName, narrow};
use crate::protobuf::{RawValue, fields, packed_varints};
use crate::spans::reserved_args::{self, ReservedArg};
use crate::spans::slices::Annotated;

/// Tables of `InternedData`, by their field numbers.
pub(super) const CATEGORIES: u32 = 1;
pub(super) const EVENT_NAMES: u32 = 2;
const ANNOTATION_NAMES: u32 = 3;
const SOURCE_LOCATIONS: u32 = 4;
const FUNCTION_NAMES: u32 = 5;
const FRAMES: u32 = 6;
const CALLSTACKS: u32 = 7;
pub(super) const LOG_BODIES: u32 = 20;
const STRING_VALUES: u32 = 29;
pub(super) const CORRELATIONS: u32 = 43;

/// A place in the source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct SourceLocation {
    pub(super) file: Option<StringId>,
    pub(super) line: u32,
}

/// What one sequence interned since its state was cleared.
#[derive(Debug, Default)]
pub(super) struct Interned {
    texts: HashMap<(u32, u64), StringId, RandomState>,
    places: HashMap<u64, SourceLocation, RandomState>,
    frames: HashMap<u64, FrameId, RandomState>,
    stacks: HashMap<u64, StackId, RandomState>,
}

/// Frames of a stack at most.
const DEEPEST_STACK: usize = 1 << 16;

impl Interned {
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len() + self.places.len() + self.frames.len() + self.stacks.len()
    }

    /// Takes an `InternedData`.
    pub(super) fn take(&mut self, body: &[u8], tables: &mut Tables) {
        // Stacks refer to frames and frames to names, in whatever order they come.
        for pass in [FUNCTION_NAMES, FRAMES, CALLSTACKS] {
            for (table, value) in fields(body) {
                let row = value.bytes();
                match (pass, table) {
                    (FUNCTION_NAMES, SOURCE_LOCATIONS) => {
                        let place = place(row, tables);
                        self.places.insert(iid(row), place);
                    }
                    (FRAMES, FRAMES) => self.frame(row, tables),
                    (CALLSTACKS, CALLSTACKS) => self.stack(row, tables),
                    (
                        FUNCTION_NAMES,
                        CATEGORIES | EVENT_NAMES | ANNOTATION_NAMES | FUNCTION_NAMES | LOG_BODIES
                        | CORRELATIONS | STRING_VALUES,
                    ) => {
                        let text = fields(row).filter(|&(number, _)| number == 2).last();
                        let text = text.map_or(&[][..], |(_, text)| text.bytes());
                        let id = match table {
                            STRING_VALUES | LOG_BODIES | CORRELATIONS => tables.value(text),
                            _ => tables.bytes(text),
                        };
                        self.texts.insert((table, iid(row)), id);
                    }
                    _ => {}
                }
            }
        }
    }

    fn frame(&mut self, row: &[u8], tables: &mut Tables) {
        let (mut function, mut line, mut address) = (None, 0, None);
        for (number, value) in fields(row) {
            match number {
                2 => function = self.texts.get(&(FUNCTION_NAMES, value.number())).copied(),
                4 => address = Some(value.number()),
                6 => line = narrow(value.number()),
                _ => {}
            }
        }
        let function = function.map(|name| tables.function(Function::named(name)));
        let frame = tables.frame(Frame {
            function,
            line,
            address,
            ..Frame::default()
        });
        self.frames.insert(iid(row), frame);
    }

    fn stack(&mut self, row: &[u8], tables: &mut Tables) {
        let mut ids = Vec::new();
        for (number, value) in fields(row) {
            if number == 2 {
                packed_varints(value, &mut ids);
            }
        }
        let frames = ids.iter().filter_map(|id| self.frames.get(id));
        let mut parent = None;
        for &frame in frames.take(DEEPEST_STACK) {
            parent = Some(tables.stack(Stack {
                parent,
                frame,
                truncated: false,
            }));
        }
        if let Some(stack) = parent {
            self.stacks.insert(iid(row), stack);
        }
    }

    /// Returns the text of a name; none where there is no name or its id is unknown.
    pub(super) fn text(
        &self,
        table: u32,
        name: InternedName<'_>,
        tables: &mut Tables,
    ) -> Option<StringId> {
        match name {
            InternedName::None => None,
            InternedName::Interned(iid) => self.texts.get(&(table, iid)).copied(),
            InternedName::Text(text) => Some(tables.bytes(text)),
        }
    }

    pub(super) fn place(&self, iid: u64) -> Option<SourceLocation> {
        self.places.get(&iid).copied()
    }

    pub(super) fn callstack(&self, iid: u64) -> Option<StackId> {
        self.stacks.get(&iid).copied()
    }
}

fn iid(row: &[u8]) -> u64 {
    let ids = fields(row).filter(|&(number, _)| number == 1);
    ids.last().map_or(0, |(_, value)| value.number())
}

/// Reads a `SourceLocation`.
pub(super) fn place(row: &[u8], tables: &mut Tables) -> SourceLocation {
    let mut place = SourceLocation::default();
    for (number, value) in fields(row) {
        match number {
            2 => place.file = Some(tables.bytes(value.bytes())),
            4 => place.line = narrow(value.number()),
            _ => {}
        }
    }
    place
}

/// Reads a stack that an event carries itself, the outermost frame first.
pub(super) fn inline_stack(body: &[u8], tables: &mut Tables) -> Option<StackId> {
    let mut parent = None;
    for (number, value) in fields(body).take(DEEPEST_STACK) {
        if number != 1 {
            continue;
        }
        let (mut name, mut file, mut line) = (None, None, 0);
        for (number, value) in fields(value.bytes()) {
            match number {
                1 => name = Some(tables.bytes(value.bytes())),
                2 => file = Some(tables.bytes(value.bytes())),
                3 => line = narrow(value.number()),
                _ => {}
            }
        }
        let function = name.map(|name| {
            tables.function(Function {
                file,
                ..Function::named(name)
            })
        });
        let frame = tables.frame(Frame {
            function,
            line,
            ..Frame::default()
        });
        parent = Some(tables.stack(Stack {
            parent,
            frame,
            truncated: false,
        }));
    }
    parent
}

/// Keys of annotations, by their names, and which of them are reserved.
#[derive(Debug, Default)]
pub(super) struct AnnotationKeys {
    known: HashMap<StringId, AttrKeyId, RandomState>,
    reserved: HashMap<StringId, Option<ReservedArg>, RandomState>,
}

/// Values inside values that are read; deeper ones read as nothing.
const DEEPEST: usize = 64;

impl AnnotationKeys {
    fn key(&mut self, name: StringId, tables: &mut Tables) -> AttrKeyId {
        let key = self
            .known
            .entry(name)
            .or_insert_with(|| tables.attribute_key(AttributeKey::named(name)));
        *key
    }

    fn reserved(&mut self, name: StringId, tables: &Tables) -> Option<ReservedArg> {
        let entry = self.reserved.entry(name);
        *entry.or_insert_with(|| reserved_args::find(tables.string_bytes(name)))
    }

    /// Adds a plain attribute.
    pub(super) fn named(&mut self, name: &str, value: Value, tables: &mut Tables) -> Attribute {
        let name = tables.string(name);
        Attribute::new(self.key(name, tables), value)
    }

    /// Reads a `DebugAnnotation`; where no `details` are wanted, one that says something of the span alone.
    pub(super) fn take(
        &mut self,
        body: &[u8],
        details: bool,
        interned: &Interned,
        tables: &mut Tables,
        into: &mut Annotated,
    ) {
        let name = annotation_name(body, interned, tables);
        let name = name.unwrap_or_else(|| tables.string(""));
        match self.reserved(name, tables) {
            Some(ReservedArg::Counters) => {
                for (number, entry) in fields(body) {
                    let name = annotation_name(entry.bytes(), interned, tables);
                    let value = fields(entry.bytes()).find(|&(number, _)| number == 4);
                    if let (11, Some(name), Some((_, value))) = (number, name, value) {
                        let (text, unit) = reserved_args::counter_name(tables.string_bytes(name));
                        let text = text.to_vec();
                        let name = tables.bytes(&text);
                        let id = tables.value_type(ValueType::sum(name, unit));
                        into.counters.push((id, value.number().cast_signed()));
                    }
                }
                return;
            }
            Some(ReservedArg::Exception) => {
                let (mut class, mut message) = (None, None);
                for (_, entry) in fields(body).filter(|&(number, _)| number == 11) {
                    let name = annotation_name(entry.bytes(), interned, tables);
                    let text = fields(entry.bytes()).find(|&(number, _)| number == 6);
                    let text = text.map(|(_, text)| tables.value(text.bytes()));
                    match name.map(|name| tables.string_bytes(name)) {
                        Some(b"class") => class = text,
                        Some(b"message") => message = text,
                        _ => {}
                    }
                }
                return into.marks.except(class, message, tables);
            }
            Some(mark) => {
                let text = fields(body).find(|&(number, _)| number == 6);
                if text.is_some_and(|(_, text)| into.marks.set(mark, text.bytes())) {
                    return;
                }
            }
            None if !details => return,
            None => {}
        }
        let value = value(body, interned, tables, 0);
        let key = self.key(name, tables);
        into.attributes.push(Attribute::new(key, value));
    }
}

/// Returns the name of a `DebugAnnotation`.
pub(super) fn annotation_name(
    body: &[u8],
    interned: &Interned,
    tables: &mut Tables,
) -> Option<StringId> {
    let name = fields(body).find_map(|(number, value)| match number {
        1 => Some(InternedName::Interned(value.number())),
        10 => Some(InternedName::Text(value.bytes())),
        _ => None,
    })?;
    interned.text(ANNOTATION_NAMES, name, tables)
}

fn value(body: &[u8], interned: &Interned, tables: &mut Tables, depth: usize) -> Value {
    if depth > DEEPEST {
        return Value::Null;
    }
    let mut plain = Value::Null;
    let mut list = Vec::new();
    let mut map = Vec::new();
    for (number, raw) in fields(body) {
        match number {
            2 => plain = Value::Bool(raw.number() != 0),
            3 | 7 => plain = Value::U64(raw.number()),
            4 => plain = Value::I64(raw.number().cast_signed()),
            5 => plain = Value::F64(f64::from_bits(raw.number())),
            6 | 9 => plain = Value::Text(tables.value(raw.bytes())),
            17 => {
                let text = interned.texts.get(&(STRING_VALUES, raw.number()));
                plain = text.map_or(Value::Null, |&text| Value::Text(text));
            }
            8 => plain = nested(raw.bytes(), tables, depth + 1),
            14 => plain = Value::Bytes(raw.bytes().into()),
            11 => {
                let name = annotation_name(raw.bytes(), interned, tables);
                let name = name.unwrap_or_else(|| tables.string(""));
                let value = value(raw.bytes(), interned, tables, depth + 1);
                map.push((Value::Text(name), value));
            }
            12 => list.push(value(raw.bytes(), interned, tables, depth + 1)),
            _ => {}
        }
    }
    match (map.is_empty(), list.is_empty()) {
        (false, _) => Value::Map(map.into()),
        (true, false) => Value::List(ElementType::common(&list), list.into()),
        (true, true) => plain,
    }
}

/// Reads a `NestedValue`, the older form of lists and maps.
fn nested(body: &[u8], tables: &mut Tables, depth: usize) -> Value {
    if depth > DEEPEST {
        return Value::Null;
    }
    let mut kind = 0;
    let mut plain = Value::Null;
    let (mut keys, mut values, mut list) = (Vec::new(), Vec::new(), Vec::new());
    for (number, raw) in fields(body) {
        match number {
            1 => kind = raw.number(),
            2 => keys.push(Value::Text(tables.bytes(raw.bytes()))),
            3 => values.push(nested(raw.bytes(), tables, depth + 1)),
            4 => list.push(nested(raw.bytes(), tables, depth + 1)),
            5 => plain = Value::I64(raw.number().cast_signed()),
            6 => plain = Value::F64(f64::from_bits(raw.number())),
            7 => plain = Value::Bool(raw.number() != 0),
            8 => plain = Value::Text(tables.value(raw.bytes())),
            _ => {}
        }
    }
    match kind {
        1 => Value::Map(keys.into_iter().zip(values).collect()),
        2 => Value::List(ElementType::common(&list), list.into()),
        _ => plain,
    }
}

/// The value of a correlation id.
pub(super) fn correlation(raw: RawValue<'_>, tables: &mut Tables) -> Value {
    match raw {
        RawValue::Len(text) => Value::Text(tables.value(text)),
        other => Value::U64(other.number()),
    }
}
