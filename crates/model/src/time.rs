//! Time: nanoseconds in 64 bits, whole-number arithmetic only.

use crate::StringId;

/// Nanoseconds since the origin of the recording's [`Clock`].
///
/// An `i64` reaches from 1677 to 2262 when the origin is the Unix epoch. Values outside saturate; the
/// reader that met one adds a note and its native record keeps the exact value.
pub type Timestamp = i64;

/// Where time zero of a recording lies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Clock {
    /// 1970-01-01T00:00:00Z.
    #[default]
    Unix,
    /// A point nobody recorded; the string names the clock. Such clocks are never aligned by guessing.
    Unknown(Option<StringId>),
}

/// A tick rate, for producers that count ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TickRate {
    per_second: u64,
}

impl TickRate {
    /// Builds a rate; `None` for zero, which has no meaning.
    #[must_use]
    pub const fn per_second(per_second: u64) -> Option<Self> {
        if per_second == 0 {
            None
        } else {
            Some(Self { per_second })
        }
    }

    /// Converts ticks to nanoseconds, rounding down, saturating outside `i64`.
    ///
    /// ```
    /// let rate = traceloom_model::TickRate::per_second(3).unwrap();
    /// assert_eq!(rate.to_ns(1), 333_333_333);
    /// assert_eq!(rate.to_ns(-1), -333_333_334);
    /// ```
    #[must_use]
    pub fn to_ns(self, ticks: i128) -> i64 {
        let ns = ticks
            .saturating_mul(1_000_000_000)
            .div_euclid(i128::from(self.per_second));
        saturate(ns)
    }
}

fn saturate(ns: i128) -> i64 {
    i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX })
}
