//! An XML document or fragment as a binary stream.

use traceloom_model::{Flow, Limits, Note};

use super::{ConversionOutput, Notes};
use crate::Change;
use crate::codec::each_window;
use crate::tptp::binary::{Changed, Shape, Writer};
use crate::tptp::message::{Frames, Message, Slot, Texts};
use crate::tptp::seconds;
use crate::tptp::table::{Kind, Layout, MOST_FIELDS, by_id};
use crate::tptp::visit::{Item, Visit};
use crate::tptp::xml::{self, Element, Instruction, Piece};
use crate::{Error, Output, Pull, Record};

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
        common: ConversionOutput::new(output, notes),
    };
    let mut reader = xml::Reader::new(limits);
    let mut visitor: &mut dyn Visit = &mut writer;
    each_window(pull, 1, |chunk| reader.read(chunk, &mut visitor))?;
    writer.writer();
    writer.common.finish()
}

struct ToBinary<'o> {
    instruction: Instruction,
    begun: Option<Writer>,
    common: ConversionOutput<'o>,
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
        let mut times = 0;
        let scaled = if per_second == seconds::NANOS {
            *message
        } else {
            for ((to, from), field) in values.iter_mut().zip(message.values).zip(message.fields()) {
                *to = match (*from, field.kind) {
                    (Slot::Number(nanos), Kind::Ticks) => {
                        let ticks = seconds::ticks_of(nanos, per_second);
                        // A time between two ticks goes to the nearer one.
                        let back = ticks.map(|ticks| seconds::nanos_of(ticks, per_second));
                        times += u64::from(back != Some(nanos.into()));
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
        common.changed(kind, "time", times, element.offset);
        common.changed(kind, "text", texts, element.offset);
        common.changed("encoding", "charset", charset.into(), element.offset);
        common.flush()
    }

    /// An element that no table has becomes a custom message: TPTP's probes emit such elements.
    fn custom(&mut self, element: &Element<'_>) -> Flow {
        let Some(schema) = by_id(1041) else {
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
            "root_start" if has_attributes(piece) => {
                self.common
                    .lost("root_start", "attributes", 1, piece.offset);
            }
            "comment" | "cdata" | "doctype" | "end_tag" => {
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

fn has_attributes(tag: &Piece<'_>) -> bool {
    let text = tag.charset.decode(tag.raw).unwrap_or_else(Into::into);
    text.contains('=')
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
        // What the reader could not put into a field has nowhere to go.
        let common = &mut self.common;
        let (count, offset) = (note.count, note.offset);
        match note.kind {
            "unknown_attribute" | "bad_attribute" | "bad_number" | "repeated_value" => {
                common.lost("attribute", note.kind, count, offset);
            }
            "unknown_content" => common.lost("element", "content", count, offset),
            "time_cut" => common.changed("attribute", "time", count, offset),
            "stack_depth" => common.changed("attribute", "stack_depth", count, offset),
            _ => {}
        }
        (common.notes)(note)
    }
}
