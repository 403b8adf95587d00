//! The records of an XML trace. XML has no canonical form, so a record keeps its bytes.

use crate::tptp::binary::time_of;
use crate::tptp::charset::Charset;
use crate::tptp::message::Message;
use crate::tptp::seconds::NANOS;
use crate::{Field, Record};

/// Characters of a piece that are shown.
const SHOWN: usize = 256;

/// An element of the trace with its subtree: a message, or something no table has.
#[derive(Clone, Copy, Debug)]
pub struct Element<'a> {
    /// Where it begins.
    pub offset: u64,
    /// Its bytes.
    pub raw: &'a [u8],
    /// The charset of the document.
    pub charset: Charset,
    /// What it says; none for unknown elements.
    pub message: Option<Message<'a>>,
}

impl Record for Element<'_> {
    fn kind(&self) -> &'static str {
        self.message
            .map_or("unknown_element", |message| message.schema.kind)
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        self.raw.len() as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        match &self.message {
            Some(message) => message.show(show),
            None => show_markup(self.raw, self.charset, show),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.raw);
    }

    fn time(&self) -> Option<(i64, i64)> {
        time_of(self.message.as_ref()?, NANOS)
    }
}

/// What stands between the elements: prolog, instructions, comments, the root's tags, white space.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// What it is.
    pub kind: &'static str,
    /// Where it begins.
    pub offset: u64,
    /// Its bytes.
    pub raw: &'a [u8],
    /// The charset of the document.
    pub charset: Charset,
}

impl Record for Piece<'_> {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        self.raw.len() as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        show_markup(self.raw, self.charset, show);
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.raw);
    }
}

fn show_markup(raw: &[u8], charset: Charset, show: &mut dyn FnMut(&str, Field<'_>)) {
    // Cut before decoding: a piece may be megabytes long. Four bytes hold any character.
    let head = raw.get(..4 * SHOWN).unwrap_or(raw);
    let text = charset.decode(head).unwrap_or_else(Into::into);
    let end = text
        .char_indices()
        .nth(SHOWN)
        .map_or(text.len(), |(at, _)| at);
    show("text", Field::Str(text.get(..end).unwrap_or_default()));
    if end < text.len() || head.len() < raw.len() {
        show("text_cut", Field::Bool(true));
    }
}
