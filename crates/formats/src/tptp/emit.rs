//! Messages out, in either form: what raising and the sample generator share.

use super::binary::{HEADER, Writer};
use super::message::Draft;
use super::seconds::NANOS;
use super::table::{Layout, Schema};
use super::xml::{Instruction, write_message};

/// Bytes gathered before they are handed on.
pub(super) const FLUSH: usize = 64 << 10;

/// Writes messages in one of the two forms; times are nanoseconds.
pub(super) struct Emit {
    xml: bool,
    writer: Writer,
}

impl Emit {
    /// Begins a stream or a document.
    pub fn new(xml: bool, out: &mut Vec<u8>) -> Self {
        let mut writer = Writer::default();
        if xml {
            out.extend_from_slice(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
            Instruction::default().write(out);
            out.extend_from_slice(b"\n<TRACE>\n");
        } else {
            writer.descriptor(0, 1, out);
            writer.encoding("UTF-8", out);
            writer.frequency(NANOS, out);
        }
        Self { xml, writer }
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
            Place {
                attribute,
                at: HEADER + before.sum::<usize>(),
                mask: (0..8 * width.min(8)).fold(0, |mask, bit| mask | 1 << bit),
            }
        });
        Fixed {
            schema,
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
    /// It in binary, every field at its default, and what is left of the room.
    layout: [u8; ROOM],
    len: usize,
    places: [Place; N],
}

/// Where a number goes.
#[derive(Clone, Copy)]
struct Place {
    attribute: &'static str,
    /// Its first byte, and which bits of eight bytes from there are its own.
    at: usize,
    mask: u64,
}

impl<const N: usize> Fixed<N> {
    /// Returns how many bytes it takes in binary.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Appends the message with these numbers.
    #[inline]
    pub fn write(&self, emit: &mut Emit, numbers: [u64; N], out: &mut Vec<u8>) {
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
                    let others = u64::from_le_bytes(*field) & !place.mask;
                    *field = (others | number & place.mask).to_le_bytes();
                }
            }
        }
        out.truncate(start + self.len);
    }
}
