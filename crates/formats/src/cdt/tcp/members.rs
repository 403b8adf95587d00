//! The streams inside a conversation, as pieces of it.

use std::collections::{HashMap, VecDeque};

use traceloom_model::bounds::subslice;
use traceloom_model::{Limit, Limits, Note};

use super::handles::Handles;
use super::repair::{self, FoundData, STRETCH, Sent};
use super::{Command, Granted, Handle};
use crate::wire::Cursor;
use crate::wire::units::Sync;
use crate::{Error, ErrorKind, Member, Pull};

/// Lists the streams: `<pod>/<stream>/<index>`, the index being the sequence plus one, as the records
/// inside refer to it (§9).
///
/// A damaged command is a note of its stream and keeps its bytes there, in the length it had, so that what
/// follows lies where records say it does.
pub(in crate::cdt) fn members(pull: &mut dyn Pull, limits: &Limits) -> Result<Vec<Member>, Error> {
    let mut streams = OpenMembers {
        most: limits.size(Limit::Table),
        ..OpenMembers::default()
    };
    let (mut consumed, mut need) = (0, 1);
    loop {
        let chunk = pull.pull(consumed, need)?;
        let mut cursor = Cursor::new(chunk.bytes, chunk.offset);
        let error = loop {
            consumed = cursor.position();
            if cursor.is_empty() {
                break None;
            }
            let offset = cursor.offset();
            let read = streams.handles.command(&mut cursor, chunk.eof);
            match read {
                Ok(_) if streams.pieces >= streams.most => return Ok(streams.into_members()),
                Ok(command) => {
                    let bytes = cursor.slice(consumed, chunk.bytes.len());
                    streams.take(&command, bytes, offset);
                }
                Err(error) => break Some(error),
            }
        };
        need = match error.as_ref().map(Error::kind) {
            None if chunk.eof => return Ok(streams.into_members()),
            None => 1,
            Some(ErrorKind::Truncated { need }) if !chunk.eof => {
                chunk.bytes.len() - consumed + need
            }
            Some(_) => match skip(&mut streams, pull, consumed)? {
                Some(skipped) => {
                    consumed = skipped;
                    1
                }
                None => return Ok(streams.into_members()),
            },
        };
    }
}

/// Skips a damaged stretch and gives what it was to its stream; returns where the next command begins in
/// the window that `pull` returned last.
fn skip(
    streams: &mut OpenMembers,
    pull: &mut dyn Pull,
    consumed: usize,
) -> Result<Option<usize>, Error> {
    let mut chunk = pull.pull(consumed, STRETCH)?;
    let mut from = 1;
    let mut stretch = Some(chunk.offset);
    loop {
        let places = from..chunk.bytes.len();
        let mut hit = None;
        for at in places {
            let bytes = subslice(chunk.bytes, at..);
            match streams.handles.sync(bytes, chunk.eof) {
                Sync::Hit => hit = Some(at),
                Sync::Need(_) if !chunk.eof => {}
                _ => {
                    from = at + 1;
                    continue;
                }
            }
            break;
        }
        if let Some(offset) = stretch.take() {
            let end = hit.or(chunk.eof.then_some(chunk.bytes.len()));
            // What goes on for longer than any command is not one.
            let bytes = end.and_then(|end| chunk.bytes.get(..end));
            streams.repair(bytes.unwrap_or(&[]), offset);
        }
        if hit.is_some() {
            return Ok(hit);
        }
        if chunk.eof {
            return Ok(None);
        }
        chunk = pull.pull(from, STRETCH)?;
        from = 0;
    }
}

#[derive(Default)]
struct OpenMembers {
    pod: String,
    handles: Handles,
    open: HashMap<Handle, usize>,
    members: Vec<Stream>,
    names: HashMap<String, u32>,
    pieces: usize,
    most: usize,
    damaged: bool,
    /// Streams of which the opening is damaged, and their handle unknown.
    unopened: VecDeque<&'static str>,
    last: Last,
}

