//! The outside world: paths, standard input, folders, archives and compression become [`Input`]s.
//!
//! An input is a list of parts, each with a name, a detected format and bytes readable from any offset in
//! windows ([`traceloom_formats::Pull`]). Parts that belong together form a [`Document`], which lowers as
//! one source. Saving goes the other way through [`save`].
//!
//! Deliberately absent: meaning. No record of any format is read here.
//!
//! ```no_run
//! use traceloom_formats::{LowerOptions, Source};
//! use traceloom_input::{Input, OpenOptions};
//! use traceloom_model::Recording;
//!
//! let input = Input::open("dump", &OpenOptions::default())?;
//! for document in input.documents() {
//!     let mut recording = Recording::default();
//!     if let Some(lower) = document.format().and_then(|format| format.lower) {
//!         lower(&document, &LowerOptions::default(), &mut recording)?;
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ahead;
mod archive;
pub mod captures;
mod error;
mod growing;
mod gzip;
mod halves;
mod input;
mod intake;
mod layers;
mod parallel;
mod pipe;
mod progress;
pub mod save;
mod spool;
mod store;
mod streams;
pub mod walk;

pub use error::Error;
pub use growing::{Growing, GrowingPull, Growth};
pub use halves::piped_halves;
pub use input::{Document, Input, InputPart, OpenOptions};
pub use intake::Buffers;
pub use layers::Wrapper;
pub use parallel::lower;
pub use pipe::piped;
pub use progress::Progress;
pub use streams::Streams;
pub use traceloom_formats::Unknown;
