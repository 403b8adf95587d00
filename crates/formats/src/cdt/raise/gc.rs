//! Collections as lines of a collector's log, which the gc stream holds (SPEC.md §8).

use std::io::Write as _;

use traceloom_model::{Attribute, EventRow, Value};

use super::tables::StreamTables;
use super::{ms, text_of};
use crate::text::calendar::civil;

/// Event types that are collections where they say what caused them.
const TYPES: [&str; 3] = ["pause", "gc.pause", "gc.concurrent"];

/// Appends a collection as the line that unified logging writes at its end; returns `false` for any other event.
pub(super) fn put(
    names: &StreamTables,
    row: &EventRow<'_>,
    number: u64,
    out: &mut Vec<u8>,
) -> bool {
    let name = names.event_type(row.event_type);
    let (Some(end), Some(name)) = (row.end, name) else {
        return false;
    };
    let Some(cause) = value(names, row, "cause").filter(|_| TYPES.contains(&name.as_ref())) else {
        return false;
    };
    let cause = text_of(names, cause);
    // What a log calls a pause stops the process; a reader goes by the word.
    let is_stop = cause.starts_with("Pause");
    let prefix = match (name != "gc.concurrent", is_stop) {
        (true, false) => "Pause ",
        _ => "",
    };
    let size = |key| match value(names, row, key) {
        Some(Value::U64(bytes)) => Some(*bytes),
        Some(Value::I64(bytes)) => u64::try_from(*bytes).ok(),
        _ => None,
    };
    let number = size("gc").unwrap_or(number);
    let at = ms(end);
    let (year, month, day) = civil(at);
    let of_day = at.rem_euclid(86_400_000);
    let (hours, minutes) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let (seconds, millis) = (of_day / 1000 % 60, of_day % 1000);
    let took = end.abs_diff(row.time);
    // Nothing that is written into memory fails.
    let _ = write!(
        out,
        "[{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{millis:03}+0000][info][gc] \
         GC({number}) {prefix}{cause}"
    );
    let heap = [size("heap_before"), size("heap_after"), size("heap_total")];
    if let [Some(before), Some(after), Some(total)] = heap {
        let [before, after, total] = [before, after, total].map(amount);
        let _ = write!(out, " {before}->{after}({total})");
    }
    let _ = writeln!(out, " {}.{:06}ms", took / 1_000_000, took % 1_000_000);
    true
}

fn value<'a>(names: &StreamTables, row: &EventRow<'a>, wanted: &str) -> Option<&'a Value> {
    let is_wanted = |attribute: &&Attribute| {
        let key = names.key(attribute.key);
        key.is_some_and(|key| *names.bytes(key.name) == *wanted.as_bytes())
    };
    let found = row.attributes.iter().find(is_wanted);
    found.map(|attribute| &attribute.value)
}

/// A size in the largest unit that holds it exactly.
fn amount(bytes: u64) -> String {
    let units = [(20, "M"), (10, "K")];
    let exact = units
        .iter()
        .find(|(shift, _)| bytes.is_multiple_of(1 << shift));
    exact.map_or_else(
        || format!("{bytes}B"),
        |(shift, unit)| format!("{}{unit}", bytes >> shift),
    )
}
