//! JSON scalars, appended to a buffer.

use std::io::Write;

/// Largest integer that every JSON reader holds exactly.
const EXACT: u64 = (1 << 53) - 1;

const E8: u64 = 100_000_000;

/// ASCII of eight digits that are 0.
const ZEROS: u64 = u64::from_ne_bytes([b'0'; 8]);

/// Returns the eight decimal digits of a number below 10^8 as the bytes of a little-endian word, the first one
/// lowest: halves, quarters and eighths are divided side by side.
const fn eight(value: u64) -> u64 {
    let halves = (value / 10_000) | ((value % 10_000) << 32);
    let high = ((halves * 5_243) >> 19) & 0x7f_0000_007f;
    let pairs = high | ((halves - 100 * high) << 16);
    let high = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    high | ((pairs - 10 * high) << 8)
}

/// Appends the first `length` bytes of a word. Its length is known, unlike that of a slice, so that this is a store.
#[inline]
fn put(word: u64, length: usize, out: &mut Vec<u8>) {
    let end = out.len() + length.min(8);
    out.extend_from_slice(&word.to_le_bytes());
    out.truncate(end);
}

/// Appends the decimal digits of `value`.
#[inline]
pub(crate) fn digits(value: u64, out: &mut Vec<u8>) {
    if value < E8 {
        let word = eight(value);
        // Of nought one digit is left.
        let skipped = (word.trailing_zeros() / 8).min(7);
        return put((word | ZEROS) >> (8 * skipped), 8 - skipped as usize, out);
    }
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends the decimal digits of `value` behind its sign.
#[inline]
pub(crate) fn decimal(value: i64, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    digits(value.unsigned_abs(), out);
}

/// Appends the last `N` decimal digits of a number below 10^8, at most eight of them.
#[inline]
pub(crate) fn padded<const N: usize>(value: u64, out: &mut Vec<u8>) {
    let word = eight(value) | ZEROS;
    put(word >> (8 * (8 - N.clamp(1, 8))), N, out);
}

/// Appends the nanoseconds from `base` to `time` as microseconds, exactly.
#[inline]
pub(crate) fn microseconds(time: i64, base: i64, out: &mut Vec<u8>) {
    if time < base {
        out.push(b'-');
    }
    let ns = time.abs_diff(base);
    digits(ns / 1000, out);
    let rest = ns % 1000;
    if rest > 0 {
        // Behind five zeros: the last of them makes way for the point.
        let word = (eight(rest) | ZEROS) >> 32;
        put((word & !0xff) | u64::from(b'.'), 4, out);
    }
}

/// Appends the first `length` bytes of two words, at once as [`put`] does.
#[inline]
fn put_both(words: u128, length: usize, out: &mut Vec<u8>) {
    let end = out.len() + length.min(16);
    out.extend_from_slice(&words.to_le_bytes());
    out.truncate(end);
}

/// Appends nanoseconds as milliseconds, exactly and as short as they are.
#[inline]
pub(crate) fn milliseconds(ns: u64, out: &mut Vec<u8>) {
    Milliseconds::default().put(b"", ns, out);
}

/// The digits of a millisecond, which the next time has nearly always too.
pub(crate) struct Milliseconds {
    /// Where it begins.
    from: u64,
    digits: u64,
    length: u32,
}

impl Default for Milliseconds {
    fn default() -> Self {
        Self {
            from: 0,
            digits: u64::from(b'0'),
            length: 1,
        }
    }
}

impl Milliseconds {
    /// Appends nothing, or one byte, and nanoseconds as milliseconds, exactly and as short as they are.
    #[inline(always)]
    pub(crate) fn put<const N: usize>(&mut self, before: &[u8; N], ns: u64, out: &mut Vec<u8>) {
        if ns.wrapping_sub(self.from) >= 1_000_000 && !self.enter(ns) {
            out.extend_from_slice(before);
            return long_milliseconds(ns, out);
        }
        let word = eight(ns - self.from);
        // Behind two zeros: the last of them makes way for the point, which nothing needs without digits.
        let fraction = (((word | ZEROS) >> 8) & !0xff) | u64::from(b'.');
        let decimals = 7_u32.saturating_sub(word.leading_zeros() / 8);
        let both = u128::from(self.digits) | (u128::from(fraction) << (self.length * 8));
        let length = (self.length + decimals) as usize;
        match before.first() {
            Some(&byte) => put_both((both << 8) | u128::from(byte), length + 1, out),
            None => put_both(both, length, out),
        }
    }

    /// Takes the digits of another millisecond; false when there are more than eight.
    fn enter(&mut self, ns: u64) -> bool {
        let whole = ns / 1_000_000;
        if whole >= E8 {
            return false;
        }
        let word = eight(whole);
        let zeros = (word.trailing_zeros() / 8).min(7);
        self.digits = (word | ZEROS) >> (zeros * 8);
        (self.from, self.length) = (whole * 1_000_000, 8 - zeros);
        true
    }
}

#[cold]
fn long_milliseconds(ns: u64, out: &mut Vec<u8>) {
    digits(ns / 1_000_000, out);
    let rest = ns % 1_000_000;
    if rest > 0 {
        let word = eight(rest);
        let zeros = word.leading_zeros() as usize / 8;
        let word = (word | ZEROS) >> 8;
        put((word & !0xff) | u64::from(b'.'), 7 - zeros, out);
    }
}

/// Appends a comma and the decimal digits of `value`.
#[inline]
pub(crate) fn next_digits(value: u64, out: &mut Vec<u8>) {
    if value >= E8 / 10 {
        out.push(b',');
        return digits(value, out);
    }
    let word = eight(value);
    let zeros = (word.trailing_zeros() / 8).min(7);
    let digits = (word | ZEROS) >> (zeros * 8);
    put((digits << 8) | u64::from(b','), 9 - zeros as usize, out);
}

/// Appends an integer; as a string where a double would round it.
#[inline]
pub(crate) fn unsigned(value: u64, out: &mut Vec<u8>) {
    if value <= EXACT {
        digits(value, out);
    } else {
        out.push(b'"');
        digits(value, out);
        out.push(b'"');
    }
}

/// Appends an integer; as a string where a double would round it.
pub(crate) fn signed(value: i64, out: &mut Vec<u8>) {
    if value.unsigned_abs() <= EXACT {
        decimal(value, out);
    } else {
        out.push(b'"');
        decimal(value, out);
        out.push(b'"');
    }
}

/// Appends a float in the fewest digits that read back equal; NaN and infinities as strings.
pub(crate) fn float(value: f64, out: &mut Vec<u8>) {
    if value.is_finite() {
        // Writing to memory does not fail.
        let _ = write!(out, "{value:?}");
        return;
    }
    let name: &[u8] = if value.is_nan() {
        b"\"NaN\""
    } else if value > 0.0 {
        b"\"Infinity\""
    } else {
        b"\"-Infinity\""
    };
    out.extend_from_slice(name);
}

/// Appends what stands between the quotes of a string; bytes that are not UTF-8 become U+FFFD.
pub(crate) fn inner(text: &[u8], out: &mut Vec<u8>) {
    match std::str::from_utf8(text) {
        Ok(_) => escape(text, out),
        Err(_) => escape(String::from_utf8_lossy(text).as_bytes(), out),
    }
}

/// Appends what stands between the quotes of a string.
#[inline]
pub(crate) fn valid(text: &str, out: &mut Vec<u8>) {
    escape(text.as_bytes(), out);
}

/// Returns how many bytes stand before the first that may not stand in a string, eight of them looked at a time.
#[inline]
fn plain(text: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word;
    let (words, rest) = text.as_chunks();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let quote = zeros(word ^ (ONES * u64::from(b'"')));
        let escape = zeros(word ^ (ONES * u64::from(b'\\')));
        // The high bit of a byte that is one, and perhaps of bytes after it.
        let special = (control | quote | escape) & (ONES << 7);
        if special != 0 {
            return at * 8 + special.trailing_zeros() as usize / 8;
        }
    }
    let special = |byte: &u8| matches!(byte, 0..=0x1f | b'"' | b'\\');
    let rest = rest.iter().position(special).unwrap_or(rest.len());
    words.len() * 8 + rest
}

