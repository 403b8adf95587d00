//! `calls --by`: calls in groups, with how long most of them took.

use std::io::{self, Write};

use serde_json::json;
use traceloom_analysis::GroupBy;
use traceloom_analysis::calls::{CallSum, CallSums};

use super::Options;
use crate::Outcome;
use crate::args::Usage;
use crate::lowered::{documents, mention};
use crate::open::{Among, with_progress};
use crate::percentiles;
use crate::style::{Style, count, duration};
use crate::table::Table;
use crate::timing::Timing;

pub(super) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let by = options.by.clone().unwrap_or(GroupBy::TitleShape);
    if !options.columns.is_empty() {
        let reason = "--columns are of single calls; with --by and --percentiles they are fixed";
        return Err(Usage(reason.to_owned()).into());
    }
    let order = order(options.sort.as_deref())?;
    let selection = options.query()?.selection;
    let mut all: Vec<CallSum> = Vec::new();
    let (mut read, mut samples) = (0, 0);
    let mut among = Among::new(&options.paths, &options.common);
    while let Some((number, input)) = among.next()? {
        let inputs = std::slice::from_ref(&input);
        let timing = Timing::of(&options.time, &options.common, number, inputs)?;
        let mut notes = Vec::new();
        with_progress(&input, "reading", || {
            for document in documents(&input)? {
                let mut sums = CallSums::new(selection.clone(), by.clone());
                let lowering = options.common.lower_options()?;
                notes.push(timing.lower(0, &input, &document, &lowering, &mut sums)?);
                read += sums.read;
                samples += sums.samples;
                for sum in sums.finish() {
                    match all.iter_mut().find(|known| known.group == sum.group) {
                        Some(known) => known.merge(&sum),
                        None => all.push(sum),
                    }
                }
            }
            Ok(())
        })?;
        mention(input.path(), &notes);
    }
    options.time.check_names()?;
    if read == 0 && samples > 0 {
        eprintln!("traceloom: a sampled profile has no calls; `traceloom top --by {by}` shows it");
    }
    all.sort_by(|a, b| b.total.cmp(&a.total).then_with(|| a.group.cmp(&b.group)));
    all.sort_by(order);
    print(options, &by, &all)?;
    Ok(among.outcome())
}

type Compare = Box<dyn Fn(&CallSum, &CallSum) -> std::cmp::Ordering>;

/// Returns how rows are ordered for `--sort`, the longest total first without it.
fn order(name: Option<&str>) -> anyhow::Result<Compare> {
    let Some(name) = name else {
        return Ok(Box::new(|_, _| std::cmp::Ordering::Equal));
    };
    let falling = name.starts_with('-');
    let key = key(name.trim_start_matches('-')).ok_or_else(|| {
        Usage(format!(
            "--sort {name}: the columns are group, calls, errors, total, p50, p90, p95, p99 and max"
        ))
    })?;
    Ok(Box::new(move |a, b| {
        let order = key(a).cmp(&key(b));
        if falling { order.reverse() } else { order }
    }))
}

type Key = Box<dyn Fn(&CallSum) -> (Option<i64>, String)>;

fn key(column: &str) -> Option<Key> {
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let value: Box<dyn Fn(&CallSum) -> Option<i64>> = match column {
        "group" => return Some(Box::new(|sum| (None, sum.group.clone()))),
        "calls" => Box::new(move |sum| Some(number(sum.calls))),
        "errors" => Box::new(move |sum| Some(number(sum.errors))),
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
    let style = Style::new(&options.common)?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    if options.json {
        let limit = if options.rows > 0 {
            options.rows
        } else {
            all.len()
        };
        for sum in all.iter().take(limit) {
            writeln!(out, "{}", as_json(by, sum))?;
        }
        return Ok(out.flush()?);
    }
    let shown = match options.rows {
        0 => all.len(),
        rows => rows.min(all.len()),
    };
    let by = by.to_string();
    let mut head: Vec<&str> = vec!["calls", "errors", "partial", "total"];
    head.extend(percentiles::head());
    head.push(if options.csv { "group" } else { &by });
    let mut table = Table::new(&head);
    for sum in all.iter().take(shown) {
        let exact = options.csv || options.wide;
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
    if options.csv {
        table.csv(&mut out)?;
        return Ok(out.flush()?);
    }
    table.without_empty().print(&style, &mut out)?;
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
