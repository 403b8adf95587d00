//! Attribute values as JSON, with their types (docs/json.md).

use std::collections::HashSet;

use serde_json::{Value as Json, json};
use traceloom_analysis::text::value_text;
use traceloom_model::{Recording, Value};

/// Lists and maps deeper than this are told as text: readers of JSON stop at 128 levels or so.
const DEEPEST: u32 = 64;

/// Returns a value as JSON: numbers, booleans, lists and maps as such, bytes as `{"hex": …}`, floats that JSON has no
/// number for as words.
pub(crate) fn as_json(tables: &Recording, value: &Value) -> Json {
    at_depth(tables, value, 0)
}

/// Returns the values of one name: the only one as it is, several as a list.
pub(crate) fn of_one_name<'v>(
    tables: &Recording,
    values: impl IntoIterator<Item = &'v Value>,
) -> Option<Json> {
    let mut all: Vec<Json> = values
        .into_iter()
        .map(|value| as_json(tables, value))
        .collect();
    match all.len() {
        0 | 1 => all.pop(),
        _ => Some(all.into()),
    }
}

fn at_depth(tables: &Recording, value: &Value, depth: u32) -> Json {
    let inner = |value: &Value| at_depth(tables, value, depth + 1);
    match value {
        Value::Null => Json::Null,
        Value::Bool(yes) => json!(yes),
        Value::I64(number) => json!(number),
        Value::U64(number) => json!(number),
        Value::F64(number) if number.is_finite() => json!(number),
        Value::F64(number) if number.is_nan() => json!("NaN"),
        Value::F64(number) if *number > 0.0 => json!("Infinity"),
        Value::F64(_) => json!("-Infinity"),
        Value::Bytes(_) => json!({"hex": value_text(tables, value)}),
        Value::List(..) | Value::Map(_) if depth >= DEEPEST => json!(value_text(tables, value)),
        Value::List(_, items) => items.iter().map(inner).collect(),
        Value::Map(pairs) => {
            let names = pairs.iter().map(|(key, _)| match key {
                Value::Text(id) => Some(tables.text(*id).into_owned()),
                _ => None,
            });
            let names: Option<Vec<String>> = names.collect();
            let unique =
                |names: &Vec<String>| names.iter().collect::<HashSet<_>>().len() == names.len();
            match names.filter(unique) {
                Some(names) => {
                    let values = pairs.iter().map(|(_, value)| inner(value));
                    Json::Object(names.into_iter().zip(values).collect())
                }
                None => pairs
                    .iter()
                    .map(|(key, value)| json!([inner(key), inner(value)]))
                    .collect(),
            }
        }
        Value::Text(_) | Value::Exception(_) => json!(value_text(tables, value)),
    }
}

#[cfg(test)]
mod tests {
    use traceloom_model::{ElementType, Recording, Value};

    use super::*;

    #[test]
    fn values_keep_their_types_and_depth_is_bounded() {
        let tables = Recording::default();
        let shown = |value: &Value| as_json(&tables, value);
        assert_eq!(shown(&Value::U64(u64::MAX)), json!(u64::MAX));
        assert_eq!(shown(&Value::F64(f64::NEG_INFINITY)), json!("-Infinity"));
        assert_eq!(
            shown(&Value::Bytes([1, 255].into())),
            json!({"hex": "01ff"})
        );
        let pair = (Value::I64(1), Value::Bool(true));
        assert_eq!(shown(&Value::Map([pair].into())), json!([[1, true]]));
        let list = |inner| Value::List(ElementType::Any, [inner].into());
        let deep = (0..1_000).fold(Value::I64(7), |inner, _| list(inner));
        let text = shown(&deep).to_string();
        assert!(
            text.ends_with(&format!("\"7\"{}", "]".repeat(64))),
            "{text}"
        );
    }

    #[test]
    fn several_values_of_one_name_are_a_list() {
        let tables = Recording::default();
        let values = [Value::I64(1), Value::Bool(false)];
        assert_eq!(of_one_name(&tables, &values), Some(json!([1, false])));
        assert_eq!(of_one_name(&tables, &values[..1]), Some(json!(1)));
        assert_eq!(of_one_name(&tables, &values[..0]), None);
    }
}
