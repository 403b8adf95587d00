//! Tables on a terminal and as CSV.

mod fit;

pub(crate) use fit::cut_name;

use std::borrow::Cow;
use std::io::{self, Write};

use traceloom_analysis::names::ShortNames;
use traceloom_model::{is_formula, printable};
use unicode_width::UnicodeWidthStr;

use crate::style::Style;

/// Widest column that other rows are padded to: one long name must not put blanks into every row.
const WIDEST: usize = 200;

/// Columns of ids, which are typed again, and of bars, whose places are times.
const WHOLE: [&str; 2] = ["id", "activity"];

/// Rows of text under headings. Columns of numbers are right-aligned; the last one is not padded.
pub(crate) struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    whole: bool,
    every_column: bool,
}

impl Table {
    pub(crate) fn new(head: &[&str]) -> Self {
        Self {
            head: head.iter().map(|&name| safe(name.to_owned())).collect(),
            rows: Vec::new(),
            whole: false,
            every_column: false,
        }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells = cells.into_iter();
        self.rows.push(cells.map(safe).collect());
    }

    /// Drops columns that have nothing in any row, for views whose inputs fill different ones.
    pub(crate) fn without_empty(mut self) -> Self {
        let filled: Vec<bool> = (0..self.head.len())
            .map(|column| {
                let mut cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.any(|cell| !cell.is_empty())
            })
            .collect();
        for row in std::iter::once(&mut self.head).chain(&mut self.rows) {
            let mut kept = filled.iter().copied();
            row.retain(|_| kept.next().unwrap_or(true));
        }
        self
    }

    /// Puts tables below each other, each under its own cells of the columns `labels`; a column that a table has not is
    /// empty in its rows.
    pub(crate) fn joined(
        labels: &[&str],
        parts: impl IntoIterator<Item = (Vec<String>, Self)>,
    ) -> Self {
        let mut all = Self::new(labels);
        for (own, part) in parts {
            let columns = part.head.iter().map(|heading| {
                let known = all.head.iter().skip(labels.len());
                let known = known
                    .zip(labels.len()..)
                    .find(|(known, _)| *known == heading);
                known.map(|(_, at)| at)
            });
            let columns: Vec<Option<usize>> = columns.collect();
            let mut width = all.head.len();
            let places = columns.into_iter().map(|column| {
                column.unwrap_or_else(|| {
                    width += 1;
                    width - 1
                })
            });
            let places: Vec<usize> = places.collect();
            for (&place, heading) in places.iter().zip(part.head) {
                if place >= all.head.len() {
                    all.head.push(heading);
                }
            }
            for cells in part.rows {
                let mut row: Vec<String> = own.iter().cloned().map(safe).collect();
                row.resize(width, String::new());
                for (&place, cell) in places.iter().zip(cells) {
                    if let Some(slot) = row.get_mut(place) {
                        *slot = cell;
                    }
                }
                all.rows.push(row);
            }
        }
        // Rows before a column came are shorter.
        let width = all.head.len();
        all.rows
            .iter_mut()
            .for_each(|row| row.resize(width, String::new()));
        all
    }

    /// Writes the tables of several paths as one, each row with its path; that of one path as it is.
    pub(crate) fn csv_of_paths(
        paths: usize,
        mut tables: Vec<(String, Self)>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        if paths == 1 && tables.len() == 1 {
            return tables.remove(0).1.csv(out);
        }
        let labels: &[&str] = if paths == 1 { &[] } else { &["path"] };
        let parts = tables.into_iter().map(|(path, table)| {
            let own = labels.iter().map(|_| path.clone());
            (own.collect(), table)
        });
        Self::joined(labels, parts).csv(out)
    }

    /// Renames the columns for which `name` has another name.
    pub(crate) fn rename(&mut self, name: impl Fn(&str) -> Option<&str>) {
        for heading in &mut self.head {
            if let Some(name) = name(heading).map(str::to_owned) {
                *heading = name;
            }
        }
    }

    /// Prints cells and columns whole, however wide the terminal is.
    pub(crate) fn whole(mut self, whole: bool) -> Self {
        self.whole = whole;
        self
    }

    /// Leaves no column out, because somebody named them.
    pub(crate) fn with_every_column(mut self, every: bool) -> Self {
        self.every_column = every;
        self
    }

    /// Prints the table; on a terminal, texts are cut and columns left out until it fits.
    ///
    /// A name that is cut stays another text than every other name of its column.
    pub(crate) fn print(&self, style: &Style, out: &mut impl Write) -> io::Result<()> {
        // Names are told apart where they are cut.
        let n_cut = match style.width().is_some() && !self.whole {
            true => self.head.len(),
            false => 0,
        };
        let columns = (0..n_cut).map(|column| {
            let cells = self.rows.iter().filter_map(move |row| row.get(column));
            ShortNames::new(cells.map(String::as_str))
        });
        let columns: Vec<_> = columns.collect();
        self.print_with(style, &|column| columns.get(column), out)
    }

    /// Prints the table as [`Table::print`] does, names so that only one of all `names` is meant.
    pub(crate) fn print_names(
        &self,
        style: &Style,
        names: &ShortNames<'_>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        self.print_with(style, &|_| Some(names), out)
    }

