//! `calls`: the list of calls.

mod indexed;
mod live;
mod methods;
mod newest;
mod overview;
mod sorted;
mod sums;

use std::collections::BTreeMap;
use std::io::{self, Write};

use clap::Args;
use serde_json::{Map, Value, json};
use traceloom_analysis::GroupBy;
use traceloom_analysis::calls::{
    Call, CallCounts, CallList, CallQuery, Calls, CallsAfter, Cell, Column, ListedCalls,
};
use traceloom_analysis::names::{FunctionPattern, ShortNames};
use traceloom_analysis::query::PartialRead;
use traceloom_input::Document;
use traceloom_model::{Clock, Origin, Unit};

use indexed::ReadIndexes;

use crate::info::unit_name;
use crate::inputs::{OpenInput, ReadFlags};
use crate::live::ArrivingPath;
use crate::lowered::mention;
use crate::numbers::{count, duration, size, things};
use crate::read_plan::RecordingReader;
use crate::select::CallFlags;
use crate::streams::{message, stdout, stdout_is_terminal};
use crate::style::Style;
use crate::table::Table;
use crate::table_flags::{TableFlags, help};
use crate::{Outcome, attribute_json};

/// List the calls: when, how long, what.
#[derive(Args)]
#[command(
    after_help = "The first column is the id that `traceloom call` takes.\n\nExamples:\n  \
    traceloom calls dump/ --sort -duration -n 20\n  \
    traceloom calls dump/ --with-method 'Statement.execute' --sort -used_time\n  \
    traceloom calls dump/ --percentiles --sort -p99\n  \
    traceloom calls dump/ --errors --filter '+POST $web.url=/orders'\n  \
    traceloom calls app.heph --follow\n  \
    traceloom calls dump/ --columns start,duration,memory_used,title --csv"
)]
#[command(mut_arg("rows", help(ROWS_HELP)))]
#[command(mut_arg("json", help("Print JSON Lines, one call a line")))]
pub(crate) struct Options {
    #[command(flatten)]
    calls: CallFlags,
    #[command(flatten)]
    read: ReadFlags,
    /// Only calls with this method: a name as tables print it, or a regular expression for names; columns `uses` and
    /// `used_time` say how often it was called there and how long that took.
    #[arg(long, value_name = "NAME|REGEX", conflicts_with_all = ["by", "percentiles"])]
    with_method: Option<FunctionPattern>,
    /// Columns to print; any counter or parameter by its name, `all` for every one.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Vec<String>,
    /// Sort by a column, `-` before its name for falling order; by default by `start`. All paths make one list.
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    sort: Option<String>,
    /// Add calls up by group instead of listing them: `thread`, `service`, `host`, `title`, `title-shape`, `kind` or the
    /// name of a
    /// parameter; how many, how long together, percentiles and the longest.
    #[arg(long, value_name = "WHAT")]
    by: Option<GroupBy>,
    /// The same as `--by title-shape`, which is without numbers and ids: how long most calls took, by what they did. Exact up to 128 calls, within 0.8 %
    /// beyond.
    #[arg(long)]
    percentiles: bool,
    /// Count calls instead of listing them: how many took how long, when they began, percentiles.
    #[arg(long, conflicts_with_all = ["with_method", "sort", "by", "percentiles", "csv", "rows", "columns"])]
    overview: bool,
    /// Go on with a file that grows, until Ctrl-C: calls are printed as they end.
    #[arg(long, conflicts_with_all = ["with_method", "sort", "by", "percentiles", "csv", "rows", "overview"])]
    follow: bool,
    /// Only calls behind this place of the order: what --page printed at the end of the page before.
    #[arg(long, value_name = "PLACE", conflicts_with_all = ["by", "percentiles", "follow", "overview"])]
    after: Option<CallsAfter>,
    /// With --json: give each call its `place`, which --after takes, and end with a line `{"next": PLACE, …}`, null where nothing
    /// follows.
    #[arg(long, requires = "json", conflicts_with_all = ["by", "percentiles", "follow", "overview"])]
    page: bool,
    /// Bytes of captures of a data folder that are read at most, the newest first and one capture at least; a message says what was left
    /// out.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..),
        conflicts_with_all = ["by", "percentiles", "follow", "overview", "with_method"])]
    budget: Option<u64>,
    /// What a collector knows of the captures of the data folder is on standard input.
    #[arg(long, hide = true, requires = "page")]
    catalog: bool,
    #[command(flatten)]
    table: TableFlags,
}

