//! What an agent and a collector say to each other.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::link_stream::LinkStream;
use super::primitives::put_field;
use super::streams::DumpStream;
use crate::bounds::saturated_usize;
use crate::engine::socket;

const INTRODUCE: u8 = 0x14;
const OPEN: u8 = 0x15;
const DATA: u8 = 0x02;
const FLUSH: u8 = 0x11;
const COMMAND_RESULT: u8 = 0x13;
const CLOSE: u8 = 0x04;

/// Version 2 of the protocol: the dictionary is a stream of words.
const VERSION: u64 = 100_605;
/// The answer to a process that is not wanted.
const UNWANTED: u64 = 88_888_888;

const FAILED: u8 = 0xff;

/// Bytes of a unit.
const UNIT: usize = 1024;
/// A phrase is sent at this size, and is never larger than the other.
const PHRASE: usize = 10_040;
const LARGEST_PHRASE: usize = 10_239;

/// What a collector answered, but for acknowledgements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkAnswer {
    Welcome,
    Unwanted,
    Opened,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DueAnswer {
    Version,
    Stream(DumpStream),
    Unit,
    Flush,
}

/// Requests and answers of a connection.
#[derive(Default)]
pub struct LinkConversation {
    streams: [LinkStream; DumpStream::ALL.len()],
    expected: VecDeque<DueAnswer>,
    /// Units and phrases sent, and units confirmed.
    pub n_sent: u64,
    pub n_confirmed: u64,
    /// Everything before is to be confirmed at once.
    pub is_flushing: bool,
    out: Vec<u8>,
    n_written: usize,
    incoming: Vec<u8>,
    /// Diagnostic commands that are still to be read.
    n_commands: u8,
    /// Since when the answer to something is missing.
    waiting: Option<Instant>,
}

impl LinkConversation {
    pub fn introduce(&mut self, pod: &str, service: &str, namespace: &str) {
        self.out.push(INTRODUCE);
        self.out.extend_from_slice(&VERSION.to_be_bytes());
        for name in [pod, service, namespace] {
            put_field(&mut self.out, name.as_bytes());
        }
        self.expect(DueAnswer::Version);
    }

    /// Asks for a file of a stream, of which there are `n_before`.
    pub fn open(&mut self, stream: DumpStream, n_before: u32) {
        let resets = u32::from(stream == DumpStream::Dictionary);
        self.out.push(OPEN);
        put_field(&mut self.out, stream.name().as_bytes());
        self.out.extend_from_slice(&n_before.to_be_bytes());
        self.out.extend_from_slice(&resets.to_be_bytes());
        self.expect(DueAnswer::Stream(stream));
    }

    pub fn stream(&self, stream: DumpStream) -> &LinkStream {
        &self.streams[stream.place()]
    }

    /// Adds a record of a stream, or bytes of one without phrases, which go behind the phrases so far.
    pub fn put(&mut self, stream: DumpStream, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let place = stream.place();
        self.streams[place].size += bytes.len() as u64;
        if !stream.has_phrases() {
            self.end_phrases();
            self.units(place, bytes);
            return;
        }
        if self.streams[place].phrase.len() + bytes.len() > LARGEST_PHRASE {
            self.end_phrase(place);
        }
        let phrase = &mut self.streams[place].phrase;
        phrase.extend_from_slice(bytes);
        if phrase.len() >= PHRASE {
            self.end_phrase(place);
        }
    }

    /// Sends the records that wait for their phrase to be longer.
    pub fn end_phrases(&mut self) {
        for place in 0..self.streams.len() {
            self.end_phrase(place);
        }
    }

    fn end_phrase(&mut self, place: usize) {
        let mut phrase = std::mem::take(&mut self.streams[place].phrase);
        if phrase.is_empty() {
            return;
        }
        let length = u32::try_from(phrase.len()).unwrap_or(0).to_be_bytes();
        self.units(place, &length);
        self.units(place, &phrase);
        phrase.clear();
        self.streams[place].phrase = phrase;
    }

    fn units(&mut self, place: usize, bytes: &[u8]) {
        for unit in bytes.chunks(UNIT) {
            self.out.push(DATA);
            self.out.extend_from_slice(&self.streams[place].handle);
            put_field(&mut self.out, unit);
            self.n_sent += 1;
            self.expect(DueAnswer::Unit);
        }
    }

    /// Asks for all acknowledgements at once.
    pub fn flush(&mut self) {
        self.out.push(FLUSH);
        self.is_flushing = true;
        self.expect(DueAnswer::Flush);
    }

    fn expect(&mut self, expected: DueAnswer) {
        self.expected.push_back(expected);
        self.waiting.get_or_insert_with(Instant::now);
    }

    pub fn n_bytes_waiting(&self) -> usize {
        self.out.len() - self.n_written
    }

    pub fn n_units_waiting(&self) -> usize {
        saturated_usize(self.n_sent - self.n_confirmed)
    }

    /// Returns `true` if nothing waits for an answer.
    pub fn is_settled(&self) -> bool {
        self.expected.is_empty() && self.n_bytes_waiting() == 0
    }

    /// Returns `true` if an answer is missing for so long.
    pub fn waits_since(&self, patience: Duration) -> bool {
        self.waiting
            .is_some_and(|since| since.elapsed() >= patience)
    }

    /// Writes requests and reads answers, without waiting.
    ///
    /// # Errors
    /// When the connection broke, or an answer makes no sense.
    pub fn exchange(
        &mut self,
        connection: &mut TcpStream,
        answers: &mut Vec<LinkAnswer>,
    ) -> io::Result<()> {
        self.write(connection)?;
        self.read(connection, answers)?;
        // What is asked for next goes out at once.
        self.write(connection)
    }

