//! One packet's bytes to its fields: the hot path.

use super::record::{Attribute, Attributes, EVENT, Event, Layout, METADATA, Metadata, Value};
use super::registered::{self, DescribedValue};

/// Returns true if `bytes` begin with the first bytes of a packet.
#[inline]
pub fn is_magic(bytes: &[u8]) -> bool {
    // Compared as one word each: a pattern would compare byte by byte.
    const MAGICS: [u32; 2] = [u32::from_ne_bytes(EVENT), u32::from_ne_bytes(METADATA)];
    bytes
        .first_chunk()
        .is_some_and(|first| MAGICS.contains(&u32::from_ne_bytes(*first)))
}

/// Returns true if `bytes`, the last ones of the input, may be the beginning of a packet.
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
    event_inline(packet, offset, layout, Some(most))
}

/// [`event`] for the one place where moving the result costs as much as reading it.
///
/// Without `most`, the event is as if it were valid and had no attributes.
#[inline(always)]
pub fn event_inline(
    packet: &[u8],
    offset: u64,
    layout: Layout,
    most: Option<usize>,
) -> Option<Event<'_>> {
    let begin = layout.description();
    let (stream, counter, substream, start, end, length) = match layout {
        Layout::Substream => {
            let head = packet.first_chunk::<42>()?;
            (
                be32(head, 8)?,
                be32(head, 12)?,
                be64(head, 16)?,
                be64(head, 24)?,
                be64(head, 32)?,
                be16(head, 40)?,
            )
        }
        Layout::NoSubstream => {
            let head = packet.first_chunk::<34>()?;
            (
                be32(head, 8)?,
                be32(head, 12)?,
                0,
                be64(head, 16)?,
                be64(head, 24)?,
                be16(head, 32)?,
            )
        }
    };
    let stated = begin + usize::from(length);
    let described = stated.min(packet.len());
    let (attributes_end, valid_text) = match most {
        Some(most) => {
            let (end, valid) = check_attributes(packet, described, most);
            (end, valid && is_text(packet, begin, described))
        }
        None => (described, true),
    };
    let undecoded = match most {
        Some(_) => packet.get(attributes_end..)?,
        None => &[],
    };
    Some(Event {
        offset,
        layout,
        stream,
        counter,
        substream,
        start,
        end,
        description_length: length,
        description: packet.get(begin..described)?,
        attributes: Attributes {
            bytes: packet.get(described..attributes_end)?,
        },
        undecoded,
        valid_text,
        complete: most.is_none() || (stated <= packet.len() && undecoded.is_empty()),
    })
}

/// Returns where the whole attributes of known types end that begin at `from`, at most `most` of them,
/// and whether their text is UTF-8.
///
/// The same walk as [`attribute`] without its values: every packet takes it, most visitors not the other.
#[inline(always)]
fn check_attributes(packet: &[u8], from: usize, most: usize) -> (usize, bool) {
    let (mut at, mut valid) = (from, true);
    for _ in 0..most {
        let Some(end) = check_attribute(packet, at, &mut valid) else {
            break;
        };
        at = end;
    }
    (at, valid)
}

#[inline(always)]
fn check_attribute(packet: &[u8], at: usize, valid: &mut bool) -> Option<usize> {
    let (&length, rest) = packet.get(at..)?.split_first_chunk::<2>()?;
    let name = usize::from(u16::from_be_bytes(length));
    let (named, rest) = rest.split_at_checked(name + 1)?;
    let value = at + 3 + name;
    let end = match named.last()? {
        0x01..=0x03 => {
            rest.first_chunk::<8>()?;
            value + 8
        }
        0x04 => {
            let text = value + 2;
            let end = text + usize::from(u16::from_be_bytes(*rest.first_chunk()?));
            if end > packet.len() {
                return None;
            }
            *valid &= is_text(packet, text, end);
            end
        }
        &type_byte @ 0x81..=0x84 => check_list(packet, type_byte, value, valid)?,
        &type_byte => check_described(packet, type_byte, value, valid)?,
    };
    *valid &= is_text(packet, at + 2, value - 1);
    Some(end)
}

#[inline(never)]
fn check_list(packet: &[u8], type_byte: u8, at: usize, valid: &mut bool) -> Option<usize> {
    let count = usize::from(be16(packet, at)?);
    let mut end = at + 2;
    match type_byte {
        0x81..=0x83 => end += count * 8,
        0x84 => {
            let mut all = true;
            for _ in 0..count {
                let text = end + 2;
                end = text + usize::from(be16(packet, end)?);
                if end > packet.len() {
                    return None;
                }
                all &= is_text(packet, text, end);
            }
            *valid &= all;
        }
        _ => return None,
    }
    (end <= packet.len()).then_some(end)
}

