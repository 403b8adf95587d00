//! Fields to bytes.

use super::wire::Wire;
use crate::wire::{leb128, leb128_len, put_leb128};

/// Appends a tag.
#[inline]
pub fn put_tag(out: &mut Vec<u8>, number: u32, wire: Wire) {
    put_leb128(out, u64::from(number) << 3 | wire.bits());
}

/// Appends an integer field, unless it has the value that an absent field has.
#[inline]
pub fn put_number(out: &mut Vec<u8>, number: u32, value: u64) {
    if value != 0 {
        put_tag(out, number, Wire::Varint);
        put_leb128(out, value);
    }
}

/// Appends a field of bytes: a string, a message or a packed list.
#[inline]
pub fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_tag(out, number, Wire::Len);
    put_leb128(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a message that `fill` writes in its place, without a buffer of its own.
pub fn put_message(out: &mut Vec<u8>, number: u32, fill: impl FnOnce(&mut Vec<u8>)) {
    put_tag(out, number, Wire::Len);
    let at = out.len();
    out.push(0);
    fill(out);
    let len = out.len() - at - 1;
    match (u8::try_from(len), out.get_mut(at)) {
        (Ok(short @ ..0x80), Some(slot)) => *slot = short,
        _ => {
            // Longer than most messages are: it moves up to make room for its length.
            let (groups, room) = leb128(len as u64);
            let from = at + 1;
            out.resize(out.len() + room - 1, 0);
            out.copy_within(from..from + len, at + room);
            let length = out.get_mut(at..at + room).into_iter().flatten();
            length
                .zip(groups.to_le_bytes())
                .for_each(|(slot, byte)| *slot = byte);
        }
    }
}

/// Appends a list of integers in its packed form.
pub fn put_packed(out: &mut Vec<u8>, number: u32, values: impl Iterator<Item = u64> + Clone) {
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

/// Returns how many bytes a varint has.
#[inline]
pub(crate) fn varint_len(value: u64) -> u64 {
    leb128_len(value) as u64
}

/// Appends a field of eight bytes, unless it has the value that an absent field has.
pub fn put_fixed64(out: &mut Vec<u8>, number: u32, value: u64) {
    if value != 0 {
        put_tag(out, number, Wire::Fixed64);
        out.extend(value.to_le_bytes());
    }
}

/// Appends a float; zero too.
pub fn put_double(out: &mut Vec<u8>, number: u32, value: f64) {
    put_tag(out, number, Wire::Fixed64);
    out.extend(value.to_bits().to_le_bytes());
}
