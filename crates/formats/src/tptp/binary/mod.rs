//! The binary form: descriptor, system messages, data messages (SPEC.md §1).

mod damaged;
mod decode;
mod descriptor;
mod read;
mod record;
mod single;
mod size;
mod system;
mod write;

pub use decode::{Decoded, decode};
pub use read::Reader;
pub(super) use record::time_of;
pub use record::{Data, Descriptor, Encoding, Frequency, Unknown};
pub use single::read_message;
pub use write::{Changed, Writer};

use traceloom_model::bounds::{in_memory, length_u32};

/// Bytes of the descriptor.
pub const DESCRIPTOR: usize = 12;

/// Bytes of a message header: id and size.
pub const HEADER: usize = 6;

/// Most bytes a message may claim (SPEC.md §1.2).
pub const MOST: usize = 64 << 20;

/// What a stream decided once for all its messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shape {
    /// Numbers are big-endian.
    pub big: bool,
    /// Sizes leave the six bytes of the header out.
    pub exclusive: bool,
    /// The minor version is above ours: messages may be longer than the table.
    pub newer: bool,
}

impl Shape {
    pub(super) fn u16(self, bytes: [u8; 2]) -> u16 {
        if self.big {
            u16::from_be_bytes(bytes)
        } else {
            u16::from_le_bytes(bytes)
        }
    }

    pub(super) fn u32(self, bytes: [u8; 4]) -> u32 {
        if self.big {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        }
    }

    pub(super) fn u64(self, bytes: [u8; 8]) -> u64 {
        if self.big {
            u64::from_be_bytes(bytes)
        } else {
            u64::from_le_bytes(bytes)
        }
    }

    pub(super) fn put_u16(self, value: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(&if self.big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        });
    }

    pub(super) fn put_u32(self, value: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&if self.big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        });
    }

    pub(super) fn put_u64(self, value: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&if self.big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        });
    }

    /// Returns the bytes of a whole message whose size field is `size`.
    pub(super) fn total(self, size: u32) -> usize {
        let size = in_memory(size);
        if self.exclusive {
            size.saturating_add(HEADER)
        } else {
            size
        }
    }

    /// Writes the header in front of the bytes that follow `start` in `out`.
    pub(super) fn header(
        self,
        id: u16,
        declared: Option<u32>,
        out: &mut Vec<u8>,
        payload: impl FnOnce(&mut Vec<u8>),
    ) {
        let start = out.len();
        self.put_u16(id, out);
        self.put_u32(0, out);
        payload(out);
        let whole = out.len() - start - if self.exclusive { HEADER } else { 0 };
        let size = declared.unwrap_or(length_u32(whole));
        let bytes = if self.big {
            size.to_be_bytes()
        } else {
            size.to_le_bytes()
        };
        if let Some(field) = out.get_mut(start + 2..start + HEADER) {
            field.copy_from_slice(&bytes);
        }
    }
}
