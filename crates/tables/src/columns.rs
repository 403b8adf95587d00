//! Cells to arrays: the columns of one table that a batch is made of.

use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int64Builder, StringBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use traceloom_model::flat::{Cell, Column, ColumnType, FlatTable};

use crate::Error;

/// Rows of a table that are no batch yet.
pub(crate) struct ColumnBuffers {
    pub schema: SchemaRef,
    builders: Vec<CellBuilder>,
    pub rows: usize,
}

enum CellBuilder {
    I64(Int64Builder),
    F64(Float64Builder),
    Bool(BooleanBuilder),
    Text(StringBuilder),
    Time(TimestampMicrosecondBuilder),
}

impl CellBuilder {
    fn new(kind: ColumnType) -> Self {
        match kind {
            ColumnType::I64 => Self::I64(Int64Builder::new()),
            ColumnType::F64 => Self::F64(Float64Builder::new()),
            ColumnType::Bool => Self::Bool(BooleanBuilder::new()),
            ColumnType::Text => Self::Text(StringBuilder::new()),
            ColumnType::Time => Self::Time(TimestampMicrosecondBuilder::new().with_timezone("UTC")),
        }
    }

    /// Adds a cell; one of another type than the column's is nothing.
    fn push(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Self::I64(column), Cell::I64(value)) => column.append_value(value),
            (Self::F64(column), Cell::F64(value)) => column.append_value(value),
            (Self::Bool(column), Cell::Bool(value)) => column.append_value(value),
            (Self::Text(column), Cell::Text(value)) => column.append_value(value),
            (Self::Time(column), Cell::Time(value)) => column.append_value(value),
            (Self::I64(column), _) => column.append_null(),
            (Self::F64(column), _) => column.append_null(),
            (Self::Bool(column), _) => column.append_null(),
            (Self::Text(column), _) => column.append_null(),
            (Self::Time(column), _) => column.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::I64(column) => Arc::new(column.finish()),
            Self::F64(column) => Arc::new(column.finish()),
            Self::Bool(column) => Arc::new(column.finish()),
            Self::Text(column) => Arc::new(column.finish()),
            Self::Time(column) => Arc::new(column.finish()),
        }
    }

    /// Bytes of text gathered, which have to stay below the 2 GiB of a column.
    fn text_bytes(&self) -> usize {
        match self {
            Self::Text(column) => column.values_slice().len(),
            _ => 0,
        }
    }
}

/// Returns the Arrow type of a column. Plain text and signed integers travel everywhere.
fn data_type(column: Column) -> DataType {
    match column.kind {
        ColumnType::I64 => DataType::Int64,
        ColumnType::F64 => DataType::Float64,
        ColumnType::Bool => DataType::Boolean,
        ColumnType::Text => DataType::Utf8,
        ColumnType::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
    }
}

impl ColumnBuffers {
    pub fn new(table: &FlatTable) -> Self {
        let fields = table
            .columns
            .iter()
            .map(|&column| Field::new(column.name, data_type(column), true));
        let fields: Vec<Field> = fields.collect();
        Self {
            schema: Arc::new(Schema::new(fields)),
            builders: table
                .columns
                .iter()
                .map(|column| CellBuilder::new(column.kind))
                .collect(),
            rows: 0,
        }
    }

    pub fn push(&mut self, cells: &[Cell<'_>]) {
        let cells = cells.iter().copied().chain(std::iter::repeat(Cell::Null));
        for (builder, cell) in self.builders.iter_mut().zip(cells) {
            builder.push(cell);
        }
        self.rows += 1;
    }

    /// Returns true if the rows are a batch: by their number, or by their text.
    pub fn are_full(&self) -> bool {
        const TEXT: usize = 64 << 20;
        self.rows >= crate::BATCH_ROWS
            || self.rows.is_multiple_of(256)
                && self
                    .builders
                    .iter()
                    .any(|column| column.text_bytes() > TEXT)
    }

    /// Takes the rows as a batch.
    pub fn take(&mut self) -> Result<RecordBatch, Error> {
        self.rows = 0;
        let arrays = self.builders.iter_mut().map(CellBuilder::finish).collect();
        RecordBatch::try_new(self.schema.clone(), arrays).map_err(Error::of)
    }
}
