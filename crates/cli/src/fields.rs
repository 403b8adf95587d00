//! Fields of records as JSON and as text.

use std::fmt::Write as _;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use traceloom_formats::Field;
use traceloom_formats::wire::Utf16;

/// A field as JSON: 64-bit integers as numbers, NaN and infinities as strings, bytes and bad text as
/// `{"hex": …}`.
pub(crate) struct Json<'f>(pub(crate) &'f Field<'f>);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Field::Null => to.serialize_unit(),
            Field::Bool(value) => to.serialize_bool(*value),
            Field::U64(value) | Field::Id(_, value) => to.serialize_u64(*value),
            Field::I64(value) => to.serialize_i64(*value),
            Field::F64(value) if value.is_finite() => to.serialize_f64(*value),
            Field::F64(value) => to.serialize_str(&float_word(*value)),
            Field::Str(text) => to.serialize_str(text),
            Field::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => to.serialize_str(text),
                Err(_) => hex_object(bytes, to),
            },
            Field::Utf16(units) => match decode(units) {
                Some(text) => to.serialize_str(&text),
                None => hex_object(units, to),
            },
            Field::Bytes(bytes) => hex_object(bytes, to),
            Field::List(items) => {
                let mut list = to.serialize_seq(Some(items.len()))?;
                for item in *items {
                    list.serialize_element(&Json(item))?;
                }
                list.end()
            }
            Field::Map(entries) => map(entries, to),
        }
    }
}

/// A map whose keys are strings is a JSON object; any other is a list of pairs, so that nothing is
/// renamed or merged.
fn map<S: Serializer>(entries: &[(Field<'_>, Field<'_>)], to: S) -> Result<S::Ok, S::Error> {
    let keys: Option<Vec<String>> = entries.iter().map(|(key, _)| text_of(key)).collect();
    let unique = |keys: &[String]| {
        let set: std::collections::HashSet<&String> = keys.iter().collect();
        set.len() == keys.len()
    };
    match keys.filter(|keys| unique(keys)) {
        Some(keys) => {
            let mut object = to.serialize_map(Some(entries.len()))?;
            for (key, (_, value)) in keys.iter().zip(entries) {
                object.serialize_entry(key, &Json(value))?;
            }
            object.end()
        }
        None => {
            let mut list = to.serialize_seq(Some(entries.len()))?;
            for (key, value) in entries {
                list.serialize_element(&[Json(key), Json(value)])?;
            }
            list.end()
        }
    }
}

fn hex_object<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    let mut object = to.serialize_map(Some(1))?;
    object.serialize_entry("hex", &hex(bytes))?;
    object.end()
}

/// Returns the text of a string field, none for other types and bad text.
pub(crate) fn text_of(field: &Field<'_>) -> Option<String> {
    match field {
        Field::Str(text) => Some((*text).to_owned()),
        Field::Text(bytes) => std::str::from_utf8(bytes).ok().map(str::to_owned),
        Field::Utf16(units) => decode(units),
        _ => None,
    }
}

/// A field as text on a terminal: strings quoted, bytes in hex.
pub(crate) fn plain(field: &Field<'_>) -> String {
    let mut text = String::new();
    put_plain(field, &mut text);
    text
}

/// Appends a field as [`plain`] has it.
pub(crate) fn put_plain(field: &Field<'_>, out: &mut String) {
    match field {
        Field::Null => out.push_str("null"),
        Field::Bool(true) => out.push_str("true"),
        Field::Bool(false) => out.push_str("false"),
        Field::U64(value) => put_number(*value, out),
        Field::I64(value) => put_number(*value, out),
        Field::F64(value) => out.push_str(&float_word(*value)),
        Field::Id(_, id) => {
            out.push('#');
            put_number(*id, out);
        }
        Field::Str(text) => put_quoted(text, out),
        Field::Text(bytes) => put_quoted(&String::from_utf8_lossy(bytes), out),
        Field::Utf16(units) => put_quoted(&Utf16(units).to_lossy(), out),
        Field::Bytes(bytes) => {
            out.push_str("0x");
            out.push_str(&hex(bytes));
        }
        Field::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                match item {
                    // Most of what a dump of stacks prints.
                    Field::Id(_, id) => {
                        out.push_str(if at > 0 { ", #" } else { "#" });
                        put_number(*id, out);
                    }
                    item => {
                        out.push_str(if at > 0 { ", " } else { "" });
                        put_plain(item, out);
                    }
                }
            }
            out.push(']');
        }
        Field::Map(entries) => {
            out.push('{');
            for (at, (key, value)) in entries.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                put_plain(key, out);
                out.push_str(": ");
                put_plain(value, out);
            }
            out.push('}');
        }
    }
}

fn put_number(value: impl itoa::Integer, out: &mut String) {
    out.push_str(itoa::Buffer::new().format(value));
}

/// Appends a text in quotes, with the escapes of Rust.
fn put_quoted(text: &str, out: &mut String) {
    let is_printed = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if text.bytes().all(is_printed) {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        // A string takes whatever is written to it.
        let _ = write!(out, "{text:?}");
    }
}

fn decode(units: &[u8]) -> Option<String> {
    char::decode_utf16(Utf16(units).code_units())
        .collect::<Result<String, _>>()
        .ok()
}

fn float_word(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else {
        format!("{value:?}")
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(field: &Field<'_>) -> String {
        serde_json::to_string(&Json(field)).unwrap()
    }

    #[test]
    fn texts_are_quoted_as_rust_does_and_lists_keep_their_order() {
        for text in [
            "",
            "plain text",
            "a\"b",
            "back\\slash",
            "new\nline",
            "é",
            "\u{7f}",
            "\u{202e}",
        ] {
            assert_eq!(plain(&Field::Str(text)), format!("{text:?}"));
        }
        let pairs = [
            (Field::Str("id"), Field::Id("string", 7)),
            (Field::Null, Field::F64(-0.0)),
        ];
        let items = [
            Field::I64(i64::MIN),
            Field::Map(&pairs),
            Field::Bytes(&[0, 255]),
            Field::List(&[]),
        ];
        assert_eq!(
            plain(&Field::List(&items)),
            r#"[-9223372036854775808, {"id": #7, null: -0.0}, 0x00ff, []]"#
        );
    }

    #[test]
    fn json_keeps_what_json_cannot_say() {
        assert_eq!(json(&Field::U64(u64::MAX)), "18446744073709551615");
        assert_eq!(json(&Field::F64(f64::NAN)), "\"NaN\"");
        assert_eq!(json(&Field::F64(-0.0)), "-0.0");
        assert_eq!(json(&Field::Text(&[0xff])), "{\"hex\":\"ff\"}");
        assert_eq!(json(&Field::Utf16(&[0xd8, 0x3d])), "{\"hex\":\"d83d\"}");
        let twice = [
            (Field::Str("a"), Field::U64(1)),
            (Field::Str("a"), Field::U64(2)),
        ];
        assert_eq!(json(&Field::Map(&twice)), "[[\"a\",1],[\"a\",2]]");
    }
}
