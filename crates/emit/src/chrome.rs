//! Calls as Chrome's trace events: a JSON array that Perfetto, `chrome://tracing` and `traceloom` open.
//!
//! Times are microseconds since the trace began, with three decimals. A call is an event `B` and an event `E`, which has the
//! attributes; of two of one name viewers show the last. A file whose program was killed lacks the bracket at its end, and
//! readers accept that.
//!
//! ```
//! use traceloom_emit::{Options, Recorder, chrome};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("shop.json");
//! let recorder = Recorder::start(chrome::ChromeFile::create(&path)?, Options::default())?;
//! let thread = recorder.thread("main");
//! thread.record("GET /orders", 1_000..9_500, &[("rows", 3_u64.into())]);
//! drop(thread);
//! assert_eq!(recorder.close().written, 1);
//! let text = std::fs::read_to_string(path)?;
//! assert!(text.contains(r#"{"ph":"B","pid":1,"tid":1,"ts":1.000,"name":"GET /orders"}"#), "{text}");
//! assert!(text.contains(r#"{"ph":"E","pid":1,"tid":1,"ts":9.500,"args":{"rows":3}}"#), "{text}");
//! # Ok::<(), std::io::Error>(())
//! ```

use std::fs::File;
use std::io;
use std::path::Path;

use crate::calls::buffer::CallBuffer;
use crate::calls::bytes::{ByteDrain, CallEncoding, FilePlace};
use crate::calls::event::{CallEvent, FieldValue};
use crate::calls::text::put;
use crate::calls::{RecorderState, TraceOutput, sealed::Drains};
use crate::engine::Drain;

/// A file in Chrome's format.
#[derive(Debug)]
pub struct ChromeFile {
    file: File,
}

impl ChromeFile {
    /// Makes a file, in the place of one that is there.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let file = File::create(path)?;
        Ok(Self { file })
    }
}

impl TraceOutput for ChromeFile {}

impl Drains for ChromeFile {
    fn drain(self, state: RecorderState) -> Box<dyn Drain<CallBuffer>> {
        ByteDrain::boxed(state, ChromeEncoding::default(), FilePlace::new(self.file))
    }
}

/// Encodes calls as trace events.
#[derive(Default)]
struct ChromeEncoding {
    /// The attributes before the end of their call, as JSON.
    arguments: Vec<u8>,
    is_continued: bool,
}

impl ChromeEncoding {
    /// Begins an event behind the ones before.
    fn begin_event(&mut self, phase: char, thread: &CallBuffer, out: &mut Vec<u8>) {
        let comma = match std::mem::replace(&mut self.is_continued, true) {
            true => ",\n",
            false => "",
        };
        let tid = thread.id;
        put(
            out,
            format_args!("{comma}{{\"ph\":\"{phase}\",\"pid\":1,\"tid\":{tid}"),
        );
    }
}

impl CallEncoding for ChromeEncoding {
    fn begin(&mut self, _: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(b"[\n");
    }

    fn thread(&mut self, thread: &CallBuffer, out: &mut Vec<u8>) {
        self.begin_event('M', thread, out);
        out.extend_from_slice(b",\"name\":\"thread_name\",\"args\":{\"name\":");
        put_text(out, &thread.name);
        out.extend_from_slice(b"}}");
    }

    fn event(&mut self, thread: &CallBuffer, event: &CallEvent<'_>, out: &mut Vec<u8>) -> bool {
        match *event {
            CallEvent::Enter { time, name } => {
                self.begin_event('B', thread, out);
                put_time(out, time);
                out.extend_from_slice(b",\"name\":");
                put_text(out, name);
                out.push(b'}');
            }
            CallEvent::Attribute { name, value } => {
                if !self.arguments.is_empty() {
                    self.arguments.push(b',');
                }
                put_text(&mut self.arguments, name);
                self.arguments.push(b':');
                put_value(&mut self.arguments, value);
            }
            CallEvent::Exit { time } => {
                self.begin_event('E', thread, out);
                put_time(out, time);
                if !self.arguments.is_empty() {
                    out.extend_from_slice(b",\"args\":{");
                    out.append(&mut self.arguments);
                    out.push(b'}');
                }
                out.push(b'}');
            }
            CallEvent::Lost { .. } => {}
        }
        false
    }

    fn thread_ended(&mut self, _: &CallBuffer, _: u64, _: &mut Vec<u8>) {}

    fn end(&mut self, _: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\n]\n");
    }
}

fn put_time(out: &mut Vec<u8>, time: u64) {
    put(
        out,
        format_args!(",\"ts\":{}.{:03}", time / 1000, time % 1000),
    );
}

fn put_value(out: &mut Vec<u8>, value: FieldValue<'_>) {
    match value {
        FieldValue::F64(number) if !number.is_finite() => put_text(out, &number.to_string()),
        // With a fraction or an exponent: what has neither is read as an integer.
        FieldValue::F64(number) => put(out, format_args!("{number:?}")),
        FieldValue::Text(text) => put_text(out, text),
        FieldValue::List(list) => {
            out.push(b'[');
            for (at, item) in list.items().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                put_value(out, item);
            }
            out.push(b']');
        }
        number => put(out, format_args!("{number}")),
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text;
    let is_special = |c: char| matches!(c, '"' | '\\' | '\0'..='\x1f');
    while let Some(at) = rest.find(is_special) {
        let (plain, special) = rest.split_at(at);
        out.extend_from_slice(plain.as_bytes());
        let byte = special.as_bytes()[0];
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            _ => put(out, format_args!("\\u{byte:04x}")),
        }
        rest = &special[1..];
    }
    out.extend_from_slice(rest.as_bytes());
    out.push(b'"');
}
