//! `objects`: heap objects by class, and from collection to collection.

mod collections;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io::{self, Write};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use traceloom_analysis::names::ShortNames;
use traceloom_analysis::objects::{
    Ages, Amount, Change, ClassRow, ObjectOptions, ObjectTable, Objects,
};
use traceloom_model::Limit;

use self::collections::{COLLECTIONS, collections};
use crate::Outcome;
use crate::inputs::ReadFlags;
use crate::lowered::doubt;
use crate::numbers::{count, size, things};
use crate::select::EventFlags;
use crate::streams::{message, stdout};
use crate::style::Style;
use crate::table::Table;
use crate::table_flags::{TableFlags, help};

/// Rows that fit a screen.
const SCREEN: usize = 30;

/// List the classes of heap objects: allocated, live, freed, how old.
#[derive(Args)]
#[command(
    after_help = "Live are objects allocated and not freed, or what the producer counted or sampled as surviving;\n\
    delta is their change over the last interval between collections. Ages are collections survived: the\n\
    mean of the freed, and of the oldest that lives.\n\nExamples:\n  \
    traceloom objects heap.trcbin\n  \
    traceloom objects heap.trcbin --sort allocated -n 10\n  \
    traceloom objects heap.trcbin --collections\n  \
    traceloom objects heap.trcbin --filter 'class ~ acme and size > 1kB'\n  \
    traceloom objects app.jfr --csv"
)]
#[command(mut_arg(
    "rows",
    help("Rows to print; 0 prints all [default: 30 on a terminal, all with --json and --csv]")
))]
#[command(mut_arg(
    "json",
    help("Print one JSON object a recording, with classes and collections")
))]
pub(crate) struct Options {
    /// Print a row a garbage collection instead of one a class.
    #[arg(long, conflicts_with = "json")]
    collections: bool,
    /// Sort classes by this column.
    #[arg(
        long,
        value_name = "COLUMN",
        default_value = "live",
        conflicts_with = "collections"
    )]
    sort: ObjectOrder,
    #[command(flatten)]
    table: TableFlags,
    #[command(flatten)]
    choice: EventFlags,
    #[command(flatten)]
    read: ReadFlags,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ObjectOrder {
    Live,
    Allocated,
    Freed,
    Delta,
    Age,
    References,
    Class,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let style = Style::new(&options.read.common)?;
    let mut out = io::BufWriter::new(stdout());
    let filter = options.choice.filter(&options.read.common)?;
    let limits = options.read.common.limits()?;
    let mut inputs = options.read.inputs();
    let mut all = Vec::new();
    while let Some(input) = inputs.next()? {
        let mut found = Vec::new();
        let notes = input.read(|recording| {
            let defaults = ObjectOptions::default();
            let mut table = ObjectTable::new(ObjectOptions {
                most_objects: defaults.most_objects.min(limits.size(Limit::Table)),
                ..defaults
            })
            .choosing(filter.clone());
            let notes = recording.lower_beside(&mut table)?;
            found.push((recording.named(), table.finish()));
            Ok(notes)
        })?;
        let doubt = doubt(&input.input, &notes);
        all.push((input.path().to_owned(), found, doubt));
    }
    options.read.check_names()?;
    let mut csv = Vec::new();
    for (path, found, doubt) in all {
        print(&path, found, options, &style, &mut csv, &mut out)?;
        out.flush()?;
        if let Some(doubt) = doubt {
            message!("{doubt}");
        }
    }
    if options.table.csv {
        Table::csv_of_paths(options.read.paths.len(), csv, &mut out)?;
        out.flush()?;
    }
    Ok(inputs.outcome())
}

fn print(
    path: &str,
    mut found: Vec<(Value, Objects)>,
    options: &Options,
    style: &Style,
    csv: &mut Vec<(String, Table)>,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    for (_, objects) in &found {
        for (number, what) in [
            (
                objects.crowded_out,
                "objects found no room: nothing is known of their end",
            ),
            (objects.collections_left_out, "collections are not listed"),
        ] {
            if number > 0 {
                message!("{path}: {} {what}", count(number));
            }
        }
    }
    let empty = |objects: &Objects| objects.classes.is_empty() && objects.collections.is_empty();
    if found.iter().all(|(_, objects)| empty(objects)) {
        message!("{path}: {}", nothing(&found));
        if options.table.csv {
            // Whoever reads the table finds its columns.
            let rows = if options.collections {
                Table::new(COLLECTIONS)
            } else {
                exact(&[])
            };
            csv.push((path.to_owned(), rows));
        }
        return Ok(());
    }
    found.retain(|(_, objects)| !empty(objects));
    let most = options.table.most(SCREEN);
    for (recording, mut objects) in found {
        sort(&mut objects.classes, options.sort);
        let classes = objects.classes.len();
        objects.classes.truncate(most);
        if options.table.json {
            // The last ones are those that a leak shows in.
            let more = objects.collections.len().saturating_sub(most);
            objects.collections.drain(..more);
        }
        if options.table.json {
            write_json(&recording, &objects, out)?;
        } else if options.collections {
            let table = collections(&objects, options, most, style, out)?;
            csv.extend(table.map(|table| (path.to_owned(), table)));
        } else if options.table.csv {
            csv.push((path.to_owned(), exact(&objects.classes)));
        } else if classes == 0 {
            message!(
                "{path}: no objects, but {} collections: --collections lists them",
                count(objects.collections.len() as u64)
            );
        } else {
            let names = classes_of(&objects);
            let wide = options.table.wide;
            let rows = table(&objects.classes, &names, wide);
            rows.without_empty().whole(wide).print(style, out)?;
            writeln!(out, "{}", style.dim(summary(&objects, classes)))?;
        }
    }
    Ok(())
}

