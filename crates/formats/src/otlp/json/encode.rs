//! Protobuf to JSON, by the tables of the messages.

use base64::Engine as _;

use super::BASE64;
use crate::protobuf::{FieldSpec, FieldType, RawValue, fields};
use crate::text::json::push_string;
use crate::text::scalars;

/// Appends a message as a document on a line of its own.
pub(super) fn document(body: &[u8], message: &'static [FieldSpec], out: &mut Vec<u8>) {
    object(body, message, out);
    out.push(b'\n');
}

fn object(body: &[u8], message: &'static [FieldSpec], out: &mut Vec<u8>) {
    let values: Vec<(u32, RawValue<'_>)> = fields(body).collect();
    out.push(b'{');
    let mut is_first = true;
    for spec in message {
        let of_field = values.iter().filter(|(number, _)| *number == spec.number);
        let mut of_field = of_field.map(|&(_, value)| value).peekable();
        if of_field.peek().is_none() {
            continue;
        }
        if !std::mem::take(&mut is_first) {
            out.push(b',');
        }
        push_string(member(spec.name).as_bytes(), out);
        out.push(b':');
        if !spec.repeated {
            // The last one counts.
            if let Some(value) = of_field.last() {
                one(value, spec, out);
            }
            continue;
        }
        out.push(b'[');
        for (at, value) in of_field.enumerate() {
            if at > 0 {
                out.push(b',');
            }
            one(value, spec, out);
        }
        out.push(b']');
    }
    out.push(b'}');
}

fn one(value: RawValue<'_>, spec: &FieldSpec, out: &mut Vec<u8>) {
    match &spec.kind {
        FieldType::Message(inner) | FieldType::Container(inner) => {
            object(value.bytes(), inner, out);
        }
        FieldType::Text => push_string(value.bytes(), out),
        FieldType::Bytes if matches!(spec.name, "trace_id" | "span_id" | "parent_span_id") => {
            scalars::hex(value.bytes(), out);
        }
        FieldType::Bytes => push_string(BASE64.encode(value.bytes()).as_bytes(), out),
        FieldType::Flag => {
            let flag = if value.number() == 0 { "false" } else { "true" };
            out.extend_from_slice(flag.as_bytes());
        }
        FieldType::Double => scalars::float(f64::from_bits(value.number()), out),
        // Integers of 64 bits are texts, because numbers of JavaScript do not hold them.
        FieldType::Signed => quoted(out, |out| {
            scalars::decimal(value.number().cast_signed(), out);
        }),
        FieldType::Fixed64 => quoted(out, |out| scalars::digits(value.number(), out)),
        FieldType::Unsigned | FieldType::Fixed32 | FieldType::Id(_) => {
            scalars::unsigned(value.number(), out);
        }
    }
}

fn quoted(out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    put(out);
    out.push(b'"');
}

/// Returns the name of a field in JSON: lower camel case.
fn member(name: &str) -> String {
    let mut member = String::with_capacity(name.len());
    let mut is_word = false;
    for letter in name.chars() {
        if letter == '_' {
            is_word = true;
        } else if std::mem::take(&mut is_word) {
            member.push(letter.to_ascii_uppercase());
        } else {
            member.push(letter);
        }
    }
    member
}
