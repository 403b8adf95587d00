//! One process of the invented service: threads, requests, statements, failures, pauses.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::random::{Random, mix};
use super::words::{self, LAYERS, METHODS, PARAMS, ParamRow, TAGS, tag};
use crate::Error;
use crate::cdt::calls::{Header, Row};
use crate::cdt::params::{Param, VERSION};
use crate::cdt::suspend::Pause;
use crate::cdt::text;
use crate::cdt::trace::{Block, Event, Place, TagValue, What};
use crate::wire::{Utf16, put_u32_varint};

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

    /// Tells whether collectors receive it in phrases.
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
struct File {
    index: u32,
    bytes: u64,
}

impl File {
    fn offset(&self) -> u32 {
        u32::try_from(self.bytes).unwrap_or(u32::MAX)
    }
}

struct Thread {
    id: i64,
    name: String,
    kind: Kind,
    time: i64,
    index: Option<u32>,
    buffer: Vec<u8>,
    events: u32,
    first: i64,
    last: i64,
    /// Calls that ended in this buffer, and the one that runs.
    ended: Vec<Call>,
    open: Option<Call>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Main,
    Web,
    Scheduler,
    Consumer,
}

/// A root call on its way to a row.
#[derive(Clone, Default)]
struct Call {
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
    numbers: [u32; 8],
}

