//! Descriptions, attribute names and texts, each interned once.

use traceloom_model::bounds::subslice;
use traceloom_model::{
    AttrKeyId, Attribute, ElementType, Function, FunctionId, Limit, Limits, Note, StringId, Tables,
    Value,
};

use super::bodies::EventBody;
use super::heads::{AttributeHead, Heads, NOWHERE};
use super::known::{NameIds, Recent, ShortName};
use super::parse;
use super::record::{self, texts};
use super::registered::{self, DescribedValue, Encoding};
use super::survey::TrackClass;
use crate::damage;

/// The attribute that holds what could not be decoded; raising writes its bytes back.
pub(super) const UNDECODED: &str = "heph.undecoded";

/// The tables of a lowering, with shortcuts from bytes to ids.
#[derive(Debug)]
pub(super) struct LoweringTables {
    pub tables: Tables,
    descriptions: NameIds<(DescriptionNumber, TrackClass)>,
    functions: Vec<DescribedName>,
    keys: NameIds<AttrKeyId>,
    heads: Heads,
    texts: Recent<StringId>,
    most: u64,
    full: Option<StringId>,
    refused: u64,
}

/// The number of a description, as long as there are not too many.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DescriptionNumber(u32);

impl DescriptionNumber {
    pub fn number(self) -> Option<usize> {
        usize::try_from(self.0).ok().filter(|_| self.0 != u32::MAX)
    }
}

/// What a description became.
#[derive(Debug)]
struct DescribedName {
    /// The description itself until a span of it is pushed: functions are numbered in the order of the spans.
    description: Box<[u8]>,
    function: Option<FunctionId>,
}

impl LoweringTables {
    pub fn new(limits: &Limits) -> Self {
        Self {
            tables: Tables::new(),
            descriptions: NameIds::default(),
            functions: Vec::new(),
            keys: NameIds::default(),
            heads: Heads::default(),
            texts: Recent::default(),
            most: limits.of(Limit::Table),
            full: None,
            refused: 0,
        }
    }

    /// Interns a text; one placeholder stands for all texts once the table is full.
    pub fn text(&mut self, text: &[u8]) -> StringId {
        if let Some(full) = self.full {
            self.refused += 1;
            return full;
        }
        let words = ShortName::of(text);
        if let Some(id) = words.as_ref().and_then(|words| self.texts.get(words)) {
            return id;
        }
        let id = self.tables.bytes(text);
        if let Some(words) = words {
            self.texts.put(words, id);
        }
        if u64::from(id.raw()) >= self.most {
            self.full = Some(self.tables.string("(string table full)"));
        }
        id
    }

    /// Returns the number of a description, and what its event is when it has no substream.
    #[inline]
    pub fn describe(&mut self, description: &[u8]) -> (DescriptionNumber, TrackClass) {
        let known = self.descriptions.get(description);
        known.unwrap_or_else(|| self.new_description(description))
    }

    #[inline(never)]
    fn new_description(&mut self, description: &[u8]) -> (DescriptionNumber, TrackClass) {
        let class = TrackClass::of_description(description);
        let number = self.functions.len();
        let Some(number) = u32::try_from(number)
            .ok()
            .filter(|at| u64::from(*at) < self.most)
        else {
            return (DescriptionNumber(u32::MAX), class);
        };
        self.functions.push(DescribedName {
            description: description.into(),
            function: None,
        });
        let known = (DescriptionNumber(number), class);
        self.descriptions.insert(description, known);
        known
    }

    /// Returns the function of a description, which is given as well when it has no number.
    #[inline]
    pub fn function(&mut self, described: DescriptionNumber, description: &[u8]) -> FunctionId {
        let known = self.functions.get(described.0 as usize);
        let function = known.and_then(|named| named.function);
        function.unwrap_or_else(|| self.new_function(described, description))
    }

    #[inline(never)]
    fn new_function(&mut self, described: DescriptionNumber, description: &[u8]) -> FunctionId {
        let at = described.0 as usize;
        let name = match self.functions.get_mut(at) {
            Some(named) => std::mem::take(&mut named.description),
            None => description.into(),
        };
        let text = self.text(&name);
        let id = self.tables.function(Function::named(text));
        if let Some(named) = self.functions.get_mut(at) {
            match self.full {
                None => named.function = Some(id),
                Some(_) => named.description = name,
            }
        }
        id
    }

    #[inline(always)]
    fn key(&mut self, name: &[u8]) -> AttrKeyId {
        let known = self.keys.get(name);
        known.unwrap_or_else(|| self.new_key(name))
    }

    #[inline(never)]
    fn new_key(&mut self, name: &[u8]) -> AttrKeyId {
        let text = self.text(name);
        let key = traceloom_model::AttributeKey::named(text);
        let id = self.tables.attribute_key(key);
        if self.full.is_none() {
            self.keys.insert(name, id);
        }
        id
    }

