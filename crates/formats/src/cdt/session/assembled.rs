//! Stored entries of a session as the streams that an agent sent.

use std::collections::HashMap;

use super::kind;
use crate::cdt::tcp::{Command, component};
use crate::codec::protocol::{AgentCommand, Assemble, AssembledPart, Entry, Identity};
use crate::wire::Cursor;

/// The streams of a connection, named as those of a recorded conversation (§9).
#[derive(Default)]
pub(super) struct ConversationStreams {
    identity: Identity,
    /// The part of each stream.
    part_of: HashMap<u32, usize>,
    parts: Vec<AssembledPart>,
    unread: Option<usize>,
    times: HashMap<String, u32>,
    commands: Vec<AgentCommand>,
    doubts: Vec<String>,
}

impl ConversationStreams {
    /// Sentences that are kept; a session has no more to say.
    const DOUBTS: usize = 100;

    fn command(&mut self, stream: u32, bytes: &[u8]) {
        match Command::read(&mut Cursor::new(bytes, 0), &|_| true) {
            Ok(Command::GetProtocolVersionV2 {
                pod,
                service,
                namespace,
                ..
            }) => {
                let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
                self.identity = Identity {
                    service: text(service),
                    instance: text(pod),
                    namespace: text(namespace),
                    version: String::new(),
                };
            }
            Ok(Command::InitStream {
                stream: name,
                granted: Some(granted),
                ..
            }) => self.open(stream, name, u64::from(granted.sequence) + 1),
            Ok(Command::Ack { commands, .. }) => {
                let sent = commands.into_iter().map(|(id, word)| AgentCommand {
                    id,
                    word: String::from_utf8_lossy(word).into_owned(),
                    succeeded: None,
                });
                self.commands.extend(sent);
            }
            Ok(Command::ReportCommandResult { command, result }) => {
                let mut sent = self.commands.iter_mut();
                match sent.find(|sent| sent.id == command) {
                    Some(sent) => sent.succeeded = Some(result == super::SUCCEEDED),
                    None => self.doubt("the result of a command that nobody sent".to_owned()),
                }
            }
            Ok(_) => {}
            Err(error) => self.doubt(format!("a stored command is damaged: {error}")),
        }
    }

    fn open(&mut self, stream: u32, name: &[u8], index: u64) {
        let mut name = format!("{}/{}/{index:06}", self.pod(), component(name));
        let times = self.times.entry(name.clone()).or_default();
        *times += 1;
        if *times > 1 {
            name = format!("{name}-{times}");
        }
        self.part_of.insert(stream, self.parts.len());
        self.parts.push(AssembledPart { name });
    }

    /// Returns the part of the bytes that are no request.
    fn unread(&mut self) -> usize {
        let unread = self.unread.unwrap_or(self.parts.len());
        if unread == self.parts.len() {
            let name = format!("{}/unread", self.pod());
            self.parts.push(AssembledPart { name });
        }
        self.unread = Some(unread);
        unread
    }

    fn pod(&self) -> String {
        match self.identity.instance.as_bytes() {
            b"" => "pod".to_owned(),
            pod => component(pod),
        }
    }

    fn doubt(&mut self, doubt: String) {
        if self.doubts.len() < Self::DOUBTS {
            self.doubts.push(doubt);
        }
    }
}

impl Assemble for ConversationStreams {
    fn take(&mut self, entry: &Entry<'_>) -> Option<usize> {
        match entry.kind {
            kind::DATA => {
                let part = self.part_of.get(&entry.stream).copied();
                if part.is_none() {
                    let n_bytes = entry.bytes.len();
                    self.doubt(format!(
                        "{n_bytes} bytes of stream {}, which was never opened",
                        entry.stream
                    ));
                }
                return part;
            }
            kind::COMMAND => self.command(entry.stream, entry.bytes),
            kind::UNREAD => {
                let begin = entry.bytes.get(..16).unwrap_or(entry.bytes);
                self.doubt(format!(
                    "{} bytes that are no request, from {begin:02x?} on; they are kept as they came",
                    entry.bytes.len()
                ));
                return Some(self.unread());
            }
            other => self.doubt(format!("an entry of the unknown kind {other}")),
        }
        None
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

    fn commands(&self) -> &[AgentCommand] {
        &self.commands
    }
}
