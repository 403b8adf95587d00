//! One process of the invented service: threads, requests, statements, failures, pauses.

mod buffer;
mod request;
mod story;

use std::collections::HashMap;

use super::gc_log::GcLog;
use super::words::{self, PARAMS, ParamRow, TAGS};
use crate::random::{Random, mix};
use traceloom_formats::Error;
use traceloom_formats::cdt::calls::Header;
use traceloom_formats::cdt::params::{Param, VERSION};
use traceloom_formats::cdt::put_text;
use traceloom_formats::cdt::suspend::Pause;
use traceloom_formats::cdt::trace::ValueReference;
use traceloom_formats::wire::Utf16;

/// Takes the bytes of a stream: its name, the number of its file from 1, whole records.
pub type Emit<'a> = dyn FnMut(StreamName, u32, &[u8]) -> Result<(), Error> + 'a;

/// A stream of a process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "each is the stream of its name")]
pub enum StreamName {
    Trace,
    Calls,
    Xml,
    Sql,
    Dictionary,
    Suspend,
    Gc,
    Params,
}

impl StreamName {
    /// Returns the name that agents give its folder.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Calls => "calls",
            Self::Xml => "xml",
            Self::Sql => "sql",
            Self::Dictionary => "dictionary",
            Self::Suspend => "suspend",
            Self::Gc => "gc",
            Self::Params => "params",
        }
    }

    /// Returns true if collectors receive it in phrases.
    #[must_use]
    pub const fn is_framed(self) -> bool {
        matches!(self, Self::Dictionary | Self::Suspend | Self::Params)
    }
}

/// What a service records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Detail {
    /// Call trees; without them rows get plausible numbers of their own.
    pub trace: bool,
    /// Indexed parameters in the rows.
    pub params: bool,
}

impl Default for Detail {
    fn default() -> Self {
        Self {
            trace: true,
            params: true,
        }
    }
}

/// Agents begin a new file of trace, sql and xml at this size, and one of calls at a tenth.
const ROTATE: u64 = 100 << 20;

/// Methods that requests enter by.
const ENTRIES: u32 = 24;

/// Methods that one method calls.
const CALLEES: u32 = 4;

/// Events after which a thread's buffer goes out.
const BUFFER: u32 = 512;

/// The time at which the process of a seed began, epoch milliseconds.
pub(super) const fn start_of(seed: u64) -> i64 {
    let offset = mix(seed) % 20_000_000;
    1_773_446_400_000 + offset.cast_signed()
}

#[derive(Default)]
struct StreamFile {
    index: u32,
    bytes: u64,
}

impl StreamFile {
    fn offset(&self) -> u32 {
        u32::try_from(self.bytes).unwrap_or(u32::MAX)
    }
}

struct WorkerThread {
    id: i64,
    name: String,
    kind: ServiceKind,
    time: i64,
    index: Option<u32>,
    buffer: Vec<u8>,
    events: u32,
    first: i64,
    last: i64,
    /// Calls that ended in this buffer, and the one that runs.
    ended: Vec<RootCall>,
    open: Option<RootCall>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ServiceKind {
    Main,
    Web,
    Scheduler,
    Consumer,
}

/// A root call on its way to a row.
#[derive(Clone, Default)]
struct RootCall {
    method: u32,
    start: i64,
    end: i64,
    enters: u32,
    /// File and offset of the block it began in; none while that block is buffered.
    place: Option<(u32, u32)>,
    record_index: u32,
    title: String,
    url: String,
    verb: &'static str,
    error: bool,
    written: bool,
    numbers: CallMetrics,
}

/// What the agent measures of a call.
#[derive(Clone, Copy, Default)]
struct CallMetrics {
    cpu: u32,
    wait: u32,
    memory: u32,
    read: u32,
    written: u32,
    net_read: u32,
    net_written: u32,
    logs: u32,
    logs_dropped: u32,
    queue: u32,
}

/// A process that records calls.
pub struct Service {
    random: Random,
    detail: Detail,
    rotate: bool,
    start: i64,
    threads: Vec<WorkerThread>,
    trace: StreamFile,
    calls: StreamFile,
    sql: StreamFile,
    xml: StreamFile,
    clock: i64,
    names: u32,
    words: HashMap<u32, u32>,
    /// Methods and statements of a story, by their texts.
    named: HashMap<String, u32>,
    texts: HashMap<String, ValueReference>,
    next_word: u32,
    statements: HashMap<u32, ValueReference>,
    pauses_until: i64,
    log: GcLog,
    made: u64,
    text: String,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Service since {} with {} bytes of trace",
            self.start, self.made
        )
    }
}

