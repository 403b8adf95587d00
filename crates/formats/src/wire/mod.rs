//! Reading and writing of the integers, strings and whole units that several formats share.

mod cursor;
mod put;
pub(crate) mod units;
mod utf16;

pub use cursor::Cursor;
pub(crate) use put::{PackedBytes, leb128, put_pieces, put_start};
pub use put::{leb128_len, put_leb128, put_u32_varint, put_zigzag32};
pub use utf16::{Utf16, utf16_to_wtf8};
