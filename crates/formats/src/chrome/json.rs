//! JSON scalars, appended to a buffer.

/// Largest integer that every JSON reader holds exactly.
const EXACT: u64 = (1 << 53) - 1;

/// Appends the decimal digits of `value`.
pub(super) fn digits(mut value: u64, out: &mut Vec<u8>) {
    let mut buffer = [0_u8; 20];
    let mut length = 0;
    for slot in buffer.iter_mut().rev() {
        *slot = b'0' + u8::try_from(value % 10).unwrap_or(0);
        value /= 10;
        length += 1;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(buffer.get(buffer.len() - length..).unwrap_or(&[]));
}

/// Appends nanoseconds as microseconds, exactly.
pub(super) fn microseconds(ns: i128, out: &mut Vec<u8>) {
    if ns < 0 {
        out.push(b'-');
    }
    let ns = ns.unsigned_abs();
    digits(u64::try_from(ns / 1000).unwrap_or(u64::MAX), out);
    let rest = u64::try_from(ns % 1000).unwrap_or(0);
    if rest > 0 {
        out.push(b'.');
        for divisor in [100, 10, 1] {
            out.push(b'0' + u8::try_from(rest / divisor % 10).unwrap_or(0));
        }
    }
}

/// Appends an integer; as a string where a double would round it.
pub(super) fn unsigned(value: u64, out: &mut Vec<u8>) {
    if value <= EXACT {
        digits(value, out);
    } else {
        out.push(b'"');
        digits(value, out);
        out.push(b'"');
    }
}

/// Appends an integer; as a string where a double would round it.
pub(super) fn signed(value: i64, out: &mut Vec<u8>) {
    if value >= 0 {
        unsigned(value.unsigned_abs(), out);
    } else if value.unsigned_abs() <= EXACT {
        out.push(b'-');
        digits(value.unsigned_abs(), out);
    } else {
        out.extend_from_slice(b"\"-");
        digits(value.unsigned_abs(), out);
        out.push(b'"');
    }
}

/// Appends a float in the fewest digits that read back equal; NaN and infinities as strings.
pub(super) fn float(value: f64, out: &mut Vec<u8>) {
    let text = if value.is_finite() {
        format!("{value:?}")
    } else {
        let name = if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        };
        format!("\"{name}\"")
    };
    out.extend_from_slice(text.as_bytes());
}

/// Appends what stands between the quotes of a string; bytes that are not UTF-8 become U+FFFD.
pub(super) fn inner(text: &[u8], out: &mut Vec<u8>) {
    let lossy = String::from_utf8_lossy(text);
    for &byte in lossy.as_bytes() {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..=0x1f => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
}

/// Appends bytes as a string of hexadecimal digits.
pub(super) fn hex(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: [u8; 16] = *b"0123456789abcdef";
    out.push(b'"');
    for byte in bytes {
        for half in [byte >> 4, byte & 15] {
            out.extend(DIGITS.get(usize::from(half)));
        }
    }
    out.push(b'"');
}
