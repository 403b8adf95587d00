//! Numbers that are cut to the largest one of a narrower type.

/// Returns a length in 16 bits. Callers cut what is longer before.
pub fn saturated_u16(length: usize) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}

/// Returns a length in 32 bits. What is longer fits into no buffer.
pub fn saturated_u32(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Returns a difference in 32 bits.
pub fn saturated_i32(difference: i64) -> i32 {
    i32::try_from(difference).unwrap_or(if difference < 0 { i32::MIN } else { i32::MAX })
}

/// Returns a count as a size in memory.
pub fn saturated_usize(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
