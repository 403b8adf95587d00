//! The members of a span (SPEC.md §2).

use traceloom_model::Timestamp;

use crate::text::json::{Kind, Value};

/// Iterates over the spans of a list, or of a list of lists.
pub(super) fn spans<'d>(root: Value<'d>) -> impl Iterator<Item = Value<'d>> + 'd {
    let elements = root.items().flat_map(|element| {
        let own = (element.kind() == Kind::Object).then_some(element);
        let inner = (element.kind() == Kind::Array).then(|| element.items());
        own.into_iter().chain(inner.into_iter().flatten())
    });
    let is_list = root.kind() == Kind::Array;
    elements.filter(move |span| is_list && span.kind() == Kind::Object)
}

/// Reads an id, if there is one; the text where it is none.
pub(super) fn id(span: Value<'_>, key: &str) -> Option<Result<u128, Vec<u8>>> {
    let value = span.get(key).filter(|value| value.kind() != Kind::Null)?;
    let text = value.bytes().unwrap_or(value.raw().into());
    let digits = std::str::from_utf8(&text).unwrap_or("");
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let id = u128::from_str_radix(digits, 16).ok();
    let id = id.filter(|_| is_hex && digits.len() <= 32);
    Some(id.ok_or_else(|| text.into_owned()))
}

/// Reads an id of 64 bits, if there is one.
pub(super) fn short_id(span: Value<'_>, key: &str) -> Option<Result<u64, Vec<u8>>> {
    let id = id(span, key)?;
    let short = |id: u128| u64::try_from(id).map_err(|_| format!("{id:x}").into_bytes());
    Some(id.and_then(short))
}

/// Reads start and end, in nanoseconds.
///
/// A span without timestamp begins with its first annotation, one without duration has no end.
pub(super) fn times(span: Value<'_>) -> (Option<Timestamp>, Option<Timestamp>) {
    let micros = |value: Value<'_>, key: &str| value.get(key)?.scaled(1_000);
    let annotations = span.get("annotations").into_iter().flat_map(Value::items);
    let noted = || annotations.filter_map(|row| micros(row, "timestamp")).min();
    let start = micros(span, "timestamp").or_else(noted);
    let lasted = micros(span, "duration").filter(|&lasted| lasted >= 0);
    let end = start
        .zip(lasted)
        .map(|(start, lasted)| start.saturating_add(lasted));
    (start, end)
}
