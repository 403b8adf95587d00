//! Recording what a thread does into bytes.

use std::fmt::{self, Write as _};

use super::event::{ATTRIBUTE, ENTER, EXIT, F64, I64, LIST, LOST, TEXT, U64};
use crate::bounds::{saturated_u16, saturated_u32};
use crate::value::Value;

/// Lengths of texts and lists have two bytes.
const LONGEST: usize = u16::MAX as usize;

/// Appends the beginning of a call; returns `true` if its name was cut.
pub fn put_enter(out: &mut Vec<u8>, time: u64, name: &str) -> bool {
    out.push(ENTER);
    out.extend_from_slice(&time.to_le_bytes());
    put_text(out, name)
}

/// Returns the time of a beginning.
pub fn enter_time(bytes: &[u8]) -> u64 {
    let field = bytes.get(1..9).and_then(|field| field.try_into().ok());
    u64::from_le_bytes(field.unwrap_or_default())
}

/// Changes the time of a beginning at the start of `bytes`.
pub fn set_enter_time(bytes: &mut [u8], time: u64) {
    if let Some(field) = bytes.get_mut(1..9) {
        field.copy_from_slice(&time.to_le_bytes());
    }
}

pub fn put_exit(out: &mut Vec<u8>, time: u64) {
    out.push(EXIT);
    out.extend_from_slice(&time.to_le_bytes());
}

pub fn put_lost(out: &mut Vec<u8>, n_spans: u64, first: u64, last: u64) {
    out.push(LOST);
    for number in [n_spans, first, last] {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

/// Appends an attribute; returns `true` if it was cut.
pub fn put_attribute(out: &mut Vec<u8>, name: &str, value: Value<'_>) -> bool {
    out.push(ATTRIBUTE);
    let is_name_cut = put_text(out, name);
    let mut number = |kind: u8, value: [u8; 8]| {
        let mut bytes = [kind; 9];
        bytes[1..].copy_from_slice(&value);
        out.extend_from_slice(&bytes);
        false
    };
    let is_value_cut = match value {
        Value::U64(value) => number(U64, value.to_le_bytes()),
        Value::I64(value) => number(I64, value.to_le_bytes()),
        Value::F64(value) => number(F64, value.to_le_bytes()),
        Value::Text(text) => {
            out.push(TEXT);
            put_text(out, text)
        }
        Value::U64s(list) => put_list(out, U64, list, |out, item| {
            out.extend_from_slice(&item.to_le_bytes());
            false
        }),
        Value::I64s(list) => put_list(out, I64, list, |out, item| {
            out.extend_from_slice(&item.to_le_bytes());
            false
        }),
        Value::F64s(list) => put_list(out, F64, list, |out, item| {
            out.extend_from_slice(&item.to_le_bytes());
            false
        }),
        Value::Texts(list) => put_list(out, TEXT, list, |out, item| put_text(out, item)),
    };
    is_name_cut | is_value_cut
}

/// Appends a text attribute that is formatted in place; returns `true` if it was cut.
pub fn put_formatted(out: &mut Vec<u8>, name: &str, value: fmt::Arguments<'_>) -> bool {
    out.push(ATTRIBUTE);
    let is_name_cut = put_text(out, name);
    out.push(TEXT);
    is_name_cut | put_formatted_text(out, value)
}

fn put_formatted_text(out: &mut Vec<u8>, value: fmt::Arguments<'_>) -> bool {
    let length_at = out.len();
    out.extend_from_slice(&[0; 2]);
    let mut text = BoundedText {
        room: LONGEST,
        is_cut: false,
        out,
    };
    // A `Display` that fails leaves what it wrote before.
    let _ = text.write_fmt(value);
    let BoundedText { is_cut, out, .. } = text;
    let length = saturated_u16(out.len() - length_at - 2);
    out[length_at..length_at + 2].copy_from_slice(&length.to_le_bytes());
    is_cut
}

fn put_list<T>(
    out: &mut Vec<u8>,
    kind: u8,
    list: &[T],
    put: impl Fn(&mut Vec<u8>, &T) -> bool,
) -> bool {
    let n_items = saturated_u16(list.len());
    out.push(LIST | kind);
    out.extend_from_slice(&n_items.to_le_bytes());
    let size_at = out.len();
    out.extend_from_slice(&[0; 4]);
    let mut is_cut = usize::from(n_items) < list.len();
    for item in &list[..usize::from(n_items)] {
        is_cut |= put(out, item);
    }
    let size = saturated_u32(out.len() - size_at - 4);
    out[size_at..size_at + 4].copy_from_slice(&size.to_le_bytes());
    is_cut
}

/// Appends a text of at most 65,535 bytes; returns `true` if it was cut, which happens between characters.
fn put_text(out: &mut Vec<u8>, text: &str) -> bool {
    let fits = fitting(text, LONGEST);
    let length = saturated_u16(fits);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&text.as_bytes()[..fits]);
    fits < text.len()
}

/// Returns how many bytes of `text` fit into `room` bytes as whole characters.
pub fn fitting(text: &str, room: usize) -> usize {
    let mut fits = text.len().min(room);
    while !text.is_char_boundary(fits) {
        fits -= 1;
    }
    fits
}

struct BoundedText<'o> {
    room: usize,
    is_cut: bool,
    out: &'o mut Vec<u8>,
}

impl fmt::Write for BoundedText<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let fits = fitting(text, self.room);
        self.out.extend_from_slice(&text.as_bytes()[..fits]);
        self.room -= fits;
        if fits < text.len() {
            self.is_cut = true;
            // Nothing goes behind the place of the cut.
            self.room = 0;
            return Err(fmt::Error);
        }
        Ok(())
    }
}
