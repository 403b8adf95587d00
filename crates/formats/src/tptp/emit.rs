//! Messages out, in either form: what raising and the sample generator share.

use super::binary::Writer;
use super::message::Draft;
use super::seconds::NANOS;
use super::xml::{Instruction, write_message};

/// Bytes gathered before they are handed on.
pub(super) const FLUSH: usize = 64 << 10;

/// Writes messages in one of the two forms; times are nanoseconds.
pub(super) struct Emit {
    xml: bool,
    writer: Writer,
    pub out: Vec<u8>,
}

impl Emit {
    /// Begins a stream or a document.
    pub fn new(xml: bool) -> Self {
        let mut emit = Self {
            xml,
            writer: Writer::default(),
            out: Vec::with_capacity(FLUSH + FLUSH / 4),
        };
        if xml {
            emit.out
                .extend_from_slice(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
            Instruction::default().write(&mut emit.out);
            emit.out.extend_from_slice(b"\n<TRACE>\n");
        } else {
            emit.writer.descriptor(0, 1, &mut emit.out);
            emit.writer.encoding("UTF-8", &mut emit.out);
            emit.writer.frequency(NANOS, &mut emit.out);
        }
        emit
    }

    pub fn message(&mut self, draft: &Draft<'_>) {
        if self.xml {
            write_message(&draft.message(), NANOS, &mut self.out);
            self.out.push(b'\n');
        } else {
            self.writer.message(&draft.message(), &mut self.out);
        }
    }

    /// Ends the document; a stream just ends.
    pub fn end(&mut self) {
        if self.xml {
            self.out.extend_from_slice(b"</TRACE>\n");
        }
    }
}
