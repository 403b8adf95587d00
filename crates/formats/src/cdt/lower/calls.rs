//! What a call's row says, as counters and attributes of the model (§5.2).

use traceloom_model::bounds::saturated_i64;
use traceloom_model::{
    Attribute, ElementType, Merge, Scope, Tables, Unit, Value, ValueType, ValueTypeId,
};

use super::words::Dictionary;
use crate::cdt::calls::{Row, Values};

/// Names and units of the counters, in the order of the row; each with the first format that has it.
pub(in crate::cdt) const COUNTERS: [(&str, Unit, u8); 12] = [
    ("calls", Unit::Count, 0),
    ("logs_written", Unit::Chars, 1),
    ("logs_generated", Unit::Chars, 1),
    ("cpu_time", Unit::Nanoseconds, 2),
    ("wait_time", Unit::Nanoseconds, 2),
    ("memory_used", Unit::Bytes, 2),
    ("file_read", Unit::Bytes, 3),
    ("file_written", Unit::Bytes, 3),
    ("net_read", Unit::Bytes, 3),
    ("net_written", Unit::Bytes, 3),
    ("transactions", Unit::Count, 4),
    ("queue_wait", Unit::Nanoseconds, 4),
];

/// The value types of the counters.
pub(super) struct CounterTypes([ValueTypeId; COUNTERS.len()]);

impl CounterTypes {
    pub(super) fn new(tables: &mut Tables) -> Self {
        Self(COUNTERS.map(|(name, unit, _)| {
            let name = tables.string(name);
            tables.value_type(ValueType {
                name,
                unit,
                merge: Merge::Sum,
                scope: Scope::Inclusive,
            })
        }))
    }

    /// Puts the counters that the row's format has into `out`.
    pub(super) fn of(&self, row: &Row<'_>, version: u8, out: &mut Vec<(ValueTypeId, i64)>) {
        out.clear();
        let ns = |ms: i64| ms.saturating_mul(1_000_000);
        let values = [
            i64::from(row.calls),
            i64::from(row.logs_written),
            saturated_i64(row.logs_generated()),
            ns(row.cpu_time()),
            ns(row.wait_time()),
            saturated_i64(row.memory_used),
            saturated_i64(row.file_read),
            saturated_i64(row.file_written),
            saturated_i64(row.net_read),
            saturated_i64(row.net_written),
            i64::from(row.transactions),
            ns(i64::from(row.queue_wait)),
        ];
        for ((&id, (_, _, since)), value) in self.0.iter().zip(COUNTERS).zip(values) {
            if version >= since {
                out.push((id, value));
            }
        }
    }
}

/// How long the texts of parameters are referred to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TextLimits {
    /// By the row alone.
    Passing,
    /// By tags as well, which come before or after it.
    Shared,
}

/// Appends the parameters of the row at `place`, a part and an offset: a text, or a list where there are
/// none or several values. Without `texts` their words are looked at alone.
///
/// Returns true if one of them says that the call failed.
pub(super) fn params(
    row: &Row<'_>,
    place: (u32, u64),
    words: &mut Dictionary,
    tables: &mut Tables,
    texts: Option<TextLimits>,
    out: &mut Vec<Attribute>,
) -> bool {
    let mut bytes = Vec::new();
    let mut is_red = false;
    for (id, values) in row.params.iter() {
        is_red |= id == words.special.call_red;
        words.used(id, place.0, place.1);
        let key = words.key(id, tables);
        if let Some(texts) = texts {
            let value = value(values, tables, texts, &mut bytes);
            out.push(Attribute::new(key, value));
        }
    }
    is_red
}

fn value(values: Values<'_>, tables: &mut Tables, kept: TextLimits, bytes: &mut Vec<u8>) -> Value {
    let mut texts = values.iter().map(|text| {
        bytes.clear();
        text.put_wtf8(bytes);
        Value::Text(match kept {
            TextLimits::Passing => tables.passing(bytes),
            TextLimits::Shared => tables.value(bytes),
        })
    });
    match values.len() {
        1 => texts.next().unwrap_or(Value::Null),
        _ => Value::List(ElementType::Text, texts.collect()),
    }
}
