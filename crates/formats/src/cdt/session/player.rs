//! An agent that sends streams which exist already.

use std::collections::VecDeque;

use super::{Agent, Reply, VERSION};
use crate::cdt;
use crate::cdt::tcp::LONGEST_FIELD;
use crate::codec::protocol::{Identity, Sender};
use crate::{Error, Part};

/// Units in flight; agents send without waiting, and what is in flight is in memory.
const IN_FLIGHT: usize = 1024;
/// Units after which all acknowledgements are asked for.
const FLUSH_EVERY: u64 = 512;

/// The sender's end of a connection.
pub(super) struct Player {
    agent: Agent,
    /// Stream of the connection, by part.
    streams: Vec<Option<u32>>,
    n_opened: usize,
    /// Part and length of units that are not acknowledged.
    in_flight: VecDeque<(usize, u64)>,
    acknowledged: Vec<u64>,
    n_units: u64,
    /// Requests to flush, and their answers.
    flushes: (u64, u64),
    ending: bool,
    finished: bool,
}

/// Returns the name that an agent gives the stream of a part.
fn stream_name(part: &Part) -> Option<&'static [u8]> {
    let names: [(&crate::Format, &[u8]); 8] = [
        (&cdt::TRACE, b"trace"),
        (&cdt::CALLS, b"calls"),
        (&cdt::XML, b"xml"),
        (&cdt::SQL, b"sql"),
        (&cdt::DICTIONARY, b"dictionary"),
        (&cdt::SUSPEND, b"suspend"),
        (&cdt::GC, b"gc"),
        (&cdt::PARAMS, b"params"),
    ];
    let format = part.format?.name;
    let found = names.iter().find(|(of, _)| of.name == format);
    found.map(|&(_, name)| name)
}

/// Returns the sequence in a part's name `…/<index>`, the index being the sequence plus one.
fn sequence(name: &str) -> u32 {
    let file = name.rsplit('/').next().unwrap_or(name);
    let digits = file.split(['.', '-']).next().unwrap_or(file);
    digits
        .parse::<u32>()
        .map_or(0, |index| index.saturating_sub(1))
}

impl Player {
    pub(super) fn new(identity: &Identity, parts: &[Part]) -> Result<Self, Error> {
        let mut agent = Agent::default();
        let longest = |text: &str| text.len() <= LONGEST_FIELD;
        if ![&identity.instance, &identity.service, &identity.namespace]
            .into_iter()
            .all(|text| longest(text))
        {
            let message = format!("a name is longer than {LONGEST_FIELD} bytes");
            return Err(Error::usage(message));
        }
        agent.hello(
            VERSION,
            identity.instance.as_bytes(),
            identity.service.as_bytes(),
            identity.namespace.as_bytes(),
        );
        for part in parts {
            let Some(name) = stream_name(part) else {
                let message = format!("{} is no stream that an agent sends", part.name);
                return Err(Error::usage(message));
            };
            let sequence = sequence(&part.name);
            agent.open(name, sequence, sequence == 0 && name == b"dictionary");
        }
        Ok(Self {
            agent,
            streams: vec![None; parts.len()],
            n_opened: 0,
            in_flight: VecDeque::new(),
            acknowledged: vec![0; parts.len()],
            n_units: 0,
            flushes: (0, 0),
            ending: false,
            finished: false,
        })
    }

    fn flush(&mut self) {
        self.agent.flush();
        self.flushes.0 += 1;
    }

    fn say_goodbye(&mut self) {
        let opened = self.n_opened == self.streams.len();
        if self.ending && !self.finished && opened && self.in_flight.is_empty() {
            self.agent.close();
            self.finished = true;
        }
    }
}

impl Sender for Player {
    fn put(&mut self, part: usize, bytes: &[u8]) -> usize {
        let Some(&Some(stream)) = self.streams.get(part) else {
            return 0;
        };
        let mut taken = 0;
        for unit in bytes.chunks(LONGEST_FIELD) {
            if self.in_flight.len() >= IN_FLIGHT {
                break;
            }
            self.agent.data(stream, unit);
            self.in_flight.push_back((part, unit.len() as u64));
            self.n_units += 1;
            taken += unit.len();
            if self.n_units.is_multiple_of(FLUSH_EVERY) {
                self.flush();
            }
        }
        taken
    }

    fn finish(&mut self) {
        if !self.ending {
            self.ending = true;
            self.flush();
            self.say_goodbye();
        }
    }

    fn output(&self) -> &[u8] {
        self.agent.output()
    }

    fn sent(&mut self, n_bytes: usize) {
        self.agent.sent(n_bytes);
    }

    fn read(&mut self, window: &[u8]) -> Result<usize, Error> {
        let mut why = None;
        let mut commands = Vec::new();
        let used = self.agent.read(window, &mut |reply| match reply {
            Reply::Opened { stream, .. } => {
                if let Some(opened) = self.streams.get_mut(self.n_opened) {
                    *opened = Some(stream);
                    self.n_opened += 1;
                }
            }
            Reply::Acknowledged => {
                if let Some((part, length)) = self.in_flight.pop_front()
                    && let Some(bytes) = self.acknowledged.get_mut(part)
                {
                    *bytes += length;
                }
            }
            Reply::Blacklisted => why = Some("the collector does not want this namespace"),
            Reply::Refused => why = Some("the collector refused a stream"),
            Reply::Rejected => why = Some("the collector cannot accept any more"),
            Reply::Command { id, .. } => commands.push(id),
            Reply::Flushed => self.flushes.1 += 1,
            Reply::Version(_) => {}
        })?;
        for command in commands {
            // There is no process here to look into.
            self.agent.report(&command, false);
        }
        self.say_goodbye();
        why.map_or(Ok(used), |why| Err(Error::io(why)))
    }

    fn acknowledged(&self) -> &[u64] {
        &self.acknowledged
    }

    fn flushes(&self) -> (u64, u64) {
        self.flushes
    }

    fn is_finished(&self) -> bool {
        self.finished
    }
}
