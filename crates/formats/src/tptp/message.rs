//! One data message, whichever form it came in.

use std::borrow::Cow;

use super::charset::Charset;
use super::markup;
use super::table::{FieldDef, Kind, Layout, MOST_FIELDS, Schema};
use crate::Field;

/// The value of a field that is no array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot<'a> {
    /// A number; signed ones by their bits. Times are ticks in binary, nanoseconds in XML.
    Number(u64),
    /// A string as its form writes it: see [`Texts`].
    Text(&'a [u8]),
}

impl Default for Slot<'_> {
    fn default() -> Self {
        Self::Number(0)
    }
}

/// What stands between the bytes of a string and its characters besides the charset.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Form {
    /// Nothing.
    #[default]
    Plain,
    /// References, and white space that counts as blanks: an XML attribute.
    Attribute,
    /// References: the content of an XML element.
    Content,
}

/// How the strings of a message are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Texts {
    /// Their charset.
    pub charset: Charset,
    /// What XML does to them.
    pub form: Form,
}

impl Texts {
    /// Decodes a string; bad bytes become U+FFFD and the text is an error.
    ///
    /// # Errors
    /// The text as well as it can be read.
    pub fn decode(self, raw: &[u8]) -> Result<Cow<'_, str>, String> {
        let text = self.charset.decode(raw)?;
        if self.form != Form::Plain && text.contains(['&', '\t', '\r', '\n']) {
            return markup::unescape(&text, self.form).map(Cow::Owned);
        }
        Ok(text)
    }

    /// Decodes a string for people.
    #[must_use]
    pub fn lossy(self, raw: &[u8]) -> Cow<'_, str> {
        self.decode(raw).unwrap_or_else(Cow::Owned)
    }
}

/// The frames of a monitor message, innermost first.
#[derive(Clone, Copy, Debug, Default)]
pub enum Frames<'a> {
    /// No frames.
    #[default]
    None,
    /// Two arrays of the wire: texts that end in NUL, then longs.
    Wire {
        /// The texts.
        methods: &'a [u8],
        /// The longs.
        lines: &'a [u8],
        /// Byte order of the longs.
        big: bool,
    },
    /// The children of an XML element, and the charset of its document.
    Markup(&'a [u8], Charset),
    /// Method and line each.
    List(&'a [(&'a [u8], u64)]),
}

impl<'a> Frames<'a> {
    /// Calls `each` for every frame with its method, in the message's way of writing, and its line.
    pub fn each(self, each: &mut dyn FnMut(&'a [u8], u64)) {
        match self {
            Self::None => {}
            Self::List(frames) => frames.iter().for_each(|&(method, line)| each(method, line)),
            Self::Markup(children, charset) => markup::stack(children, charset, each),
            Self::Wire {
                methods,
                lines,
                big,
            } => {
                let methods = methods.split_inclusive(|&byte| byte == 0);
                for (method, line) in methods.zip(lines.chunks_exact(8)) {
                    let line = line.first_chunk().copied().unwrap_or_default();
                    let line = if big {
                        u64::from_be_bytes(line)
                    } else {
                        u64::from_le_bytes(line)
                    };
                    each(method.strip_suffix(&[0]).unwrap_or(method), line);
                }
            }
        }
    }

    /// Returns how many frames there are.
    #[must_use]
    pub fn count(self) -> usize {
        match self {
            Self::None => 0,
            Self::List(frames) => frames.len(),
            Self::Wire { lines, .. } => lines.len() / 8,
            Self::Markup(..) => {
                let mut count = 0;
                self.each(&mut |_, _| count += 1);
                count
            }
        }
    }
}

/// A data message: its row of the table and its values in wire order.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// What it is.
    pub schema: &'static Schema,
    /// Which layout its values follow.
    pub layout: Layout,
    /// One value for each field of the layout; those of arrays stay at their default.
    pub values: &'a [Slot<'a>],
    /// The arrays.
    pub frames: Frames<'a>,
    /// How its strings are written.
    pub texts: Texts,
}

