//! Messages out, in either form: what raising writes.

use super::binary::{HEADER, Shape, Writer};
use super::message::Draft;
use super::seconds::NANOS;
use super::table::{Layout, Schema};
use super::xml::{Instruction, write_message};

/// How a binary stream is written: by default little-endian, by a process of 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct StreamForm {
    /// Numbers are big-endian.
    pub big: bool,
    /// The process had 32 bits. No number in the stream is shorter for it (SPEC.md §1).
    pub short: bool,
}

/// Writes messages in one of the two forms; times are nanoseconds.
pub(super) struct MessageEmitter {
    xml: bool,
    /// Numbers of the binary form are big-endian.
    big: bool,
    writer: Writer,
}

impl MessageEmitter {
    /// Begins a stream, or without a form a document.
    pub fn new(form: Option<StreamForm>, out: &mut Vec<u8>) -> Self {
        let shape = Shape {
            big: form.is_some_and(|form| form.big),
            ..Shape::default()
        };
        let mut writer = Writer::new(shape, true);
        if let Some(form) = form {
            writer.descriptor(0, u8::from(!form.short), out);
            writer.encoding("UTF-8", out);
            writer.frequency(NANOS, out);
        } else {
            out.extend_from_slice(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
            Instruction::default().write(out);
            out.extend_from_slice(b"\n<TRACE>\n");
        }
        Self {
            xml: form.is_none(),
            big: shape.big,
            writer,
        }
    }

    pub fn message(&mut self, draft: &Draft<'_>, out: &mut Vec<u8>) {
        if self.xml {
            write_message(&draft.message(), NANOS, out);
            out.push(b'\n');
        } else {
            self.writer.message(&draft.message(), out);
        }
    }

    /// Lays out a message of which nothing but these numbers differs from one to the next.
    pub fn fixed<const N: usize>(
        &mut self,
        schema: &'static Schema,
        attributes: [&'static str; N],
    ) -> Fixed<N> {
        let fields = schema.fields(Layout::Table);
        let mut bytes = Vec::new();
        self.writer
            .message(&Draft::new(schema).message(), &mut bytes);
        let mut layout = [0; ROOM];
        let room = layout.iter_mut().zip(&bytes);
        room.for_each(|(own, &byte)| *own = byte);
        let places = attributes.map(|attribute| {
            let position = schema
                .position(Layout::Table, attribute)
                .unwrap_or(usize::MAX);
            // Defaults take the least there is: what lies before a field is known.
            let before = fields.iter().take(position).map(|field| field.kind.least());
            let width = fields.get(position).map_or(0, |field| field.kind.least());
            NumberSlot {
                attribute,
                at: HEADER + before.sum::<usize>(),
                width: width.min(8),
            }
        });
        Fixed {
            schema,
            big: self.big,
            layout,
            len: bytes.len(),
            places,
        }
    }

    pub const fn is_xml(&self) -> bool {
        self.xml
    }

    /// Ends the document; a stream just ends.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        if self.xml {
            out.extend_from_slice(b"</TRACE>\n");
        }
    }
}

/// The room of a message laid out once, and where its numbers may begin: entries and exits have 85 bytes.
const ROOM: usize = 96;
const PLACES: usize = ROOM - 8;

/// A message laid out once.
pub(super) struct Fixed<const N: usize> {
    schema: &'static Schema,
    big: bool,
    /// It in binary, every field at its default, and what is left of the room.
    layout: [u8; ROOM],
    len: usize,
    places: [NumberSlot; N],
}

/// Where a number goes.
#[derive(Clone, Copy)]
struct NumberSlot {
    attribute: &'static str,
    /// Its first byte, and how many bytes it has, at most eight.
    at: usize,
    width: usize,
}

impl NumberSlot {
    /// Puts a number into the first bytes of eight.
    #[inline]
    fn put(self, field: [u8; 8], number: u64, big: bool) -> [u8; 8] {
        // The bits of the number, counted from the end that the first byte is.
        let own = u64::MAX.checked_shr(u32::try_from(64 - 8 * self.width).unwrap_or(0));
        let own = own.unwrap_or(0);
        if big {
            let shift = 64 - 8 * self.width.max(1);
            let others = u64::from_be_bytes(field) & !(own << shift);
            return (others | (number & own) << shift).to_be_bytes();
        }
        let others = u64::from_le_bytes(field) & !own;
        (others | number & own).to_le_bytes()
    }
}

impl<const N: usize> Fixed<N> {
    /// Returns how many bytes it takes in binary.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Appends the message with these numbers.
    #[inline]
    pub fn write(&self, emit: &mut MessageEmitter, numbers: [u64; N], out: &mut Vec<u8>) {
        if emit.xml {
            let places = self.places.iter().zip(numbers);
            let draft = places.fold(Draft::new(self.schema), |draft, (place, number)| {
                draft.number(place.attribute, number)
            });
            return emit.message(&draft, out);
        }
        let start = out.len();
        out.extend_from_slice(&self.layout);
        let message = out.get_mut(start..).unwrap_or_default();
        if let Some(message) = message.first_chunk_mut::<ROOM>() {
            for (place, number) in self.places.iter().zip(numbers) {
                // Numbers are put into eight bytes each, those before the last of them too.
                let at = place.at.min(PLACES);
                if let Some(field) = message.get_mut(at..at + 8)
                    && let Some(field) = field.first_chunk_mut()
                {
                    *field = place.put(*field, number, self.big);
                }
            }
        }
        out.truncate(start + self.len);
    }
}
