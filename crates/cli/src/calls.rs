//! `calls`: the list of calls.

mod sums;

use std::io::{self, Write};

use clap::Args;
use regex_lite::Regex;
use serde_json::{Map, Value, json};
use traceloom_analysis::calls::{Call, CallQuery, CallTable, Calls, Cell, Column};
use traceloom_analysis::stage::Keep;
use traceloom_analysis::{GroupBy, names};
use traceloom_input::{Document, Input};
use traceloom_model::Origin;

use crate::Outcome;
use crate::args::Common;
use crate::lowered::{documents, mention};
use crate::open::{Among, with_progress};
use crate::select::{CallFlags, MethodFlags};
use crate::style::{Style, count, duration, size, things};
use crate::table::Table;
use crate::timing::{TimeFlags, Timing};

/// List the calls: when, how long, what.
#[derive(Args)]
#[command(
    after_help = "The first column is the id that `traceloom call` takes.\n\nExamples:\n  \
    traceloom calls dump/ --sort -duration -n 20\n  \
    traceloom calls dump/ --with-method 'Statement.execute' --sort -used_time\n  \
    traceloom calls dump/ --percentiles --sort -p99\n  \
    traceloom calls dump/ --errors --filter '+POST $web.url=/orders'\n  \
    traceloom calls dump/ --columns start,duration,memory_used,title --csv"
)]
pub(crate) struct Options {
    /// Files, folders, archives, or `-`.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<String>,
    #[command(flatten)]
    calls: CallFlags,
    #[command(flatten)]
    methods: MethodFlags,
    #[command(flatten)]
    time: TimeFlags,
    /// Only calls in which a method matches; columns `uses` and `used_time` say how often it was called there and how
    /// long that took.
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["by", "percentiles"])]
    with_method: Option<Regex>,
    /// Columns to print; any counter or parameter by its name, `all` for every one.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Vec<String>,
    /// Sort by a column, `-` before its name for falling order.
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
    /// Calls to print; 0 prints all.
    #[arg(short = 'n', long, value_name = "ROWS", default_value_t = 0)]
    rows: usize,
    /// Print full names and exact numbers.
    #[arg(long)]
    wide: bool,
    /// Print JSON Lines, one call a line.
    #[arg(long)]
    json: bool,
    /// Print comma-separated values.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    #[command(flatten)]
    common: Common,
}

impl Options {
    fn query(&self) -> anyhow::Result<CallQuery> {
        let sort = self.sort.as_deref().map(|name| {
            let column = name.trim_start_matches('-').parse::<Column>();
            let Ok(column) = column;
            (column, name.starts_with('-'))
        });
        let limit = (self.rows > 0).then_some(self.rows);
        let mut selection = self.calls.selection()?;
        selection.filter = selection.filter.and(self.methods.rules()?);
        Ok(CallQuery {
            selection,
            with_method: self.with_method.clone(),
            sort,
            limit,
        })
    }

    fn columns(&self, calls: &Calls) -> Vec<Column> {
        let every = self.columns.iter().any(|name| name == "all");
        if every || (self.columns.is_empty() && (self.json || self.csv)) {
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
            .map(|Ok(column)| column)
            .collect()
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    if options.by.is_some() || options.percentiles {
        return sums::run(options);
    }
    let style = Style::new(&options.common)?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut among = Among::new(&options.paths, &options.common);
    while let Some((number, input)) = among.next()? {
        let path = input.path();
        let timing = Timing::of(
            &options.time,
            &options.common,
            number,
            std::slice::from_ref(&input),
        )?;
        let mut notes = Vec::new();
        let mut lists = Vec::new();
        with_progress(&input, "reading", || {
            for document in documents(&input)? {
                let mut table = CallTable::new(options.query()?);
                let lowering = options.common.lower_options()?;
                let keep = Keep::Whole;
                let sink = &mut table;
                notes.push(timing.lower_keeping(keep, 0, &input, &document, &lowering, sink)?);
                lists.push((document, table.finish()));
            }
            Ok(())
        })?;
        print(&input, &lists, options, &style, &mut out)?;
        out.flush()?;
        mention(path, &notes);
    }
    options.time.check_names()?;
    Ok(among.outcome())
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
    input: &Input,
    lists: &[(Document<'_>, Calls)],
    options: &Options,
    style: &Style,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let selected: u64 = lists.iter().map(|(_, calls)| calls.selected).sum();
    let read: u64 = lists.iter().map(|(_, calls)| calls.read).sum();
    if read == 0 && lists.iter().any(|(_, calls)| calls.samples > 0) {
        eprintln!(
            "traceloom: {}: a sampled profile has no calls; `traceloom top` shows it",
            input.path()
        );
        return Ok(());
    }
    if options.json {
        for (document, calls) in lists {
            let columns = options.columns(calls);
            for call in &calls.rows {
                writeln!(
                    out,
                    "{}",
                    as_json(&id(document, call), calls, call, &columns)
                )?;
            }
        }
        return Ok(());
    }
    let mut columns: Vec<Column> = Vec::new();
    for (_, calls) in lists {
        for column in options.columns(calls) {
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
    }
    let exact = options.csv || options.wide;
    let mut head = vec!["id"];
    head.extend(columns.iter().map(Column::name));
    let mut table = Table::new(&head);
    for (document, calls) in lists {
        for call in &calls.rows {
            let cells = columns
                .iter()
                .map(|column| text(calls, call, column, exact, options.csv, style));
            table.row(std::iter::once(id(document, call)).chain(cells));
        }
    }
    if options.csv {
        table.csv(out)?;
        return Ok(());
    }
    table.print(style, out)?;
    let shown: usize = lists.iter().map(|(_, calls)| calls.rows.len()).sum();
    let summary = if selected == read {
        things(read, "call", "calls")
    } else {
        format!("{} of {}", count(selected), things(read, "call", "calls"))
    };
    let cut = if (shown as u64) < selected {
        format!(", {} shown", count(shown as u64))
    } else {
        String::new()
    };
    writeln!(out, "{}", style.dim(format!("{summary}{cut}")))?;
    Ok(())
}

fn text(
    calls: &Calls,
    call: &Call,
    column: &Column,
    exact: bool,
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
                names::shorten(&name).into_owned()
            }
        }
        Cell::None => String::new(),
        Cell::Time(ns) if machine => ns.to_string(),
        Cell::Time(ns) => style.time(ns),
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
        Cell::Text(text) if *column == Column::Method => names::shorten(&text).into_owned(),
        Cell::Text(text) => text.replace(['\n', '\r', '\t'], " "),
    }
}

fn as_json(id: &str, calls: &Calls, call: &Call, columns: &[Column]) -> Value {
    let mut object = Map::new();
    object.insert("id".to_owned(), json!(id));
    for column in columns {
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
        object.insert(column.name().to_owned(), value);
    }
    Value::Object(object)
}
