//! Any value of an event as an attribute of the model.

use traceloom_model::{ElementType, Tables, Value};

use super::super::header::ChunkClock;
use super::super::schema::{FieldEncoding, FieldSchema, NumberMeaning};
use super::super::value::{DecodedValue, unsigned};
use super::constants::Constants;

/// Structures and references inside one another in a generic value, at most.
const NESTED: u32 = 8;

/// Values a generic value may consist of; the references after that stay numbers.
const VALUES: u32 = 64;

impl Constants<'_> {
    /// Returns a value as an attribute holds it.
    #[inline]
    pub(super) fn value(
        &mut self,
        field: &FieldSchema,
        cell: &DecodedValue<'_>,
        tables: &mut Tables,
    ) -> Value {
        if let (&DecodedValue::Ref(key), FieldEncoding::Ref(index)) = (cell, field.kind) {
            if let Some(known) = self.values.get(index, key) {
                return known;
            }
            let mut left = VALUES - 1;
            let value = self.reference(index, key, tables, 0, &mut left);
            self.values.insert(index, key, value.clone());
            return value;
        }
        let mut left = VALUES;
        self.nested(field, *cell, tables, 0, &mut left)
    }

    fn nested(
        &mut self,
        field: &FieldSchema,
        cell: DecodedValue<'_>,
        tables: &mut Tables,
        depth: u32,
        left: &mut u32,
    ) -> Value {
        *left = left.saturating_sub(1);
        let deeper = depth < NESTED && *left > 0;
        match cell {
            DecodedValue::Bool(byte) => Value::Bool(byte != 0),
            DecodedValue::Int(value) => self.integer(field, value),
            DecodedValue::Float(value) => float(field, f64::from(value)),
            DecodedValue::Double(value) => float(field, value),
            DecodedValue::Str(string) => {
                self.string(string, tables).map_or(Value::Null, Value::Text)
            }
            DecodedValue::Ref(key) => {
                let FieldEncoding::Ref(index) = field.kind else {
                    return Value::U64(key);
                };
                self.reference(index, key, tables, depth, left)
            }
            DecodedValue::Struct(mut scan) if deeper => {
                let FieldEncoding::Struct(inner) = field.kind else {
                    return Value::Null;
                };
                let mut cells = Vec::new();
                match self.rules.cells(&mut scan, inner, &mut cells) {
                    Ok(()) => self.map(inner, &cells, tables, depth, left),
                    Err(_) => Value::Null,
                }
            }
            DecodedValue::Array(scan) if deeper => {
                let mut elements = Vec::new();
                let rules = self.rules;
                let _ = rules.each(scan, field, &mut |cell| elements.push(cell));
                let mut values = Vec::new();
                for cell in elements.into_iter().take(VALUES as usize) {
                    values.push(self.nested(field, cell, tables, depth + 1, left));
                }
                let element = match field.kind {
                    FieldEncoding::Bool => ElementType::Bool,
                    FieldEncoding::Float | FieldEncoding::Double => ElementType::F64,
                    FieldEncoding::Str => ElementType::Text,
                    FieldEncoding::Struct(_) | FieldEncoding::Ref(_) | FieldEncoding::Unknown => {
                        ElementType::Any
                    }
                    _ if field.is_unsigned() => ElementType::U64,
                    _ => ElementType::I64,
                };
                Value::List(element, values.into())
            }
            DecodedValue::Struct(_) | DecodedValue::Array(_) => Value::Null,
        }
    }

    fn reference(
        &mut self,
        index: usize,
        key: u64,
        tables: &mut Tables,
        depth: u32,
        left: &mut u32,
    ) -> Value {
        if let Some(text) = self.text(index, key, tables) {
            return Value::Text(text);
        }
        if self.pools.find(index, key).is_none() {
            return if key == 0 {
                Value::Null
            } else {
                Value::U64(key)
            };
        }
        if depth >= NESTED || *left == 0 {
            return Value::U64(key);
        }
        match self.constant(index, key) {
            Some(constant) if constant.fields.len() > 1 => {
                let cells = constant.cells;
                self.map(index, &cells, tables, depth, left)
            }
            Some(_) => Value::Null,
            None => Value::U64(key),
        }
    }

    fn map(
        &mut self,
        index: usize,
        cells: &[DecodedValue<'_>],
        tables: &mut Tables,
        depth: u32,
        left: &mut u32,
    ) -> Value {
        let mut pairs = Vec::with_capacity(cells.len());
        for (field, &cell) in self.schema().fields(index).iter().zip(cells) {
            let name = Value::Text(tables.string(&field.name));
            pairs.push((name, self.nested(field, cell, tables, depth + 1, left)));
        }
        Value::Map(pairs.into())
    }

    fn integer(&self, field: &FieldSchema, value: i64) -> Value {
        match field.meaning {
            NumberMeaning::TicksTime => Value::I64(self.clock.time(value)),
            NumberMeaning::TicksSpan | NumberMeaning::Span(_) | NumberMeaning::Time(_) => self
                .nanoseconds(field.meaning, value)
                .map_or(Value::Null, Value::I64),
            _ if field.is_unsigned() => Value::U64(unsigned(field.kind, value)),
            _ => Value::I64(value),
        }
    }

    /// Returns a length or point of time in nanoseconds; the smallest number means that there is none,
    /// the largest forever (SPEC.md §4.3).
    pub(super) fn nanoseconds(&self, meaning: NumberMeaning, value: i64) -> Option<i64> {
        self.clock.nanoseconds(meaning, value)
    }
}

impl ChunkClock {
    /// Returns a length or point of time in nanoseconds, as [`Constants::nanoseconds`] does.
    pub(super) fn nanoseconds(&self, meaning: NumberMeaning, value: i64) -> Option<i64> {
        match (meaning, value) {
            (_, i64::MIN) => None,
            (NumberMeaning::TicksTime, ticks) => Some(self.time(ticks)),
            (_, i64::MAX) => Some(i64::MAX),
            (NumberMeaning::Span(unit) | NumberMeaning::Time(unit), value) => {
                Some(value.saturating_mul(unit))
            }
            (_, ticks) => Some(self.length(ticks)),
        }
    }
}

fn float(field: &FieldSchema, value: f64) -> Value {
    Value::F64(if field.meaning == NumberMeaning::Fraction {
        value * 100.0
    } else {
        value
    })
}