#[inline(never)]
fn check_described(packet: &[u8], type_byte: u8, at: usize, valid: &mut bool) -> Option<usize> {
    let (described, rest) = registered::value(type_byte, packet.get(at..)?)?;
    for value in described.values() {
        if let DescribedValue::Text(text) = value {
            *valid &= std::str::from_utf8(text).is_ok();
        }
    }
    Some(packet.len() - rest.len())
}

/// Reads the first attribute of `bytes`; none when its type is unknown or it does not fit.
#[inline(always)]
pub fn attribute(bytes: &[u8]) -> Option<(Attribute<'_>, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    let (named, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)) + 1)?;
    let (&type_byte, name) = named.split_last()?;
    let (value, rest) = value(type_byte, rest)?;
    Some((Attribute { name, value }, rest))
}

/// Reads the value that `bytes` begin with.
#[inline(always)]
pub fn value(type_byte: u8, bytes: &[u8]) -> Option<(Value<'_>, &[u8])> {
    match type_byte {
        0x01..=0x03 => {
            let (&raw, rest) = bytes.split_first_chunk::<8>()?;
            let value = match type_byte {
                0x01 => Value::U64(u64::from_be_bytes(raw)),
                0x02 => Value::I64(i64::from_be_bytes(raw)),
                _ => Value::F64(f64::from_be_bytes(raw)),
            };
            Some((value, rest))
        }
        0x04 => text(bytes).map(|(text, rest)| (Value::Text(text), rest)),
        0x81..=0x84 => list(type_byte, bytes),
        _ => registered::value(type_byte, bytes)
            .map(|(described, rest)| (Value::Described(described), rest)),
    }
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

const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);

/// Returns true if the bytes of `packet` from `from` to `to` are UTF-8.
///
/// Nearly every text is a few ASCII bytes, for which the general check costs more than this one. Eight of
/// them are one load that reaches back over what lies before the text: the head of the packet leaves room
/// for it.
#[inline(always)]
fn is_text(packet: &[u8], from: usize, to: usize) -> bool {
    let Some(bytes) = packet.get(..to) else {
        return false;
    };
    let length = to.saturating_sub(from);
    match bytes.last_chunk::<8>() {
        Some(last) if length <= 8 => {
            // A shift by all 64 bits, for no text at all, is none.
            let before = u32::try_from(8 - length).unwrap_or(0) * 8;
            let text = u64::from_le_bytes(*last).checked_shr(before).unwrap_or(0);
            text & HIGHS == 0 || is_utf8(bytes.get(from..))
        }
        _ => is_long_text(bytes.get(from..)),
    }
}

/// Up to 32 bytes, which names and descriptions have, are two loads that overlap.
#[inline(always)]
fn is_long_text(text: Option<&[u8]>) -> bool {
    let Some(text) = text.filter(|text| text.len() <= 32) else {
        return is_longer_text(text);
    };
    let all = match (text.first_chunk::<16>(), text.last_chunk::<16>()) {
        (Some(first), Some(last)) => {
            let all = u128::from_ne_bytes(*first) | u128::from_ne_bytes(*last);
            u64::try_from((all | all >> 64) & u128::from(u64::MAX)).unwrap_or(HIGHS)
        }
        _ => {
            let (first, last) = (text.first_chunk(), text.last_chunk());
            let word =
                |word: Option<&[u8; 8]>| word.map_or(HIGHS, |word| u64::from_ne_bytes(*word));
            word(first) | word(last)
        }
    };
    all & HIGHS == 0 || is_utf8(Some(text))
}

#[inline(never)]
fn is_longer_text(text: Option<&[u8]>) -> bool {
    let eights = text.map(<[u8]>::as_chunks::<8>).unwrap_or_default().0;
    let last = text.and_then(<[u8]>::last_chunk::<8>);
    let last = last.map_or(HIGHS, |last| u64::from_ne_bytes(*last));
    let all = |all, eight: &[u8; 8]| all | u64::from_ne_bytes(*eight);
    eights.iter().fold(last, all) & HIGHS == 0 || is_utf8(text)
}

#[inline(never)]
fn is_utf8(text: Option<&[u8]>) -> bool {
    text.is_some_and(|text| std::str::from_utf8(text).is_ok())
}

#[inline(always)]
fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[inline(always)]
fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[inline(always)]
fn be64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}
