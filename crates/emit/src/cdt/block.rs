//! What a thread did as a block of trace, and the rows of the calls that end in it.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::Arc;

use super::params::DeclaredParams;
use super::primitives::{put_text, put_varint};
use super::row::{OutermostCall, RowEncoder};
use super::values::ValueTable;
use crate::bounds::saturated_i32;
use crate::calls::buffer::CallBuffer;
use crate::calls::event::{CallEvent, CallEvents, FieldValue};
use crate::calls::names::NameTable;
use crate::engine::ThreadBuffer as _;

/// The names that have the same numbers in every process.
const FIRST: [&str; 3] = ["call.info", "call.red", "call.idle"];
/// Number of the mark before the end of an outermost call.
const CALL_INFO: u32 = 0;

/// Events of a block, as in agents.
const MOST_EVENTS: u32 = 4096;

const ENTER: u8 = 0;
const EXIT: u8 = 1;
const TAG: u8 = 2;
const FINISH: u8 = 3;

const INLINE: u8 = 0;
const INDEXED: u8 = 2;
/// File and place in sql.
const ELSEWHERE: u8 = 3;

/// Encodes blocks and rows.
pub struct BlockEncoder {
    /// Nanoseconds from 1970 to the trace's time 0.
    epoch: u64,
    /// Milliseconds from 1970 that a file of trace begins with.
    pub start: u64,
    pub words: NameTable,
    /// Parameters that rows have a copy of.
    indexed: Vec<u32>,
    /// Parameters whose values are in sql.
    deduplicated: Vec<u32>,
    pub values: ValueTable,
    threads: HashMap<u32, ThreadCalls>,
    row_encoder: RowEncoder,
    /// The block.
    pub trace: Vec<u8>,
    /// The rows of its calls.
    pub rows: Vec<u8>,
    /// Milliseconds of the event before in the block, and the number of events.
    last: u64,
    n_events: u32,
    text: Vec<u8>,
}

/// The open calls of a thread.
struct ThreadCalls {
    buffer: Arc<CallBuffer>,
    /// Names of the calls, the outermost first.
    open: Vec<u32>,
    /// What becomes the row.
    outermost: OutermostCall,
    /// Milliseconds from 1970.
    last: u64,
    /// A part of a value or of a name is missing in the call.
    is_cut: bool,
    /// The readers of these streams do not know the open calls.
    is_new: bool,
}

impl BlockEncoder {
    pub fn new(epoch: u64, params: &DeclaredParams) -> Self {
        let mut words = NameTable::new(&FIRST);
        let mut numbers = |names: &[String]| -> Vec<u32> {
            names.iter().map(|name| words.number(name).0).collect()
        };
        Self {
            epoch,
            start: epoch / 1_000_000,
            indexed: numbers(&params.indexed),
            deduplicated: numbers(&params.deduplicated),
            values: ValueTable::default(),
            words,
            threads: HashMap::new(),
            row_encoder: RowEncoder::default(),
            trace: Vec::new(),
            rows: Vec::new(),
            last: 0,
            n_events: 0,
            text: Vec::new(),
        }
    }

    /// Learns that nobody knows what was encoded so far.
    pub fn begin_process(&mut self) {
        self.words.tell_again();
        self.values.forget();
        for thread in self.threads.values_mut() {
            thread.is_new = true;
        }
    }

    /// Learns that a file of calls begins.
    pub fn begin_rows(&mut self) {
        self.row_encoder.begin(self.start);
    }

    /// Forgets threads that record no more.
    pub fn forget_ended(&mut self) {
        self.threads.retain(|_, thread| !thread.buffer.is_done());
    }

    /// Returns the time of the next event in milliseconds from 1970.
    pub fn next_time(&self, buffer: &CallBuffer, mut events: CallEvents<'_>) -> u64 {
        let first = events.find(|event| !matches!(event, CallEvent::Attribute { .. }));
        let last = self.threads.get(&buffer.id).map_or(0, |thread| thread.last);
        let time = first.map_or(0, |event| match event {
            CallEvent::Lost { first, .. } => first,
            event => event.time(),
        });
        ms(self.epoch, time).max(last)
    }

    /// Encodes a block, and the rows of the calls that end in it. `place` is the file and the place of the block in it. Returns
    /// the number of calls that end.
    pub fn block(
        &mut self,
        buffer: &Arc<CallBuffer>,
        events: &mut CallEvents<'_>,
        place: (u32, u64),
    ) -> u64 {
        let start = self.next_time(buffer, CallEvents(events.0));
        let mut thread = self
            .threads
            .remove(&buffer.id)
            .unwrap_or_else(|| ThreadCalls {
                buffer: buffer.clone(),
                open: Vec::new(),
                outermost: OutermostCall::default(),
                last: 0,
                is_cut: false,
                is_new: false,
            });
        self.rows.clear();
        self.trace.clear();
        self.trace
            .extend_from_slice(&u64::from(buffer.id).to_be_bytes());
        self.trace.extend_from_slice(&start.to_be_bytes());
        self.last = self.start;
        self.n_events = 0;
        if std::mem::take(&mut thread.is_new) {
            self.enter_again(&mut thread, start, place);
        }
        let mut n_ends = 0;
        while self.n_events < MOST_EVENTS
            && let Some(event) = events.next()
        {
            let earliest = match event {
                CallEvent::Lost { first, .. } => first,
                _ => 0,
            };
            for event in event.or_losses(earliest).into_iter().flatten() {
                self.event(&mut thread, &event, place);
                n_ends += u64::from(matches!(event, CallEvent::Exit { .. }));
            }
        }
        self.trace.push(FINISH);
        self.threads.insert(buffer.id, thread);
        n_ends
    }

