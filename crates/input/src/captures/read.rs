//! Captures from the log: who sent what, and where its bytes are.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use traceloom_formats::PROTOCOLS;
use traceloom_formats::protocol::{Assemble, CaptureRules, Entry, Identity};
use traceloom_formats::{info, warn};
use traceloom_log::{Record, Recovered, Snapshot};
use traceloom_model::Note;

use super::upload::UPLOAD;
use super::{DataFolder, EVENTS, Event, Segments};
use crate::Error;

/// Finds how the captures of a protocol are read.
fn rules(number: u8) -> Option<&'static CaptureRules> {
    let sockets = PROTOCOLS.iter().map(|protocol| &protocol.captures);
    let mut known = sockets.chain([&UPLOAD]);
    known.find(|rules| rules.number == number)
}

/// The id of a capture: the start of the collector that received it, from 1, and its number since then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CaptureId(u64);

impl CaptureId {
    /// Bits for the number.
    const NUMBER: u32 = 40;

    /// Makes the id of the session `number` of a start of the collector.
    #[must_use]
    pub fn new(incarnation: u64, number: u64) -> Self {
        Self(incarnation << Self::NUMBER | number & ((1 << Self::NUMBER) - 1))
    }

    /// Returns the id of a session of the log.
    #[must_use]
    pub fn of_session(session: u64) -> Self {
        Self(session)
    }

    /// Returns the number by which the log knows the session.
    #[must_use]
    pub fn session(self) -> u64 {
        self.0
    }

    fn incarnation(self) -> u64 {
        self.0 >> Self::NUMBER
    }
}

impl fmt::Display for CaptureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.0 & ((1 << Self::NUMBER) - 1);
        write!(f, "{}-{number}", self.incarnation())
    }
}

impl FromStr for CaptureId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('-').and_then(|(incarnation, number)| {
            let id = Self::new(incarnation.parse().ok()?, number.parse().ok()?);
            (id.to_string() == text).then_some(id)
        });
        parsed.ok_or_else(|| format!("`{text}` is no id of a capture, such as 1-7"))
    }
}

/// Where a capture stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The sender may send more.
    Open,
    /// The collector ended before the sender did.
    Interrupted,
    /// The session ended.
    Closed {
        /// Unix time in nanoseconds.
        at_ns: i64,
        /// The sender ended it as the protocol has it.
        orderly: bool,
        /// A word for why.
        reason: String,
    },
}

/// What one sender sent over one connection.
#[derive(Debug)]
pub struct Capture {
    /// Its id.
    pub id: CaptureId,
    /// Its protocol; `None` for one that this program does not know.
    pub protocol: Option<&'static CaptureRules>,
    /// Who sent.
    pub identity: Identity,
    /// Address that it came from.
    pub peer: String,
    /// When it began, in Unix nanoseconds of the collector's clock.
    pub opened_ns: Option<i64>,
    /// Where it stands.
    pub state: State,
    /// The streams.
    pub parts: Vec<CapturePart>,
    /// What was not understood, a sentence each.
    pub doubts: Vec<String>,
}

/// A stream of a capture.
#[derive(Debug)]
pub struct CapturePart {
    /// Its name: the sender's, then names that can be those of files.
    pub name: String,
    /// Where its bytes are in the log: offset and length.
    pub(crate) pieces: Vec<(u64, u32)>,
    /// Units it came in.
    pub n_units: u64,
    /// Bytes it has.
    pub n_bytes: u64,
}

impl Capture {
    /// Returns what a reader of the capture should know.
    pub(crate) fn notes(&self) -> Vec<Note> {
        let doubts = self.doubts.iter();
        let mut notes: Vec<Note> = doubts
            .map(|doubt| warn("not_understood", 0, format!("capture {}: {doubt}", self.id)))
            .collect();
        if self.state == State::Open {
            let text = format!("capture {} is being sent: this is its beginning", self.id);
            notes.push(info("capture_open", 0, text));
        }
        notes
    }
}

/// All captures of a data folder at one moment.
#[derive(Debug)]
pub struct Captures {
    /// In the order in which they began.
    pub list: Vec<Capture>,
    /// What was found in the log.
    pub recovered: Recovered,
    pub(crate) segments: Arc<Segments>,
}

impl Captures {
    /// Reads the log of a data folder.
    ///
    /// # Errors
    /// When it is damaged, or cannot be read.
    pub fn read(folder: &DataFolder) -> Result<Self, Error> {
        // Asked before: a collector that ends meanwhile leaves nothing open.
        let in_use = folder.is_in_use();
        let (snapshot, recovered) = folder.snapshot()?;
        let read = Self::of(&snapshot, recovered, in_use);
        read.map_err(|error| Error::about(folder.log(), error.to_string()))
    }

