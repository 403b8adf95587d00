//! `events`: the types of events, and the events of a type as a table.

mod collect;
mod column;
mod value;

use std::io::{self, Write};

use clap::Args;
use serde_json::json;
use traceloom_analysis::filter::Filter;
use traceloom_analysis::stage::Sift;
use traceloom_formats::{LowerOptions, Source};
use traceloom_input::Input;
use traceloom_model::Concat;

use self::collect::{Collect, EventKind, Pattern};
use self::column::{Column, Columns};
use self::value::Cell;
use crate::Outcome;
use crate::args::{Common, Usage, nearest};
use crate::lowered::{documents, mention};
use crate::open::{Among, with_progress};
use crate::select::EventFlags;
use crate::style::{Style, count, duration};
use crate::table::Table;
use crate::timing::{TimeFlags, Timing};

/// List the types of events, or print the events of a type.
#[derive(Args)]
#[command(
    after_help = "Without --type: every type of event with how many there are. Any format that has events has types: \
    recordings of the JDK, pauses of CDT dumps, garbage collections and monitors of TPTP traces, points of line protocol.\n\n\
    Columns are `time`, `end`, `duration`, `thread`, `owner`, `object`, `stack`, `type` and the fields of the type; a dot \
    reaches into a field (`heapSpace.committedSize`), and a dot in front means the field where both exist.\n\nExamples:\n  \
    traceloom events app.jfr\n  \
    traceloom events app.jfr --type jdk.GarbageCollection --columns time,name,cause,sumOfPauses\n  \
    traceloom events app.jfr --type JavaMonitorEnter --sort -duration -n 20\n  \
    traceloom events app.jfr --type JavaMonitorEnter --filter 'duration > 10ms and thread ~ exec'\n  \
    traceloom events app.jfr --type 'jdk.Socket*' --csv > sockets.csv"
)]
pub(crate) struct Options {
    /// Files, folders, archives, or `-`.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<String>,
    /// Print the events of this type; its last word is enough, `*` stands for anything, may be repeated.
    #[arg(long = "type", value_name = "NAME", value_delimiter = ',')]
    types: Vec<String>,
    #[command(flatten)]
    choice: EventFlags,
    /// Columns to print.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "types")]
    columns: Vec<String>,
    /// Sort by a column, `-` before its name for falling order.
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    sort: Option<String>,
    /// Rows to print; 0 prints all.
    #[arg(short = 'n', long, value_name = "ROWS", default_value_t = 0)]
    rows: usize,
    /// Print full names, whole stacks and exact numbers.
    #[arg(long)]
    wide: bool,
    /// Print JSON Lines: one event a line, or one type.
    #[arg(long)]
    json: bool,
    /// Print comma-separated values, numbers exact in the unit of their heading.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    #[command(flatten)]
    time: TimeFlags,
    #[command(flatten)]
    common: Common,
}

/// A column to sort by, and whether from the largest down.
struct Order<'o> {
    name: &'o str,
    falling: bool,
}

impl Options {
    fn order(&self) -> Option<Order<'_>> {
        self.sort.as_deref().map(|name| Order {
            name: name.strip_prefix('-').unwrap_or(name),
            falling: name.starts_with('-'),
        })
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let style = Style::new(&options.common)?;
    let patterns: Vec<Pattern> = options
        .types
        .iter()
        .map(|name| Pattern::new(name))
        .collect();
    // Without an order the first rows are the ones to print, and the rest need not be read.
    let enough = (options.rows > 0 && options.sort.is_none()).then_some(options.rows);
    let choice = (options.choice.filter()?, options.choice.methods.rules()?);
    let mut events = Collect::new(patterns, enough);
    let mut among = Among::new(&options.paths, &options.common);
    let inputs = among.all()?;
    let mut all = Concat::new(&mut events);
    let timing = Timing::of(&options.time, &options.common, 1, &inputs)?;
    for (at, input) in inputs.iter().enumerate() {
        read((at, input), &timing, options, &choice, &mut all)?;
    }
    options.time.check_names()?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    if options.types.is_empty() {
        print_types(&events, options, &style, &mut out)?;
    } else {
        known(&events, options)?;
        print_events(&events, options, &style, &mut out)?;
    }
    out.flush()?;
    Ok(among.outcome())
}

/// Reads every recording of an input into one numbering.
fn read(
    (at, input): (usize, &Input),
    timing: &Timing<'_>,
    options: &Options,
    (filter, methods): &(Filter, Filter),
    all: &mut Concat<'_, Collect>,
) -> anyhow::Result<()> {
    let mut notes = Vec::new();
    with_progress(input, "reading", || {
        for document in documents(input)? {
            let lowering = LowerOptions {
                limits: options.common.limits()?,
                ..LowerOptions::default()
            };
            let mut sift = Sift::new(all, filter.clone());
            notes.push(timing.lower_admitted(
                (at, input),
                &document,
                &lowering,
                methods,
                &mut sift,
            )?);
            all.next_recording(document.parts().len());
        }
        Ok(())
    })?;
    mention(input.path(), &notes);
    Ok(())
}

