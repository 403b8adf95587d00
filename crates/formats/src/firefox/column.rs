//! Columns of a table as JSON arrays.

use traceloom_model::Timestamp;

use crate::chrome::json;
use crate::output::Buffered;

/// Writes `"name":[…],` with an item each.
pub(super) fn column<T>(
    out: &mut Buffered<'_>,
    name: &str,
    items: impl IntoIterator<Item = T>,
    put: impl Fn(T, &mut Vec<u8>),
) {
    out.text("\"");
    out.text(name);
    out.text("\":[");
    let mut first = true;
    for item in items {
        if !first {
            out.bytes.push(b',');
        }
        first = false;
        put(item, &mut out.bytes);
        out.spill();
    }
    out.text("],");
}

/// Writes `"name":[…],` with the same text `count` times.
pub(super) fn repeated(out: &mut Buffered<'_>, name: &str, count: usize, text: &[u8]) {
    column(out, name, 0..count, |_, out| out.extend_from_slice(text));
}

/// Writes `"length":N`, which every table ends with here.
pub(super) fn length(out: &mut Buffered<'_>, length: usize) {
    out.text("\"length\":");
    json::digits(length as u64, &mut out.bytes);
}

#[inline]
pub(super) fn index(index: u32, out: &mut Vec<u8>) {
    json::digits(u64::from(index), out);
}

#[inline]
pub(super) fn some_index(number: Option<u32>, out: &mut Vec<u8>) {
    match number {
        Some(number) => index(number, out),
        None => out.extend_from_slice(b"null"),
    }
}

pub(super) fn text(text: impl AsRef<[u8]>, out: &mut Vec<u8>) {
    out.push(b'"');
    json::inner(text.as_ref(), out);
    out.push(b'"');
}

/// Appends nanoseconds as milliseconds, exactly.
pub(super) fn milliseconds(ns: i128, out: &mut Vec<u8>) {
    if ns < 0 {
        out.push(b'-');
    }
    let ns = ns.unsigned_abs();
    match u64::try_from(ns) {
        Ok(ns) => json::milliseconds(ns, out),
        Err(_) => out.extend_from_slice(format!("{}", ns / 1_000_000).as_bytes()),
    }
}

/// Appends a time as milliseconds since `base`.
pub(super) fn since(base: Timestamp, time: Timestamp, out: &mut Vec<u8>) {
    match time.checked_sub(base).and_then(|ns| u64::try_from(ns).ok()) {
        Some(ns) => json::milliseconds(ns, out),
        None => milliseconds(i128::from(time) - i128::from(base), out),
    }
}