    /// Reads what is committed to a log; `in_use` while it is being written.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(
        snapshot: &Snapshot,
        recovered: Recovered,
        in_use: bool,
    ) -> Result<Self, traceloom_log::Error> {
        let segments = Segments::of(snapshot);
        let mut captures = Vec::<CaptureBuilder>::new();
        let mut by_session = HashMap::new();
        let mut reader = snapshot.reader();
        while let Some(group) = reader.next_group()? {
            for (offset, record) in group.located() {
                let at = *by_session.entry(record.session).or_insert_with(|| {
                    captures.push(CaptureBuilder::new(record.session));
                    captures.len() - 1
                });
                if let Some(capture) = captures.get_mut(at) {
                    capture.take(&record, segments.locate(group.segment, offset));
                }
            }
        }
        let running = recovered.incarnation;
        let open = |id: CaptureId| in_use && id.incarnation() == running;
        let list = captures.into_iter().map(|one| one.into_capture(&open));
        Ok(Self {
            list: list.collect(),
            recovered,
            segments: Arc::new(segments),
        })
    }

    /// Hands out the bytes of a part of a capture, in pieces.
    ///
    /// # Errors
    /// When the log cannot be read; what `write` fails with.
    pub fn copy(
        &self,
        part: &CapturePart,
        write: &mut dyn FnMut(&[u8]) -> Result<(), traceloom_formats::Error>,
    ) -> Result<(), traceloom_formats::Error> {
        let mut buffer = Vec::new();
        for &(offset, length) in &part.pieces {
            buffer.resize(length as usize, 0);
            let read = self.segments.read_at(&mut buffer, offset);
            match read {
                Ok(read) if read == buffer.len() => write(&buffer)?,
                Ok(_) => return Err(traceloom_formats::Error::io("the log was cut meanwhile")),
                Err(error) => return Err(traceloom_formats::Error::io(error.to_string())),
            }
        }
        Ok(())
    }
}

/// A capture being put together.
struct CaptureBuilder {
    id: CaptureId,
    protocol: Option<&'static CaptureRules>,
    assemble: Option<Box<dyn Assemble>>,
    peer: String,
    opened_ns: Option<i64>,
    closed: Option<State>,
    parts: Vec<(Vec<(u64, u32)>, u64)>,
    doubts: Vec<String>,
}

impl CaptureBuilder {
    fn new(session: u64) -> Self {
        Self {
            id: CaptureId(session),
            protocol: None,
            assemble: None,
            peer: String::new(),
            opened_ns: None,
            closed: None,
            parts: Vec::new(),
            doubts: Vec::new(),
        }
    }

    /// Takes a record whose bytes are at `at` of the log.
    fn take(&mut self, record: &Record<'_>, at: u64) {
        if record.stream == EVENTS {
            return self.event(record);
        }
        let Some(assemble) = &mut self.assemble else {
            return self.doubt("data of a session whose beginning is not known");
        };
        let entry = Entry {
            stream: record.stream,
            kind: record.kind,
            bytes: record.bytes,
        };
        if let Some(part) = assemble.take(&entry) {
            if self.parts.len() <= part {
                self.parts.resize_with(part + 1, Default::default);
            }
            let length = u32::try_from(record.bytes.len()).unwrap_or(u32::MAX);
            if let Some((pieces, n_bytes)) = self.parts.get_mut(part) {
                pieces.push((at, length));
                *n_bytes += u64::from(length);
            }
        }
    }

    fn event(&mut self, record: &Record<'_>) {
        match Event::decode(record.kind, record.bytes) {
            Some(Event::Opened {
                protocol,
                at_ns,
                peer,
            }) => {
                let known = rules(protocol);
                self.protocol = known;
                self.assemble = known.map(|known| (known.assemble)());
                self.opened_ns = Some(at_ns);
                self.peer = peer;
                if known.is_none() {
                    self.doubt("a protocol that this program does not know");
                }
            }
            Some(Event::Closed {
                at_ns,
                orderly,
                reason,
            }) => {
                self.closed = Some(State::Closed {
                    at_ns,
                    orderly,
                    reason,
                });
            }
            None => self.doubt("an event of the collector that this program does not know"),
        }
    }

    fn doubt(&mut self, doubt: &str) {
        if !self.doubts.iter().any(|known| known == doubt) {
            self.doubts.push(doubt.to_owned());
        }
    }

    fn into_capture(self, is_open: &dyn Fn(CaptureId) -> bool) -> Capture {
        let assembled = self.assemble.as_ref();
        let names = assembled.map_or_else(Vec::new, |assemble| assemble.parts());
        let mut parts = self.parts;
        parts.resize_with(names.len(), Default::default);
        let parts = names
            .into_iter()
            .zip(parts)
            .map(|(part, (pieces, n_bytes))| CapturePart {
                name: part.name,
                n_units: pieces.len() as u64,
                n_bytes,
                pieces,
            });
        let mut doubts = self.doubts;
        doubts.extend(
            assembled
                .into_iter()
                .flat_map(|assemble| assemble.doubts().to_vec()),
        );
        let unfinished = match is_open(self.id) {
            true => State::Open,
            false => State::Interrupted,
        };
        Capture {
            id: self.id,
            protocol: self.protocol,
            identity: assembled
                .map(|assemble| assemble.identity().clone())
                .unwrap_or_default(),
            peer: self.peer,
            opened_ns: self.opened_ns,
            state: self.closed.unwrap_or(unfinished),
            parts: parts.collect(),
            doubts,
        }
    }
}
