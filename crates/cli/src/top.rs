//! `top`: functions by their own time or value.

use std::collections::HashMap;
use std::io::{self, Write};

use clap::{Args, ValueEnum};
use serde_json::json;
use traceloom_analysis::{CallTree, MeasureUnit, Symbol, TopRow, TreeSource, names, top};
use traceloom_model::{Merge, Scope};

use crate::Outcome;
use crate::style::{Style, count};
use crate::table::Table;
use crate::trees::{TreeFlags, amount, read_with, share, unit_word};

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
    let (trees, beside) = read_with(&options.tree, true)?;
    let beside: Vec<Beside> = beside.iter().map(Beside::of).collect();
    for tree in &trees {
        let beside = match tree.measure.source {
            TreeSource::Spans => &[][..],
            TreeSource::Samples => &beside,
        };
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
            writeln!(out, "{}", as_json(tree, &rows, beside))?;
        } else if options.csv {
            table(tree, &rows, beside, true).csv(&mut out)?;
        } else {
            writeln!(out, "{}", style.bold(heading(tree)))?;
            table(tree, &rows, beside, options.wide).print(&style, &mut out)?;
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

/// Another column of a statistic, such as the shortest call: its value by function.
struct Beside {
    name: String,
    unit: MeasureUnit,
    values: HashMap<(String, Option<String>), i64>,
}

impl Beside {
    fn of(tree: &CallTree) -> Self {
        let inclusive = tree.measure.scope == Scope::Inclusive && tree.measure.merge == Merge::Sum;
        let values = top(tree).into_iter().filter(|row| row.count > 0);
        let values = values.map(|row| {
            let symbol = tree.symbol(row.symbol);
            let value = if inclusive { row.total } else { row.own };
            ((symbol.name.clone(), symbol.signature.clone()), value)
        });
        Self {
            name: tree.measure.name.clone(),
            unit: tree.measure.unit.clone(),
            values: values.collect(),
        }
    }

    fn value(&self, symbol: &Symbol) -> Option<i64> {
        let key = (symbol.name.clone(), symbol.signature.clone());
        self.values.get(&key).copied()
    }
}

fn table(tree: &CallTree, rows: &[TopRow], beside: &[Beside], wide: bool) -> Table {
    let mut head = vec!["self", "self%", "total", "total%", count_word(tree)];
    head.extend(beside.iter().map(|column| column.name.as_str()));
    head.push("function");
    let mut table = Table::new(&head);
    for row in rows {
        let symbol = tree.symbol(row.symbol);
        let name = &symbol.name;
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
        let mut cells = vec![
            shown(row.own),
            share(tree, row.own),
            shown(row.total),
            share(tree, row.total),
            if wide {
                row.count.to_string()
            } else {
                count(row.count)
            },
        ];
        cells.extend(beside.iter().map(|column| match column.value(symbol) {
            None => String::new(),
            Some(value) if wide => unit_text(value, &column.unit),
            Some(value) => amount(&column.unit, value),
        }));
        cells.push(if wide {
            format!("{name}{partial}")
        } else {
            format!("{}{partial}", names::shorten(name))
        });
        table.row(cells);
    }
    table
}

fn value_text(tree: &CallTree, value: i64) -> String {
    unit_text(value, &tree.measure.unit)
}

fn unit_text(value: i64, unit: &MeasureUnit) -> String {
    format!("{value} {}", unit_word(unit)).trim().to_owned()
}

fn as_json(tree: &CallTree, rows: &[TopRow], beside: &[Beside]) -> serde_json::Value {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            let symbol = tree.symbol(row.symbol);
            let mut object = json!({
                "function": symbol.name,
                "self": row.own,
                "total": row.total,
                "count": row.count,
                "partial": row.partial,
                "self_percent": tree.percent(row.own),
                "total_percent": tree.percent(row.total),
            });
            if !beside.is_empty() {
                let values = beside.iter();
                let values =
                    values.map(|column| (column.name.clone(), json!(column.value(symbol))));
                object["values"] = values.collect::<serde_json::Map<_, _>>().into();
            }
            object
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