/// Copies text, escaping what may not stand in a string: most of it goes in long runs.
fn escape(mut text: &[u8], out: &mut Vec<u8>) {
    loop {
        let (run, rest) = text.split_at(plain(text));
        out.extend_from_slice(run);
        let Some((&byte, rest)) = rest.split_first() else {
            return;
        };
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            byte => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
        text = rest;
    }
}

/// Returns the hexadecimal digits of four bytes as the bytes of a little-endian word, the first one lowest: eight
/// halves of bytes side by side.
const fn hex_of_four(bytes: [u8; 4]) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HALVES: u64 = 0x000f_000f_000f_000f;
    let [a, b, c, d] = bytes;
    let apart = u64::from_le_bytes([a, 0, b, 0, c, 0, d, 0]);
    let halves = ((apart >> 4) & HALVES) | ((apart & HALVES) << 8);
    // Those from ten on; `a` comes 39 behind what would follow `9`.
    let letters = ((halves + 6 * ONES) >> 4) & ONES;
    halves + ZEROS + letters * 39
}

/// Appends bytes as a string of hexadecimal digits.
pub(crate) fn hex(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    hex_digits(bytes, out);
    out.push(b'"');
}

/// Appends bytes as hexadecimal digits.
pub(crate) fn hex_digits(bytes: &[u8], out: &mut Vec<u8>) {
    let (fours, rest) = bytes.as_chunks();
    for &four in fours {
        put(hex_of_four(four), 8, out);
    }
    for &byte in rest {
        put(hex_of_four([byte, 0, 0, 0]), 2, out);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = b"<".to_vec();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn digits_are_those_of_the_standard_library() {
        let mut values = vec![0, u64::MAX, E8 - 1, E8, E8 * E8 - 1, E8 * E8];
        let mut power: u64 = 1;
        while let Some(next) = power.checked_mul(10) {
            values.extend([power - 1, power, power + 1, power * 7 + power / 3]);
            power = next;
        }
        let mut times = Milliseconds::default();
        values.extend((0..20_000).chain((0..99_999_999).step_by(4_999)));
        for value in values {
            assert_eq!(written(|out| digits(value, out)), format!("<{value}"));
            assert_eq!(written(|out| next_digits(value, out)), format!("<,{value}"));
            let signed = value.cast_signed().wrapping_neg();
            assert_eq!(written(|out| decimal(signed, out)), format!("<{signed}"));
            let ms = written(|out| milliseconds(value, out));
            let exact = format!("<{}.{:06}", value / 1_000_000, value % 1_000_000);
            assert_eq!(ms, exact.trim_end_matches('0').trim_end_matches('.'));
            let next = written(|out| times.put(b",", value, out));
            assert_eq!(next, ms.replace('<', "<,"));
        }
    }

    #[test]
    fn what_may_not_stand_in_a_string_is_found_wherever_it_stands() {
        for byte in 0..=0x7f_u8 {
            for at in 0..20 {
                let mut text = "é ~!#[]x{}Aöwxyz012345".to_owned();
                text.insert(text.floor_char_boundary(at), char::from(byte));
                let json = written(|out| inner(text.as_bytes(), out));
                let json = format!("\"{}\"", json.strip_prefix('<').unwrap());
                assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
                let plain = !matches!(byte, 0..=0x1f | b'"' | b'\\');
                assert_eq!(json.len() == text.len() + 2, plain, "{text:?}");
            }
        }
    }

    #[test]
    fn bytes_are_two_digits_each() {
        let bytes: Vec<u8> = (0..=255).collect();
        for length in [0, 1, 2, 3, 4, 7, 8, 255, 256] {
            let some = &bytes[256 - length..];
            let digits: String = some.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(written(|out| hex(some, out)), format!("<\"{digits}\""));
        }
    }

    #[test]
    fn fractions_are_exact() {
        let mut times = Milliseconds::default();
        for ns in (0..2_100_000).step_by(7) {
            let us = written(|out| microseconds(-5, ns - 5, out));
            let (whole, rest) = (ns / 1000, ns % 1000);
            let sign = if ns > 0 { "-" } else { "" };
            let exact = if rest > 0 {
                format!("<{sign}{whole}.{rest:03}")
            } else {
                format!("<{sign}{whole}")
            };
            assert_eq!(us, exact);
            let ms = written(|out| milliseconds(ns.unsigned_abs(), out));
            let (whole, rest) = (ns / 1_000_000, ns % 1_000_000);
            let exact = format!("{whole}.{rest:06}");
            let exact = exact.trim_end_matches('0').trim_end_matches('.');
            assert_eq!(ms, format!("<{exact}"));
            let next = written(|out| times.put(b",", ns.unsigned_abs(), out));
            assert_eq!(next, format!("<,{exact}"));
        }
        let all = written(|out| microseconds(i64::MAX, i64::MIN, out));
        assert_eq!(all, "<18446744073709551.615");
    }
}
