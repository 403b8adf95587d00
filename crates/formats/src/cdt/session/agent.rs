//! The agent's end of a connection.

use std::collections::VecDeque;

use traceloom_model::bounds::row_number;

use super::{BLACKLISTED, REJECTED, SUCCEEDED, code};
use crate::cdt::tcp::{Granted, Handle, LONGEST_FIELD, put_field};
use crate::wire::Cursor;
use crate::{Error, ErrorKind};

/// What a collector answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply<'a> {
    /// The version that it speaks.
    Version(i64),
    /// The namespace is not wanted; an agent stops then.
    Blacklisted,
    /// A stream is open, under this number of the connection, from 0.
    Opened {
        /// Number of the stream.
        stream: u32,
        /// Terms of the stream.
        granted: Granted,
    },
    /// A stream was refused; the collector closes the connection.
    Refused,
    /// One more unit is safe.
    Acknowledged,
    /// Everything sent before the request to flush is safe.
    Flushed,
    /// A diagnostic command; [`Agent::report`] answers it.
    Command {
        /// Its id.
        id: Handle,
        /// `heap`, `td` or `top`.
        word: &'a [u8],
    },
    /// A unit cannot be accepted: the agent drops the connection.
    Rejected,
}

/// The state of one connection, from the agent's side. Requests are added to the output; answers come in their
/// order.
#[derive(Debug, Default)]
pub struct Agent {
    expected: VecDeque<Expected>,
    handles: Vec<Handle>,
    offset: u64,
    /// Diagnostic commands that are still to be read.
    n_commands: u8,
    out: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Version,
    Stream,
    Unit,
    Flush,
}

impl Agent {
    /// Introduces the agent.
    pub fn hello(&mut self, version: i64, pod: &[u8], service: &[u8], namespace: &[u8]) {
        self.out.push(code::GET_PROTOCOL_VERSION_V2);
        self.out.extend(version.to_be_bytes());
        for bytes in [pod, service, namespace] {
            put_field(&mut self.out, bytes);
        }
        self.expected.push_back(Expected::Version);
    }

    /// Asks for a stream; [`Reply::Opened`] has its number.
    pub fn open(&mut self, name: &[u8], sequence: u32, reset: bool) {
        self.out.push(code::INIT_STREAM_V2);
        put_field(&mut self.out, name);
        self.out.extend(sequence.to_be_bytes());
        self.out.extend(u32::from(reset).to_be_bytes());
        self.expected.push_back(Expected::Stream);
    }

    /// Sends bytes of a stream in units of at most 1,024 bytes, and returns their number; 0 where there is no such
    /// stream.
    pub fn data(&mut self, stream: u32, bytes: &[u8]) -> u64 {
        let Some(handle) = self.handles.get(stream as usize) else {
            return 0;
        };
        let mut n_units = 0;
        for unit in bytes.chunks(LONGEST_FIELD) {
            self.out.push(code::RCV_DATA);
            self.out.extend(handle);
            put_field(&mut self.out, unit);
            self.expected.push_back(Expected::Unit);
            n_units += 1;
        }
        n_units
    }

    /// Asks for all acknowledgements at once.
    pub fn flush(&mut self) {
        self.out.push(code::REQUEST_ACK_FLUSH);
        self.expected.push_back(Expected::Flush);
    }

    /// Reports how a diagnostic command ended.
    pub fn report(&mut self, command: &Handle, succeeded: bool) {
        self.out.push(code::REPORT_COMMAND_RESULT);
        self.out.extend(command);
        self.out.push(if succeeded { SUCCEEDED } else { REJECTED });
    }

    /// Says goodbye.
    pub fn close(&mut self) {
        self.out.push(code::CLOSE);
    }

    /// Reads the answers in `window` and returns how many of its bytes were used; the rest comes again.
    ///
    /// # Errors
    /// When the collector answers what nobody asked for.
    pub fn read(
        &mut self,
        window: &[u8],
        reply: &mut dyn FnMut(Reply<'_>),
    ) -> Result<usize, Error> {
        let mut cursor = Cursor::new(window, self.offset);
        let mut used = 0;
        while !cursor.is_empty() {
            match self.answer(&mut cursor) {
                Ok(answer) => {
                    used = cursor.position();
                    reply(answer);
                }
                Err(error) if matches!(error.kind(), ErrorKind::Truncated { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        self.offset += used as u64;
        Ok(used)
    }

    fn answer<'a>(&mut self, cursor: &mut Cursor<'a>) -> Result<Reply<'a>, Error> {
        let offset = cursor.offset();
        if self.n_commands > 0 {
            let id = cursor.array("command id")?;
            let word = super::field(cursor, "diagnostic command")?;
            self.n_commands -= 1;
            return Ok(Reply::Command { id, word });
        }
        let Some(&expected) = self.expected.front() else {
            return Err(Error::invalid(offset, "an answer that nobody asked for"));
        };
        let answer = match expected {
            Expected::Version => match cursor.i64_be("version")? {
                BLACKLISTED => Reply::Blacklisted,
                version => Reply::Version(version),
            },
            Expected::Stream => {
                let handle: Handle = cursor.array("stream handle")?;
                if handle == [0; 16] {
                    Reply::Refused
                } else {
                    let granted = Granted {
                        rotation_period: cursor.i64_be("rotation period")?,
                        rotation_size: cursor.i64_be("rotation size")?,
                        sequence: cursor.u32_be("sequence")?,
                    };
                    let stream = row_number(self.handles.len());
                    self.handles.push(handle);
                    Reply::Opened { stream, granted }
                }
            }
            Expected::Unit | Expected::Flush => match cursor.u8("acknowledgement")? {
                REJECTED => Reply::Rejected,
                n_commands @ 0..=127 => {
                    self.n_commands = n_commands;
                    if expected == Expected::Unit {
                        Reply::Acknowledged
                    } else {
                        Reply::Flushed
                    }
                }
                other => {
                    let message = format!("unknown acknowledgement {other:#04x}");
                    return Err(Error::invalid(offset, message));
                }
            },
        };
        self.expected.pop_front();
        Ok(answer)
    }

    /// Returns the number of units that are not acknowledged.
    #[must_use]
    pub fn n_unacknowledged(&self) -> usize {
        let units = self
            .expected
            .iter()
            .filter(|&&expected| expected == Expected::Unit);
        units.count()
    }

    /// Returns the bytes to send; [`Agent::sent`] takes them away.
    #[must_use]
    pub fn output(&self) -> &[u8] {
        &self.out
    }

    /// Takes away the first `n_bytes` of the output.
    pub fn sent(&mut self, n_bytes: usize) {
        self.out.drain(..n_bytes.min(self.out.len()));
    }
}
