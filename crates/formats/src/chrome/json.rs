//! JSON scalars, appended to a buffer.

/// Largest integer that every JSON reader holds exactly.
const EXACT: u64 = (1 << 53) - 1;

/// Two digits for each number below 100.
#[expect(clippy::indexing_slicing, reason = "out of range would not compile")]
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut number = 0;
    let mut tens = b'0';
    while tens <= b'9' {
        let mut ones = b'0';
        while ones <= b'9' {
            pairs[number] = [tens, ones];
            number += 1;
            ones += 1;
        }
        tens += 1;
    }
    pairs
};

/// Appends the decimal digits of `value`.
pub(crate) fn digits(mut value: u64, out: &mut Vec<u8>) {
    let mut buffer = [0_u8; 20];
    let mut at = buffer.len();
    while value >= 10 {
        at -= 2;
        put_pair(value % 100, buffer.get_mut(at..));
        value /= 100;
    }
    if value > 0 || at == buffer.len() {
        at -= 1;
        if let Some(slot) = buffer.get_mut(at) {
            *slot = b'0' + u8::try_from(value).unwrap_or(0);
        }
    }
    out.extend_from_slice(buffer.get(at..).unwrap_or(&[]));
}

#[inline]
fn put_pair(number: u64, slot: Option<&mut [u8]>) {
    let pair = usize::try_from(number)
        .ok()
        .and_then(|number| PAIRS.get(number));
    if let (Some(pair), Some(slot)) = (pair, slot.and_then(|slot| slot.first_chunk_mut::<2>())) {
        *slot = *pair;
    }
}

/// Appends the nanoseconds from `base` to `time` as microseconds, exactly.
pub(crate) fn microseconds(time: i64, base: i64, out: &mut Vec<u8>) {
    if time < base {
        out.push(b'-');
    }
    let ns = time.abs_diff(base);
    digits(ns / 1000, out);
    let rest = ns % 1000;
    if rest > 0 {
        let mut decimals = [b'.', b'0' + u8::try_from(rest / 100).unwrap_or(0), 0, 0];
        put_pair(rest % 100, decimals.get_mut(2..));
        out.extend_from_slice(&decimals);
    }
}

/// Appends nanoseconds as milliseconds, exactly and as short as they are.
pub(crate) fn milliseconds(ns: u64, out: &mut Vec<u8>) {
    digits(ns / 1_000_000, out);
    let rest = ns % 1_000_000;
    if rest > 0 {
        let mut decimals = *b".000000";
        put_pair(rest / 10_000, decimals.get_mut(1..));
        put_pair(rest / 100 % 100, decimals.get_mut(3..));
        put_pair(rest % 100, decimals.get_mut(5..));
        let end = decimals.iter().rposition(|&byte| byte != b'0');
        out.extend_from_slice(decimals.get(..=end.unwrap_or(0)).unwrap_or(&[]));
    }
}

/// Appends an integer; as a string where a double would round it.
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
pub(crate) fn float(value: f64, out: &mut Vec<u8>) {
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
pub(crate) fn inner(text: &[u8], out: &mut Vec<u8>) {
    match std::str::from_utf8(text) {
        Ok(_) => escape(text, out),
        Err(_) => escape(String::from_utf8_lossy(text).as_bytes(), out),
    }
}

/// Copies text, escaping what may not stand in a string: most of it goes in long runs.
fn escape(mut text: &[u8], out: &mut Vec<u8>) {
    let special = |byte: &u8| matches!(byte, 0..=0x1f | b'"' | b'\\');
    while let Some(at) = text.iter().position(special) {
        let (run, rest) = text.split_at(at);
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
    out.extend_from_slice(text);
}

/// Appends bytes as a string of hexadecimal digits.
pub(crate) fn hex(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: [u8; 16] = *b"0123456789abcdef";
    out.push(b'"');
    for byte in bytes {
        for half in [byte >> 4, byte & 15] {
            out.extend(DIGITS.get(usize::from(half)));
        }
    }
    out.push(b'"');
}
