//! `events`: the types of events, and the events of a type as a table.

mod collect;
mod column;
mod value;

use std::io::{self, Write};

use clap::Args;
use serde_json::json;
use traceloom_analysis::names::ShortNames;
use traceloom_analysis::stage::Sift;
use traceloom_formats::Source as _;
use traceloom_model::Concat;

use self::collect::{EventCollector, EventTypeSummary, TypePattern};
use self::column::{PrintedColumn, PrintedColumns};
use self::value::PrintedValue;
use crate::Outcome;
use crate::inputs::ReadFlags;
use crate::lowered::mention;
use crate::numbers::{count, duration, things};
use crate::select::EventFlags;
use crate::streams::{message, stdout};
use crate::style::Style;
use crate::table::Table;
use crate::table_flags::{TableFlags, help};
use crate::usage::{Usage, nearest};

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
#[command(mut_arg("wide", help("Print full names, whole stacks and exact numbers")))]
#[command(mut_arg("json", help("Print JSON Lines: one event a line, or one type")))]
#[command(mut_arg(
    "csv",
    help("Print comma-separated values, numbers exact in the unit of their heading")
))]
pub(crate) struct Options {
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
    #[command(flatten)]
    table: TableFlags,
    #[command(flatten)]
    read: ReadFlags,
}

/// A column to sort by, and whether from the largest down.
struct SortColumn<'o> {
    name: &'o str,
    falling: bool,
}

impl Options {
    fn order(&self) -> Option<SortColumn<'_>> {
        self.sort.as_deref().map(|name| SortColumn {
            name: name.strip_prefix('-').unwrap_or(name),
            falling: name.starts_with('-'),
        })
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let style = Style::new(&options.read.common)?;
    let patterns: Vec<TypePattern> = options
        .types
        .iter()
        .map(|name| TypePattern::new(name))
        .collect();
    // Without an order the first rows are the ones to print, and the rest need not be read.
    let enough = options.table.rows.filter(|&rows| rows > 0);
    let enough = enough.filter(|_| options.sort.is_none());
    let filter = options.choice.filter(&options.read.common)?;
    // Names are only known to be wrong when all that could have them was read.
    let enough = enough.filter(|_| filter.asked_names().is_empty());
    let mut events = EventCollector::new(patterns, enough);
    let mut inputs = options.read.inputs();
    let mut all = Concat::new(&mut events);
    let mut refused = 0;
    for input in inputs.all()? {
        let notes = input.read(|recording| {
            let mut sift = Sift::new(&mut all, filter.clone());
            let notes = recording.lower(&mut sift)?;
            refused += sift.told().1;
            all.next_recording(recording.document.parts().len());
            Ok(notes)
        })?;
        mention(&input.input, &notes);
    }
    options.read.check_names()?;
    let refused = things(refused, "event or sample", "events and samples");
    if events.kinds().is_empty() && !filter.is_empty() {
        message!("the filter takes none of {refused}");
    } else if events.kinds().is_empty() {
        message!("no events here; `traceloom info` says what there is");
    }
    let mut out = io::BufWriter::new(stdout());
    if options.types.is_empty() {
        print_types(&events, options, &style, &mut out)?;
    } else {
        known(&events, options, !filter.is_empty())?;
        print_events(&events, options, &style, &mut out)?;
    }
    out.flush()?;
    Ok(inputs.outcome())
}

/// Fails when a type asked for is not there, with the nearest one that is.
fn known(events: &EventCollector, options: &Options, filtered: bool) -> anyhow::Result<()> {
    let kinds = events.kinds();
    for name in &options.types {
        let pattern = TypePattern::new(name);
        if kinds.iter().any(|kind| pattern.matches(&kind.name)) {
            continue;
        }
        // A filter may refuse every event of a type that is there.
        if filtered && events.defines(&pattern) {
            message!("the filter takes no event of type `{name}`");
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
    events: &EventCollector,
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
                    const COLUMNS: [&str; 3] = ["type", "events", "duration"];
                    let hint = match nearest(other, COLUMNS.into_iter()) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => "without --type there are type, events and duration".to_owned(),
                    };
                    let reason = format!("--sort: there is no column `{other}`; {hint}");
                    return Err(Usage(reason).into());
                }
            }
            if order.falling {
                kinds.reverse();
            }
        }
    }
    kinds.truncate(options.table.most(usize::MAX));
    if options.table.json {
        for kind in &kinds {
            serde_json::to_writer(&mut *out, &kind_json(kind))?;
            writeln!(out)?;
        }
        return Ok(());
    }
    if kinds.is_empty() && !options.table.csv {
        return Ok(());
    }
    let length = if options.table.csv {
        "duration (ns)"
    } else {
        "duration"
    };
    let mut table = Table::new(&["events", length, "type", "label"]);
    for kind in kinds {
        let (number, length) = if options.table.csv {
            let length = kind.duration.map(|ns| ns.to_string());
            (kind.count.to_string(), length)
        } else {
            let length = kind.duration.map(duration);
            (count(kind.count), length)
        };
        let label = kind.label.unwrap_or_default();
        table.row([number, length.unwrap_or_default(), kind.name, label]);
    }
    if options.table.csv {
        table.csv(out)?;
    } else {
        table.whole(options.table.wide).print(style, out)?;
    }
    Ok(())
}

fn kind_json(kind: &EventTypeSummary) -> serde_json::Value {
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
    events: &EventCollector,
    options: &Options,
    style: &Style,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let columns = PrintedColumns::choose(events, &options.columns)?;
    let mut rows = events.rows();
    if let Some(order) = options.order() {
        let by = PrintedColumns::one(events, order.name)?;
        let mut keyed: Vec<(PrintedValue, usize)> = rows
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
    rows.truncate(options.table.most(usize::MAX));
    if options.table.json {
        for row in rows {
            let mut object = serde_json::Map::new();
            let mut attributes = None;
            for column in columns.list() {
                let value = column.cell(events, row).json();
                // Names that a capture made up stand apart from ours.
                match column.is_field() {
                    true => attributes
                        .get_or_insert_with(serde_json::Map::new)
                        .insert(column.name().to_owned(), value),
                    false => object.insert(column.name().to_owned(), value),
                };
            }
            if let Some(attributes) = attributes {
                object.insert("attributes".to_owned(), attributes.into());
            }
            serde_json::to_writer(&mut *out, &object)?;
            writeln!(out)?;
        }
        return Ok(());
    }
    let heads: Vec<String> = columns
        .list()
        .iter()
        .map(|column| match options.table.csv {
            true => column.heading(events),
            false => column.name().to_owned(),
        })
        .collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let names: Vec<_> = events.tables.function_names().collect();
    let names = ShortNames::new(names.iter().map(AsRef::as_ref));
    let names = (!options.table.wide && !options.table.csv).then_some(&names);
    let mut table = Table::new(&heads);
    for row in rows {
        let cells = columns.list().iter().map(|column: &PrintedColumn| {
            let cell = column.cell(events, row);
            if options.table.csv {
                cell.exact()
            } else {
                cell.shown(style, names)
            }
        });
        table.row(cells);
    }
    if options.table.csv {
        table.csv(out)?;
    } else {
        let chosen = !options.columns.is_empty();
        let table = table.whole(options.table.wide).with_every_column(chosen);
        table.print(style, out)?;
    }
    Ok(())
}
