//! The streams of a process, and what keeps them.

use std::sync::Arc;
use std::time::Instant;

use crate::calls::buffer::CallBuffer;
use crate::calls::bytes::Readiness;

/// A stream of a process, in the order in which they are opened and written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DumpStream {
    Dictionary,
    Params,
    Suspend,
    Sql,
    Trace,
    Calls,
}

impl DumpStream {
    pub const ALL: [Self; 6] = [
        Self::Dictionary,
        Self::Params,
        Self::Suspend,
        Self::Sql,
        Self::Trace,
        Self::Calls,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Dictionary => "dictionary",
            Self::Params => "params",
            Self::Suspend => "suspend",
            Self::Sql => "sql",
            Self::Trace => "trace",
            Self::Calls => "calls",
        }
    }

    pub const fn place(self) -> usize {
        self as usize
    }

    /// Returns `true` if a collector wants its records in phrases.
    pub const fn has_phrases(self) -> bool {
        matches!(self, Self::Dictionary | Self::Params | Self::Suspend)
    }
}

/// A folder or a collector.
pub trait StreamStore: Send + 'static {
    /// Finds out whether it takes bytes; it is new where all streams begin.
    fn ready(&mut self) -> Readiness;

    /// Returns the number of the stream's file, from 1.
    fn file(&self, stream: DumpStream) -> u32;

    /// Returns the bytes of that file so far.
    fn size(&self, stream: DumpStream) -> u64;

    /// Returns `true` if another file is due.
    fn is_full(&self, stream: DumpStream) -> bool;

    /// Begins another file; returns `false` until it is there.
    fn rotate(&mut self, stream: DumpStream) -> bool;

    /// Adds a record, or several of a stream without phrases.
    fn put(&mut self, stream: DumpStream, bytes: &[u8]);

    /// Adds calls of a thread that are written with what was added.
    fn owe(&mut self, owner: &Arc<CallBuffer>, n_calls: u64);

    /// Writes what was added; returns `false` if there is no room for more.
    fn flush(&mut self) -> bool;

    /// Returns `true` if a peer has confirmed everything.
    fn is_confirmed(&mut self) -> bool;

    /// Counts what is not written as dropped.
    fn end(&mut self);

    /// Says goodbye.
    fn finish(&mut self, until: Option<Instant>);
}
