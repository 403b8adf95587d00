//! Blocks of events into trace, rows into calls, names into dictionary.

use std::sync::Arc;
use std::time::Instant;

use super::block::BlockEncoder;
use super::params::DeclaredParams;
use super::pauses::PauseEncoder;
use super::primitives::put_text;
use super::streams::{DumpStream, StreamStore};
use crate::calls::RecorderState;
use crate::calls::buffer::CallBuffer;
use crate::calls::bytes::Readiness;
use crate::calls::taken::TakenEvents;
use crate::engine::Drain;

/// The beginning of a file of calls, with the version of its rows.
const CALLS_MAGIC: u32 = 0xfffe_fdfc;
const CALLS_VERSION: u32 = 4;

/// Times in a file of trace count milliseconds from its start in 32 bits.
const FARTHEST: u64 = 1 << 30;
const HOUR: u64 = 3_600_000;

/// Encodes what threads did and gives it to a store.
pub struct DumpDrain<S> {
    state: RecorderState,
    store: S,
    encoder: BlockEncoder,
    pause_encoder: PauseEncoder,
    params: DeclaredParams,
    taken: TakenEvents,
    /// The record that is being made.
    record: Vec<u8>,
}

impl<S: StreamStore> DumpDrain<S> {
    pub fn boxed(
        state: RecorderState,
        store: S,
        params: DeclaredParams,
    ) -> Box<dyn Drain<CallBuffer>> {
        let shared = &state.shared;
        Box::new(Self {
            taken: TakenEvents::new(shared.options.buffer),
            encoder: BlockEncoder::new(shared.clock.epoch(), &params),
            pause_encoder: PauseEncoder::new(shared.clock.epoch()),
            state,
            store,
            params,
            record: Vec::new(),
        })
    }

    /// Begins all streams.
    fn begin(&mut self) {
        self.encoder.begin_process();
        for record in self.params.records() {
            self.store.put(DumpStream::Params, &record);
        }
        self.pause_encoder.begin(self.encoder.start);
        let start = self.encoder.start.to_be_bytes();
        self.store.put(DumpStream::Suspend, &start);
        self.tell_words();
        self.begin_file(DumpStream::Trace);
        self.begin_file(DumpStream::Calls);
    }

    fn begin_file(&mut self, stream: DumpStream) {
        self.record.clear();
        if stream == DumpStream::Calls {
            self.record.extend_from_slice(&CALLS_MAGIC.to_be_bytes());
            self.record.extend_from_slice(&CALLS_VERSION.to_be_bytes());
            self.encoder.begin_rows();
        }
        let start = self.encoder.start.to_be_bytes();
        self.record.extend_from_slice(&start);
        self.store.put(stream, &self.record);
    }

    fn tell_words(&mut self) {
        for word in self.encoder.words.untold().1 {
            self.record.clear();
            put_text(&mut self.record, word);
            self.store.put(DumpStream::Dictionary, &self.record);
        }
    }

    /// Begins the files that are due; returns `false` until they are there.
    fn rotate(&mut self, owner: &CallBuffer) -> bool {
        let time = self.encoder.next_time(owner, self.taken.events());
        let is_far = time.abs_diff(self.encoder.start) > FARTHEST;
        if is_far || self.store.is_full(DumpStream::Trace) {
            if !self.store.rotate(DumpStream::Trace) {
                return false;
            }
            if is_far {
                // What other threads did before is not taken yet.
                self.encoder.start = time.saturating_sub(HOUR);
            }
            self.begin_file(DumpStream::Trace);
        }
        // A file of sql has no beginning of its own.
        if self.store.is_full(DumpStream::Sql) && !self.store.rotate(DumpStream::Sql) {
            return false;
        }
        if self.store.is_full(DumpStream::Calls) {
            if !self.store.rotate(DumpStream::Calls) {
                return false;
            }
            self.begin_file(DumpStream::Calls);
        }
        true
    }

    /// Encodes the next block of the buffer that was taken.
    fn encode(&mut self, owner: &Arc<CallBuffer>) {
        let mut events = self.taken.events();
        let (sql, trace) = (DumpStream::Sql, DumpStream::Trace);
        let values = &mut self.encoder.values;
        values.begin_block(self.store.file(sql), self.store.size(sql));
        let place = (self.store.file(trace), self.store.size(trace));
        let n_ends = self.encoder.block(owner, &mut events, place);
        let n_left = events.0.len();
        self.taken.keep_last(n_left);
        // A reader finds the names and the values of what it reads.
        self.tell_words();
        self.store.put(sql, &self.encoder.values.added);
        self.store.put(trace, &self.encoder.trace);
        self.store.put(DumpStream::Calls, &self.encoder.rows);
        self.store.owe(owner, n_ends);
    }
}

impl<S: StreamStore> DumpDrain<S> {
    /// Encodes the pauses of the buffer that was taken. Lost ones are counted, and have no place in the stream.
    fn encode_pauses(&mut self, owner: &Arc<CallBuffer>) {
        let store = &mut self.store;
        let put = |record: &[u8]| store.put(DumpStream::Suspend, record);
        let n_pauses = self.pause_encoder.encode(self.taken.events(), put);
        self.taken.keep_last(0);
        self.store.owe(owner, n_pauses);
    }
}

impl<S: StreamStore> Drain<CallBuffer> for DumpDrain<S> {
    fn proceed(&mut self) -> bool {
        match self.store.ready() {
            Readiness::Wait | Readiness::Idle => return false,
            Readiness::New => self.begin(),
            Readiness::Ready => {}
        }
        loop {
            if !self.store.flush() {
                return false;
            }
            let Some(owner) = self.taken.owner() else {
                return true;
            };
            if self.taken.is_encoded() {
                self.taken.clear();
                return true;
            }
            if owner.is_of_pauses {
                self.encode_pauses(&owner);
                continue;
            }
            if !self.rotate(&owner) {
                return false;
            }
            self.encode(&owner);
        }
    }

    fn take(&mut self, buffer: &Arc<CallBuffer>) {
        self.taken.take(buffer);
    }

    fn is_confirmed(&mut self) -> bool {
        self.encoder.forget_ended();
        self.store.is_confirmed()
    }

    fn end(&mut self) {
        self.store.end();
        self.taken.lose(self.state.shared.clock.now());
    }

    fn finish(&mut self, until: Option<Instant>) {
        self.store.finish(until);
    }
}
