//! One packet's bytes to its fields: the hot path.

use super::record::{Attribute, Attributes, EVENT, Event, Layout, METADATA, Metadata, Value};

/// Tells whether `bytes` begin with the first bytes of a packet.
#[inline]
pub fn is_magic(bytes: &[u8]) -> bool {
    matches!(bytes.first_chunk::<4>(), Some(&EVENT | &METADATA))
}

/// Tells whether `bytes`, the last ones of the input, may be the beginning of a packet.
pub fn is_cut_magic(bytes: &[u8]) -> bool {
    let length = bytes.len().min(4);
    let head = bytes.get(..length);
    head == EVENT.get(..length) || head == METADATA.get(..length)
}

/// Finds the next place at or after `from` where a packet may begin.
pub fn find_magic(bytes: &[u8], from: usize) -> Option<usize> {
    let last = bytes.len().checked_sub(3)?;
    let mut at = from;
    loop {
        let firsts = bytes.get(at..last)?;
        at += firsts
            .iter()
            .position(|&byte| byte == EVENT[0] || byte == METADATA[0])?;
        if bytes.get(at..).is_some_and(is_magic) {
            return Some(at);
        }
        at += 1;
    }
}

/// Reads a metadata packet; none when its name runs past its end.
pub fn metadata(packet: &[u8], offset: u64) -> Option<Metadata<'_>> {
    let (length, rest) = packet.get(8..)?.split_first_chunk::<2>()?;
    let (name, value) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    Some(Metadata {
        offset,
        name,
        value,
    })
}

/// Reads an event packet; none when it is too short for its layout.
///
/// A description that runs past the packet is cut there; attributes end at the first one that cannot be
/// decoded, or after `most` of them.
pub fn event(packet: &[u8], offset: u64, layout: Layout, most: usize) -> Option<Event<'_>> {
    event_inline(packet, offset, layout, most)
}

/// [`event`] for the one place where moving the result costs as much as reading it.
#[inline(always)]
pub fn event_inline(packet: &[u8], offset: u64, layout: Layout, most: usize) -> Option<Event<'_>> {
    let (head, body) = packet.split_at_checked(layout.description())?;
    let (stream, counter) = (be32(head, 8)?, be32(head, 12)?);
    let (substream, start, end, length) = match layout {
        Layout::Substream => (
            be64(head, 16)?,
            be64(head, 24)?,
            be64(head, 32)?,
            be16(head, 40)?,
        ),
        Layout::NoSubstream => (0, be64(head, 16)?, be64(head, 24)?, be16(head, 32)?),
    };
    let (description, rest, fits) = match body.split_at_checked(usize::from(length)) {
        Some((description, rest)) => (description, rest, true),
        None => (body, &[][..], false),
    };
    let (length_decoded, valid_attributes) = check_attributes(rest, most);
    let (decoded, left) = rest.split_at_checked(length_decoded).unwrap_or_default();
    let valid_text = is_text(description) && valid_attributes;
    Some(Event {
        offset,
        layout,
        stream,
        counter,
        substream,
        start,
        end,
        description_length: length,
        description,
        attributes: Attributes { bytes: decoded },
        undecoded: left,
        valid_text,
        complete: fits && left.is_empty(),
    })
}

/// Returns how many bytes of `bytes` are whole attributes of known types, at most `most` of them, and
/// whether their text is UTF-8.
///
/// The same walk as [`attribute`] without its values: every packet takes it, most visitors not the other.
#[inline]
fn check_attributes(bytes: &[u8], most: usize) -> (usize, bool) {
    let (mut at, mut valid) = (0, true);
    for _ in 0..most {
        let Some(end) = check_attribute(bytes, at, &mut valid) else {
            break;
        };
        at = end;
    }
    (at, valid)
}

