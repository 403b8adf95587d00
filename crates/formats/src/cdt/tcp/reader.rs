//! The record reader of a conversation.

use traceloom_model::{Flow, Limits, Note};

use super::acks::Acks;
use super::handles::Handles;
use super::{Command, Handle};
use crate::wire::Cursor;
use crate::wire::units::{Recovery, Sync, Units, tail};
use crate::{Error, Field, Record, RecordSink};

/// Reads commands, and finds the next one behind damage.
#[derive(Clone)]
pub(in crate::cdt) struct Conversation {
    handles: Handles,
    acks: Acks,
    damaged: bool,
    closed: bool,
}

impl Conversation {
    pub(in crate::cdt) fn new(_limits: &Limits) -> Self {
        Self {
            handles: Handles::default(),
            acks: Acks::default(),
            damaged: false,
            closed: false,
        }
    }

    /// Notes data whose handle is no open stream's.
    fn unknown(&mut self, handle: &Handle, offset: u64) -> Option<Note> {
        if self.handles.contains(handle) {
            return None;
        }
        if self.handles.like(handle).is_some() {
            let text =
                "the handle differs from an open stream's by one byte: the data is taken for it";
            return Some(crate::damage("damaged_handle", offset, text));
        }
        if self.damaged {
            // The command that opened it is among the damaged bytes.
            self.handles.open(*handle);
        }
        let text = "data for a stream that was never opened";
        Some(crate::warn("unknown_handle", offset, text))
    }
}

impl Units for Conversation {
    fn unit(
        &mut self,
        cursor: &mut Cursor<'_>,
        eof: bool,
        out: &mut dyn RecordSink,
    ) -> Result<Flow, Error> {
        let (start, offset) = (cursor.position(), cursor.offset());
        let command = self.handles.command(cursor, eof)?;
        let mut notes = [None, None, None];
        match &command {
            Command::InitStream { handle, .. } => self.handles.open(*handle),
            Command::RcvData { handle, .. } => notes[0] = self.unknown(handle, offset),
            _ => {}
        }
        notes[1] = self.acks.take(&command, offset);
        let is_request = !matches!(command, Command::Ack { .. });
        if is_request && std::mem::replace(&mut self.closed, matches!(command, Command::Close)) {
            let again = matches!(
                command,
                Command::GetProtocolVersion { .. } | Command::GetProtocolVersionV2 { .. }
            );
            let text = "a command behind the one that closes the connection";
            notes[2] = (!again).then(|| crate::warn("closed_connection", offset, text));
        }
        for note in notes.into_iter().flatten() {
            if out.note(note).is_break() {
                return Ok(Flow::Break(()));
            }
        }
        Ok(out.record(&CommandRecord {
            command: &command,
            offset,
            length: (cursor.position() - start) as u64,
        }))
    }

    fn failed(&mut self, error: &Error, offset: u64, rest: usize) -> (Note, Recovery) {
        self.damaged = true;
        self.acks.lose_count();
        (tail("command", error, offset, rest), Recovery::Sync)
    }

    fn sync(&mut self, bytes: &[u8], eof: bool) -> Sync {
        self.handles.sync(bytes, eof)
    }
}

struct CommandRecord<'a> {
    command: &'a Command<'a>,
    offset: u64,
    length: u64,
}

impl Record for CommandRecord<'_> {
    fn kind(&self) -> &'static str {
        self.command.kind()
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        self.length
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        self.command.fields(show);
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.command.write(out);
    }
}
