//! Traces that are one run of bytes.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::RecorderState;
use super::buffer::CallBuffer;
use super::event::CallEvent;
use super::taken::TakenEvents;
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
    taken: TakenEvents,
    /// Time of the last event that is encoded.
    last: u64,
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
            taken: TakenEvents::new(state.shared.options.buffer),
            state,
            encoding,
            place,
            last: 0,
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
        if let Some(owner) = self.taken.owner() {
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
        let Some(owner) = self.taken.owner() else {
            return false;
        };
        if !self.threads.iter().any(|thread| thread.id == owner.id) {
            self.encoding.thread(&owner, &mut self.out);
            self.threads.push(owner.clone());
        }
        let mut events = self.taken.events();
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
        let n_left = events.0.len();
        self.taken.keep_last(n_left);
        owner.cut(n_cut);
        if self.taken.is_encoded() && self.out.is_empty() {
            self.taken.clear();
            return false;
        }
        true
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
                self.taken.lose(self.now());
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
        if self.taken.take(buffer) {
            self.last = 0;
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
        self.taken.lose(self.now());
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
