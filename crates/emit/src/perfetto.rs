//! Calls as a Perfetto trace: packets of slices, with names that are sent once.
//!
//! Times are nanoseconds since 1970. Attributes are debug annotations of their types. 65,536 names of calls and as many of attributes
//! are told apart, those beyond are called `(other names)`; of a longer name the first 5,000 bytes are kept.
//! [`Report::cut`](crate::Report::cut) counts the calls that this changes. A file whose program was killed ends in the middle of a
//! packet, at worst.
//!
//! ```
//! use traceloom_emit::{Options, Recorder, perfetto};
//!
//! let folder = tempfile::tempdir()?;
//! let file = perfetto::PerfettoFile::create(folder.path().join("shop.perfetto-trace"))?;
//! let recorder = Recorder::start(file, Options::default())?;
//! let thread = recorder.thread("main");
//! let mut call = thread.call("GET /orders");
//! call.set("rows", 3_u64);
//! drop(call);
//! assert_eq!(recorder.close().written, 1);
//! # Ok::<(), std::io::Error>(())
//! ```

use std::fs::File;
use std::io;
use std::path::Path;

use crate::calls::buffer::CallBuffer;
use crate::calls::bytes::{ByteDrain, CallEncoding, FilePlace};
use crate::calls::event::{CallEvent, FieldValue};
use crate::calls::names::NameTable;
use crate::calls::{RecorderState, TraceOutput, sealed::Drains};
use crate::engine::Drain;

/// A file in Perfetto's format.
#[derive(Debug)]
pub struct PerfettoFile {
    file: File,
}

impl PerfettoFile {
    /// Makes a file, in the place of one that is there.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let file = File::create(path)?;
        Ok(Self { file })
    }
}

impl TraceOutput for PerfettoFile {}

impl Drains for PerfettoFile {
    fn drain(self, state: RecorderState) -> Box<dyn Drain<CallBuffer>> {
        let encoding = PerfettoEncoding::new(state.shared.clock.epoch());
        ByteDrain::boxed(state, encoding, FilePlace::new(self.file))
    }
}

/// Numbers of fields.
mod field {
    pub const PACKET: u32 = 1;

    pub const CLOCK_SNAPSHOT: u32 = 6;
    pub const TIMESTAMP: u32 = 8;
    pub const SEQUENCE_ID: u32 = 10;
    pub const TRACK_EVENT: u32 = 11;
    pub const INTERNED_DATA: u32 = 12;
    pub const SEQUENCE_FLAGS: u32 = 13;
    pub const TRACK_DESCRIPTOR: u32 = 60;

    pub const CLOCK: u32 = 1;
    pub const CLOCK_ID: u32 = 1;
    pub const CLOCK_TIMESTAMP: u32 = 2;

    pub const TRACK_UUID: u32 = 1;
    pub const THREAD: u32 = 4;
    pub const PID: u32 = 1;
    pub const TID: u32 = 2;
    pub const THREAD_NAME: u32 = 5;

    pub const EVENT_TYPE: u32 = 9;
    pub const EVENT_NAME_IID: u32 = 10;
    pub const EVENT_TRACK_UUID: u32 = 11;
    pub const ANNOTATION: u32 = 4;
    pub const ANNOTATION_NAME_IID: u32 = 1;
    pub const UNSIGNED: u32 = 3;
    pub const SIGNED: u32 = 4;
    pub const DOUBLE: u32 = 5;
    pub const TEXT: u32 = 6;
    pub const ARRAY: u32 = 12;

    pub const EVENT_NAMES: u32 = 2;
    pub const ANNOTATION_NAMES: u32 = 3;
    pub const IID: u32 = 1;
    pub const NAME: u32 = 2;
}

/// The only sequence of packets.
const SEQUENCE: u64 = 1;
/// What the sequence said before is void; what it says counts from there on.
const STATE_CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;

const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;

/// Clocks of a snapshot: the time of day, and the one of packets that name none.
const REALTIME: u64 = 1;
const BOOTTIME: u64 = 6;

/// Encodes calls as packets.
struct PerfettoEncoding {
    /// Nanoseconds from 1970 to the trace's time 0.
    epoch: u64,
    call_names: NameTable,
    attribute_names: NameTable,
    /// The packet that is being made, and the messages inside it.
    packet: Vec<u8>,
    event: Vec<u8>,
    annotation: Vec<u8>,
    /// The attributes before the end of their call.
    annotations: Vec<u8>,
}

impl PerfettoEncoding {
    fn new(epoch: u64) -> Self {
        Self {
            epoch,
            call_names: NameTable::new(&[]),
            attribute_names: NameTable::new(&[]),
            packet: Vec::new(),
            event: Vec::new(),
            annotation: Vec::new(),
            annotations: Vec::new(),
        }
    }

    /// Begins a packet at a time since 1970.
    fn begin_packet(&mut self, time: u64, flags: u64) {
        self.packet.clear();
        put_number(&mut self.packet, field::TIMESTAMP, time);
        put_number(&mut self.packet, field::SEQUENCE_ID, SEQUENCE);
        put_number(&mut self.packet, field::SEQUENCE_FLAGS, flags);
    }

