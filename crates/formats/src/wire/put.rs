//! Writing of varints.

/// Appends `value` in base 128, low group first, in the fewest bytes.
#[expect(clippy::cast_possible_truncation, reason = "masked to seven bits")]
#[inline]
pub fn put_leb128(out: &mut Vec<u8>, mut value: u64) {
    if value < 0x80 {
        return out.push(value as u8);
    }
    // Ten groups hold 64 bits; the vector grows once for all of them.
    let (mut groups, mut len) = ([0; 10], 0);
    for group in &mut groups {
        len += 1;
        if value < 0x80 {
            *group = value as u8;
            break;
        }
        *group = value as u8 | 0x80;
        value >>= 7;
    }
    out.extend_from_slice(groups.get(..len).unwrap_or(&groups));
}

/// Appends a 32-bit value in base 128.
pub fn put_u32_varint(out: &mut Vec<u8>, value: u32) {
    put_leb128(out, u64::from(value));
}

/// Appends a signed 32-bit value, zigzag, in base 128.
pub fn put_zigzag32(out: &mut Vec<u8>, value: i32) {
    put_u32_varint(out, ((value << 1) ^ (value >> 31)).cast_unsigned());
}
