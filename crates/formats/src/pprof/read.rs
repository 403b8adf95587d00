//! Bytes to native records.

use traceloom_model::{Flow, Limit, Limits};

use super::record::Record;
use super::schema::SCHEMA;
use crate::protobuf::{FieldSplitter, Split as FieldBytes, TokenValue, Tokens, parse, read};
use crate::{Chunk, Reader as Native, RecordSink, Step};

/// Reads the fields of a `Profile`.
#[derive(Clone, Debug)]
pub struct Reader {
    splitter: FieldSplitter,
    fields: FieldRecords,
}

#[derive(Clone, Debug)]
struct FieldRecords {
    tokens: Tokens,
    strings: u64,
    /// `time_nanos` and `duration_nanos`, once they came.
    time: Option<i64>,
    duration: Option<i64>,
}

impl Reader {
    /// Builds a reader at the beginning of a part.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            splitter: FieldSplitter::new(SCHEMA, limits),
            fields: FieldRecords {
                tokens: Tokens::new(limits.size(Limit::Values)),
                strings: 0,
                time: None,
                duration: None,
            },
        }
    }
}

impl FieldRecords {
    fn field(&mut self, field: &FieldBytes<'_>, out: &mut dyn RecordSink) -> Flow {
        if !parse(&mut self.tokens, field, out)? {
            return Flow::Continue(());
        }
        let spec = self.tokens.tokens.first().and_then(|token| token.field);
        let kind = spec.map_or("unknown", |spec| spec.name);
        let index = (kind == "string").then_some(self.strings);
        self.strings += u64::from(index.is_some());
        let stretch = self.stretch(kind);
        out.record(&Record {
            kind,
            stretch,
            offset: field.offset,
            bytes: field.bytes,
            tokens: &self.tokens.tokens,
            numbers: &self.tokens.numbers,
            padded: self.tokens.padded,
            index,
        })
    }
}

impl FieldRecords {
    /// Returns from when to when the profile was taken, with the field that completes it. A time of 0 is none: it is
    /// what a field has that was not written.
    fn stretch(&mut self, kind: &str) -> Option<(i64, i64)> {
        let slot = match kind {
            "time_nanos" => &mut self.time,
            "duration_nanos" => &mut self.duration,
            _ => return None,
        };
        if let Some(TokenValue::Varint(raw)) = self.tokens.tokens.first().map(|token| token.value) {
            *slot = Some(raw.cast_signed()).filter(|&value| value != 0);
        }
        let start = self.time?;
        Some((
            start,
            start.saturating_add(self.duration.unwrap_or(0).max(0)),
        ))
    }
}

impl Native for Reader {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        let Self { splitter, fields } = self;
        read(splitter, chunk, out, |field, out| fields.field(field, out))
    }
}
