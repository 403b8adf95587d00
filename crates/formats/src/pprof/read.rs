//! Bytes to native records.

use traceloom_model::{Limit, Limits};

use super::record::Record;
use super::schema::{PROFILE, SCHEMA};
use crate::protobuf::{
    Next, Piece, Split as Field, Splitter, Tokens, damaged, malformed, wrong_wire,
};
use crate::{Chunk, Opaque, Reader as Native, RecordSink, Step};

/// Reads the fields of a `Profile`.
#[derive(Clone, Debug)]
pub struct Reader {
    splitter: Splitter,
    tokens: Tokens,
    strings: u64,
}

impl Reader {
    /// Builds a reader at the beginning of a part.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            splitter: Splitter::new(SCHEMA, limits),
            tokens: Tokens::new(limits.size(Limit::Values)),
            strings: 0,
        }
    }

    fn field(&mut self, field: &Field<'_>, out: &mut dyn RecordSink) -> traceloom_model::Flow {
        if let Err(error) = self.tokens.parse(field.bytes, field.offset, &PROFILE) {
            out.record(&Opaque::damage(field.offset, field.bytes))?;
            return out.note(malformed(field, &error));
        }
        if let Some((spec, offset)) = self.tokens.wrong_wire {
            out.note(wrong_wire(spec, offset))?;
        }
        let spec = self.tokens.tokens.first().and_then(|token| token.field);
        let kind = spec.map_or("unknown", |spec| spec.name);
        let index = (kind == "string").then_some(self.strings);
        self.strings += u64::from(index.is_some());
        out.record(&Record {
            kind,
            offset: field.offset,
            bytes: field.bytes,
            tokens: &self.tokens.tokens,
            numbers: &self.tokens.numbers,
            padded: self.tokens.padded,
            index,
        })
    }
}

impl Native for Reader {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        let mut at = 0;
        loop {
            let window = chunk.bytes.get(at..).unwrap_or(&[]);
            let next = self
                .splitter
                .next(window, chunk.offset + at as u64, chunk.eof);
            let flow = match next {
                Next::Need(need) => return Step::More { consumed: at, need },
                Next::End => {
                    return Step::More {
                        consumed: at,
                        need: 1,
                    };
                }
                Next::Piece(Piece::Field(field)) => {
                    at += field.bytes.len();
                    self.field(&field, out)
                }
                Next::Piece(Piece::Damage {
                    offset,
                    bytes,
                    note,
                }) => {
                    at += bytes.len();
                    damaged(offset, bytes, note, out)
                }
            };
            if flow.is_break() {
                return Step::Stop;
            }
        }
    }
}
