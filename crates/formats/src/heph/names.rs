//! Descriptions, attribute names and texts, each interned once.

use traceloom_model::{
    AttrKeyId, Attribute, ElementType, Function, FunctionId, Limit, Limits, Note, StringId, Tables,
    Value,
};

use super::lower::Map;
use super::nest::Body;
use super::record::{self, texts};
use crate::damage;

/// The attribute that holds what could not be decoded; raising writes its bytes back.
pub(super) const UNDECODED: &str = "heph.undecoded";

/// The tables of a lowering, with shortcuts from bytes to ids.
#[derive(Debug)]
pub(super) struct Names {
    pub tables: Tables,
    functions: Known<FunctionId>,
    keys: Known<AttrKeyId>,
    most: u64,
    full: Option<StringId>,
    refused: u64,
}

/// Ids by name. A trace has few names and each event some of them: those met last are found by two of
/// their bytes and their length, without hashing all of them.
#[derive(Debug)]
struct Known<I> {
    all: Map<Box<[u8]>, I>,
    recent: Vec<Option<(Box<[u8]>, I)>>,
}

const RECENT: usize = 64;

impl<I> Default for Known<I> {
    fn default() -> Self {
        Self {
            all: Map::default(),
            recent: (0..RECENT).map(|_| None).collect(),
        }
    }
}

impl<I: Copy> Known<I> {
    #[inline]
    fn get(&mut self, name: &[u8]) -> Option<I> {
        let ends = (name.first().copied(), name.last().copied());
        let ends = usize::from(ends.0.unwrap_or(0)) + 5 * usize::from(ends.1.unwrap_or(0));
        let at = (ends + 11 * name.len()) % RECENT;
        if let Some(Some((known, id))) = self.recent.get(at)
            && **known == *name
        {
            return Some(*id);
        }
        self.look_up(name, at)
    }

    #[inline(never)]
    fn look_up(&mut self, name: &[u8], at: usize) -> Option<I> {
        let (known, &id) = self.all.get_key_value(name)?;
        *self.recent.get_mut(at)? = Some((known.clone(), id));
        Some(id)
    }

    fn insert(&mut self, name: &[u8], id: I) {
        self.all.insert(name.into(), id);
    }
}

impl Names {
    pub fn new(limits: &Limits) -> Self {
        Self {
            tables: Tables::new(),
            functions: Known::default(),
            keys: Known::default(),
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
        let id = self.tables.bytes(text);
        if u64::from(id.raw()) >= self.most {
            self.full = Some(self.tables.string("(string table full)"));
        }
        id
    }

    #[inline]
    pub fn function(&mut self, description: &[u8]) -> FunctionId {
        let known = self.functions.get(description);
        known.unwrap_or_else(|| self.new_function(description))
    }

    #[inline(never)]
    fn new_function(&mut self, description: &[u8]) -> FunctionId {
        let name = self.text(description);
        let id = self.tables.function(Function::named(name));
        if self.full.is_none() {
            self.functions.insert(description, id);
        }
        id
    }

    #[inline]
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
        let value = match std::str::from_utf8(value) {
            Ok(text) => Value::Text(self.text(text.as_bytes())),
            Err(_) => Value::Bytes(value.into()),
        };
        Attribute::new(key, value)
    }

    /// Appends the attributes of an event.
    pub fn attributes(&mut self, body: &Body<'_>, lowered: &mut Vec<Attribute>) {
        for record::Attribute { name, value } in body.attributes {
            let key = self.key(name);
            lowered.push(Attribute::new(key, self.value(value)));
        }
        if !body.undecoded.is_empty() {
            let key = self.key(UNDECODED.as_bytes());
            lowered.push(Attribute::new(key, Value::Bytes(body.undecoded.into())));
        }
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
