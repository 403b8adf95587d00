//! The collector's end of a connection.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use traceloom_model::bounds::{row_number, subslice};

use super::{ACCEPTED, BLACKLISTED, LEGACY_VERSION, REJECTED, Request, VERSION};
use crate::cdt::tcp::{DIAGNOSTICS, Granted, Handle};
use crate::codec::protocol::CommandRefusal;
use crate::wire::Cursor;
use crate::{Error, ErrorKind};

/// What an agent says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hello<'a> {
    /// Version that the agent offers; [`LEGACY_VERSION`] for one that introduces itself with a stream.
    pub client_version: i64,
    /// Pod name, ending in the start time of the process.
    pub pod: &'a [u8],
    /// Service name.
    pub service: &'a [u8],
    /// Namespace.
    pub namespace: &'a [u8],
}

/// A stream that an agent wants to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenStream<'a> {
    /// Number of the stream in its connection, from 0.
    pub stream: u32,
    /// Name, such as `trace`.
    pub name: &'a [u8],
    /// Rolling sequence that the agent asks for.
    pub requested_sequence: u32,
    /// The stream starts over.
    pub reset: bool,
}

/// The data of one `RCV_DATA`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unit<'a> {
    /// Number of the stream in its connection, from 0.
    pub stream: u32,
    /// Number of the unit in its stream, from 0.
    pub ordinal: u64,
    /// Bytes of the stream, at most 1,024.
    pub bytes: &'a [u8],
}

/// What the owner of a session decides and keeps.
pub trait Receiver {
    /// Learns who the agent is and returns `true` if it is welcome.
    fn hello(&mut self, hello: &Hello<'_>) -> bool;

    /// Returns the handle and terms of a stream, or `None` to refuse it. Handles of a connection differ.
    fn open(&mut self, stream: &OpenStream<'_>) -> Option<(Handle, Granted)>;

    /// Takes a unit for storing and returns `true`, or `false` where there is no room: it comes again with the
    /// next [`Collector::read`].
    fn unit(&mut self, unit: &Unit<'_>) -> bool;

    /// Learns how a diagnostic command ended.
    fn command_result(&mut self, command: &Handle, succeeded: bool);

    /// Returns `false` where there is no room for anything: the next request waits, and comes again.
    fn has_room(&mut self) -> bool {
        true
    }

    /// Receives bytes that are no request, at most [`LONGEST_UNREAD`] of them. The connection ends.
    fn unread(&mut self, bytes: &[u8]) {
        let _ = bytes;
    }
}

/// Answers that may wait for units before them. Requests beside data cost their sender a byte and are answered in turn.
const MOST_OWED: usize = 16_384;

/// Diagnostic commands that wait for an acknowledgement.
const MOST_COMMANDS: usize = 16;

/// Bytes of a damaged request that are kept.
pub const LONGEST_UNREAD: usize = 4096;

/// Limits and times of a session.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Time after which a unit that could not be stored is rejected. Agents wait for 30 s.
    pub stall: Duration,
    /// Time without a byte after which a connection is closed.
    pub idle: Duration,
    /// Streams of a connection.
    pub streams: u32,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            stall: Duration::from_secs(25),
            idle: Duration::from_secs(40),
            streams: 65_536,
        }
    }
}

/// Why a session ended.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Closed {
    /// The agent said goodbye.
    ByAgent,
    /// The agent sent what no agent sends; the offset counts the bytes of the connection.
    Protocol(Error),
    /// Data for a handle that was never given, at this offset of the connection.
    UnknownHandle(u64),
    /// The namespace is not wanted.
    Blacklisted,
    /// A stream was refused.
    StreamRefused,
    /// A unit could not be made safe in time.
    Stalled,
    /// Nothing came for too long.
    Idle,
    /// Nothing can be stored any more.
    StorageFailed,
}

/// The state of one connection.
#[derive(Debug)]
pub struct Collector {
    terms: Terms,
    introduced: bool,
    /// Number of each stream, by handle.
    streams: HashMap<Handle, u32>,
    /// Units received, by number of the stream.
    n_units: Vec<u64>,
    /// Bytes of the connection that were read.
    offset: u64,
    owed: VecDeque<Owed>,
    n_received: u64,
    n_durable: u64,
    n_acknowledged: u64,
    commands: Vec<(Handle, &'static str)>,
    out: Vec<u8>,
    last_byte: Duration,
    ending: bool,
    closed: Option<Closed>,
}

/// Answers that wait for units before them.
#[derive(Debug)]
enum Owed {
    /// Units received at a time.
    Units {
        count: u64,
        since: Duration,
    },
    Flush,
    Reply(Vec<u8>),
    Close {
        reject: bool,
        why: Closed,
    },
}

impl Collector {
    /// Begins a session; times are counted from any fixed moment.
    #[must_use]
    pub fn new(terms: Terms, now: Duration) -> Self {
        Self {
            terms,
            introduced: false,
            streams: HashMap::new(),
            n_units: Vec::new(),
            offset: 0,
            owed: VecDeque::new(),
            n_received: 0,
            n_durable: 0,
            n_acknowledged: 0,
            commands: Vec::new(),
            out: Vec::new(),
            last_byte: now,
            ending: false,
            closed: None,
        }
    }

