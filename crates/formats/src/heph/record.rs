//! Native records: a packet field by field, borrowed from the input (SPEC.md §1).

use traceloom_model::Flow;
use traceloom_model::bounds::saturated_i64;

use super::parse::attribute;
use super::registered::{self, Described, DescribedValue};
use crate::{Field, Opaque, Record};

/// First four bytes of a metadata packet.
pub const METADATA: [u8; 4] = [0x75, 0xd1, 0x1d, 0x4d];
/// First four bytes of an event packet.
pub const EVENT: [u8; 4] = [0xc1, 0xfc, 0x1f, 0xb7];

/// Where the fields of an event packet lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Layout {
    /// With a substream, times from byte 24 (SPEC.md §1.3).
    #[default]
    Substream,
    /// Without: what writers before 17 March 2021 made (SPEC.md §2 item 8).
    NoSubstream,
}

impl Layout {
    /// Returns the offset of the description, which is also the smallest packet.
    #[must_use]
    pub const fn description(self) -> usize {
        match self {
            Self::Substream => 42,
            Self::NoSubstream => 34,
        }
    }
}

/// One option of the whole trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metadata<'a> {
    /// Where the packet begins.
    pub offset: u64,
    /// Its name; should be UTF-8.
    pub name: &'a [u8],
    /// Its value.
    pub value: &'a [u8],
}

impl Metadata<'_> {
    /// Returns true if this is the option `epoch`, whatever its value.
    #[must_use]
    pub fn is_epoch(&self) -> bool {
        self.name == b"epoch"
    }

    /// Returns the epoch, nanoseconds since 1970, when this is one of the right length.
    #[must_use]
    pub fn epoch(&self) -> Option<u64> {
        let value = <[u8; 8]>::try_from(self.value).ok()?;
        self.is_epoch().then(|| u64::from_be_bytes(value))
    }
}

/// One event.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Event<'a> {
    /// Where the packet begins.
    pub offset: u64,
    /// How its fields lie.
    pub layout: Layout,
    /// Stream.
    pub stream: u32,
    /// Counter of the stream's events; wraps after 2^32 − 1.
    pub counter: u32,
    /// Substream; 0 in the layout that has none.
    pub substream: u64,
    /// Start, nanoseconds since the epoch.
    pub start: u64,
    /// End, nanoseconds since the epoch; may lie before the start in damaged data.
    pub end: u64,
    /// Length of the description as the packet states it: more than is there in damaged data.
    pub description_length: u16,
    /// The description; should be UTF-8.
    pub description: &'a [u8],
    /// The attributes that could be decoded.
    pub attributes: Attributes<'a>,
    /// Bytes after them that could not (SPEC.md §6.3).
    pub undecoded: &'a [u8],
    /// Description, names and texts are UTF-8.
    pub valid_text: bool,
    /// The description ended inside the packet and nothing is left undecoded.
    pub complete: bool,
}

/// The attributes of an event, back to back; duplicates and empty names occur.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Attributes<'a> {
    /// Their bytes: whole attributes of known types only.
    pub bytes: &'a [u8],
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Attribute<'a>;

    #[inline]
    fn next(&mut self) -> Option<Attribute<'a>> {
        let (found, rest) = attribute(self.bytes)?;
        self.bytes = rest;
        Some(found)
    }
}

/// One attribute.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Attribute<'a> {
    /// Name; should be UTF-8, may be empty.
    pub name: &'a [u8],
    /// Value.
    pub value: Value<'a>,
}

