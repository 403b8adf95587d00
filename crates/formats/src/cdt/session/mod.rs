//! Both ends of a live conversation (§10), without sockets and without a clock.
//!
//! A [`Collector`] takes bytes of an agent and hands out units to store; an [`Agent`] plays the other side.
//! Whoever owns the socket moves bytes between it and the session, and tells the session the time.
//!
//! A *unit* is the data of one `RCV_DATA`: the bytes of one stream, at its next ordinal. The collector owes one
//! acknowledgement for each, in order, and [`Collector::durable`] pays them: nothing is acknowledged that is not
//! safe.

mod agent;
mod assembled;
mod collector;
mod player;
mod stored;
#[cfg(test)]
mod stored_tests;
#[cfg(test)]
mod tests;

pub use agent::{Agent, Reply};
pub use collector::{Closed, Collector, Hello, LONGEST_UNREAD, OpenStream, Receiver, Terms, Unit};

use crate::Error;
use crate::codec::protocol::{CaptureRules, Protocol};
use crate::wire::Cursor;

use super::tcp::{Handle, LONGEST_FIELD};

/// The protocol, for a collector.
pub const PROTOCOL: Protocol = Protocol {
    captures: CaptureRules {
        name: "cdt",
        number: 1,
        assemble: || Box::new(assembled::ConversationStreams::default()),
    },
    port: 1715,
    acknowledges: true,
    repeatable: true,
    sent_as: "cdt-streams",
    settings: |host, port| format!("REMOTE_DUMP_HOST={host} REMOTE_DUMP_PORT_PLAIN={port}"),
    session: |options, now| Box::new(stored::RecordedConversation::new(options, now)),
    datagrams: None,
    control: None,
    sender: |identity, parts| Ok(Box::new(player::Player::new(identity, parts)?)),
};

/// Kinds of stored entries (§10).
mod kind {
    use crate::codec::protocol::FIRST_KIND;

    /// A request with its answer, as a recorded conversation has it.
    pub(super) const COMMAND: u8 = FIRST_KIND;
    /// Data of one `RCV_DATA`.
    pub(super) const DATA: u8 = FIRST_KIND + 1;
    /// Bytes that are no request.
    pub(super) const UNREAD: u8 = FIRST_KIND + 2;
}

/// The version answered to agents that can speak it: their dictionary comes as a stream of words.
pub const VERSION: i64 = super::tcp::VERSIONS[1];
/// The version of agents that introduce themselves with each stream.
pub const LEGACY_VERSION: i64 = super::tcp::VERSIONS[0];
/// The answer that stops an agent: its namespace is not wanted.
pub const BLACKLISTED: i64 = 88_888_888;

/// Command bytes.
mod code {
    pub(super) const INIT_STREAM: u8 = 0x01;
    pub(super) const RCV_DATA: u8 = 0x02;
    pub(super) const CLOSE: u8 = 0x04;
    pub(super) const GET_PROTOCOL_VERSION: u8 = 0x08;
    pub(super) const RESET_STREAM: u8 = 0x10;
    pub(super) const REQUEST_ACK_FLUSH: u8 = 0x11;
    pub(super) const KEEP_ALIVE: u8 = 0x12;
    pub(super) const REPORT_COMMAND_RESULT: u8 = 0x13;
    pub(super) const GET_PROTOCOL_VERSION_V2: u8 = 0x14;
    pub(super) const INIT_STREAM_V2: u8 = 0x15;
}

/// Acknowledgements and the result of a diagnostic command.
const ACCEPTED: u8 = 0;
const REJECTED: u8 = 0xff;
const SUCCEEDED: u8 = b'K';

/// One request of an agent, without the collector's answer.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Request<'a> {
    Version,
    Hello {
        client_version: i64,
        pod: &'a [u8],
        service: &'a [u8],
        namespace: &'a [u8],
    },
    Open {
        /// Namespace, service and pod; only in the legacy form.
        identity: Option<[&'a [u8]; 3]>,
        name: &'a [u8],
        requested_sequence: u32,
        reset: bool,
    },
    Data {
        handle: Handle,
        bytes: &'a [u8],
    },
    Flush,
    CommandResult {
        command: Handle,
        succeeded: bool,
    },
    Close,
    /// Reserved commands, which agents do not send: nothing is owed for them.
    Reserved,
}

impl<'a> Request<'a> {
    /// Reads a request.
    ///
    /// # Errors
    /// `Truncated`; `Invalid` for an unknown command or a field above 1,024 bytes.
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Error> {
        let offset = cursor.offset();
        Ok(match cursor.u8("command")? {
            code::RCV_DATA => Self::Data {
                handle: cursor.array("stream handle")?,
                bytes: field(cursor, "data")?,
            },
            code::REQUEST_ACK_FLUSH => Self::Flush,
            code::INIT_STREAM_V2 => Self::open(cursor, None)?,
            code::INIT_STREAM => {
                let identity = [
                    field(cursor, "namespace")?,
                    field(cursor, "service")?,
                    field(cursor, "pod")?,
                ];
                Self::open(cursor, Some(identity))?
            }
            code::GET_PROTOCOL_VERSION_V2 => Self::Hello {
                client_version: cursor.i64_be("client version")?,
                pod: field(cursor, "pod")?,
                service: field(cursor, "service")?,
                namespace: field(cursor, "namespace")?,
            },
            code::GET_PROTOCOL_VERSION => Self::Version,
            code::REPORT_COMMAND_RESULT => Self::CommandResult {
                command: cursor.array("command id")?,
                succeeded: cursor.u8("result")? == SUCCEEDED,
            },
            code::CLOSE => Self::Close,
            code::RESET_STREAM | code::KEEP_ALIVE => Self::Reserved,
            other => {
                let message = format!("unknown command {other:#04x}");
                return Err(Error::invalid(offset, message));
            }
        })
    }

    fn open(cursor: &mut Cursor<'a>, identity: Option<[&'a [u8]; 3]>) -> Result<Self, Error> {
        Ok(Self::Open {
            identity,
            name: field(cursor, "stream name")?,
            requested_sequence: cursor.u32_be("requested sequence")?,
            reset: cursor.u32_be("reset")? != 0,
        })
    }
}

/// Reads a length-prefixed field.
fn field<'a>(cursor: &mut Cursor<'a>, what: &'static str) -> Result<&'a [u8], Error> {
    let offset = cursor.offset();
    let length = cursor.u32_be(what)? as usize;
    if length > LONGEST_FIELD {
        let message = format!("{what} of {length} bytes; at most {LONGEST_FIELD} are allowed");
        return Err(Error::invalid(offset, message));
    }
    cursor.bytes(length, what)
}
