//! The streams inside a conversation, as pieces of it.

use std::collections::HashMap;

use traceloom_model::{Limit, Limits};

use super::{Command, Handle};
use crate::wire::Cursor;
use crate::{Error, ErrorKind, Member, Pull};

/// Lists the streams: `<pod>/<stream>/<index>`, the index being the sequence plus one, as the records
/// inside refer to it (§9).
///
/// Damage in the conversation ends the list where it begins; the reader of records names the place and
/// resumes behind it, but bytes of a stream behind a gap would not be where its records say.
pub(in crate::cdt) fn members(pull: &mut dyn Pull, limits: &Limits) -> Result<Vec<Member>, Error> {
    let most = limits.size(Limit::Table);
    let mut streams = Streams::default();
    let (mut consumed, mut need) = (0, 1);
    loop {
        let chunk = pull.pull(consumed, need)?;
        let mut cursor = Cursor::new(chunk.bytes, chunk.offset);
        need = 1;
        loop {
            consumed = cursor.position();
            if cursor.is_empty() {
                break;
            }
            let offset = cursor.offset();
            match Command::read(&mut cursor, &|handle| streams.open.contains_key(handle)) {
                Ok(command) if streams.pieces < most => streams.take(&command, offset),
                Ok(_) => return Ok(streams.members),
                Err(error) => match error.kind() {
                    ErrorKind::Truncated { need: more } if !chunk.eof => {
                        need = chunk.bytes.len() - consumed + more;
                        break;
                    }
                    _ => return Ok(streams.members),
                },
            }
        }
        if chunk.eof {
            return Ok(streams.members);
        }
    }
}

#[derive(Default)]
struct Streams {
    pod: String,
    open: HashMap<Handle, usize>,
    members: Vec<Member>,
    names: HashMap<String, u32>,
    pieces: usize,
}

impl Streams {
    fn take(&mut self, command: &Command<'_>, offset: u64) {
        match command {
            Command::GetProtocolVersionV2 { pod, .. } => self.pod = component(pod),
            Command::InitStream {
                identity,
                stream,
                handle,
                granted: Some(granted),
                ..
            } => {
                if let Some([_, _, pod]) = identity {
                    self.pod = component(pod);
                }
                let index = u64::from(granted.sequence) + 1;
                let pod = if self.pod.is_empty() {
                    "pod"
                } else {
                    &self.pod
                };
                let mut name = format!("{pod}/{}/{index:06}", component(stream));
                // A stream opened twice under one sequence: a reconnect inside one dump.
                let times = self.names.entry(name.clone()).or_default();
                *times += 1;
                if *times > 1 {
                    name = format!("{name}-{times}");
                }
                self.open.insert(*handle, self.members.len());
                let pieces = Vec::new();
                self.members.push(Member { name, pieces });
            }
            Command::RcvData { handle, data } => {
                let member = self
                    .open
                    .get(handle)
                    .and_then(|&at| self.members.get_mut(at));
                if let (Some(member), Ok(length @ 1..)) = (member, u32::try_from(data.len())) {
                    // Code, handle and length stand before the data.
                    member.pieces.push((offset + 21, length));
                    self.pieces += 1;
                }
            }
            _ => {}
        }
    }
}

/// A name as one component of a path.
fn component(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let safe = name.replace(['/', '\\', '\0'], "_");
    match safe.as_str() {
        "." | ".." | "" => "_".to_owned(),
        _ => safe,
    }
}