/// Fails when a type asked for is not there, with the nearest one that is.
fn known(events: &Collect, options: &Options) -> anyhow::Result<()> {
    let kinds = events.kinds();
    for name in &options.types {
        let pattern = Pattern::new(name);
        if kinds.iter().any(|kind| pattern.matches(&kind.name)) {
            continue;
        }
        let names = kinds.iter().map(|kind| kind.name.as_str());
        let words = names
            .clone()
            .map(|name| name.rsplit('.').next().unwrap_or(name));
        let hint = nearest(name, names.chain(words));
        let hint = hint.map_or_else(
            || "; without --type the types that are there are listed".to_owned(),
            |near| format!("; did you mean `{near}`?"),
        );
        return Err(Usage(format!("there are no events of type `{name}`{hint}")).into());
    }
    Ok(())
}

fn print_types(
    events: &Collect,
    options: &Options,
    style: &Style,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let mut kinds = events.kinds();
    match options.order() {
        None => kinds.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name))),
        Some(order) => {
            match order.name {
                "type" => kinds.sort_by(|a, b| a.name.cmp(&b.name)),
                "events" => kinds.sort_by_key(|kind| kind.count),
                "duration" => kinds.sort_by_key(|kind| kind.duration),
                other => {
                    let reason =
                        format!("--sort: types have type, events and duration, no `{other}`");
                    return Err(Usage(reason).into());
                }
            }
            if order.falling {
                kinds.reverse();
            }
        }
    }
    if options.rows > 0 {
        kinds.truncate(options.rows);
    }
    if options.json {
        for kind in &kinds {
            serde_json::to_writer(&mut *out, &kind_json(kind))?;
            writeln!(out)?;
        }
        return Ok(());
    }
    if kinds.is_empty() && !options.csv {
        writeln!(out, "no events here; `traceloom info` says what there is")?;
        return Ok(());
    }
    let mut table = Table::new(&["events", "duration", "type", "label"]);
    for kind in kinds {
        let (number, length) = if options.csv {
            let length = kind.duration.map(|ns| ns.to_string());
            (kind.count.to_string(), length)
        } else {
            let length = kind.duration.map(duration);
            (count(kind.count), length)
        };
        let label = kind.label.unwrap_or_default();
        table.row([number, length.unwrap_or_default(), kind.name, label]);
    }
    if options.csv {
        table.csv(out)?;
    } else {
        table.print(style, out)?;
    }
    Ok(())
}

fn kind_json(kind: &EventKind) -> serde_json::Value {
    let fields = kind.fields.iter();
    let fields: Vec<_> = fields
        .map(|(name, unit)| json!({"name": name, "unit": unit}))
        .collect();
    json!({
        "type": kind.name,
        "label": kind.label,
        "events": kind.count,
        "duration_ns": kind.duration,
        "first_ns": kind.first,
        "last_ns": kind.last,
        "fields": fields,
    })
}

fn print_events(
    events: &Collect,
    options: &Options,
    style: &Style,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let columns = Columns::choose(events, &options.columns)?;
    let mut rows = events.rows();
    if let Some(order) = options.order() {
        let by = Columns::one(events, order.name)?;
        let mut keyed: Vec<(Cell, usize)> = rows
            .into_iter()
            .map(|row| (by.cell(events, row), row))
            .collect();
        keyed.sort_by(|(a, _), (b, _)| {
            let rising = a.compare(b);
            if order.falling {
                rising.reverse()
            } else {
                rising
            }
        });
        rows = keyed.into_iter().map(|(_, row)| row).collect();
    }
    if options.rows > 0 {
        rows.truncate(options.rows);
    }
    if options.json {
        for row in rows {
            let mut object = serde_json::Map::new();
            for column in columns.list() {
                object.insert(column.name().to_owned(), column.cell(events, row).json());
            }
            serde_json::to_writer(&mut *out, &object)?;
            writeln!(out)?;
        }
        return Ok(());
    }
    let heads: Vec<String> = columns
        .list()
        .iter()
        .map(|column| match column.unit(events).filter(|_| options.csv) {
            Some(unit) => format!("{} ({unit})", column.name()),
            None => column.name().to_owned(),
        })
        .collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut table = Table::new(&heads);
    for row in rows {
        let cells = columns.list().iter().map(|column: &Column| {
            let cell = column.cell(events, row);
            if options.csv {
                cell.exact()
            } else {
                cell.shown(style, options.wide)
            }
        });
        table.row(cells);
    }
    if options.csv {
        table.csv(out)?;
    } else {
        table.print(style, out)?;
    }
    Ok(())
}
