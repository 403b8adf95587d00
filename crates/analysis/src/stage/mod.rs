//! What stands between a reader and a sink: each stage changes one thing and passes the rest on.
//!
//! [`Shift`] and [`Window`] decide about time, [`Choose`] about calls, [`Sift`] about events, [`AsSpans`] and [`AsSamples`] tell one kind
//! of recording as the other; they look at one recording each, because ids and order are its own. [`WithheldSpans`] keeps spans from
//! targets of samples.
//! [`Redact`] takes out what a capture must not tell when it is shared.

mod added_rows;
mod as_samples;
mod as_spans;
mod choose;
mod extent;
mod held;
mod redact;
mod shift;
mod sift;
mod tee;
#[cfg(test)]
mod tests;
mod window;
mod withheld;

pub use as_samples::{AsSamples, ToldSpans};
pub use as_spans::{AsSpans, ConvertedSamples};
pub use choose::{Choose, Fraction};
pub use extent::Extent;
pub(crate) use held::HeldSpans;
pub use redact::{Category, Learning, Redact, Redaction};
pub use shift::{Shift, Shifts};
pub use sift::Sift;
pub use tee::Tee;
pub use window::{Range, Window};
pub use withheld::{PassedRows, WithheldSpans};
