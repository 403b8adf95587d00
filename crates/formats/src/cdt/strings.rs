//! sql and xml: bare strings that tags point into (§7).

use traceloom_model::{Flow, Limits, Note};

use super::text;
use super::units::{Recovery, Units, tail};
use crate::wire::{Cursor, Utf16};
use crate::{Error, Field, Record, RecordSink};

/// The record reader of a stream of strings.
#[derive(Clone)]
pub(super) struct Strings {
    string_limit: usize,
}

impl Strings {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            string_limit: text::limit(limits),
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
        Ok(out.record(&StringRecord {
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

struct StringRecord<'a> {
    text: Utf16<'a>,
    offset: u64,
    raw: &'a [u8],
    exact: bool,
}

impl Record for StringRecord<'_> {
    fn kind(&self) -> &'static str {
        "string"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        self.raw.len() as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        show("text", Field::Utf16(self.text.0));
    }

    fn write(&self, out: &mut Vec<u8>) {
        if self.exact {
            text::put(out, self.text);
        } else {
            out.extend_from_slice(self.raw);
        }
    }
}
