//! Messages as tables of fields: names, numbers and types, shared by readers, writers and dumps.

use super::wire::Wire;

/// The type of a field.
#[derive(Debug)]
pub(crate) enum FieldType {
    /// `uint32`, `uint64` or an enumeration.
    Unsigned,
    /// `int32` or `int64`.
    Signed,
    /// `bool`.
    Flag,
    /// `fixed64`.
    Fixed64,
    /// `fixed32`.
    Fixed32,
    /// `double`.
    Double,
    /// `string`.
    Text,
    /// `bytes`.
    Bytes,
    /// An id of the named table, an integer.
    Id(&'static str),
    /// A message.
    Message(&'static [FieldSpec]),
    /// A message too large to be one record: its tag and length are a record, its fields are more.
    Container(&'static [FieldSpec]),
}

/// A field of a message.
#[derive(Debug)]
pub(crate) struct FieldSpec {
    pub(crate) number: u32,
    pub(crate) name: &'static str,
    pub(crate) kind: FieldType,
    pub(crate) repeated: bool,
}

impl FieldSpec {
    pub(crate) const fn one(number: u32, name: &'static str, kind: FieldType) -> Self {
        Self {
            number,
            name,
            kind,
            repeated: false,
        }
    }

    pub(crate) const fn many(number: u32, name: &'static str, kind: FieldType) -> Self {
        Self {
            number,
            name,
            kind,
            repeated: true,
        }
    }

    /// The wire type of one value.
    pub(crate) const fn wire(&self) -> Wire {
        match &self.kind {
            FieldType::Text
            | FieldType::Bytes
            | FieldType::Message(_)
            | FieldType::Container(_) => Wire::Len,
            FieldType::Fixed64 | FieldType::Double => Wire::Fixed64,
            FieldType::Fixed32 => Wire::Fixed32,
            FieldType::Unsigned | FieldType::Signed | FieldType::Flag | FieldType::Id(_) => {
                Wire::Varint
            }
        }
    }

    /// Returns true if a value of this wire type can be one of this field, packed lists included.
    pub(crate) fn takes(&self, wire: Wire) -> bool {
        let own = self.wire();
        own == wire || (self.repeated && own != Wire::Len && wire == Wire::Len)
    }
}

/// Finds a field by its number.
pub(crate) fn find(message: &'static [FieldSpec], number: u32) -> Option<&'static FieldSpec> {
    // Most messages number their fields from 1 without gaps.
    let dense = message.get(usize::try_from(number).ok()?.checked_sub(1)?);
    dense
        .filter(|field| field.number == number)
        .or_else(|| message.iter().find(|field| field.number == number))
}
