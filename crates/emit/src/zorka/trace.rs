//! The calls of one request.

use std::time::{Duration, Instant};

use super::cbor;
use super::registry::{MethodId, SymbolId};

const START: u8 = 3;
const END: u8 = 4;
const BEGIN: u8 = 5;
const ATTRIBUTE: u8 = 6;
const EXCEPTION: u8 = 7;
const EXCEPTION_REF: u8 = 8;

/// The flag of a call that failed.
const ERROR: u64 = 0x1000;

/// The value of an attribute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value<'v> {
    /// A number. Agents write floats as texts.
    Integer(i64),
    /// A truth value.
    Bool(bool),
    /// A text.
    Text(&'v str),
    /// None.
    Null,
}

/// Number of an exception in its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExceptionId(u64);

/// What was thrown.
#[derive(Clone, Copy, Debug)]
pub struct Exception<'e> {
    /// Its class.
    pub class: SymbolId,
    /// Its message.
    pub message: Option<&'e str>,
    /// What caused it, if that is in the trace.
    pub cause: Option<ExceptionId>,
    /// Where it was thrown, innermost first.
    pub stack: &'e [StackElement],
}

/// A place in a stack trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackElement {
    /// Class; the default is unknown, as for the others.
    pub class: SymbolId,
    /// Method.
    pub method: SymbolId,
    /// File.
    pub file: SymbolId,
    /// Line, 0 where it is unknown.
    pub line: u32,
}

/// The calls of one request on one thread, as they are made.
///
/// Memory is bounded: what does not fit any more is left out and counted, and calls that are left out are still in the
/// number of calls of those around them. [`Trace::clear`] makes room for the next request without an allocation.
#[derive(Debug)]
pub struct Trace {
    zero: Instant,
    bytes: Vec<u8>,
    limit: usize,
    shortest: u64,
    open: Vec<OpenCall>,
    n_exceptions: u64,
    n_dropped: u64,
}

#[derive(Debug)]
struct OpenCall {
    /// Where it begins, if it was written.
    at: Option<usize>,
    start: u64,
    /// It and the calls below it.
    n_calls: u64,
    /// It carries more than its times.
    is_kept: bool,
    is_error: bool,
}

/// Bytes that the ends of all open calls may take behind the limit, each.
const LONGEST_END: usize = 24;

impl Trace {
    /// Returns an empty trace of at most `limit` bytes, which leaves out calls that are shorter than `shortest` and carry
    /// nothing; agents leave out what is shorter than 262,144 ns.
    #[must_use]
    pub fn new(limit: usize, shortest: Duration) -> Self {
        Self {
            zero: Instant::now(),
            bytes: Vec::with_capacity(limit.min(1 << 16)),
            limit,
            shortest: u64::try_from(shortest.as_nanos()).unwrap_or(u64::MAX),
            open: Vec::new(),
            n_exceptions: 0,
            n_dropped: 0,
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.open.clear();
        self.n_exceptions = 0;
        self.n_dropped = 0;
    }

    /// Returns the bytes of the trace so far.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the number of calls, attributes and exceptions for which there was no room.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.n_dropped
    }

    /// Begins a call.
    pub fn enter(&mut self, method: MethodId) {
        self.enter_at(method, self.now());
    }

    /// Begins a call at a time in nanoseconds, of any clock that does not go back.
    pub fn enter_at(&mut self, method: MethodId, time: u64) {
        let at = self.bytes.len();
        let written = self.put(|out| {
            cbor::tag(out, START);
            cbor::open_array(out);
            cbor::unsigned(out, time);
            cbor::unsigned(out, method.0.into());
        });
        self.open.push(OpenCall {
            at: written.then_some(at),
            start: time,
            n_calls: 1,
            is_kept: false,
            is_error: false,
        });
    }

    /// Marks the call as the beginning of a request: when it began, in milliseconds since 1970, what kind it is, and its
    /// span with the span that asked for it, if there are any.
    pub fn begin(&mut self, clock_ms: u64, kind: SymbolId, span: Option<(i64, Option<i64>)>) {
        self.put_in_call(|out| {
            let parent = span.and_then(|(_, parent)| parent);
            let ids = [span.map(|(span, _)| span), parent].into_iter().flatten();
            cbor::tag(out, BEGIN);
            cbor::array(out, 2 + ids.clone().count());
            cbor::unsigned(out, clock_ms);
            cbor::unsigned(out, kind.0.into());
            for id in ids {
                cbor::integer(out, id);
            }
        });
    }

