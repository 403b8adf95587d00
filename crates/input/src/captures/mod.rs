//! The data folder of a collector: its log, and the captures in it.
//!
//! [`DataFolder`] is the folder, [`Event`] what the collector itself writes to the log, and [`Captures`] what senders
//! sent, put together from the log by the protocols' own rules, while the collector runs as well as afterwards.

mod event;
mod folder;
mod read;
mod segments;
#[cfg(test)]
mod tests;
pub mod upload;

pub use event::{EVENTS, Event};
pub use folder::{DEFAULT, DataFolder, Lock};
pub use read::{Capture, CaptureId, CapturePart, Captures, State};
pub(crate) use segments::Segments;
