//! `top --by`: functions of each group.

use std::io::{self, Write};

use serde_json::json;
use traceloom_analysis::names::ShortNames;
use traceloom_analysis::{CallTree, Functions, GroupTop, TopRow, top_of_groups};

use super::{
    FunctionDetails, Options, ROWS, cells, csv_cells, csv_head, functions_json, head, heading,
    measure_json, rows_table,
};
use crate::Outcome;
use crate::percentiles;
use crate::streams::stdout;
use crate::style::Style;
use crate::table::Table;
use crate::trees::{Measures, read};

/// Functions shown of each group.
const SHOWN: usize = 5;

pub(super) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let style = Style::new(&options.tree.read.common)?;
    let flags = options.flags()?;
    let mut inputs = flags.read.inputs();
    let mut out = stdout();
    let trees = read(&flags, &mut inputs)?;
    options.mention(trees.iter().any(|tree| !tree.durations.is_empty()));
    let names: Vec<String> = trees
        .iter()
        .flat_map(CallTree::function_names)
        .map(str::to_owned)
        .collect();
    let names = ShortNames::new(names.iter().map(String::as_str));
    let mut measures = Measures::default();
    for tree in trees {
        let mut groups = top_of_groups(&tree);
        let functions = Functions::of(tree);
        groups.retain(|group| {
            let sum = &group.sum;
            if sum.count == 0 && sum.total == 0 && sum.own == 0 {
                return false;
            }
            let share = functions.percent(group.sum.total);
            share.is_none_or(|share| share.abs() >= options.min_percent)
        });
        for group in &mut groups {
            options.choose(&mut group.rows, &functions, options.table.most(SHOWN));
        }
        if options.table.is_for_programs() {
            groups.truncate(options.table.most(usize::MAX));
        }
        if options.table.json {
            writeln!(out, "{}", as_json(options, &functions, &groups))?;
        } else if options.table.csv {
            measures.add(&functions.measure, csv(options, &functions, &groups));
        } else {
            print(options, (&functions, &names), &groups, &style, &mut out)?;
        }
    }
    if options.table.csv {
        measures.csv(&mut out)?;
    }
    Ok(inputs.outcome())
}

/// What is shown of the functions of a group.
fn shown<'t>(options: &Options, group: &'t GroupTop) -> FunctionDetails<'t> {
    FunctionDetails {
        durations: options.percentiles.then_some(&group.durations),
        ..FunctionDetails::default()
    }
}

/// The groups first, then a table of functions for each.
fn print(
    options: &Options,
    (of, names): (&Functions, &ShortNames<'_>),
    groups: &[GroupTop],
    style: &Style,
    out: &mut impl Write,
) -> io::Result<()> {
    let most = groups.len().min(options.table.most(ROWS));
    let listed = groups.get(..most).unwrap_or(groups);
    let timed = listed
        .first()
        .map_or_else(FunctionDetails::default, |one| shown(options, one));
    let partial = listed.iter().any(|group| group.sum.partial > 0);
    let mut sums = Table::new(&head(of, timed, partial, &options.group_word()));
    for group in listed {
        let symbol = of.symbol(group.sum.symbol);
        let name = match options.table.wide {
            true => symbol.name.as_str().into(),
            false => symbol.short_name(),
        };
        let also = shown(options, group);
        sums.row(cells(
            of,
            &group.sum,
            also,
            partial,
            &name,
            options.table.wide,
        ));
    }
    writeln!(
        out,
        "{}",
        style.bold(heading(&of.measure, of.total, of.shares_of()))
    )?;
    sums.whole(options.table.wide).print(style, out)?;
    style.say_more(groups.len() - listed.len(), "more groups", out)?;
    for group in listed {
        let name = of.symbol(group.sum.symbol).short_name();
        writeln!(out, "\n{}", style.bold(name))?;
        let also = shown(options, group);
        let table = rows_table(of, &group.rows, also, names, options.table.wide);
        table
            .whole(options.table.wide)
            .print_names(style, names, out)?;
    }
    Ok(())
}

/// A row for each group, without function, then its functions.
fn csv(options: &Options, of: &Functions, groups: &[GroupTop]) -> Table {
    let timed = groups
        .first()
        .map_or_else(FunctionDetails::default, |one| shown(options, one));
    let mut names = vec!["group".to_owned()];
    names.extend(csv_head(of, timed));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut table = Table::new(&names);
    for group in groups {
        let name = &of.symbol(group.sum.symbol).name;
        let also = shown(options, group);
        let mut sum = csv_cells(of, &group.sum, also);
        sum.pop();
        sum.push(String::new());
        table.row(std::iter::once(name.clone()).chain(sum));
        for row in &group.rows {
            table.row(std::iter::once(name.clone()).chain(csv_cells(of, row, also)));
        }
    }
    table
}

fn as_json(options: &Options, of: &Functions, groups: &[GroupTop]) -> serde_json::Value {
    let groups = groups.iter().map(|group| {
        let TopRow {
            symbol,
            own,
            total,
            count,
            ..
        } = group.sum;
        let also = shown(options, group);
        let mut object = json!({
            "group": of.symbol(symbol).name,
            "self": own,
            "total": total,
            "count": count,
            "total_percent": of.percent(total),
            "functions": functions_json(of, &group.rows, also),
        });
        if let Some(durations) = also.durations() {
            object["durations"] = percentiles::as_json(durations.get(symbol));
        }
        object
    });
    let mut object = measure_json(of);
    object["by"] = options.group_word().into();
    object["groups"] = groups.collect();
    object
}