/// A process that records calls.
pub struct Service {
    random: Random,
    detail: Detail,
    rotate: bool,
    start: i64,
    threads: Vec<Thread>,
    trace: File,
    calls: File,
    sql: File,
    xml: File,
    clock: i64,
    names: u32,
    words: HashMap<u32, u32>,
    next_word: u32,
    statements: HashMap<u32, Place>,
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
        let mut threads = vec![(1, "main".to_owned(), Kind::Main)];
        let pools = [
            ("http-nio-8080-exec-", 24, Kind::Web),
            ("scheduling-", 3, Kind::Scheduler),
            ("rabbit-consumer-", 4, Kind::Consumer),
        ];
        let mut id = 23;
        for (prefix, count, kind) in pools {
            for number in 1..=count {
                threads.push((id, format!("{prefix}{number}"), kind));
                id += 1;
            }
        }
        let mut random = Random::new(seed);
        let thread = |(id, name, kind)| Thread {
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
            trace: File::default(),
            calls: File::default(),
            sql: File { index: 1, bytes: 0 },
            xml: File { index: 1, bytes: 0 },
            clock: start,
            names: 0,
            words: HashMap::new(),
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
            text::put(&mut record, Utf16(&text));
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
            self.pauses_until += i64::from(delta);
            let mut record = Vec::new();
            let delta = delta.cast_signed();
            Pause { delta, delay }.write(&mut record);
            emit(StreamName::Suspend, 1, &record)?;
            let mut line = String::new();
            self.log
                .at(self.pauses_until - self.start, delay, &mut line);
            emit(StreamName::Gc, 1, line.as_bytes())?;
        }
        Ok(())
    }

    /// Returns the dictionary id of a method, naming it when it is new.
    fn method(&mut self, layer: usize, number: u32, emit: &mut Emit<'_>) -> Result<u32, Error> {
        let key = u32::try_from(layer).unwrap_or(0) << 24 | number;
        if let Some(&id) = self.words.get(&key) {
            return Ok(id);
        }
        let id = self.next_word;
        self.next_word += 1;
        self.words.insert(key, id);
        words::method(layer, number, &mut self.text);
        let mut record = Vec::new();
        text::put(&mut record, Utf16(&Utf16::encode(&self.text)));
        emit(StreamName::Dictionary, 1, &record)?;
        Ok(id)
    }

    fn request(&mut self, at: usize, whole: bool, emit: &mut Emit<'_>) -> Result<(), Error> {
        let kind = self
            .threads
            .get(at)
            .map_or(Kind::Main, |thread| thread.kind);
        let (layer, verb) = match kind {
            Kind::Web => (0, self.random.pick(&["GET", "GET", "GET", "POST", "PUT"])),
            Kind::Main => (2, ""),
            Kind::Scheduler | Kind::Consumer => (2, ""),
        };
        let verb = match verb {
            "GET" => "GET",
            "POST" => "POST",
            "PUT" => "PUT",
            _ => "",
        };
        let mut url = String::new();
        words::path(&mut self.random, &mut url);
        let number = self.random.skewed(ENTRIES);
        let method = self.method(layer, number, emit)?;
        let numbers = std::array::from_fn(|_| self.random.skewed(4_000_000));
        let error = self.random.per_mille(15);
        let gap = match kind {
            Kind::Web => self.random.skewed(900),
            Kind::Main => 200_000,
            Kind::Scheduler => 30_000 + self.random.below(1000),
            Kind::Consumer => self.random.skewed(8000),
        };
        let host = self.random.below(200);
        let Some(thread) = self.threads.get_mut(at) else {
            return Ok(());
        };
        thread.time += i64::from(gap);
        let call = Call {
            method,
            start: thread.time,
            title: format!("{verb} {url}, client: 10.12.7.{host}"),
            url: format!("http://shop.example.com{url}"),
            verb,
            error,
            record_index: thread.events,
            numbers,
            ..Call::default()
        };
        thread.open = Some(call);
        if !self.detail.trace {
            let enters = self.random.skewed(400) + 1;
            let took = self.random.skewed(6000);
            let Some(thread) = self.threads.get_mut(at) else {
                return Ok(());
            };
            if let Some(call) = &mut thread.open {
                call.enters = enters;
                call.place = Some((1, call.record_index * 977 + 8));
                call.record_index %= BUFFER;
            }
            thread.events = thread.events.wrapping_add(enters) % 100_000;
            thread.time += i64::from(took);
            return self.end(at, emit);
        }
        let heartbeat = kind == Kind::Scheduler && self.random.per_mille(400);
        self.event(at, What::Enter(method), 0, emit)?;
        if !heartbeat {
            let children = self.random.below(4) + 1;
            for _ in 0..children {
                let callee = self.callee(layer, number);
                self.node(at, layer + 1, callee, true, emit)?;
            }
            if error {
                self.failure(at, emit)?;
            }
            if kind == Kind::Web {
                self.web_tags(at, emit)?;
            }
        }
        if !whole {
            return Ok(());
        }
        let pause = self.random.skewed(12);
        let empty = TagValue::Inline(Utf16(&[]));
        self.event(at, What::Tag(tag("call.info"), empty), pause, emit)?;
        self.end(at, emit)
    }

    /// Chooses what a method calls: always among the same few, as code does, so that the merged tree of
    /// any amount of calls stays a tree of the code.
    fn callee(&mut self, layer: usize, number: u32) -> u32 {
        let slot = u64::from(self.random.skewed(CALLEES));
        let path = (layer as u64) << 40 | u64::from(number) << 8 | slot;
        u32::try_from(mix(path + 1) % u64::from(METHODS)).unwrap_or(0)
    }

    fn node(
        &mut self,
        at: usize,
        layer: usize,
        number: u32,
        may_help: bool,
        emit: &mut Emit<'_>,
    ) -> Result<(), Error> {
        let layer = layer.min(LAYERS.len() - 1);
        let method = self.method(layer, number, emit)?;
        let before = self.random.skewed(6);
        self.event(at, What::Enter(method), before, emit)?;
        if layer == LAYERS.len() - 1 {
            if self.random.per_mille(600) {
                self.statement(at, number * 3, emit)?;
            }
            let took = self.random.skewed(60);
            return self.event(at, What::Exit, took, emit);
        }
        let children = match self.random.below(10) {
            0 | 1 => 0,
            2..=5 => 1,
            6..=8 => 2 + self.random.below(2),
            _ => 4 + self.random.below(8),
        };
        for _ in 0..children {
            // One helper of the same layer on a path, else lower ones.
            let helps = may_help && self.random.per_mille(120);
            let callee = self.callee(layer, number);
            let below = layer + 1 - usize::from(helps);
            self.node(at, below, callee, may_help && !helps, emit)?;
        }
        if self.random.per_mille(30) {
            let mut value = Vec::new();
            let key = self.random.bits() % 100_000;
            utf16(&format!("catalog:{key}"), &mut value);
            let value = TagValue::Inline(Utf16(&value));
            self.event(at, What::Tag(tag("cache.key"), value), 0, emit)?;
        }
        let after = self.random.skewed(5);
        self.event(at, What::Exit, after, emit)
    }

    fn statement(&mut self, at: usize, first: u32, emit: &mut Emit<'_>) -> Result<(), Error> {
        let number = first + self.random.below(3);
        let place = match self.statements.get(&number) {
            Some(&place) => place,
            None => {
                words::statement(number, &mut self.text);
                let place = Self::place(
                    &mut self.sql,
                    self.rotate,
                    StreamName::Sql,
                    &self.text,
                    emit,
                )?;
                if place.offset == 0 {
                    self.statements.clear();
                }
                self.statements.insert(number, place);
                place
            }
        };
        let value = TagValue::Deduplicated(place);
        self.event(at, What::Tag(tag("sql"), value), 0, emit)?;
        if !self.random.per_mille(100) {
            return Ok(());
        }
        words::binds(&mut self.random, &mut self.text);
        let place = Self::place(
            &mut self.xml,
            self.rotate,
            StreamName::Xml,
            &self.text,
            emit,
        )?;
        self.event(at, What::Tag(tag("binds"), TagValue::Big(place)), 0, emit)
    }

    /// Appends a value to a stream of values.
    fn place(
        file: &mut File,
        rotate: bool,
        stream: StreamName,
        value: &str,
        emit: &mut Emit<'_>,
    ) -> Result<Place, Error> {
        if rotate && file.bytes >= ROTATE {
            file.index += 1;
            file.bytes = 0;
        }
        let place = Place {
            file_index: file.index,
            offset: file.offset(),
        };
        let mut record = Vec::new();
        text::put(&mut record, Utf16(&Utf16::encode(value)));
        file.bytes += record.len() as u64;
        emit(stream, file.index, &record)?;
        Ok(place)
    }

    fn failure(&mut self, at: usize, emit: &mut Emit<'_>) -> Result<(), Error> {
        let mut value = Vec::new();
        words::failure(&mut self.random, &mut self.text);
        utf16(&self.text, &mut value);
        let failure = What::Tag(tag("exception"), TagValue::Inline(Utf16(&value)));
        self.event(at, failure, 0, emit)?;
        let red = TagValue::Indexed(Utf16(&[]));
        self.event(at, What::Tag(tag("call.red"), red), 0, emit)
    }

    fn web_tags(&mut self, at: usize, emit: &mut Emit<'_>) -> Result<(), Error> {
        let call = self.threads.get(at).and_then(|thread| thread.open.clone());
        let call = call.unwrap_or_default();
        let address = call.title.rsplit(' ').next().unwrap_or("");
        let mut value = Vec::new();
        for (name, text) in [
            (tag("web.url"), call.url.as_str()),
            (tag("web.method"), call.verb),
            (tag("web.remote.addr"), address),
            (tag("profiler.title"), call.title.as_str()),
        ] {
            utf16(text, &mut value);
            let value = TagValue::Indexed(Utf16(&value));
            self.event(at, What::Tag(name, value), 0, emit)?;
        }
        Ok(())
    }

    /// Adds an event to a thread's buffer, `after` milliseconds later.
    fn event(
        &mut self,
        at: usize,
        what: What<'_>,
        after: u32,
        emit: &mut Emit<'_>,
    ) -> Result<(), Error> {
        let Some(thread) = self.threads.get_mut(at) else {
            return Ok(());
        };
        thread.time += i64::from(after);
        if thread.events == 0 {
            thread.first = thread.time;
            thread.last = self.start;
        }
        let elapsed = i32::try_from(thread.time - thread.last).unwrap_or(i32::MAX);
        thread.last += i64::from(elapsed);
        Event { elapsed, what }.write(&mut thread.buffer);
        thread.events += 1;
        if let (What::Enter(_), Some(call)) = (what, &mut thread.open) {
            call.enters += 1;
        }
        if thread.events >= BUFFER && matches!(what, What::Enter(_) | What::Exit) {
            self.flush(at, emit)?;
        }
        Ok(())
    }

    /// Ends the open call: what the agent adds to its tree, then its row.
    fn end(&mut self, at: usize, emit: &mut Emit<'_>) -> Result<(), Error> {
        let Some(thread) = self.threads.get_mut(at) else {
            return Ok(());
        };
        let Some(mut call) = thread.open.clone() else {
            return Ok(());
        };
        call.end = thread.time;
        call.written = call.enters > 1 || call.end - call.start > 20;
        let name = thread.name.clone();
        if self.detail.trace {
            if call.written {
                let [cpu, wait, memory, ..] = call.numbers;
                let (cpu, wait) = (cpu % 5000, wait % 700);
                let values = [
                    (tag("common.started"), call.start.to_string()),
                    (tag("node.name"), "shop-6f7c9d-x2v".to_owned()),
                    (tag("java.thread"), name),
                    (tag("time.cpu"), cpu.to_string()),
                    (tag("time.wait"), wait.to_string()),
                    (tag("memory.allocated"), memory.to_string()),
                ];
                let mut value = Vec::new();
                for (id, text) in values {
                    utf16(&text, &mut value);
                    let value = TagValue::Inline(Utf16(&value));
                    self.event(at, What::Tag(id, value), 0, emit)?;
                }
            }
            // Kept out of `event`: a buffer that goes out here must know that the call has ended.
            if let Some(thread) = self.threads.get_mut(at) {
                if let Some(open) = thread.open.take() {
                    call.place = open.place;
                    call.record_index = open.record_index;
                }
                if call.written {
                    thread.ended.push(call);
                }
            }
            return self.event(at, What::Exit, 0, emit);
        }
        thread.open = None;
        self.row(at, &call, emit)
    }

    /// Emits a thread's buffer as a block, and the rows of the calls that ended in it.
    fn flush(&mut self, at: usize, emit: &mut Emit<'_>) -> Result<(), Error> {
        let Some(thread) = self.threads.get_mut(at) else {
            return Ok(());
        };
        if thread.events == 0 {
            return Ok(());
        }
        let mut block = Vec::with_capacity(thread.buffer.len() + 17);
        Block {
            thread_id: thread.id,
            real_time: thread.first,
        }
        .write(&mut block);
        block.append(&mut thread.buffer);
        block.push(3);
        thread.events = 0;
        let mut ended = std::mem::take(&mut thread.ended);
        if self.rotate && self.trace.bytes + block.len() as u64 > ROTATE {
            self.begin_trace(emit)?;
        }
        let place = (self.trace.index, self.trace.offset());
        emit(StreamName::Trace, self.trace.index, &block)?;
        self.trace.bytes += block.len() as u64;
        self.made += block.len() as u64;
        if let Some(open) = self
            .threads
            .get_mut(at)
            .and_then(|thread| thread.open.as_mut())
        {
            open.place.get_or_insert(place);
        }
        for call in &mut ended {
            call.place.get_or_insert(place);
            self.row(at, call, emit)?;
        }
        Ok(())
    }

    fn row(&mut self, at: usize, call: &Call, emit: &mut Emit<'_>) -> Result<(), Error> {
        if self.rotate && self.calls.bytes > ROTATE / 10 {
            self.begin_calls(emit)?;
        }
        let Some(thread) = self.threads.get_mut(at) else {
            return Ok(());
        };
        let new = thread.index.is_none();
        let index = *thread.index.get_or_insert(self.names);
        let name = Utf16::encode(&thread.name);
        if new {
            self.names += 1;
        }
        let mut params = Vec::new();
        let mut count = 0;
        if self.detail.params && !call.verb.is_empty() {
            let address = call.title.rsplit(' ').next().unwrap_or("");
            let mut param = |id: u32, value: &str| {
                put_u32_varint(&mut params, id);
                put_u32_varint(&mut params, 1);
                text::put(&mut params, Utf16(&Utf16::encode(value)));
                count += 1;
            };
            param(tag("profiler.title"), &call.title);
            param(tag("web.method"), call.verb);
            param(tag("web.url"), &call.url);
            param(tag("web.remote.addr"), address);
        }
        if call.error {
            put_u32_varint(&mut params, tag("call.red"));
            put_u32_varint(&mut params, 1);
            params.push(0);
            count += 1;
        }
        let (file, offset) = call.place.unwrap_or((1, 8));
        let [
            cpu,
            wait,
            memory,
            read,
            written,
            net_read,
            net_written,
            logs,
        ] = call.numbers;
        let delta = i32::try_from(call.start - self.clock).unwrap_or(0);
        self.clock += i64::from(delta);
        let row = Row {
            time_delta: delta,
            method: call.method,
            duration: u32::try_from(call.end - call.start).unwrap_or(0),
            calls: call.enters,
            thread_index: index,
            thread_name: new.then_some(Utf16(&name)),
            logs_written: logs % 300,
            logs_dropped: logs % 7,
            trace_file_index: file,
            buffer_offset: offset,
            record_index: call.record_index,
            cpu_raw: u64::from(cpu % 5000),
            wait_raw: u64::from(wait % 700),
            memory_used: u64::from(memory),
            file_read: u64::from(read % 100 * 31),
            file_written: u64::from(written % 50 * 17),
            net_read: u64::from(net_read),
            net_written: u64::from(net_written),
            transactions: u32::from(call.enters > 30),
            queue_wait: logs % 3,
            params: crate::cdt::calls::Params::new(count, &params),
        };
        let mut record = Vec::new();
        row.write(4, &mut record);
        self.calls.bytes += record.len() as u64;
        emit(StreamName::Calls, self.calls.index, &record)
    }
}

