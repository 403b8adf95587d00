//! What a field of a row holds.

use std::borrow::Cow;

use crate::{Recording, StringId, Unit};

/// One field of a row; of the type that its column says, or nothing.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Cell<'a> {
    /// Nothing.
    Null,
    /// An integer.
    I64(i64),
    /// A float.
    F64(f64),
    /// True or false.
    Bool(bool),
    /// A text.
    Text(&'a str),
    /// Microseconds since 1970.
    Time(i64),
}

pub(super) fn number(value: impl Into<i64>) -> Cell<'static> {
    Cell::I64(value.into())
}

/// Numbers above the signed range keep their bits: ids compare equal on both sides of a join.
pub(super) fn bits(value: u64) -> Cell<'static> {
    Cell::I64(value.cast_signed())
}

pub(super) fn some<T>(value: Option<T>, cell: impl FnOnce(T) -> Cell<'static>) -> Cell<'static> {
    value.map_or(Cell::Null, cell)
}

macro_rules! id {
    ($id:expr) => {
        Cell::I64(i64::from($id.raw()))
    };
}
macro_rules! some_id {
    ($id:expr) => {
        $id.map_or(Cell::Null, |id| id!(id))
    };
}

/// Text that may be missing; the strings of the row live as long as it.
pub(super) struct OptionalText<'t>(pub(super) &'t Recording);

impl<'t> OptionalText<'t> {
    pub(super) fn some(&self, id: Option<StringId>) -> Option<Cow<'t, str>> {
        id.map(|id| self.0.text(id))
    }

    pub(super) fn unit(&self, unit: Unit) -> Cow<'t, str> {
        match unit {
            Unit::Count => "count".into(),
            Unit::Nanoseconds => "nanoseconds".into(),
            Unit::Bytes => "bytes".into(),
            Unit::Chars => "chars".into(),
            Unit::Percent => "percent".into(),
            Unit::Other(id) => self.0.text(id),
        }
    }
}

pub(super) fn text<'c>(text: &'c Option<Cow<'_, str>>) -> Cell<'c> {
    text.as_deref().map_or(Cell::Null, Cell::Text)
}

pub(super) use {id, some_id};