/// Says why there is nothing to show.
fn nothing(found: &[(Value, Objects)]) -> String {
    let refused: u64 = found.iter().map(|(_, objects)| objects.refused).sum();
    if refused > 0 {
        return format!("no objects: the filter takes none of {}", count(refused));
    }
    let unclassed: u64 = found.iter().map(|(_, objects)| objects.unclassed).sum();
    if unclassed > 0 {
        return format!(
            "no classes: its {} heap samples name functions; `traceloom top --value inuse_space` shows them",
            count(unclassed)
        );
    }
    let events: u64 = found.iter().map(|(_, objects)| objects.events).sum();
    let held = match events {
        0 => "it holds no events".to_owned(),
        events => format!("none of its {} events is about the heap", count(events)),
    };
    format!(
        "no objects: {held}; TPTP records them with its heap profiler, JFR with \
         jdk.ObjectAllocationSample, jdk.OldObjectSample or jdk.ObjectCountAfterGC enabled"
    )
}

fn summary(objects: &Objects, classes: usize) -> String {
    let mut text = things(classes as u64, "class", "classes");
    if objects.classes.len() < classes {
        text += &format!(
            ", {} shown; -n 0 prints all",
            count(objects.classes.len() as u64)
        );
    }
    let source = &objects.source;
    let told = objects.collections.iter();
    let collections = told.filter(|found| found.time.is_some()).count();
    if collections > 0 {
        let number = things(collections as u64, "collection", "collections");
        text += &format!("; {number}, listed with --collections");
    }
    if objects.refused > 0 {
        let refused = count(objects.refused);
        text += &format!("; the filter took out {refused}");
    }
    if source.sampled && !source.tracked {
        text += "; from samples: counts are of samples";
    }
    text
}

fn sort(classes: &mut [ClassRow], by: ObjectOrder) {
    let amount = |amount: Amount| (amount.bytes, amount.count);
    match by {
        ObjectOrder::Live => {}
        ObjectOrder::Allocated => classes.sort_by_key(|row| Reverse(amount(row.allocated))),
        ObjectOrder::Freed => classes.sort_by_key(|row| Reverse(amount(row.freed))),
        ObjectOrder::Delta => classes.sort_by_key(|row| {
            let change = row.delta.unwrap_or_default();
            Reverse((change.bytes, change.count))
        }),
        ObjectOrder::Age => classes
            .sort_by_key(|row| Reverse((row.live_ages.oldest, row.freed_ages.mean_hundredths()))),
        ObjectOrder::References => classes.sort_by_key(|row| Reverse((row.references, row.roots))),
        ObjectOrder::Class => classes.sort_by(|a, b| a.class.cmp(&b.class)),
    }
}

/// Returns the names of all classes of a recording.
fn classes_of(objects: &Objects) -> ShortNames<'_> {
    let rows = objects.classes.iter();
    let classes = rows.flat_map(|row| {
        let held = row.held_by.iter().filter_map(|held| held.by.as_deref());
        row.class.as_deref().into_iter().chain(held)
    });
    let collections = objects.collections.iter();
    let changed: BTreeSet<u32> = collections
        .flat_map(|found| found.classes.iter().map(|&(class, _)| class))
        .collect();
    let changed = changed.iter().filter_map(|&class| {
        let name = objects.names.get(class as usize)?;
        name.as_deref()
    });
    ShortNames::new(classes.chain(changed))
}

fn class_name(class: Option<&str>, names: &ShortNames<'_>, wide: bool) -> String {
    match class {
        None => "(unknown)".to_owned(),
        Some(class) if wide => class.to_owned(),
        Some(class) => names.show(class).into_owned(),
    }
}

fn some(number: u64, wide: bool) -> String {
    match number {
        0 => String::new(),
        number if wide => number.to_string(),
        number => count(number),
    }
}

fn bytes(number: u64, wide: bool) -> String {
    match number {
        0 => String::new(),
        number if wide => number.to_string(),
        number => size(number),
    }
}

fn change(change: Option<Change>, wide: bool) -> String {
    let Some(change) = change.filter(|change| *change != Change::default()) else {
        return String::new();
    };
    let (number, unit) = match change.bytes {
        0 => (change.count, ""),
        bytes => (bytes, "B"),
    };
    let sign = if number < 0 { "-" } else { "+" };
    let text = match unit {
        "B" if !wide => size(number.unsigned_abs()),
        _ => number.unsigned_abs().to_string(),
    };
    format!("{sign}{text}")
}

