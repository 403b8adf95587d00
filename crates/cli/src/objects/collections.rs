//! The table of garbage collections.

use super::{Options, bytes, change, class_name, classes_of};
use crate::numbers::{count, duration, size};
use crate::streams::message;
use crate::style::Style;
use crate::table::Table;
use std::io::Write;
use traceloom_analysis::names::ShortNames;
use traceloom_analysis::objects::{Amount, Collection, Objects};

/// Columns of collections for programs.
pub(super) const COLLECTIONS: &[&str] = &[
    "number",
    "time_ns",
    "took_ns",
    "allocated_count",
    "allocated_bytes",
    "freed_count",
    "freed_bytes",
    "live_count",
    "live_bytes",
    "used_bytes",
];

pub(super) fn collections(
    objects: &Objects,
    options: &Options,
    most: usize,
    style: &Style,
    out: &mut impl Write,
) -> anyhow::Result<Option<Table>> {
    let all = &objects.collections;
    let names = classes_of(objects);
    // The last ones are those that a leak shows in.
    let skip = all.len().saturating_sub(most);
    let wide = options.table.wide;
    let mut rows = Table::new(if options.table.csv {
        COLLECTIONS
    } else {
        &[
            "number",
            "begin",
            "took",
            "allocated",
            "alloc size",
            "freed",
            "freed size",
            "live",
            "live size",
            "used",
            "changed most",
        ]
    });
    for found in all.iter().skip(skip) {
        rows.row(match options.table.csv {
            true => collection_exact(found),
            false => collection(found, objects, &names, wide, style),
        });
    }
    if all.is_empty() {
        message!("no garbage collection was recorded");
    }
    if options.table.csv {
        return Ok(Some(rows));
    }
    if !all.is_empty() {
        rows.without_empty().whole(wide).print(style, out)?;
        style.say_more(skip, "collections before these", out)?;
    }
    Ok(None)
}

fn collection(
    found: &Collection,
    objects: &Objects,
    names: &ShortNames<'_>,
    wide: bool,
    style: &Style,
) -> Vec<String> {
    let amount = |amount: Option<Amount>| match amount {
        Some(amount) if wide => [amount.count.to_string(), amount.bytes.to_string()],
        Some(amount) => [count(amount.count), size(amount.bytes)],
        None => [String::new(), String::new()],
    };
    let most = found.changes(&objects.names).next();
    let most = most.map(|(class, changed)| {
        let change = change(Some(changed), wide);
        format!("{change} {}", class_name(class, names, wide))
    });
    let begin = match found.time {
        Some(time) => style.when(objects.dated, time),
        None => "after the last".to_owned(),
    };
    let number = found
        .time
        .map_or_else(String::new, |_| found.number.to_string());
    let mut cells = vec![number, begin, found.took.map_or_else(String::new, duration)];
    for amount in [found.allocated, found.freed, found.live].map(amount) {
        cells.extend(amount);
    }
    cells.push(
        found
            .used
            .map_or_else(String::new, |used| bytes(used, wide)),
    );
    cells.push(most.unwrap_or_default());
    cells
}

fn collection_exact(found: &Collection) -> Vec<String> {
    let number = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
    let mut cells = vec![
        number(found.time.map(|_| found.number)),
        found.time.map_or_else(String::new, |time| time.to_string()),
        number(found.took),
    ];
    for amount in [found.allocated, found.freed, found.live] {
        cells.push(number(amount.map(|amount| amount.count)));
        cells.push(number(amount.map(|amount| amount.bytes)));
    }
    cells.push(number(found.used));
    cells
}
