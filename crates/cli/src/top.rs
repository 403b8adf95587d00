//! `top`: functions by their own time or value.

mod direct;
mod groups;
mod hotspots;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::io::Write;

use clap::{Args, ValueEnum};
use serde_json::json;
use traceloom_analysis::hotspots::Categories;
use traceloom_analysis::names::ShortNames;
use traceloom_analysis::{
    Durations, Functions, Measure, MeasureUnit, Symbol, TopRow, TreeSource, finding,
};
use traceloom_model::{Merge, Scope, printable};

use crate::Outcome;
use crate::dimension::DimensionFlags;
use crate::groups::GroupFlags;
use crate::numbers::count;
use crate::percentiles;
use crate::streams::{message, stdout, stdout_is_terminal};
use crate::style::Style;
use crate::table::Table;
use crate::table_flags::{SHORTENED, TableFlags, help};
use crate::trees::{
    Measures, TreeFlags, amount, heading_of, read_functions, read_lines, read_statistics, share,
    share_number, tracks_json,
};
use crate::usage::Usage;
use direct::DirectFlags;
use hotspots::HotspotFlags;

/// Print functions by their own time or value.
#[derive(Args)]
#[command(
    after_help = "Self is the function alone, total includes what it called; 100 % is all root calls. On a terminal a sentence says what takes most.\n\n\
    Examples:\n  \
    traceloom top dump/\n  \
    traceloom top dump/ --filter '+GET -health' --min-duration 500ms\n  \
    traceloom top cpu.pprof --value cpu --focus '^com.acme'\n  \
    traceloom top dump/ --hotspots\n  \
    traceloom top dump/ --by thread\n  \
    traceloom top dump/ --adjust 'Session.load*0.5' --adjust 'audit=0'\n  \
    traceloom top dump/ --outgoing 'OrderService.buy$'"
)]
#[command(mut_arg(
    "rows",
    help(
        "Rows to print; 0 prints all. Without it 30, of groups 5 each, and all with --json and --csv"
    )
))]
#[command(mut_arg("wide", help(SHORTENED)))]
#[command(mut_arg("json", help("Print one JSON object a measure")))]
#[command(mut_arg("paths", |arg| arg.required(false).required_unless_present("categories")))]
pub(crate) struct Options {
    #[command(flatten)]
    tree: TreeFlags,
    #[command(flatten)]
    table: TableFlags,
    /// Sort by this column.
    #[arg(long, value_name = "COLUMN", default_value = "self")]
    sort: TopOrder,
    /// Only functions with at least this share of the total.
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0)]
    min_percent: f64,
    /// Show how long most calls of a function took, and the longest: exact up to 128 calls, within 0.8 % beyond.
    #[arg(long, conflicts_with = "adjust")]
    percentiles: bool,
    #[command(flatten)]
    groups: GroupFlags,
    #[command(flatten)]
    direct: DirectFlags,
    #[command(flatten)]
    hotspots: HotspotFlags,
    #[command(flatten)]
    dimension: DimensionFlags,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TopOrder {
    #[value(name = "self")]
    Own,
    Total,
    Count,
}

/// Rows printed when nobody says how many.
const ROWS: usize = 30;

impl Options {
    /// Returns what is asked of the reading.
    fn flags(&self) -> anyhow::Result<TreeFlags> {
        let grouped = self.tree.grouped(&self.groups()?);
        Ok(TreeFlags {
            durations: self.percentiles,
            ..self.dimension.reading(grouped)
        })
    }

    /// Returns what is grouped by, as a heading.
    fn group_word(&self) -> String {
        self.groups()
            .map_or_else(|_| String::new(), |groups| groups.word())
    }

    /// Returns what the rows are groups of.
    fn groups(&self) -> anyhow::Result<GroupFlags> {
        self.dimension.groups(&self.groups)
    }

    /// Says so when percentiles are asked for and nothing has a duration.
    fn mention(&self, any: bool) {
        if self.percentiles && !any {
            message!("--percentiles: samples are points in time, only calls have durations");
        }
    }

