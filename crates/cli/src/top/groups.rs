//! `top --by`: functions of each group.

use std::io::{self, Write};

use serde_json::json;
use traceloom_analysis::{Functions, GroupTop, TopRow, top_of_groups};

use super::{
    Options, ROWS, cells, functions_json, head, heading, measure_json, rows_table,
};
use crate::Outcome;
use crate::style::{Style, count};
use crate::table::Table;
use crate::trees::read;

/// Functions shown of each group.
const SHOWN: usize = 5;

pub(super) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let style = Style::new(&options.tree.common)?;
    let flags = options.groups.of(&options.tree);
    let mut among = flags.inputs();
    let mut out = io::stdout().lock();
    for tree in read(&flags, &mut among)? {
        let mut groups = top_of_groups(&tree);
        let functions = Functions::of(tree);
        groups.retain(|group| {
            let share = functions.percent(group.sum.total);
            share.is_none_or(|share| share >= options.min_percent)
        });
        for group in &mut groups {
            options.choose(&mut group.rows, &functions, options.most(SHOWN));
        }
        if options.json {
            writeln!(out, "{}", as_json(options, &functions, &groups))?;
        } else if options.csv {
            csv(&functions, &groups).csv(&mut out)?;
        } else {
            print(options, &functions, &groups, &style, &mut out)?;
        }
    }
    Ok(among.outcome())
}

/// The groups first, then a table of functions for each.
fn print(
    options: &Options,
    of: &Functions,
    groups: &[GroupTop],
    style: &Style,
    out: &mut impl Write,
) -> io::Result<()> {
    let shown = groups.len().min(options.most(ROWS));
    let shown = groups.get(..shown).unwrap_or(groups);
    let mut sums = Table::new(&head(of, &[], &options.groups.word()));
    for group in shown {
        sums.row(cells(of, &group.sum, &[], options.wide));
    }
    writeln!(out, "{}", style.bold(heading(&of.measure, of.total)))?;
    sums.print(style, out)?;
    if shown.len() < groups.len() {
        let more = count((groups.len() - shown.len()) as u64);
        let text = format!("{more} more groups; -n 0 prints all");
        writeln!(out, "{}", style.dim(text))?;
    }
    for group in shown {
        let name = of.symbol(group.sum.symbol).short_name();
        writeln!(out, "\n{}", style.bold(name))?;
        rows_table(of, &group.rows, &[], options.wide).print(style, out)?;
    }
    Ok(())
}

/// A row for each group, without function, then its functions.
fn csv(of: &Functions, groups: &[GroupTop]) -> Table {
    let mut names = vec!["group"];
    names.extend(head(of, &[], "function"));
    let mut table = Table::new(&names);
    for group in groups {
        let name = &of.symbol(group.sum.symbol).name;
        let mut sum = cells(of, &group.sum, &[], true);
        sum.pop();
        sum.push(String::new());
        table.row(std::iter::once(name.clone()).chain(sum));
        for row in &group.rows {
            let row = cells(of, row, &[], true);
            table.row(std::iter::once(name.clone()).chain(row));
        }
    }
    table
}

fn as_json(options: &Options, of: &Functions, groups: &[GroupTop]) -> serde_json::Value {
    let groups = groups.iter().map(|group| {
        let TopRow {
            own, total, count, ..
        } = group.sum;
        json!({
            "group": of.symbol(group.sum.symbol).name,
            "self": own,
            "total": total,
            "count": count,
            "total_percent": of.percent(total),
            "functions": functions_json(of, &group.rows, &[]),
        })
    });
    let mut object = measure_json(of);
    object["by"] = options.groups.word().into();
    object["groups"] = groups.collect();
    object
}
