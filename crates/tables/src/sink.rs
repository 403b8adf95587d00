//! Rows to the files of all tables.

use traceloom_model::Flow;
use traceloom_model::flat::{Cell, FlatRows, TABLES};

use crate::columns::ColumnBuffers;
use crate::file::TableFile;
use crate::{Error, FileFormat};

/// Takes the bytes of a file, appended to what it took before.
pub type Write<'w> = dyn FnMut(&str, &[u8]) -> Result<(), Error> + Send + 'w;

/// Takes rows and writes a file for each table, `spans.parquet` and so on.
pub struct Tables<'w> {
    format: FileFormat,
    write: Box<Write<'w>>,
    tables: Vec<(ColumnBuffers, Option<TableFile>)>,
    error: Option<Error>,
}

impl std::fmt::Debug for Tables<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Tables");
        shown.field("format", &self.format).finish_non_exhaustive()
    }
}

impl<'w> Tables<'w> {
    /// Writes files of `format` through `write`.
    #[must_use]
    pub fn new(format: FileFormat, write: Box<Write<'w>>) -> Self {
        let tables = TABLES.iter().map(|table| (ColumnBuffers::new(table), None));
        Self {
            format,
            write,
            tables: tables.collect(),
            error: None,
        }
    }

    /// Writes the rows that are no batch yet and ends every file.
    ///
    /// # Errors
    /// The first error met.
    pub fn finish(&mut self) -> Result<(), Error> {
        for table in 0..TABLES.len() {
            if self.end(table).is_break() {
                break;
            }
        }
        self.error.take().map_or(Ok(()), Err)
    }

    fn keep(&mut self, done: Result<(), Error>) -> Flow {
        if self.error.is_none() {
            self.error = done.err();
        }
        match self.error {
            Some(_) => Flow::Break(()),
            None => Flow::Continue(()),
        }
    }

    fn hand_out(&mut self, table: usize, bytes: &[u8]) -> Result<(), Error> {
        let Some(row) = TABLES.get(table).filter(|_| !bytes.is_empty()) else {
            return Ok(());
        };
        let name = format!("{}.{}", row.name, self.format.extension());
        (self.write)(&name, bytes)
    }

    /// Writes the rows of a table that are no batch yet.
    fn put(&mut self, table: usize) -> Result<(), Error> {
        let Some((columns, file)) = self.tables.get_mut(table) else {
            return Ok(());
        };
        let batch = columns.take()?;
        if file.is_none() {
            *file = Some(TableFile::new(self.format, &columns.schema)?);
        }
        let bytes = match file {
            Some(file) => file.write(&batch)?,
            None => Vec::new(),
        };
        self.hand_out(table, &bytes)
    }

    fn end(&mut self, table: usize) -> Flow {
        if self.error.is_some() {
            return Flow::Break(());
        }
        let done = self.put(table).and_then(|()| {
            let file = self.tables.get_mut(table).and_then(|(_, file)| file.take());
            let bytes = file.map_or_else(|| Ok(Vec::new()), TableFile::finish)?;
            self.hand_out(table, &bytes)
        });
        self.keep(done)
    }
}

impl FlatRows for Tables<'_> {
    fn row(&mut self, table: usize, cells: &[Cell<'_>]) -> Flow {
        let Some((columns, _)) = self.tables.get_mut(table) else {
            return Flow::Continue(());
        };
        columns.push(cells);
        if !columns.are_full() {
            return Flow::Continue(());
        }
        let done = self.put(table);
        self.keep(done)
    }
}
