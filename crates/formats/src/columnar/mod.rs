//! Arrow and Parquet: the model's tables as columns, for engines that read columns.
//!
//! Only the rows of the registry are here. What writes them is the crate `traceloom-tables`: Arrow is
//! no light dependency, so it is a feature of the program that writes, which puts its own [`crate::Raise`] in
//! the place of the one here. Without the feature this one says how to get it.
//!
//! ```
//! use traceloom_formats::{RaiseOptions, columnar};
//!
//! // Without the feature `tables` of the program these rows say how to get it.
//! let mut file = Vec::new();
//! let refused = (columnar::ARROW.raise.unwrap())(&RaiseOptions::default(), &mut file);
//! assert!(refused.err().unwrap().to_string().contains("tables"));
//! ```

use crate::codec::TABLES_HOLD;
use crate::{Error, Format, Output, RaiseOptions, Target};

/// Arrow IPC files.
pub const ARROW: Format = Format {
    name: "arrow",
    title: "Arrow IPC files of the model's tables, a folder",
    extensions: &["arrow", "feather"],
    ..PARQUET
};

/// Parquet files.
pub const PARQUET: Format = Format {
    name: "parquet",
    title: "Parquet files of the model's tables, a folder",
    extensions: &["parquet"],
    // Many files are written and no set of parts is read.
    set: Some(|_| Vec::new()),
    raise: Some(absent),
    holds: TABLES_HOLD,
    ..Format::BASE
};

fn absent<'o>(
    _options: &RaiseOptions,
    _output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    Err(Error::usage(
        "this program was built without the feature `tables`, which writes Arrow and Parquet: build it with \
         `cargo build --release --features tables`, or write `csv`, which has the same tables",
    ))
}