/// The value of an attribute (SPEC.md §1.3).
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<'a> {
    /// Type 01.
    U64(u64),
    /// Type 02.
    I64(i64),
    /// Type 03.
    F64(f64),
    /// Type 04.
    Text(&'a [u8]),
    /// Type 81.
    U64s(&'a [[u8; 8]]),
    /// Type 82.
    I64s(&'a [[u8; 8]]),
    /// Type 83.
    F64s(&'a [[u8; 8]]),
    /// Type 84: how many, and their bytes with lengths.
    Texts(u16, &'a [u8]),
    /// Of a type that [`super::register`] made known.
    Described(Described<'a>),
}

impl Value<'_> {
    /// Returns the type byte.
    #[must_use]
    pub const fn type_byte(&self) -> u8 {
        match self {
            Self::U64(_) => 0x01,
            Self::I64(_) => 0x02,
            Self::F64(_) => 0x03,
            Self::Text(_) => 0x04,
            Self::U64s(_) => 0x81,
            Self::I64s(_) => 0x82,
            Self::F64s(_) => 0x83,
            Self::Texts(..) => 0x84,
            Self::Described(described) => described.type_byte,
        }
    }
}

/// Iterates over the texts of a list's bytes.
pub fn texts(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_first_chunk::<2>()?;
        let (text, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
        bytes = rest;
        Some(text)
    })
}

/// What the counter of an event says about it (SPEC.md §6.9).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CounterCheck {
    /// An event with this counter was there a short while before.
    pub duplicate: bool,
}

/// Takes packets and notes as they are read.
pub trait Visit {
    /// Attributes and the validity of texts are of no use: events in order come without.
    const SKIMS: bool = false;

    /// Takes an event.
    fn event(&mut self, event: &Event<'_>, seen: CounterCheck) -> Flow;

    /// Takes a metadata packet.
    fn metadata(&mut self, metadata: &Metadata<'_>) -> Flow;

    /// Takes bytes that are no packet.
    fn opaque(&mut self, opaque: &Opaque<'_>) -> Flow;

    /// Takes a note.
    fn note(&mut self, note: traceloom_model::Note) -> Flow;

    /// Learns that a new run began at the metadata packet at `offset`, some packets ago.
    fn run(&mut self, _offset: u64) {}
}

impl Record for Metadata<'_> {
    fn kind(&self) -> &str {
        "metadata"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        10 + (self.name.len() + self.value.len()) as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        show("size", Field::U64(self.len()));
        show("name", Field::Text(self.name));
        match self.epoch() {
            Some(epoch) => show("value", Field::U64(epoch)),
            None => match registered::option(self.name, self.value) {
                Some(value) => show("value", field(value)),
                None => show("value", Field::Bytes(self.value)),
            },
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        super::write::metadata(self, out);
    }

    fn time_zero(&self) -> Option<i64> {
        self.epoch().map(saturated_i64)
    }
}

impl Record for Event<'_> {
    fn kind(&self) -> &str {
        "event"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        let body = self.description.len() + self.attributes.bytes.len() + self.undecoded.len();
        (self.layout.description() + body) as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        show("size", Field::U64(self.len()));
        show("stream_id", Field::U64(u64::from(self.stream)));
        show("stream_counter", Field::U64(u64::from(self.counter)));
        match self.layout {
            Layout::Substream => show("substream_id", Field::U64(self.substream)),
            Layout::NoSubstream => show("substream_id", Field::Null),
        }
        show("start", Field::U64(self.start));
        show("end", Field::U64(self.end));
        show("description", Field::Text(self.description));
        if usize::from(self.description_length) != self.description.len() {
            let length = Field::U64(u64::from(self.description_length));
            show("description_length", length);
        }
        let lists: Vec<Vec<Field<'_>>> = self.attributes.map(|a| elements(a.value)).collect();
        let maps: Vec<[(Field<'_>, Field<'_>); 3]> = self
            .attributes
            .zip(&lists)
            .map(|(attribute, list)| {
                let type_byte = u64::from(attribute.value.type_byte());
                [
                    (Field::Str("name"), Field::Text(attribute.name)),
                    (Field::Str("type"), Field::U64(type_byte)),
                    (Field::Str("value"), scalar(attribute.value, list)),
                ]
            })
            .collect();
        let rows: Vec<Field<'_>> = maps.iter().map(|map| Field::Map(map)).collect();
        show("attributes", Field::List(&rows));
        if !self.undecoded.is_empty() {
            show("undecoded", Field::Bytes(self.undecoded));
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        super::write::event(self, out);
    }

    fn time(&self) -> Option<(i64, i64)> {
        let start = saturated_i64(self.start);
        Some((start, saturated_i64(self.end).max(start)))
    }
}

fn elements(value: Value<'_>) -> Vec<Field<'_>> {
    match value {
        Value::U64s(list) => list
            .iter()
            .map(|raw| Field::U64(u64::from_be_bytes(*raw)))
            .collect(),
        Value::I64s(list) => list
            .iter()
            .map(|raw| Field::I64(i64::from_be_bytes(*raw)))
            .collect(),
        Value::F64s(list) => list
            .iter()
            .map(|raw| Field::F64(f64::from_be_bytes(*raw)))
            .collect(),
        Value::Texts(_, bytes) => texts(bytes).map(Field::Text).collect(),
        Value::Described(described) => described.values().map(field).collect(),
        _ => Vec::new(),
    }
}

fn scalar<'a>(value: Value<'a>, list: &'a [Field<'a>]) -> Field<'a> {
    match value {
        Value::U64(value) => Field::U64(value),
        Value::I64(value) => Field::I64(value),
        Value::F64(value) => Field::F64(value),
        Value::Text(text) => Field::Text(text),
        Value::Described(described) if described.count.is_none() => {
            described.values().next().map_or(Field::Null, field)
        }
        _ => Field::List(list),
    }
}

fn field(value: DescribedValue<'_>) -> Field<'_> {
    match value {
        DescribedValue::Bool(value) => Field::Bool(value),
        DescribedValue::U64(value) => Field::U64(value),
        DescribedValue::I64(value) => Field::I64(value),
        DescribedValue::F64(value) => Field::F64(value),
        DescribedValue::Text(text) => Field::Text(text),
        DescribedValue::Bytes(bytes) => Field::Bytes(bytes),
    }
}
