//! Attribute values as text.

use std::fmt::Write as _;

use crate::{ElementType, Recording, Value};

/// The word for a value's type.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::I64(_) => "i64",
        Value::U64(_) => "u64",
        Value::F64(_) => "f64",
        Value::Bool(_) => "bool",
        Value::Text(_) => "text",
        Value::Bytes(_) => "bytes",
        Value::List(kind, _) => match kind {
            ElementType::I64 => "list of i64",
            ElementType::U64 => "list of u64",
            ElementType::F64 => "list of f64",
            ElementType::Bool => "list of bool",
            ElementType::Text => "list of text",
            ElementType::Bytes => "list of bytes",
            ElementType::Any => "list",
        },
        Value::Map(_) => "map",
        Value::Exception(_) => "exception",
    }
}

/// Appends a value: texts as they are, bytes in hexadecimal, exceptions by id, lists and maps as JSON (maps
/// as lists of pairs, because keys may be anything and may repeat).
pub fn put_value(value: &Value, tables: &Recording, out: &mut String) {
    match value {
        Value::Text(id) => return out.push_str(&tables.text(*id)),
        Value::List(_, items) if !items.iter().any(nests) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                put_scalar(item, tables, out);
            }
            return out.push(']');
        }
        Value::List(..) | Value::Map(_) => {}
        scalar => return put_scalar(scalar, tables, out),
    }
    let mut work = vec![JsonStep::Value(value)];
    while let Some(next) = work.pop() {
        match next {
            JsonStep::Raw(text) => out.push_str(text),
            JsonStep::Value(Value::List(_, items)) => {
                sequence(items.iter().map(JsonStep::Value), &mut work, out);
            }
            JsonStep::Value(Value::Map(pairs)) => {
                sequence(pairs.iter().map(JsonStep::Pair), &mut work, out);
            }
            JsonStep::Value(scalar) => put_scalar(scalar, tables, out),
            JsonStep::Pair((key, value)) => {
                out.push('[');
                work.extend([
                    JsonStep::Raw("]"),
                    JsonStep::Value(value),
                    JsonStep::Raw(","),
                    JsonStep::Value(key),
                ]);
            }
        }
    }
}

/// Returns a value as text, in the form in which the flat tables show it.
#[must_use]
pub fn value_text(value: &Value, tables: &Recording) -> String {
    let mut text = String::new();
    put_value(value, tables, &mut text);
    text
}

const fn nests(value: &Value) -> bool {
    matches!(value, Value::List(..) | Value::Map(_))
}

/// What is left to write; without recursion, because producers nest as deeply as they like.
enum JsonStep<'v> {
    Raw(&'static str),
    Value(&'v Value),
    Pair(&'v (Value, Value)),
}

fn sequence<'v>(
    items: impl DoubleEndedIterator<Item = JsonStep<'v>>,
    work: &mut Vec<JsonStep<'v>>,
    out: &mut String,
) {
    out.push('[');
    work.push(JsonStep::Raw("]"));
    let first = work.len();
    for item in items.rev() {
        work.extend([item, JsonStep::Raw(",")]);
    }
    // The separator before the first item.
    work.truncate(work.len().saturating_sub(1).max(first));
}

fn put_scalar(value: &Value, tables: &Recording, out: &mut String) {
    // Writing to a string does not fail.
    let _ = match value {
        Value::I64(number) => {
            if *number < 0 {
                out.push('-');
            }
            put_digits(number.unsigned_abs(), out);
            Ok(())
        }
        Value::U64(number) => {
            put_digits(*number, out);
            Ok(())
        }
        Value::F64(number) => write!(out, "{number:?}"),
        Value::Bool(yes) => write!(out, "{yes}"),
        Value::Exception(id) => write!(out, "{}", id.raw()),
        Value::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}")),
        Value::Text(id) => quote(&tables.text(*id), out),
        Value::Null | Value::List(..) | Value::Map(_) => write!(out, "null"),
    };
}

/// Appends the decimal digits of a number, without the machinery of formatting.
fn put_digits(mut number: u64, out: &mut String) {
    let mut digits = [b'0'; 20];
    let mut first = digits.len();
    for digit in digits.iter_mut().rev() {
        *digit += u8::try_from(number % 10).unwrap_or(0);
        first -= 1;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    let digits = digits.get(first..).map(std::str::from_utf8);
    out.push_str(digits.and_then(Result::ok).unwrap_or_default());
}

fn quote(text: &str, out: &mut String) -> std::fmt::Result {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                out.push('\\');
                out.push(character);
            }
            '\0'..='\x1f' => write!(out, "\\u{:04x}", u32::from(character))?,
            _ => out.push(character),
        }
    }
    out.push('"');
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

    use super::*;
    use crate::StringId;

    #[test]
    fn numbers_are_written_as_the_standard_library_does() {
        let text = |value: Value| value_text(&value, &Recording::default());
        for number in [0, 1, 9, 10, 99, 12_345, i64::MAX, i64::MIN, -1, -10] {
            assert_eq!(text(Value::I64(number)), number.to_string());
        }
        for number in [0, 7, 100, 18_446_744_073_709_551_610, u64::MAX] {
            assert_eq!(text(Value::U64(number)), number.to_string());
        }
    }

    #[test]
    fn lists_are_written_alike_at_any_depth() {
        let text = |value: &Value| value_text(value, &Recording::default());
        let all = [
            Value::I64(-5),
            Value::Text(StringId::new(3)),
            Value::Bool(true),
            Value::Null,
            Value::F64(0.5),
            Value::Bytes([1, 0xab].into()),
        ];
        for length in 0..=all.len() {
            let list = || Value::List(ElementType::Any, all[..length].into());
            let flat = text(&list());
            let nested = Value::List(ElementType::Any, [list()].into());
            assert_eq!(text(&nested), format!("[{flat}]"));
            let map = Value::Map([(list(), list())].into());
            assert_eq!(text(&map), format!("[[{flat},{flat}]]"));
        }
        let whole = Value::List(ElementType::Any, all.into());
        assert_eq!(text(&whole), "[-5,\"#3\",true,null,0.5,01ab]");
    }
}
