//! Attributes: `KeyValue` and `AnyValue`, both ways (SPEC.md §3).

use traceloom_model::bounds::subslice;
use traceloom_model::{Attribute, ElementType, Recording, Resource, StringId, Tables, Unit, Value};

use crate::protobuf::{Wire, fields, put_bytes, put_double, put_tag};
use crate::wire::put_leb128;

/// Values inside values that are read or written; deeper ones are nothing.
const DEEPEST: usize = 64;

/// Finds a text of the dictionary; where there is no dictionary there is none.
pub(super) type Lookup<'l> = dyn Fn(u64) -> &'l [u8] + 'l;

/// Reads an `AnyValue`.
pub(super) fn value(body: &[u8], lookup: &Lookup<'_>, tables: &mut Tables) -> Value {
    value_below(body, lookup, tables, 0)
}

fn value_below(body: &[u8], lookup: &Lookup<'_>, tables: &mut Tables, depth: usize) -> Value {
    let mut value = Value::Null;
    if depth > DEEPEST {
        return value;
    }
    for (number, raw) in fields(body) {
        value = match number {
            1 => Value::Text(tables.value(raw.bytes())),
            2 => Value::Bool(raw.number() != 0),
            3 => Value::I64(raw.number().cast_signed()),
            4 => Value::F64(f64::from_bits(raw.number())),
            5 => {
                let values = fields(raw.bytes()).filter(|&(number, _)| number == 1);
                let values: Vec<Value> = values
                    .map(|(_, one)| value_below(one.bytes(), lookup, tables, depth + 1))
                    .collect();
                Value::List(ElementType::common(&values), values.into())
            }
            6 => {
                let rows = fields(raw.bytes()).filter(|&(number, _)| number == 1);
                let rows = rows.map(|(_, row)| {
                    let (key, value) = pair_below(row.bytes(), lookup, tables, depth + 1);
                    (Value::Text(key), value)
                });
                Value::Map(rows.collect())
            }
            7 => Value::Bytes(raw.bytes().into()),
            8 => Value::Text(tables.value(lookup(raw.number()))),
            _ => value,
        };
    }
    value
}

/// Reads a `KeyValue`: its name and value.
pub(super) fn pair(body: &[u8], lookup: &Lookup<'_>, tables: &mut Tables) -> (StringId, Value) {
    pair_below(body, lookup, tables, 0)
}

fn pair_below(
    body: &[u8],
    lookup: &Lookup<'_>,
    tables: &mut Tables,
    depth: usize,
) -> (StringId, Value) {
    let (mut key, mut value) = (&[][..], Value::Null);
    for (number, raw) in fields(body) {
        match number {
            1 => key = raw.bytes(),
            2 => value = value_below(raw.bytes(), lookup, tables, depth),
            3 if key.is_empty() => key = lookup(raw.number()),
            _ => {}
        }
    }
    (tables.bytes(key), value)
}

/// Reads a `KeyValue` as an attribute.
pub(super) fn attribute(body: &[u8], lookup: &Lookup<'_>, tables: &mut Tables) -> Attribute {
    let (name, value) = pair(body, lookup, tables);
    let key = tables.attribute_key(traceloom_model::AttributeKey::named(name));
    Attribute::new(key, value)
}

/// Names by which resources tell what the model has places for.
const FACTS: [(&str, fn(&mut Resource) -> &mut Option<StringId>); 9] = [
    ("service.name", |resource| &mut resource.service),
    ("service.instance.id", |resource| &mut resource.instance),
    ("service.namespace", |resource| &mut resource.namespace),
    ("service.version", |resource| &mut resource.version),
    ("host.name", |resource| &mut resource.host),
    ("host.arch", |resource| &mut resource.arch),
    ("os.type", |resource| &mut resource.os),
    ("telemetry.sdk.language", |resource| &mut resource.language),
    ("deployment.environment.name", |resource| &mut resource.env),
];

/// The name of what a process runs on, with its version.
const RUNTIME: &str = "process.runtime.description";
const PID: &str = "process.pid";

/// Reads a `Resource`.
pub(super) fn resource(body: &[u8], lookup: &Lookup<'_>, tables: &mut Tables) -> Resource {
    let mut resource = Resource::default();
    for (_, row) in fields(body).filter(|&(number, _)| number == 1) {
        let (name, value) = pair(row.bytes(), lookup, tables);
        let text = tables.string_bytes(name);
        let fact = FACTS.iter().find(|(known, _)| known.as_bytes() == text);
        let runtime = text == RUNTIME.as_bytes();
        let pid = text == PID.as_bytes();
        match (fact, value) {
            (Some((_, fact)), Value::Text(text)) if fact(&mut resource).is_none() => {
                *fact(&mut resource) = Some(text);
            }
            (None, Value::Text(text)) if runtime && resource.runtime.is_none() => {
                resource.runtime = Some(text);
            }
            (None, Value::I64(id)) if pid && id >= 0 => resource.pid = Some(id.unsigned_abs()),
            (_, value) => {
                let key = traceloom_model::AttributeKey::named(name);
                let key = tables.attribute_key(key);
                resource.attributes.push(Attribute::new(key, value));
            }
        }
    }
    resource
}

