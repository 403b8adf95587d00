//! A session whose units, handshakes and streams are entries to store.

use std::collections::VecDeque;
use std::time::Duration;

use super::{
    Closed, Collector, Hello, LEGACY_VERSION, OpenStream, Receiver, Terms, Unit, VERSION, kind,
};
use crate::ErrorKind;
use crate::cdt::calls::Header;
use crate::cdt::tcp::{Command, Granted, Handle, STREAMS};
use crate::codec::protocol::{
    CommandRefusal, Ending, Entry, Keep, Session, SessionOptions, UnitCounts,
};
use crate::wire::Cursor;

/// Time after which an agent begins the next file of a stream.
const ROTATION_PERIOD_MS: i64 = 3_600_000;
/// Bytes after which it does.
const ROTATION_SIZE: i64 = 2 << 20;

/// The collector's end of a connection. Its entries are the commands of a recorded conversation that open streams,
/// and data.
pub(super) struct RecordedConversation {
    collector: Collector,
    entries: Entries,
    clock: AgentClock,
    options: SessionOptions,
}

/// The agent's clock, which stands in the head of each calls file: the agent begins it when it opens the stream.
#[derive(Default)]
struct AgentClock {
    /// The calls stream opened last, with its first bytes while they are no whole head.
    opened: Option<(u32, Vec<u8>)>,
    told_ms: Option<i64>,
}

impl AgentClock {
    fn open(&mut self, open: &OpenStream<'_>) {
        if open.name == b"calls" {
            self.opened = Some((open.stream, Vec::new()));
        }
    }

    fn unit(&mut self, unit: &Unit<'_>) {
        let Some((stream, head)) = &mut self.opened else {
            return;
        };
        if *stream != unit.stream {
            return;
        }
        head.extend_from_slice(unit.bytes);
        match Header::read(&mut Cursor::new(head, 0)) {
            Err(error) if matches!(error.kind(), ErrorKind::Truncated { .. }) => return,
            Err(_) => {}
            Ok(header) => self.told_ms = Some(header.start_time),
        }
        self.opened = None;
    }
}

/// Entries handed out, and which of them are no units.
#[derive(Default)]
struct Entries {
    /// Entries for which there was no room; at most a few, because requests wait for them.
    pending: VecDeque<(u32, u8, Vec<u8>)>,
    n_kept: u64,
    /// Numbers of the entries that are no units and not known to be safe.
    others: VecDeque<u64>,
    n_safe_others: u64,
}

impl Entries {
    fn push(&mut self, entry: &Entry<'_>, keep: &mut Keep<'_>) -> bool {
        if !keep(entry) {
            return false;
        }
        if entry.kind != kind::DATA {
            self.others.push_back(self.n_kept);
        }
        self.n_kept += 1;
        true
    }

    /// Hands out what waits; returns `true` if nothing does any more.
    fn push_pending(&mut self, keep: &mut Keep<'_>) -> bool {
        while let Some((stream, kind, bytes)) = self.pending.pop_front() {
            let entry = Entry {
                stream,
                kind,
                bytes: &bytes,
            };
            if !self.push(&entry, keep) {
                self.pending.push_front((stream, kind, bytes));
                return false;
            }
        }
        true
    }

    /// Returns the number of units among the first `n_entries` entries.
    fn units(&mut self, n_entries: u64) -> u64 {
        while self.others.front().is_some_and(|&at| at < n_entries) {
            self.others.pop_front();
            self.n_safe_others += 1;
        }
        n_entries.saturating_sub(self.n_safe_others)
    }
}

/// The session's owner as the state machine sees it.
struct EntryCollector<'s, 'k> {
    entries: &'s mut Entries,
    clock: &'s mut AgentClock,
    options: &'s SessionOptions,
    keep: &'s mut Keep<'k>,
}

impl EntryCollector<'_, '_> {
    fn command(&mut self, stream: u32, command: &Command<'_>) {
        let mut bytes = Vec::new();
        command.write(&mut bytes);
        self.later(stream, kind::COMMAND, bytes);
    }

    fn later(&mut self, stream: u32, kind: u8, bytes: Vec<u8>) {
        self.entries.pending.push_back((stream, kind, bytes));
        self.entries.push_pending(self.keep);
    }
}

impl Receiver for EntryCollector<'_, '_> {
    fn hello(&mut self, hello: &Hello<'_>) -> bool {
        let server_version = match hello.client_version {
            LEGACY_VERSION => LEGACY_VERSION,
            offered => offered.min(VERSION),
        };
        self.command(
            0,
            &Command::GetProtocolVersionV2 {
                client_version: hello.client_version,
                pod: hello.pod,
                service: hello.service,
                namespace: hello.namespace,
                server_version,
            },
        );
        let unwanted = &self.options.unwanted;
        !unwanted
            .iter()
            .any(|name| name.as_bytes() == hello.namespace)
    }

