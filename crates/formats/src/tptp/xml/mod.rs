//! The XML form: elements of a document or of a live stream (SPEC.md §7).

mod attributes;
mod element;
mod read;
mod record;
mod tag;
mod write;

pub use read::Reader;
pub use record::{Element, Piece};
pub use write::{Dropped, Instruction, write_message};
