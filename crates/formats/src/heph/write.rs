//! Records to bytes.

use traceloom_model::bounds::{length_u32, saturated_u16, subslice};

use super::record::{Attribute, EVENT, Event, Layout, METADATA, Metadata, Value};

/// Appends a metadata packet.
pub fn metadata(packet: &Metadata<'_>, out: &mut Vec<u8>) {
    let begin = out.len();
    out.extend_from_slice(&METADATA);
    out.extend_from_slice(&[0; 4]);
    put_text(packet.name, out);
    out.extend_from_slice(packet.value);
    patch_size(begin, out);
}

/// Appends an event packet.
pub fn event(packet: &Event<'_>, out: &mut Vec<u8>) {
    let begin = out.len();
    head(packet, out);
    for attribute in packet.attributes {
        put_attribute(&attribute, out);
    }
    out.extend_from_slice(packet.undecoded);
    patch_size(begin, out);
}

/// Appends everything before the attributes, with a size of 0 that [`patch_size`] fills in.
pub fn head(packet: &Event<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(&EVENT);
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&packet.stream.to_be_bytes());
    out.extend_from_slice(&packet.counter.to_be_bytes());
    if packet.layout == Layout::Substream {
        out.extend_from_slice(&packet.substream.to_be_bytes());
    }
    out.extend_from_slice(&packet.start.to_be_bytes());
    out.extend_from_slice(&packet.end.to_be_bytes());
    out.extend_from_slice(&packet.description_length.to_be_bytes());
    out.extend_from_slice(packet.description);
}

/// Writes the length of the packet that began at `begin` into it.
pub fn patch_size(begin: usize, out: &mut [u8]) {
    let size = length_u32(out.len() - begin);
    if let Some(slot) = out.get_mut(begin + 4..begin + 8) {
        slot.copy_from_slice(&size.to_be_bytes());
    }
}

/// Appends an attribute.
pub fn put_attribute(attribute: &Attribute<'_>, out: &mut Vec<u8>) {
    put_text(attribute.name, out);
    out.push(attribute.value.type_byte());
    match attribute.value {
        Value::U64(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::I64(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::F64(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::Text(text) => put_text(text, out),
        Value::U64s(list) | Value::I64s(list) | Value::F64s(list) => {
            let count = saturated_u16(list.len());
            out.extend_from_slice(&count.to_be_bytes());
            out.extend_from_slice(subslice(list, ..usize::from(count)).as_flattened());
        }
        Value::Texts(count, bytes) => {
            out.extend_from_slice(&count.to_be_bytes());
            out.extend_from_slice(bytes);
        }
        Value::Described(described) => {
            let count = described.count.map(u16::to_be_bytes);
            out.extend_from_slice(count.as_ref().map_or(&[], |count| &count[..]));
            out.extend_from_slice(described.bytes);
        }
    }
}

/// Appends a text with its length; at most 65,535 bytes of it.
pub fn put_text(text: &[u8], out: &mut Vec<u8>) {
    let length = saturated_u16(text.len());
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(subslice(text, ..usize::from(length)));
}
