//! One message without a stream around it.

use super::decode::{Slots, decode};
use super::{HEADER, Shape};
use crate::Error;
use crate::tptp::message::{Message, Slot, Texts};
use crate::tptp::table::{MOST_FIELDS, by_id};

/// Reads one data message without a stream around it; it must take all of `bytes`.
///
/// # Errors
/// `Invalid` when the bytes are not exactly one message of the table, `Truncated` when they are short.
pub fn read_message<R>(
    bytes: &[u8],
    shape: Shape,
    then: impl FnOnce(&Message<'_>) -> R,
) -> Result<R, Error> {
    let Some(&[a, b, size @ ..]) = bytes.first_chunk::<HEADER>() else {
        return Err(Error::truncated(
            0,
            "message header",
            HEADER - bytes.len().min(HEADER),
        ));
    };
    let id = shape.u16([a, b]);
    let schema =
        by_id(id).ok_or_else(|| Error::invalid(0, format!("no data message has id {id}")))?;
    let total = shape.total(shape.u32(size));
    if total != bytes.len() {
        return Err(Error::invalid(
            2,
            format!("size says {total} bytes, there are {}", bytes.len()),
        ));
    }
    let mut slots: Slots<'_> = [Slot::Number(0); MOST_FIELDS];
    let payload = bytes.get(HEADER..).unwrap_or_default();
    let decoded = decode(schema, payload, shape, &mut slots)
        .filter(|decoded| decoded.used == payload.len())
        .ok_or_else(|| {
            Error::invalid(
                HEADER as u64,
                format!("not the fields of {}", schema.element),
            )
        })?;
    Ok(then(&Message {
        schema,
        layout: decoded.layout,
        values: slots.get(..decoded.fields).unwrap_or_default(),
        frames: decoded.frames,
        texts: Texts::default(),
    }))
}
