//! A binary stream as an XML document.

use traceloom_model::{Flow, Limits, Note};

use super::{ConversionOutput, Notes};
use crate::Change;
use crate::codec::each_window;
use crate::tptp::binary::{self, Data};
use crate::tptp::charset::Charset;
use crate::tptp::seconds;
use crate::tptp::table::Layout;
use crate::tptp::visit::{Item, Visit};
use crate::tptp::xml::{Instruction, write_message};
use crate::{Chunk, Error, Output, Pull, Record};

/// Bytes searched for the frequency and the charset that a document begins with.
const HEAD: usize = 64 << 10;

/// Writes a binary stream as an XML document.
///
/// A little-endian stream of UTF-8 and nanoseconds comes back byte for byte from [`super::to_binary`]; so does
/// any other, as long as the answer names no change.
///
/// # Errors
/// What the input or the output fails with.
pub fn to_xml(
    pull: &mut dyn Pull,
    limits: &Limits,
    output: &mut dyn Output,
    notes: Notes<'_>,
) -> Result<Vec<Change>, Error> {
    let instruction = begin(pull.pull(0, HEAD)?, limits);
    let mut writer = ToXml {
        ticks_per_second: instruction
            .frequency
            .filter(|&ticks| ticks > 0)
            .unwrap_or(seconds::NANOS),
        written: instruction.system.len(),
        systems: 0,
        common: ConversionOutput::new(output, notes),
    };
    let out = &mut writer.common.out;
    out.extend_from_slice(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    instruction.write(out);
    out.extend_from_slice(b"\n<TRACE>\n");
    let mut reader = binary::Reader::new(limits);
    let mut visitor: &mut dyn Visit = &mut writer;
    each_window(pull, 1, |chunk| reader.read(chunk, &mut visitor))?;
    writer.common.out.extend_from_slice(b"</TRACE>\n");
    writer.common.finish()
}

/// What a document about this stream begins with.
fn begin(chunk: Chunk<'_>, limits: &Limits) -> Instruction {
    struct XmlBegin {
        instruction: Instruction,
        data: bool,
    }
    impl Visit for XmlBegin {
        fn item(&mut self, item: Item<'_, '_>) -> Flow {
            let sized = match item {
                Item::Descriptor(descriptor) => {
                    self.instruction.minor = descriptor.minor;
                    self.instruction.wide = descriptor.platform != 0;
                    self.instruction.big = descriptor.endianness == 0;
                    return Flow::Continue(());
                }
                Item::Data(data) => {
                    self.instruction.exclusive = data.shape().exclusive;
                    self.data = true;
                    return Flow::Continue(());
                }
                Item::Encoding(encoding) => {
                    let name = String::from_utf8_lossy(encoding.name);
                    if self.instruction.encoding.is_none() && Charset::named(&name).is_ok() {
                        self.instruction.encoding = Some(name.into_owned());
                    }
                    encoding.sized
                }
                Item::Frequency(frequency) => {
                    self.instruction
                        .frequency
                        .get_or_insert(frequency.ticks_per_second());
                    frequency.sized
                }
                _ => return Flow::Continue(()),
            };
            if !self.data {
                let letter = if matches!(item, Item::Encoding(_)) {
                    "e"
                } else {
                    "f"
                };
                self.instruction.system += letter;
                if !sized {
                    self.instruction.system += "u";
                }
            }
            Flow::Continue(())
        }

        fn note(&mut self, _note: Note) -> Flow {
            Flow::Continue(())
        }
    }
    let mut begin = XmlBegin {
        instruction: Instruction {
            frequency: None,
            encoding: None,
            system: String::new(),
            ..Instruction::default()
        },
        data: false,
    };
    let bytes = chunk.bytes.get(..HEAD).unwrap_or(chunk.bytes);
    let eof = chunk.eof && bytes.len() == chunk.bytes.len();
    binary::Reader::new(limits).read(
        Chunk {
            bytes,
            eof,
            ..chunk
        },
        &mut (&mut begin as &mut dyn Visit),
    );
    begin.instruction
}

struct ToXml<'o> {
    ticks_per_second: u64,
    /// Letters of the instruction's list of system messages.
    written: usize,
    systems: usize,
    common: ConversionOutput<'o>,
}

impl ToXml<'_> {
    fn data(&mut self, data: &Data<'_>) -> Flow {
        let ConversionOutput { out, .. } = &mut self.common;
        let dropped = write_message(&data.message, self.ticks_per_second, out);
        out.push(b'\n');
        let (offset, common) = (data.offset, &mut self.common);
        let kind = data.message.schema.kind;
        common.changed(kind, "text", dropped.texts, offset);
        common.changed(kind, "time", dropped.times, offset);
        let broken = data.message.layout == Layout::Broken;
        if broken || !data.trailing.is_empty() {
            common.lost(kind, if broken { "stack" } else { "trailing" }, 1, offset);
        }
        let relaid = match data.message.layout {
            Layout::Wide => {
                data.message.schema.id == 1016
                    || data.message.number("objIdRef") == 0
                        && data.message.number("transientClassIdRef") == 0
            }
            Layout::Counted => true,
            _ => false,
        };
        common.changed(kind, "layout", relaid.into(), offset);
        common.changed(kind, "size", data.declared.is_some().into(), offset);
        common.flush()
    }

    /// A system message has its place in the instruction when it comes first and says nothing new.
    fn system(&mut self, sized: bool, kind: &'static str, kept: bool, offset: u64) -> Flow {
        self.systems += if sized { 1 } else { 2 };
        if self.systems > self.written || !kept {
            self.common.changed(kind, "place", 1, offset);
        }
        Flow::Continue(())
    }
}

impl Visit for ToXml<'_> {
    fn item(&mut self, item: Item<'_, '_>) -> Flow {
        match item {
            Item::Data(data) => return self.data(data),
            Item::Encoding(encoding) => {
                let kept = std::str::from_utf8(encoding.name)
                    .is_ok_and(|name| Charset::named(name).is_ok());
                return self.system(
                    encoding.sized,
                    "encoding",
                    kept && self.systems < 4,
                    encoding.offset,
                );
            }
            Item::Frequency(frequency) => {
                let same = !frequency.as_double && frequency.bits == self.ticks_per_second;
                return self.system(
                    frequency.sized,
                    "frequency",
                    same || frequency.bits == 0,
                    frequency.offset,
                );
            }
            Item::Descriptor(descriptor) => {
                let usual = descriptor.magic == *b"0TBF" && descriptor.platform <= 1;
                self.common
                    .changed("descriptor", "magic", u64::from(!usual), 0);
                let gap = u64::from(descriptor.offset_to_data != 12);
                self.common.changed("descriptor", "offset_to_data", gap, 8);
            }
            Item::Unknown(unknown) => self.common.lost("unknown", "payload", 1, unknown.offset),
            Item::Opaque(opaque) => {
                self.common
                    .lost(opaque.kind, "data", opaque.len(), opaque.offset)
            }
            Item::Element(_) | Item::Piece(_) => {}
        }
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        (self.common.notes)(note)
    }
}