    /// Reads the requests in `window` and returns how many of its bytes were used. The rest comes again, with more
    /// behind it: a request that is not whole, or one for which `receiver` has no room.
    pub fn read(&mut self, window: &[u8], now: Duration, receiver: &mut impl Receiver) -> usize {
        let mut cursor = Cursor::new(window, self.offset);
        let mut used = 0;
        while !self.ending
            && !cursor.is_empty()
            && self.owed.len() < MOST_OWED
            && receiver.has_room()
        {
            let offset = cursor.offset();
            let start = cursor.position();
            match Request::read(&mut cursor) {
                Ok(request) => {
                    if !self.take(&request, offset, now, receiver) {
                        break;
                    }
                    used = cursor.position();
                }
                Err(error) if matches!(error.kind(), ErrorKind::Truncated { .. }) => break,
                Err(error) => self.end(true, Closed::Protocol(error)),
            }
            if let Some(Owed::Close { reject: true, .. }) = self.owed.back() {
                let unread = subslice(window, start..);
                receiver.unread(unread.get(..LONGEST_UNREAD).unwrap_or(unread));
            }
        }
        if used > 0 {
            self.last_byte = now;
        }
        self.offset += used as u64;
        self.settle();
        used
    }

    /// Handles one request; returns `false` if there was no room for its unit.
    fn take(
        &mut self,
        request: &Request<'_>,
        offset: u64,
        now: Duration,
        receiver: &mut impl Receiver,
    ) -> bool {
        match request {
            Request::Data { handle, bytes } => {
                return self.unit(handle, bytes, offset, now, receiver);
            }
            Request::Flush => self.owed.push_back(Owed::Flush),
            Request::Version => self.reply(&LEGACY_VERSION.to_be_bytes()),
            &Request::Hello {
                client_version,
                pod,
                service,
                namespace,
            } => {
                let hello = Hello {
                    client_version,
                    pod,
                    service,
                    namespace,
                };
                self.introduced = true;
                if receiver.hello(&hello) {
                    self.reply(&client_version.min(VERSION).to_be_bytes());
                } else {
                    self.reply(&BLACKLISTED.to_be_bytes());
                    self.end(false, Closed::Blacklisted);
                }
            }
            Request::Open { identity, .. } => {
                if let Some([namespace, service, pod]) = *identity
                    && !std::mem::replace(&mut self.introduced, true)
                {
                    let hello = Hello {
                        client_version: LEGACY_VERSION,
                        pod,
                        service,
                        namespace,
                    };
                    if !receiver.hello(&hello) {
                        self.refuse_stream();
                        return true;
                    }
                }
                self.open(request, receiver);
            }
            Request::CommandResult { command, succeeded } => {
                receiver.command_result(command, *succeeded);
            }
            Request::Close => self.end(false, Closed::ByAgent),
            Request::Reserved => {}
        }
        true
    }

    fn unit(
        &mut self,
        handle: &Handle,
        bytes: &[u8],
        offset: u64,
        now: Duration,
        receiver: &mut impl Receiver,
    ) -> bool {
        let stream = self.streams.get(handle).copied();
        let n_units = stream.and_then(|stream| self.n_units.get_mut(stream as usize));
        let (Some(stream), Some(n_units)) = (stream, n_units) else {
            self.end(true, Closed::UnknownHandle(offset));
            return true;
        };
        let unit = Unit {
            stream,
            ordinal: *n_units,
            bytes,
        };
        if !receiver.unit(&unit) {
            return false;
        }
        *n_units += 1;
        self.n_received += 1;
        match self.owed.back_mut() {
            Some(Owed::Units { count, since }) if *since == now => *count += 1,
            _ => self.owed.push_back(Owed::Units {
                count: 1,
                since: now,
            }),
        }
        true
    }

    fn open(&mut self, request: &Request<'_>, receiver: &mut impl Receiver) {
        let &Request::Open {
            name,
            requested_sequence,
            reset,
            ..
        } = request
        else {
            return;
        };
        let stream = row_number(self.n_units.len());
        let open = OpenStream {
            stream,
            name,
            requested_sequence,
            reset,
        };
        let allowed = self.introduced && stream < self.terms.streams;
        let Some((handle, granted)) = allowed.then(|| receiver.open(&open)).flatten() else {
            self.refuse_stream();
            return;
        };
        self.streams.insert(handle, stream);
        self.n_units.push(0);
        let mut reply = handle.to_vec();
        reply.extend(granted.rotation_period.to_be_bytes());
        reply.extend(granted.rotation_size.to_be_bytes());
        reply.extend(granted.sequence.to_be_bytes());
        self.reply(&reply);
    }

