//! Arrow and Parquet, where this program was built with them.

use traceloom_formats::{Format, Raise};

/// Returns what writes a format: here for Arrow and Parquet, in the format's own row for all others.
pub(crate) fn raise_of(format: &'static Format) -> Option<Raise> {
    #[cfg(feature = "tables")]
    if let Some(raise) = with_tables::raise_of(format) {
        return Some(raise);
    }
    format.raise
}

#[cfg(feature = "tables")]
mod with_tables {
    use traceloom_formats::{
        Error, Format, Output, Raise, RaiseOptions, RowTarget, Target, columnar,
    };
    use traceloom_model::Flow;
    use traceloom_model::flat::{Cell, FlatRows, Flatten};
    use traceloom_tables::{Error as TablesError, FileFormat, Tables};

    pub(super) fn raise_of(format: &'static Format) -> Option<Raise> {
        if *format == columnar::ARROW {
            Some(|options, output| open(FileFormat::Arrow, options, output))
        } else if *format == columnar::PARQUET {
            Some(|options, output| open(FileFormat::Parquet, options, output))
        } else {
            None
        }
    }

    fn open<'o>(
        format: FileFormat,
        options: &RaiseOptions,
        output: &'o mut dyn Output,
    ) -> Result<Box<dyn Target + 'o>, Error> {
        if let Some(variant) = &options.variant {
            let name = format.extension();
            return Err(Error::usage(format!("{name} has no variant `{variant}`")));
        }
        let write = Box::new(|name: &str, bytes: &[u8]| {
            let written = output.write(name, bytes);
            written.map_err(|error| TablesError::new(error.to_string()))
        });
        Ok(Box::new(Flatten::new(ColumnarTarget(Tables::new(
            format, write,
        )))))
    }

    /// The files as a target of the formats crate, which knows nothing of Arrow.
    struct ColumnarTarget<'o>(Tables<'o>);

    impl FlatRows for ColumnarTarget<'_> {
        fn row(&mut self, table: usize, cells: &[Cell<'_>]) -> Flow {
            self.0.row(table, cells)
        }
    }

    impl RowTarget for ColumnarTarget<'_> {
        fn end(&mut self) -> Result<(), Error> {
            self.0
                .finish()
                .map_err(|error| Error::io(error.to_string()))
        }
    }
}