fn mean(ages: Ages) -> String {
    let Some(hundredths) = ages.mean_hundredths() else {
        return String::new();
    };
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

fn table(classes: &[ClassRow], names: &ShortNames<'_>, wide: bool) -> Table {
    let mut table = Table::new(&[
        "live",
        "live size",
        "delta",
        "allocated",
        "alloc size",
        "freed",
        "freed size",
        "age",
        "oldest",
        "roots",
        "references",
        "held by",
        "class",
    ]);
    for row in classes {
        let held = row.held_by.first().filter(|held| held.references > 0);
        let oldest = row.live_ages.objects > 0;
        table.row([
            some(row.live.count, wide),
            bytes(row.live.bytes, wide),
            change(row.delta, wide),
            some(row.allocated.count, wide),
            bytes(row.allocated.bytes, wide),
            some(row.freed.count, wide),
            bytes(row.freed.bytes, wide),
            mean(row.freed_ages),
            if oldest {
                row.live_ages.oldest.to_string()
            } else {
                String::new()
            },
            some(row.roots, wide),
            some(row.references, wide),
            held.map_or_else(String::new, |held| {
                class_name(held.by.as_deref(), names, wide)
            }),
            class_name(row.class.as_deref(), names, wide),
        ]);
    }
    table
}

fn exact(classes: &[ClassRow]) -> Table {
    let mut table = Table::new(&[
        "class",
        "allocated_count",
        "allocated_bytes",
        "freed_count",
        "freed_bytes",
        "live_count",
        "live_bytes",
        "delta_count",
        "delta_bytes",
        "freed_age_mean",
        "freed_age_oldest",
        "live_age_mean",
        "live_age_oldest",
        "roots",
        "references",
    ]);
    for row in classes {
        let delta = |of: fn(Change) -> i64| {
            row.delta
                .map_or_else(String::new, |change| of(change).to_string())
        };
        let oldest = |ages: Ages| match ages.objects {
            0 => String::new(),
            _ => ages.oldest.to_string(),
        };
        table.row([
            row.class.clone().unwrap_or_default(),
            row.allocated.count.to_string(),
            row.allocated.bytes.to_string(),
            row.freed.count.to_string(),
            row.freed.bytes.to_string(),
            row.live.count.to_string(),
            row.live.bytes.to_string(),
            delta(|change| change.count),
            delta(|change| change.bytes),
            mean(row.freed_ages),
            oldest(row.freed_ages),
            mean(row.live_ages),
            oldest(row.live_ages),
            row.roots.to_string(),
            row.references.to_string(),
        ]);
    }
    table
}

/// Writes a recording as one JSON object, a collection at a time: there may be a million of them.
fn write_json(recording: &Value, objects: &Objects, out: &mut impl Write) -> io::Result<()> {
    let amount = |amount: Amount| json!({"count": amount.count, "bytes": amount.bytes});
    let change = |change: Change| json!({"count": change.count, "bytes": change.bytes});
    let ages = |ages: Ages| match ages.objects {
        0 => Value::Null,
        objects => json!({"objects": objects, "sum": ages.sum, "oldest": ages.oldest}),
    };
    let classes: Vec<Value> = objects
        .classes
        .iter()
        .map(|row| {
            let held: Vec<Value> = row
                .held_by
                .iter()
                .map(|held| json!({"class": held.by, "references": held.references}))
                .collect();
            json!({
                "class": row.class,
                "allocated": amount(row.allocated),
                "freed": amount(row.freed),
                "live": amount(row.live),
                "delta": row.delta.map(change),
                "freed_ages": ages(row.freed_ages),
                "live_ages": ages(row.live_ages),
                "roots": row.roots,
                "references": row.references,
                "held_by": held,
            })
        })
        .collect();
    let classes = Value::from(classes);
    write!(out, r#"{{"classes":{classes},"collections":["#)?;
    for (at, found) in objects.collections.iter().enumerate() {
        let changed: Vec<Value> = found
            .changes(&objects.names)
            .map(|(class, by)| json!({"class": class, "count": by.count, "bytes": by.bytes}))
            .collect();
        let collection = json!({
            "number": found.time.map(|_| found.number),
            "time_ns": found.time,
            "took_ns": found.took,
            "allocated": found.allocated.map(amount),
            "freed": found.freed.map(amount),
            "live": found.live.map(amount),
            "used_bytes": found.used,
            "changed": changed,
        });
        let comma = if at > 0 { "," } else { "" };
        write!(out, "{comma}{collection}")?;
    }
    let source = &objects.source;
    let source = json!({
        "tracked": source.tracked,
        "sampled": source.sampled,
        "counted": source.counted,
        "dumped": source.dumped,
    });
    writeln!(out, r#"],"recording":{recording},"source":{source}}}"#)
}
