//! `monitors`: the objects that threads waited for.

use std::cmp::Reverse;
use std::io::{self, Write};

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use traceloom_analysis::monitors::{
    Monitor, MonitorOptions, MonitorTable, Monitors, Share, WaitKind, Waits,
};
use traceloom_analysis::names::{ShortNames, short_frame, without_line};
use traceloom_model::{StackId, TrackId, printable};

use crate::Outcome;
use crate::inputs::ReadFlags;
use crate::lowered::doubt;
use crate::numbers::{count, duration, things};
use crate::select::EventFlags;
use crate::streams::{message, stdout};
use crate::style::Style;
use crate::table::Table;
use crate::table_flags::{TableFlags, help};

/// Rows that fit a screen.
const SCREEN: usize = 30;

/// Frames and shares shown of one monitor on a terminal.
const FRAMES: usize = 12;
const SHARES: usize = 5;

/// List the objects that threads waited for: how long, who held them, where.
#[derive(Args)]
#[command(
    after_help = "Blocked is the time at the entrance of a monitor that another thread held, waited the time inside\n\
    it until notified, parked the time in locks of java.util.concurrent. Thread dumps have no times: they\n\
    count as seen.\n\nExamples:\n  \
    traceloom monitors app.trcbin\n  \
    traceloom monitors app.trcbin --stacks -n 5\n  \
    traceloom monitors app.jfr --by class --sort waited\n  \
    traceloom monitors app.jfr --filter 'duration > 50ms and thread ~ exec'\n  \
    traceloom monitors app.jfr --json | jq 'select(.contended.total_ns > 1e9)'"
)]
#[command(mut_arg(
    "rows",
    help("Rows to print; 0 prints all [default: 30 on a terminal, all with --json and --csv]")
))]
#[command(mut_arg("wide", help("Print full names and exact nanoseconds")))]
#[command(mut_arg("json", help("Print JSON Lines, one monitor a line")))]
pub(crate) struct Options {
    /// What a row is: an object, or all objects of a class. Collectors that move objects change their
    /// addresses, so a recording of theirs is better read by class.
    #[arg(long, value_name = "WHAT", default_value = "object")]
    by: By,
    /// Sort by this column.
    #[arg(long, value_name = "COLUMN", default_value = "blocked")]
    sort: MonitorOrder,
    /// Print who held each monitor, who waited, and where.
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    stacks: bool,
    #[command(flatten)]
    table: TableFlags,
    #[command(flatten)]
    choice: EventFlags,
    #[command(flatten)]
    read: ReadFlags,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    Object,
    Class,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MonitorOrder {
    Blocked,
    Waited,
    Parked,
    Longest,
    Count,
}

/// A row and the tables its ids belong to.
type Row<'m> = (&'m Monitors, &'m Monitor);

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let style = Style::new(&options.read.common)?;
    let mut out = io::BufWriter::new(stdout());
    let filter = options.choice.filter(&options.read.common)?;
    let mut inputs = options.read.inputs();
    let mut all = Vec::new();
    while let Some(input) = inputs.next()? {
        let mut found = Vec::new();
        let notes = input.read(|recording| {
            let mut table = MonitorTable::new(MonitorOptions {
                by_class: options.by == By::Class,
                ..MonitorOptions::default()
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
    for (path, found, doubt) in &all {
        print(path, found, options, &style, &mut csv, &mut out)?;
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
    found: &[(Value, Monitors)],
    options: &Options,
    style: &Style,
    csv: &mut Vec<(String, Table)>,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let sum = |what: fn(&Monitors) -> u64| found.iter().map(|(_, of)| what(of)).sum::<u64>();
    let left_out = sum(|monitors| monitors.crowded_out);
    if left_out > 0 {
        let left_out = count(left_out);
        message!("{path}: {left_out} waits for further monitors are in no row");
    }
    let rows = found.iter();
    let rows = rows.flat_map(|(of, monitors)| {
        let rows = monitors.rows.iter();
        rows.map(move |row| ((monitors, row), of))
    });
    let mut rows: Vec<(Row<'_>, &Value)> = rows.collect();
    rows.sort_by_key(|((_, row), _)| Reverse(rank(row, options.sort)));
    let all = rows.len();
    rows.truncate(options.table.most(SCREEN));
    let (rows, recordings): (Vec<Row<'_>>, Vec<&Value>) = rows.into_iter().unzip();
    let wide = options.table.wide;
    if options.table.json {
        for (row, recording) in rows.iter().zip(recordings) {
            writeln!(out, "{}", as_json(*row, recording))?;
        }
    } else if options.table.csv {
        csv.push((path.to_owned(), exact(&rows)));
    } else if all > 0 {
        let texts = names_of(&rows);
        let names = ShortNames::new(texts.iter().map(String::as_str));
        table(&rows, &names, wide)
            .without_empty()
            .whole(wide)
            .print(style, out)?;
        let total: u64 = rows.iter().fold(0, |sum, (_, row)| {
            sum.saturating_add(row.of(WaitKind::Contended).total)
        });
        let shown = if all > rows.len() {
            format!(", {} shown; -n 0 prints all", count(rows.len() as u64))
        } else if total > 0 {
            format!(", {} blocked in all", duration(total))
        } else {
            String::new()
        };
        let what = match options.by {
            By::Object => things(all as u64, "monitor", "monitors"),
            By::Class => things(all as u64, "class", "classes"),
        };
        writeln!(out, "{}", style.dim(format!("{what}{shown}")))?;
        if options.stacks {
            for &row in &rows {
                details(row, &names, wide, style, out)?;
            }
        }
    }
    if all == 0 {
        let refused = sum(|monitors| monitors.refused);
        if refused > 0 {
            let waits = things(refused, "wait", "waits");
            message!("{path}: the filter takes none of {waits}");
            return Ok(());
        }
        let (events, samples) = (sum(|m| m.events), sum(|m| m.samples));
        let held = match (events, samples) {
            (0, 0) => "it holds neither events nor samples".to_owned(),
            (0, samples) => format!("none of its {} samples names a lock", count(samples)),
            (events, _) => format!(
                "none of its {} events is a wait for a monitor",
                count(events)
            ),
        };
        message!(
            "{path}: no monitors: {held}; TPTP records them with its thread profiler, the JDK \
             where jdk.JavaMonitorEnter and jdk.JavaMonitorWait are enabled and the wait exceeds their threshold"
        );
    }
    Ok(())
}

fn rank(row: &Monitor, by: MonitorOrder) -> (u64, u64, u64) {
    let kind = |kind| {
        let waits = row.of(kind);
        (waits.total, waits.count + waits.seen, row.total())
    };
    match by {
        MonitorOrder::Blocked => kind(WaitKind::Contended),
        MonitorOrder::Waited => kind(WaitKind::Waited),
        MonitorOrder::Parked => kind(WaitKind::Parked),
        MonitorOrder::Longest => (row.longest(), row.total(), row.count()),
        MonitorOrder::Count => (row.count(), row.total(), 0),
    }
}

/// Returns the names of classes and functions in these rows.
fn names_of(rows: &[Row<'_>]) -> Vec<String> {
    let mut names = Vec::new();
    for (monitors, monitor) in rows {
        names.extend(monitor.class.clone());
        for stack in monitor.stacks.iter().filter_map(|share| share.of) {
            let frames = monitors.frames(stack).into_iter();
            names.extend(frames.map(|frame| without_line(&frame).0.to_owned()));
        }
    }
    names
}

/// What a monitor is called.
fn name(row: Row<'_>, names: &ShortNames<'_>, wide: bool) -> String {
    let (monitors, monitor) = row;
    let class = match &monitor.class {
        Some(class) if wide => class.as_str().into(),
        Some(class) => names.show(class),
        None => "object".into(),
    };
    let mut name = class.into_owned();
    if let Some(object) = monitor.object {
        name += &format!(" {:#x}", object.0);
    }
    if monitor.generation > 0 {
        name += &format!(" (life {})", u64::from(monitor.generation) + 1);
    }
    if let Some(thread) = monitor.of_thread {
        name += &format!(" of thread {}", monitors.thread(thread));
    }
    name
}

fn table(rows: &[Row<'_>], names: &ShortNames<'_>, wide: bool) -> Table {
    let mut table = Table::new(&[
        "blocked", "times", "waited", "waits", "parked", "parks", "longest", "open", "seen",
        "threads", "held by", "where", "monitor",
    ]);
    let time = |ns: u64| match ns {
        0 => String::new(),
        ns if wide => format!("{ns} ns"),
        ns => duration(ns),
    };
    let some = |number: u64| match number {
        0 => String::new(),
        number => count(number),
    };
    for &row in rows {
        let (monitors, monitor) = row;
        let sum = |what: fn(&Waits) -> u64| monitor.waits.iter().map(what).sum::<u64>();
        let [contended, waited, parked] = monitor.waits;
        let place = monitor.stacks.iter().find_map(|share| share.of);
        let place = place.and_then(|stack| monitors.frames(stack).into_iter().next());
        let place = place.unwrap_or_default();
        table.row([
            time(contended.total),
            some(contended.count),
            time(waited.total),
            some(waited.count),
            time(parked.total),
            some(parked.count),
            time(monitor.longest()),
            some(sum(|waits| waits.open)),
            some(sum(|waits| waits.seen)),
            some(
                monitor
                    .threads
                    .iter()
                    .filter(|share| share.of.is_some())
                    .count() as u64,
            ),
            first(monitors, &monitor.owners),
            if wide {
                place
            } else {
                short_frame(&place, names)
            },
            name(row, names, wide),
        ]);
    }
    table
}

/// The thread with the greatest share, and how many others there are.
fn first(monitors: &Monitors, shares: &[Share<TrackId>]) -> String {
    match shares {
        [] => String::new(),
        [only] => thread(monitors, only.of),
        [first, others @ ..] => format!("{} +{}", thread(monitors, first.of), others.len()),
    }
}

fn thread(monitors: &Monitors, of: Option<TrackId>) -> String {
    of.map_or_else(|| "(others)".to_owned(), |id| monitors.thread(id))
}

fn details(
    row: Row<'_>,
    names: &ShortNames<'_>,
    wide: bool,
    style: &Style,
    out: &mut impl Write,
) -> io::Result<()> {
    let (monitors, monitor) = row;
    writeln!(out, "\n{}", style.bold(name(row, names, wide)))?;
    let share = |count_of: u64, total: u64| {
        format!("{}, {}", things(count_of, "time", "times"), duration(total))
    };
    for (word, shares) in [("held by", &monitor.owners), ("waited", &monitor.threads)] {
        let most = if wide { usize::MAX } else { SHARES };
        for found in shares.iter().take(most) {
            let who = thread(monitors, found.of);
            writeln!(
                out,
                "  {word:8} {}: {}",
                printable(&who),
                share(found.count, found.total)
            )?;
        }
        if shares.len() > most {
            let more = format!(
                "  {word:8} {} more threads",
                count((shares.len() - most) as u64)
            );
            writeln!(out, "{}", style.dim(more))?;
        }
    }
    let most = if wide { usize::MAX } else { SHARES };
    for found in monitor.stacks.iter().take(most) {
        let Some(stack) = found.of else { continue };
        writeln!(out, "  at       {}", share(found.count, found.total))?;
        let frames = monitors.frames(stack);
        let shown = if wide { usize::MAX } else { FRAMES };
        for frame in frames.iter().take(shown) {
            let frame = match wide {
                true => frame.clone(),
                false => short_frame(frame, names),
            };
            writeln!(out, "             {}", printable(&frame))?;
        }
        if frames.len() > shown {
            let more = format!("             {} more", frames.len() - shown);
            writeln!(out, "{}", style.dim(more))?;
        }
    }
    Ok(())
}

fn exact(rows: &[Row<'_>]) -> Table {
    let mut head: Vec<String> = ["object", "generation", "class", "of_thread"]
        .map(str::to_owned)
        .into();
    for kind in WaitKind::ALL {
        for field in ["count", "total_ns", "longest_ns", "open", "seen"] {
            head.push(format!("{}_{field}", kind.word()));
        }
    }
    head.extend(["threads", "owner", "where"].map(str::to_owned));
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut table = Table::new(&head);
    for (monitors, monitor) in rows {
        let mut cells = vec![
            monitor
                .object
                .map_or_else(String::new, |id| id.0.to_string()),
            monitor.generation.to_string(),
            monitor.class.clone().unwrap_or_default(),
            monitor
                .of_thread
                .map_or_else(String::new, |id| monitors.thread(id)),
        ];
        for waits in monitor.waits {
            let numbers = [
                waits.count,
                waits.total,
                waits.longest,
                waits.open,
                waits.seen,
            ];
            cells.extend(numbers.map(|number| number.to_string()));
        }
        let known = monitor.threads.iter().filter(|share| share.of.is_some());
        cells.push(known.count().to_string());
        let owner = monitor.owners.iter().find_map(|share| share.of);
        cells.push(owner.map_or_else(String::new, |id| monitors.thread(id)));
        let place = monitor.stacks.iter().find_map(|share| share.of);
        let place = place.and_then(|stack| monitors.frames(stack).into_iter().next());
        cells.push(place.unwrap_or_default());
        table.row(cells);
    }
    table
}

fn as_json((monitors, monitor): Row<'_>, recording: &Value) -> Value {
    let mut object = Map::new();
    object.insert("recording".into(), recording.clone());
    object.insert("object".into(), json!(monitor.object.map(|id| id.0)));
    object.insert("generation".into(), json!(monitor.generation));
    object.insert("class".into(), json!(monitor.class));
    let of_thread = monitor.of_thread.map(|id| monitors.thread(id));
    object.insert("of_thread".into(), json!(of_thread));
    for kind in WaitKind::ALL {
        let waits = monitor.of(kind);
        let waits = json!({
            "count": waits.count,
            "total_ns": waits.total,
            "longest_ns": waits.longest,
            "open": waits.open,
            "seen": waits.seen,
        });
        object.insert(kind.word().into(), waits);
    }
    let threads = |shares: &[Share<TrackId>]| -> Vec<Value> {
        let shares = shares.iter();
        let shares = shares.map(|share| {
            let thread = share.of.map(|id| monitors.thread(id));
            json!({"thread": thread, "count": share.count, "total_ns": share.total})
        });
        shares.collect()
    };
    object.insert("threads".into(), json!(threads(&monitor.threads)));
    object.insert("owners".into(), json!(threads(&monitor.owners)));
    let stack = |share: &Share<StackId>| {
        let frames = share.of.map(|stack| monitors.frames(stack));
        json!({"count": share.count, "total_ns": share.total, "frames": frames})
    };
    let stacks: Vec<Value> = monitor.stacks.iter().map(stack).collect();
    object.insert("stacks".into(), json!(stacks));
    Value::Object(object)
}