#[inline(always)]
fn check_attribute(bytes: &[u8], at: usize, valid: &mut bool) -> Option<usize> {
    let name = at + 2;
    let value = name + usize::from(be16(bytes, at)?) + 1;
    let &type_byte = bytes.get(value - 1)?;
    let end = match type_byte {
        0x01..=0x03 => value + 8,
        0x04 => {
            let text = value + 2;
            let end = text + usize::from(be16(bytes, value)?);
            let ok = is_text(bytes.get(text..end)?);
            *valid &= ok;
            end
        }
        _ => check_list(bytes, type_byte, value, valid)?,
    };
    if end > bytes.len() {
        return None;
    }
    *valid &= is_text(bytes.get(name..value - 1)?);
    Some(end)
}

#[inline(never)]
fn check_list(bytes: &[u8], type_byte: u8, at: usize, valid: &mut bool) -> Option<usize> {
    let count = usize::from(be16(bytes, at)?);
    let mut end = at + 2;
    match type_byte {
        0x81..=0x83 => Some(end + count * 8),
        0x84 => {
            let mut all = true;
            for _ in 0..count {
                let text = end + 2;
                end = text + usize::from(be16(bytes, end)?);
                all &= is_text(bytes.get(text..end)?);
            }
            *valid &= all;
            Some(end)
        }
        _ => None,
    }
}

/// Reads the first attribute of `bytes`; none when its type is unknown or it does not fit.
#[inline(always)]
pub fn attribute(bytes: &[u8]) -> Option<(Attribute<'_>, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    let (name, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    let (&type_byte, rest) = rest.split_first()?;
    let (value, rest) = match type_byte {
        0x01..=0x03 => {
            let (&raw, rest) = rest.split_first_chunk::<8>()?;
            let value = match type_byte {
                0x01 => Value::U64(u64::from_be_bytes(raw)),
                0x02 => Value::I64(i64::from_be_bytes(raw)),
                _ => Value::F64(f64::from_be_bytes(raw)),
            };
            (value, rest)
        }
        0x04 => {
            let (text, rest) = text(rest)?;
            (Value::Text(text), rest)
        }
        _ => list(type_byte, rest)?,
    };
    Some((Attribute { name, value }, rest))
}

#[inline(never)]
fn list(type_byte: u8, bytes: &[u8]) -> Option<(Value<'_>, &[u8])> {
    let (&count, rest) = bytes.split_first_chunk::<2>()?;
    let count = u16::from_be_bytes(count);
    if type_byte == 0x84 {
        let mut left = rest;
        for _ in 0..count {
            (_, left) = text(left)?;
        }
        let length = rest.len() - left.len();
        return Some((Value::Texts(count, rest.get(..length)?), left));
    }
    let build = match type_byte {
        0x81 => Value::U64s,
        0x82 => Value::I64s,
        0x83 => Value::F64s,
        _ => return None,
    };
    let (list, rest) = rest.split_at_checked(usize::from(count) * 8)?;
    let (list, _) = list.as_chunks::<8>();
    Some((build(list), rest))
}

#[inline]
fn text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}

/// Nearly every text is a few ASCII bytes, for which the general check costs more than this one.
#[inline]
fn is_text(bytes: &[u8]) -> bool {
    is_short_ascii(bytes) || std::str::from_utf8(bytes).is_ok()
}

/// Tells whether all bytes are ASCII, with as few loads as there can be: the last one may overlap.
#[inline]
fn is_short_ascii(bytes: &[u8]) -> bool {
    let mut all = 0_u64;
    if let Some(last) = bytes.last_chunk::<8>() {
        let (eights, _) = bytes.as_chunks::<8>();
        for eight in eights {
            all |= u64::from_ne_bytes(*eight);
        }
        all |= u64::from_ne_bytes(*last);
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        all |= u64::from(u32::from_ne_bytes(*first) | u32::from_ne_bytes(*last));
    } else {
        all = bytes.iter().fold(0, |all, &byte| all | u64::from(byte));
    }
    all & 0x8080_8080_8080_8080 == 0
}

#[inline]
fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[inline]
fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[inline]
fn be64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}