    fn put_packet(&mut self, out: &mut Vec<u8>) {
        put_bytes(out, field::PACKET, &self.packet);
    }

    /// Puts the names that were not sent into the packet.
    fn put_names(&mut self) {
        let mut interned = Vec::new();
        for (table, kind) in [
            (&mut self.call_names, field::EVENT_NAMES),
            (&mut self.attribute_names, field::ANNOTATION_NAMES),
        ] {
            let (n_known, names) = table.untold();
            for (number, name) in (n_known..).zip(names) {
                let mut entry = Vec::new();
                put_number(&mut entry, field::IID, number + 1);
                put_bytes(&mut entry, field::NAME, name.as_bytes());
                put_bytes(&mut interned, kind, &entry);
            }
        }
        if !interned.is_empty() {
            put_bytes(&mut self.packet, field::INTERNED_DATA, &interned);
        }
    }

    /// Puts the beginning or the end of a slice.
    fn put_slice(&mut self, thread: &CallBuffer, kind: u64, time: u64, out: &mut Vec<u8>) {
        self.begin_packet(self.epoch.saturating_add(time), NEEDS_STATE);
        self.put_names();
        put_number(&mut self.event, field::EVENT_TYPE, kind);
        put_number(&mut self.event, field::EVENT_TRACK_UUID, thread.id.into());
        put_bytes(&mut self.packet, field::TRACK_EVENT, &self.event);
        self.put_packet(out);
    }
}

impl CallEncoding for PerfettoEncoding {
    fn begin(&mut self, now: u64, out: &mut Vec<u8>) {
        let now = self.epoch.saturating_add(now);
        self.begin_packet(now, STATE_CLEARED);
        let mut snapshot = Vec::new();
        for clock in [BOOTTIME, REALTIME] {
            let mut reading = Vec::new();
            put_number(&mut reading, field::CLOCK_ID, clock);
            put_number(&mut reading, field::CLOCK_TIMESTAMP, now);
            put_bytes(&mut snapshot, field::CLOCK, &reading);
        }
        put_bytes(&mut self.packet, field::CLOCK_SNAPSHOT, &snapshot);
        self.put_packet(out);
    }

    fn thread(&mut self, thread: &CallBuffer, out: &mut Vec<u8>) {
        let time = self.epoch.saturating_add(thread.since);
        self.begin_packet(time, NEEDS_STATE);
        let mut fields = Vec::new();
        put_number(&mut fields, field::PID, std::process::id().into());
        put_number(&mut fields, field::TID, thread.id.into());
        put_bytes(&mut fields, field::THREAD_NAME, thread.name.as_bytes());
        let mut track = Vec::new();
        put_number(&mut track, field::TRACK_UUID, thread.id.into());
        put_bytes(&mut track, field::THREAD, &fields);
        put_bytes(&mut self.packet, field::TRACK_DESCRIPTOR, &track);
        self.put_packet(out);
    }

    fn event(&mut self, thread: &CallBuffer, event: &CallEvent<'_>, out: &mut Vec<u8>) -> bool {
        match *event {
            CallEvent::Enter { time, name } => {
                let (number, is_shared) = self.call_names.number(name);
                self.event.clear();
                put_number(
                    &mut self.event,
                    field::EVENT_NAME_IID,
                    u64::from(number) + 1,
                );
                self.put_slice(thread, SLICE_BEGIN, time, out);
                is_shared
            }
            CallEvent::Attribute { name, value } => {
                let (number, is_shared) = self.attribute_names.number(name);
                self.annotation.clear();
                let iid = u64::from(number) + 1;
                put_number(&mut self.annotation, field::ANNOTATION_NAME_IID, iid);
                put_value(&mut self.annotation, value);
                put_bytes(&mut self.annotations, field::ANNOTATION, &self.annotation);
                is_shared
            }
            CallEvent::Exit { time } => {
                self.event.clear();
                self.event.append(&mut self.annotations);
                self.put_slice(thread, SLICE_END, time, out);
                false
            }
            CallEvent::Lost { .. } => false,
        }
    }

    fn thread_ended(&mut self, _: &CallBuffer, _: u64, _: &mut Vec<u8>) {}

    fn end(&mut self, _: u64, _: &mut Vec<u8>) {}
}

fn put_value(out: &mut Vec<u8>, value: FieldValue<'_>) {
    match value {
        FieldValue::U64(number) => put_number(out, field::UNSIGNED, number),
        FieldValue::I64(number) => put_number(out, field::SIGNED, number.cast_unsigned()),
        FieldValue::F64(number) => {
            put_varint(out, u64::from(field::DOUBLE << 3 | 1));
            out.extend_from_slice(&number.to_le_bytes());
        }
        FieldValue::Text(text) => put_bytes(out, field::TEXT, text.as_bytes()),
        FieldValue::List(list) => {
            for item in list.items() {
                let mut value = Vec::new();
                put_value(&mut value, item);
                put_bytes(out, field::ARRAY, &value);
            }
        }
    }
}

fn put_number(out: &mut Vec<u8>, field: u32, number: u64) {
    put_varint(out, u64::from(field << 3));
    put_varint(out, number);
}

fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    put_varint(out, u64::from(field << 3 | 2));
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}
