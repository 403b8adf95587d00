//! What a thread records.

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::buffer::{CallBuffer, Stored};
use super::event::EXIT_SIZE;
use super::pauses::PAUSES;
use super::put;
use super::recorder::RecorderState;
use crate::value::Value;

/// Calls of one thread. It belongs to the thread that records.
#[derive(Debug)]
pub struct ThreadRecorder {
    recorder: Arc<RecorderState>,
    buffer: Arc<CallBuffer>,
    open: RefCell<OpenCalls>,
    /// Texts are formatted here: formatting one may trace.
    formatted: RefCell<Vec<u8>>,
}

/// Calls that have not ended, the outermost first.
#[derive(Debug, Default)]
struct OpenCalls {
    /// Calls behind `depth` lend their memory to the next ones.
    calls: Vec<OpenCall>,
    depth: usize,
    next_number: u64,
}

#[derive(Debug, Default)]
struct OpenCall {
    number: u64,
    place: CallPlace,
    /// Its beginning and its attributes.
    bytes: Vec<u8>,
    /// Where its attributes begin.
    n_enter: usize,
    /// Something of it was too long.
    is_cut: bool,
}

/// Where the beginning of a call is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum CallPlace {
    /// Nothing came after it.
    #[default]
    Here,
    InBuffer,
    /// There was no room for it.
    Dropped,
}

/// Bytes of a call's attributes that memory is there for, and the most that it is kept for.
const USUAL: usize = 256;
const LARGEST_KEPT: usize = 4096;

/// Number of a call that is not recorded.
const UNRECORDED: u64 = u64::MAX;

impl ThreadRecorder {
    pub(super) fn new(recorder: Arc<RecorderState>, name: &str) -> Self {
        Self::with(recorder, name, |buffer| buffer)
    }

    /// Begins what records pauses of the process.
    pub(super) fn of_pauses(recorder: Arc<RecorderState>) -> Self {
        Self::with(recorder, PAUSES, CallBuffer::of_pauses)
    }

    fn with(
        recorder: Arc<RecorderState>,
        name: &str,
        made: impl FnOnce(CallBuffer) -> CallBuffer,
    ) -> Self {
        let shared = &recorder.shared;
        let since = shared.clock.now();
        let new = |id| made(CallBuffer::new(id, name, since, shared.options.buffer));
        let buffer = shared.open_buffer(new);
        Self {
            recorder,
            buffer,
            open: RefCell::default(),
            formatted: RefCell::new(Vec::with_capacity(USUAL)),
        }
    }

