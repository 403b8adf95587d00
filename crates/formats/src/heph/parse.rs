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
#[inline]
pub fn event(packet: &[u8], offset: u64, layout: Layout, most: usize) -> Option<Event<'_>> {
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
    let mut valid_text = is_text(description);
    let mut left = rest;
    let mut taken = 0;
    while taken < most
        && let Some((found, after)) = attribute(left)
    {
        valid_text &= is_text(found.name)
            && match found.value {
                Value::Text(text) => is_text(text),
                Value::Texts(_, bytes) => super::record::texts(bytes).all(is_text),
                _ => true,
            };
        left = after;
        taken += 1;
    }
    let decoded = rest.get(..rest.len() - left.len()).unwrap_or(&[]);
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

/// Reads the first attribute of `bytes`; none when its type is unknown or it does not fit.
#[inline]
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
        0x81..=0x83 => {
            let (&count, rest) = rest.split_first_chunk::<2>()?;
            let length = usize::from(u16::from_be_bytes(count)) * 8;
            let (list, rest) = rest.split_at_checked(length)?;
            let (list, _) = list.as_chunks::<8>();
            let value = match type_byte {
                0x81 => Value::U64s(list),
                0x82 => Value::I64s(list),
                _ => Value::F64s(list),
            };
            (value, rest)
        }
        0x84 => {
            let (&count, list) = rest.split_first_chunk::<2>()?;
            let count = u16::from_be_bytes(count);
            let mut left = list;
            for _ in 0..count {
                (_, left) = text(left)?;
            }
            let length = list.len() - left.len();
            (Value::Texts(count, list.get(..length)?), left)
        }
        _ => return None,
    };
    Some((Attribute { name, value }, rest))
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
