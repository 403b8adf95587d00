//! Messages as bytes.

use traceloom_model::bounds::row_number;

use super::{Descriptor, Shape};
use crate::Record;
use crate::tptp::charset::Charset;
use crate::tptp::message::{Form, Message, Slot};
use crate::tptp::table::{Kind, Layout};

/// Writes a system message.
pub(super) fn system(
    shape: Shape,
    id: u16,
    sized: bool,
    out: &mut Vec<u8>,
    payload: impl FnOnce(&mut Vec<u8>),
) {
    if sized {
        shape.header(id, None, out, payload);
    } else {
        shape.put_u16(id, out);
        payload(out);
    }
}

/// Writes the fields of a message, strings as they are.
pub(super) fn payload(message: &Message<'_>, shape: Shape, out: &mut Vec<u8>) {
    let count = |out: &mut Vec<u8>| {
        if message.layout == Layout::Counted {
            let count = row_number(message.frames.count());
            shape.put_u32(count, out);
        }
    };
    for (field, slot) in message.fields().iter().zip(message.values) {
        match field.kind {
            Kind::Methods => {
                count(out);
                message.frames.each(&mut |method, _| {
                    out.extend_from_slice(method);
                    out.push(0);
                });
            }
            Kind::Lines => {
                count(out);
                message.frames.each(&mut |_, line| shape.put_u64(line, out));
            }
            kind => value(kind, *slot, shape, out),
        }
    }
}

fn value(kind: Kind, slot: Slot<'_>, shape: Shape, out: &mut Vec<u8>) {
    match slot {
        Slot::Text(text) => {
            out.extend_from_slice(text);
            out.push(0);
        }
        Slot::Number(number) => match kind {
            Kind::Byte => out.push(number.to_le_bytes()[0]),
            Kind::Int | Kind::Signed => {
                let [a, b, c, d, ..] = number.to_le_bytes();
                shape.put_u32(u32::from_le_bytes([a, b, c, d]), out);
            }
            _ => shape.put_u64(number, out),
        },
    }
}

/// What a message lost or changed when it was encoded anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Changed {
    /// Strings with characters that no charset can give back.
    pub texts: u64,
    /// The stream went over to UTF-8 for this message.
    pub charset: bool,
}

/// Writes a whole binary stream, strings encoded anew.
#[derive(Clone, Debug)]
pub struct Writer {
    shape: Shape,
    sized: bool,
    charset: Charset,
    scratch: Vec<u8>,
}

impl Default for Writer {
    /// Little-endian, sizes with their header, system messages with sizes, UTF-8 (SPEC.md §10).
    fn default() -> Self {
        Self::new(Shape::default(), true)
    }
}

impl Writer {
    /// A writer for streams of this shape; `sized` says whether system messages carry their size.
    #[must_use]
    pub fn new(shape: Shape, sized: bool) -> Self {
        Self {
            shape,
            sized,
            charset: Charset::Utf8,
            scratch: Vec::new(),
        }
    }

    /// Says whether the system messages from here on carry their size.
    pub fn size_system(&mut self, sized: bool) {
        self.sized = sized;
    }

    /// Appends a descriptor.
    pub fn descriptor(&self, minor: u8, platform: u8, out: &mut Vec<u8>) {
        let descriptor = Descriptor {
            magic: *b"0TBF",
            major: 1,
            minor,
            platform,
            endianness: u8::from(!self.shape.big),
            offset_to_data: 12,
        };
        descriptor.write(out);
    }

    /// Appends an encoding message; the strings after it follow it.
    ///
    /// Returns false, with nothing appended, when the charset cannot hold strings that end in NUL.
    pub fn encoding(&mut self, name: &str, out: &mut Vec<u8>) -> bool {
        let Ok(charset) = Charset::named(name) else {
            return false;
        };
        self.charset = charset;
        system(self.shape, 1, self.sized, out, |out| {
            out.extend_from_slice(name.as_bytes());
            out.push(0);
        });
        true
    }

    /// Appends a frequency message.
    pub fn frequency(&self, ticks_per_second: u64, out: &mut Vec<u8>) {
        system(self.shape, 2, self.sized, out, |out| {
            self.shape.put_u64(ticks_per_second, out);
        });
    }

    /// Appends a message as the table has it, times as they are given.
    ///
    /// A character that the stream's charset lacks makes the stream go over to UTF-8; NUL and bytes
    /// that were no text become U+FFFD.
    pub fn message(&mut self, message: &Message<'_>, out: &mut Vec<u8>) -> Changed {
        let start = out.len();
        let mut changed = Changed::default();
        if !self.try_message(message, &mut changed, out) {
            out.truncate(start);
            changed = Changed {
                charset: true,
                ..Changed::default()
            };
            self.encoding("UTF-8", out);
            self.try_message(message, &mut changed, out);
        }
        changed
    }

    fn try_message(
        &mut self,
        message: &Message<'_>,
        changed: &mut Changed,
        out: &mut Vec<u8>,
    ) -> bool {
        let Self {
            shape,
            charset,
            scratch,
            ..
        } = self;
        let (shape, mut good) = (*shape, true);
        let mut text = |raw: &[u8], out: &mut Vec<u8>| {
            scratch.clear();
            // UTF-8 without references is the same in both forms.
            if *charset == Charset::Utf8
                && message.texts.charset == Charset::Utf8
                && (message.texts.form == Form::Plain
                    || memchr::memchr3(b'&', b'\n', b'\t', raw).is_none())
                && memchr::memchr2(b'\r', 0, raw).is_none()
                && std::str::from_utf8(raw).is_ok()
            {
                out.extend_from_slice(raw);
            } else {
                let decoded = message.texts.decode(raw);
                changed.texts += u64::from(decoded.is_err());
                let decoded = decoded.unwrap_or_else(Into::into);
                let zero = decoded.contains('\0');
                changed.texts += u64::from(zero);
                let decoded = if zero {
                    decoded.replace('\0', "\u{fffd}").into()
                } else {
                    decoded
                };
                good &= charset.encode(&decoded, scratch);
                out.extend_from_slice(scratch);
            }
            out.push(0);
        };
        // Only methodEntry has a layout with more fields; the others differ from the table in form.
        let wide = message.layout == Layout::Wide && message.schema.id == 1015;
        let fields = if wide {
            message.fields()
        } else {
            message.schema.fields(Layout::Table)
        };
        let depth = if message.schema.has_stack() {
            message.frames.count() as u64
        } else {
            0
        };
        shape.header(message.schema.id, None, out, |out| {
            for (at, field) in fields.iter().enumerate() {
                let slot = message.values.get(at).copied().unwrap_or_default();
                match (field.kind, slot) {
                    (Kind::Methods, _) => message.frames.each(&mut |method, _| text(method, out)),
                    (Kind::Lines, _) => {
                        message.frames.each(&mut |_, line| shape.put_u64(line, out))
                    }
                    (Kind::Text, Slot::Text(raw)) => text(raw, out),
                    (Kind::Text, Slot::Number(0)) => text(b"", out),
                    (Kind::Text, Slot::Number(number)) => text(number.to_string().as_bytes(), out),
                    (kind, Slot::Text(_)) => value(kind, Slot::Number(0), shape, out),
                    (kind @ Kind::Int, _) if message.schema.has_stack() => {
                        value(kind, Slot::Number(depth), shape, out);
                    }
                    (kind, number) => value(kind, number, shape, out),
                }
            }
        });
        good
    }
}
