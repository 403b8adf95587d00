//! Traces that are one run of bytes.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::RecorderState;
use super::buffer::CallBuffer;
use super::event::{CallEvent, CallEvents, count_ends};
use crate::engine::{Drain, ThreadBuffer as _, socket};

/// A format that is one run of bytes.
pub trait CallEncoding: Send + 'static {
    /// Begins a trace. Threads with open calls from an earlier one begin those anew.
    fn begin(&mut self, now: u64, out: &mut Vec<u8>);

    /// Learns that a thread records for the first time.
    fn thread(&mut self, thread: &CallBuffer, out: &mut Vec<u8>);

    /// Encodes what a thread did. Returns `true` if a part of a call does not fit into the format.
    fn event(&mut self, thread: &CallBuffer, event: &CallEvent<'_>, out: &mut Vec<u8>) -> bool;

    /// Learns that a thread records no more.
    fn thread_ended(&mut self, thread: &CallBuffer, now: u64, out: &mut Vec<u8>);

    /// Ends the trace.
    fn end(&mut self, now: u64, out: &mut Vec<u8>);
}

/// Whether a place takes bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Readiness {
    /// Not now.
    Wait,
    /// Nobody wants a trace.
    Idle,
    /// It goes on with the trace.
    Ready,
    /// It begins a trace, and has nothing of an earlier one.
    New,
}

/// Where the bytes go.
pub trait BytePlace: Send + 'static {
    /// Finds out whether it takes bytes.
    fn ready(&mut self) -> Readiness;

    /// Writes once, without waiting, from `n_taken` on.
    fn write(&mut self, bytes: &[u8], n_taken: &mut usize) -> io::Result<()>;

    /// Returns `true` if the trace is to end, once everything is written.
    fn is_ending(&self) -> bool {
        false
    }

    /// Learns that the end of the trace is written.
    fn ended(&mut self) {}

    /// Waits for the peer to have everything.
    fn finish(&mut self, until: Option<Instant>) {
        let _ = until;
    }
}

/// Bytes that are encoded before they are written.
const PIECE: usize = 64 << 10;

/// Encodes what threads did and writes it.
pub struct ByteDrain<E, P> {
    state: RecorderState,
    encoding: E,
    place: P,
    /// The events that are being encoded, and whose they are; empty between two buffers.
    taken: Vec<u8>,
    n_encoded: usize,
    /// Time of the last of them.
    last: u64,
    owner: Option<Arc<CallBuffer>>,
    out: Vec<u8>,
    n_written: usize,
    /// Calls that end in `out`.
    n_ends: u64,
    threads: Vec<Arc<CallBuffer>>,
    /// A trace was begun and not ended.
    is_open: bool,
}

impl<E: CallEncoding, P: BytePlace> ByteDrain<E, P> {
    pub fn boxed(state: RecorderState, encoding: E, place: P) -> Box<dyn Drain<CallBuffer>> {
        Box::new(Self {
            taken: CallBuffer::room(state.shared.options.buffer),
            state,
            encoding,
            place,
            n_encoded: 0,
            last: 0,
            owner: None,
            out: Vec::new(),
            n_written: 0,
            n_ends: 0,
            threads: Vec::new(),
            is_open: false,
        })
    }

    fn now(&self) -> u64 {
        self.state.shared.clock.now()
    }

    /// Begins a trace. What was encoded for the one before is lost.
    fn begin(&mut self) {
        self.lose_encoded();
        let now = self.now();
        self.encoding.begin(now, &mut self.out);
        for thread in &self.threads {
            self.encoding.thread(thread, &mut self.out);
        }
        self.is_open = true;
    }

    fn lose_encoded(&mut self) {
        if let Some(owner) = &self.owner {
            owner.lose(std::mem::take(&mut self.n_ends), self.now());
        }
        self.out.clear();
        self.n_written = 0;
    }

