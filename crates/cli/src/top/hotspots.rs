//! `top --hotspots`: own time by kind of work.

use std::io::Write;

use clap::Args;
use serde_json::json;
use traceloom_analysis::hotspots::{Categories, Hotspot, hotspots};
use traceloom_analysis::names::ShortNames;
use traceloom_analysis::{CallTree, finding};
use traceloom_model::printable;

use super::{Options, heading};
use crate::Outcome;
use crate::categories::CategoryFlags;
use crate::numbers::count;
use crate::streams::stdout;
use crate::style::Style;
use crate::table::Table;
use crate::trees::{Measures, amount, heading_of, read, share, share_number};

/// Functions by category.
#[derive(Args, Clone, Default)]
pub(crate) struct HotspotFlags {
    /// Sum own values by kind of work: databases, logging, reflection and so on, with the functions of each.
    #[arg(long, conflicts_with_all = ["sort", "by"])]
    hotspots: bool,
    #[command(flatten)]
    categories: CategoryFlags,
}

impl HotspotFlags {
    pub(super) fn wanted(&self) -> bool {
        self.hotspots || self.categories.categories.is_some()
    }

    /// Returns `true` if the rules that come along are printed, and nothing is read.
    pub(super) fn prints_rules(&self) -> bool {
        self.categories.is_default()
    }
}

/// Functions shown of each category.
const SHOWN: usize = 5;

pub(super) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let mut out = stdout();
    if options.hotspots.prints_rules() {
        write!(out, "{}", Categories::DEFAULT)?;
        return Ok(Outcome::Done);
    }
    let rules = options.hotspots.categories.rules()?;
    let style = Style::new(&options.tree.read.common)?;
    let mut inputs = options.tree.read.inputs();
    let trees = read(&options.tree, &mut inputs)?;
    let names = ShortNames::new(trees.iter().flat_map(CallTree::function_names));
    let mut measures = Measures::default();
    for tree in &trees {
        let mut found = hotspots(tree, &rules);
        found.retain(|hotspot| {
            let share = tree.percent(hotspot.own);
            share.is_none_or(|share| share >= options.min_percent)
        });
        if options.table.json {
            writeln!(
                out,
                "{}",
                as_json(tree, &rules, &found, options.table.most(usize::MAX))
            )?;
        } else if options.table.csv {
            measures.add(&tree.measure, table((tree, &names), &found, options));
        } else {
            writeln!(
                out,
                "{}",
                style.bold(heading(&tree.measure, tree.total, tree.shares_of()))
            )?;
            if let Some(finding) = finding(tree, &rules) {
                writeln!(out, "{}", printable(&finding))?;
            }
            let table = table((tree, &names), &found, options).whole(options.table.wide);
            table.print_names(&style, &names, &mut out)?;
        }
    }
    if options.table.csv {
        measures.csv(&mut out)?;
    }
    Ok(inputs.outcome())
}

fn word(hotspot: &Hotspot) -> &str {
    hotspot.category.as_deref().unwrap_or("(none)")
}

fn table(
    (tree, names): (&CallTree, &ShortNames<'_>),
    found: &[Hotspot],
    options: &Options,
) -> Table {
    let unit = &tree.measure.unit;
    let own = match options.table.csv {
        true => heading_of("self", unit),
        false => "self".to_owned(),
    };
    let mut table = Table::new(&["category", &own, "self%", "count", "function"]);
    let mut row = |category: &str, own: i64, calls: u64, function: &str| {
        let whole = options.table.is_exact();
        table.row([
            category.to_owned(),
            if whole {
                own.to_string()
            } else {
                amount(unit, own)
            },
            match options.table.csv {
                true => share_number(tree.percent(own)),
                false => share(tree.percent(own)),
            },
            if whole {
                calls.to_string()
            } else {
                count(calls)
            },
            function.to_owned(),
        ]);
    };
    for hotspot in found {
        let category = word(hotspot);
        row(category, hotspot.own, hotspot.count, "");
        let all = options.table.csv || options.table.rows == Some(0);
        let shown = options.table.most(SHOWN);
        // Callers of a category's own functions come to nothing in it.
        let functions = hotspot
            .functions
            .iter()
            .filter(|(_, own, calls)| *own != 0 || (*calls > 0 && all));
        for &(symbol, own, calls) in functions.take(shown) {
            let name = &tree.symbol(symbol).name;
            if options.table.csv {
                row(category, own, calls, name);
            } else if options.table.wide {
                row("", own, calls, name);
            } else {
                row("", own, calls, &names.show(name));
            }
        }
    }
    table
}

fn as_json(
    tree: &CallTree,
    rules: &Categories,
    found: &[Hotspot],
    most: usize,
) -> serde_json::Value {
    let categories: Vec<_> = found
        .iter()
        .map(|hotspot| {
            let functions = hotspot.functions.iter().take(most).map(|&(symbol, own, count)| {
                json!({"function": tree.symbol(symbol).name, "self": own, "count": count})
            });
            json!({
                "category": hotspot.category,
                "self": hotspot.own,
                "self_percent": tree.percent(hotspot.own),
                "count": hotspot.count,
                "functions": functions.collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({
        "measure": tree.measure.name,
        "unit": tree.measure.unit.word(),
        "total": tree.total,
        "finding": finding(tree, rules),
        "categories": categories,
    })
}
