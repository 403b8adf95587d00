//! Items as native records: kinds, fields in the specification's order, bytes from the fields.

use super::cbor::{Cbor, CborValue};
use super::diagnostic::{diagnostic, half};
use super::record::{
    Attributes, Begin, End, EndForm, Exception, Item, Order, Record, Start, StartForm, ValueRun,
};
use super::write;
use crate::Field;

type Show<'s> = &'s mut dyn FnMut(&str, Field<'_>);

impl Record<'_> {
    /// Returns what [`crate::Record::kind`] does.
    #[inline]
    pub(super) fn kind_name(&self) -> &'static str {
        match self.item {
            Item::Start(_) => "start",
            Item::Prolog(_) => "prolog",
            Item::End(_) => "end",
            Item::Break => "break",
            Item::Begin(_) => "begin",
            Item::Attributes(Attributes { upward: None, .. }) => "attribute",
            Item::Attributes(_) => "upward_attribute",
            Item::Exception(_) => "exception",
            Item::ExceptionRef { .. } => "exception_ref",
            Item::Flags(_) => "flags",
            Item::Info { .. } => "info",
            Item::Symbol(_) => "symbol",
            Item::Method(_) => "method",
            Item::Chunk(_) => "chunk_metadata",
            Item::Unknown => "unknown",
            Item::Damage => "damage",
        }
    }
}

impl crate::Record for Record<'_> {
    fn kind(&self) -> &str {
        self.kind_name()
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        match self.item {
            Item::Start(start) | Item::Prolog(start) => show_start(start, show),
            Item::End(end) => show_end(end, show),
            Item::Break => {}
            Item::Begin(begin) => show_begin(begin, show),
            Item::Attributes(attributes) => show_attributes(attributes, show),
            Item::Exception(exception) => show_exception(exception, show),
            Item::ExceptionRef { id, .. } => show("id", Field::U64(*id)),
            Item::Flags(flags) => show("flags", Field::U64(*flags)),
            Item::Info { key, value } => {
                show("key", Field::I64(*key));
                let name = fact(*key);
                show("name", name.map_or(Field::Null, Field::Str));
                one(*value, |field| show("value", field));
            }
            Item::Symbol(symbol) => {
                show("id", Field::I64(symbol.id));
                one(symbol.text, |field| show("text", field));
                if let Some(kind) = symbol.symbol_type {
                    show("type", Field::I64(kind));
                }
            }
            Item::Method(method) => {
                show("id", Field::I64(method.id));
                show("class", id("symbol", method.class));
                show("method", id("symbol", method.name));
                show("signature", id("symbol", method.signature));
            }
            Item::Chunk(values) => show_chunk(values, show),
            Item::Unknown => {
                let text = diagnostic(CborValue::Raw(self.bytes));
                show("value", Field::Str(&text));
            }
            Item::Damage => {
                let opaque = crate::Opaque::damage(self.offset, self.bytes);
                crate::Record::fields(&opaque, show);
            }
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        if self.canonical {
            write::item(out, self.item);
        } else {
            out.extend_from_slice(self.bytes);
        }
    }

    fn time(&self) -> Option<(i64, i64)> {
        self.wall_time().map(|time| (time, time))
    }
}

/// Names the facts of processed traces (SPEC.md §4.1).
pub(crate) const fn fact(key: i64) -> Option<&'static str> {
    Some(match key {
        1 => "trace_id",
        2 => "chunk_number",
        3 => "chunk_offset",
        4 => "chunk_length",
        5 => "timestamp",
        6 => "duration",
        7 => "type",
        8 => "records",
        9 => "calls",
        10 => "errors",
        11 => "flags",
        12 => "tstart",
        13 => "tstop",
        14 => "method",
        15 => "skip",
        16 => "clear_flags",
        17 => "parent_id",
        18 => "span_id",
        _ => return None,
    })
}