/// The last command that says where bytes go, which damage behind it may be part of.
#[derive(Default)]
enum Last {
    #[default]
    Other,
    Data {
        sent: Sent,
        stream: Option<usize>,
        /// Where it ends.
        end: u64,
    },
    Opened {
        stream: usize,
        requested: u32,
        end: u64,
    },
}

#[derive(Default)]
struct Stream {
    pod: String,
    name: String,
    index: u64,
    pieces: Vec<(u64, u32)>,
    length: u64,
    notes: Vec<Note>,
}

impl Stream {
    fn note(&mut self, kind: &'static str, text: String) {
        /// Notes of one stream; a conversation of nothing but damage has no more to say.
        const NOTES: usize = 1000;
        if self.notes.len() < NOTES {
            self.notes.push(crate::damage(kind, self.length, text));
        }
    }

    fn push(&mut self, offset: u64, length: u32) {
        self.pieces.push((offset, length));
        self.length += u64::from(length);
    }
}

impl OpenMembers {
    /// Takes a command; `bytes` are its own and what is behind it, `offset` is where it begins.
    fn take(&mut self, command: &Command<'_>, bytes: &[u8], offset: u64) {
        match command {
            Command::GetProtocolVersionV2 { pod, .. } => self.pod = component(pod),
            Command::InitStream {
                identity,
                stream,
                requested_sequence,
                handle,
                granted: Some(granted),
                ..
            } => {
                if let Some([_, _, pod]) = identity {
                    self.pod = component(pod);
                }
                let fixed = fixed_name(stream);
                let name = component(fixed.unwrap_or(stream));
                let at = self.open(*handle, name, *granted);
                if fixed.is_some()
                    && let Some(opened) = self.members.get_mut(at)
                {
                    let name = stream.escape_ascii();
                    opened.note("damaged_name", format!("the stream is named `{name}`"));
                }
                let length = 8 + 16 + 20 + 5 + stream.len() as u64;
                self.last = Last::Opened {
                    stream: at,
                    requested: *requested_sequence,
                    end: offset + length,
                };
            }
            Command::RcvData { handle, data } => {
                let stream = self.stream_of(handle, offset);
                let length = u32::try_from(data.len()).unwrap_or(0);
                let end = offset + 21 + u64::from(length);
                if let Some(member) = stream.and_then(|at| self.members.get_mut(at))
                    && length > 0
                {
                    member.push(offset + 21, length);
                    self.pieces += 1;
                }
                self.last = match repair::sent(bytes, offset) {
                    Some(sent) => Last::Data { sent, stream, end },
                    None => Last::Other,
                };
            }
            _ => {}
        }
    }

    fn open(&mut self, handle: Handle, name: String, granted: Granted) -> usize {
        let at = self.members.len();
        self.handles.open(handle);
        self.open.insert(handle, at);
        self.members.push(Stream {
            pod: self.pod.clone(),
            name,
            index: u64::from(granted.sequence) + 1,
            ..Stream::default()
        });
        at
    }

    /// Returns the stream of a handle, also of one that is damaged or was opened by a damaged command.
    fn stream_of(&mut self, handle: &Handle, offset: u64) -> Option<usize> {
        if let Some(&at) = self.open.get(handle) {
            return Some(at);
        }
        if let Some(like) = self.handles.like(handle) {
            let at = *self.open.get(&like)?;
            let text =
                format!("a damaged handle at {offset:#x} of the conversation is taken for its own");
            self.members.get_mut(at)?.note("damaged_handle", text);
            return Some(at);
        }
        if !self.damaged {
            return None;
        }
        let name = self.unopened.pop_front().unwrap_or("stream");
        let opened = self.members.iter().filter(|stream| stream.name == name);
        let granted = Granted {
            rotation_period: 0,
            rotation_size: 0,
            sequence: u32::try_from(opened.count()).unwrap_or(0),
        };
        let at = self.open(*handle, name.to_owned(), granted);
        let text = format!(
            "what opened it is damaged; data at {offset:#x} of the conversation is taken for its own"
        );
        self.members.get_mut(at)?.note("damaged_opening", text);
        Some(at)
    }