/// Appends a `Resource` of this row and clock to a message, as field 1.
pub(super) fn put_resource(
    out: &mut Vec<u8>,
    row: Option<&Resource>,
    clock: Option<&str>,
    tables: &Recording,
) {
    let mut body = Vec::new();
    let mut row = row.cloned().unwrap_or_default();
    for (name, fact) in FACTS {
        if let Some(text) = *fact(&mut row) {
            put_pair(&mut body, 1, name.as_bytes(), &Value::Text(text), tables);
        }
    }
    if let Some(runtime) = row.runtime {
        let value = Value::Text(runtime);
        put_pair(&mut body, 1, RUNTIME.as_bytes(), &value, tables);
    }
    if let Some(pid) = row.pid {
        put_pair(&mut body, 1, PID.as_bytes(), &Value::U64(pid), tables);
    }
    for attribute in &row.attributes {
        put_attribute(&mut body, 1, attribute, tables);
    }
    if let Some(clock) = clock {
        let mut any = Vec::new();
        put_bytes(&mut any, 1, clock.as_bytes());
        let mut pair = Vec::new();
        put_bytes(&mut pair, 1, super::survey::CLOCK.as_bytes());
        put_bytes(&mut pair, 2, &any);
        put_bytes(&mut body, 1, &pair);
    }
    if !body.is_empty() {
        put_bytes(out, 1, &body);
    }
}

/// Appends an attribute as a `KeyValue`.
pub(super) fn put_attribute(
    out: &mut Vec<u8>,
    number: u32,
    attribute: &Attribute,
    tables: &Recording,
) {
    let key = tables.attribute_key(attribute.key).map(|key| key.name);
    let name = match key {
        Some(name) => tables.text(name).into_owned(),
        None => format!("#{}", attribute.key.raw()),
    };
    put_pair(out, number, name.as_bytes(), &attribute.value, tables);
}

/// Appends a `KeyValue`.
pub(super) fn put_pair(
    out: &mut Vec<u8>,
    number: u32,
    name: &[u8],
    value: &Value,
    tables: &Recording,
) {
    put_pair_below(out, number, name, value, tables, 0);
}

fn put_pair_below(
    out: &mut Vec<u8>,
    number: u32,
    name: &[u8],
    value: &Value,
    tables: &Recording,
    depth: usize,
) {
    let mut body = Vec::new();
    put_bytes(&mut body, 1, name);
    let mut any = Vec::new();
    put_value_below(&mut any, value, tables, depth);
    put_bytes(&mut body, 2, &any);
    put_bytes(out, number, &body);
}

/// Appends the fields of an `AnyValue`.
pub(super) fn put_value(out: &mut Vec<u8>, value: &Value, tables: &Recording) {
    put_value_below(out, value, tables, 0);
}

fn put_value_below(out: &mut Vec<u8>, value: &Value, tables: &Recording, depth: usize) {
    match value {
        Value::Null => {}
        Value::Text(id) => put_bytes(out, 1, tables.text(*id).as_bytes()),
        Value::Bool(value) => {
            put_tag(out, 2, Wire::Varint);
            put_leb128(out, u64::from(*value));
        }
        Value::I64(value) => put_int(out, *value),
        // No integer above 2^63 can be held: its digits can.
        Value::U64(value) => match i64::try_from(*value) {
            Ok(value) => put_int(out, value),
            Err(_) => put_bytes(out, 1, value.to_string().as_bytes()),
        },
        Value::F64(value) => put_double(out, 4, *value),
        Value::Bytes(bytes) => put_bytes(out, 7, bytes),
        Value::List(..) | Value::Map(_) if depth >= DEEPEST => put_bytes(out, 1, "…".as_bytes()),
        Value::List(_, list) => {
            let mut body = Vec::new();
            for one in list {
                let mut element = Vec::new();
                put_value_below(&mut element, one, tables, depth + 1);
                put_bytes(&mut body, 1, &element);
            }
            put_bytes(out, 5, &body);
        }
        Value::Map(map) => {
            let mut body = Vec::new();
            for (key, one) in map {
                let name = match key {
                    Value::Text(id) => tables.text(*id).into_owned(),
                    Value::I64(number) => number.to_string(),
                    Value::U64(number) => number.to_string(),
                    Value::Bool(flag) => flag.to_string(),
                    other => format!("{other:?}"),
                };
                put_pair_below(&mut body, 1, name.as_bytes(), one, tables, depth + 1);
            }
            put_bytes(out, 6, &body);
        }
        Value::Exception(id) => {
            let row = tables.exception(*id);
            let class = row.and_then(|row| row.class);
            let text = class.map_or_else(String::new, |class| tables.text(class).into_owned());
            put_bytes(out, 1, text.as_bytes());
        }
    }
}

fn put_int(out: &mut Vec<u8>, value: i64) {
    put_tag(out, 3, Wire::Varint);
    put_leb128(out, value.cast_unsigned());
}

/// Reads a big-endian id; shorter ones are as if zeros stood before them.
pub(super) fn id(bytes: &[u8]) -> u128 {
    let last = subslice(bytes, bytes.len().saturating_sub(16)..);
    last.iter().fold(0, |id, &byte| id << 8 | u128::from(byte))
}

/// Reads an id of a span.
pub(super) fn span_id(bytes: &[u8]) -> u64 {
    u64::try_from(id(bytes) & u128::from(u64::MAX)).unwrap_or(0)
}

/// Returns how a unit is spelt.
pub(super) fn unit_text(unit: Unit, tables: &Recording) -> String {
    match crate::profile::unit::spell(unit) {
        Ok(text) => text.to_owned(),
        Err(id) => tables.text(id).into_owned(),
    }
}
