//! CSV: the model's tables as a folder of files, one a table, as RFC 4180 describes them.
//!
//! The columns are those of [`traceloom_model::flat`], the same as in Arrow and Parquet; written only.
//!
//! ```
//! use std::collections::BTreeMap;
//! use traceloom_formats::{LowerOptions, RaiseOptions, SliceSource, csv, folded};
//!
//! let stacks = SliceSource::default().with("cpu.folded", &folded::FORMAT, b"main;work 3\n");
//! let mut files = BTreeMap::new();
//! let mut tables = (csv::FORMAT.raise.unwrap())(&RaiseOptions::default(), &mut files)?;
//! (folded::FORMAT.lower.unwrap())(&stacks, &LowerOptions::default(), tables.as_mut())?;
//! tables.finish()?;
//! drop(tables);
//! assert!(files.contains_key("samples.csv"));
//! # Ok::<(), traceloom_formats::Error>(())
//! ```

mod raise;
#[cfg(test)]
mod tests;
mod time;

pub(crate) use raise::is_table;

use crate::Format;
use crate::codec::TABLES_HOLD;

/// CSV files.
pub const FORMAT: Format = Format {
    name: "csv",
    title: "CSV of the model's tables, a folder",
    extensions: &["csv"],
    // Many files are written and no set of parts is read.
    set: Some(|_| Vec::new()),
    raise: Some(raise::raise),
    holds: TABLES_HOLD,
    ..Format::BASE
};