    /// Returns the thread's number in the trace: 1 for the first thread.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.buffer.id
    }

    /// Returns the nanoseconds since the trace began.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.recorder.shared.clock.now()
    }

    /// Begins a call inside the calls of this thread that are open. It ends when what is returned is dropped.
    ///
    /// ```
    /// # use traceloom_emit::{Options, Recorder, chrome};
    /// # let folder = tempfile::tempdir()?;
    /// # let file = chrome::ChromeFile::create(folder.path().join("a.json"))?;
    /// # let recorder = Recorder::start(file, Options::default())?;
    /// let thread = recorder.thread("main");
    /// let mut outer = thread.call("GET /orders");
    /// drop(thread.call("parse"));
    /// outer.set("rows", 3_u64);
    /// drop(outer);
    /// assert_eq!(recorder.close().written, 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn call(&self, name: &str) -> CallGuard<'_> {
        self.begin(name, || self.now())
    }

    /// Records a call whose times are known, in nanoseconds since the trace began. It lies inside the calls that are open,
    /// and no call of the thread before it ends later than it begins.
    ///
    /// ```
    /// # use traceloom_emit::{Options, Recorder, chrome};
    /// # let folder = tempfile::tempdir()?;
    /// # let file = chrome::ChromeFile::create(folder.path().join("a.json"))?;
    /// # let recorder = Recorder::start(file, Options::default())?;
    /// let thread = recorder.thread("main");
    /// thread.record("query", 1_000..5_000, &[("rows", 3_u64.into()), ("sql", "SELECT 1".into())]);
    /// # assert_eq!(recorder.close().written, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn record(&self, name: &str, times: Range<u64>, attributes: &[(&str, Value<'_>)]) {
        if !self.is_recording() {
            return;
        }
        let number = self.enter(times.start, name);
        for &(name, value) in attributes {
            self.put(number, |bytes| put::put_attribute(bytes, name, value));
        }
        self.exit(number, times.end);
    }

    /// Begins a call at a known time, in nanoseconds since the trace began. [`CallGuard::end_at`] ends it.
    ///
    /// ```
    /// # use traceloom_emit::{Options, Recorder, chrome};
    /// # let folder = tempfile::tempdir()?;
    /// # let file = chrome::ChromeFile::create(folder.path().join("a.json"))?;
    /// # let recorder = Recorder::start(file, Options::default())?;
    /// let thread = recorder.thread("main");
    /// let request = thread.call_at("GET /orders", 1_000);
    /// thread.record("query", 2_000..5_000, &[]);
    /// request.end_at(9_000);
    /// # assert_eq!(recorder.close().written, 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn call_at(&self, name: &str, start: u64) -> CallGuard<'_> {
        self.begin(name, || start)
    }

    fn begin(&self, name: &str, start: impl FnOnce() -> u64) -> CallGuard<'_> {
        let number = match self.is_recording() {
            true => self.enter(start(), name),
            false => UNRECORDED,
        };
        CallGuard {
            thread: self,
            number,
        }
    }

    /// Returns `true` if calls that begin now are recorded.
    pub(crate) fn is_recording(&self) -> bool {
        self.recorder.is_recording.load(Ordering::Relaxed)
    }

    /// Begins a call, and returns its number.
    pub(crate) fn enter(&self, time: u64, name: &str) -> u64 {
        let mut open = self.open.borrow_mut();
        let OpenCalls {
            calls,
            depth,
            next_number,
        } = &mut *open;
        self.store_beginnings(&mut calls[..*depth]);
        if calls.len() == *depth {
            calls.push(OpenCall {
                bytes: Vec::with_capacity(USUAL),
                ..OpenCall::default()
            });
        }
        let number = *next_number;
        *next_number += 1;
        let call = &mut calls[*depth];
        *depth += 1;
        call.number = number;
        call.place = CallPlace::Here;
        call.bytes.clear();
        call.is_cut = put::put_enter(&mut call.bytes, time, name);
        call.n_enter = call.bytes.len();
        number
    }

    /// Puts the beginnings of open calls into the buffer: something follows them. Only the last ones can be missing.
    fn store_beginnings(&self, calls: &mut [OpenCall]) {
        let is_here = |call: &OpenCall| call.place == CallPlace::Here;
        let first = calls
            .iter()
            .rposition(|call| !is_here(call))
            .map_or(0, |at| at + 1);
        for call in &mut calls[first..] {
            let enter = &call.bytes[..call.n_enter];
            let stored = self.buffer.enter(enter, put::enter_time(enter));
            call.place = match stored {
                Stored::No => CallPlace::Dropped,
                Stored::Yes | Stored::YesAndDue => CallPlace::InBuffer,
            };
            self.wake(stored);
        }
    }

    /// Adds attributes to an open call. `put` returns `true` if it cut something. What makes a call larger than half a buffer is left
    /// out, so that a call that never ends takes no memory without end.
    fn put(&self, number: u64, put: impl FnOnce(&mut Vec<u8>) -> bool) {
        let mut open = self.open.borrow_mut();
        let depth = open.depth;
        let calls = open.calls[..depth].iter_mut();
        let Some(call) = calls.rev().find(|call| call.number == number) else {
            return;
        };
        let size = call.bytes.len();
        call.is_cut |= put(&mut call.bytes);
        if call.bytes.len() > self.recorder.shared.options.buffer / 2 {
            call.bytes.truncate(size);
            call.is_cut = true;
        }
    }

    /// Adds attributes that are encoded already.
    pub(crate) fn add(&self, number: u64, attributes: &[u8], is_cut: bool) {
        self.put(number, |bytes| {
            bytes.extend_from_slice(attributes);
            is_cut
        });
    }

    /// Counts a call that is dropped.
    #[cfg(feature = "tracing")]
    pub(crate) fn lose(&self, now: u64) {
        self.buffer.lose(1, now);
    }

    /// Ends a call. One that is not the innermost cuts those inside it in two: one part until then, one from then on.
    pub(crate) fn exit(&self, number: u64, end: u64) {
        let mut open = self.open.borrow_mut();
        let depth = open.depth;
        let calls = &mut open.calls[..depth];
        let Some(at) = calls.iter().rposition(|call| call.number == number) else {
            return;
        };
        if at + 1 < depth {
            self.store_beginnings(calls);
        }
        for call in calls[at + 1..].iter_mut().rev() {
            self.divide(call, end);
        }
        self.end(&mut calls[at], end);
        // The memory of the call goes behind the open ones.
        calls[at..].rotate_left(1);
        open.depth -= 1;
    }

    fn end(&self, call: &mut OpenCall, end: u64) {
        put::put_exit(&mut call.bytes, end);
        let stored = match call.place {
            CallPlace::Here => self.buffer.call(&call.bytes, end, call.is_cut),
            CallPlace::InBuffer => self
                .buffer
                .exit(&call.bytes[call.n_enter..], end, call.is_cut),
            CallPlace::Dropped => Stored::No,
        };
        self.wake(stored);
        if call.bytes.capacity() > LARGEST_KEPT {
            call.bytes = Vec::new();
        }
    }

    /// Ends a call and begins it again, with its attributes in the second part.
    fn divide(&self, call: &mut OpenCall, time: u64) {
        if call.place == CallPlace::InBuffer {
            let mut exit = Vec::with_capacity(EXIT_SIZE);
            put::put_exit(&mut exit, time);
            self.wake(self.buffer.exit(&exit, time, false));
        }
        put::set_enter_time(&mut call.bytes, time);
        call.place = CallPlace::Here;
    }

    fn wake(&self, stored: Stored) {
        if stored == Stored::YesAndDue {
            self.recorder.shared.wake();
        }
    }
}

