//! Buffers of threads on their way to blocks, and calls to rows.

use super::super::words::tag;
use super::{BUFFER, CallMetrics, Emit, ROTATE, RootCall, Service, StreamName, utf16};
use traceloom_formats::Error;
use traceloom_formats::cdt::calls::Row;
use traceloom_formats::cdt::put_text;
use traceloom_formats::cdt::trace::{Block, Event, TagValue, TraceAction};
use traceloom_formats::wire::{Utf16, put_u32_varint};

impl Service {
    /// Adds an event to a thread's buffer, `after` milliseconds later.
    pub(super) fn event(
        &mut self,
        at: usize,
        what: TraceAction<'_>,
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
        if let (TraceAction::Enter(_), Some(call)) = (what, &mut thread.open) {
            call.enters += 1;
        }
        if thread.events >= BUFFER && matches!(what, TraceAction::Enter(_) | TraceAction::Exit) {
            self.flush(at, emit)?;
        }
        Ok(())
    }

    /// Ends the open call: what the agent adds to its tree, then its row.
    pub(super) fn end(&mut self, at: usize, emit: &mut Emit<'_>) -> Result<(), Error> {
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
                let CallMetrics {
                    cpu, wait, memory, ..
                } = call.numbers;
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
                    self.event(at, TraceAction::Tag(id, value), 0, emit)?;
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
            return self.event(at, TraceAction::Exit, 0, emit);
        }
        thread.open = None;
        self.row(at, &call, emit)
    }

    /// Emits a thread's buffer as a block, and the rows of the calls that ended in it.
    pub(super) fn flush(&mut self, at: usize, emit: &mut Emit<'_>) -> Result<(), Error> {
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

    fn row(&mut self, at: usize, call: &RootCall, emit: &mut Emit<'_>) -> Result<(), Error> {
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
                put_text(&mut params, Utf16(&Utf16::encode(value)));
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
        let numbers = call.numbers;
        let delta = i32::try_from(call.start - self.clock).unwrap_or(0);
        self.clock += i64::from(delta);
        let row = Row {
            time_delta: delta,
            method: call.method,
            duration: u32::try_from(call.end - call.start).unwrap_or(0),
            calls: call.enters,
            thread_index: index,
            thread_name: new.then_some(Utf16(&name)),
            logs_written: numbers.logs,
            logs_dropped: numbers.logs_dropped,
            trace_file_index: file,
            buffer_offset: offset,
            record_index: call.record_index,
            cpu_raw: u64::from(numbers.cpu),
            wait_raw: u64::from(numbers.wait),
            memory_used: u64::from(numbers.memory),
            file_read: u64::from(numbers.read),
            file_written: u64::from(numbers.written),
            net_read: u64::from(numbers.net_read),
            net_written: u64::from(numbers.net_written),
            transactions: u32::from(call.enters > 30),
            queue_wait: numbers.queue,
            params: traceloom_formats::cdt::calls::Params::new(count, &params),
        };
        let mut record = Vec::new();
        row.write(4, &mut record);
        self.calls.bytes += record.len() as u64;
        emit(StreamName::Calls, self.calls.index, &record)
    }
}