    /// Begins the open calls of a thread for a reader that does not know them.
    fn enter_again(&mut self, thread: &mut ThreadCalls, time: u64, place: (u32, u64)) {
        let open = std::mem::take(&mut thread.open);
        for word in open {
            self.enter(thread, word, time, place);
        }
    }

    fn enter(&mut self, thread: &mut ThreadCalls, word: u32, time: u64, place: (u32, u64)) {
        if thread.open.is_empty() {
            thread.outermost.begin(word, time, place, self.n_events);
        }
        thread.outermost.n_calls = thread.outermost.n_calls.saturating_add(1);
        thread.open.push(word);
        self.put_event(ENTER, time);
        put_varint(&mut self.trace, word);
    }

    fn event(&mut self, thread: &mut ThreadCalls, event: &CallEvent<'_>, place: (u32, u64)) {
        match *event {
            CallEvent::Enter { time, name } => {
                thread.last = ms(self.epoch, time).max(thread.last);
                let (word, is_cut) = self.words.number(name);
                thread.is_cut |= is_cut;
                self.enter(thread, word, thread.last, place);
            }
            CallEvent::Attribute { name, value } => self.attribute(thread, name, value),
            CallEvent::Exit { time } => {
                thread.last = ms(self.epoch, time).max(thread.last);
                self.exit(thread);
            }
            CallEvent::Lost { .. } => {}
        }
    }

    fn exit(&mut self, thread: &mut ThreadCalls) {
        if thread.open.pop().is_none() {
            return;
        }
        if std::mem::take(&mut thread.is_cut) {
            thread.buffer.cut(1);
        }
        if thread.open.is_empty() {
            self.put_event(TAG, thread.last);
            put_varint(&mut self.trace, CALL_INFO);
            self.trace.push(INLINE);
            put_text(&mut self.trace, "");
        }
        self.put_event(EXIT, thread.last);
        if thread.open.is_empty() {
            let name = &thread.buffer.name;
            self.row_encoder
                .put(&thread.outermost, thread.last, name, &mut self.rows);
        }
    }

    /// Adds a tag for a value, one for each of a list.
    fn attribute(&mut self, thread: &mut ThreadCalls, name: &str, value: FieldValue<'_>) {
        let (word, is_cut) = self.words.number(name);
        thread.is_cut |= is_cut;
        match value {
            FieldValue::List(list) => {
                for item in list.items() {
                    self.tag(thread, word, item);
                }
            }
            value => self.tag(thread, word, value),
        }
    }

    fn tag(&mut self, thread: &mut ThreadCalls, word: u32, value: FieldValue<'_>) {
        self.put_event(TAG, thread.last);
        put_varint(&mut self.trace, word);
        let text = match value {
            FieldValue::Text(text) => text,
            number => {
                self.text.clear();
                // Nothing that is written into memory fails, and digits are a text.
                let _ = write!(self.text, "{number}");
                str::from_utf8(&self.text).unwrap_or_default()
            }
        };
        let is_indexed = self.indexed.contains(&word);
        if !is_indexed
            && self.deduplicated.contains(&word)
            && let Some((file, place)) = self.values.place(text)
        {
            self.trace.push(ELSEWHERE);
            put_varint(&mut self.trace, file);
            put_varint(&mut self.trace, place);
            return;
        }
        self.trace.push(if is_indexed { INDEXED } else { INLINE });
        let from = self.trace.len();
        put_text(&mut self.trace, text);
        if is_indexed {
            thread.outermost.put_param(word, &self.trace[from..]);
        }
    }

    /// Appends the beginning of an event: its kind, and the milliseconds since the one before.
    fn put_event(&mut self, kind: u8, time: u64) {
        // No farther than a file of trace reaches.
        let elapsed = time.cast_signed().wrapping_sub(self.last.cast_signed());
        let elapsed = saturated_i32(elapsed);
        self.last = time;
        self.n_events += 1;
        let low = elapsed.to_le_bytes()[0] & 0x1f;
        let high = (elapsed >> 5).cast_unsigned();
        let is_long = high != 0;
        self.trace.push(kind | low << 2 | u8::from(is_long) << 7);
        if is_long {
            put_varint(&mut self.trace, high);
        }
    }
}

/// Returns milliseconds since 1970.
fn ms(epoch: u64, time: u64) -> u64 {
    epoch.saturating_add(time) / 1_000_000
}
