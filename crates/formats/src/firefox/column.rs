//! Columns of a table as JSON arrays.

use traceloom_model::Timestamp;

use crate::codec::Buffered;
use crate::text::scalars;

/// Writes `"name":[…],` with an item each.
pub(super) fn column<T>(
    out: &mut Buffered<'_>,
    name: &str,
    items: impl IntoIterator<Item = T>,
    put: impl Fn(T, &mut Vec<u8>),
) {
    let next = |item: T, out: &mut Vec<u8>| {
        out.push(b',');
        put(item, out);
    };
    joined(out, name, items, &put, next);
}

/// Writes `"name":[…],` with the same text `count` times.
pub(super) fn repeated(out: &mut Buffered<'_>, name: &str, count: usize, text: &str) {
    const TOGETHER: usize = 1024;
    out.text("\"");
    out.text(name);
    out.text("\":[");
    let many = match count {
        0 => String::new(),
        count => [text, ","].concat().repeat(count.min(TOGETHER)),
    };
    let mut left = count;
    while left > 0 {
        let now = left.min(TOGETHER);
        left -= now;
        // No comma behind the last one.
        let bytes = now * (text.len() + 1) - usize::from(left == 0);
        out.text(many.get(..bytes).unwrap_or_default());
        out.spill();
    }
    out.text("],");
}

/// Writes `"name":[…],` with the numbers.
pub(super) fn indices(out: &mut Buffered<'_>, name: &str, numbers: impl IntoIterator<Item = u32>) {
    let put = |number: u32, out: &mut Vec<u8>| scalars::next_digits(number.into(), out);
    joined(out, name, numbers, index, put);
}

/// Writes `"name":[…],` with times as milliseconds since `base`, null for none.
pub(super) fn times(
    out: &mut Buffered<'_>,
    name: &str,
    base: Timestamp,
    times: impl IntoIterator<Item = Option<Timestamp>>,
) {
    let put = |time: Option<Timestamp>, out: &mut Vec<u8>| match time {
        Some(time) => since(base, time, out),
        None => out.extend_from_slice(b"null"),
    };
    let mut near = scalars::Milliseconds::default();
    joined(out, name, times, put, |time, out| {
        let ns = time.and_then(|time| u64::try_from(time.checked_sub(base)?).ok());
        if let Some(ns) = ns {
            near.put(b",", ns, out);
        } else {
            out.push(b',');
            put(time, out);
        }
    });
}

/// Writes `"name":[…],` with the first item as `first` puts it, and the others as `next` does, which begins with a
/// comma.
#[inline]
fn joined<T>(
    out: &mut Buffered<'_>,
    name: &str,
    items: impl IntoIterator<Item = T>,
    first: impl Fn(T, &mut Vec<u8>),
    mut next: impl FnMut(T, &mut Vec<u8>),
) {
    out.text("\"");
    out.text(name);
    out.text("\":[");
    let mut items = items.into_iter();
    if let Some(item) = items.next() {
        first(item, &mut out.bytes);
    }
    for item in items {
        next(item, &mut out.bytes);
        out.spill();
    }
    out.text("],");
}

/// Writes `"length":N`, which every table ends with here.
pub(super) fn length(out: &mut Buffered<'_>, length: usize) {
    out.text("\"length\":");
    scalars::digits(length as u64, &mut out.bytes);
}

#[inline]
pub(super) fn index(index: u32, out: &mut Vec<u8>) {
    scalars::digits(u64::from(index), out);
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
    scalars::inner(text.as_ref(), out);
    out.push(b'"');
}

/// Appends nanoseconds as milliseconds, exactly.
pub(super) fn milliseconds(ns: i128, out: &mut Vec<u8>) {
    if ns < 0 {
        out.push(b'-');
    }
    let ns = ns.unsigned_abs();
    match u64::try_from(ns) {
        Ok(ns) => scalars::milliseconds(ns, out),
        Err(_) => out.extend_from_slice(format!("{}", ns / 1_000_000).as_bytes()),
    }
}

/// Appends a time as milliseconds since `base`.
pub(super) fn since(base: Timestamp, time: Timestamp, out: &mut Vec<u8>) {
    match time.checked_sub(base).and_then(|ns| u64::try_from(ns).ok()) {
        Some(ns) => scalars::milliseconds(ns, out),
        None => milliseconds(i128::from(time) - i128::from(base), out),
    }
}

/// What is written again and again: short texts by a store whose length is known, as a copy of a few bytes is a call.
pub(super) enum StoredText {
    Short([u8; SHORT], usize),
    Long(Box<[u8]>),
}

const SHORT: usize = 32;

impl StoredText {
    pub fn of(bytes: &[u8]) -> Self {
        let mut short = [0; SHORT];
        match short.get_mut(..bytes.len()) {
            Some(slots) => {
                slots.copy_from_slice(bytes);
                Self::Short(short, bytes.len())
            }
            None => Self::Long(bytes.into()),
        }
    }

    #[inline]
    pub fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Short(bytes, length) => {
                let end = out.len() + length;
                out.extend_from_slice(bytes);
                out.truncate(end);
            }
            Self::Long(bytes) => out.extend_from_slice(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn words_are_written_as_they_are() {
        let bytes: Vec<u8> = (0..40).collect();
        for length in 0..bytes.len() {
            let mut out = b"<".to_vec();
            StoredText::of(&bytes[..length]).put(&mut out);
            assert_eq!(out, [b"<", &bytes[..length]].concat());
        }
    }

    #[test]
    fn columns_have_commas_between_their_items() {
        for count in [0, 1, 2, 1023, 1024, 1025, 2048, 5000] {
            let mut written = Vec::new();
            let mut out = Buffered::new(&mut written, "");
            out.text("{");
            repeated(&mut out, "same", count, "null");
            indices(&mut out, "index", (0..).take(count));
            let time = |at: i64| (at % 3 > 0).then_some(at * 1_000_100);
            times(&mut out, "time", 700, (0..).map(time).take(count));
            length(&mut out, count);
            out.text("}");
            out.finish().unwrap();
            let json: serde_json::Value = serde_json::from_slice(&written).unwrap();
            let column = |name: &str| json[name].as_array().unwrap().clone();
            assert_eq!(column("same"), vec![serde_json::Value::Null; count]);
            let indices: Vec<u64> = column("index").iter().filter_map(|n| n.as_u64()).collect();
            assert!(indices.into_iter().eq((0..).take(count)));
            let ns = |ms: f64| format!("{:.0}", ms * 1e6);
            let times = column("time").into_iter().map(|time| time.as_f64().map(ns));
            let expected = (0..).map(time).take(count);
            let expected = expected.map(|time| time.map(|time| (time - 700).to_string()));
            assert!(times.eq(expected));
        }
    }
}
