//! Binary to XML and back through the records and the table, never through the model (SPEC.md §7).

use std::collections::BTreeMap;

use traceloom_model::{Flow, Limits, Note};

use super::binary::{Binary, Changed, Data, Shape, Writer};
use super::charset::Charset;
use super::message::{Message, Slot};
use super::seconds;
use super::table::{Kind, Layout, MOST_FIELDS};
use super::visit::{Item, Visit};
use super::xml::{Element, Instruction, Piece, Xml, write_message};
use crate::native::Change;
use crate::{Chunk, Error, Output, Pull, Record, Step};

/// Bytes searched for the frequency and the charset that a document begins with.
const HEAD: usize = 64 << 10;

/// Bytes gathered before they are handed to the output.
const FLUSH: usize = 64 << 10;

type Notes<'n> = &'n mut dyn FnMut(Note) -> Flow;

/// Writes a binary stream as an XML document.
///
/// A little-endian stream of UTF-8 and nanoseconds comes back byte for byte from [`to_binary`]; so does
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
        common: Common::new(output, notes),
    };
    let out = &mut writer.common.out;
    out.extend_from_slice(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    instruction.write(out);
    out.extend_from_slice(b"\n<TRACE>\n");
    let mut reader = Binary::new(limits);
    drive(pull, |chunk| reader.run(chunk, &mut writer))?;
    writer.common.out.extend_from_slice(b"</TRACE>\n");
    writer.common.finish()
}

/// Writes an XML trace as a binary stream: as its processing instruction says, else little-endian,
/// UTF-8 and nanoseconds.
///
/// # Errors
/// What the input or the output fails with.
pub fn to_binary(
    pull: &mut dyn Pull,
    limits: &Limits,
    output: &mut dyn Output,
    notes: Notes<'_>,
) -> Result<Vec<Change>, Error> {
    let mut writer = ToBinary {
        instruction: Instruction::default(),
        begun: None,
        common: Common::new(output, notes),
    };
    let mut reader = Xml::new(limits);
    drive(pull, |chunk| reader.run(chunk, &mut writer))?;
    writer.writer();
    writer.common.finish()
}

fn drive(pull: &mut dyn Pull, mut read: impl FnMut(Chunk<'_>) -> Step) -> Result<(), Error> {
    let (mut consumed, mut need) = (0, 1);
    loop {
        let chunk = pull.pull(consumed, need)?;
        let eof = chunk.eof;
        match read(chunk) {
            Step::More {
                consumed: taken,
                need: wanted,
            } if !eof => (consumed, need) = (taken, wanted),
            _ => return Ok(()),
        }
    }
}

/// Where both directions write, and what they tell.
struct Common<'o> {
    out: Vec<u8>,
    output: &'o mut dyn Output,
    notes: Notes<'o>,
    changes: BTreeMap<(bool, &'static str, &'static str), (u64, u64)>,
    error: Option<Error>,
}

impl<'o> Common<'o> {
    fn new(output: &'o mut dyn Output, notes: Notes<'o>) -> Self {
        Self {
            out: Vec::with_capacity(FLUSH + FLUSH / 4),
            output,
            notes,
            changes: BTreeMap::new(),
            error: None,
        }
    }

    fn lost(&mut self, kind: &'static str, field: &'static str, count: u64, offset: u64) {
        self.tell(true, kind, field, count, offset);
    }

    fn changed(&mut self, kind: &'static str, field: &'static str, count: u64, offset: u64) {
        self.tell(false, kind, field, count, offset);
    }

    #[inline]
    fn tell(
        &mut self,
        lost: bool,
        kind: &'static str,
        field: &'static str,
        count: u64,
        offset: u64,
    ) {
        if count > 0 {
            let entry = self
                .changes
                .entry((!lost, kind, field))
                .or_insert((0, offset));
            entry.0 += count;
        }
    }

    #[inline]
    fn flush(&mut self) -> Flow {
        if self.out.len() < FLUSH {
            Flow::Continue(())
        } else {
            self.flush_all()
        }
    }

    #[cold]
    fn flush_all(&mut self) -> Flow {
        let written = self.output.write("", &self.out);
        self.out.clear();
        match written {
            Ok(()) => Flow::Continue(()),
            Err(error) => {
                self.error = Some(error);
                Flow::Break(())
            }
        }
    }

    fn finish(mut self) -> Result<Vec<Change>, Error> {
        if self.error.is_none() {
            let _ = self.flush_all();
        }
        if let Some(error) = self.error {
            return Err(error);
        }
        let rows = self.changes.into_iter();
        Ok(rows
            .map(|((kept, kind, field), (count, offset))| Change {
                lost: !kept,
                kind,
                field,
                count,
                offset,
            })
            .collect())
    }
}

