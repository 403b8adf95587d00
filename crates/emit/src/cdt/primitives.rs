//! Numbers and texts of CDT's streams.

use crate::bounds::saturated_u32;

/// Appends a number in groups of seven bits, the low one first.
pub fn put_varint(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// Appends a signed number whose sign is its lowest bit.
pub fn put_zigzag(out: &mut Vec<u8>, number: i32) {
    put_varint(out, ((number << 1) ^ (number >> 31)).cast_unsigned());
}

/// Appends a text of at most 2^32 - 1 UTF-16 units.
pub fn put_text(out: &mut Vec<u8>, text: &str) {
    let n_units = text.encode_utf16().count();
    put_varint(out, saturated_u32(n_units));
    for unit in text.encode_utf16() {
        out.extend_from_slice(&unit.to_be_bytes());
    }
}

/// Appends a field of the protocol: a length in four bytes, and the bytes.
pub fn put_field(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = saturated_u32(bytes.len());
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Returns year, month and day in UTC of milliseconds since 1970.
pub fn date(ms: u64) -> (u64, u64, u64) {
    // Years begin in March, so that a leap day is the last one; 146,097 days are 400 years.
    let days = ms / 86_400_000 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = match month < 10 {
        true => (era * 400 + year, month + 3),
        false => (era * 400 + year + 1, month - 9),
    };
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_format() {
        let varint = |number| {
            let mut out = Vec::new();
            put_varint(&mut out, number);
            out
        };
        assert_eq!(varint(0), [0]);
        assert_eq!(varint(200), [0xc8, 0x01]);
        assert_eq!(varint(u32::MAX), [0xff, 0xff, 0xff, 0xff, 0x0f]);
        let mut out = Vec::new();
        put_zigzag(&mut out, -679);
        assert_eq!(out, [0xcd, 0x0a]);
        out.clear();
        put_text(&mut out, "aé😀");
        assert_eq!(out, [4, 0, 0x61, 0, 0xe9, 0xd8, 0x3d, 0xde, 0]);
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(951_782_400_000), (2000, 2, 29));
        assert_eq!(date(1_643_822_466_534), (2022, 2, 2));
        assert_eq!(date(1_798_761_599_999), (2026, 12, 31));
    }
}