    fn write(&mut self, connection: &mut TcpStream) -> io::Result<()> {
        while self.n_written < self.out.len() {
            match socket::advance(connection, &self.out, &mut self.n_written) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.out.clear();
        self.n_written = 0;
        Ok(())
    }

    fn read(
        &mut self,
        connection: &mut TcpStream,
        answers: &mut Vec<LinkAnswer>,
    ) -> io::Result<()> {
        let mut piece = [0; 4096];
        loop {
            match connection.read(&mut piece) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n_bytes) => {
                    self.incoming.extend_from_slice(&piece[..n_bytes]);
                    self.take_answers(answers)?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes the answers that are there as a whole.
    fn take_answers(&mut self, answers: &mut Vec<LinkAnswer>) -> io::Result<()> {
        let incoming = std::mem::take(&mut self.incoming);
        let mut window = incoming.as_slice();
        while let Some(rest) = self.take_answer(window, answers)? {
            self.waiting = (!self.expected.is_empty()).then(Instant::now);
            window = rest;
        }
        self.incoming = window.to_vec();
        Ok(())
    }

    /// Takes the first answer and returns what is behind it; `None` if it is not there as a whole.
    fn take_answer<'w>(
        &mut self,
        window: &'w [u8],
        answers: &mut Vec<LinkAnswer>,
    ) -> io::Result<Option<&'w [u8]>> {
        if self.n_commands > 0 {
            return self.take_command(window);
        }
        let Some(&expected) = self.expected.front() else {
            return if window.is_empty() {
                Ok(None)
            } else {
                Err(senseless())
            };
        };
        let rest = match expected {
            DueAnswer::Version => {
                let Some((version, rest)) = window.split_first_chunk() else {
                    return Ok(None);
                };
                answers.push(match u64::from_be_bytes(*version) {
                    VERSION => LinkAnswer::Welcome,
                    UNWANTED => LinkAnswer::Unwanted,
                    _ => return Err(senseless()),
                });
                rest
            }
            DueAnswer::Stream(stream) => {
                let Some(rest) = self.take_stream(stream, window)? else {
                    return Ok(None);
                };
                answers.push(LinkAnswer::Opened);
                rest
            }
            DueAnswer::Unit | DueAnswer::Flush => {
                let Some((&acknowledgement, rest)) = window.split_first() else {
                    return Ok(None);
                };
                if acknowledgement > 127 {
                    return Err(senseless());
                }
                self.n_commands = acknowledgement;
                match expected {
                    DueAnswer::Unit => self.n_confirmed += 1,
                    _ => {
                        self.is_flushing = self
                            .expected
                            .iter()
                            .skip(1)
                            .any(|later| *later == DueAnswer::Flush)
                    }
                }
                rest
            }
        };
        self.expected.pop_front();
        Ok(Some(rest))
    }

    fn take_stream<'w>(
        &mut self,
        stream: DumpStream,
        window: &'w [u8],
    ) -> io::Result<Option<&'w [u8]>> {
        let Some((handle, rest)) = window.split_first_chunk() else {
            return Ok(None);
        };
        if *handle == [0; 16] {
            // It was refused.
            return Err(senseless());
        }
        let Some((ms, rest)) = rest.split_first_chunk() else {
            return Ok(None);
        };
        let Some((size, rest)) = rest.split_first_chunk() else {
            return Ok(None);
        };
        let Some((sequence, rest)) = rest.split_first_chunk() else {
            return Ok(None);
        };
        self.streams[stream.place()] = LinkStream {
            handle: *handle,
            sequence: u32::from_be_bytes(*sequence),
            rotation_size: u64::from_be_bytes(*size),
            rotation_ms: u64::from_be_bytes(*ms),
            since: Some(Instant::now()),
            ..LinkStream::default()
        };
        Ok(Some(rest))
    }

    /// Takes a diagnostic command. No program can follow one here, and that is the answer.
    fn take_command<'w>(&mut self, window: &'w [u8]) -> io::Result<Option<&'w [u8]>> {
        let Some((id, rest)) = window.split_first_chunk::<16>() else {
            return Ok(None);
        };
        let Some((length, rest)) = rest.split_first_chunk() else {
            return Ok(None);
        };
        let length = saturated_usize(u32::from_be_bytes(*length).into());
        if length > UNIT {
            return Err(senseless());
        }
        let Some((_, rest)) = rest.split_at_checked(length) else {
            return Ok(None);
        };
        self.n_commands -= 1;
        self.out.push(COMMAND_RESULT);
        self.out.extend_from_slice(id);
        self.out.push(FAILED);
        Ok(Some(rest))
    }

    /// Says goodbye, and waits for the collector to close its end.
    pub fn close(&mut self, mut connection: TcpStream, until: Option<Instant>) {
        self.out.push(CLOSE);
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return;
        }
        // Whatever fails here, there is nothing more to do.
        let _ = connection
            .set_nonblocking(false)
            .and_then(|()| connection.set_read_timeout(left))
            .and_then(|()| connection.set_write_timeout(left))
            .and_then(|()| connection.write_all(&self.out[self.n_written..]))
            .and_then(|()| connection.shutdown(Shutdown::Write))
            .and_then(|()| connection.read(&mut [0; 64]));
    }
}

/// An answer that no collector gives, or that ends the conversation.
fn senseless() -> io::Error {
    io::ErrorKind::InvalidData.into()
}