    /// Gives a damaged stretch to the stream it belongs to; an empty one is too long for that.
    fn repair(&mut self, stretch: &[u8], offset: u64) {
        self.damaged = true;
        let near = |end: u64| offset.saturating_sub(end) <= 8;
        match std::mem::take(&mut self.last) {
            Last::Data {
                sent, stream, end, ..
            } if offset.saturating_sub(end) <= STRETCH as u64 => {
                let right = repair::repaired(sent, stretch, offset);
                let member = stream.and_then(|at| self.members.get_mut(at));
                if let (Some(member), Some((data, length))) = (member, right) {
                    if sent.length > 0 {
                        member.pieces.pop();
                        member.length -= u64::from(sent.length);
                    }
                    let text = format!(
                        "a damaged length at {:#x} of the conversation: {length} bytes, not {}",
                        sent.data - 4,
                        sent.length
                    );
                    member.note("damaged_length", text);
                    member.push(data, length);
                    return;
                }
                if offset.saturating_sub(end) <= 8
                    && stretch.len() <= 8
                    && let Some(member) = stream.and_then(|at| self.members.get_mut(at))
                {
                    let text = format!(
                        "{} bytes at {offset:#x} of the conversation are no command: one was added to the \
                         data before",
                        stretch.len()
                    );
                    return member.note("damaged_conversation", text);
                }
            }
            Last::Opened {
                stream,
                requested,
                end,
            } if near(end) => {
                // A byte too many or too few in what opened it moved the sequence too.
                if let Some(stream) = self.members.get_mut(stream) {
                    stream.index = match requested {
                        0..1000 => u64::from(requested) + 1,
                        _ => 1,
                    };
                }
            }
            _ => {}
        }
        if let Some(FoundData { handle, at, length }) = repair::data(stretch, &self.handles)
            && let Some(member) = self
                .open
                .get(&handle)
                .and_then(|&at| self.members.get_mut(at))
        {
            let text =
                format!("a damaged command at {offset:#x} of the conversation is taken for data");
            member.note("damaged_conversation", text);
            if length > 0 {
                member.push(offset + at as u64, length);
                self.pieces += 1;
            }
            return;
        }
        if let Some(name) = repair::opened(stretch) {
            self.unopened.push_back(name);
        }
        let text = format!(
            "{} bytes at {offset:#x} of the conversation are no command and no data that can be told",
            stretch.len()
        );
        for stream in self.members.iter_mut().take(1) {
            stream.note("damaged_conversation", text.clone());
        }
    }

    fn into_members(self) -> Vec<Member> {
        let mut names = self.names;
        let named = |stream: Stream| {
            let pod = match stream.pod.as_str() {
                "" => "pod",
                pod => pod,
            };
            let mut name = format!("{pod}/{}/{:06}", stream.name, stream.index);
            // A stream opened twice under one sequence: a reconnect inside one dump.
            let times = names.entry(name.clone()).or_default();
            *times += 1;
            if *times > 1 {
                name = format!("{name}-{times}");
            }
            Member {
                name,
                pieces: stream.pieces,
                notes: stream.notes,
            }
        };
        self.members.into_iter().map(named).collect()
    }
}

/// Returns the name that a stream's damaged name stands for.
fn fixed_name(name: &[u8]) -> Option<&'static [u8]> {
    let known = super::handles::STREAMS.contains(&name);
    (!known).then(|| repair::named(name)).flatten()
}

/// A name as one component of a path.
pub(in crate::cdt) fn component(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let safe = name.replace(['/', '\\', '\0'], "_");
    match safe.as_str() {
        "." | ".." | "" => "_".to_owned(),
        _ => safe,
    }
}