fn id(table: &'static str, value: i64) -> Field<'static> {
    u64::try_from(value).map_or(Field::I64(value), |value| Field::Id(table, value))
}

fn show_start(start: &Start, show: Show<'_>) {
    let (form, time) = match start.form {
        StartForm::Seed { tag: 10 | 11 } => ("s0", "tick"),
        StartForm::Seed { .. } => ("seed", "tick"),
        StartForm::Tagged => ("tagged", "tick"),
        StartForm::Bare => return show("form", Field::Str("processed")),
        StartForm::Nanos => ("nanoseconds", "tstart"),
        StartForm::Stream => ("stream", "tstart"),
    };
    show("form", Field::Str(form));
    if time == "tick" {
        show("order", order(start.order));
    }
    show(time, Field::I64(start.time));
    show("method", id("method", start.method));
}

fn order(order: Order) -> Field<'static> {
    Field::Str(match order {
        Order::Little => "little",
        Order::Big => "big",
    })
}

fn show_end(end: &End, show: Show<'_>) {
    if end.form == EndForm::Nanos {
        show("tstop", Field::I64(end.time));
    } else {
        show("order", order(end.order));
        show("tick", Field::I64(end.time));
    }
    show("calls", Field::U64(end.calls));
    if end.long {
        show("long_calls", Field::Bool(true));
    }
    if let Some(flags) = end.flags {
        show("flags", Field::I64(flags));
    }
    if !end.closed {
        show("closed", Field::Bool(false));
    }
}

fn show_begin(begin: &Begin, show: Show<'_>) {
    show("clock_ms", Field::I64(begin.clock_ms));
    if let Some(ttype) = begin.ttype {
        show("ttype", id("symbol", ttype));
    }
    if let Some(span) = begin.span_id {
        show("span_id", Field::I64(span));
    }
    if let Some(parent) = begin.parent_id {
        show("parent_id", Field::I64(parent));
    }
}

fn show_attributes(attributes: &Attributes<'_>, show: Show<'_>) {
    if let Some(upward) = attributes.upward {
        show("ttype", id("symbol", upward));
    }
    let pairs: Vec<_> = attributes.pairs().collect();
    let opened: Vec<Opened<'_>> = pairs.iter().map(|pair| Opened::new(pair.1)).collect();
    let inner: Vec<ShownFields<'_>> = opened.iter().map(Opened::inner).collect();
    let keys: Vec<String> = pairs.iter().map(|pair| raw_text(pair.0)).collect();
    let fields: Vec<(Field<'_>, Field<'_>)> = opened
        .iter()
        .zip(&inner)
        .zip(pairs.iter().zip(&keys))
        .map(|((opened, inner), (pair, text))| {
            let key = match pair.0.symbol() {
                Some(symbol) => Field::Id("symbol", symbol),
                None => leaf(pair.0, text),
            };
            (key, opened.field(inner))
        })
        .collect();
    show("attributes", Field::Map(&fields));
}

fn show_exception(exception: &Exception<'_>, show: Show<'_>) {
    let Some(fields) = exception.fields() else {
        return;
    };
    one(fields.id, |field| show("id", field));
    match fields.class.symbol() {
        Some(symbol) => show("class", Field::Id("symbol", symbol)),
        None => one(fields.class, |field| show("class", field)),
    }
    one(fields.message, |field| show("message", field));
    let frames: Vec<Vec<CborValue<'_>>> = match fields.stack {
        CborValue::Raw(raw) => ValueRun::elements(raw)
            .into_iter()
            .map(|frame| match frame {
                CborValue::Raw(raw) => ValueRun::elements(raw),
                other => vec![other],
            })
            .collect(),
        _ => Vec::new(),
    };
    let shown: Vec<Vec<Field<'_>>> = frames.iter().map(|frame| place(frame)).collect();
    let list: Vec<Field<'_>> = shown.iter().map(|frame| Field::List(frame)).collect();
    show("stack", Field::List(&list));
    one(fields.cause, |field| show("cause", field));
    if let Some(attributes) = fields.attributes {
        one(attributes, |field| show("attributes", field));
    }
}

/// Shows a stack frame: symbols of class, method and file, then a line.
fn place<'a>(frame: &[CborValue<'a>]) -> Vec<Field<'a>> {
    frame
        .iter()
        .enumerate()
        .map(|(at, &value)| match value.symbol() {
            Some(symbol) if at < 3 => Field::Id("symbol", symbol),
            _ => leaf(value, ""),
        })
        .collect()
}

fn show_chunk(values: &ValueRun<'_>, show: Show<'_>) {
    for (name, value) in CHUNK.iter().zip(values.iter()) {
        one(value, |field| show(name, field));
    }
}

