//! Packets, byte by byte. All numbers are big-endian.

use std::cell::RefCell;
use std::fmt::{self, Write as _};

use super::value::Value;

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
    bytes: Vec<u8>,
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
        self.bytes[START..END].copy_from_slice(&start.to_be_bytes());
    }

    fn head(start: u64) -> Self {
        let mut bytes = take_spare();
        let mut head = [0; HEAD];
        head[..SIZE].copy_from_slice(&EVENT);
        head[START..END].copy_from_slice(&start.to_be_bytes());
        bytes.extend_from_slice(&head);
        Self { bytes, cut: false }
    }

    pub fn attribute(&mut self, name: &str, value: Value<'_>) {
        self.text(name);
        match value {
            Value::U64(number) => self.number(0x01, number.to_be_bytes()),
            Value::I64(number) => self.number(0x02, number.to_be_bytes()),
            Value::F64(number) => self.number(0x03, number.to_be_bytes()),
            Value::Text(text) => {
                self.bytes.push(0x04);
                self.text(text);
            }
            Value::U64s(list) => self.list(0x81, list, |out, item| {
                out.bytes.extend_from_slice(&item.to_be_bytes());
            }),
            Value::I64s(list) => self.list(0x82, list, |out, item| {
                out.bytes.extend_from_slice(&item.to_be_bytes());
            }),
            Value::F64s(list) => self.list(0x83, list, |out, item| {
                out.bytes.extend_from_slice(&item.to_be_bytes());
            }),
            Value::Texts(list) => self.list(0x84, list, |out, item| out.text(item)),
        }
    }

    /// Appends a text that is formatted into the packet.
    pub fn formatted(&mut self, name: &str, value: fmt::Arguments<'_>) {
        self.text(name);
        self.bytes.push(0x04);
        self.formatted_text(value);
    }

    fn formatted_text(&mut self, value: fmt::Arguments<'_>) {
        let length_at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 2]);
        let mut text = Formatted {
            room: LONGEST,
            out: self,
        };
        // A `Display` that fails leaves what it wrote before.
        let _ = text.write_fmt(value);
        let length = self.bytes.len() - length_at - 2;
        let length = u16::try_from(length).unwrap_or(u16::MAX);
        self.bytes[length_at..length_at + 2].copy_from_slice(&length.to_be_bytes());
    }

    /// Fills in everything but the counter.
    pub fn end(&mut self, stream: u32, substream: u64, end: u64) {
        // What is larger fits into no buffer and is dropped.
        let size = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bytes[SIZE..STREAM].copy_from_slice(&size.to_be_bytes());
        self.bytes[STREAM..COUNTER].copy_from_slice(&stream.to_be_bytes());
        self.bytes[SUBSTREAM..START].copy_from_slice(&substream.to_be_bytes());
        self.bytes[END..HEAD].copy_from_slice(&end.to_be_bytes());
    }

    pub fn set_counter(&mut self, counter: u32) {
        self.bytes[COUNTER..SUBSTREAM].copy_from_slice(&counter.to_be_bytes());
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns `true` if a text or a list was too long.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    fn number(&mut self, type_byte: u8, value: [u8; 8]) {
        let mut bytes = [type_byte; 9];
        bytes[1..].copy_from_slice(&value);
        self.bytes.extend_from_slice(&bytes);
    }

    fn text(&mut self, text: &str) {
        let fits = fitting(text, LONGEST);
        self.cut |= fits < text.len();
        self.length(fits);
        self.bytes.extend_from_slice(&text.as_bytes()[..fits]);
    }

    fn list<T>(&mut self, type_byte: u8, list: &[T], put: impl Fn(&mut Self, &T)) {
        self.bytes.push(type_byte);
        let fits = list.len().min(LONGEST);
        self.cut |= fits < list.len();
        self.length(fits);
        for item in &list[..fits] {
            put(self, item);
        }
    }

    fn length(&mut self, length: usize) {
        let length = u16::try_from(length).unwrap_or(u16::MAX);
        self.bytes.extend_from_slice(&length.to_be_bytes());
    }
}

impl Drop for Packet {
    fn drop(&mut self) {
        give_spare(std::mem::take(&mut self.bytes));
    }
}

/// Returns how many bytes of `text` fit into `room` bytes as whole characters.
fn fitting(text: &str, room: usize) -> usize {
    let mut fits = text.len().min(room);
    while !text.is_char_boundary(fits) {
        fits -= 1;
    }
    fits
}

struct Formatted<'p> {
    room: usize,
    out: &'p mut Packet,
}

impl fmt::Write for Formatted<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let fits = fitting(text, self.room);
        self.out.bytes.extend_from_slice(&text.as_bytes()[..fits]);
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

/// Bytes of packets that a thread keeps for the next ones, and how large they may be.
const MOST_SPARES: usize = 64;
const LARGEST_SPARE: usize = 4096;

thread_local! {
    static SPARES: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

fn take_spare() -> Vec<u8> {
    let spare = SPARES.try_with(|spares| spares.borrow_mut().pop());
    spare
        .ok()
        .flatten()
        .unwrap_or_else(|| Vec::with_capacity(256))
}

fn give_spare(mut bytes: Vec<u8>) {
    if bytes.capacity() > LARGEST_SPARE {
        return;
    }
    bytes.clear();
    // A thread that is ending has none.
    let _ = SPARES.try_with(|spares| {
        let mut spares = spares.borrow_mut();
        if spares.len() < MOST_SPARES {
            spares.push(bytes);
        }
    });
}