fn utf16(text: &str, out: &mut Vec<u8>) {
    out.clear();
    out.extend(text.encode_utf16().flat_map(u16::to_be_bytes));
}

pub(super) fn put_param(
    out: &mut Vec<u8>,
    (name, index, list, order, signature): (&str, bool, bool, u32, &str),
) {
    Param {
        name: Utf16(&Utf16::encode(name)),
        index,
        list,
        order,
        signature: Utf16(&Utf16::encode(signature)),
    }
    .write(out);
}

impl Service {
    /// A process that follows from `seed`.
    #[must_use]
    pub fn new(seed: u64, detail: Detail) -> Self {
        let start = start_of(seed);
        let mut threads = vec![(1, "main".to_owned(), ServiceKind::Main)];
        let pools = [
            ("http-nio-8080-exec-", 24, ServiceKind::Web),
            ("scheduling-", 3, ServiceKind::Scheduler),
            ("rabbit-consumer-", 4, ServiceKind::Consumer),
        ];
        let mut id = 23;
        for (prefix, count, kind) in pools {
            for number in 1..=count {
                threads.push((id, format!("{prefix}{number}"), kind));
                id += 1;
            }
        }
        let mut random = Random::new(seed);
        let thread = |(id, name, kind)| WorkerThread {
            id,
            name,
            kind,
            time: start + 400 + i64::from(random.below(3000)),
            index: None,
            buffer: Vec::new(),
            events: 0,
            first: 0,
            last: 0,
            ended: Vec::new(),
            open: None,
        };
        let threads = threads.into_iter().map(thread).collect();
        Self {
            detail,
            rotate: true,
            start,
            threads,
            trace: StreamFile::default(),
            calls: StreamFile::default(),
            sql: StreamFile { index: 1, bytes: 0 },
            xml: StreamFile { index: 1, bytes: 0 },
            clock: start,
            names: 0,
            words: HashMap::new(),
            named: HashMap::new(),
            texts: HashMap::new(),
            next_word: u32::try_from(TAGS.len()).unwrap_or(0),
            statements: HashMap::new(),
            pauses_until: start,
            log: GcLog::new(seed),
            made: 0,
            text: String::new(),
            random,
        }
    }

    /// Returns when the process began, epoch milliseconds.
    #[must_use]
    pub const fn start(&self) -> i64 {
        self.start
    }

    /// Returns the bytes of trace made so far, over all files.
    #[must_use]
    pub const fn trace_bytes(&self) -> u64 {
        self.made
    }

    /// Says whether files are begun anew at their usual size.
    pub const fn rotate(&mut self, rotate: bool) {
        self.rotate = rotate;
    }

    /// Emits what stands at the beginning of the streams.
    ///
    /// # Errors
    /// What `emit` fails with.
    pub fn begin(&mut self, emit: &mut Emit<'_>) -> Result<(), Error> {
        let mut record = Vec::new();
        for name in TAGS {
            record.clear();
            let text = Utf16::encode(name);
            put_text(&mut record, Utf16(&text));
            emit(StreamName::Dictionary, 1, &record)?;
        }
        emit(StreamName::Params, 1, &[VERSION])?;
        for param in PARAMS {
            let row: ParamRow = param;
            record.clear();
            put_param(&mut record, row);
            emit(StreamName::Params, 1, &record)?;
        }
        emit(StreamName::Suspend, 1, &self.start.to_be_bytes())?;
        self.begin_trace(emit)?;
        self.begin_calls(emit)
    }

