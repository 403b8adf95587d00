//! sql and xml: bare strings that tags point into (§7).

use traceloom_model::{Flow, Limits, Note};

use super::text;
use crate::wire::units::{Recovery, Units, tail};
use crate::wire::{Cursor, Utf16};
use crate::{Error, Field, Record, RecordSink};

/// The record reader of a stream of strings.
#[derive(Clone)]
pub(super) struct Strings {
    string_limit: usize,
    /// To be said with the first string: nothing tells what the strings are.
    unnamed: bool,
}

impl Strings {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            string_limit: text::limit(limits),
            unnamed: false,
        }
    }

    /// A reader of strings that may be sql, xml or a dictionary.
    pub(super) fn unnamed(limits: &Limits) -> Self {
        Self {
            unnamed: true,
            ..Self::new(limits)
        }
    }
}

impl Units for Strings {
    fn unit(
        &mut self,
        cursor: &mut Cursor<'_>,
        _eof: bool,
        out: &mut dyn RecordSink,
    ) -> Result<Flow, Error> {
        let (start, offset) = (cursor.position(), cursor.offset());
        let text = text::string(cursor, self.string_limit, "string")?;
        if std::mem::take(&mut self.unnamed) {
            let text = "nothing here tells whether the strings are sql, xml or a dictionary";
            if out.note(crate::info("unnamed_strings", 0, text)).is_break() {
                return Ok(Flow::Break(()));
            }
        }
        Ok(out.record(&TextRecord {
            kind: "string",
            field: "text",
            text,
            offset,
            raw: cursor.slice(start, cursor.position()),
            exact: !cursor.take_padded(),
        }))
    }

    fn failed(&mut self, error: &Error, offset: u64, rest: usize) -> (Note, Recovery) {
        (tail("string", error, offset, rest), Recovery::Rest)
    }
}

/// A record that is one string.
pub(super) struct TextRecord<'a> {
    pub(super) kind: &'static str,
    pub(super) field: &'static str,
    pub(super) text: Utf16<'a>,
    pub(super) offset: u64,
    pub(super) raw: &'a [u8],
    /// Writing the text again gives these bytes.
    pub(super) exact: bool,
}

impl Record for TextRecord<'_> {
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
        show(self.field, Field::Utf16(self.text.0));
    }

    fn write(&self, out: &mut Vec<u8>) {
        if self.exact {
            text::put(out, self.text);
        } else {
            out.extend_from_slice(self.raw);
        }
    }
}