impl Drop for ThreadRecorder {
    fn drop(&mut self) {
        self.buffer.is_abandoned.store(true, Ordering::Release);
    }
}

/// A call that has not ended. Dropping it ends it.
#[must_use = "a call ends when it is dropped"]
#[derive(Debug)]
pub struct CallGuard<'t> {
    thread: &'t ThreadRecorder,
    number: u64,
}

impl CallGuard<'_> {
    /// Adds an attribute. One of the same name stays beside it.
    pub fn set<'v>(&mut self, name: &str, value: impl Into<Value<'v>>) {
        let value = value.into();
        self.thread
            .put(self.number, |bytes| put::put_attribute(bytes, name, value));
    }

    /// Adds a text attribute without making a `String` of it.
    ///
    /// ```
    /// # use traceloom_emit::{Options, Recorder, chrome};
    /// # let folder = tempfile::tempdir()?;
    /// # let file = chrome::ChromeFile::create(folder.path().join("a.json"))?;
    /// # let recorder = Recorder::start(file, Options::default())?;
    /// let thread = recorder.thread("main");
    /// let mut call = thread.call("connect");
    /// call.set_formatted("peer", format_args!("{}:{}", "db", 5432));
    /// # drop(call);
    /// # assert_eq!(recorder.close().written, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_formatted(&mut self, name: &str, value: fmt::Arguments<'_>) {
        let mut formatted = self.thread.formatted.take();
        formatted.clear();
        let is_cut = put::put_formatted(&mut formatted, name, value);
        self.thread.add(self.number, &formatted, is_cut);
        self.thread.formatted.replace(formatted);
    }

    /// Ends the call at a known time, in nanoseconds since the trace began.
    pub fn end_at(mut self, end: u64) {
        self.thread.exit(self.number, end);
        self.number = UNRECORDED;
    }
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        if self.number != UNRECORDED {
            self.thread.exit(self.number, self.thread.now());
        }
    }
}
