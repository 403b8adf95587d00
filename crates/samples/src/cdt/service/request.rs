//! What a request does: methods that call each other, statements, failures.

use super::super::words::{self, LAYERS, METHODS, tag};
use super::{
    BUFFER, CALLEES, CallMetrics, ENTRIES, Emit, ROTATE, RootCall, Service, ServiceKind,
    StreamFile, StreamName, utf16,
};
use crate::random::mix;
use traceloom_formats::Error;
use traceloom_formats::cdt::put_text;
use traceloom_formats::cdt::trace::{TagValue, TraceAction, ValueReference};
use traceloom_formats::wire::Utf16;

impl Service {
    pub(super) fn request(
        &mut self,
        at: usize,
        whole: bool,
        emit: &mut Emit<'_>,
    ) -> Result<(), Error> {
        let kind = self
            .threads
            .get(at)
            .map_or(ServiceKind::Main, |thread| thread.kind);
        let (layer, verb) = match kind {
            ServiceKind::Web => (0, self.random.pick(&["GET", "GET", "GET", "POST", "PUT"])),
            ServiceKind::Main => (2, ""),
            ServiceKind::Scheduler | ServiceKind::Consumer => (2, ""),
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
        let mut number_of = || self.random.skewed(4_000_000);
        let mut numbers = CallMetrics {
            cpu: number_of() % 5000,
            wait: number_of() % 700,
            memory: number_of(),
            read: number_of() % 100 * 31,
            written: number_of() % 50 * 17,
            net_read: number_of(),
            net_written: number_of(),
            ..CallMetrics::default()
        };
        let logs = number_of();
        (numbers.logs, numbers.logs_dropped, numbers.queue) = (logs % 300, logs % 7, logs % 3);
        let error = self.random.per_mille(15);
        let gap = match kind {
            ServiceKind::Web => self.random.skewed(900),
            ServiceKind::Main => 200_000,
            ServiceKind::Scheduler => 30_000 + self.random.below(1000),
            ServiceKind::Consumer => self.random.skewed(8000),
        };
        let host = self.random.below(200);
        let Some(thread) = self.threads.get_mut(at) else {
            return Ok(());
        };
        thread.time += i64::from(gap);
        let call = RootCall {
            method,
            start: thread.time,
            title: format!("{verb} {url}, client: 10.12.7.{host}"),
            url: format!("http://shop.example.com{url}"),
            verb,
            error,
            record_index: thread.events,
            numbers,
            ..RootCall::default()
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
        let heartbeat = kind == ServiceKind::Scheduler && self.random.per_mille(400);
        self.event(at, TraceAction::Enter(method), 0, emit)?;
        if !heartbeat {
            let children = self.random.below(4) + 1;
            for _ in 0..children {
                let callee = self.callee(layer, number);
                self.node(at, layer + 1, callee, true, emit)?;
            }
            if error {
                self.failure(at, emit)?;
            }
            if kind == ServiceKind::Web {
                self.web_tags(at, emit)?;
            }
        }
        if !whole {
            return Ok(());
        }
        let pause = self.random.skewed(12);
        let empty = TagValue::Inline(Utf16(&[]));
        self.event(at, TraceAction::Tag(tag("call.info"), empty), pause, emit)?;
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
        self.event(at, TraceAction::Enter(method), before, emit)?;
        if layer == LAYERS.len() - 1 {
            if self.random.per_mille(600) {
                self.statement(at, number * 3, emit)?;
            }
            let took = self.random.skewed(60);
            return self.event(at, TraceAction::Exit, took, emit);
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
            self.event(at, TraceAction::Tag(tag("cache.key"), value), 0, emit)?;
        }
        let after = self.random.skewed(5);
        self.event(at, TraceAction::Exit, after, emit)
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
        self.event(at, TraceAction::Tag(tag("sql"), value), 0, emit)?;
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
        self.event(
            at,
            TraceAction::Tag(tag("binds"), TagValue::Big(place)),
            0,
            emit,
        )
    }

    /// Appends a value to a stream of values.
    pub(super) fn place(
        file: &mut StreamFile,
        rotate: bool,
        stream: StreamName,
        value: &str,
        emit: &mut Emit<'_>,
    ) -> Result<ValueReference, Error> {
        if rotate && file.bytes >= ROTATE {
            file.index += 1;
            file.bytes = 0;
        }
        let place = ValueReference {
            file_index: file.index,
            offset: file.offset(),
        };
        let mut record = Vec::new();
        put_text(&mut record, Utf16(&Utf16::encode(value)));
        file.bytes += record.len() as u64;
        emit(stream, file.index, &record)?;
        Ok(place)
    }

    fn failure(&mut self, at: usize, emit: &mut Emit<'_>) -> Result<(), Error> {
        let mut value = Vec::new();
        words::failure(&mut self.random, &mut self.text);
        utf16(&self.text, &mut value);
        let failure = TraceAction::Tag(tag("exception"), TagValue::Inline(Utf16(&value)));
        self.event(at, failure, 0, emit)?;
        let red = TagValue::Indexed(Utf16(&[]));
        self.event(at, TraceAction::Tag(tag("call.red"), red), 0, emit)
    }

    pub(super) fn web_tags(&mut self, at: usize, emit: &mut Emit<'_>) -> Result<(), Error> {
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
            self.event(at, TraceAction::Tag(name, value), 0, emit)?;
        }
        Ok(())
    }
}
