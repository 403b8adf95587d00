//! Strings of the streams: a varint count of UTF-16 code units, then the units big-endian (§1.5).

use traceloom_model::{Limit, Limits};

use crate::Error;
use crate::wire::{Cursor, Utf16, put_u32_varint};

/// Reads a string; the limit counts its bytes.
#[inline]
pub(super) fn string<'a>(
    cursor: &mut Cursor<'a>,
    limit: usize,
    what: &'static str,
) -> Result<Utf16<'a>, Error> {
    let offset = cursor.offset();
    let units = cursor.varint32(what)? as usize;
    let bytes = units.saturating_mul(2);
    if bytes > limit {
        return Err(over(offset, what, units));
    }
    cursor.bytes(bytes, what).map(Utf16)
}

#[cold]
fn over(offset: u64, what: &str, units: usize) -> Error {
    Error::limit(
        offset,
        format!("{what} of {units} code units is above the string limit"),
    )
}

/// Returns the limit that [`string`] takes.
pub(super) fn limit(limits: &Limits) -> usize {
    limits.size(Limit::String)
}

/// Appends a string.
#[expect(
    clippy::cast_possible_truncation,
    reason = "strings are read from a 32-bit count or cut by the writer"
)]
pub fn put(out: &mut Vec<u8>, text: Utf16<'_>) {
    put_u32_varint(out, text.units() as u32);
    out.extend_from_slice(text.0);
}

/// Milliseconds to nanoseconds, saturating.
#[must_use]
pub(super) const fn ns(ms: i64) -> i64 {
    ms.saturating_mul(1_000_000)
}

/// Returns true if a number can be a time of day in milliseconds: 1973 to 2286.
#[must_use]
pub(super) const fn plausible_ms(ms: i64) -> bool {
    ms >= 100_000_000_000 && ms <= 10_000_000_000_000
}

/// Returns true if a number can be a time in milliseconds by a clock that was never set, or that counts from a
/// time of its own: the first years after its origin. It is no evidence by itself.
#[must_use]
pub(super) const fn is_early(ms: i64) -> bool {
    ms >= 0 && ms < 100_000_000_000
}
