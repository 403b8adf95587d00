//! `--percentiles`: how long most calls took, and the longest.

use serde_json::{Map, Value, json};
use traceloom_analysis::Sketch;

use crate::numbers::duration;

const PERCENTS: [(&str, u32); 4] = [("p50", 50), ("p90", 90), ("p95", 95), ("p99", 99)];

/// Returns the headings.
pub(crate) fn head<'h>() -> impl Iterator<Item = &'h str> {
    PERCENTS.iter().map(|(name, _)| *name).chain(["max"])
}

/// Returns the headings in CSV.
pub(crate) fn csv_head() -> impl Iterator<Item = String> {
    head().map(|name| format!("{name} (ns)"))
}

/// Returns the number in a heading.
pub(crate) fn percent(name: &str) -> Option<u32> {
    let found = PERCENTS.iter().find(|(known, _)| *known == name);
    found.map(|&(_, percent)| percent)
}

fn values(of: Option<&Sketch>) -> impl Iterator<Item = Option<i64>> {
    let percents = PERCENTS
        .iter()
        .map(move |&(_, percent)| of?.percentile(percent));
    percents.chain(std::iter::once_with(move || of?.max()))
}

/// Returns a cell for each heading; nothing where nothing was called.
pub(crate) fn cells(of: Option<&Sketch>, exact: bool) -> impl Iterator<Item = String> {
    values(of).map(move |value| match value {
        None => String::new(),
        Some(ns) if exact => ns.to_string(),
        Some(ns) => duration(ns.unsigned_abs()),
    })
}

/// Returns an object of nanoseconds, and whether they are exact.
pub(crate) fn as_json(of: Option<&Sketch>) -> Value {
    let Some(sketch) = of else {
        return Value::Null;
    };
    let values = head()
        .zip(values(of))
        .map(|(name, value)| (name.to_owned(), json!(value)));
    let mut object: Map<String, Value> = values.collect();
    object.insert("exact".to_owned(), sketch.is_exact().into());
    object.into()
}
