//! `diff`: what became slower between two recordings, and whether that breaks a budget.

mod junit;

use std::io::Write;
use std::path::Path;

use clap::{Args, ValueEnum};
use serde_json::json;
use traceloom_analysis::diff::{Amounts, Budget, Diff, DiffRow, Per, Recorded, Side, shown};
use traceloom_analysis::flame::{self, Compared, Picture};
use traceloom_analysis::names::ShortNames;
use traceloom_analysis::{MeasureUnit, TreeSource, mailed};
use traceloom_formats::Output;
use traceloom_input::save::Save;
use traceloom_model::bounds::saturated_i64;

use crate::Outcome;
use crate::numbers::count;
use crate::select::AdjustFlags;
use crate::streams::{self, message, stdout};
use crate::style::Style;
use crate::table::Table;
use crate::table_flags::{SHORTENED, TableFlags, help};
use crate::timing::{Bound, bound};
use crate::trees::{self, TreeFlags, read_recorded};
use crate::usage::Usage;

/// Compare two recordings, of any formats.
#[derive(Args)]
#[command(
    after_help = "The first recording is before, the second after. Functions are the same when their names are alike:\n\
    generics, arguments, hashes of a build and numbers of lambdas and proxies do not count. The chance is how\n\
    likely a difference this large is when nothing changed, where there are samples. Exit code 1 when a\n\
    --fail-if holds.\n\nExamples:\n  \
    traceloom diff monday.jfr tuesday.jfr\n  \
    traceloom diff before/ after/ --per call -o diff.html\n  \
    traceloom diff base.pprof now.pprof --per second --fail-if 'self(com.acme.Foo.bar) > +10%' --junit budget.xml\n  \
    traceloom diff old.folded new.pb.gz --value cpu --per total --sort total\n  \
    traceloom diff dump/ --adjust 'Session.load*0.5'\n  \
    traceloom diff app.jfr --base-since +0s --base-until +60s --since +60s --until +120s"
)]
#[command(mut_arg(
    "rows",
    help("Rows to print; 0 prints all. Without it 30, and all with --json and --csv")
))]
#[command(mut_arg("wide", help(SHORTENED)))]
#[command(mut_arg("json", help("Print one JSON object")))]
pub(crate) struct Options {
    #[command(flatten)]
    tree: TreeFlags,
    /// What values are divided by before they are compared.
    #[arg(long, value_name = "WHAT", default_value = "recording")]
    per: PerFlag,
    /// Sort by the change of this.
    #[arg(long, value_name = "VALUE", default_value = "self")]
    sort: DiffOrder,
    #[command(flatten)]
    table: TableFlags,
    /// Of the first recording only what happened from TIME on. One recording is compared with itself; --since and --until are of
    /// the second then.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = bound, help_heading = "Time")]
    base_since: Option<Bound>,
    /// Of the first recording only what happened before TIME.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = bound, help_heading = "Time")]
    base_until: Option<Bound>,
    /// Draw the difference as a flame graph, `.svg` or `.html`: orange grew, blue shrank, as wide as after. `-` writes the SVG, and
    /// no table, to standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// With `-o -`: write HTML to standard output.
    #[arg(long, requires = "output")]
    html: bool,
    /// Draw it as wide as before, so that what is gone is seen.
    #[arg(long, requires = "output")]
    as_before: bool,
    /// Overwrite files.
    #[arg(long)]
    force: bool,
    /// Fail when this holds, such as `self(com.acme.Foo.bar) > +10%`, `total(FUNCTION) > +5ms`, `total > 2s` or
    /// `calls(FUNCTION) > +0%`; may be repeated.
    #[arg(long, value_name = "CONDITION", value_parser = budget)]
    fail_if: Vec<Budget>,
    /// Write what became of each --fail-if as a JUnit report.
    #[arg(long, value_name = "FILE", requires = "fail_if")]
    junit: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PerFlag {
    /// Nothing: sums as they were recorded.
    Recording,
    /// The seconds that a recording lasted.
    Second,
    /// Its calls, or samples.
    Call,
    /// Its total: shares of the whole in percent.
    Total,
}

impl PerFlag {
    fn per(self) -> Per {
        match self {
            Self::Recording => Per::Recording,
            Self::Second => Per::Second,
            Self::Call => Per::Call,
            Self::Total => Per::Total,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Recording => "recording",
            Self::Second => "second",
            Self::Call => "call",
            Self::Total => "total",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DiffOrder {
    #[value(name = "self")]
    Own,
    Total,
    Count,
}

fn budget(text: &str) -> Result<Budget, String> {
    text.parse::<Budget>().map_err(|error| error.to_string())
}

/// A condition and what became of it.
struct Checked<'o> {
    budget: &'o Budget,
    broken: bool,
    text: String,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let style = Style::new(&options.tree.read.common)?;
    let (diff, doubt) = compare(options)?;
    let mut checked = Vec::new();
    for budget in &options.fail_if {
        let verdict = budget
            .check(&diff)
            .map_err(|error| Usage(format!("--fail-if '{}': {error}", budget.text())))?;
        checked.push(Checked {
            budget,
            broken: verdict.met,
            text: verdict.text,
        });
    }
    if let Some(path) = &options.junit {
        write(path, options.force, &junit::report(&checked))?;
    }
    if let Some(path) = &options.output {
        picture(options, (&diff, &doubt), path)?;
    }
    if options.output.as_deref() == Some("-") {
        return Ok(outcome(&checked));
    }
    let mut rows = rows(options, &diff);
    let all = rows.len();
    rows.truncate(options.table.most(30));
    let mut out = stdout();
    if options.table.json {
        writeln!(out, "{}", as_json(options, &diff, &rows, &checked))?;
    } else if options.table.csv {
        table(options, &diff, &rows).csv(&mut out)?;
    } else {
        writeln!(out, "{}", style.bold(heading(options, &diff)))?;
        let table = table(options, &diff, &rows).whole(options.table.wide);
        table.print_names(&style, &names(&diff), &mut out)?;
        style.say_more(all - rows.len(), "more functions", &mut out)?;
    }
    out.flush()?;
    Ok(outcome(&checked))
}

/// Says which budgets are broken.
fn outcome(checked: &[Checked<'_>]) -> Outcome {
    let broken = checked.iter().filter(|one| one.broken);
    for one in broken.clone() {
        message!("{}: {}", one.budget.text(), one.text);
    }
    match broken.count() {
        0 => Outcome::Done,
        _ => Outcome::Failed,
    }
}

/// Compares two recordings; says what is wrong with them, too.
fn compare(options: &Options) -> anyhow::Result<(Diff, String)> {
    let adjusts = !options.tree.adjust.is_empty();
    let time = &options.tree.read.time;
    let mut base = time.clone();
    let is_other_time = options.base_since.is_some() || options.base_until.is_some();
    if is_other_time {
        base.since = options.base_since;
        base.until = options.base_until;
    }
    let (before, after) = match options.tree.read.paths.as_slice() {
        [before, after] => (before, after),
        [only] if adjusts || is_other_time => (only, only),
        _ => {
            let reason =
                "name two recordings: diff BEFORE AFTER; or one, and --adjust or --base-since";
            return Err(Usage(reason.to_owned()).into());
        }
    };
    let read = |path: &String, adjust, time| {
        let mut flags = TreeFlags {
            adjust,
            compared: true,
            ..options.tree.clone()
        };
        flags.read.paths = vec![path.clone()];
        flags.read.time = time;
        read_recorded(&flags, options.output.is_some() || adjusts)
    };
    let first = read(before, AdjustFlags::default(), base)?;
    let second = read(after, options.tree.adjust.clone(), time.clone())?;
    let Some((one, other)) = in_common(&first, &second) else {
        anyhow::bail!(
            "the recordings have no value in common: {before} has {}, {after} has {}; --value chooses, \
             convert --as-samples tells calls as samples",
            values(&first),
            values(&second)
        );
    };
    let diff = Diff::new(one, other, options.per.per())
        .map_err(|error| Usage(format!("--per {}: {error}", options.per.word())))?;
    let mut doubts = first.doubts.clone();
    doubts.extend(second.doubts.iter().cloned());
    doubts.dedup();
    Ok((diff, doubts.join("; ")))
}

/// Chooses the value that both have under one name; where both have only one, names may differ.
fn in_common<'t>(
    first: &'t trees::RecordingTrees,
    second: &'t trees::RecordingTrees,
) -> Option<(Recorded<'t>, Recorded<'t>)> {
    let pairs: Vec<_> = sides(second)
        .flat_map(|after| sides(first).map(move |before| (before, after)))
        .collect();
    let same = |(before, after): &&(Recorded<'_>, Recorded<'_>)| {
        let (one, other) = (&before.tree.measure, &after.tree.measure);
        one.unit == other.unit && one.source == other.source && one.merge == other.merge
    };
    let named = |(before, after): &&(Recorded<'_>, Recorded<'_>)| {
        before.tree.measure.name == after.tree.measure.name
    };
    let by_name = pairs.iter().find(|pair| same(pair) && named(pair));
    let only = pairs.first().filter(|pair| pairs.len() == 1 && same(pair));
    by_name.or(only).copied()
}

fn sides(of: &trees::RecordingTrees) -> impl Iterator<Item = Recorded<'_>> {
    let known = of.periods.iter().copied().zip(&of.functions);
    let sides = of.trees.iter().zip(known);
    sides.map(|(tree, (period, functions))| Recorded {
        tree,
        functions: functions.as_ref(),
        seconds: of.seconds,
        period,
    })
}

fn values(of: &trees::RecordingTrees) -> String {
    let titles = of.trees.iter().map(|tree| {
        let counted = match tree.measure.source {
            TreeSource::Spans => "calls",
            TreeSource::Samples => "samples",
        };
        format!("{} of {counted}", tree.measure.title())
    });
    titles.collect::<Vec<_>>().join(", ")
}

fn rows(options: &Options, diff: &Diff) -> Vec<DiffRow> {
    let mut rows = diff.rows.clone();
    rows.sort_by(|a, b| diff.order(a, b, |amounts| value(options.sort, amounts)));
    rows
}

fn value(sort: DiffOrder, amounts: &Amounts) -> i64 {
    match sort {
        DiffOrder::Own => amounts.own,
        DiffOrder::Total => amounts.total,
        DiffOrder::Count => saturated_i64(amounts.count),
    }
}

fn heading(options: &Options, diff: &Diff) -> String {
    let counted = match diff.measure.source {
        TreeSource::Spans => "calls",
        TreeSource::Samples => "samples",
    };
    let (before, after) = (diff.before.tree.total, diff.after.tree.total);
    let per = match options.per {
        PerFlag::Recording => String::new(),
        per => format!(", per {}", per.word()),
    };
    let unit = &diff.measure.unit;
    let of = |value: f64| match options.per {
        PerFlag::Total => String::new(),
        _ => shown(unit, diff.per, value) + " ",
    };
    format!(
        "{} of {counted}{per}: {}in {} before, {}in {} after{}",
        diff.measure.title(),
        of(diff.of_before(before)),
        count(diff.before.calls),
        of(diff.of_after(after)),
        count(diff.after.calls),
        match diff.percent(before, after) {
            Some(percent) if options.per != PerFlag::Total => format!(" ({percent:+.1} %)"),
            _ => String::new(),
        }
    )
}

fn table(options: &Options, diff: &Diff, rows: &[DiffRow]) -> Table {
    let sampled = diff.measure.source == TreeSource::Samples;
    let mut head = vec!["self before", "after", "change", "%"];
    if sampled {
        head.push("chance");
    }
    head.extend(["total before", "after", "change", "%"]);
    if sampled {
        head.push("chance");
    }
    head.extend([
        if sampled { "samples" } else { "calls" },
        "after",
        "function",
    ]);
    let headings: Vec<String> = CSV.iter().map(|name| csv_heading(name, diff)).collect();
    if options.table.csv {
        head = headings.iter().map(String::as_str).collect();
    }
    let mut table = Table::new(&head);
    let names = names(diff);
    let amount = |unit: &MeasureUnit, value: f64| {
        if options.table.is_exact() {
            format!("{value}")
        } else {
            shown(unit, diff.per, value)
        }
    };
    for row in rows {
        let mut cells = Vec::new();
        for (before, after, chance) in [
            (row.before.own, row.after.own, row.own_chance),
            (row.before.total, row.after.total, row.total_chance),
        ] {
            let unit = &diff.measure.unit;
            cells.push(amount(unit, diff.of_before(before)));
            cells.push(amount(unit, diff.of_after(after)));
            let change = diff.change(before, after);
            cells.push(match change {
                change if options.table.csv => amount(unit, change),
                0.0 => "0".to_owned(),
                change if change > 0.0 => format!("+{}", amount(unit, change)),
                change => amount(unit, change),
            });
            cells.push(match diff.percent(before, after) {
                Some(percent) if options.table.csv => format!("{percent}"),
                Some(percent) => format!("{percent:+.1}"),
                None if options.table.csv => String::new(),
                None if after == 0 => "-".to_owned(),
                None => "new".to_owned(),
            });
            match chance {
                Some(chance) if options.table.csv => cells.push(format!("{chance}")),
                Some(chance) => cells.push(chance_text(chance)),
                None if options.table.csv => cells.push(String::new()),
                None => {}
            }
        }
        for calls in [row.before.count, row.after.count] {
            cells.push(if options.table.csv {
                calls.to_string()
            } else {
                count(calls)
            });
        }
        let name = diff.symbol(row.symbol).map_or("", |symbol| &symbol.name);
        cells.push(if options.table.wide || options.table.csv {
            name.to_owned()
        } else {
            names.show(name).into_owned()
        });
        table.row(cells);
    }
    table
}

/// The functions of both recordings.
fn names(diff: &Diff) -> ShortNames<'_> {
    ShortNames::new(diff.symbols.iter().map(|symbol| symbol.name.as_str()))
}

const CSV: [&str; 13] = [
    "self_before",
    "self_after",
    "self_change",
    "self_percent",
    "self_chance",
    "total_before",
    "total_after",
    "total_change",
    "total_percent",
    "total_chance",
    "count_before",
    "count_after",
    "function",
];

/// Returns a heading in CSV with the unit of its numbers.
fn csv_heading(name: &str, diff: &Diff) -> String {
    let unit = diff.measure.unit.word();
    match (name.rsplit_once('_'), diff.per) {
        (Some((_, "percent")), _) => format!("{name} (%)"),
        (Some((_, "chance")) | None, _) | (Some(("count", _)), _) => name.to_owned(),
        (_, Per::Total) => format!("{name} (%)"),
        (_, Per::Second) => format!("{name} ({unit}/s)"),
        (_, Per::Call) => format!("{name} ({unit}/call)"),
        (_, Per::Recording) => format!("{name} ({unit})"),
    }
}

fn chance_text(chance: f64) -> String {
    if chance < 0.000_1 {
        "<0.0001".to_owned()
    } else {
        format!("{chance:.4}")
    }
}

fn as_json(
    options: &Options,
    diff: &Diff,
    rows: &[DiffRow],
    checked: &[Checked<'_>],
) -> serde_json::Value {
    let amounts = |amounts: &Amounts, of: &dyn Fn(i64) -> f64| json!({"self": of(amounts.own), "total": of(amounts.total), "count": amounts.count});
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            json!({
                "function": diff.symbol(row.symbol).map(|symbol| &symbol.name),
                "before": amounts(&row.before, &|value| diff.of_before(value)),
                "after": amounts(&row.after, &|value| diff.of_after(value)),
                "self_change": diff.change(row.before.own, row.after.own),
                "self_percent": diff.percent(row.before.own, row.after.own),
                "self_chance": row.own_chance,
                "total_change": diff.change(row.before.total, row.after.total),
                "total_percent": diff.percent(row.before.total, row.after.total),
                "total_chance": row.total_chance,
            })
        })
        .collect();
    let side = |side: &Side, of: &dyn Fn(i64) -> f64| json!({"total": of(side.tree.total), "count": side.calls, "seconds": side.seconds});
    let budgets: Vec<_> = checked
        .iter()
        .map(
            |one| json!({"condition": one.budget.text(), "failed": one.broken, "values": one.text}),
        )
        .collect();
    json!({
        "measure": diff.measure.name,
        "unit": diff.measure.unit.word(),
        "per": options.per.word(),
        "before": side(&diff.before, &|value| diff.of_before(value)),
        "after": side(&diff.after, &|value| diff.of_after(value)),
        "functions": rows,
        "fail_if": budgets,
    })
}