    fn begin_trace(&mut self, emit: &mut Emit<'_>) -> Result<(), Error> {
        self.trace.index += 1;
        self.trace.bytes = 8;
        emit(
            StreamName::Trace,
            self.trace.index,
            &self.start.to_be_bytes(),
        )
    }

    fn begin_calls(&mut self, emit: &mut Emit<'_>) -> Result<(), Error> {
        self.calls.index += 1;
        self.names = 0;
        self.threads
            .iter_mut()
            .for_each(|thread| thread.index = None);
        let latest = self.threads.iter().map(|thread| thread.time).min();
        self.clock = latest.unwrap_or(self.start);
        let mut bytes = Vec::new();
        Header {
            version: 4,
            start_time: self.clock,
        }
        .write(&mut bytes);
        self.calls.bytes = bytes.len() as u64;
        emit(StreamName::Calls, self.calls.index, &bytes)
    }

    /// Runs one call on the thread that is due, and emits what is full.
    ///
    /// # Errors
    /// What `emit` fails with.
    pub fn step(&mut self, emit: &mut Emit<'_>) -> Result<(), Error> {
        let due = self
            .threads
            .iter()
            .enumerate()
            .min_by_key(|(_, thread)| thread.time);
        let Some((at, _)) = due else { return Ok(()) };
        self.request(at, true, emit)?;
        self.pauses(false, emit)
    }

    /// Emits what the threads have buffered; one call is left running, as at the death of a process.
    ///
    /// # Errors
    /// What `emit` fails with.
    pub fn finish(&mut self, emit: &mut Emit<'_>) -> Result<(), Error> {
        if self.threads.len() > 1 {
            self.request(1, false, emit)?;
        }
        for at in 0..self.threads.len() {
            self.flush(at, emit)?;
        }
        self.pauses(true, emit)
    }

    /// Records the pauses up to the time that every thread has passed, or any of them at the end.
    fn pauses(&mut self, ended: bool, emit: &mut Emit<'_>) -> Result<(), Error> {
        let times = self.threads.iter().map(|thread| thread.time);
        let now = if ended { times.max() } else { times.min() };
        while self.pauses_until + 25_000 < now.unwrap_or(0) {
            let delay = self.random.skewed(700) + 5;
            let delta = delay + self.random.skewed(20_000);
            self.pause(delta, delay, emit)?;
        }
        Ok(())
    }

    /// Records a pause of `delay` that ends `delta` after the one before it, and the collector's line about it.
    fn pause(&mut self, delta: u32, delay: u32, emit: &mut Emit<'_>) -> Result<(), Error> {
        self.pauses_until += i64::from(delta);
        let mut record = Vec::new();
        let delta = delta.cast_signed();
        Pause { delta, delay }.write(&mut record);
        emit(StreamName::Suspend, 1, &record)?;
        let mut line = String::new();
        self.log
            .at(self.pauses_until - self.start, delay, &mut line);
        emit(StreamName::Gc, 1, line.as_bytes())
    }

    /// Returns the dictionary id of a method, naming it when it is new.
    fn method(&mut self, layer: usize, number: u32, emit: &mut Emit<'_>) -> Result<u32, Error> {
        let key = u32::try_from(layer).unwrap_or(0) << 24 | number;
        if let Some(&id) = self.words.get(&key) {
            return Ok(id);
        }
        words::method(layer, number, &mut self.text);
        let id = self.word(emit)?;
        self.words.insert(key, id);
        Ok(id)
    }

    /// Adds `text` to the dictionary and returns its id.
    fn word(&mut self, emit: &mut Emit<'_>) -> Result<u32, Error> {
        let id = self.next_word;
        self.next_word += 1;
        let mut record = Vec::new();
        put_text(&mut record, Utf16(&Utf16::encode(&self.text)));
        emit(StreamName::Dictionary, 1, &record)?;
        Ok(id)
    }
}
