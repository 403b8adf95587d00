//! What rows of the model are called: values, tracks, services, calls.

mod title;

pub use title::title;

use std::borrow::Cow;

use traceloom_model::{Recording, Resource, ResourceId, StringId, TrackId, TrackKind, Value};

/// Writes a value as text for people and filters; lists and maps as their elements, separated by commas.
#[must_use]
pub fn value_text<'v>(tables: &'v Recording, value: &'v Value) -> Cow<'v, str> {
    match value {
        Value::Null => "".into(),
        Value::Text(id) => tables.text(*id),
        Value::I64(number) => number.to_string().into(),
        Value::U64(number) => number.to_string().into(),
        Value::F64(number) => number.to_string().into(),
        Value::Bool(yes) => if *yes { "true" } else { "false" }.into(),
        Value::Bytes(bytes) => {
            use std::fmt::Write as _;
            bytes
                .iter()
                .fold(String::with_capacity(bytes.len() * 2), |mut hex, byte| {
                    let _ = write!(hex, "{byte:02x}");
                    hex
                })
                .into()
        }
        Value::Exception(id) => {
            let exception = tables.exception(*id);
            let class = exception.and_then(|row| row.class);
            let message = exception.and_then(|row| row.message);
            let message = message.filter(|&id| !tables.text(id).is_empty());
            match (class, message) {
                (Some(class), Some(message)) => {
                    format!("{}: {}", tables.text(class), tables.text(message)).into()
                }
                (Some(only), None) | (None, Some(only)) => tables.text(only),
                (None, None) => format!("#{}", id.raw()).into(),
            }
        }
        Value::List(..) | Value::Map(_) => nested_text(tables, value).into(),
    }
}

/// Returns the name of a track for people and filters: its own, else its producer's number, else `#id`.
#[must_use]
pub fn track_name(tables: &Recording, track: TrackId) -> Cow<'_, str> {
    let row = tables.track(track);
    if let Some(name) = row.and_then(|row| row.name) {
        return tables.text(name);
    }
    let id = row.and_then(|row| row.id.or(row.os_id));
    id.map_or_else(|| format!("#{}", track.raw()), |id| id.to_string())
        .into()
}

/// Looks for a text of the resource that a track belongs to, or of the ones around it.
pub(crate) fn of_resource(
    tables: &Recording,
    track: TrackId,
    field: impl Fn(&Resource) -> Option<StringId>,
) -> Option<Cow<'_, str>> {
    of_resource_from(tables, tables.track(track)?.resource, field)
}

/// Looks for a text of a resource, or of the ones around it.
pub(crate) fn of_resource_from(
    tables: &Recording,
    resource: Option<ResourceId>,
    field: impl Fn(&Resource) -> Option<StringId>,
) -> Option<Cow<'_, str>> {
    // More within each other than anybody runs is a circle.
    const DEEPEST: usize = 64;
    let mut next = resource;
    for _ in 0..DEEPEST {
        let row = tables.resource(next?)?;
        if let Some(text) = field(row) {
            return Some(tables.text(text));
        }
        next = row.parent;
    }
    None
}

/// Returns the service of a resource, else its instance: producers that know no services name their processes.
pub(crate) fn service_name(
    tables: &Recording,
    resource: Option<ResourceId>,
) -> Option<Cow<'_, str>> {
    let service = of_resource_from(tables, resource, |row| row.service);
    service.or_else(|| of_resource_from(tables, resource, |row| row.instance))
}

/// Elements of nested values in order. Nesting is followed on the heap: a value may be a million deep.
fn nested_text(tables: &Recording, value: &Value) -> String {
    let mut text = String::new();
    let mut work = vec![("", value)];
    while let Some((before, value)) = work.pop() {
        text.push_str(before);
        match value {
            Value::List(_, items) => {
                let items = items.iter().enumerate().rev();
                work.extend(items.map(|(at, item)| (if at == 0 { "" } else { ", " }, item)));
            }
            Value::Map(entries) => {
                for (at, (key, value)) in entries.iter().enumerate().rev() {
                    work.push(("=", value));
                    work.push((if at == 0 { "" } else { ", " }, key));
                }
            }
            leaf => text.push_str(&value_text(tables, leaf)),
        }
    }
    text
}

/// Returns `true` for async tracks and lanes.
pub(crate) fn is_async(tables: &Recording, track: TrackId) -> bool {
    let track = tables.track(track);
    track.is_some_and(|track| matches!(track.kind, TrackKind::Async | TrackKind::Lane))
}
