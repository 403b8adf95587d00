//! `top --incoming` and `--outgoing`: direct callers and callees of a function.

use std::io::Write;

use serde_json::json;
use traceloom_analysis::names::{FunctionPattern, ShortNames};
use traceloom_analysis::{
    CallTree, DirectCalls, Direction, Edge, SymbolId, TreeSource, direct_calls,
};

use super::{Options, ROWS};
use crate::Outcome;
use crate::numbers::count;
use crate::select;
use crate::streams::{message, stdout};
use crate::style::Style;
use crate::table::Table;
use crate::trees::{Measures, amount, heading_of, read, share, share_number};

/// Which side of which functions.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct DirectFlags {
    /// Direct callers of this function, named as in --focus: how often they called it, and what that came to.
    #[arg(long, value_name = "NAME|REGEX", conflicts_with_all = ["outgoing", "by", "hotspots", "percentiles", "sort"])]
    incoming: Option<FunctionPattern>,
    /// What this function, named as in --focus, calls directly: how often, and what that came to.
    #[arg(long, value_name = "NAME|REGEX", conflicts_with_all = ["by", "hotspots", "percentiles", "sort"])]
    outgoing: Option<FunctionPattern>,
}

impl DirectFlags {
    pub(super) fn wanted(&self) -> Option<(Direction, &FunctionPattern)> {
        let incoming = self
            .incoming
            .as_ref()
            .map(|pattern| (Direction::Incoming, pattern));
        incoming.or(self
            .outgoing
            .as_ref()
            .map(|pattern| (Direction::Outgoing, pattern)))
    }
}

pub(super) fn run(
    options: &Options,
    direction: Direction,
    of: &FunctionPattern,
) -> anyhow::Result<Outcome> {
    let style = Style::new(&options.tree.read.common)?;
    let mut inputs = options.tree.read.inputs();
    let mut out = stdout();
    let mut any = false;
    let trees = read(&options.tree, &mut inputs)?;
    let flag = match direction {
        Direction::Incoming => "--incoming",
        Direction::Outgoing => "--outgoing",
    };
    let matches = select::function(flag, of, &trees)?;
    let names = ShortNames::new(trees.iter().flat_map(CallTree::function_names));
    let mut measures = Measures::default();
    for tree in &trees {
        let n_functions = tree.symbols.iter().filter(|symbol| matches(symbol)).count();
        any |= n_functions > 0;
        let found = direct_calls(tree, &matches, direction);
        let mut edges = found.edges.clone();
        edges.retain(|(_, edge)| {
            let share = percent(edge, &found);
            share.is_none_or(|share| share.abs() >= options.min_percent)
        });
        let all = edges.len();
        edges.truncate(options.table.most(ROWS));
        if options.table.json {
            writeln!(out, "{}", as_json(tree, direction, &found, &edges))?;
            continue;
        }
        let table = table(options, (tree, &names), direction, &found, &edges);
        if options.table.csv {
            measures.add(&tree.measure, table);
            continue;
        }
        let unit = &tree.measure.unit;
        let heading = format!(
            "{} of `{of}`: {} {}, total {}, self {}{}",
            word(direction),
            count(found.of.count),
            counted(tree),
            amount(unit, found.of.total),
            amount(unit, found.of.own),
            match n_functions {
                1 => String::new(),
                several => format!(", {} functions", count(several as u64)),
            }
        );
        writeln!(out, "{}", style.bold(heading))?;
        table
            .whole(options.table.wide)
            .print_names(&style, &names, &mut out)?;
        style.say_more(all - edges.len(), "more", &mut out)?;
    }
    if options.table.csv {
        measures.csv(&mut out)?;
    }
    if !any {
        message!("no function matches `{of}`");
    }
    Ok(inputs.outcome())
}

fn word(direction: Direction) -> &'static str {
    match direction {
        Direction::Incoming => "incoming calls",
        Direction::Outgoing => "outgoing calls",
    }
}

fn counted(tree: &CallTree) -> &'static str {
    match tree.measure.source {
        TreeSource::Spans => "calls",
        TreeSource::Samples => "samples",
    }
}

/// The share of what the functions came to.
#[expect(
    clippy::cast_precision_loss,
    reason = "a percentage for people, shown with two digits"
)]
fn percent(edge: &Edge, found: &DirectCalls) -> Option<f64> {
    (found.of.total != 0).then(|| edge.total as f64 * 100.0 / found.of.total as f64)
}

fn name((tree, names): (&CallTree, &ShortNames<'_>), end: Option<SymbolId>, wide: bool) -> String {
    match end.map(|id| tree.symbol(id)) {
        None => "(begins there)".to_owned(),
        Some(symbol) if wide => symbol.name.clone(),
        Some(symbol) if symbol.group => symbol.short_name().into_owned(),
        Some(symbol) => names.show(&symbol.name).into_owned(),
    }
}

fn table(
    options: &Options,
    (tree, names): (&CallTree, &ShortNames<'_>),
    direction: Direction,
    found: &DirectCalls,
    edges: &[(Option<SymbolId>, Edge)],
) -> Table {
    let end = match direction {
        Direction::Incoming => "caller",
        Direction::Outgoing => "callee",
    };
    let unit = &tree.measure.unit;
    let (total, own) = match options.table.csv {
        true => (heading_of("total", unit), heading_of("self", unit)),
        false => ("total".to_owned(), "self".to_owned()),
    };
    let part = if options.table.csv { "share%" } else { "share" };
    let mut table = Table::new(&[&total, part, &own, counted(tree), end]);
    let wide = options.table.is_exact();
    let shown = |value: i64| {
        if wide {
            value.to_string()
        } else {
            amount(&tree.measure.unit, value)
        }
    };
    for (end, edge) in edges {
        table.row([
            shown(edge.total),
            match options.table.csv {
                true => share_number(percent(edge, found)),
                false => share(percent(edge, found)),
            },
            shown(edge.own),
            if wide {
                edge.count.to_string()
            } else {
                count(edge.count)
            },
            name((tree, names), *end, wide),
        ]);
    }
    table
}

fn as_json(
    tree: &CallTree,
    direction: Direction,
    found: &DirectCalls,
    edges: &[(Option<SymbolId>, Edge)],
) -> serde_json::Value {
    let edges = edges.iter().map(|(end, edge)| {
        json!({
            "function": end.map(|id| &tree.symbol(id).name),
            "total": edge.total,
            "self": edge.own,
            "count": edge.count,
            "percent": percent(edge, found),
        })
    });
    json!({
        "measure": tree.measure.name,
        "unit": tree.measure.unit.word(),
        "source": counted(tree),
        "direction": match direction {
            Direction::Incoming => "incoming",
            Direction::Outgoing => "outgoing",
        },
        "total": found.of.total,
        "self": found.of.own,
        "count": found.of.count,
        "functions": edges.collect::<Vec<_>>(),
    })
}