    /// Writes what is encoded; returns `false` if there is no room for all of it.
    fn write(&mut self) -> bool {
        while self.n_written < self.out.len() {
            if self.place.write(&self.out, &mut self.n_written).is_err() {
                return false;
            }
        }
        let n_ends = std::mem::take(&mut self.n_ends);
        self.state
            .shared
            .n_written
            .fetch_add(n_ends, Ordering::AcqRel);
        self.out.clear();
        self.n_written = 0;
        true
    }

    /// Encodes the next events of the buffer that was taken; returns `false` if there are none.
    fn encode(&mut self) -> bool {
        let Some(owner) = self.owner.clone() else {
            return false;
        };
        if !self.threads.iter().any(|thread| thread.id == owner.id) {
            self.encoding.thread(&owner, &mut self.out);
            self.threads.push(owner.clone());
        }
        let mut events = CallEvents(&self.taken[self.n_encoded..]);
        let mut n_cut = 0;
        while self.out.len() < PIECE
            && let Some(event) = events.next()
        {
            self.last = self.last.max(event.time());
            for event in event.or_losses(self.last).into_iter().flatten() {
                n_cut += u64::from(self.encoding.event(&owner, &event, &mut self.out));
                self.n_ends += u64::from(matches!(event, CallEvent::Exit { .. }));
            }
        }
        self.n_encoded = self.taken.len() - events.0.len();
        owner.cut(n_cut);
        if self.n_encoded == self.taken.len() && self.out.is_empty() {
            self.taken.clear();
            self.n_encoded = 0;
            self.owner = None;
            return false;
        }
        true
    }

    /// Counts what was taken and is not encoded as dropped.
    fn lose_taken(&mut self) {
        if let Some(owner) = self.owner.take() {
            owner.lose(count_ends(&self.taken[self.n_encoded..]), self.now());
        }
        self.taken.clear();
        self.n_encoded = 0;
    }

    fn end_trace(&mut self) {
        if std::mem::take(&mut self.is_open) {
            let now = self.now();
            for thread in self.threads.drain(..) {
                self.encoding.thread_ended(&thread, now, &mut self.out);
            }
            self.encoding.end(now, &mut self.out);
        }
    }
}

impl<E: CallEncoding, P: BytePlace> Drain<CallBuffer> for ByteDrain<E, P> {
    fn proceed(&mut self) -> bool {
        match self.place.ready() {
            Readiness::Wait => return false,
            Readiness::Idle => {
                self.lose_encoded();
                self.lose_taken();
                self.is_open = false;
                return true;
            }
            Readiness::New => self.begin(),
            Readiness::Ready => {}
        }
        loop {
            if !self.write() {
                return false;
            }
            if !self.encode() {
                return true;
            }
        }
    }

    fn take(&mut self, buffer: &Arc<CallBuffer>) {
        if buffer.take(&mut self.taken) {
            self.last = 0;
            self.owner = Some(buffer.clone());
        }
    }

    fn is_confirmed(&mut self) -> bool {
        let now = self.now();
        if self.is_open {
            let Self {
                threads,
                encoding,
                out,
                ..
            } = self;
            threads.retain(|thread| {
                let is_done = thread.is_done();
                if is_done {
                    encoding.thread_ended(thread, now, out);
                }
                !is_done
            });
        }
        if self.place.is_ending() {
            self.end_trace();
            if self.write() {
                self.place.ended();
            }
        }
        true
    }

    fn conclude(&mut self) {
        self.end_trace();
    }

    fn end(&mut self) {
        self.lose_encoded();
        self.lose_taken();
    }

    fn finish(&mut self, until: Option<Instant>) {
        self.place.finish(until);
    }
}

/// A file that bytes are appended to.
pub struct FilePlace {
    file: File,
    is_begun: bool,
}

impl FilePlace {
    pub fn new(file: File) -> Self {
        Self {
            file,
            is_begun: false,
        }
    }
}

impl BytePlace for FilePlace {
    fn ready(&mut self) -> Readiness {
        match std::mem::replace(&mut self.is_begun, true) {
            true => Readiness::Ready,
            false => Readiness::New,
        }
    }

    fn write(&mut self, bytes: &[u8], n_taken: &mut usize) -> io::Result<()> {
        socket::advance(&mut self.file, bytes, n_taken).map(drop)
    }
}