    /// Returns `true` if a sentence says what takes most.
    ///
    /// It needs the call tree, which takes longer than a table of functions and more memory: a person at a terminal
    /// gets it, a pipe and a file get the table alone.
    fn says_finding(&self) -> bool {
        stdout_is_terminal() && !self.table.is_for_programs()
    }

    /// Keeps the rows to be shown, in their order, and returns how many there were.
    fn choose(&self, rows: &mut Vec<TopRow>, of: &Functions, most: usize) -> usize {
        rows.retain(|row| {
            let share = of.percent(row.total);
            share.is_none_or(|share| share.abs() >= self.min_percent)
        });
        let first = |a: &TopRow, b: &TopRow| match self.sort {
            TopOrder::Own => Ordering::Equal,
            TopOrder::Total => b.total.unsigned_abs().cmp(&a.total.unsigned_abs()),
            TopOrder::Count => b.count.cmp(&a.count),
        };
        let all = rows.len();
        // Most are out by their values alone, before anybody asks for their names.
        if most < all
            && let Some(edge) = most.checked_sub(1)
        {
            let values = |a: &TopRow, b: &TopRow| first(a, b).then_with(|| a.by_value(b));
            let (_, &mut edge, _) = rows.select_nth_unstable_by(edge, values);
            rows.retain(|row| values(row, &edge).is_le());
        }
        rows.sort_unstable_by(|a, b| first(a, b).then_with(|| of.order(a, b)));
        rows.truncate(most);
        all
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    if options.tree.read.paths.is_empty() && !options.hotspots.prints_rules() {
        let reason =
            "name a PATH; without one, `--categories default` prints the rules that come along";
        return Err(Usage(reason.to_owned()).into());
    }
    let groups = options.groups()?;
    let is_plain =
        groups.is_empty() && options.direct.wanted().is_none() && !options.hotspots.wanted();
    if options.dimension.of().is_some() && !is_plain {
        let reason = "--dimension goes with neither --by, --hotspots nor direct calls";
        return Err(Usage(reason.to_owned()).into());
    }
    if options.hotspots.wanted() {
        return hotspots::run(options);
    }
    if let Some((direction, of)) = options.direct.wanted() {
        return direct::run(options, direction, of);
    }
    if !groups.is_empty() {
        return groups::run(options);
    }
    let style = Style::new(&options.tree.read.common)?;
    let mut out = stdout();
    let flags = options.flags()?;
    let mut inputs = flags.read.inputs();
    let mut findings: Vec<Option<String>> = Vec::new();
    let [mut tables, beside] = match options.dimension.of() {
        Some(_) => {
            let trees = options.dimension.trees(read_lines(&flags, &mut inputs)?);
            [trees.into_iter().map(Functions::of).collect(), Vec::new()]
        }
        None if options.says_finding() => {
            let [trees, beside] = read_statistics(&flags, &mut inputs)?;
            let rules = Categories::default();
            findings.extend(trees.iter().map(|tree| finding(tree, &rules)));
            [trees, beside].map(|trees| trees.into_iter().map(Functions::of).collect())
        }
        None => read_functions(&flags, &mut inputs)?,
    };
    findings.resize(tables.len(), None);
    options.mention(tables.iter().any(|table| !table.durations.is_empty()));
    let beside: Vec<ExtraColumn> = beside.iter().map(ExtraColumn::of).collect();
    let rows: Vec<Vec<TopRow>> = tables
        .iter_mut()
        .map(|table| std::mem::take(&mut table.rows))
        .collect();
    let names = ShortNames::new(tables.iter().flat_map(|table| table.symbols.names()));
    let mut measures = Measures::default();
    for ((table, mut rows), finding) in tables.iter().zip(rows).zip(findings) {
        let beside = match table.measure.source {
            TreeSource::Spans => &[][..],
            TreeSource::Samples => &beside,
        };
        let shown = FunctionDetails {
            beside,
            durations: options.percentiles.then_some(&table.durations),
        };
        let all = options.choose(&mut rows, table, options.table.most(ROWS));
        if options.table.json {
            writeln!(out, "{}", as_json(table, &rows, shown))?;
        } else if options.table.csv {
            measures.add(&table.measure, csv(table, &rows, shown));
        } else {
            writeln!(
                out,
                "{}",
                style.bold(heading(&table.measure, table.total, table.shares_of()))
            )?;
            if let Some(finding) = finding {
                writeln!(out, "{}", printable(&finding))?;
            }
            rows_table(table, &rows, shown, &names, options.table.wide)
                .whole(options.table.wide)
                .print_names(&style, &names, &mut out)?;
            style.say_more(all - rows.len(), "more functions", &mut out)?;
        }
    }
    if options.table.csv {
        measures.csv(&mut out)?;
    }
    Ok(inputs.outcome())
}

/// Names a measure with its total, and what shares are of where that is something else.
pub(crate) fn heading(measure: &Measure, total: i64, shares_of: Option<(&str, i64)>) -> String {
    let what = match measure.source {
        TreeSource::Spans => "of calls",
        TreeSource::Samples => "of samples",
    };
    let shares_of = shares_of.map_or_else(String::new, |(what, value)| {
        format!(", {what} {}", amount(&measure.unit, value))
    });
    format!(
        "{} {what}, total {}{shares_of}",
        measure.title(),
        amount(&measure.unit, total)
    )
}

fn count_word(of: &Functions) -> &'static str {
    match of.measure.source {
        TreeSource::Spans => "calls",
        TreeSource::Samples => "samples",
    }
}

