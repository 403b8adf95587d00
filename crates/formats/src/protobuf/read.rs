//! Bytes to native records.

use std::ops::ControlFlow;

use traceloom_model::bounds::subslice;
use traceloom_model::{Flow, Limit, Limits, Note};

use super::record::ProtoField;
use super::schema::{FieldSpec as Spec, find};
use super::split::{
    FieldBytes, FieldSplitter, FieldValueKind, MessagePiece, MessageSchema, SplitStep,
};
use super::tokens::{Token, Tokens};
use crate::{Chunk, Error, ErrorKind, Opaque, Reader as Native, RecordSink, Step, damage, warn};

/// What a format's records are.
#[derive(Debug)]
pub(crate) struct RecordLayout {
    /// The outermost message.
    pub(crate) schema: MessageSchema,
    /// Names the record of a field by its tokens, where the field's own name says too little.
    pub(crate) kind: fn(&[Token]) -> Option<&'static str>,
}

/// Reads the fields of the outermost message, and of the containers in it.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    layout: &'static RecordLayout,
    splitter: FieldSplitter,
    tokens: Tokens,
}

impl Reader {
    /// Builds a reader at the beginning of a part.
    pub(crate) fn new(layout: &'static RecordLayout, limits: &Limits) -> Self {
        Self {
            layout,
            splitter: FieldSplitter::new(layout.schema, limits),
            tokens: Tokens::new(limits.size(Limit::Values)),
        }
    }

    fn field(
        layout: &'static RecordLayout,
        tokens: &mut Tokens,
        field: &FieldBytes<'_>,
        out: &mut dyn RecordSink,
    ) -> Flow {
        let name = find(field.within, field.number).map(|spec| spec.name);
        if let FieldValueKind::Enter(length) = field.value {
            return out.record(&ProtoField::head(name.unwrap_or("unknown"), field, length));
        }
        if !parse(tokens, field, out)? {
            return Flow::Continue(());
        }
        let known = tokens.tokens.first().and_then(|token| token.field);
        let name = known.map_or("unknown", |spec| spec.name);
        let kind = (layout.kind)(&tokens.tokens).unwrap_or(name);
        out.record(&ProtoField::new(kind, field, tokens))
    }
}

/// Reads the tokens of a field; one that has none is shown as damage, and false.
pub(crate) fn parse(
    tokens: &mut Tokens,
    field: &FieldBytes<'_>,
    out: &mut dyn RecordSink,
) -> ControlFlow<(), bool> {
    if let Err(error) = tokens.parse(field.bytes, field.offset, field.within) {
        out.record(&Opaque::damage(field.offset, field.bytes))?;
        out.note(malformed(field, &error))?;
        return ControlFlow::Continue(false);
    }
    if let Some((spec, offset)) = tokens.wrong_wire {
        out.note(wrong_wire(spec, offset))?;
    }
    ControlFlow::Continue(true)
}

/// The note about a field whose inside cannot be read.
pub(crate) fn malformed(field: &FieldBytes<'_>, error: &Error) -> Note {
    let name = find(field.within, field.number).map_or("field", |spec| spec.name);
    let kind = match error.kind() {
        ErrorKind::Limit => "limit_values",
        _ => "malformed",
    };
    let text = format!("{name} at {:#x} is left out: {error}", field.offset);
    damage(kind, field.offset, text)
}

/// The note about a field of the wrong wire type.
pub(crate) fn wrong_wire(spec: &Spec, offset: u64) -> Note {
    let expected = spec.wire().name();
    let text = format!(
        "`{}` should be of wire type {expected}, its value is not used",
        spec.name
    );
    warn("wrong_wire_type", offset, text)
}

impl Native for Reader {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        let (layout, tokens) = (self.layout, &mut self.tokens);
        read(&mut self.splitter, chunk, out, |field, out| {
            Self::field(layout, tokens, field, out)
        })
    }
}

/// Hands the fields of a chunk to `take`; what is none becomes damage.
pub(crate) fn read(
    splitter: &mut FieldSplitter,
    chunk: Chunk<'_>,
    out: &mut dyn RecordSink,
    mut take: impl FnMut(&FieldBytes<'_>, &mut dyn RecordSink) -> Flow,
) -> Step {
    let mut at = 0;
    loop {
        let window = subslice(chunk.bytes, at..);
        let next = splitter.next(window, chunk.offset + at as u64, chunk.eof);
        let flow = match next {
            SplitStep::Need(need) => return Step::More { consumed: at, need },
            SplitStep::End => {
                return Step::More {
                    consumed: at,
                    need: 1,
                };
            }
            SplitStep::Piece(MessagePiece::Field(field)) => {
                at += field.bytes.len();
                take(&field, out)
            }
            SplitStep::Piece(MessagePiece::Damage {
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

fn damaged(offset: u64, bytes: &[u8], note: Option<Box<Note>>, out: &mut dyn RecordSink) -> Flow {
    if !bytes.is_empty() {
        out.record(&Opaque::damage(offset, bytes))?;
    }
    match note {
        Some(note) => out.note(*note),
        None => Flow::Continue(()),
    }
}
