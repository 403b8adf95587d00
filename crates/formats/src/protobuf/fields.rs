//! The fields of a message body, borrowed.

use super::wire::{Wire, delimited, packed, tag, varint};

/// The value of a field as it lies in the body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RawValue<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Len(&'a [u8]),
}

impl<'a> RawValue<'a> {
    /// The integer, whatever its width; 0 for bytes.
    pub(crate) fn number(self) -> u64 {
        match self {
            Self::Varint(value) | Self::Fixed64(value) => value,
            Self::Fixed32(value) => u64::from(value),
            Self::Len(_) => 0,
        }
    }

    /// The bytes; empty for integers.
    pub(crate) fn bytes(self) -> &'a [u8] {
        match self {
            Self::Len(bytes) => bytes,
            _ => &[],
        }
    }
}

/// Iterates over the fields of a body: number and value. It ends early where the bytes are no field.
#[inline]
pub(crate) fn fields(body: &[u8]) -> Fields<'_> {
    Fields { body, at: 0 }
}

/// The fields of a body.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    body: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, RawValue<'a>);

    // Where it is called a number and a value go through registers; returned from a function they go through memory, which takes as
    // long again.
    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let (raw, next) = varint(self.body, self.at)?;
        let (number, wire) = tag(raw)?;
        let value;
        (value, self.at) = match wire {
            Wire::Varint => {
                let (value, next) = varint(self.body, next)?;
                (RawValue::Varint(value), next)
            }
            Wire::Fixed64 => {
                let bytes = self.body.get(next..)?.first_chunk()?;
                (RawValue::Fixed64(u64::from_le_bytes(*bytes)), next + 8)
            }
            Wire::Fixed32 => {
                let bytes = self.body.get(next..)?.first_chunk()?;
                (RawValue::Fixed32(u32::from_le_bytes(*bytes)), next + 4)
            }
            Wire::Len => {
                let (bytes, next) = delimited(self.body, next)?;
                (RawValue::Len(bytes), next)
            }
        };
        Some((number, value))
    }
}

/// Appends the integers of a repeated field, packed or not.
pub(crate) fn packed_varints(value: RawValue<'_>, out: &mut Vec<u64>) {
    match value {
        RawValue::Len(run) => {
            // What is readable of a damaged list was noted by the reader of records.
            let _ = packed(run, out, |value| value);
        }
        other => out.push(other.number()),
    }
}

/// Appends the values of a repeated field of eight bytes each, packed or not.
pub(crate) fn packed_fixed(value: RawValue<'_>, out: &mut Vec<u64>) {
    match value {
        RawValue::Len(run) => {
            let chunks = run.chunks_exact(8);
            out.extend(chunks.filter_map(|chunk| Some(u64::from_le_bytes(*chunk.first_chunk()?))));
        }
        other => out.push(other.number()),
    }
}
