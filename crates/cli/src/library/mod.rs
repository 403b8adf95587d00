//! The library: what is opened, the recordings in it, their spans.

#[cfg(feature = "files")]
mod files;
mod span;
mod trace;

#[cfg(feature = "files")]
pub use files::{TraceInput, open, open_with};
pub use span::NamedSpan;
pub use trace::{TraceSource, from_bytes};
