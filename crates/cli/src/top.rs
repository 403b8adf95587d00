//! `top`: functions by their own time or value.

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use serde_json::json;
use traceloom_analysis::{CallTree, TopRow, TreeSource, names, top};

use crate::Outcome;
use crate::style::{Style, count};
use crate::table::Table;
use crate::trees::{TreeFlags, amount, read, share, unit_word};

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
    for tree in &read(&options.tree)? {
        let mut rows = top(tree);
        rows.retain(|row| {
            tree.percent(row.total)
                .is_none_or(|share| share >= options.min_percent)
        });
        match options.sort {
            Sort::Own => {}
            Sort::Total => rows.sort_by_key(|row| std::cmp::Reverse(row.total)),
            Sort::Count => rows.sort_by_key(|row| std::cmp::Reverse(row.count)),
        }
        let all = rows.len();
        if options.rows > 0 && !options.json && !options.csv {
            rows.truncate(options.rows);
        }
        if options.json {
            writeln!(out, "{}", as_json(tree, &rows))?;
        } else if options.csv {
            table(tree, &rows, true).csv(&mut out)?;
        } else {
            writeln!(out, "{}", style.bold(heading(tree)))?;
            table(tree, &rows, options.wide).print(&style, &mut out)?;
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

pub(crate) fn heading(tree: &CallTree) -> String {
    let what = match tree.measure.source {
        TreeSource::Spans => "of calls",
        TreeSource::Samples => "of samples",
    };
    format!(
        "{} {what}, total {}",
        tree.measure.name,
        amount(&tree.measure.unit, tree.total)
    )
}

fn count_word(tree: &CallTree) -> &'static str {
    match tree.measure.source {
        TreeSource::Spans => "calls",
        TreeSource::Samples => "samples",
    }
}

fn table(tree: &CallTree, rows: &[TopRow], wide: bool) -> Table {
    let mut table = Table::new(&[
        "self",
        "self%",
        "total",
        "total%",
        count_word(tree),
        "function",
    ]);
    for row in rows {
        let name = &tree.symbol(row.symbol).name;
        let unit = &tree.measure.unit;
        let shown = |value| {
            if wide {
                value_text(tree, value)
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
            share(tree, row.own),
            shown(row.total),
            share(tree, row.total),
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

fn value_text(tree: &CallTree, value: i64) -> String {
    format!("{value} {}", unit_word(&tree.measure.unit))
        .trim()
        .to_owned()
}

fn as_json(tree: &CallTree, rows: &[TopRow]) -> serde_json::Value {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            let symbol = tree.symbol(row.symbol);
            json!({
                "function": symbol.name,
                "self": row.own,
                "total": row.total,
                "count": row.count,
                "partial": row.partial,
                "self_percent": tree.percent(row.own),
                "total_percent": tree.percent(row.total),
            })
        })
        .collect();
    json!({
        "measure": tree.measure.name,
        "unit": unit_word(&tree.measure.unit),
        "source": count_word(tree),
        "total": tree.total,
        "functions": rows,
    })
}
