//! A protocol as a collector sees it: sessions that turn bytes into entries to store, and stored entries that become
//! parts again.
//!
//! An *entry* is what a session has stored: a unit of data, or a decision that the data behind it needs. Whoever owns
//! the socket stores entries in their order and tells the session which of them are safe. Nothing else is known of a
//! protocol outside of its folder.

use std::fmt;
use std::time::Duration;

use super::{Error, Part};

pub use super::control::{
    ControlAgent, ControlClient, ControlCommand, ControlOptions, ControlOrder, ControlRules,
};

/// What was stored of a protocol's sessions, and how it becomes parts again.
#[derive(Debug)]
pub struct CaptureRules {
    /// Name in flags, addresses and listings.
    pub name: &'static str,
    /// Number in stored sessions; it is never given to another protocol.
    pub number: u8,
    /// Begins to put the entries of a session together.
    pub assemble: fn() -> Box<dyn Assemble>,
}

/// A protocol that a collector receives on a socket of its own.
pub struct Protocol {
    /// Its name, and how its captures are read.
    pub captures: CaptureRules,
    /// Port that its senders use unless told otherwise.
    pub port: u16,
    /// Units are acknowledged; where they are not, nobody sends again what came and was not stored.
    pub acknowledges: bool,
    /// A connection may carry the same recording several times, behind itself.
    pub repeatable: bool,
    /// Name of the format in which recordings are sent.
    pub sent_as: &'static str,
    /// Returns the settings that point a sender at a host and a port.
    pub settings: fn(&str, u16) -> String,
    /// Begins the collector's end of a connection.
    pub session: fn(&SessionOptions, Duration) -> Box<dyn Session>,
    /// How datagrams are received, in protocols that have them.
    pub datagrams: Option<DatagramRules>,
    /// How agents are told to start and to end, in protocols with a control channel.
    pub control: Option<ControlRules>,
    /// Begins the sender's end of a connection for these parts.
    pub sender: fn(&Identity, &[Part]) -> Result<Box<dyn Sender>, Error>,
}

impl fmt::Debug for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Protocol")
            .field(&self.captures.name)
            .finish()
    }
}

/// Kinds of entries below this one are the collector's own.
pub const FIRST_KIND: u8 = 16;

/// What the owner of a session decides.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// Unpredictable bits, for handles.
    pub seed: u128,
    /// Namespaces whose senders are told to stop.
    pub unwanted: Vec<String>,
}

/// Who sends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Service.
    pub service: String,
    /// Process, with its start where the protocol says it.
    pub instance: String,
    /// Namespace.
    pub namespace: String,
    /// Version of the service; empty where the protocol has none.
    pub version: String,
}

/// What a session has stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Number of the stream in its session.
    pub stream: u32,
    /// What it is; from [`FIRST_KIND`] on.
    pub kind: u8,
    /// The entry itself.
    pub bytes: &'a [u8],
}

/// Stores an entry and returns `true`, or returns `false` where there is no room for it.
pub type Keep<'k> = dyn FnMut(&Entry<'_>) -> bool + 'k;

