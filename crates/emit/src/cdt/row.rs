//! Rows of calls.

use std::collections::HashMap;

use super::primitives::{put_text, put_varint, put_zigzag};

use crate::bounds::saturated_u32;

/// Bytes of parameters that a row has a copy of.
const MOST_PARAMS: usize = 64 << 10;
/// Values of a parameter that a row has, as in agents.
const MOST_VALUES: u32 = 100;

/// Numbers of a row that are not counted here: times of processor and waiting, memory, files and network, transactions and the time
/// in a queue.
const UNCOUNTED: [u8; 9] = [0; 9];

/// A call without one around it.
#[derive(Default)]
pub struct OutermostCall {
    word: u32,
    /// Milliseconds from 1970.
    start: u64,
    /// Where it begins: file, place of the block, and number of the event in it.
    file: u32,
    block: u64,
    event: u32,
    /// It and the calls inside it.
    pub n_calls: u32,
    params: Vec<IndexedParam>,
    n_params: usize,
}

/// Values of a parameter, as a row has them.
#[derive(Default)]
struct IndexedParam {
    word: u32,
    n_values: u32,
    values: Vec<u8>,
}

impl OutermostCall {
    pub fn begin(&mut self, word: u32, start: u64, (file, block): (u32, u64), event: u32) {
        self.word = word;
        self.start = start;
        self.file = file;
        self.block = block;
        self.event = event;
        self.n_calls = 0;
        self.n_params = 0;
    }

    /// Adds a value of a parameter. It is in the trace too, so that nothing is lost where a row is full.
    pub fn put_param(&mut self, word: u32, value: &[u8]) {
        let used = &self.params[..self.n_params];
        let n_bytes: usize = used.iter().map(|param| param.values.len()).sum();
        if n_bytes + value.len() > MOST_PARAMS {
            return;
        }
        let known = used.iter().position(|param| param.word == word);
        let at = known.unwrap_or_else(|| {
            if self.n_params == self.params.len() {
                self.params.push(IndexedParam::default());
            }
            let param = &mut self.params[self.n_params];
            param.word = word;
            param.n_values = 0;
            param.values.clear();
            self.n_params += 1;
            self.n_params - 1
        });
        let param = &mut self.params[at];
        if param.n_values < MOST_VALUES {
            param.n_values += 1;
            param.values.extend_from_slice(value);
        }
    }
}

/// Encodes rows behind each other.
#[derive(Default)]
pub struct RowEncoder {
    /// Start of the row before.
    last: u64,
    /// Names of threads in the file, by number.
    threads: HashMap<Box<str>, u32>,
}

impl RowEncoder {
    /// Learns that a file begins, at this time.
    pub fn begin(&mut self, start: u64) {
        self.last = start;
        self.threads.clear();
    }

    /// Appends the row of a call. One of times that do not fit has none: readers take it from the trace.
    pub fn put(&mut self, call: &OutermostCall, end: u64, thread: &str, out: &mut Vec<u8>) {
        let delta = call
            .start
            .cast_signed()
            .wrapping_sub(self.last.cast_signed());
        let duration = u32::try_from(end.saturating_sub(call.start));
        let (Ok(delta), Ok(duration), Ok(block)) =
            (i32::try_from(delta), duration, u32::try_from(call.block))
        else {
            return;
        };
        self.last = call.start;
        put_zigzag(out, delta);
        put_varint(out, call.word);
        put_varint(out, duration);
        put_varint(out, call.n_calls);
        self.put_thread(thread, out);
        let (logs_written, logs_dropped) = (0, 0);
        put_varint(out, logs_written);
        put_varint(out, logs_dropped);
        put_varint(out, call.file);
        put_varint(out, block);
        put_varint(out, call.event);
        out.extend_from_slice(&UNCOUNTED);
        let params = &call.params[..call.n_params];
        put_varint(out, u32::try_from(params.len()).unwrap_or(0));
        for param in params {
            put_varint(out, param.word);
            put_varint(out, param.n_values);
            out.extend_from_slice(&param.values);
        }
    }

    /// Appends the number of a thread, with its name where it is new.
    fn put_thread(&mut self, thread: &str, out: &mut Vec<u8>) {
        if let Some(&number) = self.threads.get(thread) {
            return put_varint(out, number);
        }
        let number = saturated_u32(self.threads.len());
        self.threads.insert(thread.into(), number);
        put_varint(out, number);
        put_text(out, thread);
    }
}
