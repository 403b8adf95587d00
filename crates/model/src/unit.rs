//! Units of values and attributes.

use crate::StringId;

/// The unit of a value. Milliseconds and ticks never reach the model: they become [`Unit::Nanoseconds`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Unit {
    /// A plain number of things.
    #[default]
    Count,
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// UTF-16 code units or characters, as the producer counts them.
    Chars,
    /// Hundredths.
    Percent,
    /// A unit only the producer knows.
    Other(StringId),
}
