//! Values as the texts that streams hold.

use traceloom_model::Value;

use super::super::tables::Names;
use crate::wire::Utf16;

/// Appends a value as streams hold it: in UTF-16.
pub(super) fn put_plain(value: &Value, names: &Names, out: &mut Vec<u8>) {
    match value {
        Value::Text(id) => Utf16::put_encoded(&names.bytes(*id), out),
        value => Utf16::put_encoded(&plain(value, names), out),
    }
}

/// A value as the text that streams hold.
pub(super) fn plain(value: &Value, names: &Names) -> Vec<u8> {
    match value {
        Value::Null => Vec::new(),
        Value::I64(value) => value.to_string().into_bytes(),
        Value::U64(value) => value.to_string().into_bytes(),
        Value::F64(value) => value.to_string().into_bytes(),
        Value::Bool(value) => value.to_string().into_bytes(),
        Value::Text(id) => names.bytes(*id).into_owned(),
        Value::Bytes(bytes) => {
            let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            digits.concat().into_bytes()
        }
        Value::Exception(id) => format!("exception {}", id.raw()).into_bytes(),
        Value::List(..) | Value::Map(_) => nested(value, names),
    }
}

/// A list or map as text: values are nested no deeper than their reader allowed.
fn nested(value: &Value, names: &Names) -> Vec<u8> {
    let mut out = Vec::new();
    match value {
        Value::List(_, values) => {
            out.push(b'[');
            for (at, value) in values.iter().enumerate() {
                if at > 0 {
                    out.extend_from_slice(b", ");
                }
                out.extend(plain(value, names));
            }
            out.push(b']');
        }
        Value::Map(rows) => {
            out.push(b'{');
            for (at, (key, value)) in rows.iter().enumerate() {
                if at > 0 {
                    out.extend_from_slice(b", ");
                }
                out.extend(plain(key, names));
                out.extend_from_slice(b": ");
                out.extend(plain(value, names));
            }
            out.push(b'}');
        }
        other => out = plain(other, names),
    }
    out
}
