//! What all writers have in common: a buffer for each traced thread, and one thread that empties them into an output.

mod losses;
mod recorded;
mod shared;
pub(crate) mod socket;
mod writer;

use std::time::Duration;

pub(crate) use losses::PendingLosses;
pub(crate) use recorded::RecordedBytes;
pub(crate) use shared::{Engine, SharedState};
pub(crate) use writer::{Drain, ThreadBuffer};

/// Limits of a trace.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Bytes of spans that a thread holds until they are written, at least 4 KiB. The trace has one more buffer of this size.
    pub buffer: usize,
    /// The longest time that a finished span waits for the writer.
    pub interval: Duration,
    /// The longest time that closing a trace waits for a slow or absent peer.
    pub patience: Duration,
}

impl Default for Options {
    /// 1 MiB, 100 ms, 2 s.
    fn default() -> Self {
        Self {
            buffer: 1 << 20,
            interval: Duration::from_millis(100),
            patience: Duration::from_secs(2),
        }
    }
}

/// What became of the spans of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Spans that the output took, and reports of dropped ones.
    pub written: u64,
    /// Spans that were dropped.
    pub dropped: u64,
    /// Spans that lack a part of what was recorded: the rest of a text or list that is too long for the format, or an
    /// attribute for which there was no room or that the format cannot hold.
    pub cut: u64,
}

/// Name of the span that stands for dropped ones. Its attribute `events` is their number, its times are those of the first and
/// the last of them.
pub const DROPPED: &str = "dropped events";