/// The fields of chunk metadata in their order (SPEC.md §4.1).
pub(crate) const CHUNK: [&str; 19] = [
    "trace_id_high",
    "trace_id_low",
    "parent_id",
    "span_id",
    "chunk_number",
    "flags",
    "timestamp_ns",
    "duration_ns",
    "data_offset",
    "start_offset",
    "zero_level",
    "stack_depth",
    "calls",
    "errors",
    "records",
    "tstart",
    "tstop",
    "text_attributes",
    "number_attributes",
];

/// A value with what its containers hold, one level deep; deeper ones as diagnostic text.
struct Opened<'a> {
    value: CborValue<'a>,
    text: String,
    map: bool,
    parts: Vec<(CborValue<'a>, String)>,
}

/// The fields of an opened container.
enum ShownFields<'a> {
    List(Vec<Field<'a>>),
    Map(Vec<(Field<'a>, Field<'a>)>),
}

/// Elements of a container that are shown one by one.
const SHOWN: usize = 4096;

impl<'a> Opened<'a> {
    fn new(value: CborValue<'a>) -> Self {
        let mut opened = Self {
            value,
            text: String::new(),
            map: false,
            parts: Vec::new(),
        };
        let CborValue::Raw(raw) = value else {
            return opened;
        };
        let mut cbor = Cbor::checked(raw);
        let Ok(head) = cbor.head() else {
            return opened;
        };
        if !matches!(head.major, 4 | 5) || head.value > SHOWN as u64 {
            opened.text = diagnostic(value);
            return opened;
        }
        opened.map = head.major == 5;
        let mut left = match head.info {
            31 => u64::MAX,
            _ => head.value << (head.major & 1),
        };
        while left > 0 && cbor.next_is(0xff) == Some(false) {
            let Ok(part) = cbor.value() else { break };
            opened.parts.push((part, raw_text(part)));
            left -= 1;
        }
        opened
    }

    fn inner(&self) -> ShownFields<'_> {
        let mut parts = self.parts.iter().map(|(value, text)| leaf(*value, text));
        if !self.map {
            return ShownFields::List(parts.collect());
        }
        let mut pairs = Vec::new();
        while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
            pairs.push((key, value));
        }
        ShownFields::Map(pairs)
    }

    fn field<'f>(&'f self, inner: &'f ShownFields<'f>) -> Field<'f> {
        match (self.value, inner) {
            (CborValue::Raw(_), _) if !self.text.is_empty() => Field::Str(&self.text),
            (CborValue::Raw(_), ShownFields::List(list)) => Field::List(list),
            (CborValue::Raw(_), ShownFields::Map(map)) => Field::Map(map),
            (value, _) => leaf(value, ""),
        }
    }
}

fn raw_text(value: CborValue<'_>) -> String {
    match value {
        CborValue::Raw(_) => diagnostic(value),
        _ => String::new(),
    }
}

fn one(value: CborValue<'_>, show: impl FnOnce(Field<'_>)) {
    let opened = Opened::new(value);
    let inner = opened.inner();
    show(opened.field(&inner));
}

fn leaf<'f>(value: CborValue<'f>, text: &'f str) -> Field<'f> {
    match value {
        CborValue::Null | CborValue::Undefined | CborValue::Missing => Field::Null,
        CborValue::Bool(value) => Field::Bool(value),
        CborValue::Int(value) => Field::I64(value),
        CborValue::Big(value) => Field::U64(value),
        // Beyond 64 bits: the nearest that fits, as the record keeps the exact value.
        CborValue::NegativeBig(_) => Field::I64(i64::MIN),
        CborValue::Text(text) => Field::Text(text),
        CborValue::Bytes(bytes) => Field::Bytes(bytes),
        CborValue::F16(bits) => Field::F64(half(bits)),
        CborValue::F32(bits) => Field::F64(f64::from(f32::from_bits(bits))),
        CborValue::F64(bits) => Field::F64(f64::from_bits(bits)),
        CborValue::Ref(symbol) => Field::Id("symbol", symbol),
        CborValue::Simple(number) => Field::U64(u64::from(number)),
        CborValue::Raw(_) => Field::Str(text),
    }
}
