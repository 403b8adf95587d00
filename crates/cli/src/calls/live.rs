//! Calls as they end: what has arrived is read again and again, and calls that were not listed yet are printed.

use std::collections::HashSet;
use std::io::Write as _;
use std::time::{Duration, Instant};

use traceloom_analysis::calls::{CallList, CallQuery, CallState, CallTable, Column};
use traceloom_analysis::names::ShortNames;
use traceloom_input::Growth;

use super::{CallName, Options, as_json, text};
use crate::Outcome;
use crate::inputs::ReadFlags;
use crate::live::ArrivingPath;
use crate::lowered::mention;
use crate::streams::stdout;
use crate::style::Style;

/// Time between two looks at least.
const LEAST: Duration = Duration::from_millis(500);

/// Reading takes this part of the time at most.
const SHARE: u32 = 4;

/// Prints calls until the bytes end. Returns `None` where nothing was printed before the end: then the list is made of
/// everything at once.
pub(super) fn run(options: &Options, live: &ArrivingPath) -> anyhow::Result<Option<Outcome>> {
    let common = &options.read.common;
    let mut lines = CallPrinter::new(options)?;
    if live.format(common)?.is_none() {
        return Ok(None);
    }
    let mut pause = LEAST * 2;
    loop {
        let growing = live.growing();
        let until = Instant::now() + pause;
        let mut growth = growing.wait(u64::MAX, Some(until))?;
        if growth == Growth::Ended && lines.columns.is_none() {
            live.snapshot(common)?;
            return Ok(None);
        }
        let begun = Instant::now();
        let size = live.snapshot(common)?;
        let is_last = !matches!(growth, Growth::Size(_));
        match growth {
            // What there was is gone.
            Growth::Truncated => {}
            Growth::Replaced => {
                live.put_replaced(common)?;
                let mut replaced = options.read.clone();
                replaced.paths = vec!["-".to_owned()];
                lines.print(&replaced, is_last)?;
            }
            Growth::Size(_) | Growth::Ended => lines.print(&options.read, is_last)?,
        }
        pause = LEAST.max(begun.elapsed() * SHARE);
        if is_last {
            if !live.goes_on()? {
                return Ok(Some(Outcome::Done));
            }
            lines.listed.clear();
            continue;
        }
        // Nothing is read again before there is more.
        growth = growing.wait(size, None)?;
        if growth == Growth::Ended {
            pause = Duration::ZERO;
        }
    }
}

struct CallPrinter<'o> {
    options: &'o Options,
    style: Style,
    /// Columns with their widths, once there was a call.
    columns: Option<Vec<(Column, usize)>>,
    /// Ids of the calls that were printed.
    listed: HashSet<String>,
}

impl<'o> CallPrinter<'o> {
    fn new(options: &'o Options) -> anyhow::Result<Self> {
        Ok(Self {
            options,
            style: Style::new(&options.read.common)?,
            columns: None,
            listed: HashSet::new(),
        })
    }

    /// Prints the calls that are new; those that run are printed when nothing more comes.
    fn print(&mut self, read: &ReadFlags, is_last: bool) -> anyhow::Result<()> {
        let mut query = self.options.query()?;
        query.limit = None;
        let mut list = CallList::new(&CallQuery::default());
        let mut inputs = read.inputs();
        while let Some(input) = inputs.next()? {
            let notes = input.read(|recording| {
                let mut table = CallTable::new(query.clone());
                let notes = recording.lower(&mut table)?;
                list.add(table.finish(), |call| CallName::of(0, recording, call));
                Ok(notes)
            })?;
            if is_last {
                mention(&input.input, &notes);
            }
        }
        let list = list.finish();
        let mut out = stdout();
        for (_, calls, call, name) in list.iter() {
            let id = &name.id;
            let runs = call.state() == CallState::Running;
            if (runs && !is_last) || !self.listed.insert(id.clone()) {
                continue;
            }
            if self.options.table.json {
                let columns = self.options.columns(calls);
                writeln!(out, "{}", as_json(name, None, calls, call, &columns))?;
                self.columns.get_or_insert_default();
                continue;
            }
            let names = calls.tables.function_names();
            let names: Vec<_> = names.collect();
            let names = ShortNames::new(names.iter().map(AsRef::as_ref));
            let exact = self.options.table.is_exact();
            let cell =
                |column: &Column| text(calls, call, column, (exact, &names), false, &self.style);
            if self.columns.is_none() {
                let columns = self.options.columns(calls).into_iter();
                let with_width = columns.map(|column| {
                    let width = cell(&column).chars().count().max(column.name().len());
                    (column, width)
                });
                let columns: Vec<_> = with_width.collect();
                let head = columns
                    .iter()
                    .map(|(column, width)| (column.name().to_owned(), *width));
                writeln!(out, "{}", line("id", id.len(), head))?;
                self.columns = Some(columns);
            }
            let columns = self.columns.iter().flatten();
            let cells = columns.map(|(column, width)| (cell(column), *width));
            writeln!(out, "{}", line(id, 0, cells))?;
        }
        out.flush()?;
        Ok(())
    }
}

/// Puts cells into columns; one that is wider than the first call's moves those behind it.
fn line(id: &str, width: usize, cells: impl Iterator<Item = (String, usize)>) -> String {
    let mut line = format!("{id:<width$}");
    for (cell, width) in cells {
        line += &format!("  {cell:<width$}");
    }
    line.truncate(line.trim_end().len());
    line
}
