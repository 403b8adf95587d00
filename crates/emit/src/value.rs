//! Values of attributes.

/// A value, in one of the eight types that a packet has.
///
/// Made by `into` from integers of any size, floats, texts and slices. A `bool` is a number, 0 or 1, as there is no such
/// type in the format.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<'v> {
    /// An unsigned integer.
    U64(u64),
    /// A signed integer.
    I64(i64),
    /// A float, kept bit by bit.
    F64(f64),
    /// A text.
    Text(&'v str),
    /// Unsigned integers.
    U64s(&'v [u64]),
    /// Signed integers.
    I64s(&'v [i64]),
    /// Floats.
    F64s(&'v [f64]),
    /// Texts.
    Texts(&'v [&'v str]),
}

macro_rules! from_numbers {
    ($($variant:ident: $($number:ty)+;)+) => {$($(
        impl From<$number> for Value<'_> {
            fn from(number: $number) -> Self {
                Self::$variant(number.into())
            }
        }
    )+)+};
}

from_numbers! {
    U64: u8 u16 u32 u64 bool;
    I64: i8 i16 i32 i64;
    F64: f32 f64;
}

impl From<usize> for Value<'_> {
    fn from(number: usize) -> Self {
        // No platform has a wider `usize`.
        Self::U64(number as u64)
    }
}

impl From<isize> for Value<'_> {
    fn from(number: isize) -> Self {
        // No platform has a wider `isize`.
        Self::I64(number as i64)
    }
}

impl<'v> From<&'v str> for Value<'v> {
    fn from(text: &'v str) -> Self {
        Self::Text(text)
    }
}

impl<'v> From<&'v String> for Value<'v> {
    fn from(text: &'v String) -> Self {
        Self::Text(text)
    }
}

impl<'v> From<&'v [u64]> for Value<'v> {
    fn from(list: &'v [u64]) -> Self {
        Self::U64s(list)
    }
}

impl<'v> From<&'v [i64]> for Value<'v> {
    fn from(list: &'v [i64]) -> Self {
        Self::I64s(list)
    }
}

impl<'v> From<&'v [f64]> for Value<'v> {
    fn from(list: &'v [f64]) -> Self {
        Self::F64s(list)
    }
}

impl<'v> From<&'v [&'v str]> for Value<'v> {
    fn from(list: &'v [&'v str]) -> Self {
        Self::Texts(list)
    }
}
