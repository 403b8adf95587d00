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
    let mut text = Vec::new();
    field.put_text(&mut text);
    String::from_utf8_lossy(&text).into_owned()
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
