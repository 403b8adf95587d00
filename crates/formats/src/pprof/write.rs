//! Fields and messages to bytes.

use super::proto::Wire;
use super::record::Record;
use super::tokens::{Token, Value};
use crate::wire::put_leb128;

/// Appends a tag.
pub(super) fn put_tag(out: &mut Vec<u8>, number: u32, wire: Wire) {
    put_leb128(out, u64::from(number) << 3 | wire.bits());
}

/// Appends an integer field, unless it has the value that an absent field has.
pub(super) fn put_number(out: &mut Vec<u8>, number: u32, value: u64) {
    if value != 0 {
        put_tag(out, number, Wire::Varint);
        put_leb128(out, value);
    }
}

/// Appends a field of bytes: a string, a message or a packed list.
pub(super) fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_tag(out, number, Wire::Len);
    put_leb128(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a list of integers in its packed form.
pub(super) fn put_packed(
    out: &mut Vec<u8>,
    number: u32,
    values: impl Iterator<Item = u64> + Clone,
) {
    let mut len = 0;
    let mut any = false;
    for value in values.clone() {
        len += varint_len(value);
        any = true;
    }
    if !any {
        return;
    }
    put_tag(out, number, Wire::Len);
    put_leb128(out, len);
    values.for_each(|value| put_leb128(out, value));
}

fn varint_len(value: u64) -> u64 {
    u64::from((64 - (value | 1).leading_zeros()).div_ceil(7))
}

/// Appends the tokens of `record`, in their order.
pub(super) fn put_record(out: &mut Vec<u8>, record: &Record<'_>) {
    let mut rest = record.tokens;
    while let Some((token, tail)) = rest.split_first() {
        rest = put_token(out, record, token, tail);
    }
}

/// Appends one token and returns those after it and its content.
fn put_token<'t>(
    out: &mut Vec<u8>,
    record: &Record<'_>,
    token: &Token,
    tail: &'t [Token],
) -> &'t [Token] {
    match token.value {
        Value::Varint(value) => {
            put_tag(out, token.number, Wire::Varint);
            put_leb128(out, value);
        }
        Value::Fixed64(value) => {
            put_tag(out, token.number, Wire::Fixed64);
            out.extend(value);
        }
        Value::Fixed32(value) => {
            put_tag(out, token.number, Wire::Fixed32);
            out.extend(value);
        }
        Value::Bytes(from, to) => {
            put_bytes(out, token.number, record.bytes.get(from..to).unwrap_or(&[]));
        }
        Value::Packed(from, to) => {
            let values = record.numbers.get(from..to).unwrap_or(&[]);
            let len = values.iter().map(|&value| varint_len(value)).sum();
            put_tag(out, token.number, Wire::Len);
            put_leb128(out, len);
            values.iter().for_each(|&value| put_leb128(out, value));
        }
        Value::Message(count) => {
            let (mut inner, after) = tail.split_at_checked(count).unwrap_or((tail, &[]));
            let mut body = Vec::new();
            while let Some((token, tail)) = inner.split_first() {
                inner = put_token(&mut body, record, token, tail);
            }
            put_bytes(out, token.number, &body);
            return after;
        }
    }
    tail
}
