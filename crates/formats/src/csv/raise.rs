//! Rows to lines.

use traceloom_model::flat::{Cell, Column, FlatRows, Flatten, TABLES};
use traceloom_model::{Flow, is_formula};

use super::time::Day;
use crate::text::scalars;
use crate::{Error, Output, RaiseOptions, RowTarget, Target};

/// Bytes of one table gathered before they are handed out.
const BUFFER: usize = 64 << 10;

/// Builds a target that writes a CSV file for each table.
///
/// # Errors
/// `Usage` for a variant: there are none.
pub(super) fn raise<'o>(
    options: &RaiseOptions,
    output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    if let Some(variant) = &options.variant {
        return Err(Error::usage(format!("csv has no variant `{variant}`")));
    }
    Ok(Box::new(Flatten::new(CsvRows {
        output,
        tables: TABLES.iter().map(|table| header(table.columns)).collect(),
        error: None,
        day: Day::default(),
    })))
}

/// Returns the first line of a table with these columns.
fn header(columns: &[Column]) -> Vec<u8> {
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    (names.join(",") + "\r\n").into_bytes()
}

/// Returns `true` if a file begins as one of the tables does.
pub(crate) fn is_table(head: &[u8]) -> bool {
    let mut headers = TABLES.iter().map(|table| header(table.columns));
    headers.any(|header| head.starts_with(&header))
}

struct CsvRows<'o> {
    output: &'o mut dyn Output,
    /// What is not handed out yet of each table.
    tables: Vec<Vec<u8>>,
    error: Option<Error>,
    day: Day,
}

impl CsvRows<'_> {
    fn hand_out(&mut self, least: usize) -> Flow {
        for (table, bytes) in TABLES.iter().zip(&mut self.tables) {
            if self.error.is_none() && bytes.len() >= least && !bytes.is_empty() {
                let name = format!("{}.csv", table.name);
                self.error = self.output.write(&name, bytes).err();
                bytes.clear();
            }
        }
        if self.error.is_some() {
            Flow::Break(())
        } else {
            Flow::Continue(())
        }
    }
}

impl FlatRows for CsvRows<'_> {
    fn row(&mut self, table: usize, cells: &[Cell<'_>]) -> Flow {
        let Some(out) = self.tables.get_mut(table) else {
            return Flow::Continue(());
        };
        for (at, cell) in cells.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            match *cell {
                Cell::Null => {}
                Cell::I64(number) => scalars::decimal(number, out),
                Cell::F64(number) => out.extend_from_slice(format!("{number:?}").as_bytes()),
                Cell::Bool(yes) => {
                    out.extend_from_slice(if yes { b"true" } else { b"false" });
                }
                Cell::Text(text) => put_text(text, out),
                Cell::Time(us) => self.day.put(us, out),
            }
        }
        out.extend_from_slice(b"\r\n");
        Flow::Continue(())
    }

    fn batch(&mut self) -> Flow {
        self.hand_out(BUFFER)
    }
}

/// Appends a field, quoted where it must be; an empty text is quoted, so that it is not nothing, and one that a spreadsheet would
/// run begins with an apostrophe.
fn put_text(text: &str, out: &mut Vec<u8>) {
    // Without a way out of the loop, so that many bytes are compared at once.
    let special = |byte: u8| matches!(byte, b'"' | b',' | b'\n' | b'\r');
    let any = text.bytes().fold(false, |any, byte| any | special(byte));
    let formula = is_formula(text);
    if !text.is_empty() && !any && !formula {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    if formula {
        out.push(b'\'');
    }
    for (at, part) in text.split('"').enumerate() {
        if at > 0 {
            out.extend_from_slice(b"\"\"");
        }
        out.extend_from_slice(part.as_bytes());
    }
    out.push(b'"');
}

impl RowTarget for CsvRows<'_> {
    fn end(&mut self) -> Result<(), Error> {
        // A break is the error below.
        let _ = self.hand_out(0);
        self.error.take().map_or(Ok(()), Err)
    }
}
