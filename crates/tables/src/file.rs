//! Batches to the bytes of a file.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use crate::Error;

/// The format of the files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileFormat {
    /// Arrow IPC files, which can be mapped.
    Arrow,
    /// Parquet files.
    Parquet,
}

impl FileFormat {
    /// Returns the extension of its files.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Arrow => "arrow",
            Self::Parquet => "parquet",
        }
    }
}

/// Rows a Parquet writer holds before it writes them.
const ROW_GROUP: usize = 262_144;

/// One file being written; its bytes gather in `made`.
pub(crate) struct TableFile {
    writer: ColumnWriter,
    made: SharedBytes,
}

enum ColumnWriter {
    Arrow(Box<FileWriter<SharedBytes>>),
    Parquet(Box<ArrowWriter<SharedBytes>>),
}

/// Bytes that a writer has made, which their taker shares with it.
#[derive(Clone, Default)]
struct SharedBytes(Arc<Mutex<Vec<u8>>>);

impl SharedBytes {
    fn take(&self) -> Vec<u8> {
        // Nothing panics while it holds the bytes.
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl io::Write for SharedBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        made.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TableFile {
    pub fn new(format: FileFormat, schema: &SchemaRef) -> Result<Self, Error> {
        let made = SharedBytes::default();
        let writer = match format {
            FileFormat::Arrow => {
                let writer = FileWriter::try_new(made.clone(), schema).map_err(Error::of)?;
                ColumnWriter::Arrow(Box::new(writer))
            }
            FileFormat::Parquet => {
                let properties = WriterProperties::builder()
                    .set_compression(Compression::SNAPPY)
                    .set_max_row_group_row_count(Some(ROW_GROUP))
                    .build();
                let writer = ArrowWriter::try_new(made.clone(), schema.clone(), Some(properties));
                ColumnWriter::Parquet(Box::new(writer.map_err(Error::of)?))
            }
        };
        Ok(Self { writer, made })
    }

    /// Takes a batch and returns what became ready.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, Error> {
        match &mut self.writer {
            ColumnWriter::Arrow(writer) => writer.write(batch).map_err(Error::of)?,
            ColumnWriter::Parquet(writer) => writer.write(batch).map_err(Error::of)?,
        }
        Ok(self.made.take())
    }

    /// Ends the file and returns the last of it.
    pub fn finish(self) -> Result<Vec<u8>, Error> {
        match self.writer {
            ColumnWriter::Arrow(mut writer) => writer.finish().map_err(Error::of)?,
            ColumnWriter::Parquet(writer) => {
                writer.close().map_err(Error::of)?;
            }
        }
        Ok(self.made.take())
    }
}
