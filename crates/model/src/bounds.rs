//! Parts of slices, row numbers, lengths and places in memory that are in bounds by construction, and amounts that are
//! not.
//!
//! A release build answers a broken bound with the nearest value: a mistake of this program costs a row, not the command.
//! A debug build, which every test and fuzzer is, stops where a number does not fit.

use std::slice::SliceIndex;

/// Returns the part of `all` in a range that lies inside it; what does not lie inside is empty.
///
/// ```
/// use traceloom_model::bounds::subslice;
/// assert_eq!(subslice(b"key=value", 4..), b"value");
/// ```
#[must_use]
#[inline]
pub fn subslice<T, R>(all: &[T], range: R) -> &[T]
where
    R: SliceIndex<[T], Output = [T]>,
{
    all.get(range).unwrap_or(&[])
}

/// Returns the number of a row of a table in memory.
///
/// Rows are numbered in 32 bits: the limits of an input end a table long before four billion rows.
///
/// # Panics
/// In debug builds when there are more; in release builds those rows share the last number.
#[must_use]
#[inline]
#[track_caller]
pub fn row_number(row: usize) -> u32 {
    debug_assert!(u32::try_from(row).is_ok(), "row {row} has no number");
    u32::try_from(row).unwrap_or(u32::MAX)
}

/// Returns a number of bytes in memory in 32 bits: the length of a message, or a place in one.
///
/// Limits and buffers keep messages below four gigabytes.
///
/// # Panics
/// In debug builds when there are more; in release builds the result is the largest number.
#[must_use]
#[inline]
#[track_caller]
pub fn length_u32(n_bytes: usize) -> u32 {
    debug_assert!(
        u32::try_from(n_bytes).is_ok(),
        "{n_bytes} bytes are one message"
    );
    u32::try_from(n_bytes).unwrap_or(u32::MAX)
}

/// Returns an offset, an index or a length of an input as a place in memory. What no memory can hold is past
/// the end of every slice.
#[must_use]
#[inline]
pub fn in_memory(offset: impl TryInto<usize>) -> usize {
    offset.try_into().unwrap_or(usize::MAX)
}

/// A count or a duration, which is never negative.
pub trait NonNegative: TryInto<i64> + TryInto<u64> + TryInto<u32> {}

impl NonNegative for u64 {}
impl NonNegative for u128 {}
impl NonNegative for usize {}

/// Returns an amount as the model keeps it: one that is too large is the largest.
///
/// ```
/// use traceloom_model::bounds::saturated_i64;
/// assert_eq!(saturated_i64(7_u64), 7);
/// assert_eq!(saturated_i64(u64::MAX), i64::MAX);
/// ```
#[must_use]
#[inline]
pub fn saturated_i64(amount: impl NonNegative) -> i64 {
    amount.try_into().unwrap_or(i64::MAX)
}

/// Returns an amount in 64 bits: one that is too large is the largest.
#[must_use]
#[inline]
pub fn saturated_u64(amount: impl NonNegative) -> u64 {
    amount.try_into().unwrap_or(u64::MAX)
}

/// Returns a value of an input in 32 bits, where a larger one means the same as the largest.
#[must_use]
#[inline]
pub fn saturated_u32(value: impl NonNegative) -> u32 {
    value.try_into().unwrap_or(u32::MAX)
}

/// Returns the length of a text or of a list in 16 bits, where no more than that is written of it.
#[must_use]
#[inline]
pub fn saturated_u16(length: usize) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}

/// Returns a difference in 32 bits: one that is too far from zero is the farthest.
///
/// ```
/// use traceloom_model::bounds::saturated_i32;
/// assert_eq!(saturated_i32(-7), -7);
/// assert_eq!(saturated_i32(i64::MIN), i32::MIN);
/// assert_eq!(saturated_i32(i64::MAX), i32::MAX);
/// ```
#[must_use]
#[inline]
pub fn saturated_i32(difference: i64) -> i32 {
    let farthest = if difference < 0 { i32::MIN } else { i32::MAX };
    i32::try_from(difference).unwrap_or(farthest)
}