    /// Lowers an option of the trace.
    pub fn option(&mut self, name: &[u8], value: &[u8]) -> Attribute {
        let key = self.key(name);
        let value = match (registered::option(name, value), std::str::from_utf8(value)) {
            (Some(described), _) => self.described(described),
            (None, Ok(text)) => Value::Text(self.text(text.as_bytes())),
            (None, Err(_)) => Value::Bytes(value.into()),
        };
        Attribute::new(key, value)
    }

    /// Appends the attributes of an event.
    #[inline]
    pub fn attributes(
        &mut self,
        described: DescriptionNumber,
        body: &EventBody<'_>,
        lowered: &mut Vec<Attribute>,
    ) {
        if !body.attributes.bytes.is_empty() {
            self.whole_attributes(described, body.attributes.bytes, lowered);
        }
        if !body.undecoded.is_empty() {
            let key = self.key(UNDECODED.as_bytes());
            lowered.push(Attribute::new(key, Value::Bytes(body.undecoded.into())));
        }
    }

    fn whole_attributes(
        &mut self,
        described: DescriptionNumber,
        mut bytes: &[u8],
        lowered: &mut Vec<Attribute>,
    ) {
        let mut place = Heads::first(described.number());
        while !bytes.is_empty() {
            let expected = self.heads.expected(place, bytes);
            let Some(head) = expected.or_else(|| self.unexpected(place, bytes)) else {
                return;
            };
            let value = subslice(bytes, head.length..);
            let Some((value, rest)) = parse::value(head.type_byte, value) else {
                return;
            };
            let value = self.value(value);
            lowered.push(Attribute::new(head.key, value));
            (place, bytes) = (head.next, rest);
        }
    }

    /// Finds the key of the attribute that `bytes` begin with, where it is not the one expected.
    #[inline(never)]
    fn unexpected(&mut self, place: usize, bytes: &[u8]) -> Option<AttributeHead> {
        let (attribute, _) = parse::attribute(bytes)?;
        let length = attribute.name.len() + 3;
        let known = self.heads.known(bytes.get(..length)?);
        let head = known.unwrap_or_else(|| {
            let head = AttributeHead {
                length,
                type_byte: attribute.value.type_byte(),
                key: self.key(attribute.name),
                next: NOWHERE,
            };
            match self.full {
                None => self.heads.add(bytes, head),
                Some(_) => head,
            }
        });
        self.heads.expect(place, &head);
        Some(head)
    }

    fn value(&mut self, value: record::Value<'_>) -> Value {
        fn numbers(raw: &[[u8; 8]], number: impl Fn([u8; 8]) -> Value) -> Box<[Value]> {
            raw.iter().map(|raw| number(*raw)).collect()
        }
        match value {
            record::Value::U64(value) => Value::U64(value),
            record::Value::I64(value) => Value::I64(value),
            record::Value::F64(value) => Value::F64(value),
            record::Value::Text(text) => Value::Text(self.text(text)),
            record::Value::U64s(raw) => {
                let list = numbers(raw, |raw| Value::U64(u64::from_be_bytes(raw)));
                Value::List(ElementType::U64, list)
            }
            record::Value::I64s(raw) => {
                let list = numbers(raw, |raw| Value::I64(i64::from_be_bytes(raw)));
                Value::List(ElementType::I64, list)
            }
            record::Value::F64s(raw) => {
                let list = numbers(raw, |raw| Value::F64(f64::from_be_bytes(raw)));
                Value::List(ElementType::F64, list)
            }
            record::Value::Texts(count, bytes) => {
                let mut list = Vec::with_capacity(usize::from(count));
                list.extend(texts(bytes).map(|text| Value::Text(self.text(text))));
                Value::List(ElementType::Text, list.into())
            }
            record::Value::Described(described) => {
                let mut values = described.values().map(|value| self.described(value));
                match described.count {
                    None => values.next().unwrap_or(Value::Null),
                    Some(_) => Value::List(element_type(described.encoding), values.collect()),
                }
            }
        }
    }

    fn described(&mut self, value: DescribedValue<'_>) -> Value {
        match value {
            DescribedValue::Bool(value) => Value::Bool(value),
            DescribedValue::U64(value) => Value::U64(value),
            DescribedValue::I64(value) => Value::I64(value),
            DescribedValue::F64(value) => Value::F64(value),
            DescribedValue::Text(text) => Value::Text(self.text(text)),
            DescribedValue::Bytes(bytes) => Value::Bytes(bytes.into()),
        }
    }

    /// Returns a note when texts were refused since the last call.
    pub fn note(&mut self) -> Option<Note> {
        let refused = std::mem::take(&mut self.refused);
        (refused > 0).then(|| {
            let text = "more distinct texts than the limit `table`: the others are not held";
            damage("limit_table", 0, text).counting(refused)
        })
    }
}

fn element_type(encoding: Encoding) -> ElementType {
    match encoding {
        Encoding::Bool => ElementType::Bool,
        Encoding::Byte | Encoding::Int | Encoding::Long => ElementType::U64,
        Encoding::Signed => ElementType::I64,
        Encoding::Float => ElementType::F64,
        Encoding::Text => ElementType::Text,
        Encoding::Bytes => ElementType::Bytes,
    }
}