fn picture(options: &Options, (diff, doubt): (&Diff, &str), path: &str) -> anyhow::Result<()> {
    let extension = Path::new(path).extension().and_then(|name| name.to_str());
    let compared = Compared::new(diff, options.as_before);
    let (tree, other) = match options.as_before {
        false => (&diff.after.tree, &diff.before.tree),
        true => (&diff.before.tree, &diff.after.tree),
    };
    let mirrored = Compared::new(diff, !options.as_before);
    let paths = options.tree.read.paths.iter().map(|path| mailed(path));
    let title = paths.collect::<Vec<_>>().join(" → ");
    let picture = Picture {
        title: &title,
        doubt,
        short_names: !options.table.wide,
        changes: Some(&compared),
        other: Some((other, &mirrored)),
        ..Picture::default()
    };
    let text = match extension {
        _ if path == "-" && options.html => flame::html(std::slice::from_ref(tree), &picture),
        _ if path == "-" => flame::svg(tree, &picture),
        Some("svg") => flame::svg(tree, &picture),
        Some("html" | "htm") => flame::html(std::slice::from_ref(tree), &picture),
        _ => return Err(Usage(format!("-o {path}: end the name in .svg or .html")).into()),
    };
    if path == "-" {
        return Ok(streams::raw(text.as_bytes())?);
    }
    write(path, options.force, &text)
}

fn write(path: &str, force: bool, text: &str) -> anyhow::Result<()> {
    let mut save = Save::start(Path::new(path), false, force)?;
    save.write("", text.as_bytes())?;
    Ok(save.commit()?)
}