/// The log of an invented garbage collector.
pub(super) struct GcLog {
    random: Random,
    number: u32,
    uptime: i64,
    start: i64,
}

impl GcLog {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed ^ 0x6763),
            number: 0,
            uptime: 0,
            start: start_of(seed),
        }
    }

    /// Writes the next line of a log of its own.
    pub(super) fn line(&mut self, out: &mut String) {
        let uptime = self.uptime + i64::from(self.random.skewed(9000)) + 40;
        let delay = self.random.skewed(300) + 2;
        self.at(uptime, delay, out);
    }

    /// Writes the line of a pause that ends at an uptime.
    fn at(&mut self, uptime: i64, delay: u32, out: &mut String) {
        self.uptime = uptime;
        let time = self.start + uptime;
        let of_day = time.rem_euclid(86_400_000);
        let (hours, minutes) = (of_day / 3_600_000, of_day / 60_000 % 60);
        let (seconds, millis) = (of_day / 1000 % 60, of_day % 1000);
        let day = 14 + (time - 1_773_446_400_000).div_euclid(86_400_000);
        let before = 120 + self.random.below(100);
        let after = 40 + self.random.below(30);
        let _ = writeln!(
            out,
            "[2026-03-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{millis:03}+0000]\
             [{}.{:03}s][info ][gc] GC({}) Pause Young (Normal) (G1 Evacuation Pause) \
             {before}M->{after}M(512M) {delay}.{:03}ms",
            uptime / 1000,
            uptime % 1000,
            self.number,
            self.random.below(1000),
        );
        self.number += 1;
    }
}