    /// Answers with the null handle, after which the connection ends.
    fn refuse_stream(&mut self) {
        self.reply(&[0; 16]);
        self.end(false, Closed::StreamRefused);
    }

    fn reply(&mut self, bytes: &[u8]) {
        self.owed.push_back(Owed::Reply(bytes.to_vec()));
    }

    /// Ends the connection after what is owed before.
    fn end(&mut self, reject: bool, why: Closed) {
        self.ending = true;
        self.owed.push_back(Owed::Close { reject, why });
    }

    /// Learns that the first `n_units` units of the connection are safe.
    pub fn durable(&mut self, n_units: u64) {
        self.n_durable = self.n_durable.max(n_units.min(self.n_received));
        self.settle();
    }

    /// Learns that nothing can be stored any more: what is not safe is rejected.
    pub fn storage_failed(&mut self) {
        self.reject(Closed::StorageFailed);
    }

    /// Sends a diagnostic command (`heap`, `td`, `top`) with the next acknowledgement.
    ///
    /// # Errors
    /// For other words, behind 16 commands that are not sent, and at the end of the session.
    pub fn send_command(&mut self, id: Handle, word: &str) -> Result<(), CommandRefusal> {
        let known = DIAGNOSTICS.iter().find(|known| **known == word);
        let word = known.ok_or(CommandRefusal::UnknownWord(DIAGNOSTICS))?;
        if self.ending || self.closed.is_some() {
            return Err(CommandRefusal::Ending);
        }
        if self.commands.len() >= MOST_COMMANDS {
            return Err(CommandRefusal::TooMany);
        }
        self.commands.push((id, word));
        Ok(())
    }

    /// Learns the time; see [`Collector::deadline`].
    pub fn tick(&mut self, now: Duration) {
        if self.closed.is_some() {
            return;
        }
        if self.stalls_at().is_some_and(|at| now >= at) {
            self.reject(Closed::Stalled);
        } else if now >= self.last_byte + self.terms.idle {
            self.closed = Some(Closed::Idle);
        }
    }

    /// Returns the time at which [`Collector::tick`] has something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        if self.closed.is_some() {
            return None;
        }
        let idle = self.last_byte + self.terms.idle;
        Some(self.stalls_at().map_or(idle, |stall| stall.min(idle)))
    }

    /// Returns the time at which the oldest unit has waited for too long.
    fn stalls_at(&self) -> Option<Duration> {
        let oldest = self.owed.iter().find_map(|owed| match owed {
            Owed::Units { since, .. } => Some(*since),
            _ => None,
        });
        oldest.map(|since| since + self.terms.stall)
    }

    /// Rejects what is not safe, and ends.
    fn reject(&mut self, why: Closed) {
        if self.closed.is_none() {
            self.out.push(REJECTED);
            self.ending = true;
            self.owed.clear();
            self.closed = Some(why);
        }
    }

    /// Writes the answers that wait for nothing.
    fn settle(&mut self) {
        while let Some(owed) = self.owed.pop_front() {
            match owed {
                Owed::Units { count, since } => {
                    let paid = count.min(self.n_durable - self.n_acknowledged);
                    for _ in 0..paid {
                        self.acknowledge();
                    }
                    self.n_acknowledged += paid;
                    if paid < count {
                        let count = count - paid;
                        self.owed.push_front(Owed::Units { count, since });
                        return;
                    }
                }
                Owed::Flush => self.acknowledge(),
                Owed::Reply(bytes) => self.out.extend(bytes),
                Owed::Close { reject, why } => {
                    if reject {
                        self.out.push(REJECTED);
                    }
                    self.closed = Some(why);
                }
            }
        }
    }

    /// Writes one acknowledgement, with the diagnostic commands that wait for one.
    fn acknowledge(&mut self) {
        // Far below 128: the number is a positive signed byte.
        let n_commands = u8::try_from(self.commands.len()).unwrap_or(ACCEPTED);
        self.out.push(n_commands);
        for (id, word) in self.commands.drain(..) {
            self.out.extend(id);
            crate::cdt::tcp::put_field(&mut self.out, word.as_bytes());
        }
    }

    /// Returns the bytes to send. They are due at once; [`Collector::sent`] takes them away.
    #[must_use]
    pub fn output(&self) -> &[u8] {
        &self.out
    }

    /// Takes away the first `n_bytes` of the output.
    pub fn sent(&mut self, n_bytes: usize) {
        self.out.drain(..n_bytes.min(self.out.len()));
    }

    /// Returns why the session ended; the connection is closed once the output is sent.
    #[must_use]
    pub fn closed(&self) -> Option<&Closed> {
        self.closed.as_ref()
    }

    /// Returns the number of units received and the number of those acknowledged.
    #[must_use]
    pub fn units(&self) -> (u64, u64) {
        (self.n_received, self.n_acknowledged)
    }
}
