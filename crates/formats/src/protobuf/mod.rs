//! Protocol Buffers without generated code: the wire format, messages as tables, fields one by one.
//!
//! Public are the functions that append fields to a message. Inside this crate a format gives its messages as tables
//! of fields. A reader turns the fields of the outermost message into native records; a container is not one record but
//! the head of those inside it, so that memory follows the largest record and not the message. Lowerings walk bodies
//! field by field.

mod fields;
mod put;
mod read;
mod record;
mod schema;
mod split;
mod tokens;
mod wire;

pub(crate) use fields::{Fields, RawValue, fields, packed_fixed, packed_varints};
pub(crate) use put::varint_len;
pub use put::{put_bytes, put_double, put_fixed64, put_message, put_number, put_packed, put_tag};
pub(crate) use read::{Reader, RecordLayout, malformed, parse, read, wrong_wire};
pub(crate) use schema::{FieldSpec, FieldType, find};
pub(crate) use split::{
    FieldBytes as Split, FieldSplitter, FieldValueKind as Content, MessagePiece, MessageSchema,
    each, each_field, fits,
};
pub(crate) use tokens::{Token, TokenIter, TokenValue, Tokens, put_tokens};
pub use wire::Wire;
pub(crate) use wire::{delimited, packed, skip, tag, varint};