impl<'a> Message<'a> {
    /// Returns the fields its values belong to.
    #[must_use]
    pub fn fields(&self) -> &'static [FieldDef] {
        self.schema.fields(self.layout)
    }

    /// Returns the number of a field by its XML attribute name, 0 when it has none of that name.
    #[must_use]
    pub fn number(&self, attribute: &str) -> u64 {
        match self.slot(attribute) {
            Some(Slot::Number(number)) => number,
            _ => 0,
        }
    }

    /// Returns the number of a field by its place in the layout, 0 when there is none.
    #[inline]
    pub(super) fn number_at(&self, place: usize) -> u64 {
        match self.values.get(place) {
            Some(Slot::Number(number)) => *number,
            _ => 0,
        }
    }

    /// Returns the undecoded string of a field by its XML attribute name, empty when it has none.
    #[must_use]
    pub fn raw(&self, attribute: &str) -> &'a [u8] {
        match self.slot(attribute) {
            Some(Slot::Text(text)) => text,
            _ => &[],
        }
    }

    /// Returns the string of a field by its XML attribute name, for people.
    #[must_use]
    pub fn text(&self, attribute: &str) -> Cow<'a, str> {
        self.texts.lossy(self.raw(attribute))
    }

    fn slot(&self, attribute: &str) -> Option<Slot<'a>> {
        let at = self.schema.position(self.layout, attribute)?;
        self.values.get(at).copied()
    }

    /// Returns true if every string can be decoded.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let valid = |raw| self.texts.decode(raw).is_ok();
        let fields = self.values.iter().all(|slot| match slot {
            Slot::Text(raw) => valid(raw),
            Slot::Number(_) => true,
        });
        let mut frames = true;
        self.frames.each(&mut |method, _| frames &= valid(method));
        fields && frames
    }

    /// Shows its fields for `dump`.
    pub(super) fn show(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        for (field, slot) in self.fields().iter().zip(self.values) {
            match (field.kind, *slot) {
                (Kind::Methods, _) => self.show_stack(show),
                (Kind::Lines, _) => {}
                (Kind::Signed, Slot::Number(number)) => {
                    show(field.name, Field::I64(signed(number)));
                }
                (_, Slot::Number(number)) => show(field.name, Field::U64(number)),
                (_, Slot::Text(raw)) => self.show_text(field.name, raw, show),
            }
        }
    }

    fn show_text(&self, name: &str, raw: &[u8], show: &mut dyn FnMut(&str, Field<'_>)) {
        match self.texts.decode(raw) {
            Ok(text) => show(name, Field::Str(&text)),
            Err(_) => show(name, Field::Bytes(raw)),
        }
    }

    fn show_stack(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        let mut methods = Vec::new();
        let mut lines = Vec::new();
        self.frames.each(&mut |method, line| {
            methods.push(self.texts.decode(method).map_err(|_| method));
            lines.push(Field::U64(line));
        });
        let methods: Vec<Field<'_>> = methods
            .iter()
            .map(|method| match method {
                Ok(text) => Field::Str(text),
                Err(raw) => Field::Bytes(raw),
            })
            .collect();
        show("stack_methods", Field::List(&methods));
        show("stack_lines", Field::List(&lines));
    }
}

/// Reads the bits of a 32-bit field as signed.
pub(super) fn signed(number: u64) -> i64 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    i32::from_le_bytes([a, b, c, d]).into()
}

/// A message under construction, strings in UTF-8.
#[derive(Clone, Debug)]
pub struct Draft<'a> {
    schema: &'static Schema,
    values: [Slot<'a>; MOST_FIELDS],
    frames: Frames<'a>,
}

impl<'a> Draft<'a> {
    /// A message in which every field has its default.
    #[must_use]
    pub fn new(schema: &'static Schema) -> Self {
        let mut values = [Slot::Number(0); MOST_FIELDS];
        for (slot, field) in values.iter_mut().zip(schema.fields(Layout::Table)) {
            if field.kind == Kind::Text {
                *slot = Slot::Text(&[]);
            }
        }
        Self {
            schema,
            values,
            frames: Frames::None,
        }
    }

    /// Sets a number by XML attribute name; a name the message lacks changes nothing.
    #[must_use]
    pub fn number(mut self, attribute: &str, number: u64) -> Self {
        if let Some(slot) = self.slot(attribute)
            && matches!(slot, Slot::Number(_))
        {
            *slot = Slot::Number(number);
        }
        self
    }

    /// Sets a string by XML attribute name; a name the message lacks changes nothing.
    #[must_use]
    pub fn text(mut self, attribute: &str, text: &'a str) -> Self {
        if let Some(slot) = self.slot(attribute)
            && matches!(slot, Slot::Text(_))
        {
            *slot = Slot::Text(text.as_bytes());
        }
        self
    }

    /// Sets the stack, and its depth.
    #[must_use]
    pub fn stack(mut self, frames: &'a [(&'a [u8], u64)]) -> Self {
        if self.schema.has_stack() {
            self.frames = Frames::List(frames);
            return self.number("stackDepth", frames.len() as u64);
        }
        self
    }

    fn slot(&mut self, attribute: &str) -> Option<&mut Slot<'a>> {
        let at = self.schema.position(Layout::Table, attribute)?;
        self.values.get_mut(at)
    }

    /// Returns the message.
    #[must_use]
    pub fn message(&self) -> Message<'_> {
        let fields = self.schema.fields(Layout::Table).len();
        Message {
            schema: self.schema,
            layout: Layout::Table,
            values: self.values.get(..fields).unwrap_or_default(),
            frames: self.frames,
            texts: Texts::default(),
        }
    }
}
