//! Reads profiler and trace data of some thirty dialects into one model, analyses it, and writes it in another.
//!
//! A program that uses the library leaves the program's own dependencies out:
//!
//! ```toml
//! traceloom = { version = "0.2", default-features = false, features = ["dialects", "files"] }
//! ```
//!
//! [`open`] takes a path, [`from_bytes`] takes bytes in memory; both give [`TraceSource`]s, one for each recording. A
//! source is read as often as it is asked: span by span ([`TraceSource::each_span`]), as a whole
//! ([`TraceSource::recording`]), as call trees ([`TraceSource::trees`]), or into another format
//! ([`TraceSource::write`]).
//!
//! ```
//! # #[cfg(feature = "files")] {
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
//! use std::ops::ControlFlow;
//!
//! let input = traceloom::open(folder)?;
//! let mut slow = Vec::new();
//! for trace in input.traces() {
//!     trace.each_span(|span| {
//!         if span.duration() > 1_900_000_000 {
//!             slow.push(span.name().into_owned());
//!         }
//!         ControlFlow::Continue(())
//!     })?;
//! }
//! assert_eq!(slow.len(), 6);
//! for (name, reason) in input.left_out() {
//!     eprintln!("{name}: {reason}");
//! }
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! - `files`: [`open`] and the crate `input`: paths, folders, archives, compression. Without it nothing here does I/O or
//!   holds C code, and the library builds for `wasm32-unknown-unknown`.
//! - `cli` (default): what the program `traceloom` needs, `files` included. It adds nothing to the library.
//! - `tables`: Arrow and Parquet as targets of the program.
//!
//! There is no feature for each dialect. The registry, detection and the laws in the tests of `traceloom-formats` go over
//! one list of all of them. A program that wants one dialect and its size calls that dialect's module in [`formats`]
//! (`formats::heph::Reader`), which refers to no other; the linker drops the rest.
//!
//! Deliberately absent: collecting (`traceloom serve`) and writing from a traced program (`traceloom-emit`).

mod library;

pub use library::{NamedSpan, TraceSource, from_bytes};
#[cfg(feature = "files")]
pub use library::{TraceInput, open, open_with};

pub use traceloom_analysis as analysis;
pub use traceloom_formats as formats;
#[cfg(feature = "files")]
pub use traceloom_input as input;
pub use traceloom_model as model;

pub use traceloom_formats::{Error, Unknown};