    /// Adds an attribute to the call.
    pub fn attribute(&mut self, key: SymbolId, value: Value<'_>) {
        self.put_in_call(|out| {
            cbor::tag(out, ATTRIBUTE);
            cbor::array(out, 2);
            cbor::unsigned(out, key.0.into());
            put_value(out, value);
        });
    }

    /// Adds an attribute to the nearest call around it that is the beginning of a request of this kind.
    pub fn attribute_above(&mut self, kind: SymbolId, key: SymbolId, value: Value<'_>) {
        self.put_in_call(|out| {
            cbor::tag(out, ATTRIBUTE);
            cbor::array(out, 3);
            cbor::unsigned(out, kind.0.into());
            cbor::unsigned(out, key.0.into());
            put_value(out, value);
        });
    }

    /// Adds what the call throws, before it ends with [`Trace::exit`]. Returns `None` if there is no room for it.
    pub fn throw(&mut self, exception: &Exception<'_>) -> Option<ExceptionId> {
        let id = self.n_exceptions + 1;
        let written = self.put_in_call(|out| {
            cbor::tag(out, EXCEPTION);
            cbor::array(out, 5);
            cbor::unsigned(out, id);
            cbor::unsigned(out, exception.class.0.into());
            match exception.message {
                Some(message) => cbor::text(out, message),
                None => cbor::null(out),
            }
            cbor::unsigned(out, exception.cause.map_or(0, |cause| cause.0));
            cbor::array(out, exception.stack.len());
            for element in exception.stack {
                cbor::array(out, 4);
                for symbol in [element.class, element.method, element.file] {
                    cbor::unsigned(out, symbol.0.into());
                }
                cbor::unsigned(out, element.line.into());
            }
        });
        self.fail();
        self.n_exceptions += u64::from(written);
        written.then_some(ExceptionId(id))
    }

    /// Says that the call lets an exception pass that a call below it threw.
    pub fn rethrow(&mut self, exception: ExceptionId) {
        self.put_in_call(|out| {
            cbor::tag(out, EXCEPTION_REF);
            cbor::unsigned(out, exception.0);
        });
        self.fail();
    }

    /// Ends the call. Without an open one it does nothing.
    pub fn exit(&mut self) {
        self.exit_at(self.now());
    }

    /// Ends the call at a time of the clock that [`Trace::enter_at`] was given.
    pub fn exit_at(&mut self, time: u64) {
        let Some(call) = self.open.pop() else {
            return;
        };
        if let Some(around) = self.open.last_mut() {
            around.n_calls += call.n_calls;
        }
        let Some(at) = call.at else {
            return;
        };
        let is_short = time.saturating_sub(call.start) < self.shortest;
        if is_short && !call.is_kept && !self.open.is_empty() {
            self.bytes.truncate(at);
            return;
        }
        if let Some(around) = self.open.last_mut() {
            // What holds a call is not cut out.
            around.is_kept = true;
        }
        // There is always room for it: `put` leaves some for every open call.
        let out = &mut self.bytes;
        cbor::tag(out, END);
        cbor::array(out, if call.is_error { 3 } else { 2 });
        cbor::unsigned(out, time);
        cbor::unsigned(out, call.n_calls);
        if call.is_error {
            cbor::unsigned(out, ERROR);
        }
        out.push(cbor::BREAK);
    }

    fn now(&self) -> u64 {
        u64::try_from(self.zero.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn fail(&mut self) {
        if let Some(call) = self.open.last_mut() {
            call.is_error = true;
        }
    }

    /// Writes what belongs to the innermost call; returns `false` if that was not written, or if there is no room.
    fn put_in_call(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        match self.open.last_mut() {
            Some(call) if call.at.is_some() => call.is_kept = true,
            _ => {
                self.n_dropped += 1;
                return false;
            }
        }
        self.put(write)
    }

    /// Writes, or takes back what does not fit.
    fn put(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        let at = self.bytes.len();
        write(&mut self.bytes);
        let reserved = LONGEST_END * (self.open.len() + 1);
        if self.bytes.len() + reserved > self.limit {
            self.bytes.truncate(at);
            self.n_dropped += 1;
            return false;
        }
        true
    }
}

fn put_value(out: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Integer(number) => cbor::integer(out, number),
        Value::Bool(value) => cbor::boolean(out, value),
        Value::Text(text) => cbor::text(out, text),
        Value::Null => cbor::null(out),
    }
}
