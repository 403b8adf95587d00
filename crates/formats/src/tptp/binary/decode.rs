//! The fields of one message, from the bytes behind its header.

use super::Shape;
use crate::tptp::message::{Frames, Slot};
use crate::tptp::table::{FieldDef, Kind, Layout, MOST_FIELDS, Schema};

/// What a message's bytes turned out to hold; the values are in the caller's slots.
#[derive(Clone, Copy, Debug)]
pub struct Decoded<'a> {
    /// The layout that fits.
    pub layout: Layout,
    /// How many slots are filled.
    pub fields: usize,
    /// Bytes the fields take.
    pub used: usize,
    /// The stack.
    pub frames: Frames<'a>,
    /// Every string is ASCII.
    pub ascii: bool,
}

/// Slots for the values of any message.
pub type Slots<'a> = [Slot<'a>; MOST_FIELDS];

/// Decodes the fields of a message in the layout that takes `payload` exactly, or else in the first
/// that leaves bytes over; monitor messages whose arrays fit no layout keep them as bytes.
///
/// Returns none when the payload ends inside the fields.
#[inline]
pub fn decode<'a>(
    schema: &'static Schema,
    payload: &'a [u8],
    shape: Shape,
    slots: &mut Slots<'a>,
) -> Option<Decoded<'a>> {
    let table = try_layout(schema, Layout::Table, payload, shape.big, slots);
    if let Some(decoded) = table
        && decoded.used == payload.len()
    {
        return table;
    }
    decode_otherwise(schema, payload, shape, slots)
}

#[cold]
fn decode_otherwise<'a>(
    schema: &'static Schema,
    payload: &'a [u8],
    shape: Shape,
    slots: &mut Slots<'a>,
) -> Option<Decoded<'a>> {
    for &layout in schema.layouts() {
        let decoded = try_layout(schema, layout, payload, shape.big, slots);
        if decoded.is_some_and(|decoded| decoded.used == payload.len()) {
            return decoded;
        }
    }
    let table = try_layout(schema, Layout::Table, payload, shape.big, slots);
    if schema.has_stack() && (table.is_none() || !shape.newer) {
        return try_layout(schema, Layout::Broken, payload, shape.big, slots);
    }
    table
}

#[inline]
fn try_layout<'a>(
    schema: &'static Schema,
    layout: Layout,
    payload: &'a [u8],
    big: bool,
    slots: &mut Slots<'a>,
) -> Option<Decoded<'a>> {
    let fields = schema.fields(layout);
    let counted = layout == Layout::Counted;
    let read = if big {
        read_fields::<true>
    } else {
        read_fields::<false>
    };
    let (used, frames, ascii) = read(fields, counted, payload, slots)?;
    Some(Decoded {
        layout,
        fields: fields.len(),
        used,
        frames,
        ascii,
    })
}

#[inline]
fn read_fields<'a, const BIG: bool>(
    fields: &'static [FieldDef],
    counted: bool,
    payload: &'a [u8],
    slots: &mut Slots<'a>,
) -> Option<(usize, Frames<'a>, bool)> {
    let mut rest = payload;
    let mut frames = Frames::None;
    let mut depth = 0;
    let mut ascii = true;
    for (field, slot) in fields.iter().zip(slots.iter_mut()) {
        *slot = match field.kind {
            Kind::Long | Kind::Ticks => {
                let (bytes, tail) = rest.split_first_chunk()?;
                rest = tail;
                Slot::Number(if BIG {
                    u64::from_be_bytes(*bytes)
                } else {
                    u64::from_le_bytes(*bytes)
                })
            }
            Kind::Text => {
                let end = terminator(rest)?;
                let text = rest.get(..end)?;
                rest = rest.get(end + 1..)?;
                ascii &= text.is_ascii();
                Slot::Text(text)
            }
            Kind::Int | Kind::Signed => {
                let (bytes, tail) = rest.split_first_chunk()?;
                rest = tail;
                depth = if BIG {
                    u32::from_be_bytes(*bytes)
                } else {
                    u32::from_le_bytes(*bytes)
                };
                Slot::Number(depth.into())
            }
            Kind::Byte => {
                let (byte, tail) = rest.split_first()?;
                rest = tail;
                Slot::Number(u64::from(*byte))
            }
            Kind::Methods => {
                (frames, rest) = read_stack::<BIG>(rest, depth, counted)?;
                ascii &= matches!(frames, Frames::Wire { methods, .. } if methods.is_ascii());
                Slot::Number(0)
            }
            Kind::Lines => Slot::Number(0),
        };
    }
    Some((payload.len() - rest.len(), frames, ascii))
}

/// Null strings are by far the most common.
#[inline]
fn terminator(bytes: &[u8]) -> Option<usize> {
    if bytes.first() == Some(&0) {
        Some(0)
    } else {
        memchr::memchr(0, bytes)
    }
}

/// Reads both arrays; each frame takes at least nine bytes, so that a depth that lies ends at once.
fn read_stack<const BIG: bool>(
    bytes: &[u8],
    depth: u32,
    counted: bool,
) -> Option<(Frames<'_>, &[u8])> {
    let depth_usize = usize::try_from(depth).ok()?;
    if depth_usize.checked_mul(9)? > bytes.len() {
        return None;
    }
    let count = |bytes: &mut &[u8]| -> Option<()> {
        if counted {
            let (own, tail) = bytes.split_first_chunk()?;
            *bytes = tail;
            let own = if BIG {
                u32::from_be_bytes(*own)
            } else {
                u32::from_le_bytes(*own)
            };
            return (own == depth).then_some(());
        }
        Some(())
    };
    let mut rest = bytes;
    count(&mut rest)?;
    let methods = rest;
    for _ in 0..depth {
        rest = rest.get(terminator(rest)? + 1..)?;
    }
    let methods = methods.get(..methods.len() - rest.len())?;
    count(&mut rest)?;
    let (lines, rest) = rest.split_at_checked(depth_usize * 8)?;
    let frames = Frames::Wire {
        methods,
        lines,
        big: BIG,
    };
    Some((frames, rest))
}
