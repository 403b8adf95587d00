//! Attributes: named values with exact types, order and duplicates.

use crate::bounds::row_number;
use crate::{AttrKeyId, SpanId, StringId, Timestamp, Unit};

/// What is known of an attribute's name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AttributeKey {
    /// The name as the producer writes it.
    pub name: StringId,
    /// The unit of its values.
    pub unit: Unit,
    /// Display priority, ascending; ties sort by name.
    pub order: i32,
    /// All values are shown, not the last.
    pub list: bool,
    /// The producer copies it to the call's row.
    pub index: bool,
    /// The function that renders or groups the value, such as `sql`.
    pub signature: Option<StringId>,
}

impl AttributeKey {
    /// A key with a name and no other knowledge.
    #[must_use]
    pub const fn named(name: StringId) -> Self {
        Self {
            name,
            unit: Unit::Count,
            order: 0,
            list: false,
            index: false,
            signature: None,
        }
    }
}

/// The type of a list's elements, kept for empty lists too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum ElementType {
    /// [`Value::I64`]
    I64,
    /// [`Value::U64`]
    U64,
    /// [`Value::F64`]
    F64,
    /// [`Value::Bool`]
    Bool,
    /// [`Value::Text`]
    Text,
    /// [`Value::Bytes`]
    Bytes,
    /// Elements of several types.
    Any,
}

impl ElementType {
    /// Returns the type that all of `values` have; [`Self::Any`] for none or several.
    #[must_use]
    pub fn common(values: &[Value]) -> Self {
        let of = |value: &Value| match value {
            Value::I64(_) => Self::I64,
            Value::U64(_) => Self::U64,
            Value::F64(_) => Self::F64,
            Value::Bool(_) => Self::Bool,
            Value::Text(_) => Self::Text,
            Value::Bytes(_) => Self::Bytes,
            Value::Null | Value::List(..) | Value::Map(_) | Value::Exception(_) => Self::Any,
        };
        let mut types = values.iter().map(of);
        let first = types.next().unwrap_or(Self::Any);
        if types.all(|other| other == first) {
            first
        } else {
            Self::Any
        }
    }
}

/// A value. Signed and unsigned integers are different types; floats compare by their bits.
#[derive(Clone, Debug)]
pub enum Value {
    /// No value.
    Null,
    /// A signed integer.
    I64(i64),
    /// An unsigned integer.
    U64(u64),
    /// A float; `-0.0` and NaN payloads are kept.
    F64(f64),
    /// A boolean.
    Bool(bool),
    /// A string, possibly flagged invalid (see [`crate::Text`]).
    Text(StringId),
    /// Bytes.
    Bytes(Box<[u8]>),
    /// A list; its element type is known also when it is empty.
    List(ElementType, Box<[Value]>),
    /// A map in the producer's order, duplicates included.
    Map(Box<[(Value, Value)]>),
    /// A shared exception as a value.
    Exception(crate::ExceptionId),
}

impl Value {
    /// Shows every string in it, those inside lists and maps too.
    pub fn each_string(&self, show: &mut impl FnMut(crate::StringId)) {
        let mut left = vec![self];
        while let Some(value) = left.pop() {
            match value {
                Self::Text(id) => show(*id),
                Self::List(_, items) => left.extend(items.iter()),
                Self::Map(pairs) => left.extend(pairs.iter().flat_map(|(key, value)| [key, value])),
                _ => {}
            }
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::I64(a), Self::I64(b)) => a == b,
            (Self::U64(a), Self::U64(b)) => a == b,
            (Self::F64(a), Self::F64(b)) => a.to_bits() == b.to_bits(),
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::List(t, a), Self::List(u, b)) => t == u && a == b,
            (Self::Map(a), Self::Map(b)) => a == b,
            (Self::Exception(a), Self::Exception(b)) => a == b,
            _ => false,
        }
    }
}

/// One attribute of a span, event, sample or resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// Its key.
    pub key: AttrKeyId,
    /// Its value.
    pub value: Value,
    /// When it was set, where the producer says so.
    pub at: Option<Timestamp>,
    /// The span that set it, when it was handed to an enclosing one (an upward attribute).
    pub from: Option<SpanId>,
}

impl Attribute {
    /// An attribute without time or source.
    #[inline]
    #[must_use]
    pub const fn new(key: AttrKeyId, value: Value) -> Self {
        Self {
            key,
            value,
            at: None,
            from: None,
        }
    }
}

/// The attributes of a batch's rows, row after row: a list column in two vectors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes {
    ends: Vec<u32>,
    values: Vec<Attribute>,
}

impl Attributes {
    /// Empty, with room for `rows` rows of about two attributes.
    #[must_use]
    pub fn with_capacity(rows: usize) -> Self {
        Self {
            ends: Vec::with_capacity(rows),
            values: Vec::with_capacity(rows * 2),
        }
    }

    /// Empty, with room for as much as these hold.
    #[must_use]
    pub fn with_room_of(&self) -> Self {
        Self {
            ends: Vec::with_capacity(self.ends.len()),
            values: Vec::with_capacity(self.values.len()),
        }
    }

    /// Adds the next row's attributes.
    #[inline]
    pub fn push_row(&mut self, row: impl IntoIterator<Item = Attribute>) {
        self.values.extend(row);
        self.ends.push(row_number(self.values.len()));
    }

    /// Adds the next row's attributes and leaves `row` empty.
    #[inline]
    pub fn append_row(&mut self, row: &mut Vec<Attribute>) {
        self.make_row(|values| values.append(row));
    }

    /// Adds the next row's attributes: those that `make` appends.
    #[inline]
    pub fn make_row(&mut self, make: impl FnOnce(&mut Vec<Attribute>)) {
        make(&mut self.values);
        self.ends.push(row_number(self.values.len()));
    }

    /// Returns the attributes of row `row`; empty for a row that does not exist, and once they were taken out.
    #[inline]
    #[must_use]
    pub fn row(&self, row: usize) -> &[Attribute] {
        self.values.get(self.range(row)).unwrap_or_default()
    }

    /// Returns every attribute of every row.
    #[must_use]
    pub fn all(&self) -> &[Attribute] {
        &self.values
    }

    /// Returns the attributes of row `row` to change them, none for a row that does not exist.
    #[inline]
    pub fn row_mut(&mut self, row: usize) -> &mut [Attribute] {
        let range = self.range(row);
        self.values.get_mut(range).unwrap_or_default()
    }

    /// Takes every attribute of every row out; [`Attributes::end`] still says whose is whose.
    #[must_use]
    pub fn take_all(&mut self) -> Vec<Attribute> {
        std::mem::take(&mut self.values)
    }

    /// Returns how many of all attributes are those of row `row` and of the rows before it.
    #[inline]
    #[must_use]
    pub fn end(&self, row: usize) -> usize {
        self.ends.get(row).copied().unwrap_or(0) as usize
    }

    #[inline]
    fn range(&self, row: usize) -> std::ops::Range<usize> {
        let end = self.end(row);
        let start = row.checked_sub(1).map_or(0, |before| self.end(before));
        start.min(end)..end
    }

    pub(crate) fn all_mut(&mut self) -> &mut [Attribute] {
        &mut self.values
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    /// Appends the rows of `other`.
    pub fn append(&mut self, other: Self) {
        let base = row_number(self.values.len());
        self.ends
            .extend(other.ends.iter().map(|end| end.saturating_add(base)));
        self.values.extend(other.values);
    }
}
