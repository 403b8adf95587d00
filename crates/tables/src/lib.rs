//! The model's flat tables as Arrow record batches, written as Arrow IPC and Parquet files.
//!
//! [`Tables`] takes the rows of [`traceloom_model::flat`]: they become batches of at most [`BATCH_ROWS`]
//! rows, and each table is a file of its own, whose bytes go to the caller as they are made. Deliberately absent: reading, and names of files in a
//! file system. [`Batches`] keeps them in memory; it is all there is without the feature `files`.
//!
//! ```
//! # #[cfg(feature = "files")] {
//! use traceloom_model::flat::Flatten;
//! use traceloom_model::{Clock, CounterBatch, Order, Series, Sink, Unit};
//! use traceloom_tables::{FileFormat, Tables};
//!
//! let mut model = traceloom_model::Tables::new();
//! let name = model.string("heap.used");
//! let series = model.series(Series { name, unit: Unit::Bytes, track: None });
//! let mut points = CounterBatch::default();
//! points.push(series, 1_000, 0.5);
//!
//! let mut files = std::collections::BTreeMap::<String, Vec<u8>>::new();
//! let write = Box::new(|file: &str, bytes: &[u8]| {
//!     files.entry(file.to_owned()).or_default().extend_from_slice(bytes);
//!     Ok(())
//! });
//! let mut sink = Flatten::new(Tables::new(FileFormat::Parquet, write));
//! sink.begin(Order::Nested, Clock::Unix);
//! let _ = sink.define(model.take_definitions());
//! let _ = sink.counters(points);
//! let _ = sink.complete();
//! sink.rows().finish().unwrap();
//! drop(sink);
//! assert!(files["counters.parquet"].starts_with(b"PAR1"));
//! # }
//! ```

mod batches;
mod columns;
mod error;
#[cfg(feature = "files")]
mod file;
#[cfg(feature = "files")]
mod sink;

pub use batches::{BatchTable, Batches};
pub use error::Error;
#[cfg(feature = "files")]
pub use file::FileFormat;
#[cfg(feature = "files")]
pub use sink::{Tables, Write};

/// Most rows of a record batch.
pub const BATCH_ROWS: usize = 65_536;