const ROWS_HELP: &str = "Calls to print, of all paths together; 0 prints all. Without it 30 on a terminal, and all where \
    the output goes elsewhere";

impl Options {
    fn query(&self) -> anyhow::Result<CallQuery> {
        let sort = self.sort.as_deref().map(|name| {
            let column = name.trim_start_matches('-').parse::<Column>();
            let Ok(column) = column;
            (column, name.starts_with('-'))
        });
        let common = &self.read.common;
        for name in &self.columns {
            let Ok(column) = name.trim().parse::<Column>();
            if !matches!(column.name(), "all" | "id") {
                common.asked.column("--columns", &column);
            }
        }
        if let Some((column, _)) = &sort {
            common.asked.column("--sort", column);
        }
        Ok(CallQuery {
            selection: self.calls.selection(common)?,
            with_method: None,
            sort: Some(sort.unwrap_or((Column::Start, false))),
            after: self.after.clone(),
            limit: self.limit(),
        })
    }

    /// Returns `true` if calls can be printed as they end: no other order, choice or shape is asked for.
    const fn is_live(&self) -> bool {
        let is_listed = self.sort.is_none() && self.with_method.is_none() && self.after.is_none();
        is_listed && !self.page && !self.table.csv && self.table.rows.is_none()
    }

    /// Returns how many rows are printed, none for all.
    fn limit(&self) -> Option<usize> {
        const ON_A_TERMINAL: usize = 30;
        let unasked = match stdout_is_terminal() {
            true => ON_A_TERMINAL,
            false => usize::MAX,
        };
        Some(self.table.most(unasked)).filter(|&rows| rows < usize::MAX)
    }

