//! Packets, byte by byte. All numbers are big-endian.

use std::fmt::{self, Write as _};

use crate::bounds::{saturated_u16, saturated_u32};
use crate::calls::SpareBytes;
use crate::calls::put::fitting;
use crate::value::Value;

const EVENT: [u8; 4] = [0xc1, 0xfc, 0x1f, 0xb7];
const METADATA: [u8; 4] = [0x75, 0xd1, 0x1d, 0x4d];

/// Where the fields of an event lie that are filled in when it ends.
const SIZE: usize = 4;
const STREAM: usize = 8;
const COUNTER: usize = 12;
const SUBSTREAM: usize = 16;
const START: usize = 24;
const END: usize = 32;
/// Bytes of an event before its description.
const HEAD: usize = 40;

/// Lengths of texts and lists have two bytes.
const LONGEST: usize = u16::MAX as usize;

/// Returns the packet that dates a trace.
pub fn epoch(ns: u64) -> [u8; 23] {
    let mut packet = [0; 23];
    packet[..4].copy_from_slice(&METADATA);
    packet[7] = 23;
    packet[9] = 5;
    packet[10..15].copy_from_slice(b"epoch");
    packet[15..].copy_from_slice(&ns.to_be_bytes());
    packet
}

/// Splits the first packet off `bytes`, which are packets of this module; `None` at their end.
pub fn first(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let size: [u8; 4] = bytes.get(SIZE..STREAM)?.try_into().ok()?;
    bytes.split_at_checked(usize::try_from(u32::from_be_bytes(size)).ok()?)
}

/// Counts the packets in `bytes`.
pub fn count(mut bytes: &[u8]) -> u64 {
    let mut n = 0;
    while let Some((_, rest)) = first(bytes) {
        n += 1;
        bytes = rest;
    }
    n
}

/// Returns the end of the last packet that lies before `end` as a whole.
pub fn whole(bytes: &[u8], end: usize) -> usize {
    let mut whole = 0;
    while let Some((packet, _)) = first(&bytes[whole..]) {
        if whole + packet.len() > end {
            break;
        }
        whole += packet.len();
    }
    whole
}

/// An event that is being made.
#[derive(Debug)]
pub struct Packet {
    bytes: SpareBytes,
    cut: bool,
}

impl Packet {
    pub fn begin(name: &str, start: u64) -> Self {
        let mut packet = Self::head(start);
        packet.text(name);
        packet
    }

    /// Begins an event whose description is formatted into the packet.
    #[cfg(feature = "tracing")]
    pub fn begin_formatted(name: fmt::Arguments<'_>, start: u64) -> Self {
        let mut packet = Self::head(start);
        packet.formatted_text(name);
        packet
    }

    /// Changes when the event began.
    #[cfg(feature = "tracing")]
    pub fn set_start(&mut self, start: u64) {
        self.bytes.0[START..END].copy_from_slice(&start.to_be_bytes());
    }

    fn head(start: u64) -> Self {
        let mut bytes = SpareBytes::default();
        let mut head = [0; HEAD];
        head[..SIZE].copy_from_slice(&EVENT);
        head[START..END].copy_from_slice(&start.to_be_bytes());
        bytes.0.extend_from_slice(&head);
        Self { bytes, cut: false }
    }

    pub fn attribute(&mut self, name: &str, value: Value<'_>) {
        self.text(name);
        match value {
            Value::U64(number) => self.number(0x01, number.to_be_bytes()),
            Value::I64(number) => self.number(0x02, number.to_be_bytes()),
            Value::F64(number) => self.number(0x03, number.to_be_bytes()),
            Value::Text(text) => {
                self.bytes.0.push(0x04);
                self.text(text);
            }
            Value::U64s(list) => self.list(0x81, list, |out, item| {
                out.bytes.0.extend_from_slice(&item.to_be_bytes());
            }),
            Value::I64s(list) => self.list(0x82, list, |out, item| {
                out.bytes.0.extend_from_slice(&item.to_be_bytes());
            }),
            Value::F64s(list) => self.list(0x83, list, |out, item| {
                out.bytes.0.extend_from_slice(&item.to_be_bytes());
            }),
            Value::Texts(list) => self.list(0x84, list, |out, item| out.text(item)),
        }
    }

    /// Appends a text that is formatted into the packet.
    pub fn formatted(&mut self, name: &str, value: fmt::Arguments<'_>) {
        self.text(name);
        self.bytes.0.push(0x04);
        self.formatted_text(value);
    }

    fn formatted_text(&mut self, value: fmt::Arguments<'_>) {
        let length_at = self.bytes.0.len();
        self.bytes.0.extend_from_slice(&[0; 2]);
        let mut text = Formatted {
            room: LONGEST,
            out: self,
        };
        // A `Display` that fails leaves what it wrote before.
        let _ = text.write_fmt(value);
        let length = self.bytes.0.len() - length_at - 2;
        let length = saturated_u16(length);
        self.bytes.0[length_at..length_at + 2].copy_from_slice(&length.to_be_bytes());
    }

    /// Fills in everything but the counter.
    pub fn end(&mut self, stream: u32, substream: u64, end: u64) {
        // What is larger fits into no buffer and is dropped.
        let size = saturated_u32(self.bytes.0.len());
        self.bytes.0[SIZE..STREAM].copy_from_slice(&size.to_be_bytes());
        self.bytes.0[STREAM..COUNTER].copy_from_slice(&stream.to_be_bytes());
        self.bytes.0[SUBSTREAM..START].copy_from_slice(&substream.to_be_bytes());
        self.bytes.0[END..HEAD].copy_from_slice(&end.to_be_bytes());
    }

    pub fn set_counter(&mut self, counter: u32) {
        self.bytes.0[COUNTER..SUBSTREAM].copy_from_slice(&counter.to_be_bytes());
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes.0
    }

    /// Returns `true` if a text or a list was too long.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    fn number(&mut self, type_byte: u8, value: [u8; 8]) {
        let mut bytes = [type_byte; 9];
        bytes[1..].copy_from_slice(&value);
        self.bytes.0.extend_from_slice(&bytes);
    }

    fn text(&mut self, text: &str) {
        let fits = fitting(text, LONGEST);
        self.cut |= fits < text.len();
        self.length(fits);
        self.bytes.0.extend_from_slice(&text.as_bytes()[..fits]);
    }

    fn list<T>(&mut self, type_byte: u8, list: &[T], put: impl Fn(&mut Self, &T)) {
        self.bytes.0.push(type_byte);
        let fits = list.len().min(LONGEST);
        self.cut |= fits < list.len();
        self.length(fits);
        for item in &list[..fits] {
            put(self, item);
        }
    }

    fn length(&mut self, length: usize) {
        let length = saturated_u16(length);
        self.bytes.0.extend_from_slice(&length.to_be_bytes());
    }
}

struct Formatted<'p> {
    room: usize,
    out: &'p mut Packet,
}

impl fmt::Write for Formatted<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let fits = fitting(text, self.room);
        self.out.bytes.0.extend_from_slice(&text.as_bytes()[..fits]);
        self.room -= fits;
        if fits < text.len() {
            self.out.cut = true;
            // Nothing goes behind the place of the cut.
            self.room = 0;
            return Err(fmt::Error);
        }
        Ok(())
    }
}
