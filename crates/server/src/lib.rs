//! The collector: socket → session → entries → log → sync → acknowledgement.
//!
//! - [`serve`] runs listeners until a [`Stop`] says so.
//! - [`send`] is the other end: it plays senders, for tests, demonstrations and measurements.
//!
//! A connection is one task with one budget. What a session is, and what it stores, is a protocol's
//! ([`traceloom_formats::protocol`]); what becomes of it on disk is the log's ([`traceloom_log`]). Nothing here knows
//! a format.

mod connection;
mod counts;
mod error;
mod files;
mod journal;
mod send;
mod serve;
mod stop;
#[cfg(test)]
mod tests;

pub use counts::Counts;
pub use error::Error;
pub use send::{Ledger, SendOptions, Sent, Streams, send};
pub use serve::{Listen, Options, serve};
pub use stop::Stop;