    fn columns(&self, calls: &Calls) -> Vec<Column> {
        let every = self.columns.iter().any(|name| name == "all");
        if every || (self.columns.is_empty() && (self.table.is_for_programs())) {
            return calls.columns();
        }
        if self.columns.is_empty() {
            let mut columns = calls.first_columns();
            if self.with_method.is_some() {
                let at = columns.len().saturating_sub(1);
                columns.splice(at..at, [Column::Uses, Column::UsedTime]);
            }
            return columns;
        }
        // The id of a call leads its row anyway.
        let names = self.columns.iter().map(|name| name.trim());
        let parsed = names.filter(|name| *name != "id");
        parsed
            .map(str::parse::<Column>)
            .map(|Ok(column)| calls.resolve(column))
            .flat_map(|column| match column {
                Column::Attributes if self.table.is_for_programs() => {
                    let all = calls.columns().into_iter();
                    all.filter(|one| matches!(one, Column::Attribute(_)))
                        .collect()
                }
                column => vec![column],
            })
            .collect()
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    if options.by.is_some() || options.percentiles {
        return sums::run(options);
    }
    if options.overview {
        return overview::run(options);
    }
    if options.is_live()
        && let Some(live) = ArrivingPath::of(&options.read.paths, options.follow)?
        && let Some(outcome) = live::run(options, &live)?
    {
        return Ok(outcome);
    }
    let style = Style::new(&options.read.common)?;
    let mut inputs = options.read.inputs();
    let mut query = options.query()?;
    let mut list = CallList::new(&query);
    let mut read_captures = None;
    let (mut indexes, mut partial) = (ReadIndexes::default(), None);
    if let Some(newest) = newest::of(options, &query)? {
        let read = newest.add(&mut list, &mut inputs, (options, &query))?;
        (indexes, partial) = (read.indexes, read.partial);
        read_captures = Some(read);
    } else if let Some(sorted) = sorted::of(options, &query)? {
        partial = sorted.partial();
        indexes = sorted.add(&mut list, &mut inputs, &query)?;
    } else if let Some(pattern) = &options.with_method {
        // What a name means is known once all are read, and standard input is opened once.
        let mut opened = Vec::new();
        while let Some(input) = inputs.next()? {
            opened.push(input);
        }
        query.with_method = Some(methods::find(pattern, &opened)?);
        for input in &opened {
            add(&mut list, input, &query)?;
        }
    } else {
        while let Some(input) = inputs.next()? {
            add(&mut list, &input, &query)?;
        }
    }
    if let Some(partial) = &partial {
        message!("{}", left_out(partial));
    }
    options.read.check_names()?;
    let list = list.finish();
    let mut out = io::BufWriter::new(stdout());
    print(&list, options, &style, &mut out)?;
    if options.page {
        let is_full = query.limit.is_some_and(|most| list.order.len() >= most);
        let next = list.places.last().filter(|_| is_full);
        let line = json!({
            "next": next.map(ToString::to_string),
            "read": list.counts.read,
            "selected": list.counts.selected,
            "is_whole": partial.is_none() && read_captures.as_ref().is_none_or(|read| read.is_whole),
            "captures_read": read_captures.as_ref().map(|read| read.n_read),
            "captures": read_captures.as_ref().map(|read| read.n_all),
            "index_bytes": indexes.n_bytes,
            "indexes_opened": indexes.n_opened,
            "partial": partial.map(|partial| BTreeMap::from(partial.fields())),
            "units": units(&list.recordings),
        });
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    Ok(inputs.outcome())
}

/// Says what a list was not made from.
fn left_out(partial: &PartialRead) -> String {
    let all = things(partial.captures as u64, "capture", "captures");
    let (read, of) = (size(partial.read_bytes), size(partial.of_bytes));
    format!(
        "{read} of {of} read, the newest {} of {all}: more is beyond the budget",
        partial.captures_read
    )
}

/// Adds the calls of an input to the list.
fn add(
    list: &mut CallList<CallName>,
    input: &OpenInput<'_>,
    query: &CallQuery,
) -> anyhow::Result<()> {
    let notes = input.read(|recording| {
        let mut table = list.table(query).sent_by(recording.sender());
        // Keeping all of them takes as long as reading them; of a few, the reader asks which ones.
        let notes = match query.limit {
            None => recording.lower_beside(&mut table)?,
            Some(_) => recording.lower(&mut table)?,
        };
        list.add(table.finish(), |call| {
            CallName::of(input.number - 1, recording, call)
        });
        Ok(notes)
    })?;
    mention(&input.input, &notes);
    Ok(())
}

/// What a call is known by.
#[derive(Debug)]
struct CallName {
    /// Number of the path.
    path: usize,
    /// What `call` takes.
    id: String,
    /// The capture of a data folder, and what `call DATA#CAPTURE` takes.
    capture: Option<(String, String)>,
}

impl CallName {
    fn of(path: usize, recording: &RecordingReader<'_>, call: &Call) -> Self {
        Self {
            path,
            id: id(&recording.document, call),
            capture: in_capture(recording, call),
        }
    }
}

/// Returns the capture that a call of a data folder is in, and its id there.
fn in_capture(recording: &RecordingReader<'_>, call: &Call) -> Option<(String, String)> {
    let input = recording.input;
    if !input.is_of_captures() {
        return None;
    }
    let name = |part: usize| {
        let part = input.parts().get(part)?;
        part.part.name.split_once('/').map(|(capture, _)| capture)
    };
    let Some(Origin {
        part,
        offset,
        index,
    }) = call.origin
    else {
        // A number means a call of its recording: only where that is the whole capture it means one of the capture.
        let (first, _) = recording.document.members().next()?;
        let capture = name(first)?;
        let parts = (0..input.parts().len()).filter(|&part| name(part) == Some(capture));
        let is_whole = parts.eq(recording.document.members().map(|(part, _)| part));
        return is_whole.then(|| (capture.to_owned(), format!("#{}", call.id.0)));
    };
    let part = recording.document.input_part(part)?;
    let capture = name(part)?;
    let first = (0..part).find(|&other| name(other) == Some(capture));
    let part = part - first.unwrap_or(part);
    Some((capture.to_owned(), format!("{part}.{offset}.{index}")))
}

/// The id of a call: part, offset and index of its bytes, or its number where a format has no origins.
pub(crate) fn id(document: &Document<'_>, call: &Call) -> String {
    match call.origin {
        Some(Origin {
            part,
            offset,
            index,
        }) => {
            let part = document.input_part(part).unwrap_or_default();
            format!("{part}.{offset}.{index}")
        }
        None => format!("#{}", call.id.0),
    }
}

fn print(
    list: &ListedCalls<CallName>,
    options: &Options,
    style: &Style,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let counts = list.counts;
    if counts.read == 0 && counts.samples > 0 {
        message!("a sampled profile has no calls; `traceloom top` shows it");
        return Ok(());
    }
    if counts.read == 0 {
        message!(
            "no calls here; `traceloom info` says what there is, `traceloom events` lists events"
        );
    } else if counts.selected == 0 && options.with_method.is_some() {
        message!(
            "none of {} has the method",
            things(counts.read, "call", "calls")
        );
    } else if counts.selected == 0 {
        options.read.common.asked.say_none_passes();
    }
    let path = |name: &CallName| options.read.paths.get(name.path).map_or("", String::as_str);
    let several = options.read.paths.len() > 1;
    if options.table.json {
        let columns = list.recordings.iter().map(|calls| options.columns(calls));
        let columns: Vec<_> = columns.collect();
        for ((at, calls, call, name), place) in list.iter().zip(&list.places) {
            let columns = columns.get(at).map_or(&[][..], Vec::as_slice);
            let path = several.then(|| path(name));
            let mut row = as_json(name, path, calls, call, columns);
            if options.page {
                row["place"] = json!(place.to_string());
            }
            writeln!(out, "{row}")?;
        }
        return Ok(());
    }
    let mut columns: Vec<Column> = Vec::new();
    for calls in &list.recordings {
        for column in options.columns(calls) {
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
    }
    let exact = options.table.is_exact();
    let mut head = vec!["id".to_owned()];
    head.extend(several.then(|| "path".to_owned()));
    head.extend(columns.iter().map(|column| match options.table.csv {
        true => heading(&list.recordings, column),
        false => column.name().to_owned(),
    }));
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let recordings = list.recordings.iter().filter(|_| !exact);
    let names = recordings.flat_map(|calls| calls.tables.function_names());
    let names: Vec<_> = names.collect();
    let names = ShortNames::new(names.iter().map(AsRef::as_ref));
    let mut table = Table::new(&head);
    for (_, calls, call, name) in list.iter() {
        let cells = columns.iter().map(|column| {
            text(
                calls,
                call,
                column,
                (exact, &names),
                options.table.csv,
                style,
            )
        });
        let names = [
            Some(name.id.clone()),
            several.then(|| path(name).to_owned()),
        ];
        table.row(names.into_iter().flatten().chain(cells));
    }
    if options.table.csv {
        table.csv(out)?;
        return Ok(());
    }
    if counts.selected == 0 {
        return Ok(());
    }
    let chosen = !options.columns.is_empty();
    let table = table.whole(options.table.wide).with_every_column(chosen);
    table.print(style, out)?;
    writeln!(out, "{}", style.dim(summary(counts, list.order.len())))?;
    Ok(())
}

/// Returns what the list is of: how many calls, how long together, how many of them are shown.
fn summary(counts: CallCounts, shown: usize) -> String {
    let mut text = if counts.selected == counts.read {
        things(counts.read, "call", "calls")
    } else {
        let read = things(counts.read, "call", "calls");
        format!("{} of {read}", count(counts.selected))
    };
    let time = |ns: i64| duration(ns.unsigned_abs());
    if counts.async_calls < counts.selected || counts.selected == 0 {
        text += &format!(", total {}", time(counts.total));
    }
    if counts.async_calls > 0 {
        text += &format!(
            ", {} on async tracks, total {}",
            count(counts.async_calls),
            time(counts.async_total)
        );
    }
    let cut = counts.selected.saturating_sub(shown as u64);
    if cut > 0 {
        text += &format!(", {} shown; -n 0 prints all", count(shown as u64));
    }
    text
}

fn text(
    calls: &Calls,
    call: &Call,
    column: &Column,
    (exact, names): (bool, &ShortNames<'_>),
    machine: bool,
    style: &Style,
) -> String {
    match calls.cell(call, column) {
        // A call without title is known by its method.
        Cell::None if *column == Column::Title => {
            let name = call
                .function
                .map(|id| calls.tables.function_name(id))
                .unwrap_or_default();
            if exact {
                name.into_owned()
            } else {
                names.show(&name).into_owned()
            }
        }
        Cell::None => String::new(),
        Cell::Time(ns) if machine => ns.to_string(),
        Cell::Time(ns) => style.when(calls.tables.clock == Clock::Unix, ns),
        Cell::Nanoseconds(ns) if machine => ns.to_string(),
        Cell::Nanoseconds(ns) => {
            let sign = if ns < 0 { "-" } else { "" };
            format!("{sign}{}", duration(ns.unsigned_abs()))
        }
        Cell::Bytes(bytes) if exact || bytes < 0 => bytes.to_string(),
        Cell::Bytes(bytes) => size(bytes.unsigned_abs()),
        Cell::Number(number) if exact || number < 0 => number.to_string(),
        Cell::Number(number) => count(number.unsigned_abs()),
        Cell::Bool(yes) => if yes { "yes" } else { "" }.to_owned(),
        Cell::Text(text) if exact => text.into_owned(),
        Cell::Text(text) if *column == Column::Method => names.show(&text).into_owned(),
        Cell::Text(text) => text.replace(['\n', '\r', '\t'], " "),
    }
}

fn as_json(
    name: &CallName,
    path: Option<&str>,
    calls: &Calls,
    call: &Call,
    columns: &[Column],
) -> Value {
    let mut object = Map::new();
    object.insert("id".to_owned(), json!(name.id));
    if let Some((id, call)) = &name.capture {
        object.insert("capture".to_owned(), json!({"id": id, "call": call}));
    }
    if let Some(path) = path {
        object.insert("path".to_owned(), json!(path));
    }
    let (mut counters, mut attributes) = (None, None);
    for column in columns {
        // Names that a capture made up stand apart from ours.
        if let Column::Attribute(name) = column {
            let own = attributes.get_or_insert_with(Map::new);
            let value = attribute_json::of_one_name(&calls.tables, calls.values(call, name));
            own.extend(value.map(|value| (name.clone(), value)));
            continue;
        }
        let value = match calls.cell(call, column) {
            Cell::None => Value::Null,
            Cell::Time(number)
            | Cell::Nanoseconds(number)
            | Cell::Bytes(number)
            | Cell::Number(number) => {
                json!(number)
            }
            Cell::Bool(yes) => json!(yes),
            Cell::Text(text) => json!(text),
        };
        if let Column::Counter(name) = column {
            let own = counters.get_or_insert_with(Map::new);
            if !value.is_null() {
                own.insert(name.clone(), value);
            }
        } else {
            object.insert(column.name().to_owned(), value);
        }
    }
    for (name, own) in [("counters", counters), ("attributes", attributes)] {
        if let Some(own) = own {
            object.insert(name.to_owned(), own.into());
        }
    }
    Value::Object(object)
}

/// Returns the units of counters by their names; one that recordings count differently has none.
fn units(recordings: &[Calls]) -> Map<String, Value> {
    let mut units = Map::new();
    for calls in recordings {
        for column in calls.columns() {
            let Column::Counter(name) = &column else {
                continue;
            };
            let text = |id| calls.tables.text(id).into_owned();
            let unit = json!(unit_name(calls.unit(&column), &text));
            let known = units.entry(name.clone()).or_insert_with(|| unit.clone());
            if *known != unit {
                *known = Value::Null;
            }
        }
    }
    units
}

/// Returns the heading of a column in CSV: names of the capture with their prefix, numbers with their unit.
fn heading(recordings: &[Calls], column: &Column) -> String {
    let prefix = match column {
        Column::Counter(_) => Column::COUNTER,
        Column::Attribute(_) | Column::Named(_) => Column::ATTRIBUTE,
        _ => "",
    };
    let name = format!("{prefix}{}", column.name());
    let unit = recordings.iter().find_map(|calls| {
        let text = |id| calls.tables.text(id).into_owned();
        match calls.unit(column) {
            Unit::Count => None,
            unit => Some(unit_name(unit, &text)),
        }
    });
    match unit {
        Some(unit) => format!("{name} ({unit})"),
        None => name,
    }
}
