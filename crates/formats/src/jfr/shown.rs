//! Values as records show them: lists are lent, so they are held while they are shown.

use std::borrow::Cow;
use std::cell::OnceCell;

use super::event::Value;
use crate::Field;

/// A value on its way to `dump`, which borrows lists from it.
#[derive(Debug)]
pub(super) enum ValueTree<'t> {
    Leaf(Field<'t>),
    Text(Vec<u8>),
    List(Vec<ValueTree<'t>>, OnceCell<Vec<Field<'t>>>),
    Map(
        Vec<(ValueTree<'t>, ValueTree<'t>)>,
        OnceCell<Vec<(Field<'t>, Field<'t>)>>,
    ),
}

impl<'t> ValueTree<'t> {
    pub(super) fn list(items: Vec<Self>) -> Self {
        Self::List(items, OnceCell::new())
    }

    pub(super) fn map(pairs: Vec<(Self, Self)>) -> Self {
        Self::Map(pairs, OnceCell::new())
    }

    /// Lends the value in the form that records show.
    pub(super) fn lend(&'t self) -> Field<'t> {
        match self {
            Self::Leaf(leaf) => leaf.clone(),
            Self::Text(text) => Field::Text(text),
            Self::List(items, lent) => {
                Field::List(lent.get_or_init(|| items.iter().map(Self::lend).collect()))
            }
            Self::Map(pairs, lent) => Field::Map(lent.get_or_init(|| {
                pairs
                    .iter()
                    .map(|(key, value)| (key.lend(), value.lend()))
                    .collect()
            })),
        }
    }
}

impl<'t> From<Value<'t>> for ValueTree<'t> {
    fn from(value: Value<'t>) -> Self {
        Self::Leaf(match value {
            Value::Null => Field::Null,
            Value::Bool(value) => Field::Bool(value),
            Value::Int(value) => Field::I64(value),
            Value::Unsigned(value) => Field::U64(value),
            Value::Float(value) => Field::F64(value),
            Value::Text(Cow::Borrowed(text)) => Field::Text(text),
            Value::Text(Cow::Owned(text)) => return Self::Text(text),
            Value::Constant { table, key } => Field::Id(table, key),
            Value::Array(items) => return Self::list(items.into_iter().map(Self::from).collect()),
            Value::Struct(fields) => {
                let pairs = fields.into_iter();
                let pairs = pairs.map(|(name, value)| (Self::Leaf(Field::Str(name)), value.into()));
                return Self::map(pairs.collect());
            }
        })
    }
}
