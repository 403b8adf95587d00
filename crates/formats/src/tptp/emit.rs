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
        let places = attributes.map(|attribute| {
            let position = schema
                .position(Layout::Table, attribute)
                .unwrap_or(usize::MAX);
            // Defaults take the least there is: what lies before a field is known.
            let before = fields.iter().take(position).map(|field| field.kind.least());
            let at = HEADER + before.sum::<usize>();
            let width = fields.get(position).map_or(0, |field| field.kind.least());
            Place {
                attribute,
                at,
                width,
            }
        });
        Fixed {
            schema,
            bytes,
            places,
        }
    }

    /// Ends the document; a stream just ends.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        if self.xml {
            out.extend_from_slice(b"</TRACE>\n");
        }
    }
}

/// A message laid out once.
pub(super) struct Fixed<const N: usize> {
    schema: &'static Schema,
    /// It in binary, every field at its default.
    bytes: Vec<u8>,
    places: [Place; N],
}

/// Where a number goes.
#[derive(Clone, Copy)]
struct Place {
    attribute: &'static str,
    /// Its first byte and how many it has.
    at: usize,
    width: usize,
}

impl<const N: usize> Fixed<N> {
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
        out.extend_from_slice(&self.bytes);
        let message = out.get_mut(start..).unwrap_or_default();
        for (place, number) in self.places.iter().zip(numbers) {
            let number = number.to_le_bytes();
            let field = message.get_mut(place.at..).unwrap_or_default();
            if place.width == 8
                && let Some(field) = field.first_chunk_mut()
            {
                *field = number;
            } else {
                let bytes = field.iter_mut().zip(number).take(place.width);
                bytes.for_each(|(byte, own)| *byte = own);
            }
        }
    }
}