    fn open(&mut self, open: &OpenStream<'_>) -> Option<(Handle, Granted)> {
        if !STREAMS.contains(&open.name) {
            return None;
        }
        let whole = matches!(open.name, b"dictionary" | b"params");
        let granted = Granted {
            rotation_period: if whole { 0 } else { ROTATION_PERIOD_MS },
            rotation_size: if whole { 0 } else { ROTATION_SIZE },
            sequence: open.requested_sequence,
        };
        let handle = handle(self.options.seed, open.stream);
        self.clock.open(open);
        self.command(
            open.stream,
            &Command::InitStream {
                identity: None,
                stream: open.name,
                requested_sequence: open.requested_sequence,
                reset: u32::from(open.reset),
                handle,
                granted: Some(granted),
            },
        );
        Some((handle, granted))
    }

    fn unit(&mut self, unit: &Unit<'_>) -> bool {
        let entry = Entry {
            stream: unit.stream,
            kind: kind::DATA,
            bytes: unit.bytes,
        };
        let stored = self.entries.push_pending(self.keep) && self.entries.push(&entry, self.keep);
        if stored {
            self.clock.unit(unit);
        }
        stored
    }

    fn command_result(&mut self, command: &Handle, succeeded: bool) {
        let result = if succeeded {
            super::SUCCEEDED
        } else {
            super::REJECTED
        };
        let command = *command;
        self.command(0, &Command::ReportCommandResult { command, result });
    }

    fn has_room(&mut self) -> bool {
        self.entries.push_pending(self.keep)
    }

    fn unread(&mut self, bytes: &[u8]) {
        self.later(0, kind::UNREAD, bytes.to_vec());
    }
}

/// Makes the handle of a stream, a random UUID of version 4.
fn handle(seed: u128, stream: u32) -> Handle {
    let mut state = seed ^ (u128::from(stream) << 64) ^ u128::from(stream);
    for _ in 0..2 {
        // A multiplicative permutation: handles of a connection differ.
        state = state.wrapping_mul(0xda94_2042_e4dd_58b5_9e37_79b9_7f4a_7c15 | 1);
        state ^= state >> 67;
    }
    let version = (state & !(0xf << 76)) | (0x4 << 76);
    ((version & !(0x3 << 62)) | (0x2 << 62)).to_be_bytes()
}

impl RecordedConversation {
    pub(super) fn new(options: &SessionOptions, now: Duration) -> Self {
        Self {
            collector: Collector::new(Terms::default(), now),
            entries: Entries::default(),
            clock: AgentClock::default(),
            options: options.clone(),
        }
    }
}

impl Session for RecordedConversation {
    fn read(&mut self, window: &[u8], now: Duration, keep: &mut Keep<'_>) -> usize {
        let mut store = EntryCollector {
            entries: &mut self.entries,
            clock: &mut self.clock,
            options: &self.options,
            keep,
        };
        self.collector.read(window, now, &mut store)
    }

    fn finish(&mut self, rest: &[u8], keep: &mut Keep<'_>) -> bool {
        if !self.entries.push_pending(keep) {
            return false;
        }
        if rest.is_empty() || self.collector.closed().is_some() {
            return true;
        }
        let entry = Entry {
            stream: 0,
            kind: kind::UNREAD,
            bytes: rest.get(..super::LONGEST_UNREAD).unwrap_or(rest),
        };
        self.entries.push(&entry, keep)
    }

    fn durable(&mut self, n_entries: u64) {
        let n_units = self.entries.units(n_entries);
        self.collector.durable(n_units);
    }

    fn storage_failed(&mut self) {
        self.collector.storage_failed();
    }

    fn tick(&mut self, now: Duration) {
        self.collector.tick(now);
    }

    fn deadline(&self) -> Option<Duration> {
        self.collector.deadline()
    }

    fn output(&self) -> &[u8] {
        self.collector.output()
    }

    fn sent(&mut self, n_bytes: usize) {
        self.collector.sent(n_bytes);
    }

    fn closed(&self) -> Option<Ending> {
        let (reason, orderly) = match self.collector.closed()? {
            Closed::ByAgent => ("goodbye", true),
            Closed::Protocol(_) => ("no_request", false),
            Closed::UnknownHandle(_) => ("unknown_handle", false),
            Closed::Blacklisted => ("unwanted_namespace", true),
            Closed::StreamRefused => ("unknown_stream", false),
            Closed::Stalled => ("stalled", false),
            Closed::Idle => ("idle", false),
            Closed::StorageFailed => ("storage_failed", false),
        };
        Some(Ending { reason, orderly })
    }

    fn units(&self) -> UnitCounts {
        let (received, safe) = self.collector.units();
        UnitCounts {
            received,
            // One whose stream nobody opened ends the connection, and is no unit.
            decoded: received,
            safe,
        }
    }

    fn sender_ms(&mut self) -> Option<i64> {
        self.clock.told_ms.take()
    }

    fn command(
        &mut self,
        id: Handle,
        word: &str,
        keep: &mut Keep<'_>,
    ) -> Result<(), CommandRefusal> {
        self.collector.send_command(id, word)?;
        let mut store = EntryCollector {
            entries: &mut self.entries,
            clock: &mut self.clock,
            options: &self.options,
            keep,
        };
        // As a recorded conversation has it.
        let sent = Command::Ack {
            answer: 1,
            commands: vec![(id, word.as_bytes())],
        };
        store.command(0, &sent);
        Ok(())
    }
}
