//! Values as the texts that streams hold.

use std::io::Write;

use traceloom_model::Value;

use super::super::tables::StreamTables;
use crate::text::scalars::{decimal, digits};
use crate::wire::Utf16;

/// Appends a value as streams hold it: in UTF-16. What is no text already is one in `plain` first.
#[inline]
pub(super) fn put_utf16(
    value: &Value,
    names: &StreamTables,
    plain: &mut Vec<u8>,
    out: &mut Vec<u8>,
) {
    if let Value::Text(id) = value {
        return Utf16::put_encoded(&names.bytes(*id), out);
    }
    plain.clear();
    put_plain(value, names, plain);
    Utf16::put_encoded(plain, out);
}

/// Appends a value as the text that streams hold.
fn put_plain(value: &Value, names: &StreamTables, out: &mut Vec<u8>) {
    // Nothing that is written into memory fails.
    let _ = match value {
        Value::Null => Ok(()),
        Value::I64(value) => {
            decimal(*value, out);
            Ok(())
        }
        Value::U64(value) => {
            digits(*value, out);
            Ok(())
        }
        Value::F64(value) => write!(out, "{value}"),
        Value::Bool(value) => write!(out, "{value}"),
        Value::Text(id) => {
            out.extend_from_slice(&names.bytes(*id));
            Ok(())
        }
        Value::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}")),
        Value::Exception(id) => write!(out, "exception {}", id.raw()),
        Value::List(..) | Value::Map(_) => {
            put_nested(value, names, out);
            Ok(())
        }
    };
}

/// Appends a list or map as text: values are nested no deeper than their reader allowed.
fn put_nested(value: &Value, names: &StreamTables, out: &mut Vec<u8>) {
    let comma = |at: usize| if at > 0 { &b", "[..] } else { b"" };
    match value {
        Value::List(_, values) => {
            out.push(b'[');
            for (at, value) in values.iter().enumerate() {
                out.extend_from_slice(comma(at));
                put_plain(value, names, out);
            }
            out.push(b']');
        }
        Value::Map(rows) => {
            out.push(b'{');
            for (at, (key, value)) in rows.iter().enumerate() {
                out.extend_from_slice(comma(at));
                put_plain(key, names, out);
                out.extend_from_slice(b": ");
                put_plain(value, names, out);
            }
            out.push(b'}');
        }
        other => put_plain(other, names, out),
    }
}