/// Another column of a statistic, such as the shortest call: its value by function.
struct ExtraColumn {
    name: String,
    unit: MeasureUnit,
    values: HashMap<String, i64>,
}

impl ExtraColumn {
    fn of(table: &Functions) -> Self {
        let measure = &table.measure;
        let inclusive = measure.scope == Scope::Inclusive && measure.merge == Merge::Sum;
        let values = table.rows.iter().filter(|row| row.count > 0);
        let values = values.map(|row| {
            let symbol = table.symbol(row.symbol);
            let value = if inclusive { row.total } else { row.own };
            (symbol.name.clone(), value)
        });
        Self {
            name: measure.name.clone(),
            unit: measure.unit.clone(),
            values: values.collect(),
        }
    }

    fn value(&self, symbol: &Symbol) -> Option<i64> {
        self.values.get(&symbol.name).copied()
    }
}

/// What is shown of a function besides its values.
#[derive(Clone, Copy, Default)]
struct FunctionDetails<'t> {
    /// Other columns of statistics.
    beside: &'t [ExtraColumn],
    durations: Option<&'t Durations>,
}

impl<'t> FunctionDetails<'t> {
    /// How long calls took, where there are columns for it.
    fn durations(&self) -> Option<&'t Durations> {
        self.durations.filter(|durations| !durations.is_empty())
    }
}

fn rows_table(
    of: &Functions,
    rows: &[TopRow],
    also: FunctionDetails<'_>,
    names: &ShortNames<'_>,
    wide: bool,
) -> Table {
    let partial = rows.iter().any(|row| row.partial > 0);
    let mut table = Table::new(&head(of, also, partial, "function"));
    for row in rows {
        let symbol = of.symbol(row.symbol);
        let name = match wide {
            true => symbol.name.as_str().into(),
            false => names.show(&symbol.name),
        };
        table.row(cells(of, row, also, partial, &name, wide));
    }
    table
}

fn head<'h>(
    of: &Functions,
    also: FunctionDetails<'h>,
    partial: bool,
    what: &'h str,
) -> Vec<&'h str> {
    let mut head = vec!["self", "self%", "total", "total%", count_word(of)];
    head.extend(partial.then_some("partial"));
    if also.durations().is_some() {
        head.extend(percentiles::head());
    }
    head.extend(also.beside.iter().map(|column| column.name.as_str()));
    head.push(what);
    head
}

