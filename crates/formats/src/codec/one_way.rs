//! Protocols in which one side sends a stream of bytes and nobody answers: both ends of a connection, and what was
//! stored of it.
//!
//! A *unit* is a piece of the bytes as they arrived, and units are stored in order. There is no acknowledgement.

use std::time::Duration;

use super::protocol::{
    Assemble, AssembledPart, Ending, Entry, Identity, Keep, Sender, Session, UnitCounts,
};
use super::{Error, Part};

/// Bytes of the longest unit.
pub(crate) const LONGEST_UNIT: usize = 32 << 10;

/// Time for the first byte; later silence is a program that does nothing.
const IDLE: Duration = Duration::from_secs(40);

/// Bytes of a sender that wait for its socket.
const MOST_OUTPUT: usize = 64 << 10;

/// What a protocol decides about the bytes of a connection.
pub(crate) trait ConnectionFormat: Send {
    /// Returns the kind of entry that `window` is stored as, `None` while too few bytes are there to tell.
    fn kind(&mut self, window: &[u8], is_end: bool) -> Option<u8>;

    /// Learns what was stored; returns the word for why the connection is closed, if it is.
    fn stored(&mut self, unit: &[u8]) -> Option<&'static str>;

    /// Returns `true` if what was stored last belongs to a trace.
    fn is_trace(&self) -> bool;
}

/// The collector's end of a connection.
pub(crate) struct StoringEnd<C> {
    content: C,
    started: Duration,
    n_units: u64,
    n_decoded: u64,
    n_safe: u64,
    closed: Option<Ending>,
}

impl<C: ConnectionFormat> StoringEnd<C> {
    /// Begins a connection at time `now`.
    pub(crate) fn new(content: C, now: Duration) -> Self {
        Self {
            content,
            started: now,
            n_units: 0,
            n_decoded: 0,
            n_safe: 0,
            closed: None,
        }
    }

    fn close(&mut self, reason: &'static str, orderly: bool) {
        self.closed.get_or_insert(Ending { reason, orderly });
    }

    /// Stores units and returns how many bytes they have.
    fn store(&mut self, bytes: &[u8], is_end: bool, keep: &mut Keep<'_>) -> usize {
        let mut used = 0;
        while let Some(rest) = bytes.get(used..).filter(|rest| !rest.is_empty()) {
            let Some(kind) = self.content.kind(rest, is_end) else {
                break;
            };
            let unit = rest.get(..LONGEST_UNIT).unwrap_or(rest);
            let entry = Entry {
                stream: 0,
                kind,
                bytes: unit,
            };
            if !keep(&entry) {
                break;
            }
            self.n_units += 1;
            used += unit.len();
            let reason = self.content.stored(unit);
            self.n_decoded += u64::from(self.content.is_trace());
            if let Some(reason) = reason {
                self.close(reason, false);
                return bytes.len();
            }
        }
        used
    }
}

impl<C: ConnectionFormat> Session for StoringEnd<C> {
    fn read(&mut self, window: &[u8], _now: Duration, keep: &mut Keep<'_>) -> usize {
        if self.closed.is_some() {
            return window.len();
        }
        self.store(window, false, keep)
    }

    fn finish(&mut self, rest: &[u8], keep: &mut Keep<'_>) -> bool {
        let is_stored = self.closed.is_some() || self.store(rest, true, keep) == rest.len();
        if is_stored {
            self.close("end_of_stream", true);
        }
        is_stored
    }

    fn durable(&mut self, n_entries: u64) {
        self.n_safe = n_entries;
    }

    fn storage_failed(&mut self) {
        self.close("storage_failed", false);
    }

    fn tick(&mut self, now: Duration) {
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            self.close("idle", false);
        }
    }

    fn deadline(&self) -> Option<Duration> {
        (self.n_units == 0 && self.closed.is_none()).then_some(self.started + IDLE)
    }

    fn output(&self) -> &[u8] {
        &[]
    }

    fn sent(&mut self, _n_bytes: usize) {}

    fn closed(&self) -> Option<Ending> {
        self.closed
    }

    fn units(&self) -> UnitCounts {
        UnitCounts {
            received: self.n_units,
            decoded: self.n_decoded,
            safe: self.n_safe,
        }
    }
}

/// The one part of a stored connection.
pub(crate) struct ConnectionAssembler {
    /// Names of the part by the kind of the first entry.
    names: &'static [(u8, &'static str)],
    /// Kinds of entries that are no data.
    receipts: &'static [u8],
    identity: Identity,
    parts: Vec<AssembledPart>,
    doubts: Vec<String>,
}

impl ConnectionAssembler {
    /// Begins with no entry.
    pub(crate) fn new(names: &'static [(u8, &'static str)], receipts: &'static [u8]) -> Self {
        Self {
            names,
            receipts,
            identity: Identity::default(),
            parts: Vec::new(),
            doubts: Vec::new(),
        }
    }
}

impl Assemble for ConnectionAssembler {
    fn take(&mut self, entry: &Entry<'_>) -> Option<usize> {
        if self.receipts.contains(&entry.kind) {
            return None;
        }
        let Some((_, name)) = self.names.iter().find(|(kind, _)| *kind == entry.kind) else {
            let doubt = format!("an entry of the unknown kind {}", entry.kind);
            if !self.doubts.contains(&doubt) {
                self.doubts.push(doubt);
            }
            return None;
        };
        if self.parts.is_empty() {
            let name = (*name).to_owned();
            self.parts.push(AssembledPart { name });
        }
        Some(0)
    }

    fn parts(&self) -> Vec<AssembledPart> {
        self.parts.clone()
    }

    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn doubts(&self) -> &[String] {
        &self.doubts
    }
}

/// The sender's end of a connection: a trace that exists already.
pub(crate) struct TracePlayer {
    title: &'static str,
    output: Vec<u8>,
    acknowledged: [u64; 1],
    finished: bool,
}

impl TracePlayer {
    /// Plays a recording that is one part of one of these formats.
    ///
    /// # Errors
    /// When it is anything else.
    pub(crate) fn new(
        title: &'static str,
        formats: &[&str],
        parts: &[Part],
    ) -> Result<Self, Error> {
        let is_sent = |part: &Part| {
            let format = part.format.map(|format| format.name);
            format.is_some_and(|name| formats.contains(&name))
        };
        match parts {
            [part] if is_sent(part) => Ok(Self {
                title,
                output: Vec::new(),
                acknowledged: [0],
                finished: false,
            }),
            _ => Err(Error::usage(format!(
                "a connection sends one {title} trace"
            ))),
        }
    }
}

impl Sender for TracePlayer {
    fn put(&mut self, _part: usize, bytes: &[u8]) -> usize {
        let room = MOST_OUTPUT.saturating_sub(self.output.len());
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.output.extend_from_slice(taken);
        taken.len()
    }

    fn finish(&mut self) {
        self.finished = true;
    }

    fn output(&self) -> &[u8] {
        &self.output
    }

    fn sent(&mut self, n_bytes: usize) {
        self.output.drain(..n_bytes.min(self.output.len()));
    }

    fn read(&mut self, window: &[u8]) -> Result<usize, Error> {
        match window {
            [] => Ok(0),
            _ => Err(Error::io(format!(
                "the collector answered, which {} has no place for",
                self.title
            ))),
        }
    }

    fn acknowledged(&self) -> &[u64] {
        &self.acknowledged
    }

    fn is_finished(&self) -> bool {
        self.finished
    }
}
