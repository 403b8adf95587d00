//! Reads columns of pages as `numbers` of their script does, for tests here and of the program.

/// Returns the numbers of a column.
pub(crate) fn numbers(text: &str) -> Vec<i64> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut numbers, mut value, mut place) = (Vec::new(), 0_u64, 0);
    for c in text.chars() {
        let digit = DIGITS.find(c).unwrap_or_else(|| panic!("no digit: {c}")) as u64;
        value |= (digit & 31) << place;
        place += 5;
        if digit & 32 == 0 {
            numbers.push((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
            (value, place) = (0, 0);
        }
    }
    numbers
}