fn cells(
    of: &Functions,
    row: &TopRow,
    also: FunctionDetails<'_>,
    partial: bool,
    name: &str,
    wide: bool,
) -> Vec<String> {
    let symbol = of.symbol(row.symbol);
    let unit = &of.measure.unit;
    let shown = |value| {
        if wide {
            value_text(value, unit)
        } else {
            amount(unit, value)
        }
    };
    let mut cells = vec![
        shown(row.own),
        share(of.percent(row.own)),
        shown(row.total),
        share(of.percent(row.total)),
        if wide {
            row.count.to_string()
        } else {
            count(row.count)
        },
    ];
    cells.extend(partial.then(|| match row.partial {
        0 => String::new(),
        partial if wide => partial.to_string(),
        partial => count(partial),
    }));
    if let Some(durations) = also.durations() {
        cells.extend(percentiles::cells(durations.get(row.symbol), wide));
    }
    cells.extend(also.beside.iter().map(|column| match column.value(symbol) {
        None => String::new(),
        Some(value) if wide => value_text(value, &column.unit),
        Some(value) => amount(&column.unit, value),
    }));
    cells.push(name.to_owned());
    cells
}

/// The table in CSV: bare numbers under headings with their unit, full names.
fn csv(of: &Functions, rows: &[TopRow], also: FunctionDetails<'_>) -> Table {
    let head = csv_head(of, also);
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut table = Table::new(&head);
    for row in rows {
        table.row(csv_cells(of, row, also));
    }
    table
}

fn csv_head(of: &Functions, also: FunctionDetails<'_>) -> Vec<String> {
    let unit = &of.measure.unit;
    let mut head = vec![
        heading_of("self", unit),
        "self%".to_owned(),
        heading_of("total", unit),
        "total%".to_owned(),
        count_word(of).to_owned(),
        "partial".to_owned(),
    ];
    if also.durations().is_some() {
        head.extend(percentiles::csv_head());
    }
    let beside = also.beside.iter();
    head.extend(beside.map(|column| heading_of(&column.name, &column.unit)));
    head.push("function".to_owned());
    head
}

fn csv_cells(of: &Functions, row: &TopRow, also: FunctionDetails<'_>) -> Vec<String> {
    let symbol = of.symbol(row.symbol);
    let mut cells = vec![
        row.own.to_string(),
        share_number(of.percent(row.own)),
        row.total.to_string(),
        share_number(of.percent(row.total)),
        row.count.to_string(),
        row.partial.to_string(),
    ];
    if let Some(durations) = also.durations() {
        cells.extend(percentiles::cells(durations.get(row.symbol), true));
    }
    let beside = also.beside.iter().map(|column| column.value(symbol));
    cells.extend(beside.map(|value| value.map_or_else(String::new, |value| value.to_string())));
    cells.push(symbol.name.clone());
    cells
}

fn value_text(value: i64, unit: &MeasureUnit) -> String {
    format!("{value} {}", unit.word()).trim().to_owned()
}

fn as_json(of: &Functions, rows: &[TopRow], also: FunctionDetails<'_>) -> serde_json::Value {
    let mut object = measure_json(of);
    object["functions"] = functions_json(of, rows, also);
    object
}

fn measure_json(of: &Functions) -> serde_json::Value {
    let mut object = json!({
        "measure": of.measure.name,
        "event_type": of.measure.event,
        "unit": of.measure.unit.word(),
        "source": count_word(of),
        "total": of.total,
    });
    if let Some((what, value)) = of.shares_of() {
        object[what] = value.into();
    }
    if let Some(rules) = &of.measure.adjusted {
        object["adjusted"] = rules.as_str().into();
    }
    tracks_json(&of.measure, &mut object);
    object
}

fn functions_json(of: &Functions, rows: &[TopRow], also: FunctionDetails<'_>) -> serde_json::Value {
    let rows = rows.iter().map(|row| {
        let symbol = of.symbol(row.symbol);
        let mut object = json!({
            "function": symbol.name,
            "self": row.own,
            "total": row.total,
            "count": row.count,
            "partial": row.partial,
            "self_percent": of.percent(row.own),
            "total_percent": of.percent(row.total),
        });
        if let Some(durations) = also.durations() {
            object["durations"] = percentiles::as_json(durations.get(row.symbol));
        }
        if !also.beside.is_empty() {
            let values = also.beside.iter();
            let values = values.map(|column| (column.name.clone(), json!(column.value(symbol))));
            object["values"] = values.collect::<serde_json::Map<_, _>>().into();
        }
        object
    });
    rows.collect()
}
