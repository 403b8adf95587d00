//! `calls --by`: calls in groups, with how long most of them took.

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::json;
use traceloom_analysis::GroupBy;
use traceloom_analysis::calls::{CallSum, CallSums};
use traceloom_model::bounds::saturated_i64;

use super::Options;
use crate::Outcome;
use crate::lowered::mention;
use crate::numbers::{count, duration};
use crate::percentiles;
use crate::streams::{message, stdout};
use crate::style::Style;
use crate::table::Table;
use crate::usage::{Usage, nearest};

pub(super) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let by = options.by.clone().unwrap_or(GroupBy::TitleShape);
    if !options.columns.is_empty() {
        let reason = "--columns are of single calls; with --by and --percentiles they are fixed";
        return Err(Usage(reason.to_owned()).into());
    }
    let order = order(options.sort.as_deref())?;
    let common = &options.read.common;
    common.asked.group(&by);
    let selection = options.calls.selection(common)?;
    let mut all: Vec<CallSum> = Vec::new();
    let mut groups: HashMap<String, usize> = HashMap::new();
    let (mut read, mut samples) = (0, 0);
    let mut inputs = options.read.inputs();
    while let Some(input) = inputs.next()? {
        let notes = input.read(|recording| {
            let mut sums = CallSums::new(selection.clone(), by.clone());
            let notes = recording.lower(&mut sums)?;
            read += sums.read;
            samples += sums.samples;
            for sum in sums.finish() {
                match groups.get(&sum.group).and_then(|&at| all.get_mut(at)) {
                    Some(known) => known.merge(&sum),
                    None => {
                        groups.insert(sum.group.clone(), all.len());
                        all.push(sum);
                    }
                }
            }
            Ok(notes)
        })?;
        mention(&input.input, &notes);
    }
    options.read.check_names()?;
    if read == 0 && samples > 0 {
        message!("a sampled profile has no calls; `traceloom top --by {by}` shows it");
    } else if read == 0 {
        message!("no calls here; `traceloom info` says what there is");
    } else if all.is_empty() {
        common.asked.say_none_passes();
    }
    all.sort_by(|a, b| b.total.cmp(&a.total).then_with(|| a.group.cmp(&b.group)));
    all.sort_by(order);
    print(options, &by, &all)?;
    Ok(inputs.outcome())
}

type Compare = Box<dyn Fn(&CallSum, &CallSum) -> std::cmp::Ordering>;

/// Returns how rows are ordered for `--sort`, the longest total first without it.
fn order(name: Option<&str>) -> anyhow::Result<Compare> {
    let Some(name) = name else {
        return Ok(Box::new(|_, _| std::cmp::Ordering::Equal));
    };
    let falling = name.starts_with('-');
    let key = key(name.trim_start_matches('-')).ok_or_else(|| {
        let hint = nearest(name.trim_start_matches('-'), COLUMNS.into_iter());
        let hint = hint.map_or_else(
            || format!("the columns are {}", COLUMNS.join(", ")),
            |near| format!("did you mean `{near}`?"),
        );
        Usage(format!("--sort: there is no column `{name}`; {hint}"))
    })?;
    Ok(Box::new(move |a, b| {
        let order = key(a).cmp(&key(b));
        if falling { order.reverse() } else { order }
    }))
}

/// The columns, whose percentiles are [`percentiles::head`].
const COLUMNS: [&str; 9] = [
    "group", "calls", "errors", "total", "p50", "p90", "p95", "p99", "max",
];

type Key = Box<dyn Fn(&CallSum) -> (Option<i64>, String)>;

fn key(column: &str) -> Option<Key> {
    let value: Box<dyn Fn(&CallSum) -> Option<i64>> = match column {
        "group" => return Some(Box::new(|sum| (None, sum.group.clone()))),
        "calls" => Box::new(move |sum| Some(saturated_i64(sum.calls))),
        "errors" => Box::new(move |sum| Some(saturated_i64(sum.errors))),
        "total" => Box::new(|sum| Some(sum.total)),
        "max" => Box::new(|sum| sum.durations.max()),
        percent => {
            let percent = percentiles::percent(percent)?;
            Box::new(move |sum| sum.durations.percentile(percent))
        }
    };
    Some(Box::new(move |sum| (value(sum), String::new())))
}

fn print(options: &Options, by: &GroupBy, all: &[CallSum]) -> anyhow::Result<()> {
    let style = Style::new(&options.read.common)?;
    let mut out = io::BufWriter::new(stdout());
    let shown = options
        .limit()
        .map_or(all.len(), |rows| rows.min(all.len()));
    if options.table.json {
        for sum in all.iter().take(shown) {
            writeln!(out, "{}", as_json(by, sum))?;
        }
        return Ok(out.flush()?);
    }
    let by = by.to_string();
    let mut table = match options.table.csv {
        true => {
            let head = ["calls", "errors", "partial", "total (ns)"].map(str::to_owned);
            let mut head: Vec<String> = head.into_iter().chain(percentiles::csv_head()).collect();
            head.push("group".to_owned());
            Table::new(&head.iter().map(String::as_str).collect::<Vec<_>>())
        }
        false => {
            let mut head: Vec<&str> = vec!["calls", "errors", "partial", "total"];
            head.extend(percentiles::head());
            head.push(&by);
            Table::new(&head)
        }
    };
    for sum in all.iter().take(shown) {
        let exact = options.table.is_exact();
        let number = |value: u64| match value {
            0 if !exact => String::new(),
            value if exact => value.to_string(),
            value => count(value),
        };
        let mut cells = vec![number(sum.calls), number(sum.errors), number(sum.partial)];
        cells.push(if exact {
            sum.total.to_string()
        } else {
            duration(sum.total.unsigned_abs())
        });
        cells.extend(percentiles::cells(Some(&sum.durations), exact));
        cells.push(if exact {
            sum.group.clone()
        } else {
            sum.group.split_whitespace().collect::<Vec<_>>().join(" ")
        });
        table.row(cells);
    }
    if options.table.csv {
        table.csv(&mut out)?;
        return Ok(out.flush()?);
    }
    table
        .without_empty()
        .whole(options.table.wide)
        .print(&style, &mut out)?;
    let calls: u64 = all.iter().map(|sum| sum.calls).sum();
    let mut summary = format!(
        "{} calls in {} groups",
        count(calls),
        count(all.len() as u64)
    );
    if shown < all.len() {
        summary += &format!(", {} shown", count(shown as u64));
    }
    writeln!(out, "{}", style.dim(summary))?;
    Ok(out.flush()?)
}

fn as_json(by: &GroupBy, sum: &CallSum) -> serde_json::Value {
    json!({
        "by": by.to_string(),
        "group": sum.group,
        "calls": sum.calls,
        "errors": sum.errors,
        "partial": sum.partial,
        "total_ns": sum.total,
        "durations": percentiles::as_json(Some(&sum.durations)),
    })
}
