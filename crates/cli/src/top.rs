//! `top`: functions by their own time or value.

use std::cmp::Ordering;
use std::io::{self, Write};

use clap::{Args, ValueEnum};
use serde_json::json;
use traceloom_analysis::{Functions, Measure, TopRow, TreeSource, names};

use crate::Outcome;
use crate::style::{Style, count};
use crate::table::Table;
use crate::trees::{TreeFlags, amount, read_functions, share, unit_word};

/// Print functions by their own time or value.
#[derive(Args)]
#[command(
    after_help = "Self is the function alone, total includes what it called; 100 % is all root calls.\n\n\
    Examples:\n  \
    traceloom top dump/\n  \
    traceloom top dump/ --filter '+GET -health' --min-duration 500ms\n  \
    traceloom top cpu.pprof --value cpu --focus '^com.acme'"
)]
pub(crate) struct Options {
    #[command(flatten)]
    tree: TreeFlags,
    /// Rows to print; 0 prints all.
    #[arg(short = 'n', long, value_name = "ROWS", default_value_t = 30)]
    rows: usize,
    /// Sort by this column.
    #[arg(long, value_name = "COLUMN", default_value = "self")]
    sort: Sort,
    /// Only functions with at least this share of the total.
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0)]
    min_percent: f64,
    /// Print full names instead of shortened ones.
    #[arg(long)]
    wide: bool,
    /// Print one JSON object a measure.
    #[arg(long)]
    json: bool,
    /// Print comma-separated values.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    #[value(name = "self")]
    Own,
    Total,
    Count,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let style = Style::new(&options.tree.common)?;
    let mut out = io::stdout().lock();
    for table in &read_functions(&options.tree)? {
        let mut rows = table.rows.clone();
        rows.retain(|row| {
            table
                .percent(row.total)
                .is_none_or(|share| share >= options.min_percent)
        });
        let order = |a: &TopRow, b: &TopRow| {
            let first = match options.sort {
                Sort::Own => Ordering::Equal,
                Sort::Total => b.total.cmp(&a.total),
                Sort::Count => b.count.cmp(&a.count),
            };
            first.then_with(|| table.order(a, b))
        };
        let all = rows.len();
        if (1..all).contains(&options.rows) && !options.json && !options.csv {
            rows.select_nth_unstable_by(options.rows, order);
            rows.truncate(options.rows);
        }
        rows.sort_unstable_by(order);
        if options.json {
            writeln!(out, "{}", as_json(table, &rows))?;
        } else if options.csv {
            rows_table(table, &rows, true).csv(&mut out)?;
        } else {
            writeln!(out, "{}", style.bold(heading(&table.measure, table.total)))?;
            rows_table(table, &rows, options.wide).print(&style, &mut out)?;
            if all > rows.len() {
                let more = count((all - rows.len()) as u64);
                writeln!(
                    out,
                    "{}",
                    style.dim(format!("{more} more functions; -n 0 prints all"))
                )?;
            }
        }
    }
    Ok(Outcome::Done)
}

pub(crate) fn heading(measure: &Measure, total: i64) -> String {
    let what = match measure.source {
        TreeSource::Spans => "of calls",
        TreeSource::Samples => "of samples",
    };
    format!(
        "{} {what}, total {}",
        measure.name,
        amount(&measure.unit, total)
    )
}

fn count_word(of: &Functions) -> &'static str {
    match of.measure.source {
        TreeSource::Spans => "calls",
        TreeSource::Samples => "samples",
    }
}

fn rows_table(of: &Functions, rows: &[TopRow], wide: bool) -> Table {
    let mut table = Table::new(&[
        "self",
        "self%",
        "total",
        "total%",
        count_word(of),
        "function",
    ]);
    for row in rows {
        let name = &of.symbol(row.symbol).name;
        let unit = &of.measure.unit;
        let shown = |value| {
            if wide {
                value_text(of, value)
            } else {
                amount(unit, value)
            }
        };
        let partial = if row.partial > 0 {
            format!(" ({} partial)", count(row.partial))
        } else {
            String::new()
        };
        table.row([
            shown(row.own),
            share(of.percent(row.own)),
            shown(row.total),
            share(of.percent(row.total)),
            if wide {
                row.count.to_string()
            } else {
                count(row.count)
            },
            if wide {
                format!("{name}{partial}")
            } else {
                format!("{}{partial}", names::shorten(name))
            },
        ]);
    }
    table
}

fn value_text(of: &Functions, value: i64) -> String {
    format!("{value} {}", unit_word(&of.measure.unit))
        .trim()
        .to_owned()
}

fn as_json(of: &Functions, rows: &[TopRow]) -> serde_json::Value {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            let symbol = of.symbol(row.symbol);
            json!({
                "function": symbol.name,
                "self": row.own,
                "total": row.total,
                "count": row.count,
                "partial": row.partial,
                "self_percent": of.percent(row.own),
                "total_percent": of.percent(row.total),
            })
        })
        .collect();
    json!({
        "measure": of.measure.name,
        "unit": unit_word(&of.measure.unit),
        "source": count_word(of),
        "total": of.total,
        "functions": rows,
    })
}