/// What a document about this stream begins with.
fn begin(chunk: Chunk<'_>, limits: &Limits) -> Instruction {
    struct Begin {
        instruction: Instruction,
        data: bool,
    }
    impl Visit for Begin {
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
    let mut begin = Begin {
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
    Binary::new(limits).run(
        Chunk {
            bytes,
            eof,
            ..chunk
        },
        &mut begin,
    );
    begin.instruction
}

struct ToXml<'o> {
    ticks_per_second: u64,
    /// Letters of the instruction's list of system messages.
    written: usize,
    systems: usize,
    common: Common<'o>,
}

impl ToXml<'_> {
    fn data(&mut self, data: &Data<'_>) -> Flow {
        let Common { out, .. } = &mut self.common;
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

struct ToBinary<'o> {
    instruction: Instruction,
    begun: Option<Writer>,
    common: Common<'o>,
}

impl ToBinary<'_> {
    /// Writes what a stream begins with when its first message comes.
    fn writer(&mut self) -> &mut Writer {
        let Self {
            instruction,
            begun,
            common,
        } = self;
        begun.get_or_insert_with(|| {
            let shape = Shape {
                big: instruction.big,
                exclusive: instruction.exclusive,
                newer: false,
            };
            let out = &mut common.out;
            let mut writer = Writer::new(shape, true);
            writer.descriptor(instruction.minor, u8::from(instruction.wide), out);
            let mut letters = instruction.system.chars().peekable();
            while let Some(letter) = letters.next() {
                writer.size_system(letters.next_if_eq(&'u').is_none());
                match letter {
                    'e' => {
                        let name = instruction.encoding.as_deref().unwrap_or("UTF-8");
                        writer.encoding(name, out);
                    }
                    'f' => writer.frequency(instruction.frequency.unwrap_or(0), out),
                    _ => {}
                }
            }
            writer.size_system(true);
            writer
        })
    }

    fn message(&mut self, element: &Element<'_>, message: &Message<'_>) -> Flow {
        let mut values = [Slot::Number(0); MOST_FIELDS];
        let per_second = self
            .instruction
            .frequency
            .filter(|&ticks| ticks > 0)
            .unwrap_or(seconds::NANOS);
        let mut wide_times = 0;
        let scaled = if per_second == seconds::NANOS {
            *message
        } else {
            for ((to, from), field) in values.iter_mut().zip(message.values).zip(message.fields()) {
                *to = match (*from, field.kind) {
                    (Slot::Number(nanos), Kind::Ticks) => {
                        let ticks = seconds::ticks_of(nanos, per_second);
                        wide_times += u64::from(ticks.is_none());
                        Slot::Number(ticks.unwrap_or(u64::MAX))
                    }
                    (slot, _) => slot,
                };
            }
            Message {
                values: values.get(..message.values.len()).unwrap_or_default(),
                ..*message
            }
        };
        self.writer();
        let Some(writer) = &mut self.begun else {
            return Flow::Continue(());
        };
        let Changed { texts, charset } = writer.message(&scaled, &mut self.common.out);
        let kind = message.schema.kind;
        let common = &mut self.common;
        common.changed(kind, "time", wide_times, element.offset);
        common.changed(kind, "text", texts, element.offset);
        common.changed("encoding", "charset", charset.into(), element.offset);
        common.flush()
    }

    /// An element that no table has becomes a custom message: TPTP's probes emit such elements.
    fn custom(&mut self, element: &Element<'_>) -> Flow {
        use super::message::{Frames, Texts};
        let Some(schema) = super::table::by_id(1041) else {
            return Flow::Continue(());
        };
        let values = [Slot::Text(element.raw)];
        let message = Message {
            schema,
            layout: Layout::Table,
            values: &values,
            frames: Frames::None,
            texts: Texts {
                charset: element.charset,
                ..Texts::default()
            },
        };
        self.message(element, &message)
    }

    fn piece(&mut self, piece: &Piece<'_>) {
        match piece.kind {
            "instruction" => {
                let text = piece.charset.decode(piece.raw).unwrap_or_else(Into::into);
                match Instruction::read(&text) {
                    Some(instruction) if self.begun.is_none() => self.instruction = instruction,
                    _ => self.common.lost("instruction", "text", 1, piece.offset),
                }
            }
            "comment" | "cdata" | "doctype" => {
                self.common.lost(piece.kind, "text", 1, piece.offset)
            }
            "text"
                if piece
                    .raw
                    .iter()
                    .any(|b| !b.is_ascii_whitespace() && *b != 0) =>
            {
                self.common.lost("text", "text", 1, piece.offset);
            }
            _ => {}
        }
    }
}

impl Visit for ToBinary<'_> {
    fn item(&mut self, item: Item<'_, '_>) -> Flow {
        match item {
            Item::Element(element) => match &element.message {
                Some(message) => return self.message(element, message),
                None => return self.custom(element),
            },
            Item::Piece(piece) => self.piece(piece),
            Item::Opaque(opaque) => {
                self.common
                    .lost(opaque.kind, "data", opaque.len(), opaque.offset)
            }
            _ => {}
        }
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        // An attribute that no table has, or whose value fits no field, has nowhere to go.
        if note.kind == "unknown_attribute" {
            self.common
                .lost("attribute", "value", note.count, note.offset);
        }
        (self.common.notes)(note)
    }
}