    fn print_with<'n>(
        &self,
        style: &Style,
        names: &dyn Fn(usize) -> Option<&'n ShortNames<'n>>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let measured = self.measure();
        let widths = match style.width().filter(|_| !self.whole) {
            Some(room) => fit::fit(&measured, room, self.every_column),
            None => measured.iter().map(|column| Some(column.width)).collect(),
        };
        let cut = style.width().is_some() && !self.whole;
        let last = widths.iter().rposition(Option::is_some);
        let line = |cells: &[String]| {
            let mut text = String::new();
            for (at, ((cell, column), width)) in
                cells.iter().zip(&measured).zip(&widths).enumerate()
            {
                let Some(width) = *width else { continue };
                let cell: Cow<'_, str> = match cut {
                    true => fit::cut(cell, column.heading, width, names(at)).into(),
                    false => cell.into(),
                };
                // `{cell:width$}` panics for widths above 65,535 and counts characters, not columns.
                let blanks = " ".repeat(width.saturating_sub(cell.width()));
                if Some(at) == last {
                    text += &cell;
                } else if column.right {
                    text.extend([&*blanks, &*cell, "  "]);
                } else {
                    text.extend([&*cell, &*blanks, "  "]);
                }
            }
            text.trim_end().to_owned()
        };
        writeln!(out, "{}", style.dim(line(&self.head)))?;
        for row in &self.rows {
            writeln!(out, "{}", line(row))?;
        }
        let left_out = measured.iter().zip(&widths);
        let left_out: Vec<&str> = left_out
            .filter(|(_, width)| width.is_none())
            .map(|(column, _)| column.heading)
            .collect();
        if !left_out.is_empty() {
            let text = format!(
                "without {}; --wide prints every column",
                left_out.join(", ")
            );
            writeln!(out, "{}", style.dim(text))?;
        }
        Ok(())
    }

    fn measure(&self) -> Vec<fit::Measured<'_>> {
        let columns = self.head.iter().enumerate().map(|(at, heading)| {
            let cells = || self.rows.iter().filter_map(move |row| row.get(at));
            let widths = cells().chain([heading]).map(|cell| cell.width());
            let mut numbers = cells();
            let numeric = numbers.all(|cell| {
                cell.is_empty() || cell.starts_with(|c: char| c == '-' || c.is_ascii_digit())
            });
            fit::Measured {
                heading,
                width: widths.max().unwrap_or(0).min(WIDEST),
                whole: numeric || WHOLE.contains(&heading.as_str()),
                right: numeric,
            }
        });
        columns.collect()
    }

    /// Writes RFC 4180: quotes only where they are needed, and an apostrophe before what a spreadsheet would run.
    pub(crate) fn csv(&self, out: &mut impl Write) -> io::Result<()> {
        for row in std::iter::once(&self.head).chain(&self.rows) {
            let cells: Vec<String> = row.iter().map(|cell| quoted(cell)).collect();
            writeln!(out, "{}\r", cells.join(","))?;
        }
        Ok(())
    }
}

/// Makes a cell one line without effects on a terminal.
fn safe(cell: String) -> String {
    match printable(&cell) {
        Cow::Borrowed(_) => cell,
        Cow::Owned(shown) => shown,
    }
}

fn quoted(cell: &str) -> String {
    let apostrophe = if is_formula(cell) { "'" } else { "" };
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{apostrophe}{}\"", cell.replace('"', "\"\""))
    } else {
        format!("{apostrophe}{cell}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Common;

    fn printed(table: &Table) -> String {
        let style = Style::new(&Common {
            tz: "UTC".to_owned(),
            ..Common::default()
        });
        let style = style.unwrap();
        let mut out = Vec::new();
        table.print(&style, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_cell_of_any_length_is_printed_whole() {
        let long = "x".repeat(70_000);
        let mut table = Table::new(&["name", "n", "what"]);
        table.row([long.clone(), "1".to_owned(), "long".to_owned()]);
        table.row(["short".to_owned(), "22".to_owned(), "b".to_owned()]);
        let shown = printed(&table);
        let lines: Vec<_> = shown.lines().collect();
        assert_eq!(lines[1], format!("{long}   1  long"));
        assert_eq!(lines[2], format!("short{}  22  b", " ".repeat(195)));
    }

    #[test]
    fn columns_are_as_wide_as_a_terminal_shows_them() {
        let mut table = Table::new(&["name", "what"]);
        table.row(["注文".to_owned(), "a".to_owned()]);
        table.row(["e\u{301}".to_owned(), "b".to_owned()]);
        assert_eq!(printed(&table), "name  what\n注文  a\ne\u{301}     b\n");
    }

    #[test]
    fn csv_quotes_what_needs_it() {
        let mut table = Table::new(&["a", "b"]);
        table.row(["1,2".to_owned(), "say \"hi\"".to_owned()]);
        let mut out = Vec::new();
        table.csv(&mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "a,b\r\n\"1,2\",\"say \"\"hi\"\"\"\r\n"
        );
        assert_eq!(quoted("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
        assert_eq!(quoted("-5"), "-5");
    }

    #[test]
    fn a_name_of_a_capture_is_one_cell_that_nothing_runs() {
        let mut table = Table::new(&["a", "b", "c"]);
        let hostile = "=1+1,\u{1b}]0;x\u{7}\n";
        table.row(["-1".to_owned(), hostile.to_owned(), "last".to_owned()]);
        let mut out = Vec::new();
        table.csv(&mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "a,b,c\r\n-1,\"'=1+1,\\u{1b}]0;x\\u{7}\\n\",last\r\n"
        );
        assert_eq!(
            printed(&table).lines().nth(1),
            Some("-1  =1+1,\\u{1b}]0;x\\u{7}\\n  last")
        );
    }
}
