//! `tree`: the call tree, from callers down or from hot functions up.

use std::borrow::Cow;
use std::io::{self, Write};

use clap::Args;
use serde_json::json;
use traceloom_analysis::names::ShortNames;
use traceloom_analysis::{CallTree, Visible, bottom_up, keep_largest, visible};
use traceloom_model::printable;
use unicode_width::UnicodeWidthStr;

use crate::Outcome;
use crate::dimension::DimensionFlags;
use crate::groups::GroupFlags;
use crate::numbers::count;
use crate::select::SandwichFlags;
use crate::streams::stdout;
use crate::style::Style;
use crate::table::{Table, cut_name};
use crate::table_flags::{SHORTENED, TableFlags, help};
use crate::top::heading;
use crate::trees::{
    Measures, TreeFlags, amount, heading_of, read_lines, share, share_number, tracks_json,
};

/// Print the call tree.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    traceloom tree dump/ --min-percent 2\n  \
    traceloom tree dump/ --bottom-up --focus HashMap\n  \
    traceloom tree dump/ --callers-of 'Statement.execute'\n  \
    traceloom tree dump/ --by sql-shape\n  \
    traceloom tree dump/ --json --min-percent 0")]
#[command(mut_arg(
    "rows",
    help("Nodes to print, the largest with their callers; 0 prints all, as without it")
))]
#[command(mut_arg("wide", help(SHORTENED)))]
#[command(mut_arg("json", help("Print one JSON object a measure")))]
#[command(mut_arg(
    "csv",
    help("Print comma-separated values, one node a row, with its depth")
))]
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
    #[command(flatten)]
    dimension: DimensionFlags,
    /// Only nodes with at least this share of the total.
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    min_percent: f64,
    #[command(flatten)]
    table: TableFlags,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let style = Style::new(&options.tree.read.common)?;
    let mut out = stdout();
    let groups = options.dimension.groups(&options.groups)?;
    let flags = options.dimension.reading(options.tree.grouped(&groups));
    let mut inputs = flags.read.inputs();
    let [trees, lines] = read_lines(&flags, &mut inputs)?;
    let lines = match lines.is_empty() {
        true => lines,
        false => options.sandwich.cut(lines)?,
    };
    let trees = options
        .dimension
        .trees([options.sandwich.cut(trees)?, lines]);
    let names = ShortNames::new(trees.iter().flat_map(CallTree::function_names));
    let mut measures = Measures::default();
    for tree in &trees {
        let upwards;
        let tree = if options.bottom_up {
            upwards = bottom_up(tree);
            &upwards
        } else {
            tree
        };
        let mut rows = visible(tree, options.min_percent);
        let all = rows.len();
        let most = options.table.most(usize::MAX);
        if most < all {
            keep_largest(tree, &mut rows, most);
        }
        if options.table.json {
            writeln!(out, "{}", as_json(tree, &rows))?;
        } else if options.table.csv {
            measures.add(&tree.measure, table(tree, &rows));
        } else {
            writeln!(
                out,
                "{}",
                style.bold(heading(&tree.measure, tree.total, tree.shares_of()))
            )?;
            print((tree, &names), &rows, options, &style, &mut out)?;
            style.say_more(all - rows.len(), "more nodes", &mut out)?;
        }
    }
    if options.table.csv {
        measures.csv(&mut out)?;
    }
    Ok(inputs.outcome())
}

/// Columns of a terminal that a name has at least.
const LEAST: usize = 16;

/// Columns beside the indentation: a name and its level, or what is left out.
const BESIDE: usize = 40;

/// Levels that are indented.
const DEEPEST: u32 = 100;

fn print(
    (tree, names): (&CallTree, &ShortNames<'_>),
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
    let room = style.width().filter(|_| !options.table.wide);
    let numbers = columns("", "", "", "").width() + 2;
    // Deeper levels say their number instead of standing further right.
    let deepest = room.map_or(DEEPEST, |room| {
        let levels = room.saturating_sub(numbers + BESIDE) / 2;
        u32::try_from(levels).unwrap_or(DEEPEST).min(DEEPEST)
    });
    for row in rows {
        let Some(node) = tree.nodes.get(row.node as usize) else {
            continue;
        };
        let symbol = tree.symbol(node.symbol);
        let name = match symbol.group {
            _ if options.table.wide => symbol.name.as_str().into(),
            true => symbol.short_name(),
            false => names.show(&symbol.name),
        };
        let indent = "  ".repeat(node.depth.min(deepest) as usize);
        let deeper = if node.depth > deepest {
            format!("[{}] ", node.depth)
        } else {
            String::new()
        };
        let partial = if node.partial > 0 {
            format!("{} partial", count(node.partial))
        } else {
            String::new()
        };
        let numbers = columns(
            &amount(unit, node.total),
            &share(tree.percent(node.total)),
            &amount(unit, node.own),
            &count(tree.count(row.node)),
        );
        let before = format!("{numbers}  {indent}{deeper}");
        let name = printable(&name);
        let room = room.map(|room| room.saturating_sub(before.width()));
        let beside = partial.width() + 3;
        // Where a name would have no room beside it, the remark has a line of its own.
        let fits = room.is_none_or(|room| room >= LEAST + beside);
        let (remark, below) = match partial.as_str() {
            "" => (String::new(), None),
            _ if fits => (format!(" ({partial})"), None),
            _ => (String::new(), Some(&partial)),
        };
        let name: Cow<'_, str> = match room {
            Some(room) => {
                let rest = room.saturating_sub(remark.width());
                cut_name(&name, rest.max(LEAST), names).into()
            }
            None => name,
        };
        writeln!(out, "{before}{name}{remark}")?;
        if let Some(text) = below {
            let blank = columns("", "", "", "");
            writeln!(out, "{}", style.dim(format!("{blank}  {indent}  … {text}")))?;
        }
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
    let unit = &tree.measure.unit;
    let (total, own) = (heading_of("total", unit), heading_of("self", unit));
    let mut table = Table::new(&[
        "depth", &total, "total%", &own, "count", "partial", "function",
    ]);
    for row in rows {
        let Some(node) = tree.nodes.get(row.node as usize) else {
            continue;
        };
        table.row([
            node.depth.to_string(),
            node.total.to_string(),
            share_number(tree.percent(node.total)),
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
        "unit": tree.measure.unit.word(),
        "total": tree.total,
        "nodes": nodes,
    });
    if let Some(rules) = &tree.measure.adjusted {
        object["adjusted"] = rules.as_str().into();
    }
    tracks_json(&tree.measure, &mut object);
    object
}
