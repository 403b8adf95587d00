//! Rows to batches in memory.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use traceloom_model::Flow;
use traceloom_model::flat::{Cell, FlatRows, TABLES};

use crate::Error;
use crate::columns::ColumnBuffers;

/// A table as record batches.
#[derive(Clone, Debug)]
pub struct BatchTable {
    /// Its name.
    pub name: &'static str,
    /// Its columns.
    pub schema: SchemaRef,
    /// Its rows, at most [`crate::BATCH_ROWS`] in each.
    pub batches: Vec<RecordBatch>,
}

/// Takes rows and keeps a table of each kind in memory.
///
/// ```
/// use traceloom_model::flat::Flatten;
/// use traceloom_model::{Clock, CounterBatch, Order, Series, Sink, Unit};
/// use traceloom_tables::Batches;
///
/// let mut model = traceloom_model::Tables::new();
/// let name = model.string("heap.used");
/// let series = model.series(Series { name, unit: Unit::Bytes, track: None });
/// let mut points = CounterBatch::default();
/// points.push(series, 1_000, 0.5);
///
/// let mut sink = Flatten::new(Batches::new());
/// sink.begin(Order::Nested, Clock::Unix);
/// let _ = sink.define(model.take_definitions());
/// let _ = sink.counters(points);
/// let _ = sink.complete();
/// let tables = sink.rows().finish().unwrap();
/// let counters = tables.iter().find(|table| table.name == "counters").unwrap();
/// assert_eq!(counters.batches[0].num_rows(), 1);
/// ```
pub struct Batches {
    tables: Vec<(ColumnBuffers, Vec<RecordBatch>)>,
    error: Option<Error>,
}

impl std::fmt::Debug for Batches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batches").finish_non_exhaustive()
    }
}

impl Default for Batches {
    fn default() -> Self {
        Self::new()
    }
}

impl Batches {
    /// Empty.
    #[must_use]
    pub fn new() -> Self {
        let tables = TABLES.iter();
        Self {
            tables: tables
                .map(|table| (ColumnBuffers::new(table), Vec::new()))
                .collect(),
            error: None,
        }
    }

    /// Returns every table, those without rows too, and leaves none.
    ///
    /// # Errors
    /// The first error met.
    pub fn finish(&mut self) -> Result<Vec<BatchTable>, Error> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let named = TABLES.iter().zip(&mut self.tables);
        let tables = named.map(|(table, (columns, batches))| {
            if columns.rows > 0 {
                batches.push(columns.take()?);
            }
            Ok(BatchTable {
                name: table.name,
                schema: columns.schema.clone(),
                batches: std::mem::take(batches),
            })
        });
        tables.collect()
    }
}

impl FlatRows for Batches {
    fn row(&mut self, table: usize, cells: &[Cell<'_>]) -> Flow {
        let Some((columns, batches)) = self.tables.get_mut(table) else {
            return Flow::Continue(());
        };
        columns.push(cells);
        if !columns.are_full() {
            return Flow::Continue(());
        }
        match columns.take() {
            Ok(batch) => batches.push(batch),
            Err(error) => {
                self.error.get_or_insert(error);
                return Flow::Break(());
            }
        }
        Flow::Continue(())
    }
}
