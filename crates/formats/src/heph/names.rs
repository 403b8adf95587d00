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
    functions: Map<Box<[u8]>, FunctionId>,
    keys: Map<Box<[u8]>, AttrKeyId>,
    attributes: Vec<Attribute>,
    most: u64,
    full: Option<StringId>,
    refused: u64,
}

impl Names {
    pub fn new(limits: &Limits) -> Self {
        Self {
            tables: Tables::new(),
            functions: Map::default(),
            keys: Map::default(),
            attributes: Vec::new(),
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

    pub fn function(&mut self, description: &[u8]) -> FunctionId {
        if let Some(&id) = self.functions.get(description) {
            return id;
        }
        let name = self.text(description);
        let id = self.tables.function(Function::named(name));
        if self.full.is_none() {
            self.functions.insert(description.into(), id);
        }
        id
    }

    fn key(&mut self, name: &[u8]) -> AttrKeyId {
        if let Some(&id) = self.keys.get(name) {
            return id;
        }
        let text = self.text(name);
        let key = traceloom_model::AttributeKey::named(text);
        let id = self.tables.attribute_key(key);
        if self.full.is_none() {
            self.keys.insert(name.into(), id);
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

    /// Lowers the attributes of an event.
    pub fn attributes(&mut self, body: &Body<'_>) -> &[Attribute] {
        let mut lowered = std::mem::take(&mut self.attributes);
        lowered.clear();
        for record::Attribute { name, value } in body.attributes {
            let key = self.key(name);
            lowered.push(Attribute::new(key, self.value(value)));
        }
        if !body.undecoded.is_empty() {
            let key = self.key(UNDECODED.as_bytes());
            lowered.push(Attribute::new(key, Value::Bytes(body.undecoded.into())));
        }
        self.attributes = lowered;
        &self.attributes
    }

    fn value(&mut self, value: record::Value<'_>) -> Value {
        let list =
            |kind, values: &mut dyn Iterator<Item = Value>| Value::List(kind, values.collect());
        match value {
            record::Value::U64(value) => Value::U64(value),
            record::Value::I64(value) => Value::I64(value),
            record::Value::F64(value) => Value::F64(value),
            record::Value::Text(text) => Value::Text(self.text(text)),
            record::Value::U64s(raw) => list(
                ElementType::U64,
                &mut raw.iter().map(|raw| Value::U64(u64::from_be_bytes(*raw))),
            ),
            record::Value::I64s(raw) => list(
                ElementType::I64,
                &mut raw.iter().map(|raw| Value::I64(i64::from_be_bytes(*raw))),
            ),
            record::Value::F64s(raw) => list(
                ElementType::F64,
                &mut raw.iter().map(|raw| Value::F64(f64::from_be_bytes(*raw))),
            ),
            record::Value::Texts(_, bytes) => list(
                ElementType::Text,
                &mut texts(bytes).map(|text| Value::Text(self.text(text))),
            ),
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
