//! `top --incoming` and `--outgoing`: direct callers and callees of a function.

use std::io::{self, Write};

use regex_lite::Regex;
use serde_json::json;
use traceloom_analysis::{
    CallTree, DirectCalls, Direction, Edge, Predicate, Symbol, SymbolId, TreeSource, direct_calls,
};

use super::{Options, ROWS};
use crate::Outcome;
use crate::style::{Style, count};
use crate::table::Table;
use crate::trees::{amount, read, share, unit_word};

/// Which side of which functions.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct DirectFlags {
    /// Direct callers of the functions that match: how often they called them, and what that came to.
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["outgoing", "by", "hotspots", "percentiles", "sort"])]
    incoming: Option<Regex>,
    /// What the functions that match call directly: how often, and what that came to.
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["by", "hotspots", "percentiles", "sort"])]
    outgoing: Option<Regex>,
}

impl DirectFlags {
    pub(super) fn wanted(&self) -> Option<(Direction, &Regex)> {
        let incoming = self
            .incoming
            .as_ref()
            .map(|regex| (Direction::Incoming, regex));
        incoming.or(self
            .outgoing
            .as_ref()
            .map(|regex| (Direction::Outgoing, regex)))
    }
}

pub(super) fn run(options: &Options, direction: Direction, of: &Regex) -> anyhow::Result<Outcome> {
    let style = Style::new(&options.tree.common)?;
    let mut among = options.tree.inputs();
    let mut out = io::stdout().lock();
    let mut any = false;
    for tree in read(&options.tree, &mut among)? {
        let matches: Predicate<'_> = Box::new(|symbol: &Symbol| of.is_match(&symbol.name));
        let n_functions = tree.symbols.iter().filter(|symbol| matches(symbol)).count();
        any |= n_functions > 0;
        let found = direct_calls(&tree, &matches, direction);
        let mut edges = found.edges.clone();
        edges.retain(|(_, edge)| {
            let share = percent(edge, &found);
            share.is_none_or(|share| share >= options.min_percent)
        });
        let all = edges.len();
        edges.truncate(options.most(ROWS));
        if options.json {
            writeln!(out, "{}", as_json(&tree, direction, &found, &edges))?;
            continue;
        }
        let table = table(options, &tree, direction, &found, &edges);
        if options.csv {
            table.csv(&mut out)?;
            continue;
        }
        let unit = &tree.measure.unit;
        let heading = format!(
            "{} of `{of}`: {} {}, total {}, self {}{}",
            word(direction),
            count(found.of.count),
            counted(&tree),
            amount(unit, found.of.total),
            amount(unit, found.of.own),
            match n_functions {
                1 => String::new(),
                several => format!(", {} functions", count(several as u64)),
            }
        );
        writeln!(out, "{}", style.bold(heading))?;
        table.print(&style, &mut out)?;
        if edges.len() < all {
            let more = count((all - edges.len()) as u64);
            writeln!(
                out,
                "{}",
                style.dim(format!("{more} more; -n 0 prints all"))
            )?;
        }
    }
    if !any {
        eprintln!("traceloom: no function matches `{of}`");
    }
    Ok(among.outcome())
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

fn name(tree: &CallTree, end: Option<SymbolId>, wide: bool) -> String {
    match end.map(|id| tree.symbol(id)) {
        None => "(begins there)".to_owned(),
        Some(symbol) if wide => symbol.name.clone(),
        Some(symbol) => symbol.short_name().into_owned(),
    }
}

fn table(
    options: &Options,
    tree: &CallTree,
    direction: Direction,
    found: &DirectCalls,
    edges: &[(Option<SymbolId>, Edge)],
) -> Table {
    let end = match direction {
        Direction::Incoming => "caller",
        Direction::Outgoing => "callee",
    };
    let mut table = Table::new(&["total", "share", "self", counted(tree), end]);
    let wide = options.csv || options.wide;
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
            share(percent(edge, found)),
            shown(edge.own),
            if wide {
                edge.count.to_string()
            } else {
                count(edge.count)
            },
            name(tree, *end, wide),
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
        "unit": unit_word(&tree.measure.unit),
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