/// The collector's end of a connection, without a socket and without a clock. Times count from any fixed moment.
pub trait Session: Send {
    /// Reads the requests in `window` and returns how many of its bytes were used. The rest comes again, with more
    /// behind it: a request that is not whole, or one for whose entry there is no room.
    fn read(&mut self, window: &[u8], now: Duration, keep: &mut Keep<'_>) -> usize;

    /// Learns that nothing comes behind `rest`, and has it stored. A protocol without a goodbye is closed by this.
    fn finish(&mut self, rest: &[u8], keep: &mut Keep<'_>) -> bool;

    /// Learns that the first `n_entries` entries are safe.
    fn durable(&mut self, n_entries: u64);

    /// Learns that nothing can be stored any more.
    fn storage_failed(&mut self);

    /// Learns the time.
    fn tick(&mut self, now: Duration);

    /// Returns the time at which [`Session::tick`] has something to do.
    fn deadline(&self) -> Option<Duration>;

    /// Returns the bytes to send. They are due at once.
    fn output(&self) -> &[u8];

    /// Takes away the first `n_bytes` of the output.
    fn sent(&mut self, n_bytes: usize);

    /// Returns why the session ended; the connection is closed once the output is sent.
    fn closed(&self) -> Option<Ending>;

    /// Returns the numbers of units so far.
    fn units(&self) -> UnitCounts;

    /// Takes the newest time of the sender's own clock that it told since the last call, in Unix milliseconds. It was read when the
    /// sender wrote it, which may be seconds ago.
    fn sender_ms(&mut self) -> Option<i64> {
        None
    }

    /// Sends the command `word` to the sender as soon as the protocol lets it, and has that stored.
    ///
    /// # Errors
    /// When it cannot be sent; then nothing is.
    fn command(
        &mut self,
        id: [u8; 16],
        word: &str,
        keep: &mut Keep<'_>,
    ) -> Result<(), CommandRefusal> {
        let _ = (id, word, keep);
        Err(CommandRefusal::NotSpoken)
    }
}

/// Units of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitCounts {
    /// Units received.
    pub received: u64,
    /// Units of which the session knew what they are.
    pub decoded: u64,
    /// Units acknowledged; in a protocol without acknowledgements, those known to be safe.
    pub safe: u64,
}

/// How a protocol's datagrams are received.
#[derive(Clone, Copy, Debug)]
pub struct DatagramRules {
    /// Name of the listener.
    pub name: &'static str,
    /// Begins to receive what a peer sends.
    pub begin: fn() -> Box<dyn Datagrams>,
}

/// What one peer sends in datagrams, without a socket and without a clock.
pub trait Datagrams: Send {
    /// Reads a datagram and has it stored; `keep` waits for room. Returns `None` if it is nothing of the protocol: then
    /// nothing was stored.
    fn take(&mut self, datagram: &[u8], keep: &mut Keep<'_>) -> Option<DatagramCounts>;
}

/// What a datagram held and told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramCounts {
    /// Units in it, repeats included.
    pub units: u64,
    /// Units that were stored before: the entry in their place is a receipt.
    pub repeated: u64,
    /// Units before it that are missing, by the sender's counters.
    pub missing: u64,
    /// Units that come after later ones; they were counted as missing.
    pub late: u64,
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// A word for counters, from a closed list of the protocol.
    pub reason: &'static str,
    /// The sender ended it as the protocol has it.
    pub orderly: bool,
}

/// A command that a sender was asked to carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentCommand {
    /// Its random id.
    pub id: [u8; 16],
    /// What was asked for.
    pub word: String,
    /// The result; `None` before the sender reports it.
    pub succeeded: Option<bool>,
}

/// Why a session takes no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandRefusal {
    /// The protocol has no commands.
    NotSpoken,
    /// The protocol has these commands alone.
    UnknownWord(&'static [&'static str]),
    /// Too many commands are not sent yet.
    TooMany,
    /// The session is ending.
    Ending,
}

/// Puts the entries of one session together, in their order.
pub trait Assemble: Send {
    /// Takes an entry; returns the number of the part that its bytes belong to: data, or what is no request.
    fn take(&mut self, entry: &Entry<'_>) -> Option<usize>;

    /// Returns the parts so far.
    fn parts(&self) -> Vec<AssembledPart>;

    /// Returns who sent, as far as it is known.
    fn identity(&self) -> &Identity;

    /// Returns what was received and not understood, a sentence each.
    fn doubts(&self) -> &[String];

    /// Returns the commands that the sender was asked to carry out, in their order.
    fn commands(&self) -> &[AgentCommand] {
        &[]
    }
}

/// A part of an assembled session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssembledPart {
    /// Name as a [`crate::Source`] has it: the first component is the sender's own, those behind it are from a closed
    /// list or numbers, and can be names of files.
    pub name: String,
}

/// The sender's end of a connection, without a socket.
pub trait Sender: Send {
    /// Takes bytes of a part for sending and returns how many, 0 while the collector is behind.
    fn put(&mut self, part: usize, bytes: &[u8]) -> usize;

    /// Ends the connection in order once everything is acknowledged, or sent where nothing is.
    fn finish(&mut self);

    /// Returns the bytes to send.
    fn output(&self) -> &[u8];

    /// Takes away the first `n_bytes` of the output.
    fn sent(&mut self, n_bytes: usize);

    /// Reads the answers in `window` and returns how many of its bytes were used.
    ///
    /// # Errors
    /// When the collector refuses, or answers what nobody asked for.
    fn read(&mut self, window: &[u8]) -> Result<usize, Error>;

    /// Returns the bytes of each part that are acknowledged, 0 in a protocol without acknowledgements.
    fn acknowledged(&self) -> &[u64];

    /// Returns how often the sender asked for everything to be acknowledged, and how often that was answered; the answers
    /// come in order. Both are 0 in a protocol without such a request.
    fn flushes(&self) -> (u64, u64) {
        (0, 0)
    }

    /// Returns `true` once the goodbye is in the output.
    fn is_finished(&self) -> bool;
}
