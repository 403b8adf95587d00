//! Tables on a terminal and as CSV.

use std::io::{self, Write};

use crate::style::Style;

/// Rows of text under headings. Columns of numbers are right-aligned; the last one is not padded.
pub(crate) struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: &[&str]) -> Self {
        Self {
            head: head.iter().map(|&name| name.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
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

    pub(crate) fn print(&self, style: &Style, out: &mut impl Write) -> io::Result<()> {
        let columns = self.head.len();
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells
                    .chain(self.head.get(column))
                    .map(|cell| cell.chars().count())
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let numeric: Vec<bool> = (0..columns)
            .map(|column| {
                let mut cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.all(|cell| {
                    cell.is_empty()
                        || cell.starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
                })
            })
            .collect();
        let line = |cells: &[String]| {
            let mut text = String::new();
            for (column, cell) in cells.iter().enumerate() {
                let width = widths.get(column).copied().unwrap_or(0);
                if column + 1 == columns {
                    text += cell;
                } else if numeric.get(column) == Some(&true) {
                    text += &format!("{cell:>width$}  ");
                } else {
                    text += &format!("{cell:width$}  ");
                }
            }
            text.trim_end().to_owned()
        };
        writeln!(out, "{}", style.dim(line(&self.head)))?;
        for row in &self.rows {
            writeln!(out, "{}", line(row))?;
        }
        Ok(())
    }

    /// Writes RFC 4180: quotes only where they are needed.
    pub(crate) fn csv(&self, out: &mut impl Write) -> io::Result<()> {
        for row in std::iter::once(&self.head).chain(&self.rows) {
            let cells: Vec<String> = row.iter().map(|cell| quoted(cell)).collect();
            writeln!(out, "{}\r", cells.join(","))?;
        }
        Ok(())
    }
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
