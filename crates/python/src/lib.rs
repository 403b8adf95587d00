//! The module `_traceloom`, behind the package `traceloom` for Python: tables leave as Arrow streams of the C data interface.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Int64Array, RecordBatch, RecordBatchIterator, StringArray, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use traceloom::analysis::flame::{Picture, html};
use traceloom::analysis::{CallTree, Trees, top as functions};
use traceloom::model::flat::Flatten;
use traceloom::{Error, TraceInput};
use traceloom_tables::{BatchTable, Batches};

/// A table that every Arrow library takes by its `__arrow_c_stream__`.
#[pyclass]
struct ArrowTable {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl ArrowTable {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may leave the conversion to its consumer.
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// What went wrong, as Python raises it.
enum Fault {
    Path(Error),
    Value(String),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Path(error)
    }
}

impl From<ArrowError> for Fault {
    fn from(error: ArrowError) -> Self {
        Self::Value(error.to_string())
    }
}

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Path(error) => PyOSError::new_err(error.to_string()),
            Fault::Value(reason) => PyValueError::new_err(reason),
        }
    }
}

/// Opens a path that holds a recording.
fn opened(path: &str) -> Result<TraceInput, Fault> {
    let input = traceloom::open(path)?;
    if input.traces().next().is_none() {
        let reasons = input.left_out().take(3);
        let reasons: Vec<String> = reasons
            .map(|(name, reason)| format!("{name}: {reason}"))
            .collect();
        return Err(Fault::Value(format!(
            "{path}: no recording; {}",
            reasons.join("; ")
        )));
    }
    Ok(input)
}

type NamedTables = Vec<(String, ArrowTable)>;

/// Returns the tables of all recordings of a path, by name.
#[pyfunction]
fn read(py: Python<'_>, path: &str) -> PyResult<NamedTables> {
    Ok(py.detach(|| tables(path))?)
}

fn tables(path: &str) -> Result<NamedTables, Fault> {
    let mut all: NamedTables = Vec::new();
    for (number, trace) in (0..).zip(opened(path)?.traces()) {
        let mut sink = Flatten::new(Batches::new());
        trace.lower(&mut sink)?;
        let _ = sink.complete();
        let tables = sink.rows().finish();
        let tables = tables.map_err(|error| Fault::Value(error.to_string()))?;
        for table in tables {
            let (schema, batches) = numbered(&table, number)?;
            match all.iter_mut().find(|(name, _)| name == table.name) {
                Some((_, known)) => known.batches.extend(batches),
                None => all.push((table.name.to_owned(), ArrowTable { schema, batches })),
            }
        }
    }
    Ok(all)
}

/// Puts the number of the recording in front of each row.
fn numbered(table: &BatchTable, number: i64) -> Result<(SchemaRef, Vec<RecordBatch>), Fault> {
    let mut fields = vec![Arc::new(Field::new("recording", DataType::Int64, false))];
    fields.extend(table.schema.fields().iter().cloned());
    let schema = Arc::new(Schema::new(fields));
    let batches = table.batches.iter().map(|batch| {
        let column = Int64Array::from_value(number, batch.num_rows());
        let mut columns: Vec<arrow_array::ArrayRef> = vec![Arc::new(column)];
        columns.extend(batch.columns().iter().cloned());
        RecordBatch::try_new(Arc::clone(&schema), columns)
    });
    let batches = batches.collect::<Result<_, _>>()?;
    Ok((schema, batches))
}

/// Returns the call trees of a path, those that come to nothing last.
fn trees(path: &str) -> Result<Vec<CallTree>, Fault> {
    let mut all = Trees::default();
    for trace in opened(path)?.traces() {
        all.merge(trace.trees(Default::default())?);
    }
    let mut trees: Vec<CallTree> = all.into_trees().collect();
    trees.sort_by_key(|tree| tree.total == 0);
    Ok(trees)
}

/// Returns a table of functions for each value, the largest own value first.
#[pyfunction]
fn top(py: Python<'_>, path: &str) -> PyResult<NamedTables> {
    let tables = py.detach(|| {
        let trees = trees(path)?;
        trees
            .iter()
            .map(function_table)
            .collect::<Result<_, Fault>>()
    });
    Ok(tables?)
}

fn function_table(tree: &CallTree) -> Result<(String, ArrowTable), Fault> {
    let rows = functions(tree);
    let names = rows.iter().map(|row| tree.symbol(row.symbol).name.as_str());
    let names = StringArray::from_iter_values(names);
    let own = Int64Array::from_iter_values(rows.iter().map(|row| row.own));
    let total = Int64Array::from_iter_values(rows.iter().map(|row| row.total));
    let count = UInt64Array::from_iter_values(rows.iter().map(|row| row.count));
    let schema = Arc::new(Schema::new(vec![
        Field::new("function", DataType::Utf8, false),
        Field::new("self", DataType::Int64, false),
        Field::new("total", DataType::Int64, false),
        Field::new("count", DataType::UInt64, false),
    ]));
    let columns: Vec<arrow_array::ArrayRef> = vec![
        Arc::new(names),
        Arc::new(own),
        Arc::new(total),
        Arc::new(count),
    ];
    let batches = vec![RecordBatch::try_new(Arc::clone(&schema), columns)?];
    Ok((tree.measure.name.clone(), ArrowTable { schema, batches }))
}

/// Returns a flame graph of a path as a page.
#[pyfunction]
fn flame(py: Python<'_>, path: &str) -> PyResult<String> {
    let page = py.detach(|| {
        let trees = trees(path)?;
        let picture = Picture {
            title: path,
            ..Picture::default()
        };
        Ok::<_, Fault>(html(&trees, &picture))
    });
    Ok(page?)
}

/// Profiler and trace data as Arrow tables, hot functions and flame graphs.
#[pymodule]
fn _traceloom(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ArrowTable>()?;
    module.add_function(wrap_pyfunction!(read, module)?)?;
    module.add_function(wrap_pyfunction!(top, module)?)?;
    module.add_function(wrap_pyfunction!(flame, module)?)
}
