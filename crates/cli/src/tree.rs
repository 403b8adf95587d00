//! `tree`: the call tree, from callers down or from hot functions up.

use std::io::{self, Write};

use clap::Args;
use serde_json::json;
use traceloom_analysis::{CallTree, Visible, bottom_up, visible};

use crate::Outcome;
use crate::groups::GroupFlags;
use crate::select::SandwichFlags;
use crate::style::{Style, count};
use crate::table::Table;
use crate::top::heading;
use crate::trees::{TreeFlags, amount, read, share, unit_word};

/// Print the call tree.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    traceloom tree dump/ --min-percent 2\n  \
    traceloom tree dump/ --bottom-up --focus HashMap\n  \
    traceloom tree dump/ --callers-of 'Statement.execute'\n  \
    traceloom tree dump/ --by sql-shape\n  \
    traceloom tree dump/ --json --min-percent 0")]
pub(crate) struct Options {
    #[command(flatten)]
    tree: TreeFlags,
    /// Start from functions with their own time and show who called them.
    #[arg(long)]
    bottom_up: bool,
    #[command(flatten)]
    groups: GroupFlags,
    #[command(flatten)]
    sandwich: SandwichFlags,
    /// Only nodes with at least this share of the total.
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    min_percent: f64,
    /// Print full names instead of shortened ones.
    #[arg(long)]
    wide: bool,
    /// Print one JSON object a measure.
    #[arg(long)]
    json: bool,
    /// Print comma-separated values, one node a row, with its depth.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let style = Style::new(&options.tree.common)?;
    let mut out = io::stdout().lock();
    let flags = options.groups.of(&options.tree);
    let mut among = flags.inputs();
    for tree in read(&flags, &mut among)? {
        let tree = options.sandwich.cut(tree);
        let tree = if options.bottom_up {
            bottom_up(&tree)
        } else {
            tree
        };
        let rows = visible(&tree, options.min_percent);
        if options.json {
            writeln!(out, "{}", as_json(&tree, &rows))?;
        } else if options.csv {
            table(&tree, &rows).csv(&mut out)?;
        } else {
            writeln!(out, "{}", style.bold(heading(&tree.measure, tree.total)))?;
            print(&tree, &rows, options, &style, &mut out)?;
        }
    }
    Ok(among.outcome())
}

fn print(
    tree: &CallTree,
    rows: &[Visible],
    options: &Options,
    style: &Style,
    out: &mut impl Write,
) -> io::Result<()> {
    let unit = &tree.measure.unit;
    let columns = |total: &str, share: &str, own: &str, calls: &str| {
        format!("{total:>14} {share:>8} {own:>14} {calls:>10}")
    };
    writeln!(
        out,
        "{}",
        style.dim(format!(
            "{}  function",
            columns("total", "", "self", "count")
        ))
    )?;
    for row in rows {
        let Some(node) = tree.nodes.get(row.node as usize) else {
            continue;
        };
        let symbol = tree.symbol(node.symbol);
        let name = if options.wide {
            symbol.name.as_str().into()
        } else {
            symbol.short_name()
        };
        let indent = "  ".repeat(node.depth.min(100) as usize);
        let deeper = if node.depth > 100 {
            format!("[{}] ", node.depth)
        } else {
            String::new()
        };
        let partial = if node.partial > 0 {
            format!(" ({} partial)", count(node.partial))
        } else {
            String::new()
        };
        let numbers = columns(
            &amount(unit, node.total),
            &share(tree.percent(node.total)),
            &amount(unit, node.own),
            &count(tree.count(row.node)),
        );
        writeln!(out, "{numbers}  {indent}{deeper}{name}{partial}")?;
        if row.omitted > 0 {
            let text = format!(
                "{} smaller, {}",
                count(row.omitted.into()),
                amount(unit, row.omitted_total)
            );
            let blank = columns("", "", "", "");
            writeln!(out, "{}", style.dim(format!("{blank}  {indent}  … {text}")))?;
        }
    }
    Ok(())
}

fn table(tree: &CallTree, rows: &[Visible]) -> Table {
    let mut table = Table::new(&[
        "depth", "total", "total%", "self", "count", "partial", "function",
    ]);
    for row in rows {
        let Some(node) = tree.nodes.get(row.node as usize) else {
            continue;
        };
        table.row([
            node.depth.to_string(),
            node.total.to_string(),
            share(tree.percent(node.total)),
            node.own.to_string(),
            tree.count(row.node).to_string(),
            node.partial.to_string(),
            tree.symbol(node.symbol).name.clone(),
        ]);
    }
    table
}

/// Nodes depth first with their depth: a tree of any depth as flat JSON.
fn as_json(tree: &CallTree, rows: &[Visible]) -> serde_json::Value {
    let nodes: Vec<_> = rows
        .iter()
        .filter_map(|row| {
            let node = tree.nodes.get(row.node as usize)?;
            let symbol = tree.symbol(node.symbol);
            let mut object = json!({
                "depth": node.depth,
                "function": symbol.name,
                "total": node.total,
                "self": node.own,
                "count": tree.count(row.node),
                "partial": node.partial,
                "omitted": row.omitted,
                "omitted_total": row.omitted_total,
            });
            if symbol.group {
                object["group"] = true.into();
            }
            Some(object)
        })
        .collect();
    let mut object = json!({
        "measure": tree.measure.name,
        "event_type": tree.measure.event,
        "unit": unit_word(&tree.measure.unit),
        "total": tree.total,
        "nodes": nodes,
    });
    if let Some(rules) = &tree.measure.adjusted {
        object["adjusted"] = rules.as_str().into();
    }
    object
}
