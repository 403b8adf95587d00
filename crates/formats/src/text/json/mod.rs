//! JSON text as several formats carry it: a flat table of values with the place of each.
//!
//! A flame graph nests two levels a frame and a recursive parser gives up at a hundred, so values lie in
//! one vector in document order, each with the row after its last descendant: no recursion, no copy, and
//! every value knows its bytes. Damage does not end a document: what is no JSON becomes a defect with an
//! offset, open containers close at the end, and the rest is read.

mod lower;
mod parse;
mod plain;
mod reader;
mod text;
mod token;
mod value;

pub use lower::{Lowered, lower_documents};
pub use parse::{Defect, Document, JsonTexts};
pub(crate) use plain::{TokenPlace, plain_object, plain_value, quote_or_backslash};
pub use reader::{JsonLayout, JsonReader};
pub use text::{push_string, unescape};
pub use token::scale;
pub(crate) use token::{Token, short_key};
pub use value::{Kind, Value};

#[cfg(test)]
mod tests;
